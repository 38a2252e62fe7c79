package card

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"approvalbot/internal/approval"
	"approvalbot/internal/display"
	"approvalbot/internal/people"
)

// State is the line of a card that tells its progress.
type State struct {
	Flags   []string // what its reader cannot see at once: "hidden characters", "look-alikes"
	Votes   string   // "1 of 2 yes (alice)"; empty if the first yes settles it
	UntilMs int64    // when it expires; 0 if it has ended
	Also    string   // the people whom escalations asked: "also asked: bob"; empty if not
	Until   string   // the same in words, in the reader's zone: "until 14:30 CET (15 min)"
}

// state tells the approval's progress.
func state(a approval.Approval, r Reader) State {
	s := State{Votes: votesSoFar(a, r.People)}
	if !a.Final() {
		s.UntilMs, s.Until = a.ExpiresAtMs, UntilText(a.ExpiresAtMs, r.Zone, r.Now)
		s.Also = alsoAskedText(a)
	}
	return s
}

// StateLine is the line that tells a card's progress: votes, time left, people asked
// later, code. plain and code format a text for the platform, until writes the expiry.
func (c Card) StateLine(plain, code func(string) string, until string) string {
	var parts []string
	add := func(text string, as func(string) string) {
		if text != "" {
			parts = append(parts, as(text))
		}
	}
	add(c.State.Votes, plain)
	add(until, func(said string) string { return said })
	add(c.State.Also, plain)
	add(c.Code, code)
	return strings.Join(parts, " · ")
}

// UntilText says until when something lasts, and how long that is from now.
func UntilText(ms int64, zone *time.Location, now int64) string {
	return fmt.Sprintf("until %s (%s)", time.UnixMilli(ms).In(zone).Format("15:04 MST"), SpanText(ms-now))
}

// SpanText is [Span] of milliseconds.
func SpanText(ms int64) string { return Span(time.Duration(ms) * time.Millisecond) }

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

// at writes a time after the approval was made, with its zone, and with its day if that
// is another one.
func (r Reader) at(a approval.Approval, ms int64) Word {
	return Word{Text: TimeText(a.CreatedAtMs, ms, r.Zone), AtMs: ms}
}

// TimeText is a time in that zone as cards write it of an approval that was made at createdMs.
func TimeText(createdMs, ms int64, zone *time.Location) string {
	then, made := time.UnixMilli(ms).In(zone), time.UnixMilli(createdMs).In(zone)
	if then.YearDay() != made.YearDay() || then.Year() != made.Year() {
		return then.Format("2 Jan 15:04 MST")
	}
	return then.Format("15:04 MST")
}

// Asker names the owner of a call in the desk's words: the agent that the token is for,
// else the token. An agent that the call itself names is only a claim.
func Asker(a approval.Approval) string {
	if a.TokensAgent && a.AgentID != "" {
		return Clipped(display.Safe(a.AgentID), maxField)
	}
	return Clipped(display.Safe(a.Owner), maxField)
}

// outcome says how the approval ended: the present state comes first.
func outcome(a approval.Approval, r Reader) Words {
	ended := howItEnded(a, r)
	if a.AskAgainBy != "" {
		ended = append(ended, Word{Text: " · may be asked again, says " + people.People([]string{a.AskAgainBy})})
	}
	return ended
}

