package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/internal/hook/live"
)

// codexScript is as much of Codex as its trust needs: an app server that lists the hook of its
// home, with a hash of the file, and writes what it is told to trust.
const codexScript = `#!/bin/sh
[ "$1" = --version ] && { echo codex-cli 0.169.0; exit; }
home=${CODEX_HOME:-$HOME/.codex}
key=$home/hooks.json:pre_tool_use:0:0
hash=sha256:$(cksum <"$home/hooks.json" | tr -d ' ')
n=0
while read -r line; do
  case $line in *'"id"'*) n=$((n+1)) ;; *) continue ;; esac
  status=untrusted
  grep -qs "$hash" "$home/config.toml" && status=trusted
  case $line in
  *hooks/list*)
    printf '{"id":%d,"result":{"data":[{"hooks":[{"key":"%s","currentHash":"%s","trustStatus":"%s"}]}]}}\n' $n "$key" "$hash" $status ;;
  *batchWrite*)
    printf '[hooks.state."%s"]\ntrusted_hash = "%s"\n' "$key" "$hash" >>"$home/config.toml"
    printf '{"id":%d,"result":{}}\n' $n ;;
  *) printf '{"id":%d,"result":{}}\n' $n ;;
  esac
done
`

// user runs approvalbot as a program of its own, in a project of its own, with those programs
// on PATH.
type user struct {
	newcomer
	project, path string
}

func newUser(t *testing.T, path string) user {
	t.Helper()
	return user{newNewcomer(t), t.TempDir(), path}
}

// onPath puts a program of that name before PATH.
func onPath(t *testing.T, name, text string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700))
	return dir + string(os.PathListSeparator) + os.Getenv("PATH")
}

