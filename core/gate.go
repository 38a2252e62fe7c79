package core

import (
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"log/slog"
	"sync/atomic"
	"time"

	"approvalbot/internal/approval"
	"approvalbot/internal/inforce"
	"approvalbot/internal/people"
)

// Gate is the one door to every step of an approval. Who is calling is an
// argument of each method; authority is checked here, and what is refused is on
// record. Safe for concurrent use. What one kind of caller or one subject needs alone is behind
// [Gate.Absences], [Gate.Cards], [Gate.Chats], [Gate.Drills], [Gate.Grants], [Gate.Pages] and
// [Gate.Upkeep].
type Gate struct {
	store    Stores
	rules    inforce.Value[Rules]
	absences atomic.Pointer[people.Absences]
	log      *slog.Logger
	waits    waitlist
	rendered renderCache
	after    []func(Change)
	refusals *Refusals
	signers  Signers
	confirms confirmKey
	cutShort atomic.Int64 // calls that were not read to their end
}

// NewGate makes a Gate. after is called for every committed change, in the
// caller's goroutine, and must be quick: it wakes the dispatcher and counts.
func NewGate(store Stores, rules Rules, log *slog.Logger, after ...func(Change)) *Gate {
	g := &Gate{store: store, log: log, after: after, waits: waitlist{m: map[string]*waiter{}},
		refusals: &Refusals{log: store}, signers: noSigners{}, confirms: randomConfirmKey()}
	g.rules.Store(&rules)
	g.absences.Store(&people.Unread)
	return g
}

// TrustSigners sets the signers that are asked about signed yeses; until then no signature
// counts. It must be called before the desk serves requests.
func (g *Gate) TrustSigners(s Signers) { g.signers = s }

// ShareSeed derives from the store's seed what instances must have in common. It is for
// before anything is served.
func (g *Gate) ShareSeed(seed [32]byte) error {
	key, err := hkdf.Key(sha256.New, seed[:], nil, confirmPurpose, len(g.confirms))
	if err == nil {
		copy(g.confirms[:], key)
	}
	return err
}

// Follow makes the rules that count a part of a snapshot, which is replaced with all else that a
// configuration puts in force. It is for before anything is served.
func (g *Gate) Follow(rules func() *Rules) { g.rules.Follow(rules) }

// Use makes another snapshot of the rules count from now on, for a Gate that does not
// follow rules.
func (g *Gate) Use(rules Rules) { g.rules.Store(&rules) }

// PolicyHash names the policy in force.
func (g *Gate) PolicyHash() string { return g.rules.Load().Policy.Hash() }

// Rules gives the snapshot in force, with the people as they are now.
func (g *Gate) Rules() Rules { return g.snapshot(time.Now()) }

// snapshot is the rules in force with the people as they are at that moment. Time and
// absences are applied to the rules only here.
func (g *Gate) snapshot(now time.Time) Rules {
	rules := *g.rules.Load()
	rules.absences = *g.absences.Load()
	return rules.at(now)
}

// people are the people as they are at that moment.
func (g *Gate) people(now time.Time) *people.Directory { return g.snapshot(now).People }

// inForce gives the rules to judge by, or CodeUnavailable as long as other rules count for
// the instances that share the store. A step that judges a call, counts a yes or hands a
// call out begins here, and its Change names the Policy, so that the answer is still right
// when it is committed. A step that only takes away, reports or reads needs neither.
func (g *Gate) inForce() (*Rules, error) {
	rules := g.snapshot(time.Now())
	return &rules, g.store.Agreed(rules.Policy.Hash())
}

// update is the one way to change an existing approval.
func (g *Gate) update(ctx context.Context, key string, fn func(approval.Approval) (Change, error)) (approval.Approval, error) {
	var last Change
	try := g.refusals.Attempt()
	a, err := g.store.Update(ctx, key, func(a approval.Approval) (Change, error) {
		c, err := fn(a)
		c.Events = try.Bounded(c.Events)
		last = c
		if replaced := c.Policy != "" && c.Policy != g.PolicyHash(); replaced && err == nil {
			return c, errReplaced
		}
		return c, err
	})
	if try.Ended(err); err != nil {
		return a, err
	}
	last.Approval = a
	g.committed(last)
	if last.Refusal != nil {
		return a, last.Refusal
	}
	return a, nil
}

func (g *Gate) committed(c Change) {
	g.notify(c)
	if !c.Unchanged {
		g.waits.wake(c.Approval.Key, &c.Approval) // last: the goroutine that is woken last goes on first
	}
}

// notify tells the others of a commit. Only the asker could wait for a new approval, and it
// knows already.
func (g *Gate) notify(c Change) {
	for _, f := range g.after {
		f(c)
	}
}
