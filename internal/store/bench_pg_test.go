package store

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/store/pgtest"
)

func BenchmarkPostgresResolve1(b *testing.B)  { benchmarkResolve(b, openPG(b, pgtest.New(b)), 1) }
func BenchmarkPostgresResolve64(b *testing.B) { benchmarkResolve(b, openPG(b, pgtest.New(b)), 64) }
func BenchmarkPostgresUpdate64(b *testing.B) {
	benchmarkUpdate(b, openPG(b, pgtest.New(b)), 64, vote)
}

// BenchmarkPostgresReference is what an approval's end takes by hand: the same
// statements, in a transaction for each, on sixteen connections.
func BenchmarkPostgresReference1(b *testing.B)  { benchmarkByHand(b, 1) }
func BenchmarkPostgresReference64(b *testing.B) { benchmarkByHand(b, 64) }

func benchmarkByHand(b *testing.B, writers int) {
	s := openPG(b, pgtest.New(b))
	keys := seed(b, s)
	p := openPostgres(s.listen, pgConnector{}, nil)
	defer p.db.Close()
	p.db.SetMaxOpenConns(16)
	p.db.SetMaxIdleConns(16)
	first := create(b, s, pendingApproval("bot"), core.Change{Deliveries: []approval.Delivery{cardTo("1", 1, 1)}})
	// All is prepared now: nobody in a transaction waits for another connection.
	require.NoError(b, resolveByHand(p, first.Key))
	parallel(b, writers, func(i int) {
		require.NoError(b, resolveByHand(p, keys[i-1]))
	})
}

func resolveByHand(p *pool, key string) error {
	db, err := p.db.Begin()
	if err != nil {
		return err
	}
	defer db.Rollback()
	run := func(text string, args ...any) (result, error) {
		st, err := p.prepared(ctx, text)
		if err != nil {
			return nil, err
		}
		return db.Stmt(st).Query(args...)
	}
	rows, err := run(approvalByKey+" FOR UPDATE OF a", key)
	if err != nil {
		return err
	}
	all, _, err := keyring{}.scanApprovals(rows)
	if err != nil {
		return err
	}
	a, now := all[0], nowMs()
	a.Status, a.ResolvedAtMs = approval.Approved, now
	body, err := json.Marshal(a)
	if err != nil {
		return err
	}
	e := event(a, approval.EventResolved)
	id := uuid.NewString()
	for _, c := range []struct {
		text string
		args []any
	}{
		{endApproval, []any{key, 1, 2, a.ExpiresAtMs, nil, 0, string(body), string(a.Status), now}},
		{redrawCard, []any{now, 1, 0, now, key, a.Deliveries[0].ID}},
		{insertDelivery, []any{id, key, "outcome", "telegram", "2", "", "queued", "", "", "", 0, 0, 0, 0, "", 0, now, 0, 0, now, 0, now, 0, ""}},
		{sealCall, []any{key, ""}},
		{growOwner, []any{a.Owner, -1}},
		{sendNote, []any{"{}"}},
	} {
		if rows, err = run(c.text, c.args...); err != nil {
			return err
		}
		rows.Close()
	}
	if rows, err = run(readHead + " FOR UPDATE"); err != nil {
		return err
	}
	var last number
	var prev text
	if _, err := one(rows, &last, &prev); err != nil {
		return err
	}
	e.Seq = int64(last) + 1
	hash := approval.ChainHash(string(prev), e)
	if rows, err = run(insertEvent, e.Seq, e.AtMs, string(e.Type), e.Key, e.Owner, string(e.Data), hash); err != nil {
		return err
	}
	rows.Close()
	if rows, err = run(moveHead, e.Seq, hash, int64(last)); err != nil {
		return err
	}
	rows.Close()
	return db.Commit()
}

// BenchmarkPostgresHeard is how long it takes from the call of one instance to the
// word of it at another.
func BenchmarkPostgresHeard(b *testing.B) {
	url := pgtest.New(b)
	x, y := openPG(b, url), openPG(b, url)
	heard := make(chan Changed, 1000)
	go y.Listen(b.Context(), func(c Changed) { heard <- c })
	<-heard
	a := pendingApproval("bot")
	var took time.Duration
	for i := range b.N {
		a.Key = uuid.NewString()
		if i == 1 {
			b.ResetTimer()
		}
		began := time.Now()
		require.NoError(b, x.Append(ctx, nil, event(a, approval.EventVote)))
		for c := range heard {
			if len(c.Keys) > 0 && c.Keys[len(c.Keys)-1] == a.Key {
				break
			}
		}
		took += time.Since(began)
	}
	b.ReportMetric(float64(took.Microseconds())/float64(b.N), "µs/op")
}
