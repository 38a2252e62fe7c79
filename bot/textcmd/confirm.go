package textcmd

import (
	"context"
	"slices"
	"unicode/utf8"

	"approvalbot/internal/approval"
	"approvalbot/internal/display"
)

const tapYes = " Only “Yes, run” counts: tap it, or deny."

// confirm answers an R4 call's yes with a second button, and only that button counts: on the card
// itself, or below the answer to a typed yes. Its data binds it to the account, the decision and the
// present state of the approval, so it needs no memory. Another person who taps it on a card is asked
// in their turn.
func (h *Handler) confirm(
	ctx context.Context, m Message, cmd Command, a approval.Approval, why *approval.Error,
) (Reply, bool, error) {
	label, proof := h.gate.Confirmation(a, m.Voter, cmd.Decision, cmd.Note)
	yes := Button{Label: label, Style: Allowing,
		Data: Command{Verb: Confirm, Code: a.Code, Decision: cmd.Decision, Proof: proof}.String()}
	why.Message, _ = display.Clip(why.Message, maxAnswer-1-utf8.RuneCountInString(tapYes)-len(" Your note goes with it."))
	r := Reply{Text: why.Message + "." + tapYes}
	if cmd.Note != "" {
		r.Text += " Your note goes with it."
	}
	if !m.Tap {
		r.Rows = [][]Button{{yes}}
		return r, true, nil
	}
	i := slices.IndexFunc(a.Deliveries, func(o approval.Delivery) bool {
		return o.Kind == approval.CardDelivery && o.MessageID == m.MessageID
	})
	if i < 0 { // below an answer, which is no card that could ask again
		word := "approve "
		if cmd.Decision == approval.Retry {
			word = "retry "
		}
		return Reply{Text: "Not counted: this button is another person's, or " + a.Code + " has changed since. Send: " +
			word + a.Code, Alert: true}, true, nil
	}
	drawing, err := h.gate.Draw(ctx, a.Deliveries[i])
	if err != nil || drawing.Card == nil {
		return Reply{}, true, err
	}
	r.Rows = append(answerRows(*drawing.Card), confirmRows(a.Code, yes)...)
	r.Menu, r.Card, r.Key, r.Version = MenuConfirm, drawing.Card, a.Key, a.Version
	return r, true, nil
}

// confirmRows are a card's buttons while it asks a second time. No button that allows is in the
// place of Allow once, so a double tap has no effect.
func confirmRows(code string, yes Button) [][]Button {
	return [][]Button{
		{{"Back", Command{Verb: Back, Code: code}.String(), Neutral},
			{"Deny", Command{Verb: Deny, Code: code, Decision: approval.Deny}.String(), Denying}},
		{yes},
	}
}
