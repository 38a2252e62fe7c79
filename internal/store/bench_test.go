package store

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// vote is an update as a person's vote makes it: one event, one card redrawn.
func vote(a approval.Approval) (core.Change, error) {
	a.Votes = append(a.Votes[:0:0], approval.Vote{Approver: approval.UserRequest, Verdict: approval.Approve, Decision: approval.AllowOnce,
		Voter: &approval.Voter{Person: "alice", Channel: "telegram", UserID: "111"}, DecidedAtMs: nowMs()})
	return core.Change{Approval: a, Redraw: true, Events: []approval.Event{event(a, approval.EventVote)}}, nil
}

// parallel runs work in so many goroutines, b.N times together.
func parallel(b *testing.B, writers int, work func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	b.ResetTimer()
	cpu := cpuTime()
	for range writers {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
				work(int(i))
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "op/s")
	b.ReportMetric(float64(cpuTime()-cpu)/float64(b.N), "cpu-ns/op")
}

// cpuTime is what this process has used, in nanoseconds: on a machine that others
// use too it tells more than the clock.
func cpuTime() int64 {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return u.Utime.Nano() + u.Stime.Nano()
}

// BenchmarkResolve64 ends pending approvals, each with a card to be redrawn and a
// chat to be told.
func BenchmarkResolve64(b *testing.B) { benchmarkResolve(b, openDisk(b, b.TempDir()), 64) }

func benchmarkResolve(b *testing.B, s *Store, writers int) {
	keys := seed(b, s)
	parallel(b, writers, func(i int) {
		_, err := s.Update(ctx, keys[i-1], func(a approval.Approval) (core.Change, error) {
			a.Decision, a.DecidedBy = approval.AllowOnce, []string{"person:alice"}
			c := ended(a, approval.Approved)
			c.Deliveries = []approval.Delivery{{Kind: approval.OutcomeDelivery, Target: chat1("2"), State: approval.Queued, DueMs: nowMs()}}
			return c, nil
		})
		require.NoError(b, err)
	})
}

// seed makes b.N pending approvals, each with a card in a chat.
func seed(b *testing.B, s *Store) (keys []string) {
	var batch []core.Change
	for i := range b.N {
		a := pendingApproval("bot")
		keys = append(keys, a.Key)
		batch = append(batch, core.Change{Approval: a, New: true, Seal: make([]byte, 300),
			Deliveries: []approval.Delivery{{Kind: approval.CardDelivery, Target: chat1("1"), State: approval.Sent, MessageID: a.Key}}})
		if len(batch) == 1000 || i == b.N-1 {
			require.NoError(b, s.Create(ctx, core.Lookup{}, func(core.Existing) ([]core.Change, error) { return batch, nil }))
			batch = nil
		}
	}
	return keys
}

func benchmarkUpdate(b *testing.B, s *Store, writers int, fn func(approval.Approval) (core.Change, error)) {
	var keys []string
	for range 256 {
		a := pendingApproval("bot")
		keys = append(keys, create(b, s, a, core.Change{Deliveries: []approval.Delivery{{Kind: approval.CardDelivery,
			Target: chat1("1"), State: approval.Sent, MessageID: a.Key}}}).Key)
	}
	parallel(b, writers, func(i int) {
		_, err := s.Update(ctx, keys[i%len(keys)], fn)
		require.NoError(b, err)
	})
}

func BenchmarkUpdate1(b *testing.B)  { benchmarkUpdate(b, openDisk(b, b.TempDir()), 1, vote) }
func BenchmarkUpdate64(b *testing.B) { benchmarkUpdate(b, openDisk(b, b.TempDir()), 64, vote) }

// BenchmarkNothing64 is the cost of a job that finds nothing to do.
func BenchmarkNothing64(b *testing.B) {
	benchmarkUpdate(b, openDisk(b, b.TempDir()), 64, func(a approval.Approval) (core.Change, error) {
		return core.Change{Approval: a, Unchanged: true}, nil
	})
}

func benchmarkCreate(b *testing.B, writers, pending int, final bool) {
	s := openDisk(b, b.TempDir())
	var batch []core.Change
	for i := range pending {
		batch = append(batch, core.Change{Approval: pendingApproval("bot"), New: true})
		if len(batch) == 500 || i == pending-1 {
			require.NoError(b, s.Create(ctx, core.Lookup{}, func(core.Existing) ([]core.Change, error) { return batch, nil }))
			batch = nil
		}
	}
	call := make([]byte, 300)
	parallel(b, writers, func(int) {
		a := pendingApproval("bot")
		c := core.Change{New: true, Seal: call, Events: []approval.Event{event(a, approval.EventRequested)}}
		if final {
			a.Status, a.ResolvedAtMs = approval.Approved, nowMs()
		} else {
			c.Deliveries = []approval.Delivery{cardTo("1", 2, 1)}
		}
		c.Approval = a
		look := core.Lookup{Owner: "bot", Code: a.Code, Fingerprint: a.Fingerprint, AgentID: a.AgentID}
		if !final {
			look.SessionKey = a.SessionKey
		}
		require.NoError(b, s.Create(ctx, look, func(core.Existing) ([]core.Change, error) { return []core.Change{c}, nil }))
	})
}

