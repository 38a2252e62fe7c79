package messages

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"approvalbot/api"
)

func prepared(t testing.TB, list ...string) []string {
	out, err := Prepare(api.PrepareRequest{Messages: raws(list...)})
	require.NoError(t, err)
	text := []string{}
	for _, m := range out.Messages {
		text = append(text, string(m))
	}
	return text
}

// What the model sees: no client call, no approval, no result without its call,
// no message that says nothing; every other byte as it was.
func TestPrepare(t *testing.T) {
	const (
		request  = `{"id":"approval_x","type":"function","function":{"name":"client.requestApproval","arguments":"{}"}}`
		real     = `{"id":"call_1","type":"function", "function":{"name":"read_file","arguments":"{ }"}}`
		approved = `{"role":"tool","tool_call_id":"approval_x","content":"{\"decision\":\"approve\",\"scope\":\"once\"}"}`
		hello    = `{"role":"user","content":"say client.requestApproval \u00e9", "extra":1.0}`
		use      = `{"type":"tool_use","id":"approval_x","name":"client.requestApproval","input":{}}`
		realUse  = `{"type":"tool_use","id":"t1","name":"read_file","input":{"a": 1}}`
		used     = `{"type":"tool_result","tool_use_id":"approval_x","content":"{}"}`
		realUsed = `{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"x"}]}`
		fc       = `{"functionCall":{"id":"approval_x","name":"client.requestApproval","args":{}}}`
		fr       = `{"functionResponse":{"name":"client.requestApproval","response":{}}}`
		thought  = `{"type":"reasoning","id":"rs","summary":[]}`
		item     = `{"type":"function_call","call_id":"approval_x","name":"client.requestApproval","arguments":"{}"}`
		realItem = `{"type":"function_call","call_id":"c1","name":"read_file","arguments":"{}"}`
	)
	for name, c := range map[string]struct{ in, out []string }{
		"nothing to do":                {[]string{hello, ` {"role":"assistant", "content":null,"tool_calls":[` + real + `]}`}, []string{hello, ` {"role":"assistant", "content":null,"tool_calls":[` + real + `]}`}},
		"a request and its result":     {[]string{hello, `{"role":"assistant","content":"","tool_calls":[` + request + `]}`, approved}, []string{hello}},
		"beside a real call":           {[]string{`{"role":"assistant","content":null,"tool_calls":[` + request + `,` + real + `],"x":"\u00e9"}`, approved}, []string{`{"role":"assistant","content":null,"tool_calls":[` + real + `],"x":"\u00e9"}`}},
		"beside words":                 {[]string{`{"role":"assistant","content":"I will.","tool_calls":[` + request + `]}`}, []string{`{"role":"assistant","content":"I will."}`}},
		"a client call of another id":  {[]string{`{"role":"assistant","tool_calls":[` + strings.Replace(request, "approval_x", "c7", 1) + `]}`, `{"role":"tool","tool_call_id":"c7","content":"x"}`}, []string{}},
		"the id serves again":          {[]string{`{"role":"assistant","tool_calls":[` + strings.Replace(request, "approval_x", "call_1", 1) + `]}`, `{"role":"tool","tool_call_id":"call_1","content":"x"}`, `{"role":"assistant","tool_calls":[` + real + `]}`, `{"role":"tool","tool_call_id":"call_1","content":"y"}`}, []string{`{"role":"assistant","tool_calls":[` + real + `]}`, `{"role":"tool","tool_call_id":"call_1","content":"y"}`}},
		"the old form":                 {[]string{`{"role":"assistant","content":null,"function_call":{"name":"client.requestApproval","arguments":"{}"}}`, `{"role":"function","name":"client.requestApproval","content":"{}"}`}, []string{}},
		"blocks":                       {[]string{`{"role":"assistant","content":[` + use + `,` + realUse + `]}`, `{"role":"user","content":[` + used + `, ` + realUsed + `]}`}, []string{`{"role":"assistant","content":[` + realUse + `]}`, `{"role":"user","content":[` + realUsed + `]}`}},
		"thoughts alone":               {[]string{`{"role":"assistant","content":[{"type":"thinking","thinking":"x"},` + use + `]}`, `{"role":"user","content":[` + used + `]}`}, []string{}},
		"parts":                        {[]string{`{"role":"model","parts":[{"text":"a"},` + fc + `]}`, `{"role":"user","parts":[` + fr + `]}`, `{"role":"model","parts":[{"thought":true,"text":"hm"},` + fc + `]}`}, []string{`{"role":"model","parts":[{"text":"a"}]}`}},
		"items":                        {[]string{hello, thought, item, `{"type":"function_call_output","call_id":"approval_x","output":"{}"}`, hello}, []string{hello, hello}},
		"thoughts before another call": {[]string{thought, item, realItem}, []string{thought, realItem}},
		"thoughts at the end":          {[]string{hello, thought, item}, []string{hello}},
		"thoughts in between":          {[]string{thought, item, thought, realItem}, []string{thought, realItem}},
		"thoughts of nobody":           {[]string{thought, hello, thought}, []string{thought, hello, thought}},
	} {
		got := prepared(t, c.in...)
		require.Equal(t, c.out, got, name)
		require.Equal(t, got, prepared(t, got...), name)
	}
	for _, bad := range []string{`x`, `[]`, `"x"`, `{"a":1,"a":2}`, "{\"a\":\"\xff\"}", `{} {}`} {
		_, err := Prepare(api.PrepareRequest{Messages: raws(bad)})
		require.Error(t, err, bad)
	}
}

