package textcmd

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"approvalbot/core"
	"approvalbot/display"
)

// notAuthorized is what every stranger reads, on every path.
const notAuthorized = "You are not authorized to approve/deny this request."

// maxAnswer is the length of a tap's answer in characters (Bot API,
// answerCallbackQuery.text).
const maxAnswer = 200

// lookupTime is how long an unknown message is looked up before it counts as
// unknown.
const lookupTime = 200 * time.Millisecond

// Gate is what the desk needs of core.
type Gate interface {
	Vote(ctx context.Context, key string, b core.Ballot) (core.Approval, error)
	AddReason(ctx context.Context, key string, v core.Voter, reason string, handled *core.InboundRef) (core.Approval, error)
	Redraw(ctx context.Context, key string) error
	AskReason(ctx context.Context, key string, place core.Target, replyTo, userID string) error
	Show(ctx context.Context, key string, place core.Target, handled *core.InboundRef) (core.Approval, error)
	Refused(ctx context.Context, v core.Voter, what string, handled *core.InboundRef) error
	Handled(ctx context.Context, ref core.InboundRef) error
	Pair(ctx context.Context, v core.Voter, code string, who core.PairingWho, handled *core.InboundRef) (right bool, err error)

	ByCode(ctx context.Context, code string) (core.Approval, error)
	ByKey(ctx context.Context, key string) (core.Approval, error)
	PendingCards(ctx context.Context, limit int) ([]core.Approval, error)
	Draw(ctx context.Context, d core.Delivery) (core.Drawing, error)
	Payload(ctx context.Context, a core.Approval) ([]core.Fact, error)
	Rules() core.Rules
}

// Finder finds the delivery that a message in a chat is.
type Finder interface {
	ByMessage(ctx context.Context, chat core.Target, messageID string) (core.Delivery, bool, error)
	// Posted gives a channel that is closed when ByMessage knows one more.
	Posted() <-chan struct{}
}

// Desk answers people in chats, the same way on every platform: it reads what
// they tapped or typed, checks that it may come from there, asks the Gate, and
// says the outcome in a sentence.
type Desk struct {
	gate   Gate
	finder Finder
	places func(core.Target) bool
}

// NewDesk makes a Desk. places reports whether a chat is configured (a target or
// a token's session chat): decisions and listings happen only there and in
// people's own direct messages.
func NewDesk(gate Gate, finder Finder, places func(core.Target) bool) *Desk {
	return &Desk{gate: gate, finder: finder, places: places}
}

// Handle does what the message asks and gives the answer. An error means that
// the desk itself could not work: the message is not handled and is to be tried
// again. When Handle returns without one, the message's update is handled.
func (d *Desk) Handle(ctx context.Context, m Message) (Reply, error) {
	reply, done, err := d.handle(ctx, &m)
	if done {
		runtime.Gosched() // who asked, and waits for just this, goes on before the person is answered
	}
	return d.close(ctx, m, reply, done, err)
}

// close turns a refusal into an answer and marks the update handled, unless that
// is done.
func (d *Desk) close(ctx context.Context, m Message, reply Reply, done bool, err error) (Reply, error) {
	if refusal := refusalOf(err); refusal != nil {
		reply, done, err = Reply{Text: refusal.Message, Alert: true}, false, nil
	}
	if err == nil && !done && m.Update != nil {
		err = d.gate.Handled(ctx, *m.Update)
	}
	reply.Text, _ = display.Clip(reply.Text, maxAnswer)
	return reply, err
}

// handle gives the reply; done says that the update was marked handled together
// with what it changed.
func (d *Desk) handle(ctx context.Context, in *Message) (r Reply, done bool, err error) {
	card, known, err := d.locate(ctx, in)
	if err != nil {
		return r, false, err
	}
	m := *in
	if m.Tap {
		return d.tapped(ctx, m, card, known)
	}
	if known && card.Kind == core.ReasonDelivery && card.ForUser == m.Voter.UserID && m.NotHuman == "" && !strings.HasPrefix(m.Text, "/") {
		if _, err := d.gate.AddReason(ctx, card.Key, m.Voter, OneLine(m.Text), m.Update); err != nil {
			return r, false, err
		}
		return Reply{Text: "Noted."}, true, nil
	}
	return d.typed(ctx, m, card, known)
}

