package hook

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// setUp is a machine on which Claude Code runs with nothing beside approvalbot's hook.
func setUp(t *testing.T) (s ClaudeSetup, env map[string]string, write func(name, text string)) {
	dir := t.TempDir()
	env = map[string]string{"AI_AGENT": "claude-code_2-1-330_harness", "CLAUDE_CODE_ENTRYPOINT": "cli", "CLAUDE_PROJECT_DIR": filepath.Join(dir, "p")}
	s = ClaudeSetup{Env: func(name string) string { return env[name] }, Home: filepath.Join(dir, "h"), Root: dir,
		Arguments: []string{"/usr/bin/claude", "-p", "clean - up", "--model=x", "--permission-mode", "acceptEdits", "-c"}}
	return s, env, func(name, text string) {
		t.Helper()
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
}

const ownClaudeHook = `{"matcher": "*", "hooks": [{"type": "command", "command": "/bin/sh", "args": ["-c", "unset -f echo; /usr/bin/approvalbot-hook claude-code PreToolUse --client /c --limit 24h --confine --caller $PPID"]}]}`

// K8, K9: if another hook, or a rule of the client's own, judges or changes commands, they are not confined.
func TestAdversary_K8_K9_WhatElseJudgesCommands(t *testing.T) {
	t.Parallel()
	s, _, write := setUp(t)
	require.NoError(t, s.Alone(), "no settings at all")
	write("h/.claude/settings.json", `{"permissions": {"allow": ["Bash(ls:*)"], "deny": ["WebFetch", "mcp__x__y"], "ask": []}, "model": "x",
		"hooks": {"PreToolUse": [`+ownClaudeHook+`, {"matcher": "Edit|Write", "hooks": [{"type": "command", "command": "fmt"}]}], "PostToolUse": [{"hooks": [{"type": "command", "command": "x"}]}]},
		"enabledPlugins": {"a@b": false}, "sandbox": {"enabled": false}}`)
	write("h/.claude/skills/a/SKILL.md", "---\nname: a\n---\nsee our hooks: none\n")
	require.NoError(t, s.Alone())

	for name, c := range map[string][2]string{
		"a deny rule":                {"h/.claude/settings.json", `{"permissions": {"deny": ["Bash(curl:*)"]}}`},
		"an ask rule of the project": {"p/.claude/settings.json", `{"permissions": {"ask": ["Bash"]}}`},
		"a rule of files":            {"p/.claude/settings.local.json", `{"permissions": {"deny": ["Read(./private/**)"]}}`},
		"a rule of all tools":        {"p/.claude/settings.json", `{"permissions": {"ask": ["*"]}}`},
		"managed":                    {"etc/claude-code/managed-settings.json", `{"permissions": {"deny": ["Bash"]}}`},
		"a managed drop-in":          {"etc/claude-code/managed-settings.d/10.json", `{"permissions": {"deny": ["Bash"]}}`},
		"from a server":              {"h/.claude/remote-settings.json", `{"permissions": {"deny": ["Bash"]}}`},
		"a policy helper":            {"etc/claude-code/managed-settings.json", `{"policyHelper": {"path": "/x"}}`},
		"a hook":                     {"h/.claude/settings.json", `{"hooks": {"PreToolUse": [` + ownClaudeHook + `, {"matcher": "Bash", "hooks": [{"type": "command", "command": "rtk"}]}]}}`},
		"a hook beside ours":         {"h/.claude/settings.json", `{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "approvalbot hook claude-code PreToolUse "}, {"type": "http", "url": "x"}]}]}}`},
		"a hook by an expression":    {"h/.claude/settings.json", `{"hooks": {"PreToolUse": [{"matcher": "B.*", "hooks": [{"type": "command", "command": "rtk"}]}]}}`},
		"a hook of all tools":        {"h/.claude/settings.json", `{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "rtk"}]}]}}`},
		"a plugin":                   {"h/.claude/settings.json", `{"enabledPlugins": {"a@b": true}}`},
		"a plugin with a version":    {"h/.claude/settings.json", `{"enabledPlugins": {"a@b": ["1.0"]}}`},
		"its sandbox":                {"p/.claude/settings.json", `{"sandbox": {"enabled": true}}`},
		"broken settings":            {"p/.claude/settings.json", `{`},
		"a name twice":               {"p/.claude/settings.json", `{"permissions": {}, "permissions": {}}`},
		"rules of another shape":     {"p/.claude/settings.json", `{"permissions": {"deny": "Bash"}}`},
		"a skill's hooks":            {"p/.claude/skills/b/SKILL.md", "---\nname: b\nhooks:\n  PreToolUse: []\n---\n"},
		"an agent's hooks":           {"h/.claude/agents/b.md", "---\n\"hooks\": {}\n---\n"},
	} {
		t.Run(name, func(t *testing.T) {
			s, _, write := setUp(t)
			write(c[0], c[1])
			require.Error(t, s.Alone())
		})
	}
	s, _, write = setUp(t)
	write("elsewhere/b/SKILL.md", "x")
	require.NoError(t, os.MkdirAll(filepath.Join(s.Home, ".claude"), 0o700))
	require.NoError(t, os.Symlink(filepath.Join(s.Root, "elsewhere"), filepath.Join(s.Home, ".claude/skills")))
	require.ErrorContains(t, s.Alone(), "is a link")
	s, env, write := setUp(t)
	env["CLAUDE_CONFIG_DIR"] = filepath.Join(s.Root, "other")
	write("other/settings.json", `{"permissions": {"deny": ["Bash"]}}`)
	require.Error(t, s.Alone())
}

// A client that is not known, or was started with what brings rules and hooks of its own, is not confined.
func TestAdversary_K9_HowTheClientWasStarted(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(s *ClaudeSetup, env map[string]string){
		"older":           func(_ *ClaudeSetup, env map[string]string) { env["AI_AGENT"] = "claude-code_2-1-329_harness" },
		"no version":      func(_ *ClaudeSetup, env map[string]string) { delete(env, "AI_AGENT") },
		"another client":  func(_ *ClaudeSetup, env map[string]string) { env["AI_AGENT"] = "x_2-1-330" },
		"an odd version":  func(_ *ClaudeSetup, env map[string]string) { env["AI_AGENT"] = "claude-code_9_x" },
		"a program's":     func(_ *ClaudeSetup, env map[string]string) { env["CLAUDE_CODE_ENTRYPOINT"] = "sdk-ts" },
		"no project":      func(_ *ClaudeSetup, env map[string]string) { delete(env, "CLAUDE_PROJECT_DIR") },
		"settings":        func(s *ClaudeSetup, _ map[string]string) { s.Arguments = append(s.Arguments, "--settings", "x.json") },
		"a deny rule":     func(s *ClaudeSetup, _ map[string]string) { s.Arguments = append(s.Arguments, "--disallowedTools=Bash") },
		"a plugin":        func(s *ClaudeSetup, _ map[string]string) { s.Arguments = append(s.Arguments, "--plugin-dir", "x") },
		"an unknown flag": func(s *ClaudeSetup, _ map[string]string) { s.Arguments = append(s.Arguments, "--new-flag") },
		"no command line": func(s *ClaudeSetup, _ map[string]string) { s.Arguments = nil },
		"no home":         func(s *ClaudeSetup, _ map[string]string) { s.Home = "" },
		"a named agent":   func(s *ClaudeSetup, _ map[string]string) { s.Arguments = append(s.Arguments, "--agents", "{}") },
		"an SDK's streams": func(s *ClaudeSetup, _ map[string]string) {
			s.Arguments = append(s.Arguments, "--input-format", "stream-json")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, env, _ := setUp(t)
			change(&s, env)
			require.Error(t, s.Alone())
		})
	}
	s, env, _ := setUp(t)
	env["AI_AGENT"] = "claude-code_2-2-0_agent"
	require.NoError(t, s.Alone(), "a later version")
}
