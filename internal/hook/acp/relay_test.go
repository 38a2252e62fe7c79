package acp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/hook/ask"
)

// captured is what a real client sent.
func captured(t testing.TB, name string) (line []byte, params json.RawMessage) {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + name + ".json")
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, json.Compact(&b, raw))
	m, ok := read(b.Bytes())
	require.True(t, ok)
	return b.Bytes(), m.Params
}

// What the desk is asked for is what the real clients say they will do.
func TestCall_OfRealClients(t *testing.T) {
	for name, want := range map[string]struct {
		tool, params, justification string
		mustAsk                     bool
		allow, reject               string
	}{
		"opencode": {"bash", `{"command":"mv build build.old"}`, "", false, "once", "reject"},
		"copilot":  {"bash", `{"command":"mv build build.old"}`, "", false, "allow_once", "reject_once"},
		"qwen":     {"run_shell_command", `{"command":"mv build build.old"}`, "clean the build folder", false, "proceed_once", "cancel"},
		"cline":    {"run_commands", `{"commands":["mv build build.old"]}`, "", false, "allow_once", "reject_once"},
		"gemini": {"acp:execute", `{"title":"mv build build.old","content":[{"type":"content","content":{"type":"text",
"text":"[current working directory /home/u/project] (clean the build folder)"}}],
"note":"the agent gave no structured input: these are its words for what it will do"}`, "", true, "proceed_once", "cancel"},
	} {
		t.Run(name, func(t *testing.T) {
			_, params := captured(t, name)
			in := readRequest(params)
			require.NoError(t, in.err)
			got := in.call("/home/u/project")
			require.Equal(t, want.tool, got.ToolName)
			require.JSONEq(t, want.params, string(got.Params))
			require.Equal(t, want.justification, got.Justification)
			require.Equal(t, want.mustAsk, got.MustAsk)
			require.Equal(t, want.mustAsk, len(got.Offers) == 2, "the same words alone may be for something else next time")
			require.Equal(t, "/home/u/project", *got.Bind.Workdir)
			require.NotEmpty(t, got.SessionKey)
			allow, ok := in.option("allow_once")
			require.True(t, ok)
			require.Equal(t, want.allow, allow)
			require.Equal(t, selected(want.reject), in.reject())
		})
	}
}

// scene is a relay between a scripted editor and a scripted agent. The desk is a wire
// that answers every request for a call alike.
type scene struct {
	t                 *testing.T
	toEditor, toAgent *bufio.Reader
	editor, agent     io.WriteCloser
	done              chan error
	asked             chan api.CreateRequest
	withdrawn         chan struct{}
}

func newScene(t *testing.T, status string) *scene {
	s := &scene{t: t, done: make(chan error, 1), asked: make(chan api.CreateRequest, 10), withdrawn: make(chan struct{}, 10)}
	desk := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodGet:
			<-r.Context().Done()
		case strings.HasSuffix(r.URL.Path, "/withdraw"):
			s.withdrawn <- struct{}{}
			_, _ = io.WriteString(w, `{"status":"withdrawn"}`)
		default:
			var in api.CreateRequest
			_ = json.NewDecoder(r.Body).Decode(&in)
			s.asked <- in
			_, _ = io.WriteString(w, `{"id":"x","code":"K7QX2M","status":"`+status+`","decidedBy":["policy"],"claim":`+map[bool]string{true: `{"params":{}}`, false: "null"}[status == "approved"]+`}`)
		}
	}))
	t.Cleanup(desk.Close)
	editorIn, editor := io.Pipe()
	agentIn, agent := io.Pipe()
	toEditor, editorOut := io.Pipe()
	toAgent, agentOut := io.Pipe()
	s.editor, s.agent, s.toEditor, s.toAgent = editor, agent, bufio.NewReader(toEditor), bufio.NewReader(toAgent)
	r := Relay{Desk: ask.Approvals{Client: &api.Client{Server: desk.URL, Token: "t"}}, Workdir: "/elsewhere"}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	go func() { s.done <- r.Run(ctx, Streams{editorIn, editorOut}, Streams{agentIn, agentOut}) }()
	t.Cleanup(func() {
		_ = editor.Close()
		_ = agent.Close()
		cancel()
	})
	return s
}

func (s *scene) agentSays(line string)  { _, _ = io.WriteString(s.agent, line+"\n") }
func (s *scene) editorSays(line string) { _, _ = io.WriteString(s.editor, line+"\n") }

func (s *scene) agentReads() string {
	line, err := s.toAgent.ReadString('\n')
	require.NoError(s.t, err)
	return strings.TrimSpace(line)
}

