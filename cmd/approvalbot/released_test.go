package main

import (
	"database/sql"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/fakechat"
	"approvalbot/internal/store/pgtest"
)

// released has, in a folder for each released version, the store that its binary left
// behind: SQLite's file, a dump of PostgreSQL, and the key of both.
const released = "testdata/released"

var makeReleased = flag.String("released", "", "the version whose stores are made anew from this tree, such as 0.1.0")

// engines are where a store lives, and the file that keeps one.
var engines = map[string]string{"SQLite": "desk.db", "PostgreSQL": "desk.sql"}

// releasedRig is a desk whose people and chat have the same ids each time.
func releasedRig(t *testing.T) *rig {
	r := &rig{t: t, dir: t.TempDir(), addr: ownAddr(t), logs: &safeBuffer{}}
	r.tg = fakechat.NewTelegram(t, fakechat.TelegramOptions{AnswerWindow: patient})
	r.alice = r.tg.AddUser(fakechat.TelegramProfile{ID: 1001, FirstName: "Alice"})
	r.bob = r.tg.AddUser(fakechat.TelegramProfile{ID: 1002, FirstName: "Bob"})
	r.carol = r.tg.AddUser(fakechat.TelegramProfile{ID: 1003, FirstName: "Carol"})
	r.group = r.tg.AddChat(fakechat.TelegramChatSpec{Type: fakechat.TelegramSupergroup, ID: -1001234567, Title: "ops",
		Members: []*fakechat.TelegramUser{r.alice, r.bob, r.carol}})
	r.tools = "    maxTimeoutMs: 2592000000\n    rules:\n" +
		"      - {name: pairs, match: {tool: pair}, risk: R3, minApprovals: 2}\n"
	r.url = "http://" + r.addr
	return r
}

// TestReleased_Make makes the stores of a version, where -released names one: make fixture.
// Each holds a request that waits, one that has the first of two votes, one that ran, and
// one that was denied.
func TestReleased_Make(t *testing.T) {
	t.Parallel()
	if *makeReleased == "" {
		return
	}
	dir, bin := filepath.Join(released, *makeReleased), filepath.Join(t.TempDir(), "approvalbot")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-X main.version="+*makeReleased, "-o", bin, ".")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	var key []byte
	for engine, file := range engines {
		c := &crashRig{rig: releasedRig(t), bin: bin}
		if engine == "PostgreSQL" {
			c.database = pgtest.New(t)
		}
		if key != nil {
			require.NoError(t, os.WriteFile(filepath.Join(c.dir, "desk.key"), key, 0o600))
		}
		c.run("")
		leaveBehind(t, c)
		require.NoError(t, c.cmd.Process.Signal(syscall.SIGTERM))
		<-c.gone
		key, err = os.ReadFile(filepath.Join(c.dir, "desk.key"))
		require.NoError(t, err)
		kept := filepath.Join(c.dir, "desk.db")
		if engine == "PostgreSQL" {
			kept = filepath.Join(c.dir, "dump")
			args := []string{"--inserts", "--no-owner", "--no-acl", "--no-comments", "--file", kept, c.database}
			out, err := exec.Command("pg_dump", args...).CombinedOutput()
			require.NoError(t, err, "%s", out)
		}
		text, err := os.ReadFile(kept)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), text, 0o644))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "desk.key"), key, 0o644))
}

// leaveBehind is what happened before the upgrade.
func leaveBehind(t *testing.T, c *crashRig) {
	month := func(id string) func(*api.CreateRequest) {
		return func(q *api.CreateRequest) { q.ID, q.TimeoutMs = id, 30*24*3_600_000 }
	}
	c.card(c.ask(`{"n":1}`, month("waits")))
	half := c.ask(`{"n":2}`, month("half"), func(q *api.CreateRequest) { q.ToolName = "pair" })
	c.alice.Tap(c.group, c.card(half).ID, "Allow once")
	c.rig.until(half, "one vote", func(a api.Approval) bool { return len(a.Votes) == 1 })
	ran, refused := c.ask(`{"n":3}`, month("ran")), c.ask(`{"n":4}`, month("refused"))
	c.alice.Tap(c.group, c.card(ran).ID, "Allow once")
	c.alice.Tap(c.group, c.card(refused).ID, "Deny")
	c.rig.until(ran, "approved", func(a api.Approval) bool { return a.Status == api.Approved })
	c.rig.until(refused, "denied", func(a api.Approval) bool { return a.Status == api.Denied })
	_, err := c.agent().Claim(c.ctx(), ran.ID, api.ClaimRequest{})
	require.NoError(t, err)
	_, err = c.agent().Result(c.ctx(), ran.ID, api.ResultRequest{Status: "succeeded"})
	require.NoError(t, err)
	for _, a := range []api.Approval{ran, refused} {
		c.settled(c.group, c.messageOf(a), a.Code)
	}
}

