package core

import (
	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/display"
)

// CodeUnconfirmed refuses an allow of an R4 call from a chat that the person has not confirmed. The
// approval comes with it: [Chats.Confirmation] makes what confirms it. The API never sends it.
const CodeUnconfirmed approval.Code = "unconfirmed"

// Confirmation is the second button to an allow or a retry of an R4 call: its label, and the proof
// that a [Ballot] of that voter then carries, which counts with that note. It holds until the approval changes.
func (g Chats) Confirmation(a approval.Approval, v approval.Voter, d approval.Decision, note string) (label, proof string) {
	label = "Yes, run: "
	if d == approval.Retry {
		label = "Yes, run again: "
	}
	what, _ := display.Clip(card.Headline(a), maxConfirmed)
	if text, no := approval.ReadNote(note); no == nil {
		note = text
	}
	return label + what, g.confirms.proof(a, v, d, note)
}

// ConfirmsTwice reports whether a yes in a chat or on a page takes a second step that repeats what
// would run.
func ConfirmsTwice(a approval.Approval) bool {
	return a.Assessment.RiskClass >= approval.R4 && !a.Rule.StepUp
}

// unconfirmed refuses an R4 call's yes that was given with one tap, one line or one click.
func unconfirmed(a approval.Approval, b Ballot) *approval.Error {
	inChat := b.Chat != nil && !b.confirmed
	if !inChat && !b.Unconfirmed || !ConfirmsTwice(a) {
		return nil
	}
	return approval.Refuse(CodeUnconfirmed, "Not counted yet. %s", display.UpperFirst(card.RiskText(a)))
}

// toConfirm answers an unconfirmed yes. The approval only keeps that a person looked at it, and the
// note until the second step, which has no room for it. The yes counts only if that step follows.
func toConfirm(a approval.Approval, b Ballot, no *approval.Error, now int64) Change {
	c := Change{Approval: looked(a, now), Unchanged: a.LookedAtMs != 0, Refusal: no}
	if b.Note != "" && b.Chat != nil && a.DraftOf(b.Voter, b.Decision) != b.Note {
		c.Approval, c.Unchanged = c.Approval.WithDraft(b.Voter, b.Decision, b.Note), false
	}
	return c
}
