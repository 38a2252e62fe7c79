package main

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"approvalbot/api"
	"approvalbot/internal/approval"
	"approvalbot/internal/store/pgtest"
)

// another starts a further instance beside the rig's own, at an address if one is
// given.
func (r *rig) another(addr ...string) *rig {
	r.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	more := &rig{
		t: r.t, tg: r.tg, dir: r.dir, rigConfig: r.rigConfig, alice: r.alice, bob: r.bob, carol: r.carol, mallory: r.mallory, group: r.group,
		discordSide: r.discordSide, cancel: cancel, done: make(chan error, 1), logs: r.logs,
	}
	more.desk = more.open(ctx)
	ln, err := net.Listen("tcp", append(addr, ownAddr(r.t))[0])
	require.NoError(r.t, err)
	more.url = "http://" + ln.Addr().String()
	go func() { more.done <- more.desk.Run(ctx, ln) }()
	r.t.Cleanup(more.stop)
	return more
}

// write replaces the configuration file.
func (r *rig) write(text string) {
	r.t.Helper()
	require.NoError(r.t, os.WriteFile(filepath.Join(r.dir, "approvalbot.yaml"), []byte(text), 0o600))
}

func onPostgres(t *testing.T) func(*rig) {
	url := pgtest.New(t)
	return func(r *rig) { r.database = url }
}

// An approval asked at one instance is decided through whichever takes updates
// in, and wakes who waits at any of them.
func TestCluster_AnyInstanceTakesAnyRequest(t *testing.T) {
	t.Parallel()
	a := newRig(t, onPostgres(t))
	b, c := a.another(), a.another()
	for i, asked := range []*rig{a, b, c} {
		waited := make(chan api.Approval, 3)
		x := asked.exec("git push origin main", session(string(rune('k'+i))))
		for _, at := range []*rig{a, b, c} {
			go func() {
				got, err := at.agent().Get(at.ctx(), x.ID, time.Minute)
				if err != nil {
					t.Error(err)
				}
				waited <- got
			}()
		}
		card := a.card(x)
		require.Equal(t, "Allowed. It may run once, within 5 minutes.", a.tap(a.alice, a.group, card.ID, "Allow once").Text)
		for range 3 {
			require.EqualValues(t, "approved", (<-waited).Status)
		}
		a.settled(a.group, card.ID, "Allowed once by alice")
		_, err := c.agent().Claim(c.ctx(), x.ID, api.ClaimRequest{})
		require.NoError(t, err)
		_, err = b.agent().Claim(b.ctx(), x.ID, api.ClaimRequest{})
		requireProblem(t, err, "already_used")
	}
	require.Len(t, a.group.FromBot(), 3, "one card each")
	report, err := b.operator().VerifyAudit(b.ctx())
	require.NoError(t, err)
	require.True(t, report.OK, report.Problem)
}

// Whoever takes updates in stops, and another does at once; a desk that comes
// back finds everything as it was.
func TestCluster_UpdatesAreTakenOver(t *testing.T) {
	t.Parallel()
	a := newRig(t, onPostgres(t))
	b := a.another()
	x := a.exec("git push origin main")
	card := a.card(x)
	a.stop()
	require.Equal(t, "Allowed. It may run once, within 5 minutes.", b.tap(b.bob, b.group, card.ID, "Allow once").Text)
	require.EqualValues(t, "approved", b.final(x).Status)
	b.settled(b.group, card.ID, "Allowed once by bob")

	y := b.exec("git push origin other", func(r *api.CreateRequest) { r.TimeoutMs = 1000 })
	require.EqualValues(t, "expired", b.final(y).Status, "timers run at whoever is left")
}

// An instance that judges by another policy is not ready, and says so.
func TestCluster_InstancesAgreeOnAPolicy(t *testing.T) {
	t.Parallel()
	a := newRig(t, onPostgres(t))
	judges := func(r *rig, asAgreed bool) {
		t.Helper()
		agent, ctx := r.agent(), r.ctx()
		require.Eventually(t, func() bool {
			got, err := agent.Ready(ctx)
			return err == nil && got.Store == "ok" && got.Ready == asAgreed && strings.HasPrefix(got.Policy, "This instance judges no call: ") != asAgreed
		}, patient, 5*time.Millisecond)
	}
	judges(a, true)
	before := a.rigConfig
	a.tools = "    rules:\n      - {name: no-push, match: {tool: exec, command: git push *}, outcome: deny}\n"
	a.write(a.yaml())
	b := a.another()
	judges(b, false)
	judges(a, true)

	_, err := b.operator().Reload(b.ctx())
	require.NoError(t, err)
	judges(b, true)
	require.Eventually(t, func() bool { return b.desk.Gate.PolicyHash() == a.desk.Gate.PolicyHash() }, patient, 5*time.Millisecond, "by itself")
	judges(a, true)
	a.rigConfig = before
}

// Losing the database refuses at once, and everything goes on by itself.
func TestCluster_TheDatabaseIsLost(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	url := server.New(t)
	a := newRig(t, func(r *rig) { r.database, r.losesIt = url, true })
	x := a.exec("git push origin main")
	card := a.card(x)
	waited := make(chan api.Approval, 1)
	go func() {
		got, _ := a.agent().Get(a.ctx(), x.ID, 15*time.Second)
		waited <- got
	}()
	server.Stop(t)
	_, err := a.agent().Create(a.ctx(), api.CreateRequest{ToolName: "deploy", Params: []byte(`{}`)}, api.CreateOptions{})
	requireProblem(t, err, "unavailable")
	server.Restart(t)
	tap := a.alice.Tap(a.group, card.ID, "Allow once")
	got := a.final(x)
	require.EqualValues(t, "approved", got.Status)
	_, _ = tap.Answer(a.ctx())
	a.settled(a.group, card.ID, "Allowed once by alice")
	<-waited
}

