package core

import "context"

// withdrawnByRequester is the reason where the requester gave none.
const withdrawnByRequester = "withdrawn by the requester"

// withdraw ends a pending approval because whoever asked no longer needs it.
func (a Approval) withdraw(by, reason string, now int64) Change {
	next := a.clone()
	next.Status, next.Reason, next.DecidedBy = Withdrawn, cleanText(reason, maxReason), []string{by}
	return Change{Approval: next}.end(EventWithdrawn, now)
}

// supersede withdraws a pending approval in favour of another one.
func (a Approval) supersede(by Approval, now int64) Change {
	c := a.withdraw("token:"+a.Owner, "superseded by "+by.Code, now)
	c.Approval.SupersededBy, c.Approval.Votes = by.Code, nil
	return c
}

// Withdraw ends a pending approval for its owner; doing it again is fine.
func (g *Gate) Withdraw(ctx context.Context, who Caller, id, reason string) (Approval, error) {
	key, err := g.ownKey(ctx, who, id)
	if CodeOf(err) == CodeNotFound && !who.MayRequest { // an operator has drills of their own, and nothing else
		err = Refuse(CodeForbidden, "This token may not withdraw that: it needs the scope approvals.request.")
	}
	if err != nil {
		return Approval{}, err
	}
	return g.update(ctx, key, func(a Approval) (Change, error) {
		switch {
		case a.Status == Withdrawn:
			return Change{Approval: a, Unchanged: true}, nil
		case a.Final():
			return Change{}, a.ended()
		}
		return a.withdraw("token:"+who.Token, reason, nowMs()), nil
	})
}

// withdrawalText are what whoever asked gave as the reason of the withdrawal: their
// claim, never the desk's word.
func (a Approval) withdrawalText() string {
	if a.Status != Withdrawn || a.SupersededBy != "" || a.Reason == withdrawnByRequester {
		return ""
	}
	return a.Reason
}
