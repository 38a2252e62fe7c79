package routing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/fault"
)

// Outbox keeps the deliveries that wait; the store implements it.
type Outbox interface {
	// ClaimChat takes the chat of that channel with the most urgent due work
	// that is neither taken nor paused. With ok false, next is the time (ms) to
	// look again; 0 if no work is scheduled.
	ClaimChat(ctx context.Context, channel string, now int64) (chat approval.Target, ok bool, next int64, err error)
	// ReleaseChat gives the chat back; it is not taken before pausedUntil (ms).
	ReleaseChat(ctx context.Context, chat approval.Target, pausedUntil int64) error
	// NextDelivery gives the most urgent due delivery of a chat.
	NextDelivery(ctx context.Context, chat approval.Target, now int64) (approval.Delivery, bool, error)
	// MaySend reports whether the chat, if it was claimed here, is still no other instance's.
	MaySend(chat approval.Target) bool
	// Record commits the outcome of one try.
	Record(ctx context.Context, d approval.Delivered) error
}

var errTaken = errors.New("this instance was paused, and another instance may have its chat by now")

// Drawer draws what a delivery should show now; the Gate implements it.
type Drawer interface {
	Draw(ctx context.Context, d approval.Delivery) (card.Drawing, error)
}

// Dispatcher carries one channel's messages to its chats.
type Dispatcher struct {
	name    string
	channel core.Channel
	outbox  Outbox
	drawer  Drawer
	table   func() *Table // the routing in force
	failed  func()
	log     *slog.Logger
	wake    chan struct{}
	calls   chan struct{} // holds one for each call under way

	mu      sync.Mutex
	news    chan struct{}            // closed by the next Wake
	failing map[approval.Target]bool // chats whose last post or edit has failed
}

// NewDispatcher makes a dispatcher for one channel. failed is called after a
// delivery failed for good, because it may be that no person was reached for
// its approval; it must not block.
func NewDispatcher(
	name string, channel core.Channel, outbox Outbox, drawer Drawer, table func() *Table, failed func(), log *slog.Logger,
) *Dispatcher {
	return &Dispatcher{
		name: name, channel: channel, outbox: outbox, drawer: drawer, table: table, failed: failed,
		log: log.With("channel", name), failing: map[approval.Target]bool{},
		wake: make(chan struct{}, 1), news: make(chan struct{}), calls: make(chan struct{}, callsAtOnce),
	}
}

// Wake says that there may be new work. It never blocks.
func (d *Dispatcher) Wake() {
	d.mu.Lock()
	close(d.news)
	d.news = make(chan struct{})
	d.mu.Unlock()
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// woken gives a channel that is closed by the next Wake.
func (d *Dispatcher) woken() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.news
}

// WakeFor is Wake if one of these deliveries goes to the channel.
func (d *Dispatcher) WakeFor(deliveries []approval.Delivery) {
	for i := range deliveries {
		if deliveries[i].Target.Channel == d.name {
			d.Wake()
			return
		}
	}
}

// Run serves chats until ctx ends, and returns when the last call to the
// platform has come back.
func (d *Dispatcher) Run(ctx context.Context) error {
	outlive, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(stopGrace, cut) })()
	var busy sync.WaitGroup
	defer busy.Wait()
	free := make(chan struct{}, chatsAtOnce)
	for {
		select {
		case free <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		chat, ok, next, err := d.outbox.ClaimChat(ctx, d.name, time.Now().UnixMilli())
		if err == nil && ok {
			busy.Go(func() {
				d.serve(ctx, outlive, chat)
				<-free
				d.Wake()
			})
			continue
		}
		<-free
		if err != nil && ctx.Err() == nil {
			d.log.Error("could not read which messages wait to be sent; trying again in a second", "reason", err)
			next = time.Now().Add(time.Second).UnixMilli()
		}
		if !d.sleep(ctx, next) {
			return nil
		}
	}
}

// sleep waits for new work, for the time next (ms; 0 if not known), or for the end.
func (d *Dispatcher) sleep(ctx context.Context, next int64) bool {
	// It also looks again now and then, in case a wake-up was lost: the store is
	// the truth.
	wait := lookAgain
	if next > 0 {
		wait = min(wait, max(time.Millisecond, time.Until(time.UnixMilli(next))))
	}
	alarm := time.NewTimer(wait)
	defer alarm.Stop()
	select {
	case <-d.wake:
	case <-alarm.C:
	case <-ctx.Done():
		return false
	}
	return true
}

