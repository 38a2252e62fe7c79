package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/fakechat"
	"approvalbot/internal/store/pgtest"
)

// connected waits until the running desk says that its chats are there, and has them itself: before
// it takes updates in it waits for another instance's chats.
func (r *rig) connected() *rig {
	r.t.Helper()
	require.Eventually(r.t, func() bool {
		s, err := r.agent().Ready(r.ctx())
		own := strings.Contains(r.logs.String(), "Telegram is connected")
		return err == nil && own && s.Channels["telegram"].Up && (r.dc == nil || s.Channels["discord"].Up)
	}, patient, 5*time.Millisecond)
	return r
}

// doctor runs the verb against the rig's own configuration file.
func (r *rig) doctor(args ...string) cliRun {
	var out, errs bytes.Buffer
	env := []string{"APPROVALBOT_CFG__SERVER__LISTEN=" + r.addr}
	code := run(r.ctx(), append([]string{"doctor", "--config", filepath.Join(r.dir, "approvalbot.yaml")}, args...), env, nil, &out, &errs)
	return cliRun{code, out.String(), errs.String()}
}

// Beside a running desk everything is found well, nobody is written to, and the
// desk goes on as before.
func TestDoctor_BesideARunningDesk(t *testing.T) {
	t.Parallel()
	r := newRig(t, withDiscord).connected()
	polls := len(r.tg.Calls("getUpdates"))
	got := r.doctor()
	require.Zero(t, got.code, got.out)
	require.NotContains(t, got.out, "FAIL")
	require.Equal(t, 1, strings.Count(got.out, "warn  "), "only what the configuration itself warns of")
	for _, line := range []string{
		"ok    config: ", "ok    policy: enough people", "ok    store: ", "ok    key file: ", "ok    store: is whole, the key fits it, SQLite 3", "ok    desk: runs at http://" + r.addr + " and is ready",
		"ok    telegram: the token is good, the bot is @approval_test_bot", "ok    clock: agrees with Telegram's", "ok    clock: agrees with Discord's",
		fmt.Sprintf("ok    target telegram:%d: supergroup \"ops\": the bot is in it and may post and edit", r.group.ID),
		fmt.Sprintf("ok    approver alice, telegram user %d: Alice is in telegram:%d", r.alice.ID, r.group.ID),
		"ok    target discord:" + r.ops.ID + ": #ops in \"desk\": the bot may post and edit",
		"ok    approver alice, discord user " + r.accounts["alice"].ID + ": is Alice, a person",
	} {
		require.Contains(t, got.out, line)
	}
	for _, secret := range []string{agentSecret, operatorSecret, "123456:TEST", r.dc.Token()} {
		require.NotContains(t, got.out+got.errors, secret)
	}
	require.Empty(t, r.group.FromBot())
	require.Empty(t, r.ops.FromBot())
	require.LessOrEqual(t, len(r.tg.Calls("getUpdates")), polls+1, "the desk's own polling goes on, alone")
	require.Equal(t, 1, r.dc.Gateway().Identifies())
	a := r.ask(`{"to":"prod"}`)
	r.tap(r.alice, r.group, r.card(a).ID, "Allow once")
	require.EqualValues(t, "approved", r.final(a).Status)
}

// PostgreSQL is connected to, and the key is held against its store.
func TestDoctor_LooksAtPostgreSQL(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(r *rig) { r.database = pgtest.New(t) }).connected()
	got := r.doctor()
	require.Zero(t, got.code, got.out)
	require.Regexp(t, `(?m)^ok    store: PostgreSQL \d+\S* answers, and the key fits it$`, got.out)
	key := filepath.Join(r.dir, "desk.key")
	require.NoError(t, os.WriteFile(key, []byte(strings.Repeat("k", 32)), 0o600))
	got = r.doctor()
	require.Equal(t, app.ExitError, got.code)
	require.Contains(t, got.out, "FAIL  store: key file "+key+" holds key ")
	require.NoError(t, os.Remove(key))
	got = r.doctor()
	require.Contains(t, got.out, "desk.key is missing, and the store was sealed with it")
	require.NotContains(t, got.out, "FAIL  store")
}

