package messages

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
)

// streams are messages in chunks. pass says how many chunks go on at each, before
// the message has ended.
var streams = map[string]struct {
	chunks []string
	pass   []int
	rest   []string // what follows at the end
	calls  []string
}{
	"openai": {
		[]string{
			`{"id":"x","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`,
			`{"id":"x","choices":[{"index":0,"delta":{"content":"I will."},"finish_reason":null}]}`,
			`{"id":"x","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"read_file","arguments":""}}]},"finish_reason":null}]}`,
			`{"id":"x","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\""}}]},"finish_reason":null}]}`,
			`{"id":"x","choices":[{"index":0,"delta":{"content":" Now.","tool_calls":[{"index":1,"id":"c2","type":"function","function":{"name":"deploy","arguments":"{}"}}]},"finish_reason":null}]}`,
			`{"id":"x","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}},{"index":2,"id":"c3","type":"function","function":{"name":"rm","arguments":"{}"}}]},"finish_reason":null}]}`,
			`{"id":"x","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`,
			`{"id":"x","choices":[],"usage":{"total_tokens":9}}`,
		},
		[]int{1, 1, 0, 0, 1, 0, 0, 0},
		[]string{
			`{"id":"x","choices":[{"index":0,"delta":{"content":"\n\nThe call of tool rm was refused and did not run: never"},"finish_reason":null}]}`,
			`{"id":"x","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"read_file","arguments":"{\"a\":1}"}},{"index":1,"id":"approval_msg-INJECTED","type":"function","function":{"name":"client.requestApproval","arguments":"ARGS"}}]},"finish_reason":null}]}`,
			`{"id":"x","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`,
			`{"id":"x","choices":[],"usage":{"total_tokens":9}}`,
		},
		[]string{"c1 run", "c2 wait", "c3 refused"},
	},
	"anthropic": {
		[]string{
			`{"type":"message_start","message":{"role":"assistant","content":[]}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t1","name":"deploy","input":{}}}`,
			`{"type":"ping"}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\":"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"1}"}}`,
			`{"type":"content_block_stop","index":0}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hi"}}`,
			`{"type":"content_block_stop","index":1}`,
			`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}`,
			`{"type":"message_stop"}`,
		},
		[]int{1, 0, 1, 0, 0, 0, 1, 1, 1, 0, 0},
		[]string{
			`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"approval_msg-INJECTED","name":"client.requestApproval","input":{}}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"ARGS"}}`,
			`{"type":"content_block_stop","index":1}`,
			`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}`,
			`{"type":"message_stop"}`,
		},
		[]string{"t1 wait"},
	},
	"anthropic, all refused": {
		[]string{
			`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t1","name":"rm","input":{}}}`,
			`{"type":"content_block_stop","index":0}`,
			`{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`,
		},
		[]int{0, 0, 0},
		[]string{
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"The call of tool rm was refused and did not run: never"}}`,
			`{"type":"content_block_stop","index":0}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`,
		},
		[]string{"t1 refused"},
	},
	"openai, cut off by its length": {
		[]string{
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"read_file","arguments":""}}]}}]}`,
			`{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}`,
		},
		[]int{0, 0},
		[]string{
			`{"choices":[{"index":0,"delta":{"content":"The call of tool read_file was refused and did not run: A call must have a name and its arguments as a JSON object without duplicate names."},"finish_reason":null}]}`,
			`{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}`,
		},
		[]string{"c1 refused"},
	},
	"google": {
		[]string{
			`{"candidates":[{"content":{"role":"model","parts":[{"text":"Hi"}]}}]}`,
			`{"candidates":[{"content":{"role":"model","parts":[{"text":"Now"},{"functionCall":{"id":"f1","name":"deploy","args":{"a":1}}}]}}],"usageMetadata":{"n":1}}`,
			`{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"client.x"}}]}}]}`,
			`{"candidates":[{"content":{"role":"model","parts":[{"text":""}]},"finishReason":"STOP"}]}`,
		},
		[]int{1, 1, 0, 0},
		[]string{
			`{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"id":"approval_msg-INJECTED","name":"client.requestApproval","args":{}}},{"text":"A tool call was refused and did not run: Tools of that name are called by the approval desk alone."}]},"index":0}]}`,
			`{"candidates":[{"content":{"role":"model","parts":[{"text":""}]},"finishReason":"STOP"}]}`,
		},
		[]string{"f1 wait", " refused"},
	},
	"events": {
		[]string{
			`{"type":"start","messageId":"m1"}`, `{"type":"chunk","messageId":"m1","content":"Hi"}`,
			`{"type":"chunk","messageId":"m1","tool_calls":[{"id":"c1","type":"function","function":{"name":"deploy","arguments":"{}"}}]}`,
			`{"type":"end","messageId":"m1"}`,
		},
		[]int{1, 1, 0, 0},
		[]string{
			`{"type":"chunk","messageId":"m1","tool_calls":[{"index":0,"id":"approval_msg-INJECTED","type":"function","function":{"name":"client.requestApproval","arguments":"ARGS"}}]}`,
			`{"type":"end","messageId":"m1"}`,
		},
		[]string{"c1 wait"},
	},
	"no call": {
		[]string{`{"candidates":[{"content":{"parts":[{"text":"Hi"}]},"finishReason":"STOP"}]}`}, []int{1}, []string{}, []string{},
	},
}