// serve works off one chat until no delivery is due or the platform wants a
// rest. A message is sent only after the previous one is recorded, so that a
// crash can double at most one per chat. An edit need not be recorded first:
// repeating it has no effect.
//
// Calls are made on a context that goes on for a short while when ctx ends: cutting
// one at once would leave a card whose id is not known.
func (d *Dispatcher) serve(ctx, outlive context.Context, chat approval.Target) {
	var pause time.Duration
	behind := make(chan time.Duration, maxBehind) // the rest that each record asks for
	open := 0
	collect := func(down int) {
		for ; open > down; open-- {
			pause = max(pause, <-behind)
		}
	}
	for pause == 0 && ctx.Err() == nil {
		news := d.woken()
		fault.Point("before-delivery-claimed")
		next, ok, err := d.outbox.NextDelivery(ctx, chat, time.Now().UnixMilli())
		if err != nil {
			d.log.Error("could not read which messages wait to be sent to a chat; trying again in a second",
				"target", chat.String(), "reason", err)
			pause = time.Second
		}
		if err == nil && !ok && open > 0 {
			select {
			case rest := <-behind:
				pause, open = max(pause, rest), open-1
			case <-news: // perhaps for this chat
			}
			continue
		}
		if err != nil || !ok {
			break
		}
		fault.Point("after-delivery-claimed")
		select {
		case d.calls <- struct{}{}:
		case <-ctx.Done():
			continue
		}
		done, rest, err := d.deliver(outlive, next)
		<-d.calls
		switch {
		case err != nil:
			d.log.Error("could not send a message; trying again",
				"approval", next.Key, "target", next.Target.String(), "reason", err)
			pause = time.Second
		case next.MessageID != "" && done.Deferrable != nil: // it is edited
			collect(maxBehind - 1)
			open++
			go func() { behind <- d.record(ctx, next, done, rest) }()
		default:
			pause = max(pause, d.record(ctx, next, done, rest))
		}
	}
	collect(0)
	until := int64(0)
	if pause > 0 {
		until = time.Now().Add(pause).UnixMilli()
	}
	if err := d.outbox.ReleaseChat(context.WithoutCancel(ctx), chat, until); err != nil {
		d.log.Error("could not release the lock on a chat for the other instances; they wait until it expires",
			"target", chat.String(), "reason", err)
	}
}

// deliver makes one try at one message. It returns the outcome, to be recorded, and
// how long the chat must pause. An error means that the message could not be drawn,
// or that another instance has the chat.
func (d *Dispatcher) deliver(
	ctx context.Context, m approval.Delivery,
) (done approval.Delivered, pause time.Duration, err error) {
	defer func() { // one card must not end the desk for all others, and again after each start
		if p := recover(); p != nil {
			done, pause, err = d.mistaken(m, p), 0, nil
		}
	}()
	drawing, err := d.drawer.Draw(ctx, m)
	if err != nil {
		return done, 0, err
	}
	done = approval.Delivered{
		ID: m.ID, Key: m.Key, Was: m, Revision: m.Revision, State: m.State, MessageID: m.MessageID,
		Attached: m.Attached, DenyOnly: m.DenyOnly, Shown: m.Shown,
	}
	if drawing.Skip != "" {
		done.State, done.Error = approval.Failed, drawing.Skip
		return done, 0, nil
	}
	if !d.outbox.MaySend(m.Target) {
		return done, 0, errTaken
	}
	err = d.send(ctx, m, drawing, &done)
	failedBefore := d.note(m, err)
	if done.Outcome = outcome(err); err != nil {
		return done, d.refused(m, &done, drawing.Done, failedBefore, err), nil
	}
	if done.Deferrable = d.company; m.MessageID != "" {
		done.Deferrable = always
	}
	return done, 0, nil
}

// mistaken is a delivery that failed by a panic: for good, so that the next chats are asked instead.
func (d *Dispatcher) mistaken(m approval.Delivery, p any) approval.Delivered {
	what := fmt.Sprintf("%T", p) // any other may hold a part of the call
	if e, ok := p.(runtime.Error); ok {
		what = e.Error()
	}
	d.log.Error("gave up on a message because of an error in approvalbot; please report it",
		"approval", m.Key, "target", m.Target.String(),
		"mistake", what, "at", string(debug.Stack()))
	return approval.Delivered{ID: m.ID, Key: m.Key, Was: m, Revision: m.Revision, State: approval.Failed, MessageID: m.MessageID,
		Attached: m.Attached, DenyOnly: m.DenyOnly, Shown: m.Shown, Error: "the desk made a mistake with this message; its log says which"}
}

// company reports whether more is about to be recorded.
func (d *Dispatcher) company() bool { return len(d.calls) > 0 }

func always() bool { return true }

// record commits the outcome of a try. If the store fails, the chat rests and
// the delivery is tried again, which may show a second card but never loses one.
func (d *Dispatcher) record(
	ctx context.Context, m approval.Delivery, done approval.Delivered, pause time.Duration,
) time.Duration {
	fault.Point("before-id-recorded")
	err := d.outbox.Record(context.WithoutCancel(ctx), done)
	// A message that was sent must not be sent again because the store is away: it
	// is the record that is tried again.
	wait, since := recordPause, time.Now()
	for ; err != nil && ctx.Err() == nil && time.Since(since) < recordTime; wait = min(2*wait, chatRest) {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
		err = d.outbox.Record(context.WithoutCancel(ctx), done)
	}
	if err != nil {
		d.log.Error("could not record a delivery; the message may be sent a second time",
			"approval", m.Key, "target", m.Target.String(), "reason", err)
		return max(pause, chatRest)
	}
	fault.Point("after-id-recorded")
	if done.State == approval.Failed {
		d.failed()
	}
	return pause
}
