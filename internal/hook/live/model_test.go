package live

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// say gives the model's answer to a body.
func say(m *Model, path, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	m.ServeHTTP(w, httptest.NewRequest("POST", path, strings.NewReader(body)))
	return w
}

// In each dialect the model asks for its command with the tool that it is offered, and
// ends once it has the result.
func TestModel_AsksOnce(t *testing.T) {
	for name, d := range map[string]struct{ path, tools, result string }{
		"anthropic": {"/v1/messages?beta=true",
			`{"tools":[{"name":"Read"},{"name":"Bash","input_schema":{"properties":{"command":{"type":"string"}}}}],"messages":[{"role":"user","content":"clean"}]}`,
			`{"tools":[{"name":"Bash"}],"messages":[{"role":"user","content":[{"type":"tool_result","content":"denied by alice"}]}]}`},
		"chat": {"/v1/chat/completions",
			`{"tools":[{"type":"function","function":{"name":"run_commands","parameters":{"properties":{"commands":{"type":"array"}}}}}],"messages":[]}`,
			`{"tools":[{"type":"function","function":{"name":"run_commands"}}],"messages":[{"role":"tool","content":"denied by alice"}]}`},
		"responses": {"/v1/responses",
			`{"tools":[{"type":"function","name":"exec_command","parameters":{"properties":{"cmd":{"type":"string"}},"required":["cmd","n"]}}],"input":[]}`,
			`{"tools":[{"name":"exec_command"}],"input":[{"type":"function_call_output","output":"denied by alice"}]}`},
		"gemini": {"/v1beta/models/m:generateContent",
			`{"tools":[{"functionDeclarations":[{"name":"run_shell_command","parametersJsonSchema":{"properties":{"command":{"type":"string"}}}}]}],"contents":[]}`,
			`{"tools":[{"functionDeclarations":[{"name":"run_shell_command"}]}],"contents":[{"parts":[{"functionResponse":{"response":"denied by alice"}}]}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			for _, stream := range []string{"", `,"stream":true}`} {
				m := &Model{Command: "mv build build.old"}
				asks, ends := d.tools, d.result
				if stream != "" {
					asks, ends = strings.TrimSuffix(asks, "}")+stream, strings.TrimSuffix(ends, "}")+stream
				}
				w := say(m, d.path, asks)
				require.Contains(t, w.Body.String(), "mv build build.old")
				require.Equal(t, 1, m.Calls())
				w = say(m, d.path, ends)
				require.Contains(t, w.Body.String(), "FINAL: denied by alice")
				require.Equal(t, 1, m.Calls())
				require.Equal(t, []string{"denied by alice"}, m.Read())
			}
		})
	}
}

// A model that repeats asks again after a result, so often and no more.
func TestModel_Repeats(t *testing.T) {
	m := &Model{Command: "true", Repeat: 1}
	const tools = `{"tools":[{"name":"Bash"}],"messages":[{"role":"user","content":[RESULTS]}]}`
	result := `{"type":"tool_result","content":"x"}`
	for i, results := range []string{"", result, result + "," + result} {
		w := say(m, "/v1/messages", strings.Replace(tools, "RESULTS", results, 1))
		require.Equal(t, min(i+1, 2), m.Calls())
		require.True(t, json.Valid(w.Body.Bytes()))
	}
}

// Whatever a client sends, the model answers.
func FuzzModel(f *testing.F) {
	for _, path := range []string{"/v1/messages", "/v1/chat/completions", "/v1/responses", "/v1beta/models/m:streamGenerateContent", "/x"} {
		f.Add(path, `{"tools":[{"name":"Bash","function":{"name":"bash"}}],"messages":[{"content":[{}]}],"input":[{}],"contents":[{}]}`)
	}
	f.Fuzz(func(t *testing.T, path, body string) {
		r := httptest.NewRequest("POST", "/", strings.NewReader(body))
		r.URL.Path = path
		(&Model{Command: "true"}).ServeHTTP(httptest.NewRecorder(), r)
	})
}
