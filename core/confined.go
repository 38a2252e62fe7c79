package core

import (
	"context"
	"slices"

	"approvalbot/internal/approval"
)

// triedConfinedMs is how long a call that failed confined asks a person when it comes again.
const triedConfinedMs = 10 * 60 * 1000

// unconfined is a draft that policy allows confined alone, as what it is without that: pending.
func unconfined(a approval.Approval) approval.Approval {
	a.Status, a.Decision, a.DecidedBy, a.Confined = approval.Pending, "", nil, nil
	return a
}

// tried judges a call anew that policy lets run confined, if it failed confined lately: then it asks, and people read
// what came of it.
func (g *Gate) tried(ctx context.Context, call approval.Call, fingerprint string, c consulted, rules *Rules) (consulted, error) {
	if c.Confined == nil || c.Outcome != approval.OutcomeAllow {
		return c, nil
	}
	key, err := g.store.TriedConfined(ctx, call.Owner, call.AgentID, fingerprint, nowMs())
	if key == "" || err != nil {
		return c, err
	}
	a, err := g.store.Bare(ctx, key)
	switch {
	case approval.CodeOf(err) == approval.CodeNotFound: // deleted since
		return c, nil
	case err != nil:
		return c, err
	}
	call.Context.Confine = ""
	c = rules.judgeLocally(ctx, call)
	c.tried = triedBy(a)
	return c.tightened(call), nil
}

// triedBy is what came of a confined run.
func triedBy(a approval.Approval) *approval.TriedConfined {
	t := &approval.TriedConfined{Code: a.Code}
	if r := a.Result; r != nil {
		t.Exit, t.Summary = r.ExitCode, r.Summary
		if r.Confined != nil {
			t.Changed = r.Confined.Changed
		}
	}
	return t
}

// failedConfined reports whether a result says that the call did not work confined, or does not say that it ran so.
func failedConfined(a approval.Approval) bool {
	byPolicy := a.Confined != nil && slices.Contains(a.DecidedBy, "policy")
	return byPolicy && a.Result != nil && (a.Result.Status != "succeeded" || a.Result.Confined == nil)
}

// maxBlocked is how many names of what a confined run changed that others obey are kept.
const maxBlocked = 20

// ranConfined is what is kept of the owner's word about a confined run; of another run there is nothing to say.
func ranConfined(a approval.Approval, said *approval.RanConfined) *approval.RanConfined {
	if a.Confined == nil || said == nil {
		return nil
	}
	r := &approval.RanConfined{Changed: max(0, said.Changed)}
	for _, name := range said.Blocked[:min(len(said.Blocked), maxBlocked)] {
		r.Blocked = append(r.Blocked, approval.CleanText(name, approval.MaxName))
	}
	return r
}
