package card

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"approvalbot/internal/approval"
	"approvalbot/internal/assertion"
	"approvalbot/internal/display"
	"approvalbot/internal/people"
)

// Card is what a person sees of an approval, channel-neutral, in the order in which it is
// read. Adapters only translate it. Every text in it is redacted, escaped and, except the
// values of Payload, without line breaks.
type Card struct {
	Code   string
	Status approval.Status
	Risk   approval.RiskClass

	Outcome  Words    // how it ended: the first line then
	Headline Words    // who asks for what: "deployer asks to run"
	Call     []Block  // the call, except the parts that Headline and Place show in full; empty after the end
	Payload  []Fact   // Call as facts
	Cut      string   // what no block shows of the call, and where it is shown; empty if all is
	Place    Words    // where it runs
	Summary  string   // after the end: the call on one line
	Why      string   // the risk in words, and the reasons that count most
	Reasons  []Words  // those reasons, with what the asker chose apart
	Claims   []string // the asker's own words; each needs a mark, and no line of the desk's beside it
	From     string   // likewise, which agent asks and its directory; also in Details
	DenyOnly string   // why no allow is offered
	Warnings []string // what to look at twice
	Link     string   // the desk's page on which a yes must be signed; empty if no signature is needed
	State    State
	Details  []Fact // what else is known; those that are not Own are the asker's words

	Answers  []string            // of a question that the call asks: each is a yes with that note
	Offers   []approval.Decision // allows that may be tapped here; empty if it may only be denied
	Wider    []string            // a sentence for each offered scope wider than once: what it covers
	TakeBack bool                // it is allowed and has run nothing yet, so a person may end it here
	Again    bool                // the very same call is refused unasked, and a person may end that here
	Bad      bool                // it was denied, taken back or failed: an end to be noticed
	Digest   *Digest             // not nil: it is a list of approvals, and all else but Code, Status and Headline is empty
}

