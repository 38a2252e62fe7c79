package store

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/store/pgtest"
)

// agreed is whether an instance has said that it has the policy that counts.
func agreed(s *Store) error { return s.Agreed(s.heartbeat.policyHash()) }

// Instances judge by one policy: the newest that an operator loaded.
func TestAgree(t *testing.T) {
	t.Parallel()
	a, b := two(t)
	require.Error(t, agreed(a))
	require.NoError(t, a.Agree(ctx, "sha256:old", false))
	require.NoError(t, agreed(a))
	require.NoError(t, b.Agree(ctx, "sha256:new", false))
	require.ErrorContains(t, agreed(b), "generation 1", "who comes later does not set the policy")
	require.NoError(t, a.beat(ctx))
	require.NoError(t, agreed(a))
	require.NoError(t, b.Agree(ctx, "sha256:new", true))
	require.NoError(t, agreed(b))
	require.NoError(t, a.beat(ctx))
	require.ErrorContains(t, agreed(a), "generation 2")
	require.NoError(t, a.Agree(ctx, "sha256:new", false))
	require.NoError(t, agreed(a))

	// Where those with another policy are gone, the one that is left counts.
	require.NoError(t, a.Agree(ctx, "sha256:third", false))
	require.Error(t, agreed(a))
	require.NoError(t, b.Close())
	require.NoError(t, a.beat(ctx))
	require.NoError(t, agreed(a))
}

// of runs an instance of another build.
func of(t *testing.T, url, build string) *Store {
	t.Helper()
	o := pgOptions(t, url)
	o.Build = build
	s, err := Open(ctx, o)
	require.NoError(t, err)
	return start(t, s)
}

// A program that the database has not seen before takes over where it judges
// otherwise. Whoever runs an older one waits to be replaced: it never counts again by
// itself, also not where it starts anew or is left alone.
func TestAgree_ANewBuildTakesOver(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	old := of(t, url, "one")
	require.NoError(t, old.Agree(ctx, "sha256:old", false))
	require.NoError(t, agreed(old))
	require.False(t, old.Replaced())

	next := of(t, url, "two")
	require.NoError(t, next.Agree(ctx, "sha256:new", false))
	require.NoError(t, agreed(next), "it is ready at once")
	require.EqualValues(t, 2, next.Generation())
	require.NoError(t, old.beat(ctx))
	require.ErrorContains(t, agreed(old), "Replace this instance")
	require.True(t, old.Replaced())
	for range 2 {
		require.NoError(t, old.refreshPolicy(ctx))
		require.Error(t, agreed(old), "it never flips it back")
	}

	again := of(t, url, "one") // the old one crashed, and its supervisor starts it again
	require.NoError(t, again.Agree(ctx, "sha256:old", false))
	require.ErrorContains(t, agreed(again), "Replace this instance")
	require.NoError(t, next.beat(ctx))
	require.NoError(t, agreed(next))
	require.NoError(t, next.Close())
	require.NoError(t, again.beat(ctx))
	require.Error(t, agreed(again), "also where the new ones are all gone, for the time of their own restart")
	back := of(t, url, "two")
	require.NoError(t, back.Agree(ctx, "sha256:new", false))
	require.NoError(t, agreed(back))
	require.EqualValues(t, 2, back.Generation())

	// Only an operator goes back, and then it is the newer build that waits.
	require.NoError(t, again.Agree(ctx, "sha256:old", true))
	require.NoError(t, agreed(again))
	require.NoError(t, back.beat(ctx))
	require.True(t, back.Replaced())
	require.NoError(t, old.beat(ctx))
	require.NoError(t, agreed(old))
}

// A new build that judges the same makes no generation, but is the one whose other
// configuration counts when nobody else is left.
func TestAgree_ANewBuildThatJudgesTheSame(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	old, next := of(t, url, "one"), of(t, url, "two")
	require.NoError(t, old.Agree(ctx, "sha256:a", false))
	require.NoError(t, next.Agree(ctx, "sha256:a", false))
	require.EqualValues(t, 1, next.Generation())
	require.NoError(t, old.beat(ctx))
	require.NoError(t, agreed(old), "both judge")
	require.NoError(t, old.Close())
	require.NoError(t, next.Agree(ctx, "sha256:b", false), "restarted with another file")
	require.NoError(t, agreed(next))
}

// Of new builds that start at one moment one wins, and the others know.
func TestAgree_NewBuildsAtOnce(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	require.NoError(t, of(t, url, "zero").Agree(ctx, "sha256:zero", false))
	var all []*Store
	for i := range 4 {
		all = append(all, of(t, url, strconv.Itoa(i)))
	}
	var starting sync.WaitGroup
	for i, s := range all {
		starting.Go(func() {
			if err := insist(func() error { return s.Agree(ctx, fmt.Sprint("sha256:", i), false) }); err != nil {
				t.Error(err)
			}
		})
	}
	starting.Wait()
	var count int
	for _, s := range all {
		require.NoError(t, s.beat(ctx))
		require.EqualValues(t, 5, s.Generation())
		if agreed(s) == nil {
			count++
		}
	}
	require.Equal(t, 1, count)
}

