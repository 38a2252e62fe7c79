package web

import (
	"context"
	"time"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/people"
)

// These are no decisions: the cool-down was to end, and an allow was taken back.
const (
	askedAgain = "again"
	takenBack  = "revoked"
)

const takenBackText = "Taken back. It will not run."

// voted words the result of a person's vote after a redirect. It reads the approval only,
// since an address can claim anything.
func (p readers) voted(ctx context.Context, v reader, code string, d approval.Decision) string {
	if code == "" {
		return ""
	}
	a, err := p.find(ctx, v, code)
	if err != nil {
		return ""
	}
	if d == askedAgain && a.Final() {
		return a.Code + ": " + core.AskAgainText(a)
	}
	if d == takenBack && a.RevokedAtMs != 0 {
		return a.Code + ": " + takenBackText
	}
	given := a.Votes
	if round, open := people.OpenRound(a, v.people, v.now.UnixMilli()); open {
		given = append(given, round.Votes...)
	}
	if a.RoundDenied != nil {
		given = append(given, *a.RoundDenied)
	}
	for _, x := range given {
		if x.Voter != nil && x.Voter.Person == v.session.Person && x.Decision == d {
			return a.Code + ": " + card.VotedText(a, v.session.Voter(), d, v.people, time.Now().UnixMilli())
		}
	}
	if a.Status == approval.Withdrawn && d == approval.Deny {
		return a.Code + ": " + card.VotedText(a, v.session.Voter(), d, v.people, time.Now().UnixMilli())
	}
	return ""
}