// howItEnded is outcome without what was said of a cool-down.
func howItEnded(a approval.Approval, r Reader) Words {
	by := ""
	if who := a.AllowedBy(); len(who) > 0 && !a.CoolingDown() {
		by = " by " + people.People(who)
	}
	when := func(ms int64, head string) Words { return Words{{Text: head + ", "}, r.at(a, ms)} }
	because := func(reason string) Words {
		if reason == "" {
			return nil
		}
		return own(": " + display.Escape(reason))
	}
	decision := display.UpperFirst(decisionTexts()[a.Decision]) + by
	switch {
	case a.GoneAtMs != 0 && a.Retries == 0:
		said := when(a.ResolvedAtMs, "⌛ "+decision)
		if a.RevokedAtMs != 0 {
			return append(said, Word{Text: ", but the agent that asked is gone: it will not run"})
		}
		said = append(said, Word{Text: ", but the agent did not take it in " + SpanText(approval.ClaimWindowMs) + ": it did not run"})
		return append(said, asksAgain(a, r)...)
	case a.RevokedAtMs != 0:
		back := when(a.RevokedAtMs, "↩️ Taken back by "+people.People([]string{a.RevokedBy}))
		ran := ", before it ran"
		if a.Retries > 0 {
			ran += " again"
		}
		back = append(append(back, Word{Text: ran}), because(a.RevokeReason)...)
		return append(back, Word{Text: ". It had been " + decisionTexts()[a.Decision] + by})
	case a.Status == approval.Approved:
		return slices.Concat(when(a.ResolvedAtMs, "✅ "+decision), because(a.Reason), after(a, r), asksAgain(a, r))
	case a.Status == approval.Denied:
		return append(when(a.ResolvedAtMs, "⛔ Denied"+by), because(a.Reason)...)
	case a.SupersededBy != "":
		return when(a.ResolvedAtMs, "⌛ Withdrawn: "+a.SupersededBy+" asks instead")
	case a.Status == approval.Withdrawn:
		return when(a.ResolvedAtMs, "⌛ Withdrawn"+by)
	case a.Reason == approval.NobodyDecided:
		return own("⌛ Nobody answered in " + SpanText(a.ExpiresAtMs-a.CreatedAtMs))
	}
	return append(when(a.ResolvedAtMs, "⌛ Expired"), because(a.Reason)...)
}

// after tells what followed a yes: the reported result, or that the call may be tried again.
func after(a approval.Approval, r Reader) Words {
	switch {
	case a.Result != nil:
		said := " · reported: " + a.Result.Status
		if a.Result.ExitCode != nil {
			said = fmt.Sprintf(" · reported: exit %d", *a.Result.ExitCode)
			if a.Failed() {
				said = fmt.Sprintf(" · reported: failed, exit %d", *a.Result.ExitCode)
			}
		}
		if a.Failed() {
			said = strings.Replace(said, "reported", "❌ reported", 1)
		}
		return own(said)
	case a.Overtaken():
		return own(" · an earlier run was reported as succeeded, so the retry is taken back")
	case a.Retries > 0 && a.ClaimedAtMs == 0:
		return Words{{Text: " · " + retriedBy(a) + " let the agent run it again, until "}, r.at(a, a.ClaimUntilMs)}
	}
	return nil
}

// retriedBy names who let it run again last.
func retriedBy(a approval.Approval) string {
	if len(a.RetriedBy) == 0 {
		return "operators"
	}
	return people.People(a.RetriedBy[len(a.RetriedBy)-1].By)
}

// asksAgain says that a retry round is open: "retry asked by alice, 1 of 2 yes (alice), until 18:05";
// or of the last one that somebody denied it.
func asksAgain(a approval.Approval, r Reader) Words {
	round, open := people.OpenRound(a, r.People, r.Now)
	no := a.RoundDenied
	switch {
	case !open && no != nil && no.Reason != "" && retryWithdrawnText(a, r.People) == "":
		return own(" · 🔁 retry denied by " + people.People([]string{no.Voter.Name()}) + ": " + display.Escape(no.Reason))
	case !open && no != nil:
		return own(" · 🔁 retry denied by " + people.People([]string{no.Voter.Name()}))
	case !open:
		return nil
	}
	return Words{{Text: " · 🔁 " + round.Text() + ", until "}, r.at(a, round.ExpiresAtMs)}
}

// retryWithdrawnText is the reason that an asker gave for denying one more run of the call;
// empty if no asker denied it, or without a reason.
func retryWithdrawnText(a approval.Approval, d *people.Directory) string {
	if no := a.RoundDenied; no != nil && d.IsAsker(*no.Voter, a.Askers) {
		return no.Reason
	}
	return ""
}