// find looks up the delivery that the tapped or answered message is. A person can
// be faster than the desk, which learns a message's id after the platform has
// shown it; so one of our own messages that is not known yet is looked up again
// for a moment before it counts as unknown.
func (d *Desk) find(ctx context.Context, m Message) (card core.Delivery, known bool, err error) {
	if m.MessageID == "" {
		return card, false, nil
	}
	began := time.Now()
	for wait := time.Millisecond; ; wait *= 2 {
		another := d.finder.Posted()
		card, known, err = d.finder.ByMessage(ctx, m.Chat.Normal().Chat(), m.MessageID)
		if err == nil && !known && m.Aka.To != "" {
			card, known, err = d.finder.ByMessage(ctx, m.Aka.Normal().Chat(), m.MessageID)
		}
		if err != nil || known || !m.OwnMessage && !m.Tap || time.Since(began) > lookupTime {
			return card, known, err
		}
		select {
		case <-another: // perhaps this one
			wait /= 2
		case <-time.After(wait):
		case <-ctx.Done():
			return card, false, ctx.Err()
		}
	}
}

// tapped handles a button. Button data is only a claim: it must be one of our
// payloads, and belong to the very message it came from.
func (d *Desk) tapped(ctx context.Context, m Message, card core.Delivery, known bool) (Reply, bool, error) {
	cmd, ok := ParsePayload(m.Text)
	switch {
	case m.NotHuman != "":
		return d.refuse(ctx, m, "a tap by "+m.NotHuman, notAuthorized)
	case !ok || cmd.Code == "" || !known && !m.OwnMessage:
		return d.noButton(ctx, m, "a button that is none of the desk's")
	case known && card.Kind == core.CardDelivery && cmd.Decision != "":
		return d.decide(ctx, m, cmd, core.Approval{Key: card.Key}, "")
	}
	a, err := d.cardsApproval(ctx, card, known, cmd.Code)
	if core.CodeOf(err) == core.CodeNotFound {
		return d.noButton(ctx, m, "a button of another card")
	}
	if err != nil {
		return Reply{}, false, err
	}
	if !known && !slices.ContainsFunc(a.Deliveries, func(o core.Delivery) bool {
		return o.Kind == core.CardDelivery && o.Target.Chat() == m.Chat.Normal().Chat()
	}) {
		return d.noButton(ctx, m, "a card in a chat that got none")
	}
	unknown := ""
	if !known {
		unknown = m.MessageID
	}
	if unknown != "" && a.Final() {
		// Whatever is tapped on a lost copy of an ended card brings it back: it
		// is adopted with a vote that comes too late to count.
		cmd.Decision = core.Deny
	}
	if cmd.Decision != "" {
		return d.decide(ctx, m, cmd, a, unknown)
	}
	return d.menu(ctx, m, cmd, a)
}

// cardsApproval finds the approval of a tapped card and refuses a code that is
// not that card's.
func (d *Desk) cardsApproval(ctx context.Context, card core.Delivery, known bool, code string) (core.Approval, error) {
	if !known {
		return d.gate.ByCode(ctx, code)
	}
	a, err := d.gate.ByKey(ctx, card.Key)
	if err == nil && (card.Kind != core.CardDelivery || a.Code != code) {
		return a, core.Refuse(core.CodeNotFound, "This button belongs to another card.")
	}
	return a, err
}

// menu opens and closes the card's second row, for approvers only.
func (d *Desk) menu(ctx context.Context, m Message, cmd Command, a core.Approval) (Reply, bool, error) {
	people := d.gate.Rules().People
	switch {
	case a.Final() && a.Concerns(m.Voter, people):
		return Reply{Text: "Already decided: " + a.Ending(), Alert: true}, false, nil
	case !a.MayBeDecidedBy(m.Voter, people):
		return d.refuse(ctx, m, "a menu opened by a stranger", notAuthorized)
	}
	if cmd.Verb == Details {
		long, err := d.details(ctx, a)
		return Reply{Text: "Details follow.", Long: long}, false, err
	}
	drawn, err := d.gate.Draw(ctx, d.cardHere(a, m))
	if err != nil || drawn.Card == nil {
		return Reply{}, false, err
	}
	menu := MenuMain
	if cmd.Verb == More {
		menu = MenuMore
	}
	return Reply{Menu: menu, Card: drawn.Card, Key: a.Key, Version: a.Version}, false, nil
}

// Redraw has an approval's cards drawn again if it is no longer at that version: an
// adapter calls it after it changed a card, which may show what is over by then.
func (d *Desk) Redraw(ctx context.Context, key string, version int64) error {
	a, err := d.gate.ByKey(ctx, key)
	if err != nil || a.Version == version {
		return err
	}
	return d.gate.Redraw(ctx, key)
}

// cardHere gives the approval's card in the message's chat.
func (d *Desk) cardHere(a core.Approval, m Message) core.Delivery {
	for _, o := range a.Deliveries {
		if o.Kind == core.CardDelivery && o.Target.Chat() == m.Chat.Normal().Chat() {
			return o
		}
	}
	return core.Delivery{Key: a.Key, Kind: core.CardDelivery}
}

