// Package schedule knows times and people: windows in which a rule holds or a person
// sleeps, who is on duty, and in which order people are asked. It is pure: every
// function takes the time it is about, and what a calendar says comes in as text.
package schedule

import _ "time/tzdata" // a container without zone files knows the same zones
