package core

import (
	"context"
	"slices"
	"time"

	"approvalbot/internal/approval"
	"approvalbot/internal/people"
)

// WebBallot is a vote from a page.
type WebBallot struct {
	Decision    approval.Decision
	Reason      string
	Note        string // to the agent
	Unseen      bool   // the session was not shown all that would run: an allow is CodeUnseenPayload, on record
	Unconfirmed bool   // the page has not asked a second time: an allow that takes two steps is CodeUnconfirmed
}

// Vote counts the vote of the session's person on the approval of that code, as [Gate.Vote]
// does. It fills the same seat as the person's votes from chats.
func (p Pages) Vote(ctx context.Context, u WebUser, code string, b WebBallot) (approval.Approval, error) {
	if b.Decision != approval.Deny && !b.Decision.Allows() {
		return approval.Approval{}, approval.Invalid(approval.FieldError{Field: "decision", Problem: decisionRule})
	}
	a, err := p.gate.ByCode(ctx, code)
	if err != nil {
		return approval.Approval{}, err
	}
	return p.gate.Vote(ctx, a.Key, Ballot{Voter: u.Voter(), Decision: b.Decision, Reason: b.Reason, Note: b.Note, Unseen: b.Unseen,
		Unconfirmed: b.Unconfirmed, ReceivedMs: nowMs()})
}

// Retry counts the vote "retry" of the session's person, as [Gate.Retry] does for a token.
// unseen: the session was not shown all that would run.
func (p Pages) Retry(
	ctx context.Context, u WebUser, code, reason, note string, withoutResult, unseen bool, after ...int,
) (approval.Approval, error) {
	a, err := p.gate.ByCode(ctx, code)
	if err != nil {
		return approval.Approval{}, err
	}
	return p.gate.Vote(ctx, a.Key, Ballot{Voter: u.Voter(), Decision: approval.Retry, Reason: reason, Note: note, Opens: true,
		WithoutResult: withoutResult, After: said(after), Unseen: unseen, ReceivedMs: nowMs()})
}

// VoteSigned is Vote with a yes, good for this call alone, that the session's person has
// signed: see [Pages.BeginYes].
func (p Pages) VoteSigned(ctx context.Context, u WebUser, code string, yes SignedYes, reason string) (approval.Approval, error) {
	a, err := p.gate.ByCode(ctx, code)
	if err != nil {
		return approval.Approval{}, err
	}
	yes.Session = u.Session
	return p.gate.Vote(ctx, a.Key, Ballot{Voter: u.Voter(), Decision: signedDecision(yes.Retry), Reason: reason,
		Opens: yes.Retry, WithoutResult: yes.WithoutResult, ReceivedMs: nowMs(), Signed: &yes})
}

// RetryOffer is what a person may do about one more run of an approved call.
type RetryOffer struct {
	May           bool   // their "retry" would count
	Sign          bool   // once a passkey signed it
	WithoutResult bool   // they must say that the run before has ended, because no result does
	Open          bool   // a round is open
	After         int    // how many retries it has so far
	Text          string // of that round: "retry asked by alice, 1 of 2 yes (alice)"
	UntilMs       int64
}

// RetryOffer says what a person may do on the desk's pages about one more run, as their vote
// would be answered now.
func (p Pages) RetryOffer(ctx context.Context, u WebUser, a approval.Approval) (o RetryOffer, err error) {
	rules, err := p.gate.inForce()
	if err != nil || a.Status != approval.Approved {
		return o, nil //nolint:nilerr // under rules that do not count nothing is offered
	}
	t, err := p.gate.today(ctx, a.Key, rules)
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
