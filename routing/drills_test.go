package routing_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/schedule"
	"approvalbot/routing"
)

// monday is one on which drills are due at nine.
var monday = time.Date(2000, 1, 3, 9, 0, 0, 0, time.UTC)

// drilling runs scheduled drills, as one instance does that has the lease, until the
// returned function is called.
func (w *world) drilling(cron string, log *bytes.Buffer) (stop func()) {
	w.t.Helper()
	at, err := schedule.ParseCron(cron)
	require.NoError(w.t, err)
	ctx, cancel := context.WithCancel(w.t.Context())
	ready := make(chan struct{})
	close(ready)
	var running sync.WaitGroup
	d := routing.NewDrills(w.gate.Drills(), at.Next, slog.New(slog.NewTextHandler(log, nil)))
	running.Go(func() { _ = d.Run(ctx, ready) })
	return func() { cancel(); running.Wait() }
}

// drills gives the scheduled drills there are, oldest first.
func (w *world) drills() []approval.Approval {
	w.t.Helper()
	page, err := w.gate.List(w.t.Context(), core.Caller{MayDecide: true}, core.Filter{Owner: core.DrillOwner})
	require.NoError(w.t, err)
	slices.Reverse(page.Items)
	return page.Items
}

// ended gives how many drills the log says are over.
func (w *world) ended() (n int) {
	w.t.Helper()
	log, err := w.store.Log(w.t.Context(), 0, 1000)
	require.NoError(w.t, err)
	for _, e := range log {
		if e.Type == approval.EventDrilled {
			n++
		}
	}
	return n
}

func drillTable() *routing.Table {
	return &routing.Table{Mode: routing.Targets, Targets: []approval.Target{ops, other}, Fallback: []approval.Target{board}, FallbackAfterMs: 20_000}
}

// gone is a platform where one chat is gone.
func gone(chat approval.Target) func(approval.Target) error {
	return func(to approval.Target) error {
		if to == chat {
			return &core.DeliveryError{Message: "the bot was kicked", Gone: true}
		}
		return nil
	}
}

// The schedule is in UTC: at 01:30, also in the night in which clocks in Berlin skip that
// time of theirs. Each drill tries every chat once, fallback chats too, and ends by itself.
func TestDrills_AcrossAChangeOfClocks(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	here := time.Local
	time.Local = berlin
	t.Cleanup(func() { time.Local = here })
	inBubbleFrom(t, time.Date(2000, 3, 24, 23, 0, 0, 0, time.UTC), 2, drillTable(), func(w *world) {
		var log bytes.Buffer
		stop := w.drilling("30 1 * * *", &log)
		defer stop()
		time.Sleep(3*24*time.Hour - time.Minute)
		all := w.drills()
		require.Len(t, all, 3)
		for i, a := range all {
			due := time.Date(2000, 3, 25+i, 1, 30, 0, 0, time.UTC)
			require.Equal(t, due.UnixMilli(), a.CreatedAtMs)
			require.Equal(t, due.Format("drill-20060102T1504Z"), a.ID)
			require.Equal(t, approval.Withdrawn, a.Status)
			require.Equal(t, due.Add(core.DrillTime).UnixMilli(), a.DrilledAtMs)
			require.Empty(t, a.Missing)
			require.Len(t, a.Deliveries, 3)
		}
		require.Equal(t, 3, w.ended())
		synctest.Wait()
		require.Contains(t, log.String(), "the scheduled drill reached every chat")
		require.NotContains(t, log.String(), "ERROR")
	})
}

// A chat that got no card is told of in the fallback chats; where none of those works,
// wherever a card stands.
func TestDrills_ThatFail(t *testing.T) {
	for name, c := range map[string]struct {
		gone, board bool
		missing     []string
		told        []approval.Target
	}{
		"a target is gone": {gone: true, missing: []string{"telegram:-200: the bot was kicked"}, told: []approval.Target{board}},
		"the fallback chat is away": {board: true, missing: []string{"discord:42: the platform could not be reached"},
			told: []approval.Target{ops, other}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubbleFrom(t, monday.Add(-time.Minute), 2, drillTable(), func(w *world) {
				var log bytes.Buffer
				if c.gone {
					w.chats["telegram"].set(gone(other))
				}
				if c.board {
					w.chats["discord"].set(func(approval.Target) error { return errors.New("no route to host") })
				}
				stop := w.drilling("0 9 * * MON", &log)
				defer stop()
				time.Sleep(time.Minute + core.DrillTime + time.Second)
				synctest.Wait()
				a := w.drills()[0]
				require.Equal(t, c.missing, a.Missing)
				require.Contains(t, log.String(), "the scheduled drill did not reach every chat")
				require.Contains(t, log.String(), c.missing[0])
				require.Equal(t, c.told, w.told())
				last, found, err := w.gate.Drills().LastDrill(t.Context())
				require.NoError(t, err)
				require.True(t, found)
				require.Equal(t, a.Key, last.Key)
			})
		})
	}
}

