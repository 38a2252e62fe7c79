package hook

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// claudeMachine is a machine on which Claude Code runs with nothing beside approvalbot's hook.
type claudeMachine struct {
	ClaudeSetup
	t   *testing.T
	dir string
	env map[string]string
}

func newClaudeMachine(t *testing.T) *claudeMachine {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	m := &claudeMachine{t: t, dir: dir, env: map[string]string{"AI_AGENT": "claude-code_2-1-330_harness", "CLAUDE_CODE_ENTRYPOINT": "cli",
		"CLAUDE_PROJECT_DIR": filepath.Join(dir, "h/up/p"), "CLAUDE_CODE_SESSION_ID": "s-1"}}
	m.ClaudeSetup = ClaudeSetup{Home: filepath.Join(dir, "h"), Root: dir, Program: filepath.Join(dir, "approvalbot-hook"), File: "/c",
		Arguments: []string{"/usr/bin/claude", "-p", "clean - up", "--model=x", "--permission-mode", "acceptEdits", "-c"}}
	m.write("approvalbot-hook", "")
	require.NoError(t, os.Symlink(m.Program, m.dir+"/link"))
	return m
}

func (m *claudeMachine) write(name, text string) {
	m.t.Helper()
	require.NoError(m.t, os.MkdirAll(filepath.Dir(filepath.Join(m.dir, name)), 0o700))
	require.NoError(m.t, os.WriteFile(filepath.Join(m.dir, name), []byte(text), 0o600))
}

func (m *claudeMachine) alone() error {
	m.Environ = nil
	for name, value := range m.env {
		m.Environ = append(m.Environ, name+"="+value)
	}
	m.Began = nil
	for _, name := range []string{"HOME", "CLAUDE_CONFIG_DIR", "XDG_STATE_HOME", "CLAUDE_ENV_FILE"} {
		if value, has := m.env[name]; has {
			m.Began = append(m.Began, name+"="+value)
		}
	}
	if m.Dir == "" {
		m.Dir = m.env["CLAUDE_PROJECT_DIR"]
	}
	_, err := m.Alone()
	return err
}

// ownHookText is what install writes, for a program of that machine.
func (m *claudeMachine) ownHookText() string {
	return `{"matcher": "*", "hooks": [{"type": "command", "command": "/bin/sh", "args": ["-c", "unset -f echo; ` + m.Program + ` claude-code PreToolUse --client /c --limit 24h --confine --caller $PPID; case $? in 2) exit 2;; 3) exit 0;; esac; echo \"approvalbot is not where it was installed, or broke down, so the call is denied\" >&2; exit 2"], "timeout": 86400, "onFailure": "block", "statusMessage": "asking"}]}`
}

