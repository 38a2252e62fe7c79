package core

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"approvalbot/internal/display"
)

// State is the line of a card that says how far it is.
type State struct {
	Flags   []string // what its reader cannot see at once: "hidden characters", "look-alikes"
	Votes   string   // "1 of 2 yes (alice)"; empty where a single yes is to come
	UntilMs int64    // when it expires; 0: it has ended
	Also    string   // whom escalations have asked: "also asked: bob"; empty: nobody
	Until   string   // the same in words, in the reader's zone: "until 14:30 CET (15 min)"
}

// state says how far the approval is.
func (a Approval) state(r reader) State {
	s := State{Votes: a.votesSoFar(r.people)}
	if !a.Final() {
		s.UntilMs, s.Until = a.ExpiresAtMs, UntilText(a.ExpiresAtMs, r.zone, r.now)
		s.Also = a.alsoAskedText()
	}
	return s
}

// StateLine is the line that says how far a card is: flags, votes, time left, who was asked
// too, code. plain and code write a text as the platform does, until says when it expires.
func (c Card) StateLine(plain, code func(string) string, until string) string {
	var parts []string
	add := func(text string, as func(string) string) {
		if text != "" {
			parts = append(parts, as(text))
		}
	}
	add(strings.Join(c.State.Flags, ", "), func(flags string) string { return "⚠️ " + plain(flags) })
	add(c.State.Votes, plain)
	add(until, func(said string) string { return said })
	add(c.State.Also, plain)
	add(c.Code, code)
	return strings.Join(parts, " · ")
}

// UntilText says until when something lasts, and how long that is from now.
func UntilText(ms int64, zone *time.Location, now int64) string {
	return fmt.Sprintf("until %s (%s)", time.UnixMilli(ms).In(zone).Format("15:04 MST"), spanText(ms-now))
}

// spanText is [Span] of milliseconds.
func spanText(ms int64) string { return Span(time.Duration(ms) * time.Millisecond) }

// Span says how long something lasts: "40 s", "15 min", "12 h".
func Span(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Round(time.Second).Seconds()))
	case d < 90*time.Minute:
		return fmt.Sprintf("%d min", int(d.Round(time.Minute).Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Round(time.Hour).Hours()))
	}
	return fmt.Sprintf("%d d", int(d.Hours()/24))
}

// at is a time after the approval was made, with the zone named, and with the day where
// that is another one.
func (r reader) at(a Approval, ms int64) Word {
	then, made := time.UnixMilli(ms).In(r.zone), time.UnixMilli(a.CreatedAtMs).In(r.zone)
	layout := "15:04 MST"
	if then.YearDay() != made.YearDay() || then.Year() != made.Year() {
		layout = "2 Jan 15:04 MST"
	}
	return Word{Text: then.Format(layout), AtMs: ms}
}

// asker is whose call it is, in the desk's words: the agent that the token is for, else
// the token. What agent a call only claims to be from is a claim.
func (a Approval) asker() string {
	if a.TokensAgent && a.AgentID != "" {
		return clipped(display.Safe(a.AgentID), maxField)
	}
	return clipped(display.Safe(a.Owner), maxField)
}

// outcome says how the approval ended: what counts now comes first.
func (a Approval) outcome(r reader) Words {
	ended := a.howItEnded(r)
	if a.AskAgainBy != "" {
		ended = append(ended, Word{Text: " · may be asked again, says " + People([]string{a.AskAgainBy})})
	}
	return ended
}

// howItEnded is outcome without what was said of a cool-down.
func (a Approval) howItEnded(r reader) Words {
	by := ""
	if who := a.allowedBy(); len(who) > 0 && !a.coolingDown() {
		by = " by " + People(who)
	}
	when := func(ms int64, head string) Words { return Words{{Text: head + ", "}, r.at(a, ms)} }
	because := func(reason string) Words {
		if reason == "" {
			return nil
		}
		return own(": " + display.Escape(reason))
	}
	decision := display.UpperFirst(decisionTexts[a.Decision]) + by
	switch {
	case a.RevokedAtMs != 0:
		back := when(a.RevokedAtMs, "↩️ Taken back by "+People([]string{a.RevokedBy}))
		ran := ", before it ran"
		if a.Retries > 0 {
			ran += " again"
		}
		back = append(append(back, Word{Text: ran}), because(a.RevokeReason)...)
		return append(back, Word{Text: ". It had been " + decisionTexts[a.Decision] + by})
	case a.Status == Approved:
		return slices.Concat(when(a.ResolvedAtMs, "✅ "+decision), because(a.Reason), a.after(r), a.asksAgain(r))
	case a.Status == Denied:
		return append(when(a.ResolvedAtMs, "⛔ Denied"+by), because(a.Reason)...)
	case a.SupersededBy != "":
		return when(a.ResolvedAtMs, "⌛ Withdrawn: "+a.SupersededBy+" asks instead")
	case a.Status == Withdrawn:
		return when(a.ResolvedAtMs, "⌛ Withdrawn"+by)
	case a.Reason == nobodyDecided:
		return own("⌛ Nobody answered in " + spanText(a.ExpiresAtMs-a.CreatedAtMs))
	}
	return append(when(a.ResolvedAtMs, "⌛ Expired"), because(a.Reason)...)
}