func (u user) run(stdin string, words ...string) output {
	u.t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(u.rig.ctx(), program(u.t), words...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = u.project, strings.NewReader(stdin), &stdout, &stderr
	cmd.Env = []string{"HOME=" + u.home, "PATH=" + u.path, "APPROVALBOT_CFG__SERVER__LISTEN=" + u.rig.addr}
	_ = cmd.Run() // its exit status is looked at
	return output{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// hooks are what doctor says of hooks, a finding a line, and whether one of them is a failure.
func (u user) hooks(words ...string) (lines string, fails bool) {
	u.t.Helper()
	out := u.run("", append([]string{"doctor", "--json", "--config", filepath.Join(u.rig.dir, "approvalbot.yaml")}, words...)...)
	var found []core.Diagnostic
	require.NoError(u.t, json.Unmarshal([]byte(out.stdout), &found), out.stdout+out.stderr)
	for _, f := range found {
		if strings.HasPrefix(f.What, "hook ") {
			lines += string(f.Level) + " " + f.What + ": " + f.Text + "\n"
			fails = fails || f.Level == core.LevelFail
		}
	}
	if fails {
		require.Equal(u.t, 1, out.code)
	}
	require.NotContains(u.t, out.stdout+out.stderr, agentSecret)
	return lines, fails
}

func codexes(t *testing.T, f func(t *testing.T, path string)) {
	t.Run("script", func(t *testing.T) { f(t, onPath(t, "codex", codexScript)) })
	t.Run("real", func(t *testing.T) { f(t, clientPath(t, "codex")) })
}

// clientPath is PATH with that runtime's real client on it; else the test is skipped.
func clientPath(t *testing.T, runtime string) string {
	t.Helper()
	path := agentsPath(t)
	if live.Find(runtime, path) == "" {
		t.Skipf("%s: not tested, its client is not installed", runtime)
	}
	return path
}

// doctor --live tries what is installed, with each real client, and leaves the user's home as
// it was. Its desk and its people hear nothing of that.
func TestAgents_DoctorLiveOfAnInstallation(t *testing.T) {
	t.Parallel()
	for _, name := range live.Runtimes() {
		t.Run(name, func(t *testing.T) {
			u := newUser(t, clientPath(t, name))
			out := u.run("", "doctor", "--live", name)
			require.Equal(t, 1, out.code, "nothing is installed")
			require.Contains(t, out.stderr, "run approvalbot install "+name)
			out = u.run("", "install", name, "--user", "--trust")
			require.Zero(t, out.code, out.stdout+out.stderr)
			require.NoError(t, os.MkdirAll(filepath.Join(u.home, ".cache"), 0o700))
			was := homeFiles(t, u.home)
			out = u.run("", "doctor", "--live", name)
			t.Log(out.stdout)
			require.Zero(t, out.code, out.stdout+out.stderr)
			require.Contains(t, out.stdout, "ok    deny: the command did not run")
			require.Equal(t, was, homeFiles(t, u.home))
			asked, err := u.rig.agent().List(u.rig.ctx(), api.Filter{})
			require.NoError(t, err)
			require.Empty(t, asked.Items)
		})
	}
}

// homeFiles are the files of a home, with what they say.
func homeFiles(t *testing.T, home string) map[string]string {
	t.Helper()
	out := map[string]string{}
	require.NoError(t, filepath.WalkDir(home, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			out[path] = string(text)
		}
		return err
	}))
	return out
}

// A hook that Codex does not trust yet is skipped without a word: install says so and fails,
// however the trust is missing, and the same line with --trust completes it.
func TestAdversary_T27_AnUntrustedCodexHook(t *testing.T) {
	t.Parallel()
	codexes(t, func(t *testing.T, path string) {
		u := newUser(t, path)
		for stdin, words := range map[string][]string{"": {"install", "codex", "--user"}, "no\n": {"install", "codex", "--user"}} {
			out := u.run(stdin, words...)
			require.Equal(t, 1, out.code, out.stdout)
			require.Contains(t, out.stderr, "the hook is written and NOT in force, so Codex runs calls without asking: "+
				"Codex skips the hook until it is trusted; run: approvalbot install codex --user --trust, or review it in Codex (/hooks)")
			require.NotContains(t, out.stdout, "asks the desk")
			_, open, _ := strings.Cut(out.stdout, "What stays open:")
			require.Contains(t, open, "Codex skips the hook until it is trusted.")
		}
		lines, fails := u.hooks()
		require.True(t, fails, lines)
		require.Contains(t, lines, "FAIL hook codex (user): Codex skips the hook until it is trusted\n")
		tried := u.run("", "doctor", "--live", "codex")
		require.Equal(t, 1, tried.code)
		require.Contains(t, tried.stdout, "FAIL  client: it was not tried: what is installed is not in force")

		out := u.run("", "install", "codex", "--user", "--trust")
		require.Zero(t, out.code, out.stdout+out.stderr)
		require.Contains(t, out.stdout, "Codex asks the desk before it starts a command, changes a file or calls a tool, "+
			"but not before it types into a program that runs.")
		require.NotContains(t, out.stdout, "before every tool call")
		lines, fails = u.hooks()
		require.False(t, fails, lines)
		require.Contains(t, lines, "in force")
		require.Zero(t, u.run("", "install", "codex", "--user").code, "it is trusted now")

		// What was trusted is this very hook, switched on.
		hooks, config := u.read(".codex/hooks.json"), u.read(".codex/config.toml")
		u.write(".codex/config.toml", strings.Replace(config, "trusted_hash", "enabled = false\ntrusted_hash", 1))
		lines, fails = u.hooks()
		require.True(t, fails)
		require.Contains(t, lines, "it is switched off there")
		u.write(".codex/config.toml", "features = {hooks = false}\n"+config)
		lines, fails = u.hooks()
		require.True(t, fails)
		require.Contains(t, lines, "features.hooks in "+filepath.Join(u.home, ".codex/config.toml")+" switches the hook off")
		u.write(".codex/config.toml", config)
		u.write(".codex/hooks.json", strings.Replace(hooks, "3) exit 0", "*) exit 0", 1))
		lines, fails = u.hooks()
		require.True(t, fails)
		require.Contains(t, lines, "the hook PreToolUse was changed in")
	})
	t.Run("not on PATH", func(t *testing.T) {
		u := newUser(t, "/usr/bin:/bin")
		out := u.run("", "install", "codex", "--user", "--trust")
		require.Equal(t, 1, out.code)
		require.Contains(t, out.stderr, "NOT in force")
		require.Contains(t, out.stderr, "codex is not on PATH")
	})
	t.Run("broken", func(t *testing.T) {
		u := newUser(t, onPath(t, "codex", "#!/bin/sh\nexit 1\n"))
		out := u.run("", "install", "codex", "--user", "--trust")
		require.Equal(t, 1, out.code)
		require.Contains(t, out.stderr, "NOT in force")
	})
}

// doctor --live proves an installation: without one it fails, though the client is there and
// its dialect is known.
func TestAdversary_T27_DoctorLiveWithoutAnInstallation(t *testing.T) {
	t.Parallel()
	u := newUser(t, onPath(t, "claude", "#!/bin/sh\nexec fakeclaude \"$@\"\n"))
	out := u.run("", "doctor", "--live", "claude-code")
	require.Equal(t, 1, out.code, out.stdout)
	require.Contains(t, out.stderr, "run approvalbot install claude-code")
	require.NotContains(t, out.stdout, "ok ")

	require.Zero(t, u.run("", "install", "claude-code", "--user").code)
	out = u.run("", "doctor", "--live", "claude-code")
	require.Zero(t, out.code, out.stdout+out.stderr)
	for _, line := range []string{
		"ok    hook claude-code (user): " + filepath.Join(u.home, ".claude/settings.json") + " is as install writes it and in force",
		"warn  hook claude-code (user): no call was ever asked with the token agent",
		"ok    client: Claude Code 9.9.9 calls " + program(t) + "-hook",
		"ok    allow: the command ran", "ok    deny: the command did not run", "ok    desk down: the command did not run",
	} {
		require.Contains(t, out.stdout, line)
	}
	asked, err := u.rig.agent().List(u.rig.ctx(), api.Filter{})
	require.NoError(t, err)
	require.Empty(t, asked.Items, "the installed desk is not asked about what is tried")
	entries, err := os.ReadDir(filepath.Join(u.home, ".cache"))
	require.NoError(t, err)
	require.Empty(t, entries, "nothing is left")

	require.Zero(t, u.run("", "install", "claude-code", "--user", "--beside").code)
	out = u.run("", "doctor", "--live", "claude-code")
	require.Equal(t, 1, out.code)
	require.Contains(t, out.stdout, "it was not tried: a hook beside the dialog")
}

// Doctor finds what keeps a hook that is installed from asking.
func TestAdversary_T27_DoctorLooksAtTheHook(t *testing.T) {
	t.Parallel()
	u := newUser(t, onPath(t, "claude", "#!/bin/sh\necho '2.1.294 (Claude Code)'\n"))
	require.Zero(t, u.run("", "doctor", "--offline", "--config", filepath.Join(u.rig.dir, "approvalbot.yaml")).code)
	lines, _ := u.hooks()
	require.Empty(t, lines, "nothing is installed")

	out := u.run("", "install", "claude-code", "--user")
	require.Equal(t, 1, out.code, "its client is too old for the hook")
	require.Contains(t, out.stderr, "Claude Code 2.1.294 ignores onFailure, so a call runs if its hook fails; take 2.1.295 or newer")
	u.path = "/usr/bin:/bin"
	out = u.run("", "install", "claude-code", "--user")
	require.Zero(t, out.code, out.stderr)
	require.Contains(t, out.stdout, "programs of the Agent SDK with settingSources: [], skip this hook.")
	u.rig.ask(`{"to":"prod"}`)
	lines, fails := u.hooks()
	require.False(t, fails, lines)
	settings, client := u.read(".claude/settings.json"), u.read(".config/approvalbot/client.yaml")
	for _, line := range []string{
		"ok hook claude-code (user): " + filepath.Join(u.home, ".claude/settings.json") + " is as install writes it and in force: it asks before every tool call, and what the desk allows skips its own dialog\n",
		"ok hook claude-code (user): its program " + program(t) + "-hook is this one\n",
		"ok hook claude-code (user): " + u.client("client") + " names the desk " + u.rig.url + ", which takes its token agent\n",
		"ok hook claude-code (user): the token agent last asked at 20",
		"warn hook claude-code (user): claude --bare and --safe-mode, and programs of the Agent SDK with settingSources: [], skip this hook\n",
	} {
		require.Contains(t, lines, line)
	}

	settingsFile, clientFile := ".claude/settings.json", ".config/approvalbot/client.yaml"
	in := func(dir string, name, text string) func() {
		return func() {
			path := filepath.Join(dir, name)
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
			require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
			require.NoError(t, os.Chmod(path, 0o600))
		}
	}
	another := filepath.Join(t.TempDir(), "approvalbot")
	in(filepath.Dir(another), "approvalbot", "#!/bin/sh\nexit 3\n")()
	for name, c := range map[string]struct {
		harm func()
		says string
	}{
		"an edited hook": {in(u.home, settingsFile, strings.Replace(settings, `exit 2"`, `exit 0"`, 1)), "the hook PreToolUse was changed in"},
		"for one tool":   {in(u.home, settingsFile, strings.Replace(settings, `"*"`, `"Read"`, 1)), "the hook PreToolUse was changed in"},
		"not blocking":   {in(u.home, settingsFile, strings.Replace(settings, `, "onFailure": "block"`, "", 1)), "the hook PreToolUse was changed in"},
		"no hook before": {in(u.home, settingsFile, strings.Replace(settings, "PreToolUse", "Stop", 1)), "the hook PreToolUse is missing in"},
		"a second hooks member": {in(u.home, settingsFile, strings.TrimSuffix(strings.TrimSpace(settings), "}")+
			`, "hooks": {"PostToolUse": [`+postToolUse(t, settings)+`]}}`), `"hooks" is given twice in the same object`},
		"twice in the project's":      {in(u.project, settingsFile, `{"disableAllHooks": false, "disableAllHooks": true}`), "cannot find out whether"},
		"switched off by the user":    {in(u.home, settingsFile, strings.Replace(settings, "{", `{"disableAllHooks": true,`, 1)), "disableAllHooks in " + u.home},
		"switched off by the project": {in(u.project, settingsFile, `{"disableAllHooks": true}`), "disableAllHooks in " + u.project},
		"… by a local file of it":     {in(u.project, ".claude/settings.local.json", "{\n// x\n\"disableAllHooks\": true}"), "settings.local.json switches the hook off"},
		"a program that is gone":      {in(u.home, settingsFile, strings.ReplaceAll(settings, program(t), "/nowhere/approvalbot")), "its program is gone, so every call is denied"},
		"a program of another":        {in(u.home, settingsFile, strings.ReplaceAll(settings, program(t)+"-hook", another+" hook")), another + " cannot be executed"},
		"a client file that is gone":  {func() { require.NoError(t, os.Remove(filepath.Join(u.home, clientFile))) }, "its client file cannot be used, so every call is denied"},
		"one that others read":        {func() { require.NoError(t, os.Chmod(filepath.Join(u.home, clientFile), 0o644)) }, "others can read it"},
		"a foreign desk":              {in(u.home, clientFile, "server: http://127.0.0.1:9\ntoken: "+agentSecret+"\n"), "names the desk http://127.0.0.1:9, and that of"},
		"a token that is gone":        {in(u.home, clientFile, "server: "+u.rig.url+"\ntoken: no-such-token\n"), "does not take its token"},
		"an operator's token":         {in(u.home, clientFile, "server: "+u.rig.url+"\ntoken: "+operatorSecret+"\n"), "may not ask"},
	} {
		t.Run(name, func(t *testing.T) {
			c.harm()
			lines, fails := u.hooks()
			require.True(t, fails, lines)
			require.Contains(t, lines, c.says)
			in(u.home, settingsFile, settings)()
			in(u.home, clientFile, client)()
			require.NoError(t, os.RemoveAll(filepath.Join(u.project, ".claude")))
			lines, fails = u.hooks()
			require.False(t, fails, lines)
		})
	}
	require.NoError(t, os.Chmod(another, 0o700))
	in(u.home, settingsFile, strings.ReplaceAll(settings, program(t)+"-hook", another+" hook"))()
	lines, _ = u.hooks()
	require.Contains(t, lines, "FAIL hook claude-code (user): its program "+another+" is not this one")
	in(u.home, settingsFile, settings)()

	// A machine of agents alone has no configuration; a stopped desk is no surprise with --offline.
	u.rig.stop()
	lines, fails = u.hooks()
	require.True(t, fails)
	require.Contains(t, lines, "was not reached, so every call is denied")
	lines, fails = u.hooks("--offline")
	require.False(t, fails, lines)
	out = u.run("", "doctor", "--offline")
	require.Zero(t, out.code, out.stdout+out.stderr)
	require.Contains(t, out.stdout, "warn  config: no configuration was found")
	require.Contains(t, out.stdout, "ok    hook claude-code (user)")
}

// postToolUse is the item that install wrote for PostToolUse.
func postToolUse(t *testing.T, settings string) string {
	t.Helper()
	var all struct{ Hooks map[string][]json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(settings), &all))
	return string(all.Hooks["PostToolUse"][0])
}