// A running desk's state moves to PostgreSQL: what was pending there is decided
// here, and the log is the same.
func TestCluster_MoveFromSQLite(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	url := pgtest.New(t)
	x := r.exec("git push origin main")
	card := r.card(x)
	before, err := r.operator().VerifyAudit(r.ctx())
	require.NoError(t, err)
	r.stop()
	var out, errs safeBuffer
	args := []string{"store", "migrate", "--from", r.storeURL(), "--to", url, "--key-file", r.dir + "/desk.key"}
	require.Zero(t, run(t.Context(), args, nil, nil, &out, &errs), errs.String())
	require.Contains(t, out.String(), "The log is the same in both")
	require.NotZero(t, run(t.Context(), args, nil, nil, &out, &errs), "a second time it is not empty")
	r.database = url
	r.start()
	require.Equal(t, "Allowed. It may run once, within 5 minutes.", r.tap(r.alice, r.group, card.ID, "Allow once").Text)
	require.EqualValues(t, "approved", r.final(x).Status)
	after, err := r.operator().VerifyAudit(r.ctx())
	require.NoError(t, err)
	require.True(t, after.OK, after.Problem)
	require.GreaterOrEqual(t, after.Records, before.Records)
	r.settled(r.group, card.ID, "Allowed once by alice")
}

// A database that hangs refuses nothing, and is refused for: whoever asks hears it,
// and everything goes on by itself.
func TestCluster_TheDatabaseHangs(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	url := server.New(t)
	a := newRig(t, func(r *rig) { r.database, r.losesIt = url, true })
	a.becomes(true)
	x := a.exec("git push origin main")
	card := a.card(x)
	server.Freeze(t)
	asks := map[string]func() error{
		"create": func() error {
			_, err := a.agent().Create(a.ctx(), api.CreateRequest{ToolName: "deploy", Params: []byte(`{}`)}, api.CreateOptions{})
			return err
		},
		"get": func() error { _, err := a.agent().Get(a.ctx(), x.ID, 0); return err },
		"resolve": func() error {
			_, err := a.operator().Resolve(a.ctx(), x.Code, api.ResolveRequest{Decision: api.AllowOnce})
			return err
		},
		"claim": func() error { _, err := a.agent().Claim(a.ctx(), x.ID, api.ClaimRequest{}); return err },
	}
	for _, round := range []string{"first", "second"} {
		for name, ask := range asks {
			began := time.Now()
			requireProblem(t, ask(), "unavailable")
			t.Log(round, name, time.Since(began))
		}
		began := time.Now()
		got, err := a.agent().Ready(a.ctx())
		require.NoError(t, err)
		require.False(t, got.Ready)
		t.Log(round, "readyz", time.Since(began))
	}
	tap := a.alice.Tap(a.group, card.ID, "Allow once")
	server.Thaw(t)
	require.EqualValues(t, "approved", a.final(x).Status)
	_, _ = tap.Answer(a.ctx())
	a.settled(a.group, card.ID, "Allowed once by alice")
}

// All instances may begin and end the drill of one time: it is one, and ends once.
func TestCluster_AScheduledDrillIsOne(t *testing.T) {
	t.Parallel()
	a := newRig(t, onPostgres(t))
	b := a.another()
	for _, r := range []*rig{a, b} {
		require.Eventually(t, func() bool {
			got, err := r.agent().Ready(r.ctx())
			return err == nil && got.Ready
		}, time.Minute, 10*time.Millisecond)
	}
	at := time.Now()
	keys := make(chan string, 4)
	var drills errgroup.Group
	for _, r := range []*rig{a, b, a, b} {
		drills.Go(func() error {
			x, err := r.desk.Gate.Drills().Drill(r.ctx(), at)
			keys <- x.Key
			return err
		})
	}
	require.NoError(t, drills.Wait())
	key := <-keys
	for range 3 {
		require.Equal(t, key, <-keys)
	}
	require.Eventually(t, func() bool { return len(a.group.FromBot()) == 1 }, time.Minute, 10*time.Millisecond)
	for _, r := range []*rig{a, b, b} {
		drills.Go(func() error { _, err := r.desk.Gate.Drills().EndDrill(r.ctx(), key); return err })
	}
	require.NoError(t, drills.Wait())
	again, err := b.desk.Gate.Drills().Drill(b.ctx(), at)
	require.NoError(t, err)
	require.Equal(t, [2]any{key, approval.Withdrawn}, [2]any{again.Key, again.Status})
	entries, err := a.desk.Store.Log(a.ctx(), 0, 100)
	require.NoError(t, err)
	require.Len(t, slices.DeleteFunc(entries, func(e approval.Entry) bool { return e.Type != approval.EventDrilled }), 1)
	require.Len(t, a.group.FromBot(), 1)
	for _, r := range []*rig{a, b} {
		last, found, err := r.desk.Gate.Drills().LastDrill(r.ctx())
		require.NoError(t, err)
		require.Equal(t, [2]any{key, true}, [2]any{last.Key, found})
	}
}
