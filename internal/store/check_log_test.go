package store

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// Rows and log, read side by side, give the same as each row compared with its own records at one moment, also if
// rows were put back or swept, or records taken out, in pages of any size, and if little is kept of the log.
func TestMerge_IsEachRowWithItsRecords(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, s *Store, i intruder, _ Options) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		r := rand.New(rand.NewPCG(seed, 0))
		var keys []string
		older := map[string][]any{}
		for len(keys) < copyPage+copyPage/4 {
			a := pendingApproval("bot")
			if r.IntN(3) > 0 {
				a.Status, a.ResolvedAtMs = approval.Approved, nowMs()
			}
			c := core.Change{Events: []approval.Event{said(a, approval.EventRequested)}}
			if a.Status == approval.Approved {
				c.Events = []approval.Event{said(a, approval.EventResolved)}
			}
			a = create(t, s, a, c)
			keys = append(keys, a.Key)
			key := keys[r.IntN(len(keys))]
			switch r.IntN(8) {
			case 0:
				older[key] = i.row(marked[0], key)
			case 1, 2, 3:
				_ = handOut(s, key) // refused if it waits, was handed out, or put back
			case 4:
				_, _ = s.Update(ctx, key, func(a approval.Approval) (core.Change, error) {
					return core.Change{Approval: a, Events: []approval.Event{said(a, approval.EventVote)}}, nil
				})
			case 5:
				for key := range maps.Keys(older) {
					i.put(marked[0], key, older[key])
					delete(older, key)
					break
				}
			}
		}
		for range 5 {
			i.exec("DELETE FROM approvals WHERE key = $1", keys[r.IntN(len(keys))])
			i.exec("DELETE FROM events WHERE key = $1 AND type = $2", keys[r.IntN(len(keys))], string(approval.EventResolved))
		}
		var want []string
		for _, key := range keys {
			what, err := s.contradiction(ctx, key, 0)
			require.NoError(t, err)
			if what != "" {
				want = append(want, "approval "+key+" ("+core.KeyCode(key)+"): "+what)
			}
		}
		require.NotEmpty(t, want, "nothing to find")

		entries, err := s.Log(ctx, 0, 10*len(keys))
		require.NoError(t, err)
		log := make(chan []approval.Entry, len(entries))
		for len(entries) > 0 {
			n := min(len(entries), 1+r.IntN(200))
			log <- entries[:n]
			entries = entries[n:]
		}
		close(log)
		var got []string
		m := newMerge(s, 0, func(problem string) { got = append(got, problem) }, r.IntN(100))
		_, err = m.all(ctx, log)
		require.NoError(t, err)
		slices.Sort(want)
		slices.Sort(got)
		require.Equal(t, want, got)
		require.Empty(t, m.said)
	})
}

// An approval of which the log has no record is named, and not one whose record comes after the walk.
func TestMerge_Unlogged(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, s *Store, i intruder, _ Options) {
		asked := func() approval.Approval {
			a := pendingApproval("bot")
			return create(t, s, a, core.Change{Events: []approval.Event{said(a, approval.EventRequested)}})
		}
		asked()
		second := asked()
		short := make(chan []approval.Entry)
		close(short)
		unlogged, err := s.CheckRows(ctx, 0, short, func(problem string) { t.Error(problem) })
		require.NoError(t, err)
		require.Empty(t, unlogged)
		i.exec("DELETE FROM events WHERE key = $1", second.Key)
		unlogged, err = s.CheckRows(ctx, 0, nil, func(problem string) { t.Error(problem) })
		require.NoError(t, err)
		require.Equal(t, second.Key, unlogged)
		unlogged, err = s.CheckRows(ctx, second.CreatedAtMs, nil, func(problem string) { t.Error(problem) })
		require.NoError(t, err)
		require.Empty(t, unlogged)
	})
}
