package core

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"approvalbot/display"
)

// Limits of a card, in characters. Together they stay below 4,096, the shortest
// limit of a platform (Bot API, sendMessage.text), with room for labels.
const (
	maxHeadline = 220  // the first line: what a phone's notification shows
	maxInline   = 1500 // the payload, when it stands on the card itself
	maxFact     = 120
	maxClaim    = 400
	maxSummary  = 500
	maxWarnings = 3
	maxWhy      = 4
)

// Fact is a labelled line of a card. Both sides are safe to show: redacted and
// escaped, without line breaks.
type Fact struct{ Name, Value string }

// File is a text attached before a card, because the payload is too long for it.
type File struct {
	Name    string
	Caption string
	Text    string
}

// Card is what a person sees of an approval, channel-neutral. Adapters only
// translate it. Every text in it is redacted, escaped and without line breaks.
type Card struct {
	Code     string
	Status   Status
	Headline string // the command or what the call does, and where
	Risk     RiskClass
	Why      []string
	Warnings []string
	Payload  []Fact // the whole call, or empty when the headline says it all or the file holds it
	Facts    []Fact // computed: working directory, agent, session, fingerprint
	Claims   []Fact // the asker's own words
	Tally    string
	Expires  string     // when, with the zone named; empty once it has ended
	Outcome  string     // how it ended
	Revoked  bool       // it was approved, and taken back
	Result   string     // how the execution went, as the agent says
	Offers   []Decision // allows that may be tapped here; empty: deny only
	Subject  string     // what allowing for the session would cover: "exec git push"
	Agent    string     // whose calls the wider scopes would cover, or empty
	DenyOnly string     // why no allow is offered
}

// Drawing is what a delivery should show now.
type Drawing struct {
	Card  *Card  // CardDelivery
	Text  string // other kinds: one message
	File  *File  // to be attached before the card
	Skip  string // nothing is to be sent any more, and why
	Shown bool   // with File (if any) attached, everything that would run is shown
	Done  bool   // the card shows the outcome
}

// draw says what the delivery should show. payload is the whole call, or empty
// once the approval has ended.
func (a Approval) draw(d Delivery, payload []Fact, people *Directory) Drawing {
	switch d.Kind {
	case OutcomeDelivery, RevokedDelivery:
		return Drawing{Text: fmt.Sprintf("%s %s: %s", icon(a), a.Ending(), headline(a, nil)), Done: true}
	case ResultDelivery:
		return Drawing{Text: fmt.Sprintf("%s %s", a.resultWords(), headline(a, nil)), Done: true}
	case CallbackDelivery:
		return Drawing{Text: "the approval", Done: true} // the channel writes what it is then
	case RetryDelivery:
		return Drawing{Text: fmt.Sprintf("🔁 An operator lets the agent try again, until %s: %s", clock(a.ClaimUntilMs, time.Local), headline(a, nil)), Done: true}
	case UnreachedDelivery:
		return Drawing{Text: fmt.Sprintf("Nobody could be asked to approve this: %s. No approver's chat took the card.", headline(a, nil)), Done: true}
	case ReasonDelivery:
		return Drawing{Text: fmt.Sprintf("Denied %s. Reply to this message with the reason, if you want to give one.", a.Code), Done: true}
	}
	if a.Final() && d.MessageID == "" {
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
		Tally: a.tally(people).Words(), Warnings: a.warnings(payload),
		Subject: clipped(display.Safe(a.Subject), MaxSubject), Agent: clipped(display.Safe(a.AgentID), maxFact),
	}
	if a.Final() {
		c.Outcome, c.Result = a.endingAt(), a.resultWords()
		if a.Retries > 0 && a.ClaimedAtMs == 0 && a.RevokedAtMs == 0 {
			c.Outcome += "; an operator lets the agent try again, until " + clock(a.ClaimUntilMs, time.Local)
		}
		return Drawing{Card: &c, Done: true}
	}
	c.Expires = clock(a.ExpiresAtMs, time.Local)
	file := a.placePayload(&c, payload)
	out := Drawing{Card: &c, File: file, Shown: len(payload) > 0 && (file == nil || d.Attached)}
	switch {
	case len(payload) == 0:
		c.DenyOnly = "The call itself cannot be shown, so it can only be denied here."
	case file != nil && d.CannotAttach:
		c.DenyOnly = "The whole call is too long for this card and this chat takes no files, so it can only be denied here."
	case d.MessageID != "" && !d.Shown:
		c.DenyOnly = "Not everything that would run could be shown here, so it can only be denied here."
	case file != nil && !d.Attached:
		c.DenyOnly = "The whole call has not been shown here yet."
	default:
		c.Offers = slices.DeleteFunc(slices.Clone(a.Offers), func(x Decision) bool { return !x.Allows() })
	}
	return out
}

