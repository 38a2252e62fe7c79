package store

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// history is a desk's time: approvals are asked, end, are voted on once more and forgotten, and the clock steps.
type history struct {
	*rand.Rand
	t     *testing.T
	s     *Store
	clock int64
	open  []string // keys of pending approvals
	ended []string
}

func newHistory(t *testing.T, s *Store, seed uint64) *history {
	return &history{Rand: rand.New(rand.NewPCG(seed, 1)), t: t, s: s, clock: 40*dayMs + 7*quarterMs + 12_345}
}

func (h *history) step() {
	switch n := h.IntN(100); {
	case n < 40:
		h.ask()
	case n < 60 && len(h.open) > 0:
		h.end()
	case n < 70 && len(h.ended) > 0:
		h.voteAgain()
	case n < 85:
		h.clock += h.Int64N(2 * quarterMs)
	case n < 88:
		h.clock += h.Int64N(2 * dayMs)
	case n < 90:
		h.clock -= h.Int64N(dayMs) // a step back
	case n < 92:
		_, err := h.s.Sweep(ctx, h.clock, Keep{ApprovalsMs: 3 * dayMs})
		require.NoError(h.t, err)
	default:
		_, err := h.s.count(ctx, h.clock)
		require.NoError(h.t, err)
	}
}

func (h *history) ask() {
	a := pendingApproval(fmt.Sprint("owner", h.IntN(2)))
	a.CreatedAtMs = h.clock
	a.ToolName, a.AgentID = fmt.Sprint("tool", h.IntN(3)), fmt.Sprint("agent", h.IntN(3))
	a.Summary = fmt.Sprintf("Über file-%d now", h.IntN(10_000))
	a.Assessment.RiskClass = approval.RiskClass(h.IntN(4)) // R4: none
	c := core.Change{Events: []approval.Event{event(a, approval.EventRequested)}}
	if h.IntN(2) == 0 {
		a.Status, a.ResolvedAtMs = approval.Approved, h.clock
		h.ended = append(h.ended, a.Key)
	} else {
		c.Deliveries = []approval.Delivery{{Kind: approval.CardDelivery, Target: chat1("1"), State: approval.Sent, MessageID: a.Key,
			CreatedMs: h.clock, SentMs: h.clock + h.Int64N(5000)}}
		h.open = append(h.open, a.Key)
	}
	create(h.t, h.s, a, c)
}

func (h *history) end() {
	i := h.IntN(len(h.open))
	key := h.open[i]
	h.open = append(h.open[:i], h.open[i+1:]...)
	h.ended = append(h.ended, key)
	change(h.t, h.s, key, func(a approval.Approval) core.Change {
		a.Votes = []approval.Vote{{Verdict: approval.Reject, Voter: &approval.Voter{Person: fmt.Sprint("person", h.IntN(3))}, DecidedAtMs: h.clock}}
		c := ended(a, []approval.Status{approval.Denied, approval.Expired, approval.Approved}[h.IntN(3)])
		c.Approval.ResolvedAtMs = h.clock
		return c
	})
}

// voteAgain is a vote on an approval that has ended, which retention may have forgotten.
func (h *history) voteAgain() {
	key := h.ended[h.IntN(len(h.ended))]
	_, err := h.s.Update(ctx, key, func(a approval.Approval) (core.Change, error) {
		a.Votes = append(a.Votes, approval.Vote{Verdict: approval.Approve, Voter: &approval.Voter{Person: "late"}, DecidedAtMs: h.clock})
		return core.Change{Approval: a, Events: []approval.Event{event(a, approval.EventVote)}}, nil
	})
	if approval.CodeOf(err) != approval.CodeNotFound {
		require.NoError(h.t, err)
	}
}

// check compares counts with a count of all rows.
func (h *history) check() {
	h.t.Helper()
	for _, owner := range []string{"", "owner0", "owner1", "nobody"} {
		since := []int64{0, h.clock, h.clock - h.Int64N(dayMs), h.clock - h.Int64N(10*dayMs), floor(h.clock, dayMs), h.clock - 5*quarterMs}
		for _, since := range since {
			var want core.Counter
			for f := (core.Filter{Owner: owner}); ; {
				page, err := h.s.List(ctx, f)
				require.NoError(h.t, err)
				for _, a := range page.Items {
					if a.CreatedAtMs >= since {
						want.Add(a)
					}
				}
				if f.Cursor = page.Next; f.Cursor == "" {
					break
				}
			}
			got, err := h.s.Counted(ctx, owner, since)
			require.NoError(h.t, err)
			require.Equal(h.t, want.Stats(since), got.Stats(since), "owner %q, since %d, now %d", owner, since, h.clock)
		}
	}
}

