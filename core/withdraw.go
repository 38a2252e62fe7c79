package core

import (
	"context"

	"approvalbot/internal/approval"
	"approvalbot/internal/card"
)

// withdraw ends a pending approval because its asker no longer needs it.
func withdraw(a approval.Approval, by, reason string, now int64) Change {
	next := a.Clone()
	next.Status, next.Reason, next.DecidedBy = approval.Withdrawn, approval.CleanText(reason, approval.MaxReason), []string{by}
	return Change{Approval: next}.end(approval.EventWithdrawn, now)
}

// supersede withdraws a pending approval in favour of another one.
func supersede(a approval.Approval, by approval.Approval, now int64) Change {
	c := withdraw(a, "token:"+a.Owner, "superseded by "+by.Code, now)
	c.Approval.SupersededBy, c.Approval.Votes = by.Code, nil
	return c
}

// Withdraw ends a pending approval for its owner, and takes a yes back that was given once and not claimed, if no
// other request waits for it; doing it again is fine.
func (g *Gate) Withdraw(ctx context.Context, who Caller, id, reason string) (approval.Approval, error) {
	key, err := g.ownKey(ctx, who, id)
	if approval.CodeOf(err) == approval.CodeNotFound && !who.MayRequest { // an operator has only drills of their own
		err = approval.Refuse(approval.CodeForbidden, "This token may not withdraw that: it needs the scope approvals.request.")
	}
	if err != nil {
		return approval.Approval{}, err
	}
	return g.update(ctx, key, func(a approval.Approval) (Change, error) {
		switch {
		case a.Status == approval.Withdrawn, a.GoneAtMs != 0 && a.RevokedAtMs != 0:
			return Change{Approval: a, Unchanged: true}, nil
		case mayForgo(a, nowMs()):
			return forgo(a, "token:"+who.Token, nowMs())
		case a.Final():
			return Change{}, card.Ended(a)
		}
		return withdraw(a, "token:"+who.Token, reason, nowMs()), nil
	})
}
