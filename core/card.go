package core

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"approvalbot/display"
)

// Limits of a card, in characters. Together they stay below 4,096, the shortest
// limit of a platform (Bot API, sendMessage.text), with room for labels.
const (
	maxHeadline = 220  // the first line
	maxNotice   = 100  // what of it a phone's notification shows
	maxPlace    = 40   // of that, for each place that the call is bound to
	maxField    = 60   // of that, for each parameter
	maxInline   = 1500 // the payload, when it stands on the card itself
	maxFact     = 120
	maxClaim    = 400
	maxSummary  = 500
	maxWarnings = 3
	maxWhy      = 4
	maxInPart   = 3 // parameters that a card shows of a call that it cannot show whole
)

// Fact is a labelled line of a card. Both sides are safe to show: redacted and
// escaped, the name without line breaks.
type Fact struct {
	Name  string
	Value string // of a call: may have line feeds, for a block of its own (display.EscapeBlock)
	Own   bool   // of a call: the desk's own word for it, no name that the asker chose
}

// Line is the value on one line.
func (f Fact) Line() string { return display.OneLine(f.Value) }

// File is a text attached before a card, because the payload is too long for it.
type File struct {
	Name    string
	Caption string
	Text    string
	Silent  bool // as of its card
}

// maxSpelled is how long a file may be for messages to stand for it, in characters.
const maxSpelled = 6000

// Parts cuts a file that a chat does not take into the texts of messages, of at most n
// characters each and at line ends where it can: together they are the whole text.
// None, when it is too long for that.
func (f File) Parts(n int) []string {
	rest := []rune(f.Text)
	if len(rest) > maxSpelled {
		return nil
	}
	var parts []string
	for len(rest) > n {
		end := n
		for i := n; i > n/2; i-- {
			if rest[i-1] == '\n' {
				end = i
				break
			}
		}
		parts, rest = append(parts, string(rest[:end])), rest[end:]
	}
	return append(parts, string(rest))
}

// PartHead is what stands above a part, outside of it.
func (f File) PartHead(i, of int) string {
	return fmt.Sprintf("%s. Part %d of %d:", f.Caption, i+1, of)
}

// Card is what a person sees of an approval, channel-neutral. Adapters only
// translate it. Every text in it is redacted, escaped and, but for the values of
// Payload, without line breaks.
type Card struct {
	Code     string
	Status   Status
	Headline string // the command or what the call does, and where
	Risk     RiskClass
	Why      []string
	Warnings []string
	Payload  []Fact // the whole call, or empty when the headline says it all or the file holds it
	Cut      string // what of the call is not in Payload, and where it is; empty: nothing
	Facts    []Fact // computed: working directory, agent, session, fingerprint
	Claims   []Fact // the asker's own words
	Tally    string
	Expires  string     // when, with the zone named; empty once it has ended
	Outcome  string     // how it ended
	Revoked  bool       // it was approved, and taken back
	Result   string     // how the execution went, as the agent says
	Failed   bool       // it says that it failed
	Offers   []Decision // allows that may be tapped here; empty: deny only
	Session  string     // what allowing for the session would cover, in words
	Always   string     // what allowing always would
	Agent    string     // whose calls the wider scopes would cover, or empty
	DenyOnly string     // why no allow is offered
	Times    Times      // those in Expires and Outcome
	Digest   *Digest    // not nil: it is a list of approvals, and all else is empty
}

// Times are the times that a text names: each as it is written there, and in Unix
// milliseconds. A platform may write them anew, in the zone of whoever reads.
type Times map[string]int64

// times are those that a card, or a message about the approval, may name.
func (a Approval) times() Times {
	out := Times{}
	for _, ms := range []int64{a.ExpiresAtMs, a.ResolvedAtMs, a.RevokedAtMs, a.ClaimUntilMs} {
		if ms != 0 {
			out[timeText(ms, time.Local)] = ms
		}
	}
	return out
}