// after says what came after a yes: what was reported, or that it may be tried again.
func (a Approval) after(r reader) Words {
	switch {
	case a.Result != nil:
		said := " · reported: " + a.Result.Status
		if a.Result.ExitCode != nil {
			said = fmt.Sprintf(" · reported: exit %d", *a.Result.ExitCode)
			if a.failed() {
				said = fmt.Sprintf(" · reported: failed, exit %d", *a.Result.ExitCode)
			}
		}
		if a.failed() {
			said = strings.Replace(said, "reported", "❌ reported", 1)
		}
		return own(said)
	case a.Overtaken():
		return own(" · an earlier run was reported as succeeded, so the retry is taken back")
	case a.Retries > 0 && a.ClaimedAtMs == 0:
		return Words{{Text: " · " + a.retriedBy() + " let the agent run it again, until "}, r.at(a, a.ClaimUntilMs)}
	}
	return nil
}

// retriedBy names who let it run again last.
func (a Approval) retriedBy() string {
	if len(a.RetriedBy) == 0 {
		return "operators"
	}
	return People(a.RetriedBy[len(a.RetriedBy)-1].By)
}

// asksAgain says that a retry round is open: "retry asked by alice, 1 of 2 yes (alice), until 18:05";
// or of the last one that somebody denied it.
func (a Approval) asksAgain(r reader) Words {
	round, open := a.OpenRound(r.people, r.now)
	no := a.RoundDenied
	switch {
	case !open && no != nil && no.Reason != "" && a.retryWithdrawnText(r.people) == "":
		return own(" · 🔁 retry denied by " + People([]string{no.Voter.Name()}) + ": " + display.Escape(no.Reason))
	case !open && no != nil:
		return own(" · 🔁 retry denied by " + People([]string{no.Voter.Name()}))
	case !open:
		return nil
	}
	return Words{{Text: " · 🔁 " + round.Text() + ", until "}, r.at(a, round.ExpiresAtMs)}
}

// retryWithdrawnText is why somebody who asked for the call denied one more run of it, in their
// words; empty: there is no such deny, or no reason.
func (a Approval) retryWithdrawnText(d *Directory) string {
	if no := a.RoundDenied; no != nil && d.isAsker(*no.Voter, a.Askers) {
		return no.Reason
	}
	return ""
}

// badEnd reports an end that is to be noticed.
func (a Approval) badEnd() bool { return a.Status == Denied || a.RevokedAtMs != 0 || a.failed() }

// claims are the asker's own words: what of them a card shows at once.
func (a Approval) claims() []string {
	var parts, out []string
	said := cmp.Or(a.Justification, a.ActionSummary)
	if said != "" {
		parts = append(parts, "“"+clipped(display.Safe(said), maxSaid)+"”")
	}
	if who := a.requesterText(); who != "" {
		parts = append(parts, "for "+clipped(display.Safe(who), maxField))
	}
	if a.claimsAgent() {
		parts = append(parts, "by agent "+clipped(display.Safe(a.AgentID), maxField))
	}
	if len(parts) > 0 {
		out = append(out, "claimed: "+strings.Join(parts, ", "))
	}
	if text := a.withdrawalText(); text != "" {
		out = append(out, "withdrawn because: “"+clipped(display.Safe(text), maxClaim)+"”")
	}
	if r := a.Result; r != nil && r.Summary != "" {
		out = append(out, "reported: “"+clipped(display.Safe(r.Summary), maxClaim)+"”")
	}
	return out
}

// claimsAgent reports whether the agent is only what the asker says.
func (a Approval) claimsAgent() bool {
	return a.AgentID != "" && !a.TokensAgent && a.AgentID != a.Owner
}

func (a Approval) requesterText() string {
	switch r := a.Requester; {
	case r == nil:
		return ""
	case r.Person != "":
		return r.Person
	default:
		return r.Channel + " user " + r.UserID
	}
}

// details are what a card folds away.
func (a Approval) details() []Fact {
	var out []Fact
	add := func(name, value string, room int, isOwn bool) {
		if value != "" {
			out = append(out, Fact{Name: name, Value: clipped(display.Safe(value), room), Own: isOwn})
		}
	}
	add("Tool", a.ToolName, maxFact, true)
	add("Asked by token", a.Owner, maxFact, true)
	out = append(out, a.shortFingerprint())
	add("Agent", a.AgentID, maxFact, a.TokensAgent)
	add("Session", a.SessionKey, maxFact, false)
	add("Decides", a.Rule.text(), maxFact, true)
	add("Reasons", strings.Join(a.Why, " "), maxClaim, true)
	add("Side effects", strings.ReplaceAll(joined(a.Assessment.SideEffects), "_", " "), maxFact, true)
	add("Risk", a.Assessment.classes(), maxFact, true)
	add("Policy", a.PolicyHash[:min(12, len(a.PolicyHash))], maxFact, true)
	if charCount(a.Justification) > maxSaid {
		add("Why, in the asker's words", a.Justification, maxClaim, false)
	}
	if a.Justification != "" || charCount(a.ActionSummary) > maxSaid {
		add("What, in the asker's words", a.ActionSummary, maxClaim, false)
	}
	out = append(out, a.runs()...)
	if t := a.Context.Tool; t.Server != "" || t.Description != "" {
		add("The tool, as told by "+display.Escape(a.Owner), t.text(), maxFact, false)
	}
	return out
}

