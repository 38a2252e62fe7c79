package store

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

func TestTampering(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ sql, want string }{
		"data":           {`UPDATE events SET data = '{"n":2}' WHERE seq = 3`, "log record 3 was changed"},
		"time":           {`UPDATE events SET at_ms = at_ms + 1 WHERE seq = 3`, "log record 3 was changed"},
		"owner":          {`UPDATE events SET owner = 'x' WHERE seq = 3`, "log record 3 was changed"},
		"key and owner":  {`UPDATE events SET key = key || 'b', owner = 'ot' WHERE seq = 3`, "log record 3 was changed"},
		"hash":           {`UPDATE events SET hash = 'x' WHERE seq = 3`, "log record 3 was changed"},
		"one taken out":  {`DELETE FROM events WHERE seq = 3`, "log record 3 is missing"},
		"last taken out": {`DELETE FROM events WHERE seq = 5`, "log record 5 is missing"},
		"tail taken out": {`DELETE FROM events WHERE seq = 5; UPDATE log_head SET seq = 4`, "log record 4 is not the last record"},
		"order": {`UPDATE events SET seq = 99 WHERE seq = 2; UPDATE events SET seq = 2 WHERE seq = 3;
 UPDATE events SET seq = 3 WHERE seq = 99`, "log record 2 was changed"},
	} {
		t.Run(name, func(t *testing.T) {
			s := openInMemory(t)
			a := pendingApproval("bot")
			for range 5 {
				require.NoError(t, s.Append(ctx, nil, event(a, approval.EventVote)))
			}
			_, err := s.write.db.Exec(c.sql)
			require.NoError(t, err)
			_, _, err = s.Verify(ctx)
			require.ErrorContains(t, err, c.want)
			var bad *approval.BadRecord
			require.ErrorAs(t, err, &bad)
		})
	}
}

// TestFailedCommit takes the store's write lock from outside: the batch fails as
// a whole, says so, and the store goes on as soon as it can.
func TestFailedCommit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openDisk(t, dir)
	_, err := s.write.db.Exec("PRAGMA busy_timeout = 20")
	require.NoError(t, err)
	other, err := openPool(filepath.Join(dir, "desk.db"), 1, nil)
	require.NoError(t, err)
	defer other.db.Close()
	conn, err := other.db.Conn(ctx)
	require.NoError(t, err)
	_, err = conn.ExecContext(ctx, "BEGIN IMMEDIATE")
	require.NoError(t, err)

	a := pendingApproval("bot")
	err = s.Create(ctx, core.Lookup{}, func(core.Existing) ([]core.Change, error) { return []core.Change{{Approval: a, New: true}}, nil })
	require.ErrorContains(t, err, "could not commit, so the change was not written")
	require.Error(t, s.Ping(ctx))
	_, err = conn.ExecContext(ctx, "ROLLBACK")
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	require.NoError(t, s.Ping(ctx))
	create(t, s, a, core.Change{})
	require.False(t, s.broken.Load())
}

// TestLogAfterAFailedCommit: what a commit that failed made of the log's head is
// forgotten.
func TestLogAfterAFailedCommit(t *testing.T) {
	t.Parallel()
	s := openDisk(t, t.TempDir())
	e := event(pendingApproval("bot"), approval.EventVote)
	require.NoError(t, s.Append(ctx, nil, e))
	err := s.do(ctx, func(t *tx) error {
		t.own.events = append(t.own.events, e, e)
		if _, err := t.exec("PRAGMA defer_foreign_keys = 1"); err != nil { // or the insert would fail, not the commit
			return err
		}
		return t.put(nameApproval, "id", "bot", "nothing", "")
	})
	require.ErrorContains(t, err, "could not commit, so the change was not written")
	require.NoError(t, s.Append(ctx, nil, e))
	n, _, err := s.Verify(ctx)
	require.NoError(t, err)
	require.Equal(t, 2, n)
}

func TestReadersCannotWrite(t *testing.T) {
	t.Parallel()
	s := openDisk(t, t.TempDir())
	_, err := s.read.db.Exec("DELETE FROM meta")
	require.ErrorContains(t, err, "readonly")
}

func TestDurabilityPragmas(t *testing.T) {
	t.Parallel()
	s := openDisk(t, t.TempDir())
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1",
		"busy_timeout": "5000", "secure_delete": "1", "journal_size_limit": "33554432"} {
		var got string
		require.NoError(t, s.write.db.QueryRow("PRAGMA "+pragma).Scan(&got))
		require.Equal(t, want, got, pragma)
	}
	require.True(t, atLeast("3.51.3", oldestSQLite))
	require.True(t, atLeast("4.0", oldestSQLite))
	require.True(t, atLeast("3.52.0", oldestSQLite))
	for _, old := range []string{"3.51.2", "3.9.9", "2.99.99", "3.51", "x"} {
		require.False(t, atLeast(old, oldestSQLite), old)
	}
}