// Drawing is what a delivery should show now.
type Drawing struct {
	Card    *Card       // CardDelivery, DigestDelivery
	Bare    *Card       // the same with no word that an asker chose, deny only: for a chat that refuses Card
	Text    string      // other kinds: one message
	Times   Times       // in Text
	Mention []Mentioned // in Text
	File    *File       // to be attached before the card
	Skip    string      // nothing is to be sent any more, and why
	Shown   bool        // with File (if any) attached, everything that would run is shown
	Done    bool        // the card shows the outcome
	// FailsOpen reports whether the call runs where nobody can be asked. Then a chat
	// counts as out of reach only where it does not take Bare either.
	FailsOpen bool
}

// draw says what the delivery should show. payload is the whole call, or empty
// once the approval has ended.
func (a Approval) draw(d Delivery, payload []Fact, people *Directory) Drawing {
	if d.Kind == ResultDelivery && a.Result == nil {
		return Drawing{Skip: "it may be tried again before its result could be told"}
	}
	if d.Kind == ReminderDelivery {
		return a.drawReminder(d, people)
	}
	if d.Kind != CardDelivery {
		return Drawing{Text: a.messageText(d.Kind), Times: a.times(), Done: true}
	}
	if a.Final() && d.MessageID == "" && !a.drillDecided() {
		if a.Origin != nil && d.Target.Normal() == *a.Origin {
			d.Kind = OutcomeDelivery // the session chat is told, though the card comes too late
			return a.draw(d, nil, people)
		}
		return Drawing{Skip: "ended before it could be shown"}
	}
	return a.drawCard(d, payload, people)
}

func (a Approval) drawCard(d Delivery, payload []Fact, people *Directory) Drawing {
	c := Card{
		Code: a.Code, Status: a.Status, Revoked: a.RevokedAtMs != 0, Risk: a.Assessment.RiskClass,
		Headline: headline(a, payload), Facts: a.facts(), Claims: a.claims(), Why: clip(a.Why, maxWhy),
		Tally: a.votesSoFar(people), Warnings: a.warnings(payload),
		Session: display.Safe(a.Session), Always: display.Safe(a.Always), Agent: clipped(display.Safe(a.AgentID), maxFact),
		Times: a.times(),
	}
	if a.Final() {
		c.Outcome, c.Result, c.Failed = a.endingAt(), a.resultText(), a.failed()
		if a.Retries > 0 && a.ClaimedAtMs == 0 && a.RevokedAtMs == 0 {
			c.Outcome += "; an operator lets the agent try again, until " + timeText(a.ClaimUntilMs, time.Local)
		}
		return Drawing{Card: &c, Bare: a.bareCard(c), Done: true}
	}
	c.Expires = timeText(a.ExpiresAtMs, time.Local) + a.alsoAskedText()
	file := a.placePayload(&c, payload, d.DenyOnly)
	out := Drawing{Card: &c, File: file, Shown: len(payload) > 0 && (file == nil || d.Attached), FailsOpen: a.Unreached}
	switch {
	case len(payload) == 0:
		c.DenyOnly = "The call itself cannot be shown, so it can only be denied here."
	case file != nil && d.DenyOnly:
		c.DenyOnly = "The whole call is too long for this card, and this chat takes no files, so " + denyHere
	case d.DenyOnly:
		c.DenyOnly = "This chat does not take the card with the call on it, so " + denyHere
	case d.MessageID != "" && !d.Shown:
		c.DenyOnly = "Not everything that would run could be shown here, so it can only be denied here."
	case file != nil && !d.Attached:
		c.DenyOnly = "The whole call has not been shown here yet."
	default:
		c.Offers = slices.DeleteFunc(slices.Clone(a.Offers), func(x Decision) bool { return !x.Allows() })
	}
	out.Bare = a.bareCard(c)
	return out
}

const denyHere = "it can only be denied here. It can be allowed elsewhere: in another chat that has its card, by API or by command line."