// Title is who asks for what, on one line.
func (c Card) Title() string {
	title := c.Headline.String()
	if len(c.Call) == 0 {
		return strings.TrimSpace(title + " " + c.Summary)
	}
	if lines := c.Call[0].Plain(); len(lines) > 0 { // an empty text has no lines
		title += " " + strings.Join(strings.Fields(lines[0]), " ")
		if len(lines) > 1 {
			title += " …"
		}
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
	Skip    string      // why this message is not sent any more; empty if it is
	Shown   bool        // with File (if any) attached, everything that would run is shown
	Done    bool        // the card shows the outcome
	// FailsOpen reports whether the call runs if no approver can be asked. If so, a
	// chat counts as out of reach only after it refused Bare too.
	FailsOpen bool
}

// Reader is the person or chat that a card is drawn for.
type Reader struct {
	People *people.Directory
	Zone   *time.Location // in which times are written
	Now    int64          // Unix milliseconds
	Site   assertion.Site // of the desk's pages

	Spread func() approval.Spread // of the call, for a card that cannot show all of it; nil if not known
}

// Draw gives what the delivery should show. payload is the whole call, or empty
// once the approval has ended.
func Draw(a approval.Approval, d approval.Delivery, payload []Fact, r Reader) Drawing {
	if d.Kind == approval.ResultDelivery && a.Result == nil {
		return Drawing{Skip: "it may be tried again before its result could be told"}
	}
	if d.Kind == approval.ReminderDelivery {
		return drawReminder(a, d, r.People)
	}
	if d.Kind == approval.RetryAskedDelivery {
		return drawRound(a, d, payload, r.People, r.Site, r.Now)
	}
	if d.Kind == approval.PushDelivery {
		return drawNotification(a)
	}
	if d.Kind != approval.CardDelivery {
		return Drawing{Text: MessageText(a, d.Kind), Times: times(a), Done: true}
	}
	if a.Final() && d.MessageID == "" && !a.DrillDecided() {
		if a.Origin != nil && d.Target.Normal() == *a.Origin {
			d.Kind = approval.OutcomeDelivery // the session chat is told, though the card comes too late
			return Draw(a, d, nil, r)
		}
		return Drawing{Skip: "ended before it could be shown"}
	}
	return drawCard(a, d, payload, r)
}

// drawCard is the card as that chat takes it.
func drawCard(a approval.Approval, d approval.Delivery, payload []Fact, r Reader) Drawing {
	if a.Final() {
		payload = nil
	}
	c := Of(a, payload, r)
	out := Drawing{Card: &c, Bare: bareCard(a, c, r)}
	if a.Final() {
		out.Done = true
		return out
	}
	where := "whole in the file above"
	if d.DenyOnly {
		where = "and the rest cannot be shown here"
	}
	out.File = PlacePayload(a, &c, payload, where, r.Spread)
	out.Shown, out.FailsOpen = len(payload) > 0 && (out.File == nil || d.Attached), a.FailsOpen()
	if c.DenyOnly = denyOnly(a, d, len(payload) > 0, out.File != nil); c.DenyOnly != "" || len(payload) == 0 {
		c.Offers, c.Wider = nil, nil
	}
	return out
}

// card is all that a person may see of the approval, the whole call on it. payload is
// that call, or empty.
func Of(a approval.Approval, payload []Fact, r Reader) Card {
	text := askersText(a, payload)
	odd := display.Lookalikes(text, maxWarnings)
	c := Card{
		Code: a.Code, Status: a.Status, Risk: a.Assessment.RiskClass, Why: RiskText(a), Claims: claims(a),
		From: FromText(a.Context.From), Warnings: warnings(a, odd), State: state(a, r),
	}
	if said := retryWithdrawnText(a, r.People); said != "" {
		c.Claims = append(c.Claims, "denied the retry because: "+quoted(said, maxClaim))
	}
	if display.Hides(text) {
		c.State.Flags = append(c.State.Flags, "hidden characters")
	}
	if display.RightToLeft(text) {
		c.State.Flags = append(c.State.Flags, "right-to-left text")
	}
	if len(odd) > 0 {
		c.State.Flags = append(c.State.Flags, "look-alikes")
	}
	if a.Rule.StepUp && !a.Final() {
		c.Link = StepUp(a, r.Site, "").URL
	}
	if a.Final() {
		c.Outcome, c.Bad, c.Why, c.Again = outcome(a, r), badEnd(a), riskWords(a), a.CoolsDown(r.Now)
		c.TakeBack = a.MayBeTakenBack(r.Now)
		c.Headline, c.Summary = own(Asker(a)+" asked for"), Clipped(toolHead(a.ToolName)+Summary(a), MaxSummary)
		c.Details = details(people.AsOfNow(a, r.People), nil)
		return c
	}
	f := form(a, payload)
	c.Headline, c.Call, c.Place = append(own(Asker(a)+" asks "), f.does...), f.blocks(), f.place
	mark(c.Call, a.Points, a.ToolName)
	seen := inSight(c, a.ToolName)
	c.Payload, c.Reasons, c.Details = flat(c.Call), reasons(a, seen), details(people.AsOfNow(a, r.People), seen)
	c.Offers = slices.DeleteFunc(slices.Clone(a.Offers), func(x approval.Decision) bool { return !x.Allows() })
	c.Wider, c.Answers = wider(a), answers(a, payload)
	return c
}

const denyHere = "it can only be denied here. It can be allowed elsewhere: in another chat that has its card, by API or by command line."

// denyOnly says why a card in that chat offers no allow; empty if it offers one, or
// if its first line gives the reason.
func denyOnly(a approval.Approval, d approval.Delivery, known, file bool) string {
	switch {
	case a.Hidden():
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

// bareCard is a card that has only the desk's own words, so that an asker cannot word a
// call in a way that keeps its card from approvers.
func bareCard(a approval.Approval, c Card, r Reader) *Card {
	bare := Card{
		Code: c.Code, Status: c.Status, Risk: c.Risk, Bad: c.Bad, Again: c.Again, TakeBack: c.TakeBack, State: c.State, Why: riskWords(a),
		Headline: own(Clipped(display.Safe(a.Owner), maxFact) + " asks for a call that cannot be shown in this chat"),
		Details:  []Fact{shortFingerprint(a)},
	}
	bare.State.Flags = nil
	if !a.Final() {
		bare.DenyOnly = "This chat does not take the card with the call on it, so " + denyHere
		return &bare
	}
	plain := a
	if plain.RevokeReason = ""; a.RoundDenied != nil {
		plain.RoundDenied = &approval.Vote{Voter: a.RoundDenied.Voter}
	}
	if a.Status != approval.Expired { // that one is the desk's own
		plain.Reason = ""
	}
	bare.Outcome = outcome(plain, r)
	return &bare
}

// PlacePayload leaves the whole call on the card. If the call is too long, it puts it
// into a file: the card then shows the telling part, and says what is missing and where
// to find it. spread, if not nil, describes the commands that the card does not show.
func PlacePayload(a approval.Approval, c *Card, payload []Fact, where string, spread func() approval.Spread) *File {
	lines := 0
	for _, b := range c.Call {
		lines += phoneLines(b)
	}
	headline, less := elide(c.Headline)
	place, also := elide(c.Place)
	if c.Headline, c.Place = headline, place; lengthOf(c.Call) > maxInline || lines > maxLines {
		blocks, missing, whole := shorten(c.Call, where)
		if spread != nil {
			sayLeft(c.Call, blocks, a.Assessment.RiskClass, spread)
		}
		c.Call, c.Payload, less = blocks, flat(blocks), less || !whole
		if missing > 0 {
			c.Cut = "… and " + plural(missing, "more parameter") + ", " + where
		}
	}
	if !less && !also {
		return nil
	}
	if c.Cut == "" && !slices.ContainsFunc(c.Call, func(b Block) bool { return b.Cut != "" }) {
		c.Cut = "Shortened here, " + where
	}
	return FileOf(a, payload)
}

// warnings are what a person should look at twice.
func warnings(a approval.Approval, lookalikes []string) []string {
	var out []string
	if a.Rule.StepUp && !a.Final() {
		out = append(out, "A yes counts only when a passkey signs it, on the desk's own page.")
	}
	if a.Confined != nil && !a.Final() {
		out = append(out, "After a yes it runs confined: it has no network and can change only its workspace.")
	}
	if t := a.TriedConfined; t != nil && !a.Final() {
		out = append(out, triedConfined(*t))
	}
	if a.Solo && len(a.Askers) > 0 {
		out = append(out, "People may approve their own requests here (selfApproval: solo).")
	}
	for _, s := range lookalikes { // escaped characters are visible already
		out = append(out, Clipped(s, maxFact))
	}
	return out
}

// triedConfined describes the result of a confined run, and says that a yes runs all of the call once
// more.
func triedConfined(t approval.TriedConfined) string {
	how := "failed"
	if t.Exit != nil {
		how = fmt.Sprintf("exit %d", *t.Exit)
	}
	changed := "changed no file"
	if t.Changed > 0 {
		changed = "changed " + plural(t.Changed, "file")
	}
	return "Tried confined: " + how + "; " + changed + " of the workspace. A yes runs all of it again, not confined."
}

// askersText is all of a call that an asker chose, and that people read.
func askersText(a approval.Approval, payload []Fact) string {
	texts := []string{a.ToolName, a.AgentID, a.SessionKey}
	for _, f := range payload {
		texts = append(texts, f.Name, f.Value)
	}
	return strings.Join(texts, "\n")
}
