package core

import (
	"context"
	"slices"
	"time"

	"approvalbot/internal/approval"
	"approvalbot/internal/people"
)

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

// VoteSigned is Vote with a yes, good for this call alone, that the session's person has
// signed: see [Gate.BeginYes].
func (g *Gate) VoteSigned(ctx context.Context, u WebUser, code string, yes SignedYes, reason string) (approval.Approval, error) {
	a, err := g.ByCode(ctx, code)
	if err != nil {
		return approval.Approval{}, err
	}
	yes.Session = u.Session
	return g.Vote(ctx, a.Key, Ballot{Voter: u.Voter(), Decision: signedDecision(yes.Retry), Reason: reason,
		Opens: yes.Retry, WithoutResult: yes.WithoutResult, ReceivedMs: nowMs(), Signed: &yes})
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

// RetryOffer is what a person may do about one more run of an approved call.
type RetryOffer struct {
	May           bool   // their "retry" would count
	Sign          bool   // once a passkey signed it
	WithoutResult bool   // they must say that the run before has ended, since no result does
	Open          bool   // a round is open
	After         int    // how many retries it has so far
	Text          string // of that round: "retry asked by alice, 1 of 2 yes (alice)"
	UntilMs       int64
}

// RetryOffer says what a person may do on the desk's pages about one more run, as their vote
// would be answered now.
func (g *Gate) RetryOffer(ctx context.Context, u WebUser, a approval.Approval) (o RetryOffer, err error) {
	rules, err := g.inForce()
	if err != nil || a.Status != approval.Approved {
		return o, nil //nolint:nilerr // under rules that do not count nothing is offered
	}
	t, err := g.today(ctx, a.Key, rules)
	if err != nil {
		return o, err
	}
	now := time.Now()
	o.After = len(a.RetriedBy)
	asOf := rules.at(now)
	round, open := people.OpenRound(a, asOf.People, now.UnixMilli())
	if open {
		o.Open, o.Text, o.UntilMs = true, round.Text(), round.ExpiresAtMs
	}
	o.WithoutResult = !open && a.MayRunOn()
	b := Ballot{Voter: u.Voter(), Decision: approval.Retry, Opens: true, WithoutResult: o.WithoutResult, After: &o.After}
	c, no := voteAgain(a, b, t, &asOf, now.UnixMilli())
	o.Sign = c.Refusal != nil && c.Refusal.Code == approval.CodeStepUpRequired
	voted := slices.ContainsFunc(round.Votes, func(v approval.Vote) bool { return v.By(asOf.People.Identify(b.Voter)) })
	o.May = no == nil && (c.Refusal == nil || o.Sign) && !voted
	return o, nil
}

// WaitsFor reports whether the approval waits for the vote of that voter: it would count,
// and they have not voted.
func WaitsFor(a approval.Approval, v approval.Voter, d *people.Directory) bool {
	v = d.Identify(v)
	voted := slices.ContainsFunc(people.Standing(a, d), func(o approval.Vote) bool { return o.By(v) })
	return !a.Final() && !voted && people.Counts(a, v, d)
}
