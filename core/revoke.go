package core

import (
	"context"
	"slices"

	"approvalbot/internal/approval"
)

// revoke takes an unclaimed approval back.
func revoke(a approval.Approval, by, reason string, now int64) (Change, error) {
	switch {
	case a.Status != approval.Approved:
		why := approval.WhyDenied
		if a.Status == approval.Pending {
			why = approval.WhyPending
		}
		return Change{}, approval.NotClaimable(why, "Only an approved request can be revoked; this one is "+string(a.Status)+".")
	case a.ClaimedAtMs != 0:
		return Change{}, approval.Refuse(approval.CodeAlreadyUsed, "The approval was claimed before; it can no longer be taken back.")
	case a.RevokedAtMs != 0:
		return Change{Approval: a, Unchanged: true}, nil
	}
	next := a.Clone()
	next.GoneAtMs = 0
	next.RevokedAtMs, next.RevokedBy, next.RevokeReason = now, by, approval.CleanText(reason, approval.MaxReason)
	tell := callBack(next, now)
	if slices.ContainsFunc(a.Deliveries, func(d approval.Delivery) bool { return d.Kind == approval.OutcomeDelivery }) {
		tell = append(tell, notify(next, approval.RevokedDelivery, now)...)
	}
	first := a.Retries == 0 // what the first yes left is not the retry's to end
	return Change{Approval: next, Unseal: true, EndGrants: first, Redraw: true, Deliveries: tell,
		Events: []approval.Event{next.Event(approval.EventRevoked, now, approval.EventData{By: by})}}, nil
}

// RevokeUnclaimed takes back all that may still be claimed, for a store that was put back from a
// backup: it may have been claimed since.
func (u Upkeep) RevokeUnclaimed(ctx context.Context, why string) error {
	for f := (Filter{Status: approval.Approved}); ; {
		p, err := u.gate.store.List(ctx, f)
		if err != nil {
			return err
		}
		for _, a := range p.Items {
			if a.ClaimedAtMs != 0 || a.RevokedAtMs != 0 || nowMs() >= a.ClaimUntilMs {
				continue
			}
			_, err := u.gate.update(ctx, a.Key, func(a approval.Approval) (Change, error) { return revoke(a, "policy", why, nowMs()) })
			if err != nil {
				return err
			}
		}
		if f.Cursor = p.Next; p.Next == "" {
			return nil
		}
	}
}

// Revoke takes an approved, unclaimed approval back.
func (g *Gate) Revoke(ctx context.Context, who Caller, ref, reason string) (approval.Approval, error) {
	if !who.MayDecide {
		return approval.Approval{}, approval.Refuse(approval.CodeForbidden, "This token may not revoke: it needs the scope operator.approvals.")
	}
	key, err := g.resolve(ctx, who, ref)
	if err != nil {
		return approval.Approval{}, err
	}
	by := "token:" + who.Token
	if who.Person != "" {
		by = "person:" + who.Person
	}
	return g.update(ctx, key, func(a approval.Approval) (Change, error) { return revoke(a, by, reason, nowMs()) })
}
