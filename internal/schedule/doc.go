// Package schedule knows times and people: windows in which a rule applies or a person sleeps, the people on duty, and
// the order in which people are asked. It is pure: every function takes its time as an argument, and calendars come in
// as text.
//
// A [Window] is daily, weekly, or once, and goes by the clocks of its zone: "22:00-07:00 Europe/Berlin" begins at 22:00
// there in summer and in winter. [Window] says what happens on the nights when clocks change. A [Roster] says who is on
// duty, by turns ([Rotation]) or a calendar ([ReadCalendar]); if that is not known, all of its people are.
//
// [Plan] is the one place that decides who is told of an undecided approval, and when. It takes the operator's settings
// ([Contact]) and the ask ([Ask]: since when, who could decide, who was asked, what was done) and gives all steps in
// order: the card, reminders, escalations, the end of quiet hours, the expiry. Only what was done is remembered, so a
// reload or an absence makes a new plan from the same ask. The next step's time is the approval's timer.
package schedule

import _ "time/tzdata" // a container without zone files knows the same zones
