package core

import (
	"context"

	"approvalbot/internal/people"
)

// LearnAbsences reads who is away: at the start, and when another instance changed it. What
// was known before is gone, also where the database has lost its newest changes.
func (g *Gate) LearnAbsences(ctx context.Context) error {
	known := g.absences.Load()
	all, err := g.store.Absences(ctx)
	if err != nil {
		return err
	}
	if !g.absences.CompareAndSwap(known, &all) {
		g.learn(all)
	}
	return nil
}

// learn takes over absences that are newer than those that are known.
func (g *Gate) learn(all people.Absences) {
	for {
		known := g.absences.Load()
		if known.Revision >= all.Revision || g.absences.CompareAndSwap(known, &all) {
			return
		}
	}
}
