package core

import (
	"context"

	"approvalbot/internal/people"
)

// Absences are the doors to who is away, for callers of the API that change or read it.
type Absences struct{ gate *Gate }

// Absences gives what is done about who is away.
func (g *Gate) Absences() Absences { return Absences{g} }

// Learn reads who is away: at the start, and when another instance changed it. It replaces
// what was known before, also if the database has lost its newest changes.
func (a Absences) Learn(ctx context.Context) error {
	known := a.gate.absences.Load()
	all, err := a.gate.store.Absences(ctx)
	if err != nil {
		return err
	}
	if !a.gate.absences.CompareAndSwap(known, &all) {
		a.gate.learn(all)
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
