package textcmd

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/display"
	"approvalbot/internal/people"
)

// notAuthorized is the answer to every stranger, on every path.
const notAuthorized = "You are not authorized to approve/deny this request."

// maxAnswer is the length of a tap's answer in characters (Bot API,
// answerCallbackQuery.text).
const maxAnswer = 200

// lookupTime is how long an unknown message is looked up before it counts as
// unknown.
const lookupTime = 200 * time.Millisecond

// Gate has the methods of core that a Handler needs: [core.Chats].
type Gate interface {
	Steps
	Records
	Queries
	Digests
	Absences
}

// Absences are the steps by which people go away and come back.
type Absences interface {
	VoterAway(
		ctx context.Context, v approval.Voter, to string, untilMs int64, handled *approval.InboundRef,
	) (core.Left, error)
	VoterBack(ctx context.Context, v approval.Voter, handled *approval.InboundRef) (was bool, err error)
}

// Steps are the steps that people take on an approval.
type Steps interface {
	Vote(ctx context.Context, key string, b core.Ballot) (approval.Approval, error)
	AddReason(
		ctx context.Context, key string, v approval.Voter, reason string, handled *approval.InboundRef,
	) (approval.Approval, error)
	EndCoolDown(ctx context.Context, key string, b core.Ballot) (approval.Approval, error)
	TakeBack(ctx context.Context, key string, b core.Ballot) (approval.Approval, error)
	Redraw(ctx context.Context, key string) error
	AskReason(ctx context.Context, key string, place approval.Target, replyTo, userID string) error
	Show(ctx context.Context, key string, place approval.Target, handled *approval.InboundRef) (approval.Approval, error)
	Looked(ctx context.Context, key string) (approval.Approval, error)
}

// Records log events that change no approval.
type Records interface {
	Refused(ctx context.Context, v approval.Voter, what string, handled *approval.InboundRef) error
	Handled(ctx context.Context, ref approval.InboundRef) error
}

// Queries read approvals and the rules in force.
type Queries interface {
	ByCode(ctx context.Context, code string) (approval.Approval, error)
	ByKey(ctx context.Context, key string) (approval.Approval, error)
	PendingCards(ctx context.Context, limit int) ([]approval.Approval, error)
	OpenRounds(ctx context.Context, limit int) ([]approval.Approval, error)
	Draw(ctx context.Context, d approval.Delivery) (card.Drawing, error)
	Card(ctx context.Context, a approval.Approval) (card.Card, error)
	Rules() core.Rules
	Confirmation(a approval.Approval, v approval.Voter, d approval.Decision, note string) (label, proof string)
}

// Digests read what digests have listed.
type Digests interface {
	Listed(
		ctx context.Context, d approval.Delivery, chat approval.Target, code string, version int64,
	) ([]approval.Approval, error)
}

// Finder finds the delivery that a message in a chat is.
type Finder interface {
	ByMessage(ctx context.Context, chat approval.Target, messageID string) (approval.Delivery, bool, error)
	// Posted gives a channel that is closed when ByMessage knows one more message.
	Posted() <-chan struct{}
}

// Handler answers people in chats, the same way on every platform: it reads what
// they tapped or typed, checks that the chat may send it, asks the Gate, and
// answers with the outcome in a sentence.
type Handler struct {
	gate   Gate
	door   Door
	finder Finder
	links  Links
	places func(approval.Target) bool
}

// NewHandler makes a Handler. places reports whether a chat is configured (a target or
// a token's session chat): decisions and listings happen only there and in
// people's own direct messages.
func NewHandler(gate Gate, door Door, finder Finder, links Links, places func(approval.Target) bool) *Handler {
	return &Handler{gate: gate, door: door, finder: finder, links: links, places: places}
}

// Handle does what the message asks and gives the answer. An error means that
// the desk itself could not work: the message is not handled and is to be tried
// again. When Handle returns without one, the message's update is handled.
func (h *Handler) Handle(ctx context.Context, m Message) (Reply, error) {
	reply, done, err := h.handle(ctx, &m)
	if done {
		runtime.Gosched() // the waiting asker continues before the person is answered
	}
	return h.close(ctx, m, reply, done, err)
}

