package core

import (
	"context"
	"errors"
	"slices"
	"time"

	"approvalbot/internal/approval"
	"approvalbot/internal/fault"
)

// Claimed is an approved call, handed out: the very bytes that were approved.
type Claimed struct {
	Approval approval.Approval
	ToolName string
	Params   []byte // canonical JSON
}

// Claim hands an approved call to its owner, once and in time. id is remembered: a result
// that is addressed by it is of this run. Policy is asked
// again with the stored call: what it now denies is not handed out.
func (g *Gate) Claim(ctx context.Context, who Caller, id string, in ClaimInput) (Claimed, error) {
	if len(in.ClaimID) > 128 {
		return Claimed{}, approval.Invalid(approval.FieldError{Field: "claimId", Problem: "must be at most 128 bytes"})
	}
	if !who.MayConfine {
		in.Confine = ""
	}
	key, err := g.ownKey(ctx, who, id)
	if err != nil {
		return Claimed{}, err
	}
	return anew(ctx, g, key, func() (Claimed, error) {
		got, err := g.claimOnce(ctx, key, id, in)
		if errors.Is(err, errReplaced) { // who holds a token may be another by the new rules: they ask again
			err = rulesChanged()
		}
		return got, err
	})
}

func (g *Gate) claimOnce(ctx context.Context, key, id string, in ClaimInput) (Claimed, error) {
	rules, err := g.inForce()
	if err != nil {
		return Claimed{}, err
	}
	a, err := g.store.Get(ctx, key)
	if err != nil {
		return Claimed{}, err
	}
	in.as = a.Alias(id)
	call, errSealed := g.openInTime(ctx, a, rules)
	denies := ""
	if errSealed == nil {
		denies = g.rejudge(ctx, a, call, rules)
	}
	if denies == "" && a.Confined != nil && a.ClaimedAtMs == 0 && slices.Contains(a.DecidedBy, "policy") {
		tried, err := g.store.TriedConfined(ctx, a.Owner, a.AgentID, a.Fingerprint, nowMs())
		if err != nil {
			return Claimed{}, err
		}
		if tried != "" {
			denies = "the same call has failed while it ran confined, after this approval was given; ask again"
		}
	}
	fault.Point("before-claim-committed")
	defer fault.Point("after-claim-committed")
	a, err = g.update(ctx, key, func(a approval.Approval) (Change, error) {
		now := time.Now()
		asOf := rules.at(now)
		if why := askerGone(a, rules); a.Retries > 0 && why != "" {
			denies = why
		}
		c, err := claim(a, in, call, denies, now.UnixMilli())
		if byPolicy := a.Confined != nil && slices.Contains(a.DecidedBy, "policy"); (a.Retries > 0 || byPolicy) && !c.Unchanged {
			c.NotDenied = notDenied(a, now.UnixMilli())
		}
		if err == nil && errSealed != nil {
			return Change{}, errSealed
		}
		if fallen := fallen(a, &asOf); err == nil && c.HandsOut && !c.Unchanged && fallen != "" {
			c, err = takenBack(a, fallen, now.UnixMilli())
		}
		if c.Policy = rules.Policy.Hash(); slices.ContainsFunc(a.Votes, approval.ByPeople) {
			c.Absences = rules.absences.Revision
		}
		return c, err
	})
	if err != nil {
		return Claimed{}, err
	}
	return Claimed{Approval: a, ToolName: call.ToolName, Params: call.Params}, nil
}
