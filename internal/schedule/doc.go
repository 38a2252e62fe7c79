// Package schedule knows times and people: windows in which a rule holds or a person sleeps, who is on duty, and in
// which order people are asked. It is pure: every function takes the time it is about, and what a calendar says comes
// in as text.
//
// A [Window] is daily, weekly, or once, and goes by the clocks of its zone: "22:00-07:00 Europe/Berlin" begins at 22:00
// there in summer and in winter. [Window] says what happens on the nights when clocks change. A [Roster] says who is on
// duty, by turns ([Rotation]) or a calendar ([ReadCalendar]); if that is not known, all of its people are.
//
// [Plan] is the one answer to who hears when of what has not been decided. It takes the operator's settings ([Contact])
// and the ask ([Ask]: since when, who could decide, who was asked, what was done) and gives all steps in order: the
// card, reminders, escalations, the end of quiet hours, the expiry. Nothing is remembered but what was done, so a
// reload or an absence makes a new plan from the same ask. The next step's time is the approval's timer.
package schedule

import _ "time/tzdata" // a container without zone files knows the same zones
