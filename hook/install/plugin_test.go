package install

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
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

// What OpenCode's plugin asks for is all that runs, and only that runs: of other tools
// than the shell a description is no model's words, but what they write.
func TestAdversary_H6_ThePluginAsksForAllThatRuns(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed")
	}
	heard := make(chan map[string]any, 1)
	desk := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		var asked map[string]any
		_ = json.Unmarshal(raw, &asked)
		heard <- asked
		answer, _ := json.Marshal(map[string]any{"status": "approved",
			"claim": map[string]any{"toolName": asked["toolName"], "params": asked["params"]}})
		_, _ = w.Write(answer)
	}))
	defer desk.Close()
	dir := t.TempDir()
	client := filepath.Join(dir, "client.yaml")
	require.NoError(t, os.WriteFile(client, []byte("server: "+desk.URL+"\ntoken: t\n"), 0o600))
	o := machine(t, "opencode", User)
	o.Client = client
	plugin := o.fill(targets("opencode")[0])
	require.NoError(t, os.WriteFile(filepath.Join(dir, "approvalbot.mjs"), []byte(plugin), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "driver.mjs"), []byte(pluginDriver), 0o600))
	calls := func(call string) (said string, asked map[string]any) {
		t.Helper()
		out, err := exec.Command(node, filepath.Join(dir, "driver.mjs"), call).CombinedOutput()
		require.NoError(t, err, string(out))
		return string(out), <-heard
	}
	said, asked := calls(`{"tool":"jira_create","args":{"title":"t","description":"all of it"}}`)
	require.Equal(t, "runs\n", said)
	require.Equal(t, map[string]any{"title": "t", "description": "all of it"}, asked["params"])
	require.NotContains(t, asked, "justification")
	said, asked = calls(`{"tool":"bash","args":{"command":"ls","description":"look"}}`)
	require.Equal(t, "runs\n", said)
	require.Equal(t, map[string]any{"command": "ls"}, asked["params"])
	require.Equal(t, "look", asked["justification"])
	said, _ = calls(`{"tool":"bash","args":{"command":"ls"},"change":"rm -rf /"}`)
	require.Contains(t, said, "no claim of this very call")
}