// decide gives the person's vote and says what became of it.
func (d *Desk) decide(ctx context.Context, m Message, cmd Command, a core.Approval, unknownCard string) (Reply, bool, error) {
	chat := m.Chat
	b := core.Ballot{
		Voter: m.Voter, Decision: cmd.Decision, Reason: cmd.Reason, Chat: &chat,
		ReceivedMs: m.ReceivedMs, Card: unknownCard, Handled: m.Update,
	}
	if m.Tap {
		b.Code = cmd.Code
	}
	after, err := d.gate.Vote(ctx, a.Key, b)
	if m.Tap && core.CodeOf(err) == core.CodeNotFound {
		return d.noButton(ctx, m, "a button of another card")
	}
	refusal := refusalOf(err)
	switch {
	case refusal != nil:
		// A refusal from the vote itself is committed with the update handled;
		// one from before it is not, and marking it again does no harm.
		return Reply{Text: sentence(refusal), Alert: true, Before: errors.Is(err, core.ErrHandled)}, false, nil
	case err != nil:
		return Reply{}, false, err
	}
	if cmd.Verb == DenyReason && after.Status == core.Denied && !m.Prompts {
		if err := d.gate.AskReason(ctx, a.Key, m.Chat, m.MessageID, m.Voter.UserID); err != nil {
			return Reply{}, false, err
		}
	}
	return Reply{Text: outcome(after, cmd.Decision, d.gate.Rules().People)}, true, nil
}

// refusalOf gives the refusal that an error is, nil for any other. A store that is
// out of reach refuses nothing: what was asked waits until it is back.
func refusalOf(err error) *core.Error {
	var refusal *core.Error
	if errors.As(err, &refusal) && refusal.Code != core.CodeUnavailable {
		return refusal
	}
	return nil
}

// outcome says what a counted vote did.
func outcome(a core.Approval, d core.Decision, people *core.Directory) string {
	switch {
	case a.Status == core.Withdrawn:
		return "You cannot approve your own request, so your deny withdrew it."
	case a.Status == core.Pending:
		return "Counted (" + a.TallyText(people) + "); more approvals are needed."
	case a.Status == core.Denied && d == core.Deny:
		return "Denied."
	}
	return upperFirst(a.Ending()) + "."
}

// sentence is a refusal as a chat says it.
func sentence(e *core.Error) string {
	if e.Code == core.CodeNotAnApprover && strings.HasPrefix(e.Message, "You are not") {
		return notAuthorized
	}
	return e.Message
}

// refuse answers an attempt that may not be, and puts it on record.
func (d *Desk) refuse(ctx context.Context, m Message, what, answer string) (Reply, bool, error) {
	if err := d.gate.Refused(ctx, m.Voter, what, m.Update); err != nil {
		return Reply{}, false, err
	}
	return Reply{Text: answer, Alert: true}, true, nil
}

// noButton refuses a button that leads to no request.
func (d *Desk) noButton(ctx context.Context, m Message, what string) (Reply, bool, error) {
	if !d.approver(m.Voter) {
		return d.refuse(ctx, m, what, notAuthorized)
	}
	return d.refuse(ctx, m, what, "This button is not known here.")
}

func (d *Desk) approver(v core.Voter) bool {
	people := d.gate.Rules().People
	return people.MayDecide(people.Identify(v))
}

func upperFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// quoted is a value as details write it: of several lines, each stands behind a bar.
func quoted(f core.Fact) string {
	if f.Line() == f.Value {
		return f.Value
	}
	return "\n" + bar + strings.ReplaceAll(f.Value, "\n", "\n"+bar)
}

// bar stands before each line of what an asker wrote in several.
const bar = "│ "

// needs says whose yes an approval needs.
func needs(r core.Rule) string {
	var all []string
	if r.AsksApprovers() {
		all = append(all, fmt.Sprintf("%d approval(s)", max(1, r.MinApprovals)))
	}
	if r.AsksVerifier() {
		all = append(all, "1 of the verifier's people")
	}
	return strings.Join(all, " and ")
}

// details is everything about an approval that a person may want to read twice.
func (d *Desk) details(ctx context.Context, a core.Approval) (string, error) {
	facts, err := d.gate.Payload(ctx, a)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, value)
		}
	}
	line("Request", a.Code+" ("+display.Escape(a.ID)+")")
	line("Tool", display.Escape(a.ToolName))
	for _, f := range facts {
		line(f.Label(a.ToolName), quoted(f))
	}
	line("Fingerprint", a.Fingerprint)
	line("Risk", a.Assessment.RiskClass.String()+", "+a.Assessment.RiskClass.Text())
	line("Reason codes", strings.Join(a.Assessment.ReasonCodes, ", "))
	line("Needs", needs(a.Rule))
	line("Votes so far", a.TallyText(d.gate.Rules().People))
	line("Asked by token", display.Escape(a.Owner))
	line("Policy", a.PolicyHash[:min(12, len(a.PolicyHash))])
	return b.String(), nil
}
