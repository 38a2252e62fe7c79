package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/hook/ask"
)

// capture is what a real client sent, and what it obeyed.
type capture struct {
	Request struct {
		Headers map[string]string `json:"headers"`
		Body    struct {
			Method string `json:"method"`
			Params struct {
				Name      string          `json:"name"`
				Arguments json.RawMessage `json:"arguments"`
				Meta      json.RawMessage `json:"_meta,omitzero"`
			} `json:"params"`
			Version string `json:"jsonrpc"`
			ID      int    `json:"id"`
		} `json:"body"`
	} `json:"request"`
	Allow string `json:"reply_allow_text"`
	Deny  string `json:"reply_deny_text"`
}

func captured(t testing.TB, name string) capture {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + name + ".json")
	require.NoError(t, err)
	var c capture
	require.NoError(t, json.Unmarshal(raw, &c))
	return c
}

// wire is a desk's API that answers each request for a call with one approval, and
// keeps what was asked.
type wire struct {
	*httptest.Server
	approval string
	asked    chan api.CreateRequest
}

func newWire(t testing.TB, approval string) *wire {
	w := &wire{approval: approval, asked: make(chan api.CreateRequest, 100)}
	w.Server = httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.URL.Path == "/v1/approvals" {
			var in api.CreateRequest
			_ = json.NewDecoder(r.Body).Decode(&in)
			w.asked <- in
		}
		if strings.HasSuffix(r.URL.Path, "/claim") {
			_, _ = io.WriteString(out, `{"toolName":"deploy","params":{"to":"x"},"decision":"allow-once"}`)
			return
		}
		_, _ = io.WriteString(out, w.approval)
	}))
	t.Cleanup(w.Close)
	return w
}

func (w *wire) desk() ask.Approvals {
	return ask.Approvals{Client: &api.Client{Server: w.URL, Token: "t"}}
}

// post sends one message as a client of that version of the protocol does.
func post(t testing.TB, s Server, version, body string) (status int, text string) {
	t.Helper()
	h := Handler(Door{Knows: func(*http.Request) bool { return true }, Server: func(http.ResponseWriter, *http.Request) Server { return s }})
	r := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if version != "" {
		r.Header.Set("Mcp-Protocol-Version", version)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	for line := range strings.SplitSeq(w.Body.String(), "\n") {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			var m struct {
				Result struct {
					IsError bool
					Content []struct{ Text string }
				}
			}
			if json.Unmarshal([]byte(data), &m) == nil && len(m.Result.Content) == 1 {
				require.False(t, m.Result.IsError, "an error runs the call in Codex")
				return w.Code, m.Result.Content[0].Text
			}
		}
	}
	return w.Code, ""
}

const (
	allowed = `{"id":"x","code":"K7QX2M","status":"approved","decidedBy":["policy"],"sessionKey":%q,"claim":{"params":{}}}`
	refused = `{"id":"x","code":"K7QX2M","status":"denied","decidedBy":["person:alice"],"votes":[{"voter":{"person":"alice","channel":"telegram","userId":"1"}}],"sessionKey":%q}`
)

// Requests of real clients, byte for byte as they were captured.
func TestTools_AnswerRealClients(t *testing.T) {
	for _, c := range []struct {
		file, tool, session, allow, deny string
		change                           func(map[string]any)
	}{
		{file: "claude-prompt", tool: "permission_prompt"},
		{file: "codex-hook", tool: "hook", session: "01a203a3-c3d7-7db3-8621-ac084dbad0a6", change: func(a map[string]any) { a["runtime"] = "codex" }},
		{file: "codex-hook", tool: "hook", session: "01a203a3-c3d7-7db3-8621-ac084dbad0a6",
			allow: `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","permissionDecisionReason":"allowed by policy"}}`},
		{file: "claude-hook", tool: "hook", session: "e0c1b3d6-b768-4412-8065-89d821186f08", change: func(a map[string]any) { a["tool_name"] = "Bash" },
			allow: `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","permissionDecisionReason":"allowed by policy"}}`,
			deny:  `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"denied by alice in Telegram"}}`},
	} {
		got := captured(t, c.file)
		allow, deny := got.Allow, got.Deny
		if c.allow != "" {
			allow = c.allow
		}
		if c.deny != "" {
			deny = c.deny
		}
		got.Request.Body.Params.Name = c.tool
		if c.change != nil {
			var args map[string]any
			require.NoError(t, json.Unmarshal(got.Request.Body.Params.Arguments, &args))
			c.change(args)
			got.Request.Body.Params.Arguments, _ = json.Marshal(args)
		}
		body, err := json.Marshal(got.Request.Body)
		require.NoError(t, err)
		for approval, want := range map[string]string{allowed: allow, refused: deny} {
			w := newWire(t, strings.ReplaceAll(approval, "%q", `"`+c.session+`"`))
			status, text := post(t, Server{Desk: w.desk()}, got.Request.Headers["mcp-protocol-version"], string(body))
			require.Equal(t, http.StatusOK, status)
			require.Equal(t, want, text, "%s %s", c.file, c.tool)
			asked := <-w.asked
			require.Equal(t, "Bash", asked.ToolName)
			require.JSONEq(t, `{"command":"mv build build.old"}`, string(asked.Params))
		}
	}
}

