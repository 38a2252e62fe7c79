package store

import (
	"database/sql"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/store/pgtest"
)

// Questions that are asked together get their own answers, whatever becomes of the
// others, and of the connection.
func TestPointsTogether(t *testing.T) {
	s := openPG(t, pgtest.New(t))
	p := newPoints(pgConnector{config: s.listen, patience: networkPatience, reads: true})
	db := sql.OpenDB(p)
	defer func() { require.NoError(t, db.Close()) }()
	idle := &line{}
	ask := func() {
		const all = 3*maxPoints + 1
		p.mu.Lock()
		p.free = nil // all are busy
		p.mu.Unlock()
		answers, errs := make([]string, all), make([]error, all)
		var wg sync.WaitGroup
		for i := range all {
			wg.Go(func() {
				text, arg := "SELECT $1::text", strconv.Itoa(i)
				switch i % 7 {
				case 3:
					text, arg = "SELECT 1 / CAST($1 AS BIGINT)", "0"
				case 5:
					text = "SELECT $1 FROM nowhere"
				}
				errs[i] = db.QueryRow(text, arg).Scan(&answers[i])
			})
		}
		require.Eventually(t, func() bool { p.mu.Lock(); defer p.mu.Unlock(); return len(p.waiting) == all }, patient, time.Millisecond)
		p.pass(idle)
		wg.Wait()
		for i := range all {
			switch i % 7 {
			case 3:
				require.Equal(t, "22012", state(errs[i]), "division by zero")
			case 5:
				require.Equal(t, "42P01", state(errs[i]), "no such table")
			default:
				require.NoError(t, errs[i])
				require.Equal(t, strconv.Itoa(i), answers[i])
			}
		}
		require.Equal(t, []*line{idle}, p.free)
	}
	ask()
	count(t, s, "SELECT COUNT(pg_terminate_backend(pid, 2000)) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
	ask()
}
