package messages

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
)

var update = flag.Bool("update", false, "rewrite the golden conversations, and the examples in docs")

// step is one request of a golden conversation, and its answer.
type step struct {
	Step    string `json:"step"`
	As      string `json:"as"`
	Request any    `json:"request"`
	Answer  any    `json:"answer"`
}

// tongue is what a client of one provider writes.
type tongue struct {
	user, model string
	answer      func(id, name, decision, scope string) string // the result of an injected call
	result      func(id, name, output string) string          // of a real one
}

var tongues = map[string]tongue{
	"openai": {
		user: `{"role":"user","content":"Clean up, please."}`,
		model: `{"role":"assistant","content":"I will.","refusal":null,"tool_calls":[` +
			`{"id":"call_1","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"notes.txt\"}"}},` +
			`{"id":"call_2","type":"function","function":{"name":"deploy","arguments":"{\"to\": \"staging\", \"apiKey\": \"sk-live-1234\"}"}},` +
			`{"id":"call_3","type":"function","function":{"name":"rm","arguments":"{\"path\":\"/\"}"}}]}`,
		answer: func(id, name, decision, scope string) string {
			return answered(strings.TrimPrefix(id, idPrefix), decision, scope, name)
		},
		result: func(id, _, output string) string {
			return string(pairs("role", "tool", "tool_call_id", id, "content", output).encode())
		},
	},
	"anthropic": {
		user: `{"role":"user","content":[{"type":"text","text":"Clean up, please."}]}`,
		model: `{"role":"assistant","content":[{"type":"thinking","thinking":"…","signature":"c2ln"},{"type":"text","text":"I will."},` +
			`{"type":"tool_use","id":"toolu_1","name":"read_file","input":{"path":"notes.txt"}},` +
			`{"type":"tool_use","id":"toolu_2","name":"deploy","input":{"to":"staging","apiKey":"sk-live-1234"}},` +
			`{"type":"tool_use","id":"toolu_3","name":"rm","input":{"path":"/"}}],"stop_reason":"tool_use"}`,
		answer: func(id, name, decision, scope string) string {
			content := pairs("decision", decision, "scope", scope, "toolName", name).encode()
			block := pairs("type", "tool_result", "tool_use_id", id, "content", string(content)).encode()
			return string(pairs("role", "user", "content", encodeArray([]json.RawMessage{block})).encode())
		},
		result: func(id, _, output string) string {
			block := pairs("type", "tool_result", "tool_use_id", id, "content", output).encode()
			return string(pairs("role", "user", "content", encodeArray([]json.RawMessage{block})).encode())
		},
	},
	"google": {
		user: `{"role":"user","parts":[{"text":"Clean up, please."}]}`,
		model: `{"role":"model","parts":[{"text":"I will."},` +
			`{"functionCall":{"id":"fc1","name":"read_file","args":{"path":"notes.txt"}},"thoughtSignature":"c2ln"},` +
			`{"functionCall":{"id":"fc2","name":"deploy","args":{"to":"staging","apiKey":"sk-live-1234"}},"thoughtSignature":"bmF0"},` +
			`{"functionCall":{"id":"fc3","name":"rm","args":{"path":"/"}}}]}`,
		answer: func(id, name, decision, scope string) string {
			response := pairs("decision", decision, "scope", scope, "toolName", name).encode()
			fr := pairs("id", id, "name", RequestApproval, "response", response).encode()
			return string(pairs("role", "user", "parts", encodeArray(one(pairs("functionResponse", fr)))).encode())
		},
		result: func(id, name, output string) string {
			fr := pairs("id", id, "name", name, "response", pairs("result", output).encode()).encode()
			return string(pairs("role", "user", "parts", encodeArray(one(pairs("functionResponse", fr)))).encode())
		},
	},
	"responses": {
		user: `{"role":"user","content":"Clean up, please."}`,
		model: `[{"type":"reasoning","id":"rs_1","summary":[]},` +
			`{"type":"function_call","id":"fc_1","call_id":"call_1","name":"read_file","arguments":"{\"path\":\"notes.txt\"}"},` +
			`{"type":"function_call","id":"fc_2","call_id":"call_2","name":"deploy","arguments":"{\"to\":\"staging\",\"apiKey\":\"sk-live-1234\"}"},` +
			`{"type":"function_call","id":"fc_3","call_id":"call_3","name":"rm","arguments":"{\"path\":\"/\"}"}]`,
		answer: func(id, name, decision, scope string) string {
			content := pairs("decision", decision, "scope", scope, "toolName", name).encode()
			return string(pairs("type", "function_call_output", "call_id", id, "output", string(content)).encode())
		},
		result: func(id, _, output string) string {
			return string(pairs("type", "function_call_output", "call_id", id, "output", output).encode())
		},
	},
}

// A whole conversation of each shape: the model asks for three calls, one runs,
// one waits, one is refused; a person allows it; it runs; the model sees only its
// own calls.
func TestConversations(t *testing.T) {
	for name, tongue := range tongues {
		t.Run(name, func(t *testing.T) {
			steps := converse(t, newOffice(t), tongue)
			got := still(pretty(t, steps)) + "\n"
			file := filepath.Join("testdata", name+".json")
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
			}
			require.Equal(t, readFile(t, file)+"\n", got)
			checkDocs(t, name, steps)
		})
	}
}

