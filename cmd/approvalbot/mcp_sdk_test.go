package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/daemon"
)

// sdkFolder is where npm has put the official SDK.
func sdkFolder(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../../bin/agents/mcp-sdk")
	require.NoError(t, err)
	_, errNode := exec.LookPath("node")
	_, err = os.Stat(filepath.Join(dir, "node_modules/@modelcontextprotocol/sdk/package.json"))
	if err != nil || errNode != nil {
		t.Skip("the official MCP SDK: not tested, install node, and run npm install --prefix bin/agents/mcp-sdk @modelcontextprotocol/sdk")
	}
	return dir
}

// sdkClient is a client of the official SDK in a process of its own.
type sdkClient struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Scanner
}

func newSDKClient(t *testing.T, words ...string) *sdkClient {
	t.Helper()
	cmd := exec.Command("node", append([]string{"testdata/mcp/client.mjs"}, words...)...)
	cmd.Env = append(os.Environ(), "MCP_SDK="+sdkFolder(t))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	return &sdkClient{t, in, bufio.NewScanner(out)}
}

func (c *sdkClient) ask(method string, params any) {
	c.t.Helper()
	line, err := json.Marshal(map[string]any{"method": method, "params": params})
	require.NoError(c.t, err)
	_, err = c.in.Write(append(line, '\n'))
	require.NoError(c.t, err)
}

func (c *sdkClient) answer() string {
	c.t.Helper()
	require.True(c.t, c.out.Scan(), "the client ended")
	return c.out.Text()
}

func callOf(tool string, args any) map[string]any {
	return map[string]any{"name": tool, "arguments": args}
}

// The official client at the desk itself, and at approvalbot mcp.
func TestMCP_TheOfficialClient(t *testing.T) {
	t.Parallel()
	sdkFolder(t)
	bin, err := faultyBinary()
	require.NoError(t, err)
	r := newRig(t)
	for i, c := range []*sdkClient{
		newSDKClient(t, r.url+daemon.MCPPath, agentSecret),
		newSDKClient(t, bin, "mcp", "--server", r.url, "--token-file", r.tokenFile(agentSecret)),
	} {
		c.ask("listTools", map[string]any{})
		tools := c.answer()
		for _, name := range []string{"hook", "permission_prompt", "request_approval", "await_approval"} {
			require.Contains(t, tools, `"name":"`+name+`"`)
		}
		call := map[string]any{"tool_name": "Bash", "input": bashCall["input"]}
		c.ask("callTool", callOf("permission_prompt", call))
		r.decides(r.onlyPending(), api.AllowOnce, "")
		require.Contains(t, c.answer(), `{\"behavior\":\"allow\"}`)
		c.ask("callTool", callOf("request_approval", map[string]any{"toolName": "deploy", "params": map[string]any{"to": i}}))
		r.decides(r.onlyPending(), api.Deny, "no")
		require.Contains(t, c.answer(), `"state":"denied"`)
	}
}

// The official client and the official server, with the proxy between them: on standard
// streams, and over HTTP.
func TestMCPProxy_OfficialClientAndServer(t *testing.T) {
	sdk := sdkFolder(t)
	t.Setenv("MCP_SDK", sdk)
	bin, err := faultyBinary()
	require.NoError(t, err)
	r := newRig(t)
	key := filepath.Join(t.TempDir(), "headers")
	require.NoError(t, os.WriteFile(key, []byte("X-Key: sesame\n"), 0o600))
	proxy := []string{bin, "mcp-proxy", "--server", r.url, "--token-file", r.tokenFile(agentSecret), "--name", "shop"}
	for i, server := range [][]string{
		{"--", "node", "testdata/mcp/server.mjs"},
		{"--url", officialHTTP(t, sdk), "--header-file", key},
	} {
		c := newSDKClient(t, append(append([]string{}, proxy...), server...)...)
		c.ask("listTools", map[string]any{})
		require.Contains(t, c.answer(), `"name":"order"`)
		c.ask("readResource", map[string]any{"uri": "shop://list"})
		require.Contains(t, c.answer(), `"text":"tea"`)
		c.ask("callTool", callOf("order", map[string]any{"lot": i}))
		a := r.onlyPending()
		require.Equal(t, "mcp__shop__order", a.ToolName)
		require.Contains(t, a.ReasonCodes, "declared-destructive")
		r.decides(a, api.AllowOnce, "")
		require.Contains(t, c.answer(), `"text":"ordered"`)
		r.until(a, "the result is reported", func(a api.Approval) bool { return a.Result != nil })
		c.ask("callTool", callOf("order", map[string]any{"more": i}))
		r.decides(r.onlyPending(), api.Deny, "no more")
		answer := c.answer()
		require.Contains(t, answer, "no more")
		require.Contains(t, answer, `"isError":true`)
	}
}

// officialHTTP starts the official server over HTTP and gives its address.
func officialHTTP(t *testing.T, sdk string) string {
	t.Helper()
	cmd := exec.Command("node", "testdata/mcp/server.mjs", "http")
	cmd.Env = append(os.Environ(), "MCP_SDK="+sdk)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	port, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	return "http://127.0.0.1:" + strings.TrimSpace(port) + "/mcp"
}
