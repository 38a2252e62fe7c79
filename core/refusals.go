package core

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"approvalbot/internal/approval"
)

const (
	refusalsAMinute = 30  // of one person, token, account or address that are records of their own
	maxUnknown      = 100 // accounts and addresses of unknown people that are counted apart in a minute
	lastWords       = time.Second
)

// Refusals bounds what refused attempts write to the log: they decide no approval, anyone
// can make them, and records are kept for ever. The first of a minute are on record one by
// one, the others as a number. Safe for concurrent use.
type Refusals struct {
	log     Changes
	mu      sync.Mutex
	counted map[refuser]int
	unknown int // refusers among them that are no person and no token
}

// refuser is who was refused, and in which minute.
type refuser struct {
	by     string
	minute int64
}

// known reports whether the configuration names the refuser, so that there are not many.
func (r refuser) known() bool {
	return strings.HasPrefix(r.by, "person:") || strings.HasPrefix(r.by, "token:")
}

func thisMinute() int64 { return time.Now().Unix() / 60 }

// take counts one more refusal, and reports whether it is to be a record of its own.
func (r *Refusals) take(by string) (who refuser, record bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counted == nil {
		r.counted = map[refuser]int{}
	}
	who = refuser{by, thisMinute()}
	if _, seen := r.counted[who]; !seen && !who.known() {
		if r.unknown >= maxUnknown {
			who.by = "others"
		} else {
			r.unknown++
		}
	}
	r.counted[who]++
	return who, r.counted[who] <= refusalsAMinute
}

// over takes what was counted in minutes that have ended, or in all of them, and gives a
// record for each refuser who has refusals that are not on record.
func (r *Refusals) over(all bool) (out []approval.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for who, n := range r.counted {
		if who.minute == thisMinute() && !all {
			continue
		}
		if n > refusalsAMinute {
			out = append(out, RefusedEvent(who.by, fmt.Sprintf("%d further refusals within a minute", n-refusalsAMinute)))
		}
		delete(r.counted, who)
	}
	r.unknown = 0
	for who := range r.counted {
		if !who.known() {
			r.unknown++
		}
	}
	return out
}

// RefusedEvent says in the log that an attempt was refused which reached no approval. It is
// counted for the refuser that by names.
func RefusedEvent(by, why string) approval.Event {
	return approval.Approval{}.Event(approval.EventRefused, nowMs(), approval.EventData{By: by, Why: why})
}

// Attempt is one step that may be refused. A step that is tried again counts once.
type Attempt struct {
	all    *Refusals
	who    refuser // zero: no step was refused so far
	record bool
}

// Attempt begins one.
func (r *Refusals) Attempt() *Attempt { return &Attempt{all: r} }

// Bounded gives what of the step's events is to be on record.
func (t *Attempt) Bounded(events []approval.Event) []approval.Event {
	isRefusal := func(e approval.Event) bool { return e.Type == approval.EventRefused }
	i := slices.IndexFunc(events, isRefusal)
	if i < 0 {
		return events
	}
	if t.who == (refuser{}) {
		t.who, t.record = t.all.take(events[i].By)
	}
	if t.record {
		return events
	}
	return slices.DeleteFunc(slices.Clone(events), isRefusal)
}

// Ended takes the count back if the step was not committed.
func (t *Attempt) Ended(err error) {
	if err == nil || t.who == (refuser{}) {
		return
	}
	t.all.mu.Lock()
	defer t.all.mu.Unlock()
	if _, still := t.all.counted[t.who]; still {
		t.all.counted[t.who]--
	}
}

// Append puts a refused attempt on record, as far as it is to be, and marks its platform
// update handled.
func (r *Refusals) Append(ctx context.Context, handled *approval.InboundRef, e approval.Event) error {
	try := r.Attempt()
	events := try.Bounded([]approval.Event{e})
	if len(events) == 0 && handled == nil {
		return nil
	}
	err := r.log.Append(ctx, handled, events...)
	try.Ended(err)
	return err
}
