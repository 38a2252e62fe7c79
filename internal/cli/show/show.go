// Package show writes approvals, times and risks for people at a terminal.
package show

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/display"
	"approvalbot/internal/lazy"
	"approvalbot/internal/people"
)

// Paint colours text for a terminal; off, it leaves text alone.
type Paint bool

// With colours text with that ANSI code.
func (p Paint) With(code, s string) string {
	if !p {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// Bold emphasizes text.
func (p Paint) Bold(s string) string { return p.With("1", s) }

// Dim fades text.
func (p Paint) Dim(s string) string { return p.With("2", s) }

// Plain leaves text as it is.
func (p Paint) Plain(s string) string { return s }

// Red and Yellow warn.
func (p Paint) Red(s string) string { return p.With("31", s) }

// Green is for what comes.
func (p Paint) Green(s string) string { return p.With("32", s) }

// Yellow is the milder of the two.
func (p Paint) Yellow(s string) string { return p.With("33", s) }

// Risk colours by risk class: green, yellow from R2, red from R3.
func (p Paint) Risk(class, s string) string {
	switch class {
	case "R0", "R1":
		return p.With("32", s)
	case "R2":
		return p.With("33", s)
	default:
		return p.With("31", s)
	}
}

// Age gives the time since an event, in its largest unit: 40s, 2m, 1h, 3d.
func Age(atMs int64, now time.Time) string { return Span(now.Sub(time.UnixMilli(atMs))) }

// Span writes a time span in its largest unit; a negative one is written as zero.
func Span(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// When writes a time with its zone.
func When(ms int64) string { return time.UnixMilli(ms).Format("2006-01-02 15:04:05 MST") }

var uuidForm = lazy.Pattern(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// ShortID is the form of an id that an operator types: the first eight characters
// of an id that the desk made, which the code is made of too, or the whole of an
// asker's own.
func ShortID(a api.Approval) string {
	if uuidForm.MatchString(a.ID) && core.KeyCode(a.ID) == a.Code {
		return a.ID[:8]
	}
	return a.ID
}

// Risk says a risk class with its words: "R3, external change or irreversible".
func Risk(class string) string {
	var c approval.RiskClass
	if c.UnmarshalText([]byte(class)) != nil {
		return display.Escape(class)
	}
	return class + ", " + c.Text()
}

// Ending says how an approval ended, or that it has not: "approved
// (allow-once) by alice: looks fine", "revoked by bob: wrong host; was approved
// (allow-once) by alice".
func Ending(a api.Approval) string {
	words := string(a.Status)
	if Revoked(a) {
		by := ""
		if a.RevokedBy != "" {
			by = " by " + people.People([]string{a.RevokedBy})
		}
		if a.RevokeReason != "" {
			by += ": " + a.RevokeReason
		}
		words = "revoked" + by + "; was " + words
	}
	if a.Decision != "" && a.Status == api.Approved {
		words += " (" + string(a.Decision) + ")"
	}
	if len(a.DecidedBy) > 0 && a.Status.Final() {
		words += " by " + people.People(a.DecidedBy)
	}
	switch {
	case a.Reason == "":
	case a.Status == api.Withdrawn && a.SupersededBy == "":
		words += ", who said: " + a.Reason
	default:
		words += ": " + a.Reason
	}
	return display.Escape(words)
}

// Note is what a person said to the agent, on one line: "note from alice: run the tests first".
func Note(n api.Note) string {
	return "note from " + display.Escape(people.People([]string{n.By})) + ": " + display.Safe(n.Text)
}

// Revoked reports whether an approval was taken back.
func Revoked(a api.Approval) bool { return a.Status == api.Approved && a.RevokedAtMs != 0 }

// Status is an approval's status in a list: one that was taken back is not approved.
func Status(a api.Approval) string {
	if Revoked(a) {
		return "revoked"
	}
	return string(a.Status)
}

// Votes describes the progress of a pending approval: "1 of 2: alice". A yes that
// counts for the verifier only is listed apart.
func Votes(a api.Approval) string {
	var names, verifier []string
	for _, v := range a.Votes {
		switch {
		case v.Verdict != "approve":
		case v.VerifierOnly:
			verifier = append(verifier, Voter(v))
		default:
			names = append(names, Voter(v))
		}
	}
	if a.Approvers.Verifier && a.Approvers.MinApprovals == 0 {
		return strings.Join(append([]string{"for the verifier's people"}, verifier...), " ")
	}
	text := fmt.Sprintf("%d of %d", len(names), max(1, a.Approvers.MinApprovals))
	if len(names) > 0 {
		text += ": " + strings.Join(names, ", ")
	}
	text += roles(a.Approvers)
	if len(verifier) > 0 {
		text += "; for the verifier: " + strings.Join(verifier, ", ")
	}
	return text
}

// Needs adds the verifier's people to what approvers must give; if no one else is
// asked, only they are named.
func Needs(approvers string, a api.Approvers) string {
	approvers += roles(a)
	switch {
	case !a.Verifier:
		return approvers
	case a.MinApprovals == 0:
		return "one of the verifier's people"
	}
	return approvers + "; one of the verifier's people beside"
}

// roles says which roles some of the approvers must have: ", 1 with role ops".
func roles(a api.Approvers) (text string) {
	for _, r := range a.Roles {
		text += fmt.Sprintf(", %d with role %s", r.Min, display.Escape(r.Role))
	}
	return text
}

// Voter names the giver of a vote: a configured person by name, anyone else by
// account.
func Voter(v api.Vote) string {
	switch {
	case v.Voter == nil:
		return v.ApproverID
	case v.Voter.Person != "":
		return display.Escape(v.Voter.Person)
	}
	return display.Escape(people.People([]string{v.Voter.Channel + ":" + v.Voter.UserID}))
}

// Fields writes "Name:   value" lines with the values aligned.
func Fields(w io.Writer, width int, pairs ...string) {
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			fmt.Fprintf(w, "%-*s %s\n", width, pairs[i]+":", pairs[i+1])
		}
	}
}

// Standing describes the state of an approval, a pending one with its votes.
func Standing(got api.Approval) string {
	if got.Status == api.Pending {
		return "still pending, " + Votes(got)
	}
	if r := got.RetryRound; r != nil {
		return Ending(got) + "; " + display.Escape(r.Text)
	}
	return Ending(got)
}

// Headline is the whole call on one line; the desk has redacted and escaped it.
func Headline(a api.Approval) string {
	if a.ToolName == "exec" {
		return "$ " + display.Escape(a.ParamsSummary)
	}
	return display.Escape(a.ToolName) + " · " + display.Escape(cmp.Or(a.ParamsSummary, "no parameters"))
}

// Cell is text for a column: safe, cut to its width, a dash if empty.
func Cell(s string, width int) string {
	if s == "" {
		return "-"
	}
	s, _ = display.Clip(display.Escape(s), width)
	return s
}