// K8, K9: if another hook, or a rule of the client's own, judges or changes commands, they are not confined.
func TestAdversary_K8_K9_WhatElseJudgesCommands(t *testing.T) {
	t.Parallel()
	m := newClaudeMachine(t)
	require.NoError(t, m.alone(), "no settings at all")
	m.write("h/.claude/settings.json", `{"permissions": {"allow": ["Bash(ls:*)"], "deny": ["WebFetch", "mcp__x__y"], "ask": []}, "model": "x", "env": {"CLAUDE_CODE_MAX_OUTPUT_TOKENS": "1", "FOO": "x"},
		"hooks": {"PreToolUse": [`+m.ownHookText()+`, {"matcher": "Edit|Write", "hooks": [{"type": "command", "command": "fmt"}]}], "PostToolUse": [{"hooks": [{"type": "command", "command": "x"}]}],
		"SessionStart": [`+strings.NewReplacer("PreToolUse", "SessionStart", "24h", "30s").Replace(m.ownHookText())+`]},
		"enabledPlugins": {"a@b": false}, "sandbox": {"enabled": false}}`)
	m.write("h/.claude/skills/a/SKILL.md", "---\nname: a\ndescription: >\n  it says hooks\nallowed-tools:\n  - Read\n---\nsee our hooks\n")
	m.write("h/.claude/commands/b.md", "No head at all.\n")
	require.NoError(t, os.MkdirAll(filepath.Join(m.dir, "h/up/p/.git"), 0o700))
	require.NoError(t, m.alone())

	m.Page = "a"
	require.NoError(t, m.alone())
	m.write("h/up/p/.claude/skills/ours/SKILL.md", "---\nname: ours\n---\n")
	m.write("h/.claude/skills/odd/SKILL.md/x", "")
	m.write("h/up/p/.claude/skills/b/SKILL.md", "---\nname: b\n---\n") // beside the user's command
	for _, elsewhere := range []string{"c", "b", "ours", "odd", "x:a", "../skills/a", "/"} {
		m.Page = elsewhere
		require.ErrorContains(t, m.alone(), "a skill or command that is not the user's", elsewhere)
	}
	require.NoError(t, os.RemoveAll(filepath.Join(m.dir, "h/up/p/.claude")))

	own := m.ownHookText()
	ours := newClaudeMachine(t)
	ours.write("h/up/p/.claude/settings.json", `{"hooks": {"PreToolUse": [`+ours.ownHookText()+`]}}`)
	ours.write("h/.claude/settings.json", `{"statusLine": {"type": "command", "command": "x"}}`)
	require.NoError(t, ours.alone(), "the same hook in the project, and a status line of the user's")
	for name, c := range map[string][2]string{
		"a deny rule":                 {"h/.claude/settings.json", `{"permissions": {"deny": ["Bash(curl:*)"]}}`},
		"an ask rule of the project":  {"h/up/p/.claude/settings.json", `{"permissions": {"ask": ["Bash"]}}`},
		"a rule of files":             {"h/up/p/.claude/settings.local.json", `{"permissions": {"deny": ["Read(./private/**)"]}}`},
		"a rule of all tools":         {"h/up/p/.claude/settings.json", `{"permissions": {"ask": ["*"]}}`},
		"a skill's hooks, managed":    {"etc/claude-code/.claude/skills/b/SKILL.md", "---\nname: b\nhooks:\n  PreToolUse: []\n---\n"},
		"lines that end as of old":    {"h/.claude/agents/b.md", "---\ndescription: b\rhooks:\r  PreToolUse: []\n---\n"},
		"lines that end as in YAML":   {"h/.claude/agents/b.md", "---\ndescription: b\u2028\"\\x68ooks\": {}\n---\n"},
		"another home":                {"h/.claude/settings.json", `{"env": {"HOME": "/x"}}`},
		"a function of its shell":     {"h/up/p/.claude/settings.json", `{"env": {"BASH_FUNC_source%%": "() { :; }"}}`},
		"what its shell loads":        {"h/up/p/.claude/settings.local.json", `{"env": {"GCONV_PATH": "/x"}}`},
		"what its shell reads":        {"h/.claude/settings.json", `{"env": {"CLAUDE_ENV_FILE": "/x"}}`},
		"where its files are":         {"h/.claude/settings.json", `{"env": {"CLAUDE_CODE_TMPDIR": "/x"}}`},
		"another folder of records":   {"h/up/p/.claude/settings.json", `{"env": {"XDG_STATE_HOME": "/x"}}`},
		"another folder of settings":  {"h/up/p/.claude/settings.json", `{"env": {"CLAUDE_CONFIG_DIR": "/x"}}`},
		"managed":                     {"etc/claude-code/managed-settings.json", `{"permissions": {"deny": ["Bash"]}}`},
		"a managed drop-in":           {"etc/claude-code/managed-settings.d/10.json", `{"permissions": {"deny": ["Bash"]}}`},
		"from a server":               {"h/.claude/remote-settings.json", `{"permissions": {"deny": ["Bash"]}}`},
		"a policy helper":             {"etc/claude-code/managed-settings.json", `{"policyHelper": {"path": "/x"}}`},
		"a hook":                      {"h/.claude/settings.json", `{"hooks": {"PreToolUse": [` + own + `, {"matcher": "Bash", "hooks": [{"type": "command", "command": "rtk"}]}]}}`},
		"a hook beside ours":          {"h/.claude/settings.json", strings.Replace(`{"hooks": {"PreToolUse": [`+own+`]}}`, `"hooks": [{`, `"hooks": [{"type": "http", "url": "x"}, {`, 1)},
		"a hook that says our words":  {"h/.claude/settings.json", `{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "h.sh approvalbot claude-code PreToolUse x"}]}]}}`},
		"our hook, and one behind":    {"h/.claude/settings.json", `{"hooks": {"PreToolUse": [` + strings.Replace(own, "exit 2\"]", "exit 2; rtk\"]", 1) + `]}}`},
		"our hook of another desk":    {"h/.claude/settings.json", `{"hooks": {"PreToolUse": [` + strings.Replace(own, "--client /c", "--client /d", 1) + `]}}`},
		"kept of an organisation":     {"h/.claude/state/hybrid-settings.json", `{}`},
		"a rule of a skill":           {"h/up/p/.claude/skills/b/SKILL.md", "---\nname: b\ndisallowed-tools: Bash(./frob:*)\n---\n"},
		"an unknown member of a head": {"h/up/p/.claude/commands/b.md", "---\nname: b\nshell: zsh\n---\n"},
		"our hook, not waited for":    {"h/up/p/.claude/settings.json", `{"hooks": {"PreToolUse": [` + strings.Replace(own, `"timeout"`, `"async": true, "timeout"`, 1) + `]}}`},
		"our hook, and no time":       {"h/up/p/.claude/settings.json", `{"hooks": {"PreToolUse": [` + strings.Replace(own, "86400,", "0.01,", 1) + `]}}`},
		"our hook, for a second":      {"h/up/p/.claude/settings.json", `{"hooks": {"PreToolUse": [` + strings.Replace(own, "86400,", "1,", 1) + `]}}`},
		"our hook, open if it fails":  {"h/up/p/.claude/settings.json", `{"hooks": {"PreToolUse": [` + strings.Replace(own, `"onFailure": "block", `, "", 1) + `]}}`},
		"a status line's program":     {"h/up/p/.claude/settings.json", `{"statusLine": {"type": "command", "command": "./x"}}`},
		"servers of the project":      {"h/up/p/.claude/settings.json", `{"enableAllProjectMcpServers": true}`},
		"our hook by a link":          {"h/up/p/.claude/settings.json", `{"hooks": {"PreToolUse": [` + strings.Replace(own, m.Program, m.dir+"/link", 1) + `]}}`},
		"our hook by the kernel":      {"h/up/p/.claude/settings.json", `{"hooks": {"PreToolUse": [` + strings.Replace(own, m.Program, "/proc/self/exe", 1) + `]}}`},
		"another program's":           {"h/.claude/settings.json", `{"hooks": {"PreToolUse": [` + strings.Replace(own, m.Program, "/bin/cat", 1) + `]}}`},
		"a hook by an expression":     {"h/.claude/settings.json", `{"hooks": {"PreToolUse": [{"matcher": "B.*", "hooks": [{"type": "command", "command": "rtk"}]}]}}`},
		"a hook of all tools":         {"h/.claude/settings.json", `{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "rtk"}]}]}}`},
		"a hook that brings rules":    {"h/.claude/settings.json", `{"hooks": {"PermissionRequest": [{"hooks": [{"type": "command", "command": "x"}]}]}}`},
		"a plugin":                    {"h/.claude/settings.json", `{"enabledPlugins": {"a@b": true}}`},
		"a plugin with a version":     {"h/.claude/settings.json", `{"enabledPlugins": {"a@b": ["1.0"]}}`},
		"one beside ours, at start":   {"h/.claude/settings.json", `{"hooks": {"SessionStart": [` + own + `, {"hooks": [{"type": "command", "command": "x"}]}]}}`},
		"a hook that brings code":     {"h/.claude/settings.json", `{"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "x"}]}]}}`},
		"code of the session":         {"h/.claude/session-env/s-1/hook.sh", "x() { :; }"},
		"a plugin of an account":      {"h/.claude/plugins/synced/p/plugin.json", `{}`},
		"a plugin of a session":       {"h/.claude/dev-mods/s-1/p/.claude-plugin/plugin.json", `{}`},
		"a page of many bytes":        {"h/up/p/.claude/skills/b/SKILL.md", strings.Repeat("\n h\n", 1<<19)},
		"a plugin among skills":       {"h/.claude/skills/sp/.claude-plugin/plugin.json", `{}`},
		"hooks among skills":          {"h/.claude/skills/sp/hooks/hooks.json", `{}`},
		"a variable":                  {"h/.claude/settings.json", `{"env": {"CLAUDE_CODE_SHELL_PREFIX": "/x"}}`},
		"policy helpers":              {"etc/claude-code/managed-settings.json", `{"policyHelpers": {"linux": {"path": "/x"}}}`},
		"more folders":                {"h/.claude/settings.json", `{"permissions": {"additionalDirectories": ["/x"]}}`},
		"a launcher":                  {"h/.claude/settings.json", `{"processWrapper": ["/x"]}`},
		"an unknown member":           {"h/.claude/settings.json", `{"newMember": 1}`},
		"another case":                {"h/.claude/settings.json", `{"Permissions": {"deny": ["Bash"]}}`},
		"what bash reads first":       {"h/.claude/settings.json", `{"env": {"BASH_ENV": "/x"}}`},
		"an output style's hooks":     {"h/up/p/.claude/output-styles/b.md", "---\nname: b\nhooks:\n  PreToolUse: []\n---\n"},
		"its sandbox":                 {"h/up/p/.claude/settings.json", `{"sandbox": {"enabled": true}}`},
		"broken settings":             {"h/up/p/.claude/settings.json", `{`},
		"a name twice":                {"h/up/p/.claude/settings.json", `{"permissions": {}, "permissions": {}}`},
		"rules of another shape":      {"h/up/p/.claude/settings.json", `{"permissions": {"deny": "Bash"}}`},
		"a skill's hooks":             {"h/up/p/.claude/skills/b/SKILL.md", "---\nname: b\nhooks:\n  PreToolUse: []\n---\n"},
		"a skill's hooks, further up": {"h/up/.claude/skills/b/SKILL.md", "---\nname: b\nhooks:\n  PreToolUse: []\n---\n"},
		"an agent's hooks":            {"h/.claude/agents/b.md", "---\n\"hooks\": {}\n---\n"},
		"a head in braces":            {"h/.claude/agents/b.md", "---\n{name: sk, hooks: {PreToolUse: []}}\n---\n"},
		"a head behind its mark":      {"h/.claude/agents/b.md", "--- {name: sk, hooks: {PreToolUse: []}}\n---\n"},
		"a name by its number":        {"h/.claude/agents/b.md", "---\nname: b\n\"\\x68ooks\": {}\n---\n"},
		"a head that is indented":     {"h/.claude/agents/b.md", "---\n  name: b\n  \"\\x68ooks\": {}\n---\n"},
		"a head by an anchor":         {"h/.claude/agents/b.md", "---\nname: &a {\"\\x68ooks\": {}}\n<<: *a\n---\n"},
		"a head without an end":       {"h/.claude/agents/b.md", "---\nname: b\n"},
		"a linked worktree":           {"h/up/p/.git", "gitdir: /elsewhere/.git/worktrees/p\n"},
		"below a linked worktree":     {"h/up/.git", "gitdir: /elsewhere/.git/worktrees/up\n"},
	} {
		t.Run(name, func(t *testing.T) {
			other := newClaudeMachine(t)
			other.Program = m.Program
			other.write(c[0], c[1])
			require.Error(t, other.alone())
		})
	}
	m = newClaudeMachine(t)
	m.write("elsewhere/b/SKILL.md", "x")
	require.NoError(t, os.MkdirAll(filepath.Join(m.Home, ".claude"), 0o700))
	require.NoError(t, os.Symlink(filepath.Join(m.Root, "elsewhere"), filepath.Join(m.Home, ".claude/skills")))
	require.ErrorContains(t, m.alone(), "is a link")
	for link, to := range map[string]string{"h/up/p/.claude": "claude", "h/up/p/.claude/settings.json": "../claude/settings.json"} {
		m = newClaudeMachine(t)
		m.write("h/up/p/claude/settings.json", `{}`)
		m.write("h/.claude/dotfiles/settings.json", `{}`)
		require.NoError(t, os.Symlink("dotfiles/settings.json", filepath.Join(m.Home, ".claude/settings.json")))
		require.NoError(t, m.alone(), "a user's own links")
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(m.dir, link)), 0o700))
		require.NoError(t, os.Symlink(to, filepath.Join(m.dir, link)))
		require.ErrorContains(t, m.alone(), "is a link", link)
	}
	m = newClaudeMachine(t)
	m.env["CLAUDE_CONFIG_DIR"] = filepath.Join(m.Root, "other")
	m.write("other/settings.json", `{"permissions": {"deny": ["Bash"]}}`)
	require.Error(t, m.alone())
}