// What install says is so: no advice that doctor refuses, no copy of what was not there, and
// each runtime's own limits.
func TestInstall_SaysWhatIsSo(t *testing.T) {
	t.Parallel()
	u := newUser(t, "/usr/bin:/bin")
	for runtime, says := range map[string][]string{
		"windsurf":   {"Windsurf asks the desk before it runs a command, calls an MCP tool or writes a file.", "is not asked about"},
		"qwen-code":  {"Qwen Code waits 60 s for a hook", "makes the same call again", "doctor --live qwen-code"},
		"opencode":   {"A plugin that OpenCode does not load runs every call", "OpenCode has not loaded"},
		"cursor":     {"To see whether it stays in force: approvalbot doctor\n"},
		"gemini-cli": {"settings.json, which was not there; settings.json.approvalbot-created-", "doctor --live gemini-cli"},
		"goose":      {"Goose asks the desk before every tool call"},
	} {
		out := u.run("", "install", runtime, "--user")
		require.Zero(t, out.code, out.stderr)
		for _, words := range says {
			require.Contains(t, out.stdout, words, runtime)
		}
		require.NotContains(t, out.stdout, "keeps what it was", runtime)
		advised := strings.Contains(out.stdout, "doctor --live "+runtime)
		require.Equal(t, advised, !strings.Contains(u.run("", "doctor", "--live", runtime).stderr, "doctor cannot try"), runtime)
		require.Equal(t, runtime == "windsurf", !strings.Contains(out.stdout, "before every tool call"), runtime)
	}
}
