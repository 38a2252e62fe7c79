package core

import (
	"context"
	"errors"
	"time"

	"approvalbot/internal/approval"
	"approvalbot/internal/people"
)

// takeBack is revoke by a person in a chat: by each who may deny the call, or asked for it. It allows no call, so it
// needs no quorum, signature or second step. If it comes too late, that is on record, and the cards are drawn anew.
func takeBack(a approval.Approval, b Ballot, rules *Rules, now int64) (Change, error) {
	v := rules.People.Identify(b.Voter)
	if b.Decision = ""; !people.Concerns(underRules(a, rules), v, rules.People) {
		return refusedAgain(a, v, b, notAnApprover(), now), nil
	}
	if a.Dialect != "" || a.Drill() { // a caller in another dialect runs by its events, and may have begun
		return refusedAgain(a, v, b, approval.NotClaimable(approval.WhyPolicy, "This yes cannot be taken back, "+
			"because the caller is told of it at once."), now), nil
	}
	c, err := revoke(a, v.Name(), "", now)
	var late *approval.Error
	if errors.As(err, &late) {
		c, err = refusedAgain(a, v, b, late, now), nil
		c.Redraw = true
	}
	c.Handled = b.Handled
	return c, err
}

// TakeBack takes an approved, unclaimed approval back, as a person says in a chat; its refusals are as those of
// [Gate.Vote]. A second time has no effect. Only the voter, the chat and the update of the ballot count.
func (g Chats) TakeBack(ctx context.Context, key string, b Ballot) (approval.Approval, error) {
	return g.update(ctx, key, func(a approval.Approval) (Change, error) {
		now := time.Now()
		asOf := g.rules.Load().at(now)
		return takeBack(a, b, &asOf, now.UnixMilli())
	})
}
