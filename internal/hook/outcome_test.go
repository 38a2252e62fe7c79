package hook

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
)

// How a call ended is what the captured bodies of the clients say of it, and no more.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	failed := func(code int) *api.ResultRequest { return &api.ResultRequest{Status: "failed", ExitCode: &code} }
	const claude = `{"session_id":"s","hook_event_name":"EVENT","tool_name":"Bash","tool_input":{"command":"x"},"tool_use_id":"t",MORE}`
	const qwen = `{"session_id":"s","hook_event_name":"EVENT","tool_name":"run_shell_command","tool_input":{"command":"x"},"tool_call_id":"t",MORE}`
	shell := func(output, exit string) string {
		text, _ := json.Marshal("Command: x\nDirectory: (root)\nOutput: " + output + "\nError: (none)\nExit Code: " + exit + "\nSignal: (none)\nProcess Group PGID: (none)")
		return string(text)
	}
	for _, c := range []struct {
		runtime, body, event, more string
		want                       *api.ResultRequest
	}{
		{"claude", claude, "PostToolUse", `"tool_response":{"stdout":"","stderr":"","interrupted":false,"isImage":false}`, outcomeOf("succeeded")},
		{"claude", claude, "PostToolUse", `"tool_response":"text"`, outcomeOf("succeeded")},
		{"claude", claude, "PostToolUse", `"tool_response":{"stdout":"","interrupted":true}`, &api.ResultRequest{Status: "failed", Summary: "interrupted"}},
		{"claude", claude, "PostToolUse", `"tool_response":{"stdout":"","interrupted":false,"backgroundTaskId":"b1"}`, nil},
		{"claude", claude, "PostToolUse", `"tool_response":{"status":"async_launched","isAsync":true}`, nil},
		{"claude", claude, "PostToolUseFailure", `"error":"Exit code 3\nout\nerr","is_interrupt":false`, failed(3)},
		{"claude", claude, "PostToolUseFailure", `"error":"File has not been read yet"`, outcomeOf("failed")},
		{"claude", claude, "PostToolUseFailure", `"error":"out\nExit code 0"`, outcomeOf("failed")},
		{"claude", claude, "PostToolUseFailure", `"error":"","is_interrupt":true`, &api.ResultRequest{Status: "failed", Summary: "interrupted"}},
		{"qwen", qwen, "PostToolUse", `"tool_response":{"llmContent":` + shell("(empty)", "0") + `}`, outcomeOf("succeeded")},
		{"qwen", qwen, "PostToolUse", `"tool_response":{"llmContent":"Background shell started"}`, nil},
		{"qwen", qwen, "PostToolUseFailure", `"error":` + shell("out\nExit Code: 0\nSignal: (none)", "3"), failed(3)},
		{"qwen", qwen, "PostToolUseFailure", `"error":"no such file"`, outcomeOf("failed")},
	} {
		r, _ := Find(c.runtime)
		e, known := r.Event(c.event)
		require.True(t, known, c.event)
		require.Equal(t, After, e.Phase)
		got, err := e.Decode([]byte(strings.NewReplacer("EVENT", c.event, "MORE", c.more).Replace(c.body)))
		require.NoError(t, err, c.more)
		require.Equal(t, c.want, got.outcome, c.more)
		require.Equal(t, "t", got.ID)
	}
}