// Of any conversation: preparing twice is preparing once, nothing of the flow is
// left, and the messages that have none of it keep their bytes.
func TestPrepareIsIdempotent(t *testing.T) {
	id := rapid.SampledFrom([]string{"c1", "c2", "approval_x", ""})
	name := rapid.SampledFrom([]string{"read_file", "client.requestApproval", "Client.x", "clients"})
	rapid.Check(t, func(t *rapid.T) {
		one := rapid.Custom(func(t *rapid.T) string {
			i, n := quote(id.Draw(t, "id")), quote(name.Draw(t, "name"))
			call := rapid.SampledFrom([]string{
				`{"role":"assistant","content":null,"tool_calls":[{"id":ID,"function":{"name":NAME,"arguments":"{}"}}]}`,
				`{"role":"assistant","content":[{"type":"text","text":"x"},{"type":"tool_use","id":ID,"name":NAME,"input":{}}],"tool_calls":[{"id":ID,"function":{"name":NAME,"arguments":"{}"}}]}`,
				`{"role":"assistant","content":[{"type":"thinking"},{"type":"tool_use","id":ID,"name":NAME,"input":{}},{"type":"what"}]}`,
				`{"role":"model","parts":[{"functionCall":{"id":ID,"name":NAME,"args":{}}},{"function_call":{"name":NAME}},{"text":"x"}]}`,
				`{"role":"tool","tool_call_id":ID,"content":"x"}`, `{"role":"user","content":[{"type":"tool_result","tool_use_id":ID}]}`,
				`{"role":"user","parts":[{"functionResponse":{"id":ID,"name":NAME}}]}`,
				`{"type":"reasoning"}`, `{"type":"function_call","call_id":ID,"name":NAME,"arguments":"{}"}`, `{"type":"function_call_output","call_id":ID}`,
				`{"role":"user","content":"client.x"}`, `{"role":"assistant","function_call":{"name":NAME}}`, `{"content":5,"parts":null}`,
			}).Draw(t, "message")
			return strings.NewReplacer("ID", string(i), "NAME", string(n)).Replace(call)
		})
		list := rapid.SliceOf(one).Draw(t, "conversation")
		out, err := Prepare(api.PrepareRequest{Messages: raws(list...)})
		require.NoError(t, err)
		checkPrepared(t, out.Messages)
	})
}

func checkPrepared(t require.TestingT, list []json.RawMessage) {
	again, err := Prepare(api.PrepareRequest{Messages: list})
	require.NoError(t, err)
	require.Equal(t, list, again.Messages)
	for _, raw := range list {
		o, err := parseObject(raw)
		require.NoError(t, err)
		for _, sh := range shapes() {
			for _, it := range sh.read(raw, o).items {
				require.False(t, it.kind != other && ours(it.id, it.name), "%s", raw)
			}
		}
	}
}