// Claude's input as it was captured names no tool: nobody could be asked for that.
func TestAdversary_H2_AnInputWithoutAToolIsDenied(t *testing.T) {
	got := captured(t, "claude-hook")
	body, err := json.Marshal(got.Request.Body)
	require.NoError(t, err)
	_, text := post(t, Server{Desk: newWire(t, allowed).desk()}, "2025-11-25", string(body))
	require.Contains(t, text, `"permissionDecision":"deny"`)
}

func TestRequestApproval_HoldsAndThenIsPending(t *testing.T) {
	w := newWire(t, `{"id":"x","code":"K7QX2M","status":"pending"}`)
	s := Server{Desk: w.desk(), hold: 1}
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`
	fill := func(name, args string) string {
		return strings.Replace(strings.Replace(call, "%q", `"`+name+`"`, 1), "%s", args, 1)
	}
	_, text := post(t, s, "2025-11-25", fill("request_approval", `{"toolName":"deploy","params":{"to":"x"}}`))
	var got standing
	require.NoError(t, json.Unmarshal([]byte(text), &got))
	require.Equal(t, "pending", got.State)
	require.Equal(t, "x", got.ID)
	require.Empty(t, got.Params)

	w.approval = `{"id":"x","code":"K7QX2M","status":"approved"}`
	_, text = post(t, s, "2025-11-25", fill("await_approval", `{"id":"x"}`))
	got = standing{}
	require.NoError(t, json.Unmarshal([]byte(text), &got))
	require.Equal(t, "approved", got.State)
	require.JSONEq(t, `{"to":"x"}`, string(got.Params))

	w.approval = `{"id":"x","code":"K7QX2M","status":"expired"}`
	_, text = post(t, s, "2025-11-25", fill("await_approval", `{"id":"x"}`))
	require.Contains(t, text, `"state":"expired"`)
	require.NotContains(t, text, `"params"`)
}

// What await_approval hands out is compared with what request_approval asked for; a call
// that this process does not know is not claimed.
func TestAdversary_T6_AwaitComparesWhatWasAskedFor(t *testing.T) {
	w := newWire(t, `{"id":"x","code":"K7QX2M","status":"pending"}`)
	var asked []api.Asked
	desk := w.desk()
	desk.Client.Believe = func(_ context.Context, a api.Asked, _ api.Claim) error {
		asked = append(asked, a)
		return nil
	}
	client := connected(t, Server{Desk: desk, hold: 1})
	call := func(tool string, args map[string]any) *mcp.CallToolResult {
		got, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
		require.NoError(t, err)
		return got
	}
	call("request_approval", map[string]any{"toolName": "deploy", "params": map[string]any{"to": "x"}, "workdir": "/w"})
	w.approval = `{"id":"x","code":"K7QX2M","status":"approved","claim":{"toolName":"deploy","params":{"to":"evil"}}}`
	require.False(t, call("await_approval", map[string]any{"id": "x"}).IsError)
	require.Len(t, asked, 1)
	require.Equal(t, "deploy", asked[0].ToolName)
	require.JSONEq(t, `{"to":"x"}`, string(asked[0].Params))
	require.Equal(t, "/w", *asked[0].Bind.Workdir)
	require.NotEmpty(t, asked[0].ClaimID)
	require.True(t, call("await_approval", map[string]any{"id": "y"}).IsError)
	require.Len(t, asked, 1)
}

// connected is a client of a server that serves it alone.
func connected(t *testing.T, s Server) *mcp.ClientSession {
	t.Helper()
	near, far := mcp.NewInMemoryTransports()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Serve(ctx, far) }()
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, near, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close(); cancel(); <-done })
	return client
}

func TestAdversary_H2_ALargeBodyOfAStrangerIsNotKept(t *testing.T) {
	h := Handler(Door{Knows: func(*http.Request) bool { return false }, Server: func(http.ResponseWriter, *http.Request) Server { panic("not reached") }})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/mcp", bytes.NewReader(make([]byte, 2<<20))))
	require.Equal(t, http.StatusRequestEntityTooLarge, w.Code)
}

// canned answers every request alike, without a network.
type canned string

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: r, Body: io.NopCloser(strings.NewReader(string(c)))}, nil
}

// Whatever the arguments are, tool hook and permission_prompt decide in words that the
// runtime obeys, and nothing is allowed that the desk was not asked for.
func FuzzHookTools(f *testing.F) {
	for _, name := range []string{"claude-hook", "claude-prompt", "codex-hook"} {
		f.Add([]byte(captured(f, name).Request.Body.Params.Arguments))
	}
	f.Add([]byte(`{"tool_name":"Bash","tool_input":"{}","runtime":"codex","limit":"-1h"}`))
	f.Add([]byte(`{"tool_name":"Bash","tool_name":"Read","tool_input":{}}`))
	s := Server{Desk: ask.Approvals{Client: &api.Client{Server: "http://desk.invalid", HTTP: &http.Client{Transport: canned(`{"status":"denied"}`)}}}}
	f.Fuzz(func(t *testing.T, args []byte) {
		got := s.hook(t.Context(), args)
		require.False(t, got.IsError)
		raw, err := json.Marshal(got.Content)
		require.NoError(t, err)
		require.Contains(t, string(raw), `deny`)
		raw, err = json.Marshal(s.prompt(t.Context(), args).Content)
		require.NoError(t, err)
		require.Contains(t, string(raw), `deny`)
	})
}

// What the proxy reads of both sides.
func FuzzProxyMessages(f *testing.F) {
	f.Add([]byte(`{"name":"order","arguments":{"a":1},"_meta":{"progressToken":1},"Name":"x"}`))
	f.Add([]byte(`{"tools":[{"name":"a","description":"d","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}],"nextCursor":"n","_meta":{}}`))
	f.Add([]byte(`{"content":[{"type":"text","text":"{\"action\":\"needs_approval\"}"}],"structuredContent":{"action":"needs-approval"},"isError":true}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if in, err := readCall(raw); err == nil {
			params, err := in.params()
			require.NoError(t, err)
			out, err := claimed(params)
			require.NoError(t, err)
			require.Len(t, out, len(in.beside)+1)
			meta := (&relay{}).meta(in.meta, &pending{})
			require.LessOrEqual(t, len(meta), len(in.meta))
		}
		if p, err := readPage(raw); err == nil {
			for _, tool := range p.Tools {
				facts := factsOf([]definition{tool.definition}, "s")
				require.LessOrEqual(t, len(facts.Description), maxWords)
				require.LessOrEqual(t, len(facts.Schema), maxSchema)
				require.True(t, facts.Schema == nil || json.Valid(facts.Schema))
				require.True(t, facts.Digest != "" || facts.Schema != nil && facts.Description == tool.Description)
			}
		}
		m := &jsonrpc.Response{Result: raw}
		needsApproval(m)
		isError(m)
		declines(raw)
		(&relay{}).rootsWithin(raw)
	})
}

// A call that is too large is denied in the words of its own event.
func TestAdversary_H1_ALargeCallIsDeniedInTheEventsOwnWords(t *testing.T) {
	args, err := json.Marshal(map[string]any{"hook_event_name": "PermissionRequest", "tool_name": "Bash",
		"tool_input": map[string]string{"command": strings.Repeat("x", maxArguments)}})
	require.NoError(t, err)
	s := Server{}
	res, err := s.guarded(s.tools()[0])(t.Context(), &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Arguments: args}})
	require.NoError(t, err)
	said := res.Content[0].(*mcp.TextContent).Text
	require.Contains(t, said, `"behavior":"deny"`)
	require.Contains(t, said, "larger than")
}

// Tool hook answers what its arguments say, and nothing that it does not know.
func TestHookTool_WhatTheArgumentsSay(t *testing.T) {
	w := newWire(t, fmt.Sprintf(allowed, "s"))
	s := Server{Desk: w.desk()}
	said := func(args string) string {
		return s.hook(t.Context(), json.RawMessage(args)).Content[0].(*mcp.TextContent).Text
	}
	const call = `"tool_name":"Bash","tool_input":{"command":"ls"},"session_id":"s","tool_use_id":"toolu_1"`
	require.Contains(t, said(`{`+call+`}`), `"permissionDecision":"allow"`)
	require.Equal(t, "toolu_1", (<-w.asked).ID)
	for _, args := range []string{`"limit":"soon"`, `"runtime":"cursor"`, `"hook_event_name":"PostToolUse"`, `"hook_event_name":"Stop"`, `"runtime":"codex","hook_event_name":"PostToolUse"`} {
		require.Contains(t, said(`{`+call+`,`+args+`}`), `"permissionDecision":"deny"`, args)
	}
	require.Empty(t, w.asked, "what is denied so is not asked for")
}

// A tool that breaks down denies in its own words.
func TestAdversary_H2_APanicOfAToolDenies(t *testing.T) {
	var log bytes.Buffer
	s := Server{Log: slog.New(slog.NewTextHandler(&log, nil))}
	for i, want := range []string{`"permissionDecision":"deny"`, `"behavior":"deny"`, "not allowed", "not allowed"} {
		broken := s.tools()[i]
		broken.serve = func(context.Context, json.RawMessage) *mcp.CallToolResult { panic("broken") }
		res, err := s.guarded(broken)(t.Context(), &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Arguments: []byte(`{}`)}})
		require.NoError(t, err)
		require.Contains(t, res.Content[0].(*mcp.TextContent).Text, want)
		require.Equal(t, i > 1, res.IsError)
		require.Contains(t, log.String(), "tool="+broken.tool.Name+" panic=broken")
	}
}