// bareCard is a card with nothing on it but the desk's own words, so that no call can be
// written in a way that keeps people from hearing of it.
func (a Approval) bareCard(c Card) *Card {
	bare := Card{
		Code: c.Code, Status: c.Status, Revoked: c.Revoked, Failed: c.Failed, Risk: c.Risk, Tally: c.Tally, Expires: c.Expires,
		Headline: "a call that cannot be shown in this chat",
		Facts: []Fact{
			{Name: "Asked by token", Value: clipped(display.Safe(a.Owner), maxFact)},
			{Name: "Fingerprint", Value: a.Fingerprint[:min(12, len(a.Fingerprint))]},
		},
	}
	if !a.Final() {
		bare.DenyOnly = "This chat does not take the card with the call on it, so " + denyHere
		return &bare
	}
	own := a
	own.RevokeReason = ""
	if a.Status != Expired { // that one is the desk's own
		own.Reason = ""
	}
	bare.Outcome = own.endingAt()
	if a.Result != nil {
		own.Result = &Result{Status: a.Result.Status, ExitCode: a.Result.ExitCode}
		bare.Result = own.resultText()
	}
	return &bare
}

// placePayload puts the whole call on the card, or into a file when it is too
// long: then the card shows the telling part of it, and says what it does not. What
// the headline already says in full is not said twice.
func (a Approval) placePayload(c *Card, payload []Fact, noFiles bool) *File {
	rest := payload
	if len(rest) == 1 && rest[0].Value == c.Headline {
		rest = nil
	}
	total := 0
	for _, f := range rest {
		total += charCount(f.Name) + charCount(f.Value) + 3
	}
	if total <= maxInline {
		c.Payload = rest
		return nil
	}
	where := "whole above"
	if noFiles {
		where = "and the rest cannot be shown here"
	}
	own := func(f Fact) bool { return f.Own }
	asked := slices.DeleteFunc(bySalience(a.ToolName, rest), own)
	first := clip(asked, maxInPart)
	cut := 0
	for _, f := range append(slices.Clone(first), slices.DeleteFunc(slices.Clone(rest), func(f Fact) bool { return !own(f) })...) {
		head, long := display.Clip(f.Value, maxInline/4)
		if long {
			head += fmt.Sprintf(" (%d characters, %s)", charCount(f.Value), where)
		}
		name := clipped(f.Name, maxFact)
		if long || name != f.Name {
			cut++
		}
		c.Payload = append(c.Payload, Fact{name, head, f.Own})
	}
	c.Cut = cutText(cut, len(asked)-len(first), where)
	var text strings.Builder
	fmt.Fprintf(&text, "Request %s\nTool: %s\nFingerprint: %s\n\n", a.Code, display.Escape(a.ToolName), a.Fingerprint)
	for _, f := range payload {
		fmt.Fprintf(&text, "%s:\n%s\n\n", f.Label(a.ToolName), strings.ReplaceAll(f.Line(), `\u{A}`, "\\u{A}\n"))
	}
	return &File{
		Name:    a.Code + ".txt",
		Caption: fmt.Sprintf("Everything that request %s would run. Fingerprint %s", a.Code, a.Fingerprint[:12]),
		Text:    text.String(),
	}
}

// cutText says that a card shows less than the call: how many of the parameters on
// it are cut short, how many are not on it at all, and where they are.
func cutText(cut, missing int, where string) string {
	switch {
	case missing == 1:
		return "… and 1 more parameter, " + where
	case missing > 1:
		return fmt.Sprintf("… and %d more parameters, %s", missing, where)
	case cut > 0:
		return "Cut here, " + where
	}
	return ""
}

// Label is a fact's name where nothing but words sets names apart: that of an asker's
// parameter must not look like the desk's own.
func (f Fact) Label(tool string) string {
	if f.Own || tool == "exec" {
		return f.Name
	}
	return "parameter " + f.Name
}

// facts are the computed lines below the payload.
func (a Approval) facts() []Fact {
	var out []Fact
	add := func(name, value string) {
		if value != "" {
			out = append(out, Fact{Name: name, Value: clipped(display.Safe(value), maxFact)})
		}
	}
	add("Tool", a.ToolName)
	add("Risk", a.Assessment.classes())
	add("Agent", a.AgentID)
	add("Session", a.SessionKey)
	add("Asked by token", a.Owner)
	add("Fingerprint", a.Fingerprint[:min(12, len(a.Fingerprint))])
	return out
}