// K8: the client goes by the settings with which it began, so what was changed since is not known to it.
func TestAdversary_K8_SettingsThatChangedSince(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"h/.claude/settings.json", "h/up/p/.claude/settings.json", "h/up/p/.claude/skills/a/SKILL.md"} {
		m := newClaudeMachine(t)
		m.write(name, `{}`)
		m.Started = time.Now()
		require.NoError(t, m.alone(), name)
		m.Started = time.Now().Add(-time.Minute)
		require.ErrorContains(t, m.alone(), "was changed after the client had started", name)
	}
	m := newClaudeMachine(t)
	m.write("h/up/p/.claude/settings.json", `{}`)
	require.NoError(t, os.Remove(filepath.Join(m.dir, "h/up/p/.claude/settings.json")))
	m.Started = time.Now().Add(-time.Minute)
	require.ErrorContains(t, m.alone(), "was changed after the client had started", "a file that is gone")
	require.NoError(t, os.RemoveAll(filepath.Join(m.dir, "h/up/p/.claude")))
	require.NoError(t, m.alone(), "a folder that is gone leaves no trace later")
	m.Starts = true
	require.ErrorContains(t, m.alone(), "was changed while the client started")
	m.Started = time.Now()
	require.NoError(t, m.alone())
	m.Started = time.Now().Add(-time.Minute)
	m.env["CLAUDE_PROJECT_DIR"] = m.Home
	require.NoError(t, m.alone(), "in a home files change at all times")
	m.Started = time.Unix(1, 0) // every folder was changed since, the root too
	require.NoError(t, m.alone(), "and above it")
}