// One chat that is broken is a warning while the other brings cards; when none
// does, it is a failure.
func TestDoctor_FailsOnlyWhereApprovalsStop(t *testing.T) {
	t.Parallel()
	r := newRig(t, withDiscord).connected()
	r.group.Kick()
	got := r.doctor()
	require.Zero(t, got.code, got.out)
	require.Contains(t, got.out, fmt.Sprintf("warn  target telegram:%d: The bot was removed from this chat", r.group.ID))
	require.Contains(t, got.out, " — add it again")
	r.ops.SetAccess(fakechat.DiscordNoSend)
	got = r.doctor()
	require.Equal(t, app.ExitError, got.code)
	require.Contains(t, got.out, fmt.Sprintf("FAIL  target telegram:%d: ", r.group.ID))
	require.Contains(t, got.out, "FAIL  target discord:"+r.ops.ID+": #ops in \"desk\": the bot may not write here — give it Send Messages there")
	got = r.doctor("--json")
	require.Equal(t, app.ExitError, got.code)
	var found []core.Diagnostic
	require.NoError(t, json.Unmarshal([]byte(got.out), &found))
	require.NotEmpty(t, found)
}

func TestDoctor_OfARevokedTokenAndAStoppedDesk(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.stop()
	r.tg.RevokeToken()
	got := r.doctor()
	require.Equal(t, app.ExitError, got.code)
	require.Contains(t, got.out, "FAIL  telegram: Telegram does not accept the bot token")
	require.Contains(t, got.out, "FAIL  desk: no desk runs at http://"+r.addr+" — start it with approvalbot serve")
	r.tg.SetToken("123456:TEST")
	require.NoError(t, os.Chmod(filepath.Join(r.dir, "desk.key"), 0o644))
	got = r.doctor()
	require.Equal(t, app.ExitError, got.code)
	require.Contains(t, got.out, "desk.key has mode 0644")
	require.NoError(t, os.Remove(filepath.Join(r.dir, "desk.key")))
	require.NoError(t, os.WriteFile(filepath.Join(r.dir, "desk.key"), []byte(strings.Repeat("k", 32)), 0o600))
	require.Contains(t, r.doctor().out, "FAIL  store: store ")
	require.Contains(t, r.doctor().out, "but this store was sealed with key")
	require.NoError(t, os.Remove(filepath.Join(r.dir, "desk.key")))
	require.Contains(t, r.doctor().out, "desk.key is missing, and the store was sealed with it")
	require.NoError(t, os.WriteFile(filepath.Join(r.dir, "desk.db"), []byte("not a database"), 0o600))
	require.Contains(t, r.doctor().out, "is not a SQLite database")
}

func TestDoctor_AsksVerifierAndClassifier(t *testing.T) {
	t.Parallel()
	answer := `{"decision":"allow"}`
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, answer) }))
	t.Cleanup(hook.Close)
	r := newRig(t, func(r *rig) {
		r.top = fmt.Sprintf("tools:\n  verifier: {enabled: true, webhook: {url: %q, secret: \"a-secret-of-sufficient-length-0123\"}}\n", hook.URL)
		r.tools = fmt.Sprintf("    classifier: {enabled: true, model: m, apiUrl: %q, timeoutMs: 30000}\n", hook.URL)
	}).connected()
	got := r.doctor()
	require.Zero(t, got.code, got.out)
	require.Contains(t, got.out, "ok    verifier tools.verifier: ")
	require.Contains(t, got.out, "answers allow after")
	require.Contains(t, got.out, "warn  classifier: the model gave no valid opinion (invalid)")
	answer = "nonsense"
	got = r.doctor()
	require.Equal(t, app.ExitError, got.code)
	require.Contains(t, got.out, "FAIL  verifier tools.verifier: ")
}

// A clock that runs off is told, and stops nothing.
func TestDoctor_TellsOfAWrongClock(t *testing.T) {
	t.Parallel()
	r := newRig(t).connected()
	r.tg.Advance(5 * time.Minute)
	got := r.doctor()
	require.Zero(t, got.code, got.out)
	require.Regexp(t, `warn  clock: is (4m5\ds|5m0s) behind Telegram's`, got.out)
	require.Contains(t, got.out, "let NTP set this machine's clock")
	require.False(t, strings.Contains(got.out, "FAIL"))
}
