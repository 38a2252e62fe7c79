package routing

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

const (
	// drillLate is how late a drill is still made if it fell due while no desk ran. An
	// older one is skipped: a drill of last Monday should not come in the night.
	drillLate = time.Hour
	drillPoll = time.Second // how often the cards of a drill are looked at
)

// Driller begins and ends scheduled drills; [core.Drills] implements it.
type Driller interface {
	// Drill begins the drill of that time, or finds it.
	Drill(ctx context.Context, at time.Time) (approval.Approval, error)
	ByKey(ctx context.Context, key string) (approval.Approval, error)
	// EndDrill notes how it went, once, and tells chats of it if it failed.
	EndDrill(ctx context.Context, key string) (approval.Approval, error)
}

// Drills tries each route at the times that the operator chose. If one instance has
// begun a drill, another can go on with it: each drill is stored under its time.
type Drills struct {
	gate Driller
	next func(after time.Time) time.Time
	log  *slog.Logger
}

// NewDrills makes the drills. next gives the first time after another one at which a
// drill is due by the configuration in force, or the zero time.
func NewDrills(gate Driller, next func(after time.Time) time.Time, log *slog.Logger) *Drills {
	return &Drills{gate: gate, next: next, log: log}
}

// Run carries out drills until ctx ends. It waits for ready first, as timers do.
func (d *Drills) Run(ctx context.Context, ready <-chan struct{}) error {
	select {
	case <-ready:
	case <-ctx.Done():
		return nil
	}
	var done time.Time
	for {
		if at := d.due(time.Now()); at.After(done) {
			if err := d.drill(ctx, at); err == nil {
				done = at
			} else if ctx.Err() == nil {
				d.log.Error("could not continue the scheduled drill; trying again", "at", at, "reason", err)
			}
		}
		// The configuration may name another time meanwhile.
		wait := lookAgain
		if next := d.next(time.Now()); !next.IsZero() {
			wait = min(wait, time.Until(next))
		}
		if !pause(ctx, wait) {
			return nil
		}
	}
}

// due is the time at which the newest drill was due that is not too old to be made now; zero
// if no drill is due.
func (d *Drills) due(now time.Time) (at time.Time) {
	for next := d.next(now.Add(-drillLate)); !next.IsZero() && !next.After(now); next = d.next(next) {
		at = next
	}
	return at
}

// drill carries out the drill of one time, or what is left of it.
func (d *Drills) drill(ctx context.Context, at time.Time) error {
	a, err := d.gate.Drill(ctx, at)
	if code := approval.CodeOf(err); code != "" && code != approval.CodeUnavailable {
		d.log.Error("the scheduled drill was refused; the next one is at its usual time", "at", at, "reason", err)
		return nil
	}
	for end := time.UnixMilli(a.CreatedAtMs).Add(core.DrillTime); err == nil && !drilled(a) && time.Now().Before(end); {
		if !pause(ctx, drillPoll) {
			return ctx.Err()
		}
		a, err = d.gate.ByKey(ctx, a.Key)
	}
	if err != nil || a.DrilledAtMs != 0 {
		return err
	}
	if a, err = d.gate.EndDrill(ctx, a.Key); err != nil {
		return err
	}
	if len(a.Missing) > 0 {
		d.log.Error("the scheduled drill did not reach every chat; correct these chats, then run: approvalbot drill",
			"approval", a.Key, "reason",
			strings.Join(a.Missing, "; "))
		return nil
	}
	d.log.Info("the scheduled drill reached every chat", "approval", a.Key, "status", string(a.Status))
	return nil
}

// drilled reports whether a drill need not wait any more: it is decided, and the outcome
// of every card is known.
func drilled(a approval.Approval) bool {
	waits := func(x approval.Delivery) bool { return x.Kind == approval.CardDelivery && x.State == approval.Queued }
	return a.Final() && !slices.ContainsFunc(a.Deliveries, waits)
}

// pause waits so long; false: ctx has ended.
func pause(ctx context.Context, wait time.Duration) bool {
	alarm := time.NewTimer(wait)
	defer alarm.Stop()
	select {
	case <-alarm.C:
		return true
	case <-ctx.Done():
		return false
	}
}
