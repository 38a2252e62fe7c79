package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/daemon"
)

// bearing adds a bearer token to every request.
type bearing struct{ token string }

func (b bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return http.DefaultTransport.RoundTrip(r)
}

// mcp connects the SDK's client to the desk's endpoint.
func (r *rig) mcp(token string) *sdk.ClientSession {
	r.t.Helper()
	return mcpClient(r.t, &sdk.StreamableClientTransport{Endpoint: r.url + daemon.MCPPath, HTTPClient: &http.Client{Transport: bearing{token}}})
}

func mcpClient(t *testing.T, to sdk.Transport) *sdk.ClientSession {
	t.Helper()
	s, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), to, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// stdioMCP runs a command line whose streams speak MCP with the SDK's client.
func stdioMCP(t *testing.T, env []string, args ...string) *sdk.ClientSession {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	errs := &safeBuffer{}
	go func() {
		defer close(done)
		run(ctx, args, env, inR, outW, errs)
		_ = outW.Close()
	}()
	t.Cleanup(func() {
		cancel()
		_ = inW.Close()
		<-done
		if t.Failed() {
			t.Log(errs.String())
		}
	})
	return mcpClient(t, &sdk.IOTransport{Reader: outR, Writer: inW})
}

type result struct {
	res *sdk.CallToolResult
	err error
}

// callTool makes a call of a tool that is waited for later.
func callTool(ctx context.Context, s *sdk.ClientSession, tool string, args any) <-chan result {
	out := make(chan result, 1)
	go func() {
		res, err := s.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: args})
		out <- result{res, err}
	}()
	return out
}

// said is the only text of an answer.
func said(t *testing.T, r result) string {
	t.Helper()
	require.NoError(t, r.err)
	require.Len(t, r.res.Content, 1)
	return r.res.Content[0].(*sdk.TextContent).Text
}

// onlyPending waits for the one approval that is pending.
func (r *rig) onlyPending() api.Approval {
	r.t.Helper()
	return r.pendingBut("")
}

// pendingBut waits for the one approval that is pending beside that of the id.
func (r *rig) pendingBut(id string) api.Approval {
	r.t.Helper()
	var got api.Approval
	require.Eventually(r.t, func() bool {
		list, err := r.operator().List(r.ctx(), apiPending)
		require.NoError(r.t, err)
		for _, a := range list.Items {
			if a.ID != id {
				got = a
				return true
			}
		}
		return false
	}, patient, waitStep)
	return got
}

const waitStep = 5_000_000 // 5 ms: only paces the question

func (r *rig) decides(a api.Approval, d api.Decision, reason string) {
	r.t.Helper()
	_, err := r.client(aliceSecret).Resolve(r.ctx(), a.Code, api.ResolveRequest{Decision: d, Reason: reason})
	require.NoError(r.t, err)
}

var bashCall = map[string]any{"tool_name": "Bash", "input": map[string]any{"command": "mv build /srv/elsewhere", "description": "clean the build folder"},
	"tool_use_id": "toolu_c11f566b42b44e5e"}

func TestMCP_PermissionPromptAnswersInClaudesWords(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.mcp(agentSecret)
	got := callTool(r.ctx(), s, "permission_prompt", bashCall)
	a := r.onlyPending()
	require.Equal(t, "Bash", a.ToolName)
	require.Equal(t, "clean the build folder", a.Justification)
	r.decides(a, api.AllowOnce, "")
	require.Equal(t, `{"behavior":"allow"}`, said(t, <-got))
	require.NotZero(t, r.get(a).ClaimedAtMs)

	other := map[string]any{"tool_name": "Bash", "input": map[string]any{"command": "mv build /srv/other"}, "tool_use_id": "toolu_2"}
	got = callTool(r.ctx(), s, "permission_prompt", other)
	r.decides(r.onlyPending(), api.Deny, "not on a Friday")
	var answer map[string]string
	require.NoError(t, json.Unmarshal([]byte(said(t, <-got)), &answer))
	require.Equal(t, "deny", answer["behavior"])
	require.Contains(t, answer["message"], "denied by alice")
	require.Contains(t, answer["message"], "not on a Friday")
}

// A runtime takes an error, an empty answer and a broken connection for a yes.
func TestAdversary_H2_EveryFailureOfToolHookIsADeny(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	hook := func(s *sdk.ClientSession, args any) {
		t.Helper()
		text := said(t, <-callTool(r.ctx(), s, "hook", args))
		require.Contains(t, text, `"permissionDecision":"deny"`)
		require.Contains(t, text, `"permissionDecisionReason":"`)
	}
	fine := map[string]any{"runtime": "claude-code", "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": `{"command":"ls"}`}
	s := r.mcp(agentSecret)
	require.Contains(t, said(t, <-callTool(r.ctx(), s, "hook", fine)), `"permissionDecision":"allow"`)

	hook(r.mcp("no-such-token"), fine)
	hook(s, map[string]any{})
	hook(s, map[string]any{"tool_name": "Bash"})
	hook(s, map[string]any{"tool_name": 7, "tool_input": []any{}})
	hook(s, map[string]any{"tool_name": "Bash", "tool_input": map[string]any{"command": "ls " + strings.Repeat("a", 1100<<10)}})
	hook(s, map[string]any{"tool_name": "Bash", "tool_input": map[string]any{"command": "ls " + strings.Repeat("a", 10<<20)}})
	hook(r.mcp(operatorSecret), fine) // it may not ask
}

