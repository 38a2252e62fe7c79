package core

import (
	"context"
	"slices"
	"time"

	"approvalbot/internal/approval"
)

// AddReason attaches a reason to the deny that this voter gave before.
func (g Chats) AddReason(
	ctx context.Context, key string, v approval.Voter, reason string, handled *approval.InboundRef,
) (approval.Approval, error) {
	return g.update(ctx, key, func(a approval.Approval) (Change, error) {
		c, err := addReason(a, g.people(time.Now()).Identify(v), reason, nowMs())
		c.Handled = handled
		return c, err
	})
}

// addReason attaches the reason that a person gives after their deny counted.
func addReason(a approval.Approval, v approval.Voter, reason string, now int64) (Change, error) {
	next := a.Clone()
	if next.Status == approval.Withdrawn && next.Reason == approval.WithdrawnByRequester && slices.Contains(next.DecidedBy, v.Name()) {
		next.Reason = approval.CleanText(reason, approval.MaxReason) // their deny withdrew it
		given := next.Event(approval.EventReason, now, approval.EventData{By: v.Name()})
		return Change{Approval: next, Redraw: true, Events: []approval.Event{given}}, nil
	}
	if a.DeniedRound(v) {
		vote := *a.RoundDenied
		vote.Reason, next.RoundDenied = approval.CleanText(reason, approval.MaxReason), &vote
		given := next.Event(approval.EventReason, now, approval.EventData{Vote: &vote})
		return Change{Approval: next, Redraw: true, Events: []approval.Event{given}}, nil
	}
	i := slices.IndexFunc(next.Votes, func(o approval.Vote) bool { return o.Verdict == approval.Reject && o.By(v) })
	if i < 0 {
		return Change{}, approval.Refuse(approval.CodeNotFound, "You did not deny this request, so you cannot give a "+
			"reason for a denial.")
	}
	next.Votes[i].Reason = approval.CleanText(reason, approval.MaxReason)
	if next.Status == approval.Denied && slices.Contains(next.DecidedBy, v.Name()) {
		next.Reason = next.Votes[i].Reason
	}
	given := next.Event(approval.EventReason, now, approval.EventData{Vote: &next.Votes[i]})
	return Change{Approval: next, Redraw: true, Events: []approval.Event{given}, CoolDownReason: next.Reason}, nil
}