// K8: the client goes on with settings that an agent took away, so what is there is compared with what was.
func TestAdversary_K8_SettingsThatWent(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"h/.claude/settings.json", "h/up/p/.claude/settings.json", "h/up/p/.claude/skills/a/SKILL.md", "h/up/.claude/agents/b.md"} {
		m := newClaudeMachine(t)
		m.write(name, `{}`)
		require.NoError(t, m.alone(), name)
		before, _ := m.Alone()
		again, _ := m.Alone()
		require.Equal(t, before, again)
		require.NoError(t, os.Remove(filepath.Join(m.dir, name)))
		after, err := m.Alone()
		require.NoError(t, err)
		require.NotEqual(t, before, after, name)
	}
}

// K8: a person has the client go by another folder with /cd, whose settings are not looked at.
func TestAdversary_K8_AnotherFolder(t *testing.T) {
	t.Parallel()
	m := newClaudeMachine(t)
	for dir, alone := range map[string]bool{"": true, "src": true, "src/..": true, "..": false, "../p2": false, "../../..": false} {
		m.Dir = filepath.Join(m.env["CLAUDE_PROJECT_DIR"], dir)
		require.Equal(t, alone, m.alone() == nil, "%q: %v", dir, m.alone())
	}
	m.Dir = "."
	require.ErrorContains(t, m.alone(), "not in its project")
	// In the project only the folder of the client's record tells.
	m.Dir = m.env["CLAUDE_PROJECT_DIR"]
	seen := func(record string) string {
		m.Record = filepath.Join(m.dir, "h/.claude/projects", record)
		require.NoError(t, m.alone())
		seen, _ := m.Alone()
		return seen
	}
	require.Equal(t, seen("-h-up-p/one.jsonl"), seen("-h-up-p/two.jsonl"))
	require.NotEqual(t, seen("-h-up-p/one.jsonl"), seen("-h-up-p-sub/one.jsonl"))
}

