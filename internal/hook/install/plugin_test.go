package install

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/hook"
)

// pluginDriver has the plugin answer one call; change, if not null, is what the call's
// arguments become while people decide.
const pluginDriver = `
import { Approvalbot } from "./approvalbot.mjs";
const { tool, args, change } = JSON.parse(process.argv[2]);
const output = { args };
const hooks = await Approvalbot({ directory: "/home/u/project" });
if (change) setTimeout(() => { output.args.command = change; }, 0);
try {
  await hooks["tool.execute.before"]({ tool, sessionID: "s", callID: "c" }, output);
  console.log("runs");
} catch (e) { console.log(e.message); }
`

// What OpenCode's plugin asks for is all that runs, and only that runs, and only after
// approvalbot itself has allowed it: the plugin speaks to no desk.
func TestAdversary_H6_ThePluginAsksForAllThatRuns(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed")
	}
	dir := t.TempDir()
	o := machine(t, "opencode", User)
	o.Program, o.Client = filepath.Join(dir, "approval bot"), "/home/u/it's mine/client.yaml"
	plugin := o.fill(targets("opencode")[0])
	require.NoError(t, os.WriteFile(filepath.Join(dir, "approvalbot.mjs"), []byte(plugin), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "driver.mjs"), []byte(pluginDriver), 0o600))
	program, client := o.paths(plugin)
	require.Equal(t, []string{o.Program, o.Client}, []string{program, client})
	const allow = `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","permissionDecisionReason":"r"}}`
	calls := func(call, answer string, status int) (said string, asked map[string]any, args string) {
		t.Helper()
		script := fmt.Sprintf("#!/bin/sh\ncat >%[1]s/asked; echo \"$@\" >%[1]s/args; printf '%%s' '%[2]s'; exit %[3]d\n", dir, answer, status)
		require.NoError(t, os.WriteFile(o.Program, []byte(script), 0o700))
		out, err := exec.Command(node, filepath.Join(dir, "driver.mjs"), call).CombinedOutput()
		require.NoError(t, err, string(out))
		raw, err := os.ReadFile(filepath.Join(dir, "asked"))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(raw, &asked))
		words, err := os.ReadFile(filepath.Join(dir, "args"))
		require.NoError(t, err)
		return string(out), asked, string(words)
	}
	said, asked, args := calls(`{"tool":"jira_create","args":{"title":"t","description":"all of it"}}`, allow, 3)
	require.Equal(t, "runs\n", said)
	require.Equal(t, map[string]any{"hook_event_name": "PreToolUse", "session_id": "s", "tool_use_id": "s:c", "cwd": "/home/u/project",
		"tool_name": "mcp__jira_create", "tool_input": map[string]any{"title": "t", "description": "all of it"}}, asked)
	require.Contains(t, args, "hook claude-code PreToolUse --client "+o.Client+" --limit 24h --caller ")
	r, _ := hook.Find("claude-code")
	event, _ := r.Event("PreToolUse")
	said, asked, _ = calls(`{"tool":"bash","args":{"command":"ls","description":"look"}}`, allow, 3)
	require.Equal(t, "runs\n", said)
	body, err := json.Marshal(asked)
	require.NoError(t, err)
	c, err := event.Decode(body)
	require.NoError(t, err)
	require.JSONEq(t, `{"command":"ls"}`, string(c.Params))
	require.Equal(t, "look", c.Justification)
	const ls = `{"tool":"bash","args":{"command":"ls"}}`
	for name, x := range map[string]struct {
		call, answer string
		status       int
		why          string
	}{
		"another call":     {`{"tool":"bash","args":{"command":"ls"},"change":"rm -rf /"}`, allow, 3, "not the very call"},
		"denied":           {ls, strings.Replace(allow, "allow", "deny", 1), 3, "not run: r"},
		"another program":  {ls, allow, 0, "status 0"},
		"an empty answer":  {ls, "", 3, "no answer"},
		"another dialect":  {ls, `{"decision":"allow"}`, 3, "no decision"},
		"an answer of ask": {ls, strings.Replace(allow, "allow", "ask", 1), 3, "not run: r"},
	} {
		said, _, _ := calls(x.call, x.answer, x.status)
		require.Contains(t, said, x.why, name)
	}
	require.NoError(t, os.Remove(o.Program))
	out, err := exec.Command(node, filepath.Join(dir, "driver.mjs"), ls).CombinedOutput()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), "not where it was installed")
}