// checkSearch compares what a search leaves with what all approvals say of themselves.
func (h *history) checkSearch() {
	h.t.Helper()
	var all []approval.Approval
	listed := func(f core.Filter) (found []approval.Approval) {
		for more := true; more; more = f.Cursor != "" {
			page, err := h.s.List(ctx, f)
			require.NoError(h.t, err)
			found = append(found, page.Items...)
			f.Cursor = page.Next
		}
		return found
	}
	all = listed(core.Filter{})
	words := []string{"tool1", "denied", "approved agent2", "file-12", "ÜBER 77", "none-such", "-1 owner0", "R2", "ow", ""}
	if len(all) > 0 {
		a := all[h.IntN(len(all))]
		words = append(words, a.Code, a.Key[:9], a.Key, strings.Fields(a.Summary)[1], a.Summary)
	}
	for _, w := range words {
		class := approval.RiskClass(h.IntN(5))
		for _, f := range []core.Filter{{}, {ToolName: "tool1"}, {Status: approval.Denied}, {SinceMs: h.clock - dayMs}, {BeforeMs: h.clock - dayMs},
			{Risk: &class}, {Risk: &class, Status: approval.Approved}, {Risk: &class, Status: approval.Pending}} {
			keys := func(of []approval.Approval) (keys []string) {
				for _, a := range of {
					if f.Search != "" || core.Speaks(a, w) && (f.Risk == nil || *f.Risk == a.Assessment.RiskClass) {
						keys = append(keys, a.Key)
					}
				}
				return keys
			}
			f.Limit = 1 + h.IntN(20)
			any := f
			any.Risk = nil
			want := keys(listed(any))
			f.Search = w
			require.Equal(h.t, want, keys(listed(f)), "%+v", f)
		}
	}
}

// A search passes over no approval that has its words, at any moment of any history, and over most of the others.
func testSearch(t *testing.T, s *Store) {
	h := newHistory(t, s, 7)
	for range 4 {
		for range 60 {
			h.step()
		}
		h.checkSearch()
	}
	for more := true; more; {
		var err error
		more, err = s.count(ctx, h.clock+dayMs)
		require.NoError(t, err)
	}
	h.checkSearch()
	page, err := s.List(ctx, core.Filter{Search: "none-such"})
	require.NoError(t, err)
	require.Empty(t, page.Items)
	require.Empty(t, page.Next)
	require.Less(t, page.Looked, 100, "quarters that cannot have such a word are passed over")
	require.NoError(t, s.Recount(ctx))
	h.checkSearch()
}

// What retention deleted is not in the filters any more, nor is any of its words in a table of the search.
func testSearchForgets(t *testing.T, s *Store) {
	a := pendingApproval("bot")
	a.CreatedAtMs, a.Summary = 1_700_000_000_000, "read topsecretname"
	a.Status, a.ResolvedAtMs = approval.Approved, a.CreatedAtMs
	create(t, s, a, core.Change{})
	now := a.CreatedAtMs + 10*dayMs
	settle := func() {
		for more := true; more; {
			var err error
			more, err = s.count(ctx, now)
			require.NoError(t, err)
		}
	}
	settle()
	require.Equal(t, 1, count(t, s, "SELECT COUNT(*) FROM search_filters"))
	page, err := s.List(ctx, core.Filter{Search: "topsecretname"})
	require.NoError(t, err)
	require.Len(t, page.Items, 1)
	n, err := s.Sweep(ctx, now, Keep{ApprovalsMs: dayMs})
	require.NoError(t, err)
	require.Equal(t, 1, n)
	page, err = s.List(ctx, core.Filter{Search: "topsecretname"})
	require.NoError(t, err)
	require.Empty(t, page.Items)
	settle()
	require.Zero(t, count(t, s, "SELECT COUNT(*) FROM search_filters"))
}

// A count by sums is the count of all approvals, at any moment of any history.
func testCounts(t *testing.T, s *Store) {
	for seed := range uint64(2) {
		h := newHistory(t, s, seed)
		for i := range 120 {
			if h.step(); i%20 == 0 {
				h.check()
			}
		}
		_, err := s.count(ctx, h.clock)
		require.NoError(t, err)
		h.check()
	}
	require.NoError(t, s.Recount(ctx))
	h := newHistory(t, s, 9)
	h.check()
	require.Zero(t, count(t, s, `SELECT COUNT(*) FROM numbers`))
	for more := true; more; {
		var err error
		more, err = s.count(ctx, h.clock+100*dayMs)
		require.NoError(t, err)
	}
	require.NotZero(t, count(t, s, `SELECT COUNT(*) FROM numbers WHERE level = 1`))
	h.check()
}

// Sums outlast the process.
func TestCounts_Restarts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	h := newHistory(t, nil, 4)
	for range 8 {
		openAndClose(t, fileOptions(dir), func(s *Store) {
			h.s = s
			h.check()
			for range 25 {
				h.step()
			}
		})
	}
}

// Nothing is counted by sums of another release, and a step that something else came before writes nothing.
func TestCounts_AnotherVersion_AndAnotherStep(t *testing.T) {
	t.Parallel()
	s := openInMemory(t)
	h := newHistory(t, s, 5)
	for range 60 {
		h.step()
	}
	h.clock += dayMs
	_, err := s.count(ctx, h.clock)
	require.NoError(t, err)
	require.NotZero(t, count(t, s, `SELECT COUNT(*) FROM numbers`))
	_, err = s.write.db.Exec(`UPDATE numbers_state SET version = 0; UPDATE numbers SET body = 'of another release' WHERE body <> ''`)
	require.NoError(t, err)
	h.check()
	_, err = s.count(ctx, h.clock)
	require.NoError(t, err)
	h.check()

	x := step{before: numbersState{turn: 1}}
	x.after = x.before
	require.ErrorIs(t, s.do(ctx, x.write), errStale)
	h.check()
}
