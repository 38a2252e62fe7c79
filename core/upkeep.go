package core

import "context"

// Upkeep is what the running desk does about all approvals, by itself: when other rules count, when
// the store was put back, when another instance has committed.
type Upkeep struct{ gate *Gate }

// Upkeep gives what is for the running desk.
func (g *Gate) Upkeep() Upkeep { return Upkeep{g} }

// CutShort is how many calls were not read to their end since the start: each took more
// steps than a judgement has, or its asker went away.
func (u Upkeep) CutShort() int64 { return u.gate.cutShort.Load() }

// RecountStats has the sums that [Gate.Stats] goes by made anew, in the background.
func (u Upkeep) RecountStats(ctx context.Context) error { return u.gate.store.Recount(ctx) }
