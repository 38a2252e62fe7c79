package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"

	"golang.org/x/term"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/display"
)

// paint colours text for a terminal; off, it leaves text alone.
type paint bool

func (p paint) with(code, s string) string {
	if !p {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p paint) bold(s string) string { return p.with("1", s) }
func (p paint) dim(s string) string  { return p.with("2", s) }

// risk colours by risk class: green, yellow from R2, red from R3.
func (p paint) risk(class, s string) string {
	switch class {
	case "R0", "R1":
		return p.with("32", s)
	case "R2":
		return p.with("33", s)
	default:
		return p.with("31", s)
	}
}

// paint says whether stdout takes colours.
func (a *app) paint() paint {
	return paint(isTerminal(a.stdout) && a.env["NO_COLOR"] == "" && a.env["TERM"] != "dumb")
}

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	if p, ok := stream.(asciiWriter); ok {
		stream = p.w
	}
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// age says how long ago something was, in its largest unit: 40s, 2m, 1h, 3d.
func age(atMs int64, now time.Time) string { return span(now.Sub(time.UnixMilli(atMs))) }

// span writes a time span in its largest unit; none is below zero.
func span(d time.Duration) string {
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

// when writes a time with its zone.
func when(ms int64) string { return time.UnixMilli(ms).Format("2006-01-02 15:04:05 MST") }

var uuidForm = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// shortID is what an operator types: the first eight characters of an id that the
// desk made, which the code is made of too, or the whole of an asker's own.
func shortID(a api.Approval) string {
	if uuidForm.MatchString(a.ID) && core.KeyCode(a.ID) == a.Code {
		return a.ID[:8]
	}
	return a.ID
}

// risk says a risk class with its words: "R3, external change or irreversible".
func riskWords(class string) string {
	var c core.RiskClass
	if c.UnmarshalText([]byte(class)) != nil {
		return safe(class)
	}
	return class + ", " + c.Words()
}

// ending says how an approval ended, or that it has not: "approved
// (allow-once) by alice: looks fine", "revoked by bob: wrong host; was approved
// (allow-once) by alice".
func ending(a api.Approval) string {
	words := string(a.Status)
	if revoked(a) {
		by := ""
		if a.RevokedBy != "" {
			by = " by " + core.People([]string{a.RevokedBy})
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
		words += " by " + core.People(a.DecidedBy)
	}
	switch {
	case a.Reason == "":
	case a.Status == api.Withdrawn && a.SupersededBy == "":
		words += ", who said: " + a.Reason
	default:
		words += ": " + a.Reason
	}
	return safe(words)
}

// revoked reports whether an approval was taken back.
func revoked(a api.Approval) bool { return a.Status == api.Approved && a.RevokedAtMs != 0 }

// statusWord is an approval's status in a list: one that was taken back is not approved.
func statusWord(a api.Approval) string {
	if revoked(a) {
		return "revoked"
	}
	return string(a.Status)
}

// votes says how far a pending approval is: "1 of 2: alice". Who said yes for the
// verifier alone stands apart.
func votes(a api.Approval) string {
	var names, verifier []string
	for _, v := range a.Votes {
		switch {
		case v.Verdict != "approve":
		case v.VerifierOnly:
			verifier = append(verifier, voterName(v))
		default:
			names = append(names, voterName(v))
		}
	}
	if a.Approvers.Verifier && a.Approvers.MinApprovals == 0 {
		return strings.Join(append([]string{"for the verifier's people"}, verifier...), " ")
	}
	text := fmt.Sprintf("%d of %d", len(names), max(1, a.Approvers.MinApprovals))
	if len(names) > 0 {
		text += ": " + strings.Join(names, ", ")
	}
	if len(verifier) > 0 {
		text += "; for the verifier: " + strings.Join(verifier, ", ")
	}
	return text
}

// needWords adds the verifier's people to what approvers must give; where nobody else
// is asked they are all.
func needWords(approvers string, a api.Approvers) string {
	switch {
	case !a.Verifier:
		return approvers
	case a.MinApprovals == 0:
		return "one of the verifier's people"
	}
	return approvers + "; one of the verifier's people beside"
}

func voterName(v api.Vote) string {
	switch {
	case v.Voter == nil:
		return v.ApproverID
	case v.Voter.Person != "":
		return safe(v.Voter.Person)
	}
	return safe(core.People([]string{v.Voter.Channel + ":" + v.Voter.UserID}))
}

// exitStatus is the exit status that tells scripts how an approval stands.
func exitStatus(a api.Approval) error {
	switch {
	case a.Status == api.Approved && a.RevokedAtMs == 0:
		return nil
	case a.Status == api.Expired:
		return exitCode(exitExpired)
	case a.Status == api.Withdrawn:
		return exitCode(exitWithdrawn)
	case a.Status == api.Pending:
		return exitCode(exitPending)
	}
	return exitCode(exitDenied)
}

// fields writes "Name:   value" lines with the values aligned.
func fields(w io.Writer, width int, pairs ...string) {
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			fmt.Fprintf(w, "%-*s %s\n", width, pairs[i]+":", pairs[i+1])
		}
	}
}

// safe makes text from the desk fit for a terminal.
func safe(s string) string { return display.Escape(s) }