func converse(t *testing.T, o *office, say tongue) []step {
	ctx, list, steps := t.Context(), raws(say.user), []step(nil)
	done := func(name, as string, req, out any, err error) {
		require.NoError(t, err)
		steps = append(steps, step{name, as, req, out})
	}
	add := func(m json.RawMessage) {
		if kindOf(m) == '[' {
			items, err := parseArray(m)
			require.NoError(t, err)
			list = append(list, items...)
			return
		}
		list = append(list, m)
	}
	ask := api.InterceptRequest{SessionKey: "chat-7", Message: json.RawMessage(say.model),
		Tools: []api.MessageTool{{Name: "deploy", Description: "Deploys to a machine.", Approval: &api.ToolApproval{Required: true}}}}
	got, err := Intercept(ctx, o.as("agent"), ask)
	done("intercept", "agent", ask, got, err)
	require.Equal(t, []string{CallRuns, CallWaits, CallRefused}, []string{got.Calls[0].Outcome, got.Calls[1].Outcome, got.Calls[2].Outcome})
	again, err := Intercept(ctx, o.as("agent"), ask)
	require.NoError(t, err)
	require.Equal(t, got, again, "the same message again")
	add(got.Message)
	add(json.RawMessage(say.result(got.Calls[0].ToolCallID, "read_file", "buy milk")))
	id := idPrefix + got.Calls[1].ApprovalID
	list = append(list, json.RawMessage(say.answer(id, "deploy", "approve", "once")))

	resubmit := api.DecisionsRequest{SessionKey: "chat-7", Messages: list}
	word, err := Decide(ctx, o.as("agent"), resubmit)
	require.NoError(t, err)
	require.Equal(t, "ignored", word.Calls[0].Vote)
	require.Equal(t, CallWaits, word.Calls[0].Outcome)
	decided, err := Decide(ctx, o.inside("alice"), resubmit)
	done("decisions", "alice", resubmit, decided, err)
	require.Equal(t, "counted", decided.Calls[0].Vote)
	require.Equal(t, []string{"person:alice"}, o.get(got.Calls[1].ApprovalID).DecidedBy)

	claim := api.DecisionsRequest{SessionKey: "chat-7", Messages: list, Claim: true}
	claimed, err := Decide(ctx, o.as("agent"), claim)
	done("claim", "agent", claim, claimed, err)
	require.JSONEq(t, `{"apiKey":"sk-live-1234","to":"staging"}`, string(claimed.Calls[0].Claim.Params))
	list = append(list, claimed.Messages...)
	list = append(list, json.RawMessage(say.result(claimed.Calls[0].ToolCallID, "deploy", "done")))

	prepare := api.PrepareRequest{Messages: list}
	clean, err := Prepare(prepare)
	done("prepare", "agent", prepare, clean, err)
	for _, m := range clean.Messages {
		require.NotContains(t, string(m), "client.")
		require.NotContains(t, string(m), idPrefix)
	}
	for _, s := range steps[:2] { // the secret is in the model's own words, and in nothing that people see
		require.NotContains(t, pretty(t, s.Answer), "sk-live")
	}
	return steps
}

func pretty(t testing.TB, v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	require.NoError(t, e.Encode(v))
	return strings.TrimSpace(b.String())
}

// brief writes a JSON object with a line for each member, and for each element of
// the lists in it.
func brief(t testing.TB, v any) string {
	var compact bytes.Buffer
	require.NoError(t, json.Compact(&compact, []byte(pretty(t, v))))
	o, err := parseObject(compact.Bytes())
	require.NoError(t, err)
	var lines []string
	for _, m := range o {
		text := string(m.value)
		if list, err := parseArray(m.value); err == nil && len(list) > 0 {
			var each []string
			for _, e := range list {
				each = append(each, "    "+string(e))
			}
			text = "[\n" + strings.Join(each, ",\n") + "\n  ]"
		}
		lines = append(lines, "  "+string(m.key)+": "+text)
	}
	return "{\n" + strings.Join(lines, ",\n") + "\n}"
}

const docs = "../../docs/messages.md"

var example = regexp.MustCompile("(?s)<!-- ([a-z]+) ([a-z]+) (request|answer) -->\n```json\n(.*?)\n```")

// checkDocs holds the examples of the documentation to what really happened.
func checkDocs(t *testing.T, name string, steps []step) {
	text, err := os.ReadFile(docs)
	require.NoError(t, err)
	found := 0
	text = example.ReplaceAllFunc(text, func(block []byte) []byte {
		m := example.FindSubmatch(block)
		if string(m[1]) != name {
			return block
		}
		found++
		for _, s := range steps {
			if s.Step != string(m[2]) {
				continue
			}
			v := s.Request
			if string(m[3]) == "answer" {
				v = s.Answer
			}
			want := still(brief(t, v))
			if !*update {
				require.Equal(t, want, string(m[4]), "%s: run the tests with -update", m[0][:40])
			}
			return bytes.Replace(block, m[4], []byte(want), 1)
		}
		t.Fatalf("docs show a step %s that the conversation does not have", m[2])
		return nil
	})
	require.NotZero(t, found, "docs show no example of %s", name)
	if *update {
		require.NoError(t, os.WriteFile(docs, text, 0o644))
	}
}