// messageOf is the number of an approval's card in the group, as the desk remembers it.
func (r *rig) messageOf(a api.Approval) int {
	r.t.Helper()
	got, err := r.operator().Get(r.ctx(), a.Code, 0)
	require.NoError(r.t, err)
	require.NotEmpty(r.t, got.Deliveries)
	n, err := strconv.Atoi(got.Deliveries[0].MessageID)
	require.NoError(r.t, err)
	return n
}

// What a released version left behind goes on with this one: requests that wait are decided
// by taps on the cards of then, votes of then count, calls of then are handed out as they
// were asked, and the log is one chain from the first entry.
func TestReleased_StoreGoesOn(t *testing.T) {
	t.Parallel()
	versions, err := os.ReadDir(released)
	require.NoError(t, err)
	require.NotEmpty(t, versions)
	for _, version := range versions {
		for engine, file := range engines {
			t.Run(version.Name()+" on "+engine, func(t *testing.T) {
				t.Parallel()
				r := releasedRig(t)
				unpack(t, r, filepath.Join(released, version.Name()), file)
				r.start()
				t.Cleanup(r.stop)
				requireRated(t, r)
				goesOn(t, r)
				r.stop()
				r.start()
				requireAnnouncedOnce(t, r)
			})
		}
	}
}

// unpack puts a version's store where the desk will look for it. Its clock is set forward:
// a request waits for thirty days at most.
func unpack(t *testing.T, r *rig, dir, file string) {
	t.Helper()
	read := func(name string) []byte {
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		return text
	}
	require.NoError(t, os.WriteFile(filepath.Join(r.dir, "desk.key"), read("desk.key"), 0o600))
	driver, name := "sqlite", filepath.Join(r.dir, "desk.db")
	if file == "desk.sql" {
		driver, name = "pgx", pgtest.New(t)
		r.database = name
		conn, err := pgconn.Connect(t.Context(), name)
		require.NoError(t, err)
		defer conn.Close(t.Context())
		// Other versions of PostgreSQL know neither the dump's settings nor psql's commands.
		text := regexp.MustCompile(`(?m)^(SET |\\).*$`).ReplaceAllString(string(read(file)), "")
		_, err = conn.Exec(t.Context(), text).ReadAll()
		require.NoError(t, err)
	} else {
		require.NoError(t, os.WriteFile(name, read(file), 0o600))
	}
	db, err := sql.Open(driver, name)
	require.NoError(t, err)
	defer db.Close()
	_, err = db.Exec(fmt.Sprintf(`UPDATE approvals SET expires_ms = %[1]d, timer_ms = %[1]d WHERE status = 'pending'`,
		time.Now().Add(time.Hour).UnixMilli()))
	require.NoError(t, err)
}

// requireRated: what waited before the store had a column for it is found by its risk class.
func requireRated(t *testing.T, r *rig) {
	t.Helper()
	driver, name := "sqlite", filepath.Join(r.dir, "desk.db")
	if r.database != "" {
		driver, name = "pgx", r.database
	}
	db, err := sql.Open(driver, name)
	require.NoError(t, err)
	defer db.Close()
	var rated int
	require.NoError(t, db.QueryRow(`SELECT COUNT(*) FROM approvals WHERE status = 'pending' AND risk = 3`).Scan(&rated))
	require.Equal(t, 2, rated)
}

func goesOn(t *testing.T, r *rig) {
	t.Helper()
	get := func(id string) api.Approval {
		a, err := r.agent().Get(r.ctx(), id, 0)
		require.NoError(t, err)
		return a
	}
	require.Equal(t, api.Denied, get("refused").Status)
	require.Equal(t, "succeeded", get("ran").Result.Status)
	require.Len(t, get("half").Votes, 1)
	for id, params := range map[string]string{"waits": `{"n":1}`, "half": `{"n":2}`} {
		a := get(id)
		require.Equal(t, api.Pending, a.Status)
		r.bob.TapData(r.group, r.messageOf(a), "/approve "+a.Code)
		r.until(a, "approved", func(a api.Approval) bool { return a.Status == api.Approved })
		claim, err := r.agent().Claim(r.ctx(), a.ID, api.ClaimRequest{})
		require.NoError(t, err)
		require.JSONEq(t, params, string(claim.Params))
	}
	require.Len(t, get("half").Votes, 2)
	r.card(r.ask(`{"n":5}`)) // and it goes on asking
	report, err := r.operator().VerifyAudit(r.ctx())
	require.NoError(t, err)
	require.True(t, report.OK, report.Problem)
}

// requireAnnouncedOnce: what this version allows more by the same configuration is on record,
// once, however often the desk starts.
func requireAnnouncedOnce(t *testing.T, r *rig) {
	t.Helper()
	page, err := r.operator().Audit(r.ctx(), api.AuditOptions{Limit: 200})
	require.NoError(t, err)
	var told []string
	for _, e := range page.Items {
		if e.Type == "audit.policy" && strings.Contains(string(e.Data), `"by":"version"`) {
			told = append(told, string(e.Data))
		}
	}
	require.Len(t, told, 1)
	require.Contains(t, told[0], "approvals.exec.strict: true")
}
