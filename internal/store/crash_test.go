package store

import (
	"bufio"
	"database/sql"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/store/pgtest"
)

// whole asserts that no change of those that createWhole makes is there in part.
func whole(t *testing.T, s *Store) {
	n := count(t, s, "SELECT COUNT(*) FROM approvals")
	require.Equal(t, n, count(t, s, "SELECT COUNT(*) FROM approvals WHERE sealed <> ''"))
	for _, table := range []string{"deliveries", "events"} {
		require.Equal(t, n, count(t, s, "SELECT COUNT(*) FROM "+table), table)
	}
	events, _, err := s.Verify(ctx)
	require.NoError(t, err)
	require.EqualValues(t, n, events)
}

func createWhole(s *Store) (key string, err error) {
	a := pendingApproval("bot")
	return a.Key, s.Create(ctx, core.Lookup{Owner: "bot"}, func(core.Existing) ([]core.Change, error) {
		return []core.Change{{Approval: a, New: true, Seal: []byte("call"),
			Events: []approval.Event{event(a, approval.EventRequested)}, Deliveries: []approval.Delivery{cardTo("1", 1, 10)}}}, nil
	})
}

// TestPowerCut copies the files of a running store, as the machine's end would
// leave them, and opens the copies: what had been answered by then is there, and
// no change is there in part.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openDisk(t, dir)
	stop, done := make(chan struct{}), make(chan struct{})
	answered := make(chan string, 100_000)
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				if key, err := createWhole(s); err == nil {
					answered <- key
				}
			}
		}
	}()
	for round := range 5 {
		time.Sleep(20 * time.Millisecond)
		var keys []string
		for range len(answered) {
			keys = append(keys, <-answered)
		}
		copied := copyFiles(t, s, dir, round*100) // from the second round on, the last write is torn
		openAndClose(t, fileOptions(copied), func(c *Store) {
			for _, k := range keys[:max(0, len(keys)-round)] {
				_, err := c.Get(ctx, k)
				require.NoError(t, err)
			}
			whole(t, c)
			create(t, c, pendingApproval("bot"), core.Change{})
		})
	}
	close(stop)
	<-done
}

// copyFiles copies a store's files while it writes. An open reader keeps SQLite
// from starting the log anew meanwhile, which no power cut could fall between.
func copyFiles(t *testing.T, s *Store, dir string, torn int) string {
	reader, err := s.read.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	require.NoError(t, err)
	defer reader.Rollback()
	var n int
	require.NoError(t, reader.QueryRow("SELECT COUNT(*) FROM meta").Scan(&n))
	to := t.TempDir()
	for _, f := range []string{"desk.db", "desk.db-wal", "desk.key"} {
		b, err := os.ReadFile(filepath.Join(dir, f))
		require.NoError(t, err)
		if f == "desk.db-wal" {
			b = b[:max(0, len(b)-torn)]
		}
		require.NoError(t, os.WriteFile(filepath.Join(to, f), b, 0o600))
	}
	return to
}

// TestKill kills a writing process with SIGKILL and opens its store.
func TestKill(t *testing.T) {
	t.Parallel()
	if o := killedOptions(); o.URL != "" { // the process to be killed
		s, err := Open(ctx, o)
		require.NoError(t, err)
		for start(t, s); ; {
			key, err := createWhole(s)
			require.NoError(t, err)
			os.Stdout.WriteString(key + "\n")
		}
	}
	t.Run("SQLite", func(t *testing.T) { killAndOpen(t, fileOptions(t.TempDir())) })
	t.Run("PostgreSQL", func(t *testing.T) { killAndOpen(t, pgOptions(t, pgtest.New(t))) })
}

func killedOptions() Options {
	return Options{URL: os.Getenv("STORE_TEST_WRITE"), KeyFile: os.Getenv("STORE_TEST_KEY")}
}

// abandoned waits until a server has noticed that nobody is there any more: what a
// killed process sent last may be committed until then.
func abandoned(t *testing.T, url string) {
	if !strings.HasPrefix(url, "postgres:") {
		return
	}
	conn, err := pgconn.Connect(ctx, url)
	require.NoError(t, err)
	defer conn.Close(ctx)
	require.Eventually(t, func() bool {
		others, err := conn.Exec(ctx, "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND "+
			"backend_type = 'client backend' AND pid <> pg_backend_pid()").ReadAll()
		return err == nil && len(others[0].Rows) == 0
	}, patient, 5*time.Millisecond)
}

func killAndOpen(t *testing.T, o Options) {
	for range 3 {
		writer := exec.Command(os.Args[0], "-test.run=^TestKill$")
		writer.Env = append(os.Environ(), "STORE_TEST_WRITE="+o.URL, "STORE_TEST_KEY="+o.KeyFile)
		out, err := writer.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, writer.Start())
		lines := bufio.NewReader(out)
		first, err := lines.ReadString('\n')
		require.NoError(t, err)
		time.Sleep(50 * time.Millisecond)
		require.NoError(t, writer.Process.Kill())
		rest, err := io.ReadAll(lines)
		require.NoError(t, err)
		require.Error(t, writer.Wait())
		abandoned(t, o.URL)
		openAndClose(t, o, func(s *Store) {
			for key := range strings.Lines(first + string(rest)) {
				if strings.HasSuffix(key, "\n") {
					_, err := s.Get(ctx, strings.TrimSpace(key))
					require.NoError(t, err)
				}
			}
			whole(t, s)
		})
	}
}

// TestDiskFull lets the database run out of room in the middle of batches: those
// changes fail, whole, and the others stay.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	s := openDisk(t, t.TempDir())
	limit := func(pages int) {
		require.NoError(t, s.do(ctx, func(t *tx) error {
			_, err := t.exec(fmt.Sprintf("PRAGMA max_page_count = %d", pages))
			return err
		}))
	}
	limit(150)
	var ok, failed atomic.Int64
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 30 {
				if _, err := createWhole(s); err != nil {
					require.ErrorContains(t, err, "full")
					failed.Add(1)
				} else {
					ok.Add(1)
				}
			}
		})
	}
	wg.Wait()
	require.NotZero(t, ok.Load())
	require.NotZero(t, failed.Load())
	require.EqualValues(t, ok.Load(), count(t, s, "SELECT COUNT(*) FROM approvals"))
	whole(t, s)
	limit(1_000_000)
	require.NoError(t, s.Ping(ctx))
	_, err := createWhole(s)
	require.NoError(t, err)
	whole(t, s)
	require.EqualValues(t, ok.Load()+1, found(t, s, core.Lookup{Owner: "bot"}).Pending)
}