// TestPlans holds the questions that are asked all day to an index.
func TestPlans(t *testing.T) {
	t.Parallel()
	s := openInMemory(t)
	list := func(f core.Filter) string {
		q, _, err := listQuery(f, first(conditionsOf(f)))
		require.NoError(t, err)
		return q
	}
	for query, index := range map[string]string{
		approvalByKey: "sqlite_autoindex_approvals", approvalByID: "SEARCH approval_ids USING PRIMARY KEY",
		keysOfSame: "approvals_pending_same", keysUnclaimed: "approvals_kept",
		countPending: "PRIMARY KEY", keysByID: "SEARCH i USING PRIMARY KEY", keysByPrefix: "sqlite_autoindex_approvals",
		keysByCode: "sqlite_autoindex_approvals", insertApproval: "sqlite_autoindex_approvals",
		dueApprovals: "approvals_timer", openInbound: "inbound_open", oldInbound: "PRIMARY KEY", dropInbound: "PRIMARY KEY",
		markDone: "PRIMARY KEY", countInbound: "PRIMARY KEY", sweepApprovals: "approvals_newest",
		sweepCalls:    "approvals_kept",
		dueDeliveries: "deliveries_work", nextDue: "deliveries_work", chatsWithWork: "deliveries_work",
		selectByMessage: "deliveries_message", deliveryByID: "PRIMARY KEY", redrawCard: "PRIMARY KEY",
		calmCards: "PRIMARY KEY", recordTry: "PRIMARY KEY",
		recordDone: "PRIMARY KEY", recordEdit: "PRIMARY KEY", retryCallback: "deliveries_callbacks",
		callbackByID:        "deliveries_callbacks",
		list(core.Filter{}): "approvals_newest", list(core.Filter{Owner: "x"}): "approvals_owner",
		list(core.Filter{Round: true, RoundAfterMs: 1}): "approvals_round (round_ms>?)",
		list(core.Filter{Status: approval.Pending}):     "approvals_pending_newest", list(core.Filter{Status: approval.Pending,
			Owner: "x"}): "approvals_pending_owner", list(core.Filter{Status: approval.Approved}): "approvals_newest",
		list(core.Filter{Status: approval.Denied}):                              "approvals_refused (status=? AND <expr><?)",
		list(core.Filter{Status: approval.Expired, ToolName: "x"}):              "approvals_refused (status=? AND <expr><?)",
		list(core.Filter{AgentID: "x", SessionKey: "y"}):                        "approvals_agent (agent_id=? AND <expr><?)",
		list(core.Filter{SessionKey: "x", ToolName: "y"}):                       "approvals_session (session_key=? AND <expr><?)",
		list(core.Filter{ToolName: "x"}):                                        "approvals_tool (tool_name=? AND <expr><?)",
		list(core.Filter{Owner: "x", SessionKey: "y"}):                          "approvals_owner",
		list(core.Filter{Status: approval.Approved, ToolName: "x", Cursor: ""}): "approvals_tool (tool_name=? AND <expr><?)",
		list(core.Filter{Status: approval.Pending, ToolName: "x"}):              "approvals_pending_newest",
		readLog: "INTEGER PRIMARY KEY", readOutcome: "events_outcome", readLegible: "events_outcome", ofOne: "events_outcome",
		touchedQuarters: "SEARCH e USING INTEGER PRIMARY KEY", list(core.Filter{Status: approval.Pending, Risk: new(approval.RiskClass)}): "approvals_pending_risk (risk=? AND",
		markedQuarters: "numbers_marks (start_ms<?)", filtersBefore: "search_filters", classesBefore: "COVERING INDEX search_filters_classes", keysFrom: "sqlite_autoindex_approvals",
		askedBetween: "approvals_newest", list(core.Filter{SinceMs: 1}): "approvals_newest", list(core.Filter{SinceMs: 1, ToolName: "x"}): "approvals_tool",
		readSums: "PRIMARY KEY (level=? AND start_ms>? AND start_ms<?)", endedBetween: "approvals_newest", endedOfBetween: "approvals_owner",
		sumsOfDay:  "PRIMARY KEY (level=? AND start_ms>? AND start_ms<?)",
		passkeyLog: "events_passkeys", lastCheck: "events_checkpoints", checkpoints + " LIMIT 20": "events_checkpoints", countAbsences: "events_absences",
	} {
		args := make([]any, strings.Count(query, "$"))
		numbers := regexp.MustCompile(`\$\d+`).FindAllString(query, -1)
		for i := range args {
			args[i] = int64(len(numbers))
		}
		rows, err := s.write.db.Query("EXPLAIN QUERY PLAN "+query, args...)
		require.NoError(t, err, query)
		var plan []string
		require.NoError(t, each(rows, func() error {
			var a, b, c int
			var detail string
			err := rows.Scan(&a, &b, &c, &detail)
			plan = append(plan, detail)
			return err
		}))
		all := strings.Join(plan, "\n")
		require.Contains(t, all, index, query)
		if strings.Contains(query, "LIMIT $") && index != "approvals_round (round_ms>?)" { // few have a round; of the others a page itself may be sorted, what it is cut from may not
			require.NotContains(t, strings.Split(all, "SEARCH d USING PRIMARY KEY")[0], "TEMP B-TREE", query)
		}
		for _, step := range plan {
			scans := strings.HasPrefix(step, "SCAN") && step != "SCAN CONSTANT ROW"
			require.False(t, scans && !strings.Contains(step, "INDEX"), "%s\n%s", query, all)
		}
	}
}