// badEnd reports an end that is to be noticed.
func badEnd(a approval.Approval) bool {
	return a.Status == approval.Denied || a.RevokedAtMs != 0 || a.Failed()
}

// claims are the asker's own words that a card shows at once.
func claims(a approval.Approval) []string {
	var parts, out []string
	said := cmp.Or(a.Justification, a.ActionSummary)
	if said != "" {
		parts = append(parts, quoted(said, maxSaid))
	}
	if who := requesterText(a); who != "" {
		parts = append(parts, "for "+Clipped(display.Safe(who), maxField))
	}
	if claimsAgent(a) {
		parts = append(parts, "by agent "+Clipped(display.Safe(a.AgentID), maxField))
	}
	if len(parts) > 0 {
		out = append(out, "claimed: "+strings.Join(parts, ", "))
	}
	if text := withdrawalText(a); text != "" {
		out = append(out, "withdrawn because: "+quoted(text, maxClaim))
	}
	if r := a.Result; r != nil && r.Summary != "" {
		out = append(out, "reported: "+quoted(r.Summary, maxClaim))
	}
	return out
}

// quoted is a person's or an asker's text, cut to so many characters, in quotes that the text cannot close.
func quoted(said string, room int) string {
	return "“" + Clipped(plainQuotes.Replace(display.Safe(said)), room) + "”"
}

var plainQuotes = strings.NewReplacer("“", `"`, "”", `"`, "„", `"`, "‟", `"`)

// maxSaidFrom is how many characters of each word about the asker the card itself shows.
const maxSaidFrom = 30

// fromText names the agent that asks, its branch and its worktree, each word of at most so many characters: "in
// Claude Code (Explore) on feature/x in worktree side". A worktree that has its branch's name is not named twice on
// a card.
func fromText(f approval.AskedFrom, room int) string {
	var parts []string
	add := func(before, value, after string) {
		if value != "" {
			parts = append(parts, before+Clipped(display.Safe(value), room)+after)
		}
	}
	add("in ", f.Runtime, "")
	add("(", f.SubagentType, ")")
	add("on ", f.Branch, "")
	if room > maxSaidFrom || f.Worktree != f.Branch[strings.LastIndex(f.Branch, "/")+1:] {
		add("in worktree ", f.Worktree, "")
	}
	return strings.Join(parts, " ")
}

// FromText names the agent that asks and its place, as the asker's claim; empty if the asker did not say.
func FromText(f approval.AskedFrom) string {
	if said := fromText(f, maxSaidFrom); said != "" {
		return "claimed: " + said
	}
	return ""
}

// Said are the asker's own words for a surface that shows no detail at once.
func (c Card) Said() []string {
	if c.From == "" {
		return c.Claims
	}
	return append(slices.Clip(c.Claims), c.From)
}

// claimsAgent reports whether the agent is only what the asker says.
func claimsAgent(a approval.Approval) bool {
	return a.AgentID != "" && !a.TokensAgent && a.AgentID != a.Owner
}

func requesterText(a approval.Approval) string {
	switch r := a.Requester; {
	case r == nil:
		return ""
	case r.Person != "":
		return r.Person
	default:
		return r.Channel + " user " + r.UserID
	}
}

// maxAlso is how long further reasons are, for platforms to draw them within a line.
const maxAlso = 100