// An instance that has not said yet which policy it has (it is just starting) keeps
// no other from setting the first.
func TestAgreeBesideOneThatHasNotSpoken(t *testing.T) {
	t.Parallel()
	a, b := two(t)
	require.NoError(t, b.beat(ctx))
	require.NoError(t, a.Agree(ctx, "sha256:old", false))
	require.NoError(t, agreed(a))
}

// A reading from before a change never hides the change.
func TestAgreeHoldsAgainstReadings(t *testing.T) {
	t.Parallel()
	a, _ := two(t)
	var reading sync.WaitGroup
	stop, errs := make(chan struct{}), make(chan error, 8)
	for range cap(errs) {
		reading.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := a.readPolicy(ctx); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	for i := range 200 {
		require.NoError(t, a.Agree(ctx, fmt.Sprint("sha256:", i), true))
		require.NoError(t, agreed(a))
	}
	close(stop)
	reading.Wait()
	require.Empty(t, errs)
}

func TestInstancesKnowEachOther(t *testing.T) {
	t.Parallel()
	a, b := two(t)
	for _, s := range []*Store{a, b} {
		require.NoError(t, s.Agree(ctx, "sha256:new", false))
	}
	all, err := a.Instances(ctx)
	require.NoError(t, err)
	require.Len(t, all, 2)
	for _, i := range all {
		require.Equal(t, "sha256:new", i.PolicyHash)
		require.Equal(t, "test", i.Version)
	}
	require.Equal(t, all[0].KeyID, all[1].KeyID)
}

// What was judged by a policy that does not count is not written, though the one
// who judged has not heard of it yet.
func TestAgreeHoldsAtTheCommit(t *testing.T) {
	t.Parallel()
	a, b := two(t)
	require.NoError(t, a.Agree(ctx, "sha256:old", false))
	x := create(t, a, pendingApproval("bot"), core.Change{Policy: "sha256:old"})
	by := func(policy string) func(approval.Approval) (core.Change, error) {
		return func(x approval.Approval) (core.Change, error) {
			c, err := vote(x)
			c.Policy = policy
			return c, err
		}
	}
	require.NoError(t, b.Agree(ctx, "sha256:new", true))
	a.heartbeat.mu.Lock()
	a.heartbeat.policy.counts = "sha256:old" // it may have heard by now
	a.heartbeat.mu.Unlock()

	_, err := a.Update(ctx, x.Key, by("sha256:old"))
	require.Equal(t, approval.CodeUnavailable, approval.CodeOf(err), "%v", err)
	err = a.Create(ctx, core.Lookup{Owner: "bot"}, func(core.Existing) ([]core.Change, error) {
		return []core.Change{{Approval: pendingApproval("bot"), New: true, Policy: "sha256:old"}}, nil
	})
	require.Equal(t, approval.CodeUnavailable, approval.CodeOf(err), "%v", err)
	require.Equal(t, 1, count(t, a, "SELECT COUNT(*) FROM approvals"))
	same, err := a.Get(ctx, x.Key)
	require.NoError(t, err)
	require.Equal(t, x, same)

	_, err = a.Update(ctx, x.Key, by(""))
	require.NoError(t, err, "what counts on no policy goes on")
	_, err = b.Update(ctx, x.Key, by("sha256:new"))
	require.NoError(t, err)
}

// The policy changes while instances commit by it: what counts on the old one is
// before the change, and what comes after counts on the new.
func TestAgreeBetweenCommits(t *testing.T) {
	t.Parallel()
	a, b := two(t)
	require.NoError(t, a.Agree(ctx, "0", false))
	x := create(t, a, pendingApproval("bot"), core.Change{})
	var writing sync.WaitGroup
	stop := make(chan struct{})
	for i := range 8 {
		s := []*Store{a, b}[i%2]
		writing.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				// The policy of any moment; most are not the one that counts.
				_, err := s.Update(ctx, x.Key, func(x approval.Approval) (core.Change, error) {
					c, err := vote(x)
					c.Policy = strconv.Itoa(n % 20)
					c.Events[0].Data = json.RawMessage(`{"policy":` + c.Policy + `}`)
					return c, err
				})
				if err != nil && approval.CodeOf(err) != approval.CodeUnavailable {
					t.Error(err)
					return
				}
			}
		})
	}
	var turns []int64 // the log's head when the next policy began to count
	for i := range 20 {
		require.NoError(t, insist(func() error { return b.Agree(ctx, strconv.Itoa(i), true) }))
		head, _, err := b.Head(ctx)
		require.NoError(t, err)
		turns = append(turns, head)
		require.Eventually(t, func() bool { now, _, err := b.Head(ctx); return err == nil && now > head+2 }, patient, time.Millisecond)
	}
	close(stop)
	writing.Wait()
	last := 0
	for e, err := range b.Entries(ctx, 1, math.MaxInt64) {
		require.NoError(t, err)
		if e.Type != approval.EventVote {
			continue
		}
		var said struct{ Policy int }
		require.NoError(t, json.Unmarshal(e.Data, &said))
		require.GreaterOrEqual(t, said.Policy, last, "entry %d", e.Seq)
		last = said.Policy
		if last+1 < len(turns) {
			require.LessOrEqual(t, e.Seq, turns[last+1])
		}
	}
	require.Positive(t, last)
}