func (s *scene) editorReads() string {
	line, err := s.toEditor.ReadString('\n')
	require.NoError(s.t, err)
	return strings.TrimSpace(line)
}

func outcome(id, option string) string {
	return `{"id":` + id + `,"jsonrpc":"2.0","result":{"outcome":{"optionId":"` + option + `","outcome":"selected"}}}`
}

func TestRelay_AnswersRealClientsAndTellsTheEditorNothing(t *testing.T) {
	for name, options := range map[string][2]string{
		"opencode": {"once", "reject"}, "copilot": {"allow_once", "reject_once"}, "cline": {"allow_once", "reject_once"}, "qwen": {"proceed_once", "cancel"}, "gemini": {"proceed_once", "cancel"},
	} {
		line, _ := captured(t, name)
		for i, status := range []string{"approved", "denied", "expired", "withdrawn"} {
			s := newScene(t, status)
			s.agentSays(string(line))
			require.JSONEq(t, outcome("0", options[min(i, 1)]), s.agentReads(), name)
			s.agentSays(`{"jsonrpc":"2.0","method":"session/update","params":{}}`)
			require.Equal(t, `{"jsonrpc":"2.0","method":"session/update","params":{}}`, s.editorReads(), "the first line that the editor sees")
		}
	}
}

func TestRelay_NeverAllowsAlways(t *testing.T) {
	for options, want := range map[string]string{
		`[{"optionId":"a","kind":"allow_always"},{"optionId":"r","kind":"reject_once"}]`:   outcome("7", "r"),
		`[{"optionId":"a","kind":"allow_always"},{"optionId":"r","kind":"reject_always"}]`: `{"id":7,"jsonrpc":"2.0","result":{"outcome":{"outcome":"cancelled"}}}`,
		`[]`:                                    `{"id":7,"jsonrpc":"2.0","result":{"outcome":{"outcome":"cancelled"}}}`,
		`[{"optionId":"","kind":"allow_once"}]`: `{"id":7,"jsonrpc":"2.0","result":{"outcome":{"outcome":"cancelled"}}}`,
		`[{"optionId":"a","kind":"allow_once"},{"optionId":"a","kind":"allow_always"},{"optionId":"r","kind":"reject_once"}]`: outcome("7", "r"),
		`[{"optionId":"a","kind":"allow_always"},{"optionId":"a","kind":"reject_once"}]`:                                      `{"id":7,"jsonrpc":"2.0","result":{"outcome":{"outcome":"cancelled"}}}`,
	} {
		s := newScene(t, "approved")
		s.agentSays(`{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"title":"x"},"options":` + options + `}}`)
		require.JSONEq(t, want, s.agentReads())
		require.Empty(t, s.asked, "there is nothing to ask for")
	}
}

func TestRelay_PassesAllElseByteForByte(t *testing.T) {
	s := newScene(t, "approved")
	odd := `{"jsonrpc" : "2.0","method":"x/y",  "params":{"a":1.0,"b":"\ud800"}}`
	s.agentSays(odd)
	require.Equal(t, odd, s.editorReads())
	s.editorSays(odd)
	require.Equal(t, odd, s.agentReads())
}

// The desk hears where the session works.
func TestRelay_KnowsTheSessionsWorkdir(t *testing.T) {
	s := newScene(t, "approved")
	s.editorSays(`{"jsonrpc":"2.0","id":3,"method":"session/new","params":{"cwd":"/home/u/project","mcpServers":[]}}`)
	s.agentReads()
	s.agentSays(`{"jsonrpc":"2.0","id":3,"result":{"sessionId":"S1"}}`)
	s.editorReads()
	s.agentSays(`{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"sessionId":"S1","toolCall":{"kind":"execute","rawInput":{"command":"ls"}},"options":[{"optionId":"o","kind":"allow_once"}]}}`)
	s.agentReads()
	require.Equal(t, "/home/u/project", *(<-s.asked).Bind.Workdir)
}

