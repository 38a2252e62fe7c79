package audit

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/store"
	"approvalbot/internal/store/pgtest"
)

// The desk checks the whole log by itself, not at its start and not within a week of any other whole check, and tells the
// chats of what it finds.
func TestWeeklyCheck(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, told := newAuditor(t)
		var log strings.Builder
		a.Log = slog.New(slog.NewTextHandler(&log, nil))
		records(t, a, 5000) // of several pages of hashes
		require.NoError(t, a.Checkpoint(t.Context()))
		*told = 0
		last := func() (int64, string) {
			c, err := a.Store.LastChecked(t.Context())
			require.NoError(t, err)
			return c.AtMs, c.Problem
		}
		running := func() (stop func()) {
			ctx, cancel := context.WithCancel(t.Context())
			ran := make(chan error, 1)
			go func() { ran <- a.RunChecks(ctx) }()
			return func() { cancel(); require.NoError(t, <-ran) }
		}
		stop := running()
		time.Sleep(checkLook / 2)
		at, _ := last()
		require.Zero(t, at, "not at a start")
		time.Sleep(checkLook)
		first, problem := last()
		require.NotZero(t, first)
		require.Empty(t, problem)

		time.Sleep(checkEvery / 2)
		_, err := a.Verify(t.Context())
		require.NoError(t, err)
		asked, _ := last()
		require.Greater(t, asked, first, "another check counts as well")
		time.Sleep(checkEvery / 2)
		at, _ = last()
		require.Equal(t, asked, at, "so none is due yet")
		time.Sleep(checkEvery/2 + checkLook)
		again, problem := last()
		require.Greater(t, again, asked)
		require.Empty(t, problem)
		stop()
		require.Zero(t, *told)

		other, err := SigningOf([32]byte{1})
		require.NoError(t, err)
		a.Verifiers = other.Verifiers // so the log's checkpoint is by an unknown key
		stop = running()
		time.Sleep(checkEvery + checkLook)
		stop()
		at, problem = last()
		require.Greater(t, at, again)
		require.Contains(t, problem, "log record 5001 keeps a checkpoint that cannot be trusted")
		require.Equal(t, 1, *told)
		require.Contains(t, log.String(), "found records that the desk did not write")
	})
}

// Of two instances on one database one checks; when that ends, the other takes over, but not before a week is over.
func TestWeeklyCheckOfTwoInstances(t *testing.T) {
	t.Parallel()
	o := store.Options{URL: pgtest.New(t), KeyFile: filepath.Join(t.TempDir(), "desk.key")}
	begun := make(chan int, 10)
	done := make(chan struct{}, 10)
	type instance struct {
		*Auditor
		stop func()
	}
	var all []instance
	for i := range 2 {
		a, _ := newAuditorOn(t, o)
		a.Log = slog.New(eachLine(func(text string) {
			switch {
			case strings.Contains(text, "has begun"):
				begun <- i
			case strings.Contains(text, "unchanged"):
				done <- struct{}{}
			}
		}))
		ctx, stop := context.WithCancel(t.Context())
		ran := make(chan error, 1)
		go func() { ran <- a.runChecks(ctx, time.Millisecond) }()
		all = append(all, instance{a, func() { stop(); require.NoError(t, <-ran) }})
	}
	records(t, all[0].Auditor, 100)
	first := <-begun
	<-done
	other := all[1-first]
	all[first].stop()
	old, err := other.Store.LastChecked(t.Context())
	require.NoError(t, err)
	require.NotZero(t, old.AtMs)
	require.Empty(t, old.Problem)
	require.Empty(t, begun, "neither of them within the week")

	old.AtMs -= checkEvery.Milliseconds()
	require.NoError(t, other.Store.NoteChecked(t.Context(), old))
	require.Equal(t, 1-first, <-begun)
	<-done
	other.stop()
	again, err := other.Store.LastChecked(t.Context())
	require.NoError(t, err)
	require.Greater(t, again.AtMs, old.AtMs)
	require.Empty(t, begun)
}

// eachLine is a log whose messages are given to it.
type eachLine func(message string)

func (eachLine) Enabled(context.Context, slog.Level) bool        { return true }
func (e eachLine) Handle(_ context.Context, r slog.Record) error { e(r.Message); return nil }
func (e eachLine) WithAttrs([]slog.Attr) slog.Handler            { return e }
func (e eachLine) WithGroup(string) slog.Handler                 { return e }

// A new check neither stands for a whole one nor takes back what that found.
func TestNewCheckIsNoWholeOne(t *testing.T) {
	t.Parallel()
	a, _ := newAuditor(t)
	records(t, a, 1500)
	require.NoError(t, a.Checkpoint(t.Context()))
	_, err := a.Verify(t.Context())
	require.NoError(t, err)
	was, err := a.Store.LastChecked(t.Context())
	require.NoError(t, err)
	require.NotZero(t, was.AtMs)
	a.noteChecked(t.Context(), "a row\nof \u202e another hand")
	bad, err := a.Store.LastChecked(t.Context())
	require.NoError(t, err)
	require.Equal(t, "a row of   another hand", bad.Problem)
	report, err := a.VerifyNew(t.Context())
	require.NoError(t, err)
	require.True(t, report.OK)
	now, err := a.Store.LastChecked(t.Context())
	require.NoError(t, err)
	require.Equal(t, bad, now)
}

// A check that rests does so for as long as it worked, so many times over, or not at all.
func TestCheckRests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, times := range []int{0, 1, 4} {
			rest := paced{rests: func() int { return times }}.resting()
			for range 2 {
				time.Sleep(10 * time.Millisecond) // the work
				began := time.Now()
				require.NoError(t, rest(t.Context()))
				require.Equal(t, time.Duration(times)*10*time.Millisecond, time.Since(began))
			}
		}
		ctx, stop := context.WithCancel(t.Context())
		stop()
		require.ErrorIs(t, paced{rests: func() int { return 1 }}.resting()(ctx), context.Canceled)
	})
}

// A check that somebody waits for rests after each change that the desk has just written, and not else.
func TestCheckMakesRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, _ := newAuditor(t)
		time.Sleep(time.Minute)
		require.Zero(t, a.busy())
		records(t, a, 1)
		require.Equal(t, 1, a.busy())
		time.Sleep(busyFor)
		require.Zero(t, a.busy())
	})
}
