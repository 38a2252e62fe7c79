package web

import (
	"context"
	"strconv"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/signin"
)

// castVote counts what who is signed in decides about the approval of that code, of which
// the page has shown them everything that would run.
type castVote func(
	ctx context.Context, s signin.Session, code string, d approval.Decision, reason, note string,
) (approval.Approval, error)

// ballots count votes of people at the pages.
type ballots struct {
	gate  *core.Gate
	shown *shown
}

// voteOn counts a vote of the signed-in person. An allow counts only if this desk has
// shown that session the whole call.
func (p ballots) voteOn(ctx context.Context, s signin.Session, code string, d approval.Decision,
	reason, note string) (approval.Approval, error) {
	a, err := p.gate.ByCode(ctx, code)
	if err != nil {
		return a, err
	}
	return p.gate.Pages().Vote(ctx, s.WebUser(), a.Code, core.WebBallot{Decision: d, Reason: reason, Note: note, Unseen: !p.shown.to(s, a)})
}

// voteOnce is voteOn for a form that did not ask a second time.
func (p ballots) voteOnce(ctx context.Context, s signin.Session, code string, d approval.Decision,
	reason, note string) (approval.Approval, error) {
	a, err := p.gate.ByCode(ctx, code)
	if err == nil && d.Allows() && p.shown.to(s, a) {
		return p.gate.Pages().Vote(ctx, s.WebUser(), a.Code, core.WebBallot{Decision: d, Reason: reason, Note: note, Unconfirmed: true})
	}
	return p.voteOn(ctx, s, code, d, reason, note)
}

// retryOn counts a "retry" likewise. after is the number of retries that the page showed.
func (p ballots) retryOn(withoutResult, confirmed bool, after string) castVote {
	return func(ctx context.Context, s signin.Session, code string, _ approval.Decision, reason, note string) (approval.Approval, error) {
		a, err := p.gate.ByCode(ctx, code)
		if err != nil {
			return a, err
		}
		if !confirmed && core.ConfirmsTwice(a) {
			return a, approval.Refuse(core.CodeUnconfirmed, "Not counted yet: open Retry on the request's page, and confirm it.")
		}
		n, err := strconv.Atoi(after)
		if err != nil {
			return a, approval.Refuse(approval.CodeMalformed,
				"The page does not say which run it was for: load it again.")
		}
		return p.gate.Pages().Retry(ctx, s.WebUser(), a.Code, reason, note, withoutResult, !p.shown.to(s, a), n)
	}
}
