package hook

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// bodyOf is a captured body, changed.
func bodyOf(t *testing.T, name string, change ...string) (Event, []byte) {
	e, c := readCapture(t, name)
	return e, []byte(strings.NewReplacer(change...).Replace(string(c.Stdin)))
}

const claudePreFile = "claude-code-2.1.330-PreToolUse-http.json"

// A body of another runtime, event or version is no call of this event; members that
// nobody knows are ignored.
func TestDecode_WhatIsRefused(t *testing.T) {
	t.Parallel()
	for _, change := range [][]string{
		{`"hook_event_name"`, `"hook_event"`},
		{`"hook_event_name": "PreToolUse"`, `"hook_event_name": "PostToolUse"`},
		{`"hook_event_name": "PreToolUse"`, `"hook_event_name": "pretooluse"`},
		{`"tool_name"`, `"toolName"`},
		{`"tool_name": "Bash"`, `"tool_name": ""`},
		{`"tool_name": "Bash"`, `"tool_name": ["Bash"]`},
		{`"tool_input": {`, `"tool_input": [], "x": {`},
		{`"tool_input": {`, `"input": {`},
		{`"session_id": "5`, `"session_id": 7, "x": "5`},
		{`"cwd": "/home/u/project"`, `"cwd": {}`},
		{`"tool_use_id"`, `"tool_call_id"`}, // Qwen Code's
		{`"prompt_id"`, `"turn_id"`},        // Codex's
		{`"command": "rm -rf build"`, `"command": "rm -rf build", "command": "ls"`},
		{`"tool_name": "Bash"`, `"tool_name": "Bash", "tool_name": "Read"`},
		{`"tool_input": {`, `"tool_input": {}, "tool_input": {`},
	} {
		e, raw := bodyOf(t, claudePreFile, change...)
		_, err := e.Decode(raw)
		require.Error(t, err, change)
		require.Contains(t, err.Error(), "the hook's body")
		require.NotContains(t, err.Error(), "rm -rf")
	}
	e, _ := bodyOf(t, claudePreFile)
	for _, raw := range []string{"", "null", "[]", `"x"`, "{", "{}x", "\xff", `{"a":"\ud800"}`, "hello", strings.Repeat("[", 1<<16), "{}" + strings.Repeat(" ", MaxBody)} {
		_, err := e.Decode([]byte(raw))
		require.Error(t, err)
	}
	e, raw := bodyOf(t, claudePreFile, `"cwd"`, `"new_in_3": {"a": [1]}, "cwd"`, `"session_id"`, `"other_id"`, `"tool_use_id"`, `"other_use"`)
	got, err := e.Decode(raw)
	require.NoError(t, err)
	require.Empty(t, got.Session)
	require.Empty(t, got.RequestID())
}

// The model's words about a command are no part of it; of any other tool they are.
func TestDecode_Prose(t *testing.T) {
	t.Parallel()
	e, one := bodyOf(t, claudePreFile)
	_, other := bodyOf(t, claudePreFile, "clean the build folder", "tidy up")
	a, err := e.Decode(one)
	require.NoError(t, err)
	b, err := e.Decode(other)
	require.NoError(t, err)
	require.JSONEq(t, string(a.Params), string(b.Params))
	require.NotEqual(t, a.Justification, b.Justification)

	_, raw := bodyOf(t, claudePreFile, `"Bash"`, `"mcp__jira__create_issue"`)
	got, err := e.Decode(raw)
	require.NoError(t, err)
	require.Contains(t, string(got.Params), "clean the build folder")
	require.Empty(t, got.Justification)

	_, raw = bodyOf(t, claudePreFile, `"clean the build folder"`, `{"x": 1}`)
	got, err = e.Decode(raw)
	require.NoError(t, err)
	require.Contains(t, string(got.Params), "description", "what is no text is part of the call")

	_, raw = bodyOf(t, claudePreFile, "clean the build folder", strings.Repeat("ü", 3000), "rm -rf build", "echo 9007199254740993")
	got, err = e.Decode(raw)
	require.NoError(t, err)
	require.LessOrEqual(t, len(got.Justification), 2000)
	require.True(t, utf8.ValidString(got.Justification))
	_, raw = bodyOf(t, claudePreFile, `"description"`, `"timeout": 12345678901234567890, "description"`)
	got, err = e.Decode(raw)
	require.NoError(t, err)
	require.Contains(t, string(got.Params), "12345678901234567890", "a number stays as it was sent")
}

func TestRequest(t *testing.T) {
	t.Parallel()
	c := Call{Tool: "Bash", Params: command("ls"), ID: "call 1/ü", Session: "s", Workdir: "/w", Model: "m", Subagent: true}
	req := c.Request()
	require.Regexp(t, `^call-[0-9a-f]{32}$`, req.ID)
	require.Equal(t, "/w", *req.Bind.Workdir)
	require.True(t, req.Context.Subagent)
	require.Equal(t, "..-call-1", Call{ID: "..-call-1"}.RequestID())
	require.NotEqual(t, "..", Call{ID: ".."}.RequestID())
	require.Nil(t, Call{}.Request().Bind)
	require.Nil(t, Call{}.Request().Context)
}

// The answer comes before the runtime's limit, and nothing that is configured lifts a
// hard one.
func TestLimit(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	after := func(name string, configured time.Duration) time.Duration {
		r, ok := Find(name)
		require.True(t, ok)
		return r.Limit.Until(now, configured).Sub(now)
	}
	require.Equal(t, 590*time.Second, after("claude", 0))
	require.Equal(t, 24*time.Hour-10*time.Second, after("Claude-Code", 24*time.Hour))
	require.Equal(t, 55*time.Second, after("qwen", 24*time.Hour))
	require.Equal(t, 25*time.Second, after("cline", 0))
	require.Equal(t, 110*time.Second, after("cline", time.Hour))
	require.Equal(t, time.Second, after("claude", 2*time.Second))
}

