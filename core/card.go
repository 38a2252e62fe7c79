package core

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"approvalbot/internal/assertion"
	"approvalbot/internal/display"
)

// Limits of a card, in characters. Together they stay below 4,096, the shortest
// limit of a platform (Bot API, sendMessage.text), with room for labels.
const (
	maxInline = 1500 // the call, when it stands on the card itself
	maxFact   = 120
	maxClaim  = 400
	maxSaid   = 140 // of a claim on the card itself; all of it stands in the details

	maxWarnings = 3
	maxInPart   = 3 // parameters that a card shows of a call that it cannot show whole
)

// Limits of a call on a card, in lines as a phone has them: what has more goes into a file.
const (
	maxLines  = 12
	headLines = 4  // of the part that is shown then
	lineWidth = 40 // characters of a line, about
)

// Word is a piece of a line of a card, safe to show: redacted, escaped, without line breaks.
type Word struct {
	Text   string
	Theirs bool  // chosen by who asks: shown as code, which no word of the desk is
	AtMs   int64 // Text is this time; a platform may write it anew, in the zone of whoever reads
}

// Words are a line of a card.
type Words []Word

// own is a line of the desk's own words alone.
func own(text string) Words { return Words{{Text: text}} }

// theirs is a piece that who asks chose.
func theirs(text string) Word { return Word{Text: text, Theirs: true} }

// String is the line without any difference between its pieces.
func (w Words) String() string {
	var out strings.Builder
	for _, x := range w {
		out.WriteString(x.Text)
	}
	return out.String()
}

// Fact is a labelled value of a card. Both sides are safe to show: redacted and
// escaped, the name without line breaks.
type Fact struct {
	Name  string
	Value string // of a call: may have line feeds, for a block of its own (display.EscapeBlock)
	Own   bool   // the desk's own word for it, nothing that the asker said
	Block bool   // it is what the call is about, and stands in a block without its name
}

// Line is the value on one line.
func (f Fact) Line() string { return display.OneLine(f.Value) }

// Label is a fact's name where nothing but words sets names apart: that of an asker's
// parameter must not look like the desk's own.
func (f Fact) Label(tool string) string {
	if f.Own || tool == "exec" {
		return f.Name
	}
	return "parameter " + f.Name
}

// Card is what a person sees of an approval, channel-neutral, in the order in which it is
// read. Adapters only translate it. Every text in it is redacted, escaped and, but for the
// values of Payload, without line breaks.
type Card struct {
	Code   string
	Status Status
	Risk   RiskClass

	Outcome  Words    // how it ended: the first line then
	Headline Words    // who asks for what: "deployer asks to run"
	Payload  []Fact   // the call, but for what Headline and Place say whole; empty after the end
	Cut      string   // what of the call is not in Payload, and where it is; empty: nothing
	Place    Words    // where it runs
	Summary  string   // after the end: the call on one line
	Why      string   // the risk in words, and the reasons that count most
	Claims   []string // the asker's own words; each needs a mark, and no line of the desk's beside it
	DenyOnly string   // why no allow is offered
	Warnings []string // what to look at twice
	Link     string   // the desk's page on which a yes must be signed; empty: none
	State    State
	Details  []Fact // what else is known; those that are not Own are the asker's words

	Offers []Decision // allows that may be tapped here; empty: deny only
	Wider  []string   // a sentence for each offered scope wider than once: what it covers
	Again  bool       // the very same call is refused unasked, which may be ended here
	Bad    bool       // it was denied, taken back or failed: an end to be noticed
	Digest *Digest    // not nil: it is a list of approvals, and all else but Code, Status and Headline is empty
}