// claims are the asker's own words, set apart from the computed facts.
func (a Approval) claims() []Fact {
	var out []Fact
	add := func(name, value string) {
		if value != "" {
			out = append(out, Fact{Name: name, Value: clipped(display.Safe(value), maxClaim)})
		}
	}
	add("Why, in the asker's words", a.Justification)
	add("What, in the asker's words", a.ActionSummary)
	if r := a.Requester; r != nil {
		who := r.Person
		if who == "" {
			who = r.Channel + " user " + r.UserID
		}
		add("Requester, as told by "+display.Escape(a.Owner), who)
	}
	if t := a.Context.Tool; t.Server != "" || t.Description != "" {
		said := clipped(display.Safe(t.text()), maxFact)
		out = append(out, Fact{Name: "The tool, as told by " + display.Escape(a.Owner), Value: said})
	}
	add("Why it was withdrawn, in the asker's words", a.withdrawalText())
	return out
}

// warnings are what a person should look at twice.
func (a Approval) warnings(payload []Fact) []string {
	var out []string
	if a.Solo && len(a.Askers) > 0 {
		out = append(out, "People may approve their own requests here (selfApproval: solo).")
	}
	texts := []string{a.ToolName, a.AgentID, a.SessionKey}
	for _, f := range payload {
		texts = append(texts, f.Name, f.Value)
	}
	// Escaped characters are visible already; what is left is look-alikes.
	for _, s := range display.Lookalikes(strings.Join(texts, "\n"), maxWarnings) {
		out = append(out, clipped(s, maxFact))
	}
	return out
}

// payloadFacts gives the whole call as people see it: redacted and escaped.
func payloadFacts(call Call) ([]Fact, error) {
	if call.ToolName == "exec" {
		if e, bad := call.ParseExec(); len(bad) == 0 {
			return append(e.facts(), call.Bind.facts()...), nil
		}
	}
	fields, err := display.Params(call.Params)
	if err != nil {
		return nil, err
	}
	out := make([]Fact, 0, len(fields)+1)
	for _, f := range fields {
		out = append(out, Fact{Name: f.Name, Value: f.Value})
	}
	if len(out) == 0 {
		out = append(out, Fact{Name: "params", Value: "none"})
	}
	return append(out, call.Bind.facts()...), nil
}

// facts are the bounds of a call: where it runs is part of what runs.
func (b *Bind) facts() []Fact {
	var out []Fact
	add := func(name, value string) {
		if value != "" {
			out = append(out, Fact{Name: name, Value: display.Safe(value), Own: true})
		}
	}
	workdir, host, envHash := b.Fields()
	add("bound to directory", workdir)
	add("bound to host", host)
	add("bound to environment", envHash)
	return out
}

func (e Exec) facts() []Fact {
	out := []Fact{{Name: "command", Value: e.block()}}
	add := func(name, value string) {
		if value != "" {
			out = append(out, Fact{Name: name, Value: display.Safe(value)})
		}
	}
	add("workdir", e.Workdir)
	for _, k := range sortedKeys(e.Env) {
		out = append(out, Fact{Name: "env", Value: display.Safe(k + "=" + e.Env[k])})
	}
	add("host", e.Host)
	if e.TimeoutMs > 0 {
		add("timeout", fmt.Sprint(e.TimeoutMs))
	}
	add("security", e.Security)
	add("ask", e.Ask)
	return out
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func clip[T any](s []T, n int) []T { return s[:min(n, len(s))] }

func clipped(s string, n int) string { s, _ = display.Clip(s, n); return s }

func charCount(s string) int { return len([]rune(s)) }

// classes says both classes where a classifier's counts beside that of static rules.
func (a Assessment) classes() string {
	if a.Classifier == "" {
		return ""
	}
	return fmt.Sprintf("%s by static rules, %s by the classifier (confidence %.2f)", a.Static, a.Classifier, a.Confidence)
}