// details are the facts that a card folds away. before are its words about the call.
func details(a approval.Approval, before Words) []Fact {
	var out []Fact
	add := func(name, value string, room int, isOwn bool) {
		if value != "" {
			out = append(out, Fact{Name: name, Value: Clipped(display.Safe(value), room), Own: isOwn})
		}
	}
	// Platforms fold later lines away: facts that help to decide come first.
	add("Also", strings.Join(furtherReasons(a, before), "; "), maxAlso, true)
	add("Decides", Text(a.Rule), maxFact, true)
	add("Session", a.SessionKey, maxFact, false)
	add("From", strings.TrimPrefix(fromText(a.Context.From, maxFact), "in "), maxClaim, false)
	add("Agent", a.AgentID, maxFact, a.TokensAgent)
	add("Subagent", a.Context.From.SubagentID, maxFact, false)
	if CharCount(a.Justification) > maxSaid {
		add("Why, in the asker's words", a.Justification, maxClaim, false)
	}
	if a.Justification != "" || CharCount(a.ActionSummary) > maxSaid {
		add("What, in the asker's words", a.ActionSummary, maxClaim, false)
	}
	if t := a.TriedConfined; t != nil {
		add("Last line when tried confined", t.Summary, maxClaim, false)
	}
	out = append(append(out, notes(a)...), runs(a)...)
	add("Reasons", strings.Join(a.Why, " "), maxClaim, true)
	add("Side effects", strings.ReplaceAll(joined(a.Assessment.SideEffects), "_", " "), maxFact, true)
	add("Risk", classes(a.Assessment), maxFact, true)
	if t := a.Context.Tool; t.Server != "" || t.Description != "" {
		add("The tool, as told by "+display.Escape(a.Owner), t.Text(), maxFact, false)
	}
	add("Tool", a.ToolName, maxFact, true)
	add("Asked by token", a.Owner, maxFact, true)
	add("Policy", a.PolicyHash[:min(12, len(a.PolicyHash))], maxFact, true)
	return append(out, shortFingerprint(a))
}

// shortFingerprint is as much of it as people compare.
func shortFingerprint(a approval.Approval) Fact {
	return Fact{Name: "Fingerprint", Value: a.Fingerprint[:min(12, len(a.Fingerprint))], Own: true}
}

// classes names both classes if a classifier's counts beside that of the static rules.
func classes(a approval.Assessment) string {
	if a.Classifier == "" {
		return ""
	}
	return fmt.Sprintf("%s by static rules, %s by the classifier (confidence %.2f)", a.Static, a.Classifier, a.Confidence)
}