// K8: what a person had the client go by before counts too, though no hook is told of /cd: it keeps a line about it.
func TestAdversary_K8_AnotherFolderBefore(t *testing.T) {
	t.Parallel()
	m := newClaudeMachine(t)
	m.Dir, m.Record = filepath.Join(m.dir, "h/up/p"), filepath.Join(m.dir, "h/record.jsonl")
	require.NoError(t, m.alone())
	said := `{"type":"user","message":{"content":"{\"type\":\"relocated\"}"}}` + "\n"
	m.write("h/record.jsonl", said)
	require.NoError(t, m.alone())
	m.write("h/record.jsonl", said+`{"type":"relocated","relocatedCwd":"/x"}`+"\n")
	require.ErrorContains(t, m.alone(), "/cd")
	m.Record = filepath.Join(m.dir, "h/after-clear.jsonl")
	require.NoError(t, m.alone())
	m.OfSession = true
	require.ErrorContains(t, m.alone(), "/cd")
	m.Started = time.Now().Add(time.Hour)
	require.NoError(t, m.alone())
}

// K8: claude -p does not ask whether a folder is trusted, whose programs it starts.
func TestAdversary_K8_ProgramsOfAnUntrustedFolder(t *testing.T) {
	t.Parallel()
	for file, text := range map[string]string{"h/up/.mcp.json": `{}`, "h/up/p/.claude/settings.json": `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "./x"}]}]}}`} {
		m := newClaudeMachine(t)
		m.write(file, text)
		require.NoError(t, m.alone())
		m.Bypasses = true
		require.Error(t, m.alone(), file)
		m.Bypasses, m.env["CLAUDE_CODE_ENTRYPOINT"] = false, "sdk-cli"
		require.Error(t, m.alone(), file)
	}
}