// Title is who asks for what, on one line.
func (c Card) Title() string {
	title := c.Headline.String()
	if len(c.Payload) > 0 {
		title += " " + c.Payload[0].Line()
	}
	return strings.TrimSpace(title + " " + c.Summary)
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

// reader is for whom a card is drawn.
type reader struct {
	people *Directory
	zone   *time.Location // in which times are written
	now    int64
	site   assertion.Site // of the desk's pages
}

// draw says what the delivery should show. payload is the whole call, or empty
// once the approval has ended.
func (a Approval) draw(d Delivery, payload []Fact, r reader) Drawing {
	if d.Kind == ResultDelivery && a.Result == nil {
		return Drawing{Skip: "it may be tried again before its result could be told"}
	}
	if d.Kind == ReminderDelivery {
		return a.drawReminder(d, r.people)
	}
	if d.Kind == RetryAskedDelivery {
		return a.drawRound(d, payload, r.people, r.site, r.now)
	}
	if d.Kind == PushDelivery {
		return a.drawNotification()
	}
	if d.Kind != CardDelivery {
		return Drawing{Text: a.messageText(d.Kind), Times: a.times(), Done: true}
	}
	if a.Final() && d.MessageID == "" && !a.drillDecided() {
		if a.Origin != nil && d.Target.Normal() == *a.Origin {
			d.Kind = OutcomeDelivery // the session chat is told, though the card comes too late
			return a.draw(d, nil, r)
		}
		return Drawing{Skip: "ended before it could be shown"}
	}
	return a.drawCard(d, payload, r)
}

// drawCard is the card as that chat takes it.
func (a Approval) drawCard(d Delivery, payload []Fact, r reader) Drawing {
	if a.Final() {
		payload = nil
	}
	c := a.card(payload, r)
	out := Drawing{Card: &c, Bare: a.bareCard(c, r)}
	if a.Final() {
		out.Done = true
		return out
	}
	where := "whole above"
	if d.DenyOnly {
		where = "and the rest cannot be shown here"
	}
	out.File = a.placePayload(&c, payload, where)
	out.Shown, out.FailsOpen = len(payload) > 0 && (out.File == nil || d.Attached), a.failsOpen()
	if c.DenyOnly = a.denyOnly(d, len(payload) > 0, out.File != nil); c.DenyOnly != "" || len(payload) == 0 {
		c.Offers, c.Wider = nil, nil
	}
	return out
}

// card is all that a person may see of the approval, the whole call on it. payload is
// that call, or empty.
func (a Approval) card(payload []Fact, r reader) Card {
	text := a.askersText(payload)
	odd := display.Lookalikes(text, maxWarnings)
	c := Card{
		Code: a.Code, Status: a.Status, Risk: a.Assessment.RiskClass, Why: a.riskText(), Claims: a.claims(),
		Warnings: a.warnings(odd), Details: a.details(), State: a.state(r),
	}
	if said := a.retryWithdrawnText(r.people); said != "" {
		c.Claims = append(c.Claims, "denied the retry because: “"+clipped(display.Safe(said), maxClaim)+"”")
	}
	if display.Hides(text) {
		c.State.Flags = append(c.State.Flags, "hidden characters")
	}
	if len(odd) > 0 {
		c.State.Flags = append(c.State.Flags, "look-alikes")
	}
	if a.Rule.StepUp && !a.Final() {
		c.Link = a.stepUp(r.site, "").URL
	}
	if a.Final() {
		c.Outcome, c.Bad, c.Why, c.Again = a.outcome(r), a.badEnd(), a.riskWords(), a.coolsDown(r.now)
		c.Headline, c.Summary = own(a.asker()+" asked for"), clipped(toolPrefix(a.ToolName)+a.Summary, maxSummary)
		return c
	}
	f := a.form(payload)
	c.Headline, c.Payload, c.Place = append(own(a.asker()+" asks "), f.does...), f.rest, f.place
	c.Offers = slices.DeleteFunc(slices.Clone(a.Offers), func(x Decision) bool { return !x.Allows() })
	c.Wider = a.wider()
	return c
}

const denyHere = "it can only be denied here. It can be allowed elsewhere: in another chat that has its card, by API or by command line."

// denyOnly says why a card in that chat offers no allow; empty: it may, or its first
// line says why not.
func (a Approval) denyOnly(d Delivery, known, file bool) string {
	switch {
	case a.hidden():
		return ""
	case !known:
		return "The call itself cannot be shown, so it can only be denied here."
	case file && d.DenyOnly:
		return "The whole call is too long for this card, and this chat takes no files, so " + denyHere
	case d.DenyOnly:
		return "This chat does not take the card with the call on it, so " + denyHere
	case d.MessageID != "" && !d.Shown:
		return "Not everything that would run could be shown here, so it can only be denied here."
	case file && !d.Attached:
		return "The whole call has not been shown here yet."
	}
	return ""
}

// bareCard is a card with nothing on it but the desk's own words, so that no call can be
// written in a way that keeps people from hearing of it.
func (a Approval) bareCard(c Card, r reader) *Card {
	bare := Card{
		Code: c.Code, Status: c.Status, Risk: c.Risk, Bad: c.Bad, Again: c.Again, State: c.State, Why: a.riskWords(),
		Headline: own(clipped(display.Safe(a.Owner), maxFact) + " asks for a call that cannot be shown in this chat"),
		Details:  []Fact{a.shortFingerprint()},
	}
	bare.State.Flags = nil
	if !a.Final() {
		bare.DenyOnly = "This chat does not take the card with the call on it, so " + denyHere
		return &bare
	}
	plain := a
	if plain.RevokeReason = ""; a.RoundDenied != nil {
		plain.RoundDenied = &Vote{Voter: a.RoundDenied.Voter}
	}
	if a.Status != Expired { // that one is the desk's own
		plain.Reason = ""
	}
	bare.Outcome = plain.outcome(r)
	return &bare
}

// placePayload leaves the whole call on the card, or puts it into a file when it is too
// long: then the card shows the telling part of it, and says what it does not, and where
// that is.
func (a Approval) placePayload(c *Card, payload []Fact, where string) *File {
	whole := c.Payload
	total, lines := 0, 0
	for _, f := range whole {
		total += charCount(f.Name) + charCount(f.Value) + 3
		lines += f.lines()
	}
	if total <= maxInline && lines <= maxLines {
		return nil
	}
	theirs := func(f Fact) bool { return !f.Own }
	asked := slices.DeleteFunc(slices.Clone(whole), func(f Fact) bool { return f.Own })
	first := clip(asked, maxInPart)
	c.Payload = nil
	cut := 0
	for _, f := range append(slices.Clone(first), slices.DeleteFunc(slices.Clone(whole), theirs)...) {
		head, long := f.head()
		if long {
			head += fmt.Sprintf(" (%d characters, %s)", charCount(f.Value), where)
		}
		name := clipped(f.Name, maxFact)
		if long || name != f.Name {
			cut++
		}
		c.Payload = append(c.Payload, Fact{Name: name, Value: head, Own: f.Own, Block: f.Block})
	}
	c.Cut = cutText(cut, len(asked)-len(first), where)
	return a.File(payload)
}

// lines is how many lines of a phone the fact takes, about.
func (f Fact) lines() int {
	n := 0
	for line := range strings.SplitSeq(f.Value, "\n") {
		n += 1 + max(charCount(line)-1, 0)/lineWidth
	}
	if !f.Block {
		n += charCount(f.Name) / lineWidth
	}
	return n
}

// head is the beginning of a value that goes into a file, and whether that is less than all.
func (f Fact) head() (head string, long bool) {
	lines := strings.SplitAfterN(f.Value, "\n", headLines+1)
	if len(lines) > headLines {
		head, long = strings.TrimSuffix(strings.Join(lines[:headLines], ""), "\n"), true
	} else {
		head = f.Value
	}
	room := maxFact
	if f.Block {
		room = headLines * lineWidth
	}
	head, cut := display.Clip(head, room)
	if long && !cut {
		head += "…"
	}
	return head, long || cut
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

// warnings are what a person should look at twice.
func (a Approval) warnings(lookalikes []string) []string {
	var out []string
	if a.Rule.StepUp && !a.Final() {
		out = append(out, "A yes counts only when a passkey signs it, on the desk's own page.")
	}
	if a.Solo && len(a.Askers) > 0 {
		out = append(out, "People may approve their own requests here (selfApproval: solo).")
	}
	for _, s := range lookalikes { // what is escaped is visible already
		out = append(out, clipped(s, maxFact))
	}
	return out
}

// askersText is all of a call that an asker chose, and that people read.
func (a Approval) askersText(payload []Fact) string {
	texts := []string{a.ToolName, a.AgentID, a.SessionKey}
	for _, f := range payload {
		texts = append(texts, f.Name, f.Value)
	}
	return strings.Join(texts, "\n")
}

func clip[T any](s []T, n int) []T { return s[:min(n, len(s))] }

func clipped(s string, n int) string { s, _ = display.Clip(s, n); return s }

func charCount(s string) int { return len([]rune(s)) }
