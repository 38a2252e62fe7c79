package core

import (
	"context"
	"slices"
	"time"

	"approvalbot/internal/approval"
)

// waitPoll is how often Wait polls the store, in case a wake-up was lost. A caller that
// waits over HTTP asks again as often.
const waitPoll = time.Minute

// Standing says whether the waiting caller may still have an answer, and gives a channel
// that is closed when that must be asked again.
type Standing func() (again <-chan struct{}, err error)

// Wait blocks until the approval has ended or ctx is done, and gives it as it then is.
// standing is asked before that, and its error ends the wait at once. An end of which no
// message came is seen within a minute or so. It is an error only if the store fails when
// the approval must be read. Other callers may have been given the same approval: do not
// change it.
func (g *Gate) Wait(ctx context.Context, key string, standing Standing) (*approval.Approval, error) {
	w := g.Watch(key)
	defer w.Stop()
	return w.Wait(ctx, standing)
}

// Wait is [Gate.Wait] for the approval that is watched. An approval by value in its frame, or in a caller's, would
// be a larger stack for each that waits.
func (w *Watch) Wait(ctx context.Context, standing Standing) (*approval.Approval, error) {
	woken := true
	lost := time.NewTimer(waitPoll) // by then a word may have been
	defer lost.Stop()
	for look := !w.looked; ; look = true {
		seen, over := false, ctx.Err() != nil
		var a *approval.Approval
		var err error
		if look || over {
			a, err = w.Look(ctx, over)
			news := woken
			if err == nil {
				news = a.Status.Final()
			}
			seen = over || news
		}
		again, denied := standing() // after the look: what was seen is theirs still
		if denied != nil {
			return nil, denied
		}
		if seen {
			return a, err
		}
		lost.Reset(waitPoll)
		select {
		case <-w.Changed():
			woken = true
		case <-lost.C:
			woken = false
		case <-again:
		case <-ctx.Done():
		}
	}
}

// Watch is one caller that waits for news of an approval: Look, then Changed, and so on.
// For one goroutine.
type Watch struct {
	gate   *Gate
	key    string
	entry  *waiter
	next   <-chan struct{}
	looked bool
	final  bool // it was seen to have ended, before the first Look
}

// Watch begins to watch the approval of that key; call Stop in the end.
func (g *Gate) Watch(key string) *Watch {
	return &Watch{gate: g, key: key, entry: g.waits.join(key)}
}

// expect watches an approval that is about to be created, or looked at, with that key, as if it had
// been looked at then.
func (g *Gate) expect(key string) *Watch {
	w := g.Watch(key)
	w.next, _ = g.waits.next(w.entry)
	w.looked = true
	return w
}

// Look gives the approval as it is now, whether or not ctx has ended; do not change it. Unless whole is
// set, an approval that has not ended lacks its deliveries.
func (w *Watch) Look(ctx context.Context, whole bool) (*approval.Approval, error) {
	ctx = context.WithoutCancel(ctx)
	next, ended := w.gate.waits.next(w.entry) // taken before the look, so that no change is missed between the two
	first := !w.looked
	w.next, w.looked = next, true
	if ended != nil && !first {
		return ended, nil
	}
	if !whole && !w.final {
		if a, err := w.gate.store.Bare(ctx, w.key); err != nil || !a.Status.Final() {
			return &a, err
		}
	}
	a, err := w.gate.store.Get(ctx, w.key)
	return &a, err
}

// Changed is closed when this process has changed the approval since the last Look, or another one has ended it.
func (w *Watch) Changed() <-chan struct{} { return w.next }

// Stop ends the watch. On a nil Watch it has no effect.
func (w *Watch) Stop() {
	if w != nil {
		w.gate.waits.leave(w.key, w.entry)
	}
}

// wakePage is how many ended approvals Wake reads at once.
const wakePage = 100

// Wake wakes the callers that wait here for approvals that other instances have ended. keys are the
// approvals that were changed; those that have ended are read once for all callers.
func (u Upkeep) Wake(ctx context.Context, keys ...string) {
	waits := &u.gate.waits
	for page := range slices.Chunk(waits.awaited(keys), wakePage) {
		all, err := u.gate.store.Ended(ctx, page)
		if err != nil { // each may look for itself
			for _, key := range page {
				waits.wake(key, nil)
			}
		}
		for i := range all {
			waits.wake(all[i].Key, &all[i])
		}
	}
}