// K8: a client that went by another folder keeps the variables that settings there set.
func TestAdversary_K8_VariablesOfElsewhere(t *testing.T) {
	t.Parallel()
	m := newClaudeMachine(t)
	m.write("h/.claude/settings.json", `{"env": {"MY_TOKEN": "t", "MY_NUMBER": 1}}`)
	m.write("h/up/p/.claude/settings.json", `{"env": {"NODE_ENV": "test"}}`)
	for name, c := range map[string]struct {
		value string
		alone bool
	}{
		"COREPACK_ENABLE_AUTO_PIN": {"0", true}, "NODE_ENV": {"test", true}, "MY_TOKEN": {"t", true}, "MY_NUMBER": {"1", true}, "XDG_STATE_HOME": {"/s", true},
		"PATH": {"/x", false}, "BASH_FUNC_source%%": {"() { x; }", false}, "GCONV_PATH": {"/x", false},
	} {
		m.env[name] = c.value
		require.Equal(t, c.alone, m.alone() == nil, "%s: %v", name, m.alone())
		delete(m.env, name)
	}
	m.env["MY_TOKEN"] = "of another folder"
	require.ErrorContains(t, m.alone(), "MY_TOKEN")
	delete(m.env, "MY_TOKEN")
	set := func() error {
		require.NoError(t, m.alone())
		m.Environ = append(m.Environ, "CLAUDE_ENV_FILE=/x") // and the client began without it
		_, err := m.Alone()
		return err
	}
	require.ErrorContains(t, set(), "CLAUDE_ENV_FILE")
	require.NoError(t, m.alone())
	m.Began = append(m.Began, "CLAUDE_ENV_FILE=", "CLAUDE_ENV_FILE=/x")
	_, err := m.Alone()
	require.ErrorContains(t, err, "twice")
	m.OfSession = true // the client sets it for hooks of SessionStart
	require.NoError(t, set())
}

