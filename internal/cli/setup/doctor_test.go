package setup

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/config"
	"approvalbot/internal/config/effective"
	"approvalbot/internal/hook"
	"approvalbot/internal/hook/install"
	"approvalbot/internal/hook/live"
)

func TestDoctor_WritesASCIIWhereTheTerminalTakesNoMore(t *testing.T) {
	var out bytes.Buffer
	a := &app.App{Stdout: &out, Env: config.Environ{"LANG": "C"}}
	require.NoError(t, printFindings(a, []core.Diagnostic{core.Fail("key file", "héllo", "mend it")}))
	require.Equal(t, "FAIL  key file: h\\u{E9}llo - mend it\n", out.String())
}

// A platform whose taps do not come in counts as broken with all its chats; a
// fallback that is broken stops nothing.
func TestDoctor_WeighsWhatStopsApprovals(t *testing.T) {
	t.Parallel()
	cfg, _, err := effective.Parse("f.yaml", []byte(`
people: [{name: alice, telegram: 111}]
channels: {telegram: {botToken: "1:a", allowedUserIds: [111]}, discord: {botToken: b, allowedUserIds: ["222"]}}
approvals: {tools: {routing: {targets: ["telegram:-5", "discord:6"], fallback: ["telegram:-7"]}}}
`), nil, nil)
	require.NoError(t, err)
	deaf, card := core.Fail("telegram", "no taps", "x"), core.OK("telegram:-5", "in it")
	levels := func(found ...core.Diagnostic) (out []core.Level) {
		for _, f := range weigh(found, cfg) {
			out = append(out, f.Level)
		}
		return out
	}
	require.Equal(t, []core.Level{"FAIL", "ok"}, levels(deaf, card), "cards come, and nobody hears the taps")
	require.Equal(t, []core.Level{"warn", "ok", "ok"}, levels(deaf, card, core.OK("discord:6", "in it")))
	require.Equal(t, []core.Level{"FAIL", "FAIL"}, levels(core.Fail("discord", "away", "x"), core.Fail("telegram:-5", "gone", "x")))
	require.Equal(t, []core.Level{"ok", "warn"}, levels(card, core.Fail("telegram:-7", "gone", "x")), "a fallback stops nothing")
	require.Equal(t, []core.Level{"ok", "FAIL"}, levels(card, core.Fail("key file", "missing", "x")), "what is no chat stays a failure")
	named := weigh([]core.Diagnostic{core.OK("telegram user 111", "a human"), core.OK("telegram:-7", "in it")}, cfg)
	require.Equal(t, "approver alice, telegram user 111", named[0].What)
	require.Equal(t, "fallback telegram:-7", named[1].What)
}

// Doctor says that a client which runs what it should not is not closed.
func TestDoctorLive_SaysWhatRuns(t *testing.T) {
	ran, kept := live.Result{Ran: true, Asked: true}, live.Result{Asked: true, Read: []string{"Hook error:\n denied by policy: no"}}
	claude, known := hook.Find("claude-code")
	require.True(t, known)
	require.Equal(t, core.LevelOK, allowFinding(ran).Level)
	require.Equal(t, core.LevelFail, allowFinding(kept).Level)
	require.Equal(t, core.LevelFail, denyFinding(ran).Level)
	require.Equal(t, core.LevelOK, denyFinding(kept).Level)
	require.Contains(t, denyFinding(kept).Text, "the model read: Hook error: denied by policy: no")
	for _, read := range [][]string{nil, {"this tool is not permitted"}} {
		require.Equal(t, core.LevelFail, denyFinding(live.Result{Asked: true, Read: read}).Level, "it proves nothing")
	}
	require.Contains(t, downFinding(claude, ran).Text, "RAN while no desk was running: Claude Code is not closed")
	require.Equal(t, core.LevelOK, downFinding(claude, kept).Level)
}

// Doctor says when OpenCode has never loaded the plugin that is installed for it.
func TestDoctor_FindsAPluginThatDidNotLoad(t *testing.T) {
	a := &app.App{Env: config.Environ{"HOME": t.TempDir()}}
	require.Empty(t, installations(a, "opencode"))
	require.Empty(t, hooksFindings(t.Context(), a, nil, true), "where none is installed nothing is said")
	o, err := runtimeOptions(a, "opencode")
	require.NoError(t, err)
	o.Scope, o.Client = install.User, "/nowhere/client.yaml"
	changes, err := install.Plan(o)
	require.NoError(t, err)
	for _, c := range changes {
		require.NoError(t, c.Write())
	}
	found := hooksFindings(t.Context(), a, nil, true)
	require.Equal(t, core.LevelOK, found[0].Level, found[0].Text)
	require.Equal(t, core.LevelWarn, found[1].Level)
	require.Contains(t, found[1].Text, "has not loaded")
	require.NoError(t, os.WriteFile(o.File()+".heartbeat", []byte("2026-11-22T19:59:16.621Z\n"), 0o600))
	found = hooksFindings(t.Context(), a, nil, true)
	require.Equal(t, core.OK("hook opencode (user)", "it last loaded its plugin at 2026-11-22T19:59:16.621Z"), found[1])
}

// A client file leads to this desk by the addresses that are this desk's, and by no other.
func TestDoctor_KnowsItsOwnAddress(t *testing.T) {
	t.Parallel()
	cfg := config.Defaults()
	for listen, is := range map[string]map[string]bool{
		"127.0.0.1:8787": {"http://127.0.0.1:8787": true, "http://localhost:8787/": true, "http://[::1]:8787": false,
			"http://127.0.0.1:8788": false, "https://127.0.0.1:8787": false, "http://desk.evil:8787": false, "%": false},
		"0.0.0.0:8787":  {"http://127.0.0.1:8787": true, "http://192.0.2.1:8787": false, "http://desk.evil:8787": false},
		"10.0.0.1:8787": {"http://10.0.0.1:8787": true, "http://127.0.0.1:8787": false, "https://desk.example.org": true},
	} {
		cfg.Server.Listen, cfg.Server.PublicURL = listen, "https://desk.example.org/"
		for server, same := range is {
			require.Equal(t, same, leadsTo(cfg, server), "%s at %s", server, listen)
		}
	}
}
