package textcmd

import (
	"context"
	"slices"
	"strings"

	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/display"
	"approvalbot/internal/people"
)

// maxLabel is the length of a choice's label in characters (Discord, Application
// Command Option Choice, name).
const maxLabel = 100

// Choice is an approval that people vote on and that a platform may suggest while a person
// types a code. The label is safe to show.
type Choice struct{ Code, Label string }

// MayDecide reports whether this account is an approver now. It makes no requests.
func (h *Handler) MayDecide(v approval.Voter) bool { return h.approver(v) }

// Reason adds a text from a platform's form to the deny that the person gave
// before on the approval of that code; m.MessageID is the card's, or empty, and
// m.Text the reason. Errors are as with Handle.
func (h *Handler) Reason(ctx context.Context, m Message, code string) (Reply, error) {
	reply, done, err := h.reason(ctx, m, code)
	return h.close(ctx, m, reply, done, err)
}

func (h *Handler) reason(ctx context.Context, m Message, code string) (Reply, bool, error) {
	card, known, err := h.locate(ctx, &m)
	if err != nil {
		return Reply{}, false, err
	}
	switch {
	case m.NotHuman != "":
		return h.refuse(ctx, m, "a reason by "+m.NotHuman, notAuthorized)
	case !ValidCode(code):
		return h.refuse(ctx, m, "a form that the desk did not make", "The desk does not know this form.")
	}
	a, err := h.cardsApproval(ctx, card, known, code)
	if approval.CodeOf(err) == approval.CodeNotFound {
		return h.refuse(ctx, m, "a form of another card", "The desk does not know this form.")
	}
	if err != nil {
		return Reply{}, false, err
	}
	if !people.Concerns(a, m.Voter, h.gate.Rules().People) {
		return h.refuse(ctx, m, "a reason by a stranger", notAuthorized)
	}
	if _, err := h.gate.AddReason(ctx, a.Key, m.Voter, OneLine(m.Text), m.Update); err != nil {
		return Reply{}, false, err
	}
	return Reply{Text: "Noted."}, true, nil
}

// Choices gives at most limit approvals that people vote on, pending ones first, whose code begins
// with what was typed (m.Text), newest first: to approvers only, and only in a chat in which they
// may give commands.
func (h *Handler) Choices(ctx context.Context, m Message, limit int) ([]Choice, error) {
	m.Chat = h.spelling(m)
	if m.NotHuman != "" || !h.approver(m.Voter) || !h.mayCommand(m) {
		return nil, nil
	}
	all, err := h.gate.PendingCards(ctx, 200)
	if err != nil {
		return nil, err
	}
	rounds, err := h.gate.OpenRounds(ctx, 200)
	if err != nil {
		return nil, err
	}
	typed := lookAlikes.Replace(upper(strings.TrimSpace(m.Text)))
	var out []Choice
	for _, a := range append(all, rounds...) {
		if strings.HasPrefix(a.Code, typed) && len(out) < limit {
			label, _ := display.Clip(a.Code+" · "+a.Assessment.RiskClass.String()+" · "+card.Headline(a), maxLabel)
			out = append(out, Choice{a.Code, label})
		}
	}
	return slices.Clip(out), nil
}
