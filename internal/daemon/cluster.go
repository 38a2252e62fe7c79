package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"approvalbot/core"
	"approvalbot/internal/config/effective"
	"approvalbot/internal/store"
)

// Several instances of the desk share one database. Each takes requests, posts
// cards and answers webhooks. Work that must be done once is done by the
// instance that has its lease: receiving a bot's updates, timers, sweeping,
// checkpoints. With SQLite there is one instance, which has every lease.

const (
	holderLook = 500 * time.Millisecond // how often the receiver of updates is looked up
	holderTime = 6 * time.Second        // after which another instance has handled what waited

	followEvery = 3 * time.Second // at most, an instance reads its configuration again by itself
)

// receivers are the adapters that take updates in here, by platform.
type receivers struct {
	mu sync.Mutex
	m  map[string]bot
}

func (r *receivers) set(name string, b bot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.m == nil {
		r.m = map[string]bot{}
	}
	if r.m[name] = b; b == nil {
		delete(r.m, name)
	}
}

func (r *receivers) get(name string) bot {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.m[name]
}

// Receives reports whether that platform's updates are taken in here.
func (d *Daemon) Receives(channel string) bool { return d.receivers.get(channel) != nil }

// poke has the receivers of updates look for stored ones.
func (r *receivers) poke() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range r.m {
		b.Poke()
	}
}

// leaseOf names the lease of a bot by its token.
func (d *Daemon) leaseOf(name string) string {
	sum := sha256.Sum256([]byte(effective.Bot(d.cfg, name).BotToken))
	return name + ":" + hex.EncodeToString(sum[:8])
}

// receive takes a bot's updates in as long as its lease is here. A platform hands
// them to one taker only, and each is handled once.
func (d *Daemon) receive(ctx context.Context, name string) error {
	if !d.Store.Shared() {
		d.receivers.set(name, d.bots[name])
		return d.bots[name].Run(ctx)
	}
	return d.once(ctx, d.leaseOf(name), func(ctx context.Context) error {
		b, _, err := d.newBot(name) // an adapter takes updates in once in its life
		if err != nil {
			return err
		}
		d.log.Info("this instance receives updates", "channel", name)
		d.receivers.set(name, b)
		defer d.receivers.set(name, nil)
		return b.Run(ctx)
	})
}

// caughtUp is closed once what waited on the platforms while no desk ran was
// handled, here or by the instance that takes updates in.
func (d *Daemon) caughtUp(ctx context.Context) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		var all sync.WaitGroup
		for name := range d.bots {
			all.Go(func() { d.waitCaughtUp(ctx, name) })
		}
		all.Wait()
		close(done)
	}()
	return done
}

func (d *Daemon) waitCaughtUp(ctx context.Context, name string) {
	look := time.NewTicker(holderLook)
	defer look.Stop()
	var since time.Time
	for {
		if b := d.receivers.get(name); b != nil {
			select {
			case <-b.CaughtUp():
				return
			case <-look.C:
				continue
			case <-ctx.Done():
				return
			}
		}
		switch holder, err := d.Store.Holder(ctx, d.leaseOf(name)); {
		case err != nil || holder == "" || holder == d.Store.ID():
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
		case time.Since(since) >= holderTime:
			return
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
	}
}

// once runs what only one instance does at a time, if this one has the policy that
// counts in force: on another instance a yes would wait for ever.
func (d *Daemon) once(ctx context.Context, lease string, run func(context.Context) error) error {
	for {
		agreeing, stop := d.whileAgreed(ctx)
		err := d.Store.Hold(agreeing, lease, func(ctx context.Context, _ int64) error { return run(ctx) })
		outdated := agreeing.Err() != nil && ctx.Err() == nil
		stop()
		if !outdated {
			return err
		}
	}
}

// whileAgreed waits until this instance has the policy that counts, and gives a
// context that ends when it has it no more, or with ctx.
func (d *Daemon) whileAgreed(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancel(ctx)
	if !d.Store.Shared() {
		return ctx, stop
	}
	until := func(agreed bool) {
		look := time.NewTicker(holderLook)
		defer look.Stop()
		for ctx.Err() == nil && (d.agreed() == nil) != agreed {
			select {
			case <-look.C:
			case <-ctx.Done():
			}
		}
	}
	until(true)
	go func() { until(false); stop() }()
	return ctx, stop
}

// agreed gives nil while this instance judges by the policy that counts.
func (d *Daemon) agreed() error { return d.Store.Agreed(d.Gate.PolicyHash()) }

// onChange wakes the parts that have work after another instance's commits.
func (d *Daemon) onChange(ctx context.Context) func(store.Changed) {
	return func(c store.Changed) {
		if c.Moved {
			if err := d.learnMoves(ctx, d.table()); err != nil {
				d.log.Error("could not look up which chats have a new id; messages may first go to the old id", "reason", err)
			}
		}
		d.Gate.Upkeep().Wake(ctx, c.Keys...)
		if c.People {
			d.learnAbsences(ctx)
		}
		if d.behind() {
			select {
			case d.outdated <- struct{}{}:
			default:
			}
		}
		d.wakeDispatchers()
		d.timers.Wake()
		d.feed.Notify(core.Change{})
		d.receivers.poke()
	}
}

// learnAbsences has the Gate load who is away. If that fails, the Gate tries again
// before it counts a yes, and does not count it without.
func (d *Daemon) learnAbsences(ctx context.Context) {
	if err := d.Gate.Absences().Learn(ctx); err != nil {
		d.log.Error("could not read who is away; the desk tries again before it counts a yes", "reason", err)
	}
}

// agree tells the other instances by which policy this one judges.
func (d *Daemon) agree(ctx context.Context, newest bool) error {
	if err := d.Store.Agree(ctx, d.Gate.PolicyHash(), newest); err != nil {
		return fmt.Errorf("the instances cannot agree on a policy: %w", err)
	}
	return nil
}

// behind reports whether a configuration was loaded elsewhere that this instance
// has not got yet, and could have: no file says the policy of another program.
func (d *Daemon) behind() bool {
	if !d.Store.Shared() || d.Store.Replaced() {
		return false
	}
	return d.Store.Generation() > d.loaded.Load() || d.agreed() != nil
}

// poking has the takers of updates look after a webhook stored one.
func (d *Daemon) poking(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r)
		d.receivers.poke()
	})
}

// botState is how a bot's updates flow, as far as this instance can say.
func (d *Daemon) botState(ctx context.Context, name string) core.ChannelState {
	if b := d.receivers.get(name); b != nil {
		return b.State()
	}
	holder, err := d.Store.Holder(ctx, d.leaseOf(name))
	switch {
	case err != nil:
		return core.ChannelState{Detail: "unknown: the store does not answer"}
	case holder == "":
		return core.ChannelState{Detail: "no instance receives updates yet"}
	}
	return core.ChannelState{Up: true, Detail: "instance " + holder + " receives updates"}
}

// storeName names a store without its password.
func storeName(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "sqlite" || u.Opaque != "" {
		if strings.HasPrefix(address, "sqlite:") {
			return address
		}
		return "postgres"
	}
	return u.Scheme + "://" + u.Host + u.Path
}

// names of the bots that are on, in order.
func (d *Daemon) botNames() []string { return slices.Sorted(maps.Keys(d.bots)) }