// A check of the whole log finds approvals without a record by one pass over each table.
func TestPlans_UnloggedComparesSets(t *testing.T) {
	t.Parallel()
	s := openInMemory(t)
	rows, err := s.write.db.Query("EXPLAIN QUERY PLAN "+unlogged, 0, 1)
	require.NoError(t, err)
	var plan []string
	require.NoError(t, each(rows, func() error {
		var a, b, c int
		var step string
		err := rows.Scan(&a, &b, &c, &step)
		plan = append(plan, step)
		return err
	}))
	require.Contains(t, plan, "MERGE (EXCEPT)")
	require.Contains(t, plan, "SEARCH approvals USING COVERING INDEX approvals_newest (created_ms>?)")
	require.Contains(t, plan, "SEARCH events USING INTEGER PRIMARY KEY (rowid>?)")
	require.NotContains(t, strings.Join(plan, "\n"), "LEFT-JOIN")
}

// TestFakeTime runs the store under fake time: nothing in it polls.
func TestFakeTime(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := openDisk(t, dir)
		a := create(t, s, pendingApproval("bot"), core.Change{})
		began := time.Now()
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		require.Equal(t, 24*time.Hour, time.Since(began))
		keys, _, err := s.Due(ctx, nowMs(), 10)
		require.NoError(t, err)
		require.Equal(t, []string{a.Key}, keys)
	})
}

// A record waits a moment for another write to go along with, but not while more is
// due in its chat, whenever that came.
func TestRecordsShareACommit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openInMemory(t)
		a := create(t, s, pendingApproval("bot"), core.Change{Deliveries: []approval.Delivery{cardTo("1", 1, 1)}})
		began := time.Now()
		took := func() time.Duration { defer func() { began = time.Now() }(); return time.Since(began) }
		next := func() approval.Delivered {
			_, _, _, err := s.ClaimChat(ctx, "telegram", nowMs())
			require.NoError(t, err)
			d, ok, err := s.NextDelivery(ctx, chat1("1"), nowMs())
			require.NoError(t, err)
			require.True(t, ok)
			return approval.Delivered{ID: d.ID, Key: d.Key, Was: d, Revision: d.Revision, State: approval.Sent, MessageID: "m"}
		}
		redraw := func() {
			change(t, s, a.Key, func(a approval.Approval) core.Change { return core.Change{Approval: a, Redraw: true} })
		}
		require.NoError(t, s.Record(ctx, next()))
		require.Equal(t, calmTime, took(), "alone")

		redraw()
		go func() {
			time.Sleep(calmTime / 2)
			change(t, s, a.Key, func(a approval.Approval) core.Change { return core.Change{Approval: a} })
		}()
		require.NoError(t, s.Record(ctx, next()))
		require.Equal(t, calmTime/2, took(), "with another")

		redraw()
		done := next()
		create(t, s, pendingApproval("bot"), core.Change{Deliveries: []approval.Delivery{cardTo("1", 1, 1)}})
		require.NoError(t, s.Record(ctx, done))
		require.Zero(t, took(), "another card waits")

		done = next()
		held, let := make(chan struct{}), make(chan struct{})
		go s.do(ctx, func(*tx) error { close(held); <-let; return nil })
		<-held
		created := make(chan struct{})
		go func() {
			create(t, s, pendingApproval("bot"), core.Change{Deliveries: []approval.Delivery{cardTo("1", 1, 1)}})
			close(created)
		}()
		synctest.Wait()
		go close(let)
		<-created
		require.NoError(t, s.Record(ctx, done))
		require.Zero(t, took(), "a card has come while a commit was under way")

		done = next()
		done.Deferrable = func() bool { return true }
		create(t, s, pendingApproval("bot"), core.Change{Deliveries: []approval.Delivery{cardTo("1", 1, 1)}})
		require.NoError(t, s.Record(ctx, done))
		require.Equal(t, calmTime, took(), "its chat does not wait for it")
	})
}
