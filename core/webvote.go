package core

import (
	"context"
	"slices"

	"approvalbot/internal/approval"
	"approvalbot/internal/people"
)

// WebUser is a person who is signed in to the desk's pages, in one of their sessions. It gives
// no right of its own: what the person may do is looked up at every step.
type WebUser struct {
	Person  string
	Session string // its id
}

// Voter is who votes there.
func (u WebUser) Voter() approval.Voter {
	return approval.Voter{Channel: approval.WebChannel, UserID: u.Person}
}

// VoteOnWeb counts the vote of who is signed in on the approval of that code, as
// [Gate.Vote] does. It fills the same seat as the person's votes from chats. It is for
// pages that have shown the whole call to that session; from any other it is
// [Gate.VoteUnseen].
func (g *Gate) VoteOnWeb(ctx context.Context, u WebUser, code string, d approval.Decision, reason string) (approval.Approval, error) {
	return g.voteOnWeb(ctx, code, Ballot{Voter: u.Voter(), Decision: d, Reason: reason})
}

// VoteUnseen is [Gate.VoteOnWeb] where the session was not shown all that would run: a
// deny counts, and an allow is CodeUnseenPayload, on record.
func (g *Gate) VoteUnseen(ctx context.Context, u WebUser, code string, d approval.Decision, reason string) (approval.Approval, error) {
	return g.voteOnWeb(ctx, code, Ballot{Voter: u.Voter(), Decision: d, Reason: reason, Unseen: true})
}

// VoteUnconfirmed is [Gate.VoteOnWeb] where the page has not asked a second time: an allow that
// takes two steps is CodeUnconfirmed.
func (g *Gate) VoteUnconfirmed(
	ctx context.Context, u WebUser, code string, d approval.Decision, reason string,
) (approval.Approval, error) {
	return g.voteOnWeb(ctx, code, Ballot{Voter: u.Voter(), Decision: d, Reason: reason, Unconfirmed: true})
}

// RetryOnWeb counts the vote "retry" of who is signed in, as [Gate.Retry] does for a token.
// unseen: the session was not shown all that would run.
func (g *Gate) RetryOnWeb(
	ctx context.Context, u WebUser, code, reason string, withoutResult, unseen bool, after ...int,
) (approval.Approval, error) {
	a, err := g.ByCode(ctx, code)
	if err != nil {
		return approval.Approval{}, err
	}
	return g.Vote(ctx, a.Key, Ballot{Voter: u.Voter(), Decision: approval.Retry, Reason: reason, Opens: true,
		WithoutResult: withoutResult, After: said(after), Unseen: unseen, ReceivedMs: nowMs()})
}

func (g *Gate) voteOnWeb(ctx context.Context, code string, b Ballot) (approval.Approval, error) {
	if b.Decision != approval.Deny && !b.Decision.Allows() {
		return approval.Approval{}, approval.Invalid(approval.FieldError{Field: "decision", Problem: decisionRule})
	}
	a, err := g.ByCode(ctx, code)
	if err != nil {
		return approval.Approval{}, err
	}
	b.ReceivedMs = nowMs()
	return g.Vote(ctx, a.Key, b)
}

func unseenOnWeb(a approval.Approval) *approval.Error {
	return approval.Refuse(approval.CodeUnseenPayload, "Not everything that %s would run has been shown to you here; "+
		"open it, and download the call where it is too long for the page.", a.Code)
}

// WaitsFor reports whether the approval waits for the vote of that voter: it would count,
// and they have not voted.
func WaitsFor(a approval.Approval, v approval.Voter, d *people.Directory) bool {
	v = d.Identify(v)
	voted := slices.ContainsFunc(people.Standing(a, d), func(o approval.Vote) bool { return o.By(v) })
	return !a.Final() && !voted && people.Counts(a, v, d)
}