// close turns a refusal into an answer and marks the update handled, unless that
// is done.
func (h *Handler) close(ctx context.Context, m Message, reply Reply, done bool, err error) (Reply, error) {
	if refusal := refusalOf(err); refusal != nil {
		reply, done, err = Reply{Text: refusal.Message, Alert: true}, false, nil
	}
	if err == nil && !done && m.Update != nil {
		err = h.gate.Handled(ctx, *m.Update)
	}
	reply.Text, _ = display.Clip(reply.Text, maxAnswer)
	return reply, err
}

// handle gives the reply; done reports that the update was marked handled in
// the commit of its changes.
func (h *Handler) handle(ctx context.Context, in *Message) (r Reply, done bool, err error) {
	card, known, err := h.locate(ctx, in)
	if err != nil {
		return r, false, err
	}
	m := *in
	if m.Tap {
		return h.tapped(ctx, m, card, known)
	}
	asked := known && card.Kind == approval.ReasonDelivery && card.ForUser == m.Voter.UserID
	if asked && m.NotHuman == "" && !strings.HasPrefix(m.Text, "/") {
		if _, err := h.gate.AddReason(ctx, card.Key, m.Voter, OneLine(m.Text), m.Update); err != nil {
			return r, false, err
		}
		return Reply{Text: "Noted."}, true, nil
	}
	return h.typed(ctx, m, card, known)
}