// told gives the chats in which a message stands that a drill failed.
func (w *world) told() (in []approval.Target) {
	w.t.Helper()
	for _, a := range w.drills() {
		for _, d := range w.get(a).Deliveries {
			if d.Kind == approval.DrillDelivery && d.MessageID != "" {
				in = append(in, d.Target)
			}
		}
	}
	return in
}

// Whoever takes the lease over goes on with the drill that is under way, and begins none
// anew: neither at once, nor with another one beside, nor after the end.
func TestDrills_OnceOverInstancesAndRestarts(t *testing.T) {
	inBubbleFrom(t, monday.Add(-time.Minute), 2, drillTable(), func(w *world) {
		w.chats["telegram"].set(gone(other))
		var logs [4]bytes.Buffer
		one := w.drilling("0 9 * * MON", &logs[0])
		beside := w.drilling("0 9 * * MON", &logs[1])
		time.Sleep(3 * time.Minute)
		require.Len(t, w.drills(), 1)
		one()
		beside()
		time.Sleep(2 * time.Minute)
		after := w.drilling("0 9 * * MON", &logs[2])
		time.Sleep(core.DrillTime)
		after()
		again := w.drilling("0 9 * * MON", &logs[3])
		time.Sleep(5 * time.Minute)
		again()
		all := w.drills()
		require.Len(t, all, 1)
		require.Equal(t, monday.Add(core.DrillTime).UnixMilli(), all[0].DrilledAtMs)
		require.Equal(t, 1, w.ended())
		require.Equal(t, []approval.Target{board}, w.told(), "and it is said once")
		require.Contains(t, logs[2].String(), "ERROR")
		require.Empty(t, logs[3].String())
	})
}

// A desk that was down an hour ago makes up for it; what is older waits for next week.
func TestDrills_ThatWereMissed(t *testing.T) {
	for late, want := range map[time.Duration]int{59 * time.Minute: 1, 61 * time.Minute: 0} {
		inBubbleFrom(t, monday.Add(late), 2, drillTable(), func(w *world) {
			defer w.drilling("0 9 * * MON", &bytes.Buffer{})()
			time.Sleep(2 * time.Hour)
			require.Len(t, w.drills(), want, "%s late", late)
		})
	}
}

// A tap ends the drill; the chats that were slow get their card all the same, and are no
// failure.
func TestDrills_ThatSomebodyDecides(t *testing.T) {
	inBubbleFrom(t, monday.Add(-time.Minute), 1, drillTable(), func(w *world) {
		w.chats["discord"].set(func(approval.Target) error { return errors.New("busy") })
		defer w.drilling("0 9 * * MON", &bytes.Buffer{})()
		time.Sleep(time.Minute + time.Second)
		synctest.Wait()
		w.vote(w.drills()[0], "1", ops)
		w.chats["discord"].set(nil)
		time.Sleep(2 * time.Minute)
		a := w.drills()[0]
		require.Equal(t, approval.Approved, a.Status)
		require.Empty(t, a.Missing)
		require.Less(t, a.DrilledAtMs, monday.Add(core.DrillTime).UnixMilli(), "there is nothing left to wait for")
		cards, _ := w.chats["discord"].posted()
		require.Len(t, cards, 1)
		require.Equal(t, approval.Approved, cards[0].Status)
		require.Empty(t, w.told())
	})
}

// Where approvals are off, or no chat is asked, the log says that no drill could be.
func TestDrills_ThatCannotBe(t *testing.T) {
	inBubbleFrom(t, monday.Add(-time.Minute), 1, &routing.Table{Mode: routing.Session}, func(w *world) {
		var log bytes.Buffer
		defer w.drilling("0 9 * * *", &log)()
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Contains(t, log.String(), "no chat was asked")
		log.Reset()
		rules := w.gate.Rules()
		rules.Enabled = false
		w.gate.Use(rules)
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		require.Len(t, w.drills(), 1)
		require.Equal(t, 1, strings.Count(log.String(), "the scheduled drill was refused"), log.String())
	})
}
