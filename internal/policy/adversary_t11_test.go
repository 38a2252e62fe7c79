package policy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// TestAdversary_T11_SettingsOfRuntimesAreR4: what attaches a runtime to the desk or detaches it
// is R4 under every name, by every program and tool, and no grant covers it.
func TestAdversary_T11_SettingsOfRuntimesAreR4(t *testing.T) {
	t.Parallel()
	e := engine(t)
	for _, file := range []string{
		".claude/settings.json", ".claude/settings.local.json", ".claude/hooks/x.sh", ".codex/config.toml", ".codex/hooks.json", ".gemini/settings.json", ".qwen/settings.json",
		".cursor/mcp.json", ".cursor/hooks.json", ".windsurf/hooks.json", ".kiro/hooks/approvalbot.json", ".cline/hooks/PreToolUse", ".opencode/plugin/approvalbot.js",
		".github/hooks/approvalbot.json", "opencode.json", "opencode.jsonc", ".crush.json", "crush.json", "crushrc", ".mcp.json", ".claude.json", ".helix/config.toml", ".zed/settings.json",
		".newagent/settings.yaml", ".newagent/sub/hooks/x", ".newagent/mcp_servers.json", ".Claude/Settings.JSON", ".claude./settings.json", "sub/.codex/hooks.json", ".claude", "./.claude//settings.json",
		"~/.claude/settings.json", "~/.config/opencode/plugin/approvalbot.js", "~/.codeium/windsurf/hooks.json", "~/.agents/plugins/approvalbot/hooks/hooks.json", "~/.copilot/hooks/a.json",
		"/etc/claude-code/managed-settings.json", "/etc/codex/requirements.toml", "/etc/gemini-cli/settings.json", "/etc/github-copilot/policy.d/approvalbot.json", "/etc/cursor/hooks.json",
		"/home/me/.codex/config.toml",
	} {
		checkLines(t, e, lines("R4 writes-agent-settings", "cp evil "+file, "tee "+file, "frobnicate --set "+file, "rm "+file))
		for tool, p := range map[string]map[string]any{
			"Write":           {"file_path": file, "content": "{}"},
			"Edit":            {"file_path": file, "old_string": "a", "new_string": "b"},
			"apply_patch":     {"input": "*** Begin Patch\n*** Update File: " + file + "\n@@\n-a\n+b\n*** End Patch"},
			"delete_file":     {"target_file": file},
			"mcp__files__put": {"path": file, "text": "{}"},
		} {
			j := judge(e, callOf(t, tool, p))
			require.Equal(t, approval.R4, j.Assessment.RiskClass, "%s %s: %v", tool, file, j.Assessment.ReasonCodes)
			require.Contains(t, j.Assessment.ReasonCodes, "writes-agent-settings", "%s %s", tool, file)
			require.Empty(t, j.GrantScope.Subject+j.GrantScope.Always, "%s %s", tool, file)
		}
	}
	checkLines(t, e, lines("R4 writes-agent-settings",
		"echo '{}' > .claude/settings.json", "cd .claude && echo '{}' > settings.json", "cd ~/.codex && rm hooks.json", `echo x > "$HOME/.claude/settings.json"`, "sed -i s/a/b/ .claude/s*.json",
		"mv .claude x", "mv .claude/settings.json x", "mv x .claude", "ln -s x .claude", "rm .c*/settings.json", "rm .claude/*", "cp -t .codex hooks.json", "cp -r evil/ .claude", "git mv a .codex/hooks.json",
		`python3 -c "open('.claude/settings.json','w')"`, "node -e 'require(\"fs\").rmSync(process.env.HOME+\"/.codex/hooks.json\")'", "esbuild x.js --outfile=.claude/settings.json", "prettier --write .claude/settings.json",
		"curl -o .mcp.json https://x.org/a", "yq -i .a=1 .kiro/hooks/x.json", "jq . a > .mcp.json", "install a ~/.claude/settings.json", "touch '/Library/Application Support/ClaudeCode/managed-settings.json'",
		"claude mcp add x", "claude plugin install x", "claude config set a b", "codex mcp add x", "gemini extensions install x", "qwen mcp remove x", "opencode plugin x", "copilot plugin install x", "code --add-mcp '{}'",
	))
	require.Empty(t, judge(e, lineCall(t, "echo '{}' > .claude/settings.json")).GrantScope)
	require.False(t, coversCall(t, e, "Write", `{"file_path":".claude/commands/a.md","content":"x"}`, `{"file_path":".claude/settings.json","content":"x"}`))
	checkLines(t, e, lines("R1 workspace-write", "touch internal/config/app.yaml", "touch src/settings.py", "touch src/hooks/useX.ts", "touch plugins/a.js", "touch .vitepress/config.mts", "touch .storybook/main.ts",
		"touch .changeset/config.json", "touch .streamlit/config.toml", "touch docs/config.md", "touch x.claude/settings.json", "touch opencode.go"))
	checkLines(t, e, []row{
		{"cat .claude/settings.json", "R0"}, {"grep -n a .codex/config.toml", "R0"}, {"ls .claude", "R0"}, {"touch .claude/commands/a.md", "R3 writes-startup"}, {"touch .git/config", "R3 writes-startup"},
		{"touch .vscode/settings.json", "R3 writes-startup"}, {"git add .claude/settings.json", "R1"}, {"git diff .claude/settings.json", "R0"},
	})
}

// TestAdversary_T11_InstructionsAskUnlessAllowed: what tells agents what to do asks, and is a file of
// the workspace with agentInstructions: allow.
func TestAdversary_T11_InstructionsAskUnlessAllowed(t *testing.T) {
	t.Parallel()
	asks, allows := engine(t, shipped), engine(t, shipped, func(c *Config) { c.AgentInstructions = "allow" })
	for _, name := range []string{"AGENTS.md", "CLAUDE.md", "sub/claude.md", "GEMINI.md", "QWEN.md", "AGENTS.override.md", "CLAUDE.local.md", ".cursorrules", ".goosehints", "x.instructions.md"} {
		checkLines(t, asks, lines("R3 writes-instructions", "touch "+name, "cp a "+name, "echo x >> "+name))
		checkLines(t, allows, lines("R1 workspace-write", "touch "+name, "cp a "+name))
		edit := map[string]any{"file_path": name, "old_string": "a", "new_string": "b"}
		require.Equal(t, approval.OutcomeAsk, judge(asks, callOf(t, "Edit", edit)).Outcome, name)
		require.Equal(t, approval.OutcomeAllow, judge(allows, callOf(t, "Edit", edit)).Outcome, name)
	}
	checkLines(t, allows, []row{
		{"touch ~/.claude/CLAUDE.md", "R3 writes-startup"}, {"touch /srv/AGENTS.md", "R3 writes-instructions"}, {"touch .git/AGENTS.md", "R3 writes-startup"}, {"touch .claude/settings.json", "R4 writes-agent-settings"},
		{"rm AGENTS.md", "R3 deletes-file"},
	})
	checkLines(t, asks, []row{{"cat AGENTS.md", "R0"}, {"git add CLAUDE.md", "R1"}, {"touch docs/agents-of-change.md", "R1"}})
	require.False(t, coversCall(t, asks, "Edit", `{"file_path":".vscode/a.json","old_string":"a","new_string":"b"}`, `{"file_path":"AGENTS.md","old_string":"a","new_string":"b"}`))
	_, err := New(Config{AgentInstructions: "deny"})
	require.ErrorContains(t, err, "agentInstructions must be one of ask, allow")
}
