package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/fakechat"
	"approvalbot/internal/hook/live"
)

// asksCommands is a desk that asks for every command, and for nothing else that its defaults allow.
func asksCommands(r *rig) {
	r.agentHas = ", agentId: main"
	r.tools = "    rules: [{name: asks, match: {tool: exec}, outcome: ask}]\n"
}

// reached is a lab whose client asks a desk of its own about commands, and that desk.
func reached(t *testing.T, l *live.Lab) *rig {
	t.Helper()
	r := newRig(t, asksCommands)
	attached(t, r, l, false)
	return r
}

// agentsOf is what makes each client start another agent.
func agentsOf() map[string][]live.Use {
	said := func(more ...string) map[string]any {
		args := map[string]any{}
		for i := 0; i < len(more); i += 2 {
			args[more[i]] = more[i+1]
		}
		return args
	}
	return map[string][]live.Use{
		"claude-code": {{Tool: "Agent", Args: said("description", "x", "prompt", "clean up", "subagent_type", "general-purpose")}},
		"qwen-code":   {{Tool: "agent", Args: said("description", "x", "prompt", "clean up", "subagent_type", "general-purpose")}},
		"opencode":    {{Tool: "task", Args: said("description", "x", "prompt", "clean up", "subagent_type", "general")}},
		"copilot-cli": {{Tool: "task", Args: said("description", "x", "prompt", "clean up", "agent_type", "general-purpose", "name", "helper", "mode", "sync")}},
		"gemini-cli":  {{Tool: "invoke_agent", Args: said("agent_name", "generalist", "prompt", "clean up")}},
		"cline":       {{Tool: "spawn_agent", Args: said("systemPrompt", "x", "task", "clean up")}},
		"codex": {{Tool: "multi_agent_v1spawn_agent", Args: said("message", "clean up")}, {Tool: "multi_agent_v1wait_agent", Given: func(spawned string) map[string]any {
			var agent struct {
				ID string `json:"agent_id"`
			}
			_ = json.Unmarshal([]byte(spawned), &agent) // without an id the wait fails
			return map[string]any{"targets": []string{agent.ID}, "timeout_ms": 600_000}
		}}}, // which ends its agents with its own last word
	}
}

// What an agent that the client's own agent has started runs is asked about as its own is: a yes lets it run, a no does
// not.
func TestAgents_Subagent(t *testing.T) {
	eachRuntime(t, func(t *testing.T, l *live.Lab) {
		for _, button := range []string{"Allow once", "Deny"} {
			r := reached(t, l)
			l.Model.Before = agentsOf()[l.Runtime]
			done := startClient(t.Context(), l)
			if l.Runtime == "gemini-cli" {
				r.tap(r.alice, r.group, r.asked("invoke_agent").ID, "Allow once")
			}
			card := r.asked(live.Command())
			r.tap(r.alice, r.group, card.ID, button)
			got := endOf(t, done)
			require.Equal(t, button == "Allow once", got.Ran, "%v\n%s", got.Read, got.Output)
			t.Logf("%s %s", l.Runtime, l.Version(t.Context()))
		}
	})
}

// A teammate of Cline is an agent, too: starting it and giving it work asks, and so does its command.
func TestAgents_ClinesTeam(t *testing.T) {
	l := lab(t, "cline")
	r := reached(t, l)
	l.Model.Before = []live.Use{
		{Tool: "team_spawn_teammate", Args: map[string]any{"agentId": "helper", "rolePrompt": "x"}},
		{Tool: "team_run_task", Args: map[string]any{"agentId": "helper", "task": "clean up", "runMode": "sync"}},
	}
	done := startClient(t.Context(), l)
	for _, asks := range []string{"team_spawn_teammate", "team_run_task", live.Command()} {
		r.tap(r.alice, r.group, r.asked(asks).ID, "Allow once")
	}
	got := endOf(t, done)
	require.True(t, got.Ran, "%v\n%s", got.Read, got.Output)
}

// served is how a client has the tool of an MCP server that is called everything.
type served struct {
	file string // of the client's configuration, below its home
	old  string // what is there, in whose place more comes; empty: at the end of the file
	more string // {server} is the server's program
	tool string // as the model calls it
	desk string // as the desk is asked
}