// The table is whole: names are unique, every event can be read and answered, and
// whatever asks has a limit.
func TestRuntimes(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, r := range Runtimes() {
		for _, name := range append([]string{r.Name}, r.Aliases...) {
			require.False(t, seen[name], name)
			require.Equal(t, strings.ToLower(name), name)
			seen[name] = true
			found, ok := Find(strings.ToUpper(name))
			require.True(t, ok)
			require.Equal(t, r.Name, found.Name)
		}
		require.NotEmpty(t, r.Title)
		require.NotEmpty(t, r.Ways)
		require.NotEmpty(t, r.Traps)
		events := map[string]bool{}
		for _, e := range r.Events {
			require.False(t, events[e.Name], "%s %s", r.Name, e.Name)
			events[e.Name] = true
			require.NotNil(t, e.decode, "%s %s", r.Name, e.Name)
			require.NotNil(t, e.dialect.allow, "%s %s", r.Name, e.Name)
			require.NotNil(t, e.dialect.deny, "%s %s", r.Name, e.Name)
			require.True(t, e.HTTP || e.Command)
			require.NotZero(t, r.Limit.Default)
		}
		for _, w := range r.Ways {
			hooks := w.Kind == CommandHook || w.Kind == HTTPHook
			require.True(t, !hooks || events[w.Event], "%s %s", r.Name, w.Event)
		}
	}
	_, ok := Find("unknown")
	require.False(t, ok)
	require.Len(t, Names(), len(Runtimes()))
}

// A tool of an MCP server is never called as one of the runtime's own, which policy may
// know as harmless: also where the body does not say which server it is.
func TestDecode_AServersToolIsNeverTheRuntimesOwn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ runtime, event, body, want string }{
		{"cursor", "beforeMCPExecution",
			`{"hook_event_name":"beforeMCPExecution","tool_name":"read_file","tool_input":"{}","url":"https://evil.example"}`, "mcp__unnamed__read_file"},
		{"windsurf", "pre_mcp_tool_use",
			`{"agent_action_name":"pre_mcp_tool_use","tool_info":{"mcp_tool_name":"read_file","mcp_tool_arguments":{}}}`, "mcp__unnamed__read_file"},
		{"gemini-cli", "BeforeTool",
			`{"hook_event_name":"BeforeTool","tool_name":"read_file","tool_input":{},"mcp_context":{"server_name":"evil","tool_name":"read_file"}}`, "mcp__evil__read_file"},
		{"gemini-cli", "BeforeTool",
			`{"hook_event_name":"BeforeTool","tool_name":"read_file","tool_input":{},"mcp_context":{"tool_name":"read_file"}}`, "mcp__unnamed__read_file"},
		{"copilot-cli", "preToolUse", `{"sessionId":"s","toolName":"read-file","toolArgs":"{}"}`, "mcp__read-file"},
		{"copilot-cli", "PreToolUse", `{"hook_event_name":"PreToolUse","tool_name":"list-files","tool_input":{}}`, "mcp__list-files"},
		{"copilot-cli", "permissionRequest", `{"hookName":"permissionRequest","toolName":"read-file","toolInput":{}}`, "mcp__read-file"},
	} {
		r, _ := Find(c.runtime)
		e, ok := r.Event(c.event)
		require.True(t, ok)
		got, err := e.Decode([]byte(c.body))
		require.NoError(t, err)
		require.Equal(t, c.want, got.Tool)
	}
	r, _ := Find("gemini-cli")
	_, err := r.Events[0].Decode([]byte(`{"hook_event_name":"BeforeTool","tool_name":"read_file","tool_input":{},"mcp_context":"x"}`))
	require.Error(t, err)
}

// FuzzDecode: no decoder panics, and what it reads is a call that can be asked for
// with words apart.
func FuzzDecode(f *testing.F) {
	files, err := filepath.Glob("testdata/*.json")
	require.NoError(f, err)
	for _, file := range files {
		_, c := readCapture(f, filepath.Base(file))
		f.Add([]byte(c.Stdin))
	}
	raw, err := os.ReadFile("decode_test.go")
	require.NoError(f, err)
	f.Add(raw)
	f.Add([]byte(`{"event":"PreToolUse","session_id":"s","tool_call_id":"c","tool_name":"shell","tool_input":{"command":"ls"}}`))
	f.Add([]byte(`{"agent_action_name":"pre_mcp_tool_use","tool_info":{"mcp_tool_name":"x","mcp_tool_arguments":"{}"}}`))
	f.Add([]byte(`{"hook_event_name":"beforeMCPExecution","tool_name":"x","tool_input":"{\"a\":1}","workspace_roots":["/w"]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, r := range Runtimes() {
			for _, e := range r.Events {
				c, err := e.Decode(raw)
				if err != nil {
					require.Empty(t, c, "what is refused is no call")
					continue
				}
				require.NotEmpty(t, c.Tool)
				require.Equal(t, byte('{'), c.Params[0])
				require.LessOrEqual(t, len(c.Justification), maxWords)
				require.NotContains(t, c.Justification, "\x00")
				req := c.Request()
				require.True(t, req.ID == "" || ownID.MatchString(req.ID))
				e.Deny(c, "no")
			}
		}
	})
}