// Text says whose yes the rule needs.
func Text(r approval.Rule) string {
	var all []string
	if r.AsksApprovers() {
		n := max(1, r.MinApprovals)
		what := plural(n, "approver")
		switch {
		case r.RequiresHuman && n == 1:
			what = "a person"
		case r.RequiresHuman:
			what += ", one of them a person"
		}
		for _, n := range r.Needs {
			what += ", " + people.Text(n, n.Min)
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

// wider describes each offered scope that is wider than once: what it would cover, for
// which asker, and until when.
func wider(a approval.Approval) []string {
	var lines []string
	agent := "this agent"
	if a.AgentID != "" {
		agent = "agent " + Clipped(display.Safe(a.AgentID), maxFact)
	}
	if slices.Contains(a.Offers, approval.AllowSession) {
		lines = append(lines, fmt.Sprintf("Allow session: %s; by %s in this session, up to risk %s "+
			"and for no other reason than here, for %s at most.",
			display.Safe(a.Session), agent, a.Assessment.RiskClass, hours(approval.SessionGrantMs)))
	}
	if slices.Contains(a.Offers, approval.AllowAlways) {
		lines = append(lines,
			fmt.Sprintf("Always: %s; by %s, until an operator deletes the grant.", display.Safe(a.Always), agent))
	}
	return lines
}

func hours(ms int64) string { return fmt.Sprintf("%d hours", ms/int64(time.Hour/time.Millisecond)) }

func minutes(ms int64) string {
	return fmt.Sprintf("%d minutes", ms/int64(time.Minute/time.Millisecond))
}

// VotedText says to a person what their vote did, as of now (Unix milliseconds), and what becomes of their note.
func VotedText(a approval.Approval, v approval.Voter, d approval.Decision, directory *people.Directory, now int64) string {
	text := votedText(a, d, directory, now)
	if given := givenNote(a, directory.Identify(v), d, now); given == "" {
		return text
	}
	return strings.TrimSuffix(text, ".") + "; your note is " + noteWay(a) + "."
}

// givenNote is the note of the person's vote of that decision; empty if it has none.
func givenNote(a approval.Approval, v approval.Voter, d approval.Decision, now int64) string {
	votes := a.Votes
	if round := a.OpenRound(now); round != nil {
		votes = round.Votes
	}
	i := slices.IndexFunc(votes, func(o approval.Vote) bool { return o.By(v) && o.Decision == d })
	if i < 0 || a.RevokedAtMs != 0 || a.Status == approval.Expired || a.Status == approval.Withdrawn {
		return ""
	}
	return votes[i].Note
}

// noteWay says whether a note reaches the agent: some runtimes do not pass notes on.
func noteWay(a approval.Approval) string {
	if who := Unheard(a); who != "" {
		return "on record, but " + who + " does not hand it to the model"
	}
	return "for the agent"
}

// Unheard names the asking program if it does not pass people's notes to its model; empty if it does.
func Unheard(a approval.Approval) string {
	switch {
	case a.Hidden(), a.Dialect != "":
		return "its gateway client"
	case a.Context.Unheard != "":
		return quoted(a.Context.Unheard, maxField) // its own word
	}
	return ""
}

// notes are what people say to the agent: so far, while it is pending, and in the end.
func notes(a approval.Approval) (out []Fact) {
	said := a.Notes()
	if a.Status == approval.Pending {
		for _, v := range a.Votes {
			if v.Note != "" && v.Voter != nil {
				said = append(said, approval.Note{By: v.Voter.Name(), Text: v.Note})
			}
		}
	}
	for _, n := range said {
		name := "Note from " + people.People([]string{n.By})
		if Unheard(a) != "" {
			name += " (" + noteWay(a) + ")"
		}
		out = append(out, Fact{Name: name, Value: display.Safe(n.Text), Own: true})
	}
	return out
}

func votedText(a approval.Approval, d approval.Decision, directory *people.Directory, now int64) string {
	once := "It may run once, within " + minutes(approval.ClaimWindowMs)
	switch {
	case a.Status == approval.Withdrawn:
		return "You cannot approve your own request, so your deny withdrew it."
	case d == approval.Retry:
		return retriedText(a, directory, now)
	case d == approval.Deny && a.Status == approval.Approved:
		return "Denied: it does not run again. The very same call is refused unasked for " + minutes(approval.CoolDownMs) + "."
	case a.Status == approval.Pending:
		return "Counted (" + people.TallyText(a, directory) + "); more approvals are needed."
	case a.Drill() && a.Status == approval.Approved:
		return "Allowed. It was a drill, so it does not run."
	case a.Status == approval.Denied && d == approval.Deny:
		return "Denied. The very same call is refused unasked for " + minutes(approval.CoolDownMs) + "."
	case a.Status != approval.Approved || a.RevokedAtMs != 0:
		return display.UpperFirst(Ending(a)) + "."
	case a.ClaimedAtMs != 0:
		return "Allowed. The agent has claimed the call."
	case a.ClaimUntilMs != 0 && a.ClaimUntilMs <= now:
		return "Allowed, but the agent did not claim the call in time."
	case a.Decision == approval.AllowSession:
		return "Allowed for the session. " + once + "; what the menu said is not asked again for " + hours(approval.SessionGrantMs) + "."
	case a.Decision == approval.AllowAlways:
		return "Allowed always. " + once + "; this very call is not asked again until an operator deletes the grant."
	}
	return "Allowed. " + once + "."
}

// retriedText says to a person what their vote for one more run did.
func retriedText(a approval.Approval, directory *people.Directory, now int64) string {
	if round, open := people.OpenRound(a, directory, now); open {
		return "Counted (" + round.Tally.RoundText() + "); more are needed for it to run again."
	}
	return "It may run once more, within " + minutes(approval.ClaimWindowMs) + "."
}