// find looks up the delivery that the tapped or answered message is. A person can
// be faster than the desk, which learns a message's id after the platform has
// shown it; so one of our own messages that is not known yet is looked up again
// for a moment before it counts as unknown.
func (h *Handler) find(ctx context.Context, m Message) (card approval.Delivery, known bool, err error) {
	if m.MessageID == "" {
		return card, false, nil
	}
	began := time.Now()
	for wait := time.Millisecond; ; wait *= 2 {
		another := h.finder.Posted()
		card, known, err = h.finder.ByMessage(ctx, m.Chat.Normal().Chat(), m.MessageID)
		if err == nil && !known && m.Aka.To != "" {
			card, known, err = h.finder.ByMessage(ctx, m.Aka.Normal().Chat(), m.MessageID)
		}
		mayCome := (m.OwnMessage || m.Tap) && time.Since(began) <= lookupTime
		if err != nil || known || !mayCome {
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
func (h *Handler) tapped(ctx context.Context, m Message, card approval.Delivery, known bool) (Reply, bool, error) {
	if id, ok := sessionOf(m.Text); ok && m.NotHuman == "" {
		return h.endSession(ctx, m, id)
	}
	cmd, ok := ParsePayload(m.Text)
	ours := known || m.OwnMessage
	ofDigest := cmd.Verb == DenyAll || cmd.Verb == Show
	switch {
	case m.NotHuman != "":
		return h.refuse(ctx, m, "a tap by "+m.NotHuman, notAuthorized)
	case !ok || cmd.Code == "" || !ours:
		return h.noButton(ctx, m, "a button that the desk did not make")
	case ofDigest || known && card.Kind == approval.DigestDelivery:
		return h.onDigest(ctx, m, cmd, card, known)
	case known && card.Kind == approval.CardDelivery && cmd.Decision != "":
		return h.decide(ctx, m, cmd, approval.Approval{Names: approval.Names{Key: card.Key}}, "")
	}
	a, err := h.cardsApproval(ctx, card, known, cmd.Code)
	if approval.CodeOf(err) == approval.CodeNotFound {
		return h.noButton(ctx, m, "a button of another card")
	}
	if err != nil {
		return Reply{}, false, err
	}
	if !known && !slices.ContainsFunc(a.Deliveries, func(o approval.Delivery) bool {
		return o.Kind == approval.CardDelivery && o.Target.Chat() == m.Chat.Normal().Chat()
	}) {
		return h.noButton(ctx, m, "a card in a chat to which it was not sent")
	}
	unknown := ""
	if !known {
		unknown = m.MessageID
	}
	if cmd.Verb == Confirm { // below a reply to a typed line, which is no copy of the card
		return h.decide(ctx, m, cmd, a, "")
	}
	if unknown != "" && a.Final() {
		// Any tap on a lost copy of an ended card brings it back: it is adopted
		// with a vote that comes too late to count.
		cmd.Decision = approval.Deny
	}
	if cmd.Decision != "" {
		return h.decide(ctx, m, cmd, a, unknown)
	}
	switch cmd.Verb {
	case Again:
		return h.again(ctx, m, a)
	case TakeBack:
		return h.takeBack(ctx, m, a)
	}
	return h.menu(ctx, m, cmd, a)
}

// cardsApproval finds the approval of a tapped card and refuses a code that is
// not that card's.
func (h *Handler) cardsApproval(
	ctx context.Context, card approval.Delivery, known bool, code string,
) (approval.Approval, error) {
	if !known {
		return h.gate.ByCode(ctx, code)
	}
	a, err := h.gate.ByKey(ctx, card.Key)
	if err == nil && (card.Kind != approval.CardDelivery || a.Code != code) {
		return a, approval.Refuse(approval.CodeNotFound, "This button belongs to another card.")
	}
	return a, err
}

// menu opens and closes the card's second row, for approvers only.
func (h *Handler) menu(ctx context.Context, m Message, cmd Command, a approval.Approval) (Reply, bool, error) {
	directory := h.gate.Rules().People
	switch {
	case a.Final() && people.Concerns(a, m.Voter, directory):
		return Reply{Text: "Already decided: " + card.Ending(a), Alert: true}, false, nil
	case !people.MayBeDecidedBy(a, m.Voter, directory):
		return h.refuse(ctx, m, "a menu opened by a stranger", notAuthorized)
	}
	if a.LookedAtMs == 0 {
		var err error
		if a, err = h.gate.Looked(ctx, a.Key); err != nil {
			return Reply{}, false, err
		}
	}
	if cmd.Verb == Details {
		long, err := h.details(ctx, a)
		return Reply{Text: "Details follow.", Long: long}, false, err
	}
	drawing, err := h.gate.Draw(ctx, h.cardHere(a, m))
	if err != nil || drawing.Card == nil {
		return Reply{}, false, err
	}
	menu := MenuMain
	if cmd.Verb == More {
		menu = MenuMore
	}
	return Reply{Menu: menu, Card: drawing.Card, Key: a.Key, Version: a.Version}, false, nil
}

// Redraw has an approval's cards drawn again if it is no longer at that version: an
// adapter calls it after it changed a card, whose state may be over by then.
func (h *Handler) Redraw(ctx context.Context, key string, version int64) error {
	a, err := h.gate.ByKey(ctx, key)
	if err != nil || a.Version == version {
		return err
	}
	return h.gate.Redraw(ctx, key)
}

// cardHere gives the approval's card in the message's chat.
func (h *Handler) cardHere(a approval.Approval, m Message) approval.Delivery {
	for _, o := range a.Deliveries {
		if o.Kind == approval.CardDelivery && o.Target.Chat() == m.Chat.Normal().Chat() {
			return o
		}
	}
	return approval.Delivery{Key: a.Key, Kind: approval.CardDelivery}
}

// decide casts the person's vote and tells the result.
func (h *Handler) decide(
	ctx context.Context, m Message, cmd Command, a approval.Approval, unknownCard string,
) (Reply, bool, error) {
	chat := m.Chat
	if err := h.chosen(ctx, &cmd, a.Key); err != nil {
		return Reply{}, false, err
	}
	b := core.Ballot{
		Voter: m.Voter, Decision: cmd.Decision, Reason: cmd.Reason, Note: cmd.Note, Chat: &chat,
		ReceivedMs: m.ReceivedMs, Card: unknownCard, Handled: m.Update, Proof: cmd.Proof,
	}
	if m.Tap && cmd.Decision != approval.Retry {
		b.Code = cmd.Code
	}
	after, err := h.gate.Vote(ctx, a.Key, b)
	if m.Tap && approval.CodeOf(err) == approval.CodeNotFound {
		return h.noButton(ctx, m, "a button of another card")
	}
	refusal := refusalOf(err)
	switch {
	case refusal != nil && refusal.Code == core.CodeUnconfirmed:
		return h.confirm(ctx, m, cmd, after, refusal)
	case refusal != nil:
		// A refusal from the vote itself is committed with the update handled;
		// one from before it is not, and marking it again does no harm.
		before := errors.Is(err, approval.ErrHandled)
		return Reply{Text: sentence(refusal), Link: refusal.URL, Alert: true, Before: before}, false, nil
	case err != nil:
		return Reply{}, false, err
	}
	denied := after.Status == approval.Denied || after.DeniedRound(h.gate.Rules().People.Identify(m.Voter))
	if cmd.Verb == DenyReason && denied && !m.Prompts {
		if err := h.gate.AskReason(ctx, a.Key, m.Chat, m.MessageID, m.Voter.UserID); err != nil {
			return Reply{}, false, err
		}
	}
	return Reply{Text: card.VotedText(after, m.Voter, cmd.Decision, h.gate.Rules().People, time.Now().UnixMilli())}, true, nil
}

// chosen sets the note to the option of a question that was chosen by its number, tapped or
// typed.
func (h *Handler) chosen(ctx context.Context, cmd *Command, key string) error {
	if cmd.Verb == Answer {
		cmd.Note = strconv.FormatInt(cmd.Version, 10)
	}
	n := card.OptionNumber(cmd.Note)
	if n < 1 || cmd.Decision != approval.AllowOnce {
		return nil
	}
	a, err := h.gate.ByKey(ctx, key)
	if err != nil || a.ToolName != card.QuestionTool {
		return err
	}
	c, err := h.gate.Card(ctx, a)
	if err != nil || n > len(c.Answers) {
		return err
	}
	cmd.Note = card.AnswerNote(c.Answers, n)
	return nil
}

// again ends the cool-down after a deny.
func (h *Handler) again(ctx context.Context, m Message, a approval.Approval) (Reply, bool, error) {
	chat := m.Chat
	after, err := h.gate.EndCoolDown(ctx, a.Key, core.Ballot{Voter: m.Voter, Chat: &chat, Handled: m.Update})
	if refusal := refusalOf(err); refusal != nil { // it is committed, see decide
		return Reply{Text: sentence(refusal), Alert: true, Before: errors.Is(err, approval.ErrHandled)}, false, nil
	}
	return Reply{Text: core.AskAgainText(after)}, err == nil, err
}

// takeBack ends an allow that has not been claimed.
func (h *Handler) takeBack(ctx context.Context, m Message, a approval.Approval) (Reply, bool, error) {
	chat := m.Chat
	after, err := h.gate.TakeBack(ctx, a.Key, core.Ballot{Voter: m.Voter, Chat: &chat, Handled: m.Update})
	if refusal := refusalOf(err); refusal != nil { // it is committed, see decide
		return Reply{Text: sentence(refusal), Alert: true, Before: errors.Is(err, approval.ErrHandled)}, false, nil
	}
	return Reply{Text: "Taken back: " + after.Code + " does not run."}, err == nil, err
}

// refusalOf gives the refusal in an error; nil if it is no refusal. An
// unreachable store is no refusal: the update waits until it is back.
func refusalOf(err error) *approval.Error {
	var refusal *approval.Error
	if errors.As(err, &refusal) && refusal.Code != approval.CodeUnavailable {
		return refusal
	}
	return nil
}

// sentence words a refusal for a chat.
func sentence(e *approval.Error) string {
	if e.Code == approval.CodeNotAnApprover && strings.HasPrefix(e.Message, "You are not") {
		return notAuthorized
	}
	return e.Message
}

// refuse answers a forbidden attempt, and logs it.
func (h *Handler) refuse(ctx context.Context, m Message, what, answer string) (Reply, bool, error) {
	if err := h.gate.Refused(ctx, m.Voter, what, m.Update); err != nil {
		return Reply{}, false, err
	}
	return Reply{Text: answer, Alert: true}, true, nil
}

// noButton refuses a button that leads to no request.
func (h *Handler) noButton(ctx context.Context, m Message, what string) (Reply, bool, error) {
	if !h.approver(m.Voter) {
		return h.refuse(ctx, m, what, notAuthorized)
	}
	return h.refuse(ctx, m, what, "The desk does not know this button.")
}

func (h *Handler) approver(v approval.Voter) bool {
	people := h.gate.Rules().People
	return people.MayDecide(people.Identify(v))
}

// locate finds the delivery that the message is about, and settles how its chat
// is spelled: as in the delivery, else as in the configuration.
func (h *Handler) locate(ctx context.Context, m *Message) (card approval.Delivery, known bool, err error) {
	card, known, err = h.find(ctx, *m)
	if err != nil || known {
		if known && m.Aka.To != "" && card.Target.Chat() != m.Chat.Normal().Chat() {
			m.Chat = m.Aka
		}
		return card, known, err
	}
	m.Chat = h.spelling(*m)
	return card, false, nil
}

// spelling gives the spelling of the message's chat that the configuration has.
func (h *Handler) spelling(m Message) approval.Target {
	if m.Aka.To != "" && h.places(m.Aka.Normal()) {
		return m.Aka
	}
	return m.Chat
}
