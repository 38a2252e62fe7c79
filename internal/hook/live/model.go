package live

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
)

// Model is a fake model behind the HTTP APIs that agent runtimes speak: Anthropic
// messages, OpenAI chat completions and responses, Gemini. It asks for one shell
// command, with whichever shell tool the runtime offers, and ends with a text once it
// has that call's result.
type Model struct {
	Command string         // the shell line it asks for
	Tool    string         // the tool that it asks for; empty: a shell, under the name that the runtime has for it
	Args    map[string]any // arguments beside the command; of Tool all of them
	Saw     func([]byte)   // is given each request; nil: ignored
	Repeat  int            // how often it asks again after a result; 0 means never
	Before  []Use          // calls before its command, in order and once each; agents continue from there

	mu    sync.Mutex
	begun int // of Before
	calls int
	runs  int // of the client, whose calls have ids of their own as those of real models do
	read  []string
}

// Use is one use of a tool that the runtime offers.
type Use struct {
	Tool  string
	Args  map[string]any
	Given func(last string) map[string]any // the arguments by the last result; nil means Args
}

// Calls is how many tool calls the model has asked for.
func (m *Model) Calls() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.calls
}

// Read is what the runtime gave the model as results of its tool calls, in order.
func (m *Model) Read() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string{}, m.read...)
}

// forget makes the model begin anew.
func (m *Model) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls, m.read, m.begun = 0, nil, 0
	m.runs++
}

// maxBody bounds what the model reads of one request.
const maxBody = 32 << 20

type object = map[string]any

// ServeHTTP answers in the dialect that the path names.
func (m *Model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body object
	if r.Method == http.MethodPost {
		text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err == nil && len(text) > 0 {
			err = json.Unmarshal(text, &body)
		}
		if m.Saw != nil {
			m.Saw(text)
		}
		if err != nil {
			http.Error(w, "not a JSON object", http.StatusBadRequest)
			return
		}
	}
	path := r.URL.Path
	switch {
	case r.Method != http.MethodPost && strings.Contains(path, "models"):
		model := object{"id": "fake-model", "object": "model", "type": "model", "display_name": "fake"}
		writeJSON(w, object{"object": "list", "data": []any{model}, "models": []any{}})
	case r.Method != http.MethodPost:
		writeJSON(w, object{})
	case strings.HasSuffix(path, "count_tokens"), strings.HasSuffix(path, ":countTokens"):
		writeJSON(w, object{"input_tokens": 10, "totalTokens": 10})
	case strings.HasSuffix(path, "/messages"):
		m.anthropic(w, body)
	case strings.HasSuffix(path, "/chat/completions"):
		m.chat(w, body)
	case strings.HasSuffix(path, "/responses"):
		m.responses(w, body)
	case strings.Contains(path, "enerateContent"):
		m.gemini(w, body, strings.Contains(path, "stream"))
	default:
		writeJSON(w, object{})
	}
}

// turn is what the model says next: a tool call, or the last text.
type turn struct {
	tool string // empty: text
	args object
	id   string
	text string
}

// argsText is the call's arguments as JSON text.
func (t turn) argsText() string {
	text, _ := json.Marshal(t.args)
	return string(text)
}

// shells are the names under which runtimes offer a shell, in order of preference.
var shells = []string{
	"Bash", "bash", "run_shell_command", "shell_command", "exec_command", "shell", "local_shell", "run_commands",
	"execute_command", "terminal", "developer__shell",
}

// next decides the turn. results are the results of tool calls since the person spoke.
func (m *Model) next(tools map[string]object, results []any) turn {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range results[min(len(results), len(m.read)):] { // each request has all of them
		m.read = append(m.read, plainText(r))
	}
	id := fmt.Sprintf("%08x%08x", m.runs, m.calls+1)
	if m.offersNext(tools) {
		use := m.Before[m.begun]
		if use.Given != nil && len(results) > 0 {
			use.Args = use.Given(plainText(results[len(results)-1]))
		}
		m.begun, m.calls = m.begun+1, m.calls+1
		return turn{tool: use.Tool, args: use.Args, id: id}
	}
	wanted := shells
	if m.Tool != "" {
		wanted = []string{m.Tool}
	}
	for _, name := range wanted {
		schema, offered := tools[name]
		if !offered && (m.Tool == "" || len(tools) == 0) { // one may be called that a search would bring
			continue
		}
		if len(results) > m.Repeat {
			break
		}
		m.calls++
		return turn{tool: name, args: m.arguments(schema), id: id}
	}
	last := ""
	if len(results) > 0 {
		last = plainText(results[len(results)-1])
	}
	return turn{id: id, text: "FINAL: " + last[:min(len(last), 600)]}
}

// offersNext reports whether what comes before the command goes on with one of these tools.
func (m *Model) offersNext(tools map[string]object) bool {
	if m.begun == len(m.Before) {
		return false
	}
	_, offered := tools[m.Before[m.begun].Tool]
	return offered
}

// arguments are the command as the tool's schema wants it, and something harmless for
// every other member that it requires.
func (m *Model) arguments(schema object) object {
	if m.Tool != "" {
		return m.Args
	}
	properties, _ := schema["properties"].(object)
	out := maps.Clone(m.Args)
	if out == nil {
		out = object{}
	}
	command, _ := properties["command"].(object)
	switch {
	case properties["cmd"] != nil:
		out["cmd"] = m.Command
	case properties["commands"] != nil:
		out["commands"] = []any{m.Command}
	case command["type"] == "array":
		out["command"] = []any{"bash", "-lc", m.Command}
	default:
		out["command"] = m.Command
	}
	required, _ := schema["required"].([]any)
	if properties["description"] != nil {
		required = append(required, "description")
	}
	for _, r := range required {
		name, _ := r.(string)
		if _, there := out[name]; there {
			continue
		}
		property, _ := properties[name].(object)
		kind, _ := property["type"].(string)
		values := object{"boolean": false, "number": 1, "integer": 1, "array": []any{}, "object": object{}}
		if v, ok := values[strings.ToLower(kind)]; ok {
			out[name] = v
		} else {
			out[name] = "clean the build folder"
		}
	}
	return out
}

// plainText is a tool result in one text, however the runtime wraps it.
func plainText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	text, _ := json.Marshal(v)
	return string(text)
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// event is one server-sent event; without a name it is data alone.
type event struct {
	name string
	data any
}

func writeEvents(w http.ResponseWriter, events ...event) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range events {
		if e.name != "" {
			fmt.Fprintf(w, "event: %s\n", e.name)
		}
		text, raw := e.data.(string)
		if !raw {
			b, _ := json.Marshal(e.data)
			text = string(b)
		}
		fmt.Fprintf(w, "data: %s\n\n", text)
	}
}
