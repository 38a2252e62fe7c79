package core

import (
	"context"

	"approvalbot/internal/approval"
)

// Retry opens a round on whether an approved call runs once more, with the vote of the
// token's person, or votes in the open one. withoutResult: although no result says that
// the run before has ended. Once the rule's quorum said so, the owner may claim the call
// again, and is told. The call itself is never in the answer. after is as in a Ballot.
func (g *Gate) Retry(ctx context.Context, who Caller, ref string, withoutResult bool, after ...int) (approval.Approval, error) {
	if !who.MayDecide {
		return approval.Approval{}, approval.Refuse(approval.CodeForbidden, "This token may not retry: it needs the scope operator.approvals.")
	}
	key, err := g.resolve(ctx, who, ref)
	if err != nil {
		return approval.Approval{}, err
	}
	return g.Vote(ctx, key, Ballot{Voter: approval.Voter{Channel: "api", UserID: who.Token}, Decision: approval.Retry,
		Opens: true, WithoutResult: withoutResult, After: said(after), ReceivedMs: nowMs()})
}

// said is Ballot.After if the caller gave it, else nil.
func said(after []int) *int {
	if len(after) == 0 {
		return nil
	}
	return &after[0]
}

const decisionRule = "must be allow-once, allow-session, allow-always or deny; while a retry round is open, retry or " +
	"deny"

// VoteAs is Vote for an API token's person, with a note to the agent. The whole call is in every answer
// that such a token gets, so its vote counts as seen. after is as in a Ballot.
func (g *Gate) VoteAs(
	ctx context.Context, who Caller, ref string, d approval.Decision, reason, note string, after ...int,
) (approval.Approval, error) {
	if !who.MayDecide || who.Person == "" {
		return approval.Approval{}, approval.Refuse(approval.CodeForbidden,
			"This token may not decide: it needs the scope operator.approvals and a person.")
	}
	ballot := Ballot{
		Voter: approval.Voter{Channel: "api", UserID: who.Token}, Decision: d, Reason: reason, Note: note,
		After: said(after), ReceivedMs: nowMs(),
	}
	known := d == approval.Deny || d == approval.Retry || d.Allows()
	if known && d != approval.Retry && mayBeKey(ref) { // mostly it is one, and needs no look-up
		b := ballot
		b.named = ref
		a, err := g.Vote(ctx, ref, b)
		if a.Key != "" || approval.CodeOf(err) != approval.CodeNotFound {
			return a, err
		}
	}
	key, err := g.resolve(ctx, who, ref)
	if err != nil {
		return approval.Approval{}, err
	}
	if !known {
		return approval.Approval{}, approval.Invalid(approval.FieldError{Field: "decision", Problem: decisionRule})
	}
	return g.Vote(ctx, key, ballot)
}
