package core

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync/atomic"
	"time"

	"approvalbot/internal/approval"
	"approvalbot/internal/inforce"
	"approvalbot/internal/people"
)

// Gate is the one door to every step of an approval. Who is calling is an
// argument of each method; authority is checked here, and what is refused is on
// record. Safe for concurrent use.
type Gate struct {
	store    Store
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

// CutShort is how many calls were not read to their end since the start: each took more
// steps than a judgement has, or its asker went away.
func (g *Gate) CutShort() int64 { return g.cutShort.Load() }

// NewGate makes a Gate. after is called for every committed change, in the
// caller's goroutine, and must be quick: it wakes the dispatcher and counts.
func NewGate(store Store, rules Rules, log *slog.Logger, after ...func(Change)) *Gate {
	g := &Gate{store: store, log: log, after: after, waits: waitlist{m: map[string]*waiter{}},
		refusals: &Refusals{log: store}, signers: noSigners{}, confirms: randomConfirmKey()}
	g.rules.Store(&rules)
	g.absences.Store(&people.Unread)
	return g
}

// Follow makes the rules that count a part of a snapshot, which is replaced with all else that a
// configuration puts in force. It is for before anything is served.
func (g *Gate) Follow(rules func() *Rules) { g.rules.Follow(rules) }

// Use makes another snapshot of the rules count from now on, for a Gate that follows none.
func (g *Gate) Use(rules Rules) { g.rules.Store(&rules) }

// PolicyHash names the policy in force.
func (g *Gate) PolicyHash() string { return g.rules.Load().Policy.Hash() }

// Rules gives the snapshot in force, with the people as they are now.
func (g *Gate) Rules() Rules { return g.snapshot(time.Now()) }

// snapshot is the rules in force with the people as they are at that moment: the one
// place where time and absences come to them.
func (g *Gate) snapshot(now time.Time) Rules {
	rules := *g.rules.Load()
	rules.absences = *g.absences.Load()
	return rules.at(now)
}

// people are the people as they are at that moment.
func (g *Gate) people(now time.Time) *people.Directory { return g.snapshot(now).People }

// inForce gives the rules to judge by, or CodeUnavailable as long as others count
// for those who share the store: whatever judges a call, counts a yes or hands a
// call out begins here, and its Change names the Policy, so that the answer still
// holds when it is committed. What only takes away, reports or reads needs neither.
func (g *Gate) inForce() (*Rules, error) {
	rules := g.snapshot(time.Now())
	return &rules, g.store.Agreed(rules.Policy.Hash())
}

// Announce puts a change of the policy on record.
func (g *Gate) Announce(ctx context.Context, by, hash string, looser []string) error {
	e, err := policyEvent(by, hash, looser)
	if err != nil {
		return err
	}
	return g.store.Append(ctx, nil, e)
}

// AnnounceVersion puts on record, once in a store's life, that this version allows more by
// the same configuration than the version that served the store before. It reports whether
// it did: a new store has no version before.
func (g *Gate) AnnounceVersion(ctx context.Context, name string, looser []string) (bool, error) {
	e, err := policyEvent("version", g.PolicyHash(), looser)
	if err != nil {
		return false, err
	}
	return g.store.Once(ctx, name, e)
}

func policyEvent(by, hash string, looser []string) (approval.Event, error) {
	data, err := json.Marshal(map[string]any{"policyHash": hash, "by": by, "looser": looser})
	return approval.Event{AtMs: nowMs(), Type: approval.EventPolicy, Data: data}, err
}

// Refused puts an attempt that never reached an approval on record (a forged
// payload, a stranger's listing) and marks its platform update handled.
func (g *Gate) Refused(ctx context.Context, v approval.Voter, what string, handled *approval.InboundRef) error {
	by := g.people(time.Now()).Identify(v).Name()
	return g.refusals.Append(ctx, handled, RefusedEvent(by, what))
}

// Forbidden puts on record, if err is CodeForbidden, that a token was refused what it has no
// right to: what names the route or method. The attempt is on record also if its caller has gone.
func (g *Gate) Forbidden(ctx context.Context, who Caller, what string, err error) {
	if approval.CodeOf(err) != approval.CodeForbidden {
		return
	}
	e := RefusedEvent("token:"+who.Token, "forbidden: "+what)
	if err := g.refusals.Append(context.WithoutCancel(ctx), nil, e); err != nil {
		g.log.Error("a forbidden attempt is not on record", "token", who.Token, "what", what, "reason", err)
	}
}

// Handled marks a platform update done that changed nothing.
func (g *Gate) Handled(ctx context.Context, ref approval.InboundRef) error {
	return g.store.Append(ctx, &ref)
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
		g.waits.wake(c.Approval.Key, &c.Approval) // last: whoever is woken last goes on first
	}
}

// notify tells the others of a commit. Nobody waits for a new approval but who has
// asked, and knows.
func (g *Gate) notify(c Change) {
	for _, f := range g.after {
		f(c)
	}
}

func nowMs() int64 { return time.Now().UnixMilli() }