func TestStreams(t *testing.T) {
	for name, c := range streams {
		t.Run(name, func(t *testing.T) {
			o := newOffice(t)
			req := api.InterceptRequest{SessionKey: "s", MessageID: "m1"}
			s, err := NewStream(o.as("agent"), req)
			require.NoError(t, err)
			all := []json.RawMessage{}
			for i, chunk := range c.chunks {
				pass, err := s.Chunk(json.RawMessage(chunk))
				require.NoError(t, err)
				require.Len(t, pass, c.pass[i], chunk)
				all = append(all, pass...)
			}
			rest, calls, err := s.End(t.Context())
			require.NoError(t, err)
			outcomes := []string{}
			for _, call := range calls {
				outcomes = append(outcomes, call.ToolCallID+" "+call.Outcome)
			}
			require.Equal(t, c.calls, outcomes)
			require.Len(t, rest, len(c.rest))
			for i, raw := range rest {
				require.JSONEq(t, c.rest[i], masked(t, raw, calls))
			}
			_, err = s.Chunk(json.RawMessage(c.chunks[0]))
			require.Error(t, err, "it has ended")

			req.Chunks = raws(c.chunks...)
			whole, err := Intercept(t.Context(), o.as("agent"), req)
			require.NoError(t, err)
			require.Equal(t, append(all, rest...), whole.Chunks)
			require.Equal(t, calls, whole.Calls)
		})
	}
}

// masked takes the approval's id, and the args of the injected call, out of a chunk.
func masked(t *testing.T, raw json.RawMessage, calls []api.MessageCall) string {
	text := string(raw)
	for _, c := range calls {
		if c.Outcome == CallWaits {
			text = strings.ReplaceAll(text, c.ApprovalID, "msg-INJECTED")
		}
	}
	var v any
	require.NoError(t, json.Unmarshal([]byte(text), &v))
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for k, e := range v {
				if s, ok := e.(string); ok && strings.Contains(s, "originalToolCall") {
					v[k] = "ARGS"
				} else if m, ok := e.(map[string]any); ok && m["originalToolCall"] != nil {
					v[k] = map[string]any{}
				}
				walk(e)
			}
		}
	}
	walk(v)
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return string(b)
}

// A stream that breaks off, or that cannot be understood, lets no call run.
func TestAdversary_B9_BrokenStreams(t *testing.T) {
	call := `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read_file","arguments":"{}"}}]}}]}`
	for name, chunks := range map[string][]string{
		"no end":                 {call},
		"no end of a block":      {`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"read_file","input":{}}}`, `{"type":"message_stop"}`},
		"no end event":           {`{"type":"chunk","tool_calls":[{"id":"c1","function":{"name":"read_file","arguments":"{}"}}]}`},
		"a delta of no block":    {`{"type":"content_block_delta","index":3,"delta":{}}`},
		"a block twice":          {`{"type":"content_block_start","index":0,"content_block":{"type":"text"}}`, `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"rm","input":{}}}`},
		"calls in the start":     {`{"type":"message_start","message":{"content":[{"type":"tool_use","id":"t","name":"rm","input":{}}]}}`},
		"the old form":           {`{"choices":[{"delta":{"function_call":{"name":"rm"}}}]}`},
		"a whole message":        {`{"choices":[{"message":{"tool_calls":[]}}]}`},
		"another case":           {`{"choices":[{"delta":{"Tool_Calls":[]}}]}`},
		"a second choice":        {`{"choices":[{"index":1,"delta":{"tool_calls":[{"index":0}]}}]}`},
		"not JSON":               {`[DONE]`},
		"an unknown dialect":     {`{"type":"response.output_item.added"}`},
		"calls in another event": {`{"type":"start"}`, `{"type":"end","tool_calls":[]}`},
	} {
		o := newOffice(t)
		out, err := Intercept(t.Context(), o.as("agent"), api.InterceptRequest{SessionKey: "s", Chunks: raws(chunks...)})
		require.Error(t, err, name)
		for _, c := range out.Chunks {
			require.NotContains(t, string(c), "read_file", name)
		}
		require.Empty(t, out.Calls)
	}
	o := newOffice(t)
	_, err := Intercept(t.Context(), o.as("agent"), api.InterceptRequest{SessionKey: "s", Chunks: raws(call), Message: json.RawMessage(`{}`)})
	require.Error(t, err)
	_, err = Intercept(t.Context(), o.as("agent"), api.InterceptRequest{SessionKey: "s", Chunks: raws(call), Format: api.GoogleMessages})
	require.Error(t, err)
}