func servedTo() map[string]served {
	const local = `"mcpServers": {"everything": {"command": "{server}", "args": []}}`
	return map[string]served{
		"claude-code": {file: ".claude.json", more: "{" + local + "}", tool: "mcp__everything__refresh_view", desk: "mcp__everything__refresh_view"},
		"codex": {file: ".codex/config.toml", more: "\n[mcp_servers.everything]\ncommand = \"{server}\"\n", tool: "mcp__everythingrefresh_view",
			desk: "mcp__everything__refresh_view"},
		"gemini-cli": {file: ".gemini/settings.json", old: `"telemetry"`, more: local + `, "telemetry"`, tool: "mcp_everything_refresh_view",
			desk: "mcp__everything__refresh_view"},
		"qwen-code": {file: ".qwen/settings.json", old: `"privacy"`, more: local + `, "privacy"`, tool: "mcp__everything__refresh_view",
			desk: "mcp__everything__refresh_view"},
		"opencode": {file: ".config/opencode/opencode.json", old: `"autoupdate"`,
			more: `"mcp": {"everything": {"type": "local", "command": ["{server}"]}}, "autoupdate"`, tool: "everything_refresh_view", desk: "mcp__everything_refresh_view"},
		"copilot-cli": {file: ".copilot/mcp-config.json",
			more: `{"mcpServers": {"everything": {"type": "local", "command": "{server}", "args": [], "tools": ["*"]}}}`, tool: "everything-refresh_view",
			desk: "mcp__everything-refresh_view"},
		"cline": {file: ".cline/data/settings/cline_mcp_settings.json", more: "{" + local + "}", tool: "everything__refresh_view", desk: "everything__refresh_view"},
	}
}

// serve gives the client the server.
func (s served) serve(t *testing.T, l *live.Lab) {
	t.Helper()
	path := filepath.Join(l.Home, s.file)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	text, err := os.ReadFile(path)
	require.True(t, err == nil || os.IsNotExist(err), "%v", err)
	more := strings.ReplaceAll(s.more, "{server}", lookPath(t, "warehouse", os.Getenv("PATH")))
	if s.old != "" {
		require.Contains(t, string(text), s.old)
		text = []byte(strings.Replace(string(text), s.old, more, 1))
	} else {
		text = append(text, more...)
	}
	require.NoError(t, os.WriteFile(path, text, 0o600))
}

// The tool of an MCP server of the client's own configuration is asked about, by the name that docs/agents.md says, and
// runs by a yes alone.
func TestAgents_MCPTools(t *testing.T) {
	eachRuntime(t, func(t *testing.T, l *live.Lab) {
		s := servedTo()[l.Runtime]
		s.serve(t, l)
		useTool(l, s.tool, "", map[string]any{"view": "sales"})
		for _, button := range []string{"Allow once", "Deny"} {
			r := reached(t, l)
			done := startClient(t.Context(), l)
			card := r.asked("refresh_view")
			require.Equal(t, s.desk, r.onlyPending().ToolName)
			r.tap(r.alice, r.group, card.ID, button)
			got := endOf(t, done)
			read := strings.Join(got.Read, "\n")
			require.Equal(t, button == "Allow once", strings.Contains(read, "ran on "), "%s\n%s", read, got.Output)
			t.Logf("%s %s", l.Runtime, l.Version(t.Context()))
		}
	})
}

// A command that the client does not wait for is asked about before it starts. OpenCode and Cline have no such
// parameter; a line that ends with & is asked about as every line is.
func TestAgents_Background(t *testing.T) {
	background := map[string]map[string]any{
		"claude-code": {"run_in_background": true}, "qwen-code": {"is_background": true}, "gemini-cli": {"is_background": true},
		"copilot-cli": {"mode": "async"}, "codex": {"yield_time_ms": 250},
	}
	eachRuntime(t, func(t *testing.T, l *live.Lab) {
		args := background[l.Runtime]
		command := map[bool]string{true: live.Command() + "; sleep 2", false: "{ " + live.Command() + "; } &"}[args != nil]
		useTool(l, "", command, args)
		for _, button := range []string{"Allow once", "Deny"} {
			r := reached(t, l)
			done := startClient(t.Context(), l)
			r.tap(r.alice, r.group, r.asked(live.Command()).ID, button)
			got := endOf(t, done)
			require.Equal(t, button == "Allow once", got.Ran, "%v\n%s", got.Read, got.Output)
			t.Logf("%s %s: %q", l.Runtime, l.Version(t.Context()), got.Read)
		}
	})
}

// A repository around the folder in which Cline works is not where its commands run: the yes is bound to that folder.
func TestAgents_ClineInAFolderOfARepository(t *testing.T) {
	l := lab(t, "cline")
	r := reached(t, l)
	done := startClient(t.Context(), l)
	card := r.asked(live.Command())
	require.Equal(t, l.Project, *r.onlyPending().Bind.Workdir)
	r.bob.Say(r.group, "deny not here", fakechat.TelegramSay{ReplyTo: card.ID})
	require.False(t, endOf(t, done).Ran)
}