func BenchmarkCreate1(b *testing.B)         { benchmarkCreate(b, 1, 0, false) }
func BenchmarkCreate64(b *testing.B)        { benchmarkCreate(b, 64, 0, false) }
func BenchmarkCreate64Of10000(b *testing.B) { benchmarkCreate(b, 64, 10_000, false) }
func BenchmarkCreateSettled64(b *testing.B) { benchmarkCreate(b, 64, 0, true) }

func BenchmarkAppend64(b *testing.B) {
	s := openDisk(b, b.TempDir())
	a := pendingApproval("bot")
	parallel(b, 64, func(int) { require.NoError(b, s.Append(ctx, nil, event(a, approval.EventVote))) })
}

// BenchmarkReference64 and BenchmarkReference1 are the plain SQLite group commit
// that the targets are measured against: the same driver and durability, a
// savepoint for each job, and in it three inserts.
func BenchmarkReference1(b *testing.B)  { benchmarkReference(b, 1) }
func BenchmarkReference64(b *testing.B) { benchmarkReference(b, 64) }

func benchmarkReference(b *testing.B, writers int) {
	p, err := openPool(filepath.Join(b.TempDir(), "ref.db"), 1, []string{"journal_mode(WAL)", "synchronous(FULL)"})
	require.NoError(b, err)
	defer p.db.Close()
	_, err = p.db.Exec(`CREATE TABLE a (key TEXT PRIMARY KEY, body TEXT); CREATE TABLE d (id TEXT PRIMARY KEY, key TEXT, due BIGINT);
 CREATE TABLE e (seq BIGINT PRIMARY KEY, data TEXT)`)
	require.NoError(b, err)
	body, err := json.Marshal(pendingApproval("bot"))
	require.NoError(b, err)
	type ask struct {
		key  string
		done chan error
	}
	texts := []string{`SAVEPOINT j`, `INSERT INTO a VALUES ($1, $2)`, `INSERT INTO d VALUES ($1, $1, $2)`,
		`INSERT INTO e VALUES ($1, $2)`, `RELEASE j`}
	var stmts []*sql.Stmt
	for _, text := range texts {
		st, err := p.prepared(ctx, text)
		require.NoError(b, err)
		stmts = append(stmts, st)
	}
	asks := make(chan ask, maxBatch)
	seq := 0
	commit := func(batch []ask) error {
		tx, err := p.db.Begin()
		if err != nil {
			return err
		}
		in := make([]*sql.Stmt, len(stmts))
		for i, st := range stmts {
			in[i] = tx.Stmt(st)
		}
		for _, j := range batch {
			seq++
			for i, args := range [][]any{nil, {j.key, string(body)}, {j.key, seq}, {seq, `{"n":1}`}, nil} {
				if _, err := in[i].Exec(args...); err != nil {
					return err
				}
			}
		}
		return tx.Commit()
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for j := range asks {
			batch := []ask{j}
			for more := true; more && len(batch) < maxBatch; {
				select {
				case j, ok := <-asks:
					if more = ok; ok {
						batch = append(batch, j)
					}
				default:
					more = false
				}
			}
			err := commit(batch)
			for _, j := range batch {
				j.done <- err
			}
		}
	}()
	parallel(b, writers, func(int) {
		j := ask{uuid.NewString(), make(chan error, 1)}
		asks <- j
		require.NoError(b, <-j.done)
	})
	close(asks)
	<-done
}

func benchmarkRead(b *testing.B, read func(*Store, []string, int)) {
	s := openDisk(b, b.TempDir())
	var keys []string
	var batch []core.Change
	for range 10_000 {
		a := pendingApproval("bot")
		keys = append(keys, a.Key)
		batch = append(batch, core.Change{Approval: a, New: true, Deliveries: []approval.Delivery{cardTo(fmt.Sprint(len(keys)%50), 2, 1)}})
	}
	require.NoError(b, s.Create(ctx, core.Lookup{}, func(core.Existing) ([]core.Change, error) { return batch, nil }))
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		read(s, keys, i)
	}
}

// With 10,000 approvals pending, each with a card waiting, in 50 chats.
func BenchmarkGet(b *testing.B) {
	benchmarkRead(b, func(s *Store, keys []string, i int) {
		_, err := s.Get(ctx, keys[i%len(keys)])
		require.NoError(b, err)
	})
}

func BenchmarkList50(b *testing.B) {
	benchmarkRead(b, func(s *Store, keys []string, i int) {
		page, err := s.List(ctx, core.Filter{Status: approval.Pending, Limit: 50})
		require.NoError(b, err)
		require.Len(b, page.Items, 50)
	})
}

func BenchmarkDue(b *testing.B) {
	benchmarkRead(b, func(s *Store, keys []string, i int) {
		_, _, err := s.Due(ctx, 1, 100)
		require.NoError(b, err)
	})
}

func BenchmarkClaimAndNext(b *testing.B) {
	benchmarkRead(b, func(s *Store, keys []string, i int) {
		place, ok, _, err := s.ClaimChat(ctx, "telegram", nowMs())
		require.NoError(b, err)
		require.True(b, ok)
		_, ok, err = s.NextDelivery(ctx, place, nowMs())
		require.NoError(b, err)
		require.True(b, ok)
		require.NoError(b, s.ReleaseChat(ctx, place, 0))
	})
}
