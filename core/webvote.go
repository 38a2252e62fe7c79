package core

import (
	"context"
	"slices"
)

// WebChannel is the channel of votes that people give on the desk's own pages. Its
// accounts are the names of people.
const WebChannel = "web"

// Voter is the person of the session, as who votes on the desk's pages.
func (s Session) Voter() Voter { return Voter{Channel: WebChannel, UserID: s.Person} }

// decidesOnWeb reports whether the person may decide on the desk's pages: who has an
// account that may decide by itself, in a chat or as a token. What a chat's role gives is
// seen at a tap alone, so it does not count.
func (d *Directory) decidesOnWeb(person string) bool {
	return slices.ContainsFunc(d.accountsOf(person), func(v Voter) bool {
		v.Roles = nil
		return d.MayDecide(v)
	})
}

// VoteOnWeb counts the vote of who is signed in on the approval of that code, as
// [Gate.Vote] does. It fills the same seat as the person's votes from chats. It is for
// pages that have shown the whole call to that session; from any other it is
// [Gate.VoteUnseen].
func (g *Gate) VoteOnWeb(ctx context.Context, s Session, code string, d Decision, reason string) (Approval, error) {
	return g.voteOnWeb(ctx, code, Ballot{Voter: s.Voter(), Decision: d, Reason: reason})
}

// VoteUnseen is [Gate.VoteOnWeb] where the session was not shown all that would run: a
// deny counts, and an allow is CodeUnseenPayload, on record.
func (g *Gate) VoteUnseen(ctx context.Context, s Session, code string, d Decision, reason string) (Approval, error) {
	return g.voteOnWeb(ctx, code, Ballot{Voter: s.Voter(), Decision: d, Reason: reason, Unseen: true})
}

// VoteUnconfirmed is [Gate.VoteOnWeb] where the page has not asked a second time: an allow that
// takes two steps is CodeUnconfirmed.
func (g *Gate) VoteUnconfirmed(
	ctx context.Context, s Session, code string, d Decision, reason string,
) (Approval, error) {
	return g.voteOnWeb(ctx, code, Ballot{Voter: s.Voter(), Decision: d, Reason: reason, Unconfirmed: true})
}

// RetryOnWeb counts the vote "retry" of who is signed in, as [Gate.Retry] does for a token.
// unseen: the session was not shown all that would run.
func (g *Gate) RetryOnWeb(
	ctx context.Context, s Session, code, reason string, withoutResult, unseen bool, after ...int,
) (Approval, error) {
	a, err := g.ByCode(ctx, code)
	if err != nil {
		return Approval{}, err
	}
	return g.Vote(ctx, a.Key, Ballot{Voter: s.Voter(), Decision: Retry, Reason: reason, Opens: true,
		WithoutResult: withoutResult, After: said(after), Unseen: unseen, ReceivedMs: nowMs()})
}

func (g *Gate) voteOnWeb(ctx context.Context, code string, b Ballot) (Approval, error) {
	if b.Decision != Deny && !b.Decision.Allows() {
		return Approval{}, Invalid(FieldError{"decision", decisionRule})
	}
	a, err := g.ByCode(ctx, code)
	if err != nil {
		return Approval{}, err
	}
	b.ReceivedMs = nowMs()
	return g.Vote(ctx, a.Key, b)
}

func (a Approval) unseenOnWeb() *Error {
	return Refuse(CodeUnseenPayload, "Not everything that %s would run has been shown to you here; "+
		"open it, and download the call where it is too long for the page.", a.Code)
}

// WaitsFor reports whether the approval waits for the vote of that voter: it would count,
// and they have not voted.
func (a Approval) WaitsFor(v Voter, d *Directory) bool {
	v = d.Identify(v)
	voted := slices.ContainsFunc(a.standing(d), func(o Vote) bool { return o.by(v) })
	return !a.Final() && !voted && a.counts(v, d)
}