func TestMCP_RequestApprovalHandsTheCallOutOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.mcp(agentSecret)
	got := callTool(r.ctx(), s, "request_approval", map[string]any{"toolName": "deploy", "params": map[string]any{"to": "production"}, "justification": "release"})
	a := r.onlyPending()
	r.decides(a, api.AllowOnce, "")
	var answer struct {
		State, ID, Code, ToolName string
		Params                    json.RawMessage
	}
	require.NoError(t, json.Unmarshal([]byte(said(t, <-got)), &answer))
	require.Equal(t, "approved", answer.State)
	require.JSONEq(t, `{"to":"production"}`, string(answer.Params))
	again := <-callTool(r.ctx(), s, "await_approval", map[string]any{"id": answer.ID})
	require.True(t, again.res.IsError)
	require.Contains(t, said(t, again), "handed out before")
}

// A client that goes withdraws what it asked for.
func TestAdversary_H4_TheCallOfAClientThatGoesIsWithdrawn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx, cancel := context.WithCancel(r.ctx())
	got := callTool(ctx, r.mcp(agentSecret), "permission_prompt", bashCall)
	a := r.onlyPending()
	cancel()
	require.Error(t, (<-got).err)
	require.Equal(t, api.Withdrawn, r.final(a).Status)
}

// What waits when the desk stops is denied in words, not by a broken connection.
func TestAdversary_H2_AStopIsADenyInWords(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	got := callTool(r.ctx(), r.mcp(agentSecret), "hook", map[string]any{"tool_name": "Bash", "tool_input": bashCall["input"]})
	r.onlyPending()
	r.stop()
	text := said(t, <-got)
	require.Contains(t, text, `"permissionDecision":"deny"`)
	require.Contains(t, text, "stopping")
	r.start()
}

// tokenFile is a file with a token, as a runtime's configuration names it.
func (r *rig) tokenFile(secret string) string {
	r.t.Helper()
	path := filepath.Join(r.t.TempDir(), "token")
	require.NoError(r.t, os.WriteFile(path, []byte(secret+"\n"), 0o600))
	return path
}

func TestMCP_StandardStreamsAskTheDeskOfTheFlags(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := stdioMCP(t, nil, "mcp", "--server", r.url, "--token-file", r.tokenFile(agentSecret))
	got := callTool(r.ctx(), s, "permission_prompt", bashCall)
	r.decides(r.onlyPending(), api.AllowOnce, "")
	require.Equal(t, `{"behavior":"allow"}`, said(t, <-got))
}

// Neither the environment nor a relative path says which desk decides.
func TestAdversary_N7_TheEnvironmentNamesNoDesk(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	env := []string{"APPROVALBOT_SERVER=" + r.url, "APPROVALBOT_TOKEN=" + agentSecret, "APPROVALBOT_CLIENT=/nowhere", "HOME=" + t.TempDir()}
	call := map[string]any{"tool_name": "Read", "input": map[string]any{"file_path": "/etc/hostname"}}
	text := said(t, <-callTool(r.ctx(), stdioMCP(t, env, "mcp"), "permission_prompt", call))
	require.Contains(t, text, `"behavior":"deny"`)
	text = said(t, <-callTool(r.ctx(), stdioMCP(t, nil, "mcp", "--client", "client.yaml"), "permission_prompt", call))
	require.Contains(t, text, "absolute path")
	for _, verb := range [][]string{{"mcp-proxy", "--", "true"}} {
		var errs safeBuffer
		require.Equal(t, app.ExitError, run(t.Context(), verb, env, strings.NewReader(""), io.Discard, &errs))
		require.Contains(t, errs.String(), "--client")
	}
}

func TestAdversary_T30_AnAllowedPlanIsHandedBack(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.mcp(agentSecret)
	plan := map[string]any{"tool_name": "ExitPlanMode", "input": map[string]any{"plan": "1. x\n2. y"}, "tool_use_id": "toolu_1"}
	got := callTool(r.ctx(), s, "permission_prompt", plan)
	a := r.onlyPending()
	require.Equal(t, []api.Decision{api.AllowOnce, api.Deny}, a.Offers)
	r.decides(a, api.AllowOnce, "")
	require.JSONEq(t, `{"behavior":"allow","updatedInput":{"plan":"1. x\n2. y"}}`, said(t, <-got))
}

// Who configures a hook without its runtime may be one that hides what is typed.
func TestAdversary_T26_AHookOfNoRuntimeHidesTyping(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	hook := map[string]any{"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": map[string]any{"command": "less README.md"}, "session_id": "s"}
	got := callTool(r.ctx(), r.mcp(agentSecret), "hook", hook)
	a := r.onlyPending()
	require.Contains(t, a.ReasonCodes, "takes-typing")
	r.decides(a, api.Deny, "")
	require.Contains(t, said(t, <-got), `"deny"`)
}