// shortFingerprint is as much of it as people compare.
func (a Approval) shortFingerprint() Fact {
	return Fact{Name: "Fingerprint", Value: a.Fingerprint[:min(12, len(a.Fingerprint))], Own: true}
}

// classes says both classes where a classifier's counts beside that of static rules.
func (a Assessment) classes() string {
	if a.Classifier == "" {
		return ""
	}
	return fmt.Sprintf("%s by static rules, %s by the classifier (confidence %.2f)", a.Static, a.Classifier, a.Confidence)
}

// text says whose yes the rule needs.
func (r Rule) text() string {
	var all []string
	if r.AsksApprovers() {
		what := "1 approver"
		if n := max(1, r.MinApprovals); n > 1 {
			what = fmt.Sprintf("%d approvers", n)
		}
		if r.RequiresHuman {
			what += ", a person among them"
		}
		for _, n := range r.Needs {
			what += ", " + n.text(n.Min)
		}
		all = append(all, what)
	}
	if r.AsksVerifier() {
		all = append(all, "1 of the verifier's people")
	}
	return strings.Join(all, "; and ")
}

func joined[T ~string](list []T) string {
	words := make([]string, len(list))
	for i, x := range list {
		words[i] = string(x)
	}
	return strings.Join(words, ", ")
}

// wider says of each scope wider than once that is offered what it would cover, to whom
// and until when.
func (a Approval) wider() []string {
	var lines []string
	agent := "this agent"
	if a.AgentID != "" {
		agent = "agent " + clipped(display.Safe(a.AgentID), maxFact)
	}
	if slices.Contains(a.Offers, AllowSession) {
		lines = append(lines, fmt.Sprintf("Allow session: %s; by %s in this session, up to risk %s "+
			"and for no other reason than here, for %s at most.",
			display.Safe(a.Session), agent, a.Assessment.RiskClass, hours(sessionGrantMs)))
	}
	if slices.Contains(a.Offers, AllowAlways) {
		lines = append(lines,
			fmt.Sprintf("Always: %s; by %s, until an operator deletes the grant.", display.Safe(a.Always), agent))
	}
	return lines
}

func hours(ms int64) string { return fmt.Sprintf("%d hours", ms/int64(time.Hour/time.Millisecond)) }

func minutes(ms int64) string {
	return fmt.Sprintf("%d minutes", ms/int64(time.Minute/time.Millisecond))
}

// VotedText says to a person what their vote did, as of now (Unix milliseconds).
func (a Approval) VotedText(d Decision, people *Directory, now int64) string {
	once := "It may run once, within " + minutes(claimWindowMs)
	switch {
	case a.Status == Withdrawn:
		return "You cannot approve your own request, so your deny withdrew it."
	case d == Retry:
		return a.retriedText(people, now)
	case d == Deny && a.Status == Approved:
		return "Denied: it does not run again. The very same call is refused unasked for " + minutes(coolDownMs) + "."
	case a.Status == Pending:
		return "Counted (" + a.TallyText(people) + "); more approvals are needed."
	case a.Drill() && a.Status == Approved:
		return "Allowed. It was a drill: nothing runs."
	case a.Status == Denied && d == Deny:
		return "Denied. The very same call is refused unasked for " + minutes(coolDownMs) + "."
	case a.Status != Approved || a.RevokedAtMs != 0:
		return display.UpperFirst(a.Ending()) + "."
	case a.ClaimedAtMs != 0:
		return "Allowed. The agent has claimed the call."
	case a.ClaimUntilMs != 0 && a.ClaimUntilMs <= now:
		return "Allowed, but the agent did not claim the call in time."
	case a.Decision == AllowSession:
		return "Allowed for the session. " + once + "; what the menu said is not asked again for " + hours(sessionGrantMs) + "."
	case a.Decision == AllowAlways:
		return "Allowed always. " + once + "; this very call is not asked again until an operator deletes the grant."
	}
	return "Allowed. " + once + "."
}

// retriedText says to a person what their vote for one more run did.
func (a Approval) retriedText(people *Directory, now int64) string {
	if round, open := a.OpenRound(people, now); open {
		return "Counted (" + round.Tally.roundText() + "); more are needed for it to run again."
	}
	return "It may run once more, within " + minutes(claimWindowMs) + "."
}
