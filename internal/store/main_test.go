package store

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

func TestMain(m *testing.M) {
	flag.Set("rapid.checks", "30") // each opens a store; the command line goes before this
	flag.Set("test.parallel", "8") // most wait for a database rather than compute
	codes.Store(rand.Uint32())     // some tests run several processes on one store
	goleak.VerifyTestMain(settled{m})
}

// settled runs the tests, and gives what they began a minute to end: the check for
// leaks itself waits for less than half a second.
type settled struct{ m *testing.M }

// Run implements goleak.TestingM.
func (s settled) Run() int {
	code := s.m.Run()
	for end := time.Now().Add(time.Minute); code == 0 && goleak.Find() != nil && time.Now().Before(end); {
	}
	return code
}

var ctx = context.Background()

// patient is how long a test waits for anything at most. Reaching it is a failure.
const patient = 3 * time.Minute

// insist makes a write again for as long as the store takes it back because nothing
// had begun it in time: with a slow machine's commits a queue may take that long.
func insist(write func() error) (err error) {
	for end := time.Now().Add(patient); time.Now().Before(end); {
		if err = write(); !errors.Is(err, errLate) {
			break
		}
	}
	return err
}

// start runs an open store for the length of a test.
func start(t testing.TB, s *Store) *Store {
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		require.NoError(t, s.Close())
		require.NoError(t, <-done)
	})
	return s
}

func fileOptions(dir string) Options {
	return Options{URL: "sqlite:" + filepath.Join(dir, "desk.db"), KeyFile: filepath.Join(dir, "desk.key")}
}

func openDisk(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(ctx, fileOptions(dir))
	require.NoError(t, err)
	return start(t, s)
}

func openInMemory(t testing.TB) *Store {
	t.Helper()
	s, err := Open(ctx, Options{URL: "sqlite::memory:"})
	require.NoError(t, err)
	return start(t, s)
}

// openPG opens and runs a store on a PostgreSQL database. Stores on one database
// have one key.
func openPG(t testing.TB, url string) *Store {
	t.Helper()
	s, err := Open(ctx, pgOptions(t, url))
	require.NoError(t, err)
	return start(t, s)
}

func pgOptions(t testing.TB, url string) Options {
	t.Helper()
	file := filepath.Join(t.TempDir(), "desk.key")
	require.NoError(t, os.WriteFile(file, []byte(strings.Repeat("0a", keySize)), 0o600))
	return Options{URL: url, KeyFile: file, Version: "test"}
}

const day = 24 * 60 * 60 * 1000

// pendingApproval makes one that the desk could make.
func pendingApproval(owner string) approval.Approval {
	key := keyOfNewCode()
	now := nowMs()
	return approval.Approval{
		Names: approval.Names{Key: key, ID: key, Code: core.KeyCode(key), Owner: owner},
		Ended: approval.Ended{Status: approval.Pending},
		Asked: approval.Asked{ToolName: "exec", Summary: "rm -rf build", Fingerprint: "sha256:" + key, AgentID: "main", SessionKey: "s1", CreatedAtMs: now, ExpiresAtMs: now + day},
		Judged: approval.Judged{Assessment: approval.Assessment{RiskClass: approval.R3, SideEffects: []approval.SideEffect{approval.ProcessExec}, Confidence: 0.9,
			Source: "static", ReasonCodes: []string{"x"}}, Rule: approval.Rule{Allowed: []approval.Factor{approval.UserRequest}, Disabled: []approval.Factor{},
			Effective: []approval.Factor{approval.UserRequest}, MinApprovals: 1, RequiresHuman: true}},
		Contact: approval.Contact{Reached: true},
	}
}

var codes atomic.Uint32

// keyOfNewCode gives a key with another code every time, anywhere in the index.
func keyOfNewCode() string {
	const spread = 2654435761 // odd, so that it meets every number
	return fmt.Sprintf("%08x", codes.Add(1)*spread<<2) + uuid.NewString()[8:]
}

// twin gives an approval the code of another.
func twin(a, of approval.Approval) approval.Approval {
	a.Key = of.Key[:8] + a.Key[8:]
	a.ID, a.Code = a.Key, of.Code
	return a
}

func cardTo(to string, rank int, due int64) approval.Delivery {
	return approval.Delivery{Kind: approval.CardDelivery, Target: approval.Target{Channel: "telegram", To: to}, State: approval.Queued,
		Rank: rank, DueMs: due, CreatedMs: due}
}

func event(a approval.Approval, typ approval.EventType) approval.Event {
	return approval.Event{AtMs: nowMs(), Type: typ, Key: a.Key, Owner: a.Owner, Data: json.RawMessage(`{"n":1}`)}
}

// create stores a new approval with what the change has beside it.
func create(t testing.TB, s *Store, a approval.Approval, with core.Change) approval.Approval {
	t.Helper()
	with.Approval, with.New = a, true
	require.NoError(t, insist(func() error {
		return s.Create(ctx, core.Lookup{Owner: a.Owner}, func(core.Existing) ([]core.Change, error) {
			return []core.Change{with}, nil
		})
	}))
	got, err := s.Get(ctx, a.Key)
	require.NoError(t, err)
	return got
}

// change updates an approval with fn and gives it as committed.
func change(t testing.TB, s *Store, key string, fn func(approval.Approval) core.Change) approval.Approval {
	t.Helper()
	var after approval.Approval
	require.NoError(t, insist(func() (err error) {
		after, err = s.Update(ctx, key, func(a approval.Approval) (core.Change, error) { return fn(a), nil })
		return err
	}))
	return after
}

// ended is a change to a final status, as the desk's steps make them.
func ended(a approval.Approval, status approval.Status) core.Change {
	a.Status, a.ResolvedAtMs, a.FallbackAtMs = status, nowMs(), 0
	return core.Change{Approval: a, Redraw: true, Unseal: status != approval.Approved, Events: []approval.Event{event(a, approval.EventResolved)}}
}

func count(t testing.TB, s *Store, query string, args ...any) (n int) {
	t.Helper()
	require.NoError(t, s.read.db.QueryRow(query, args...).Scan(&n))
	return n
}