// placePayload puts the whole call on the card, or into a file when it is too
// long. What the headline already says in full is not said twice.
func (a Approval) placePayload(c *Card, payload []Fact) *File {
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
	for _, f := range rest {
		head, cut := display.Clip(f.Value, maxInline/4)
		if cut {
			head += fmt.Sprintf(" (%d characters, whole in the file above)", charCount(f.Value))
		}
		if len(c.Payload) < 3 {
			c.Payload = append(c.Payload, Fact{clipped(f.Name, maxFact), head})
		}
	}
	var text strings.Builder
	fmt.Fprintf(&text, "Request %s\nTool: %s\nFingerprint: %s\n\n", a.Code, display.Escape(a.ToolName), a.Fingerprint)
	for _, f := range payload {
		fmt.Fprintf(&text, "%s:\n%s\n\n", f.Name, strings.ReplaceAll(f.Value, `\u{A}`, "\\u{A}\n"))
	}
	return &File{
		Name:    a.Code + ".txt",
		Caption: fmt.Sprintf("Everything that request %s would run. Fingerprint %s", a.Code, a.Fingerprint[:12]),
		Text:    text.String(),
	}
}

// headline is the card's first line: what runs, and where.
func headline(a Approval, payload []Fact) string {
	what := a.Summary
	if len(payload) > 0 {
		what = summary(payload, 2*maxHeadline)
	}
	if a.ToolName == "exec" {
		if len(payload) > 0 {
			what = payload[0].Value
			for _, f := range payload {
				if f.Name == "workdir" {
					what = clipped(what, maxHeadline/2) + " · in " + f.Value
				}
			}
		}
		return clipped(what, maxHeadline)
	}
	return clipped(display.Escape(a.ToolName)+" · "+what, maxHeadline)
}

// facts are the computed lines below the payload.
func (a Approval) facts() []Fact {
	var out []Fact
	add := func(name, value string) {
		if value != "" {
			out = append(out, Fact{name, clipped(display.Safe(value), maxFact)})
		}
	}
	add("Tool", a.ToolName)
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
			out = append(out, Fact{name, clipped(display.Safe(value), maxClaim)})
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

func (a Approval) resultWords() string {
	r := a.Result
	if r == nil {
		return ""
	}
	s := "The agent says it " + r.Status
	if r.ExitCode != nil {
		s += fmt.Sprintf(" with exit status %d", *r.ExitCode)
	}
	if r.Summary != "" {
		s += ": " + clipped(display.Escape(r.Summary), maxClaim)
	}
	return s + "."
}

func icon(a Approval) string {
	switch {
	case a.Status == Approved && a.RevokedAtMs == 0:
		return "✅"
	case a.Status == Denied, a.RevokedAtMs != 0:
		return "⛔"
	default:
		return "⌛"
	}
}

// payload reads a canonical call into the lines that people see: all of it,
// redacted and escaped.
func payload(canonical []byte) ([]Fact, error) {
	tool, params, bind, err := Open(canonical)
	if err != nil {
		return nil, err
	}
	return lines(tool, params, bind)
}

// lines is payload of the parts of a canonical call.
func lines(tool string, params json.RawMessage, bind *Bind) ([]Fact, error) {
	if tool == "exec" {
		if e, bad := ParseExec(params); len(bad) == 0 {
			return append(e.facts(), bind.facts()...), nil
		}
	}
	fields, err := display.Params(params)
	if err != nil {
		return nil, err
	}
	out := make([]Fact, 0, len(fields)+1)
	for _, f := range fields {
		out = append(out, Fact{f.Name, f.Value})
	}
	if len(out) == 0 {
		out = append(out, Fact{"params", "none"})
	}
	return append(out, bind.facts()...), nil
}

// facts are the bounds of a call: where it runs is part of what runs.
func (b *Bind) facts() []Fact {
	var out []Fact
	add := func(name, value string) {
		if value != "" {
			out = append(out, Fact{name, display.Safe(value)})
		}
	}
	workdir, host, envHash := b.Says()
	add("bound to directory", workdir)
	add("bound to host", host)
	add("bound to environment", envHash)
	return out
}

func (e Exec) facts() []Fact {
	out := []Fact{{"command", e.Line()}}
	add := func(name, value string) {
		if value != "" {
			out = append(out, Fact{name, display.Safe(value)})
		}
	}
	add("workdir", e.Workdir)
	for _, k := range sortedKeys(e.Env) {
		out = append(out, Fact{"env", display.Safe(k + "=" + e.Env[k])})
	}
	add("host", e.Host)
	if e.TimeoutMs > 0 {
		add("timeout", fmt.Sprint(e.TimeoutMs))
	}
	add("security", e.Security)
	add("ask", e.Ask)
	return out
}

// summary is the call on one line, cut to n characters.
func summary(payload []Fact, n int) string {
	parts := make([]string, len(payload))
	for i, f := range payload {
		parts[i] = f.Name + ": " + f.Value
		if f.Name == "command" {
			parts[i] = f.Value
		}
	}
	return clipped(strings.Join(parts, " · "), n)
}

// Line writes the whole call on one line, for API answers.
func Line(payload []Fact) string { return summary(payload, 1<<30) }

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