// K8: settings that say where settings are do not hide those that the client read.
func TestAdversary_K8_SettingsElsewhere(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"HOME", "CLAUDE_CONFIG_DIR"} {
		m := newClaudeMachine(t)
		require.NoError(t, m.alone())
		m.Environ = append(m.Environ, name+"="+m.dir)
		_, err := m.Alone()
		require.ErrorContains(t, err, "its settings set "+name)
	}
}

// K9: a client that is not known, or was started with what brings rules and hooks, is not confined.
func TestAdversary_K9_HowTheClientWasStarted(t *testing.T) {
	t.Parallel()
	flag := func(words ...string) func(m *claudeMachine) {
		return func(m *claudeMachine) { m.Arguments = append(m.Arguments, words...) }
	}
	env := func(name, value string) func(m *claudeMachine) {
		return func(m *claudeMachine) { m.env[name] = value }
	}
	for name, change := range map[string]func(m *claudeMachine){
		"older": env("AI_AGENT", "claude-code_2-1-329_harness"), "no version": env("AI_AGENT", ""), "another client": env("AI_AGENT", "x_2-1-330"),
		"an odd version": env("AI_AGENT", "claude-code_9_x"), "a program's": env("CLAUDE_CODE_ENTRYPOINT", "sdk-ts"), "no project": env("CLAUDE_PROJECT_DIR", ""),
		"plugins by a variable": env("CLAUDE_CODE_PLUGIN_DIRS", "/x"), "other settings": env("CLAUDE_CODE_USE_COWORK_PLUGINS", "1"),
		"what its shell reads":    env("CLAUDE_ENV_FILE", "/x"),
		"settings where it works": env("CLAUDE_CONFIG_DIR", ""),
		"a prefix of commands":    env("CLAUDE_CODE_SHELL_PREFIX", "/x"), "an unknown variable": env("CLAUDE_NEW", ""),
		"settings": flag("--settings", "x.json"), "a deny rule": flag("--disallowedTools=Bash"), "a plugin": flag("--plugin-dir", "x"), "an unknown flag": flag("--new-flag"),
		"a named agent": flag("--agents", "{}"), "an SDK's streams": flag("--input-format", "stream-json"), "a worktree": flag("-w", "x"),
		"no command line": func(m *claudeMachine) { m.Arguments = nil }, "no home": func(m *claudeMachine) { m.Home = "" },
	} {
		t.Run(name, func(t *testing.T) {
			m := newClaudeMachine(t)
			change(m)
			require.Error(t, m.alone())
		})
	}
	m := newClaudeMachine(t)
	m.env["AI_AGENT"] = "claude-code_2-2-0_agent"
	require.NoError(t, m.alone(), "a later version")
}