// A question need not repeat what was said of its call: OpenCode's names no directory. What
// grows before the question is shown to a person, and no policy decides about it.
func TestRelay_KnowsWhatWasSaidOfTheCall(t *testing.T) {
	s := newScene(t, "denied")
	said := func(call, rest string) {
		s.agentSays(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"S1","update":{"toolCallId":"` + call + `",` + rest + `}}}`)
		s.editorReads()
	}
	asks := func(call, rest string) api.CreateRequest {
		s.agentSays(`{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"sessionId":"S1","toolCall":{"toolCallId":"` + call + `"` + rest +
			`},"options":[{"optionId":"o","kind":"allow_once"}]}}`)
		s.agentReads()
		return <-s.asked
	}
	const begins, goesOn = `"sessionUpdate":"tool_call","kind":"execute","title":"bash","status":"pending","rawInput":{"cwd":"/p"}`,
		`"sessionUpdate":"tool_call_update","status":"in_progress","locations":[{"path":"/p/x"}],"rawInput":{"command":"ls","workdir":"/p/x","description":"look"}`
	said("c1", begins)
	said("c1", goesOn)
	got := asks("c1", `,"kind":"execute","title":"ls","locations":[],"rawInput":{"command":"ls"}`)
	require.Equal(t, "bash", got.ToolName)
	require.JSONEq(t, `{"command":"ls","workdir":"/p/x"}`, string(got.Params))
	require.Equal(t, "look", got.Justification)

	said("c2", begins)
	said("c2", goesOn)
	got = asks("c2", "")
	require.Equal(t, "acp:execute", got.ToolName)
	require.True(t, got.MustAsk)
	require.JSONEq(t, `{"title":"bash","locations":[{"path":"/p/x"}],"input":{"command":"ls","workdir":"/p/x","description":"look"}}`, string(got.Params))

	said("c1", `"sessionUpdate":"tool_call_update","status":"completed"`)
	got = asks("c1", `,"kind":"execute","rawInput":{"command":"ls"}`)
	require.JSONEq(t, `{"command":"ls"}`, string(got.Params), "it has ended")
}

const waits = `{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"sessionId":"S1","toolCall":{"title":"x"},"options":[{"optionId":"o","kind":"allow_once"}]}}`

// Neither the editor nor the agent's own word stands for the desk's.
func TestAdversary_H2_TheEditorCannotAnswerForTheDesk(t *testing.T) {
	s := newScene(t, "pending")
	s.agentSays(waits)
	<-s.asked
	s.editorSays(outcome("0", "o"))
	s.editorSays(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"S1"}}`)
	first, second := s.agentReads(), s.agentReads()
	require.ElementsMatch(t, []string{
		`{"id":0,"jsonrpc":"2.0","result":{"outcome":{"outcome":"cancelled"}}}`,
		`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"S1"}}`,
	}, []string{first, second})
	<-s.withdrawn
}

// However an id is written, it is the agent's question, and an answer to one question is
// none to another under the same id.
func TestAdversary_H2_AnIDThatIsUsedTwice(t *testing.T) {
	s := newScene(t, "pending")
	s.agentSays(waits)
	<-s.asked
	s.editorSays(outcome("0.0", "o"))
	s.editorSays(outcome("-0", "o"))
	s.agentSays(strings.Replace(waits, `"id":0`, `"id":0.0`, 1))
	require.Equal(t, `{"id":0,"jsonrpc":"2.0","result":{"outcome":{"outcome":"cancelled"}}}`, s.agentReads())
	<-s.withdrawn
	require.Empty(t, s.asked, "the second is not even asked for")
}

func TestAdversary_H4_AnEditorThatGoesWithdraws(t *testing.T) {
	s := newScene(t, "pending")
	s.agentSays(waits)
	<-s.asked
	_ = s.editor.Close()
	<-s.withdrawn
	_, err := io.ReadAll(s.toAgent)
	require.NoError(t, err, "its input is closed")
	_ = s.agent.Close()
	require.NoError(t, <-s.done)
}

func TestAdversary_H2_WithoutADeskItRejects(t *testing.T) {
	line, _ := captured(t, "opencode")
	x := Relay{}
	m, _ := read(line)
	got := (&relay{Relay: x}).decide(t.Context(), readRequest(m.Params), "")
	require.Equal(t, selected("reject"), got)
}

func FuzzRequest(f *testing.F) {
	for _, name := range []string{"gemini", "opencode", "copilot", "qwen", "cline"} {
		line, _ := captured(f, name)
		f.Add(line)
	}
	f.Add([]byte(`{"id":1,"method":"session/request_permission","params":{"options":[{"kind":"allow_once"}],"toolCall":[]}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		m, ok := read(line)
		if !ok {
			return
		}
		in := readRequest(m.Params)
		if id, ok := in.option("allow_once"); ok {
			require.NotEmpty(t, id)
		}
		if in.err != nil {
			return
		}
		got := in.call("/w")
		require.Regexp(t, toolName, got.ToolName)
		require.True(t, ask.Object(got.Params))
		require.LessOrEqual(t, len(got.Justification), 2000)
		_, err := json.Marshal(in.reject())
		require.NoError(t, err)
	})
}
