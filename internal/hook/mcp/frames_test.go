package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"approvalbot/internal/hook/ask"
)

// Each call of a batch is asked for by itself, and what is wrong with one of its members keeps none
// of the others from being heard.
func TestAdversary_T1_EachCallOfABatchIsAskedFor(t *testing.T) {
	s := newStage(t)
	s.approval = ""
	s.listed()
	s.says(s.client, `[`+callOf+`,{"jsonrpc":"2.0","method":"tools/call","params":{"name":"order"}},7,[],`+callOf+`]`, 1, 2)
	require.Equal(t, float64(jsonrpc.CodeParseError), s.heardOf(s.toClient, nil).Error["code"])
	require.Equal(t, float64(jsonrpc.CodeParseError), s.heardOf(s.toClient, nil).Error["code"])
	one, two := s.heard(s.toServer), s.heard(s.toServer)
	require.Equal(t, "tools/call tools/call", one.Method+" "+two.Method)
	require.Len(t, s.calls(), 2)
	s.says(s.server, `[7,{"jsonrpc":"2.0","id":%s,"result":{"content":[]}},{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}]`, one.id(), two.id())
	got := []any{s.heard(s.toClient).ID, s.heard(s.toClient).ID}
	require.ElementsMatch(t, []any{1.0, 2.0}, got)
	s.pinged()
}

// heardOf is the next message that one of them gets, which has that id.
func (s *stage) heardOf(by *bufio.Reader, id any) message {
	s.t.Helper()
	m := s.heard(by)
	require.Equal(s.t, id, m.ID)
	return m
}

// What is no message ends nothing: the client is told, the server is not.
func TestAdversary_T1_WhatIsNoMessageEndsNothing(t *testing.T) {
	s := newStage(t)
	for _, bad := range []string{`{`, `}{`, `nonsense`, `[]`, `{}`, `7`, `{"jsonrpc":"1.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0"}`,
		`{"jsonrpc":"2.0","id":{},"method":"ping"}`, `{"jsonrpc":"2.0","id":true,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"method":7}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping"} {"jsonrpc":"2.0","id":2,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, `{"jsonrpc":"2.0","id":-1e16,"method":"ping"}`, `{"jsonrpc":"2.0","id":1e999,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":1,"error":"no"}`, "\x00", "\xff", `[{"jsonrpc":"2.0","id":1,"method":"ping"},{]`, `[{"jsonrpc":"2.0","id":1,"method":"ping"}`,
		`[{"jsonrpc":"2.0","id":1,"method":"ping"}] {}`, `[` + strings.Repeat(`{"jsonrpc":"2.0","id":1,"method":"ping"},`, maxBatch) + `{}]`, `"` + strings.Repeat("x", maxFrame) + `"`, strings.Repeat("[", 20000)} {
		s.says(s.client, "%s", bad)
		got := s.heardOf(s.toClient, nil)
		require.Equal(t, float64(jsonrpc.CodeParseError), got.Error["code"], got.raw)
		require.Contains(t, <-s.log, "of the client is dropped")
		s.says(s.server, "%s", bad)
		require.Contains(t, <-s.log, "of the MCP server is dropped")
	}
	s.says(s.client, "")
	require.Empty(t, s.pinged())
}

// An id comes back as it was, or the request is refused; 1 and "1" are two.
func TestAdversary_T1_AnAnswerComesUnderItsOwnID(t *testing.T) {
	s := newStage(t)
	ids := []string{`1`, `"1"`, `-1`, `0`, `9007199254740991`, `""`, `"𝟙"`, `"\u0000"`}
	for _, id := range ids {
		s.says(s.client, `{"jsonrpc":"2.0","id":%s,"method":"ping"}`, id)
	}
	var got []string
	for range ids {
		s.says(s.server, `{"jsonrpc":"2.0","id":%s,"result":{}}`, s.heard(s.toServer).id())
		_, rest, _ := strings.Cut(s.heard(s.toClient).raw, `"id":`)
		id, _, _ := strings.Cut(rest, `,"result"`)
		got = append(got, id)
	}
	require.ElementsMatch(t, ids, got)
}

// Any bytes of a line give messages or reasons.
func TestFrames_AnyLineIsReadOrRefused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.SampledFrom([]string{`{`, `}`, `[`, `]`, `,`, `"jsonrpc":"2.0"`, `"id":1`, `"id":null`, `"method":"ping"`,
			`"method":"tools/call"`, `"params":{}`, `"result":{}`, `"error":{"code":1,"message":"x"}`, "\xff", ` `})).Draw(t, "parts")
		for _, f := range framesOf([]byte(strings.Join(parts, ""))) {
			require.NotEqual(t, f.msg == nil, f.err == nil)
		}
	})
}

// web is a proxy before a server over HTTP of which the test gives the answers; pauses are what the
// proxy would have waited.
type web struct {
	in     io.WriteCloser
	out    *bufio.Reader
	log    chan string
	mu     sync.Mutex
	pauses []time.Duration
}

func newWeb(t *testing.T, serve http.HandlerFunc) *web {
	return newWebWith(t, ask.Approvals{}, serve)
}

func newWebWith(t *testing.T, desk ask.Approvals, serve http.HandlerFunc) *web {
	s := httptest.NewServer(serve)
	t.Cleanup(s.Close)
	to, err := url.Parse(s.URL)
	require.NoError(t, err)
	w := &web{log: make(chan string, 100)}
	r := &Remote{URL: to, Header: http.Header{}, pause: func(ctx context.Context, d time.Duration) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.pauses = append(w.pauses, d)
		return ctx.Err()
	}}
	inR, in := io.Pipe()
	out, outW := io.Pipe()
	w.in, w.out = in, bufio.NewReader(out)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = Proxy{Desk: desk, Server: "shop", Log: func(s string) { w.log <- s }}.Run(ctx, Lines(inR, outW), r.Connect(ctx))
	}()
	t.Cleanup(func() { cancel(); _ = in.Close(); _ = out.Close(); <-done })
	return w
}

// asks has the client ping the server, and gives what it gets.
func (w *web) asks(t *testing.T) string {
	t.Helper()
	fmt.Fprintln(w.in, pings)
	line, err := w.out.ReadString('\n')
	require.NoError(t, err)
	return line
}

func events(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, text)
}

// A stream is taken up again after a pause that grows, however short a one the server asks for, and
// not for ever.
func TestAdversary_T1_AStreamIsNotTakenUpForEver(t *testing.T) {
	var resumed int
	w := newWeb(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			resumed++
		}
		events(w, fmt.Sprintf("retry: 1\nid: %d\ndata:\n\n", resumed))
	})
	require.Contains(t, w.asks(t), "ended 1001 times")
	require.Equal(t, maxResumptions, resumed)
	require.Len(t, w.pauses, maxResumptions)
	require.True(t, slices.IsSorted(w.pauses))
	require.Equal(t, []time.Duration{firstPause, lastPause}, []time.Duration{w.pauses[0], w.pauses[maxResumptions-1]})
}

// A stream that is taken up again gives its answer, after the pause that the server asks for.
func TestRemote_TakesAStreamUp(t *testing.T) {
	var last []string
	w := newWeb(t, func(w http.ResponseWriter, r *http.Request) {
		switch last = append(last, r.Header.Get("Last-Event-Id")); {
		case r.Method == http.MethodPost:
			events(w, "id: a\nretry: 60000\ndata:\n\n")
		case len(last) == 2:
			http.Error(w, "", http.StatusBadGateway)
		case len(last) == 3:
			events(w, "id: b\r\nevent: other\r\ndata: {\r\n\r\n: beat\r\n")
		default:
			events(w, "data: {\"jsonrpc\":\"2.0\",\ndata: \"id\":1,\"result\":{\"x\":\"here\"}}")
		}
	})
	require.Contains(t, w.asks(t), "here")
	require.Equal(t, []string{"", "a", "a", "b"}, last)
	require.Equal(t, time.Minute, w.pauses[0])
}

// What a server over HTTP answers that is none ends that call alone.
func TestAdversary_T1_ARemotesBadAnswerEndsThatCallAlone(t *testing.T) {
	const good = `{"jsonrpc":"2.0","id":%d,"result":{"x":"here"}}`
	for name, row := range map[string]struct {
		status       int
		kind, answer string
		gets         string
	}{
		"no JSON":            {200, "application/json", `{`, "without the answer"},
		"nothing":            {202, "", ``, "without the answer"},
		"another's":          {200, "application/json", `{"jsonrpc":"2.0","id":77,"result":{}}`, "without the answer"},
		"a large body":       {200, "application/json", strings.Repeat(" ", maxFrame+1), "larger than"},
		"a large event":      {200, "text/event-stream", "data: " + strings.Repeat("x\ndata: ", maxFrame/2), "larger than"},
		"a large line":       {200, "text/event-stream", "data: " + strings.Repeat("x", maxFrame+1), "larger than"},
		"a stream's end":     {200, "text/event-stream", "data: {\n\n", "ended before"},
		"a batch":            {200, "application/json", "[7," + good + "]", "here"},
		"a batch in events":  {200, "text/event-stream", "data: [7," + good + "]\n\n", "here"},
		"after a bad event":  {200, "text/event-stream", "data: {\n\ndata: " + good + "\n\n", "here"},
		"an error":           {400, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32022,"message":"unsupported"}}`, "-32022"},
		"an error in words":  {400, "text/plain", "no", "400"},
		"an error in events": {503, "text/event-stream", "data: " + good + "\n\n", "503"},
	} {
		t.Run(name, func(t *testing.T) {
			n := 0
			w := newWeb(t, func(w http.ResponseWriter, r *http.Request) {
				n++
				answer, kind, status := row.answer, row.kind, row.status
				if n == 2 {
					answer, kind, status = good, "application/json", 200
				}
				w.Header().Set("Content-Type", kind)
				w.WriteHeader(status)
				_, _ = io.WriteString(w, strings.ReplaceAll(answer, "%d", fmt.Sprint(n)))
			})
			require.Contains(t, w.asks(t), row.gets)
			require.Contains(t, w.asks(t), "here")
		})
	}
}

// A session that the server ends, ends the proxy: the client has to begin again.
func TestRemote_KeepsTheSession(t *testing.T) {
	var mu sync.Mutex
	var got []string
	w := newWeb(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if got = append(got, r.Method+r.Header.Get("Mcp-Session-Id")); len(got) > 2 {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Mcp-Session-Id", fmt.Sprint("s", len(got)))
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%d,"result":{}}`, len(got))
	})
	fmt.Fprintln(w.in, `{"jsonrpc":"2.0","id":"i","method":"initialize"}`)
	_, err := w.out.ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, w.asks(t), "result")
	fmt.Fprintln(w.in, pings)
	for err == nil {
		_, err = w.out.ReadString('\n')
	}
	require.True(t, errors.Is(err, io.EOF), err)
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, []string{"POST", "POSTs1", "POSTs1"}, got[:3])
}

// What is in a request's headers is what its body says.
func TestAdversary_T1_HeadersSayWhatTheBodySays(t *testing.T) {
	const schema = `{"properties":{"a":{"x-mcp-header":"A"},"b":{"x-mcp-header":"B"},"c":{"x-mcp-header":"C","properties":{"d":{"x-mcp-header":"D"}}},` +
		`"e":{"x-mcp-header":"E\r\nAuthorization"},"f":{"x-mcp-header":7},"g":{"x-mcp-header":"G"},"h":{"x-mcp-header":"H"},"i":{"x-mcp-header":"I"},"j":{}}}`
	got := http.Header{}
	argumentHeaders([]byte(schema), []byte(`{"a":"x\r\nEvil: 1","b":-9007199254740991,"c":{"d":true},"e":"x","f":"x","g":1.5,"i":9007199254740992,"h":null,"j":"x"}`), maxHeaderLevels, got)
	require.Equal(t, http.Header{"Mcp-Param-A": {"=?base64?eA0KRXZpbDogMQ==?="}, "Mcp-Param-B": {"-9007199254740991"}, "Mcp-Param-D": {"true"}}, got)
	deep, in := `{}`, `"x"`
	for range 1000 {
		deep, in = `{"properties":{"a":`+deep+`}}`, `{"a":`+in+`}`
	}
	argumentHeaders([]byte(deep), []byte(in), maxHeaderLevels, http.Header{})

	for value, want := range map[string]string{"us-west1": "us-west1", " padded ": "=?base64?IHBhZGRlZCA=?=", "=?base64?literal?=": "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="} {
		require.Equal(t, want, headerText(value))
	}
	const meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":%q}}`
	for _, row := range []struct {
		method, params, version string
		want                    http.Header
	}{
		{"tools/call", `{"name":"order","uri":"EVIL"` + meta, "2026-07-28", http.Header{"Mcp-Method": {"tools/call"}, "Mcp-Name": {"order"}, "Mcp-Param-A": {"b"}}},
		{"resources/read", `{"name":"EVIL","uri":"a://b"` + meta, "2026-07-28", http.Header{"Mcp-Method": {"resources/read"}, "Mcp-Name": {"a://b"}, "Mcp-Param-A": {"b"}}},
		{"tasks/get", `{"taskId":"t\n"` + meta, "2026-07-28", http.Header{"Mcp-Method": {"tasks/get"}, "Mcp-Name": {"=?base64?dAo=?="}, "Mcp-Param-A": {"b"}}},
		{"tools/call", `{"name":"order"` + meta, "2025-11-25", http.Header{}},
	} {
		h := http.Header{}
		mirror(&jsonrpc.Request{Method: row.method, Params: fmt.Appendf(nil, row.params, row.version), Extra: http.Header{"Mcp-Param-A": {"b"}}}, h)
		require.Equal(t, row.version, h.Get("Mcp-Protocol-Version"))
		h.Del("Mcp-Protocol-Version")
		require.Equal(t, row.want, h)
	}
}

// The arguments that a server wants in headers are those that the claim hands out, not those
// that the client asked for.
func TestAdversary_T1_ArgumentsInHeadersAreThoseOfTheClaim(t *testing.T) {
	desk := newStage(t).desk // its approvals hand out {"what":"tea"}
	got := make(chan http.Header, 1)
	w := newWebWith(t, desk, func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			ID     int
			Method string
		}
		_ = json.NewDecoder(r.Body).Decode(&in)
		result := `{"content":[]}`
		if in.Method == listTools {
			result = `{"tools":[{"name":"order","inputSchema":{"type":"object","properties":{"what":{"type":"string","x-mcp-header":"What"}}}}]}`
		} else {
			got <- r.Header
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%d,"result":%s}`, in.ID, result)
	})
	fmt.Fprintln(w.in, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"order","arguments":{"what":"EVIL"},`+
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`)
	h := <-got
	require.Equal(t, "tea", h.Get("Mcp-Param-What"))
	require.Equal(t, "order", h.Get("Mcp-Name"))
	require.Equal(t, "2026-07-28", h.Get("Mcp-Protocol-Version"))
}

// beginsTask has the client call the tool, and the server begin a task.
func (s *stage) beginsTask(result string) {
	s.t.Helper()
	s.says(s.client, callOf, 1)
	m := s.heard(s.toServer)
	require.Equal(s.t, "tools/call", m.Method)
	s.says(s.server, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.id(), result)
}

// What is of a task that an allowed call began is no question, and only its id passes; what is of
// another task is asked for once.
func TestAdversary_T1_ATaskIsOfAnAllowedCall(t *testing.T) {
	for _, result := range []string{`{"task":{"taskId":"mine","status":"working"}}`, `{"resultType":"task","taskId":"mine","status":"working"}`} {
		s := newStage(t)
		s.approval = ""
		s.listed()
		s.says(s.server, `{"jsonrpc":"2.0","method":"notifications/tasks","params":{"taskId":"mine","result":"EVIL"}}`)
		require.Contains(t, <-s.log, "no allowed call began")
		s.beginsTask(result)
		s.says(s.server, `{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"other","result":"EVIL"}}`)
		s.says(s.server, `{"jsonrpc":"2.0","method":"notifications/tasks","params":{"taskId":"mine","status":"working"}}`)
		one, two := s.heard(s.toClient), s.heard(s.toClient)
		require.Contains(t, one.raw+two.raw, "working")
		require.NotContains(t, one.raw+two.raw, "EVIL")
		require.Contains(t, <-s.log, "no allowed call began")
		asked := len(s.calls())
		for _, row := range []struct {
			method, id string
			asks       bool
		}{
			{"tasks/get", "mine", false}, {"tasks/get", "mine", false}, {"tasks/result", "mine", false}, {"tasks/cancel", "mine", false},
			{"tasks/get", "Mine", true}, {"tasks/get", "other", true}, {"tasks/get", "other", false}, {"tasks/result", "other", true}, {"tasks/result", "other", false},
		} {
			s.says(s.client, `{"jsonrpc":"2.0","id":1,"method":%q,"params":{"taskId":%q,"TaskId":"EVIL","x":"EVIL","inputResponses":{"a":"EVIL"}}}`, row.method, row.id)
			m := s.heard(s.toServer)
			require.Equal(t, row.method, m.Method)
			require.JSONEq(t, fmt.Sprintf(`{"taskId":%q}`, row.id), paramsText(t, m.raw))
			if row.asks {
				asked++
				require.JSONEq(t, fmt.Sprintf(`{"approvalbot/mcp":{"method":%q,"params":{"taskId":%q}}}`, row.method, row.id), s.last())
				require.True(t, s.calls()[asked-1].MustAsk)
			}
			require.Len(t, s.calls(), asked, row.id)
			s.says(s.server, `{"jsonrpc":"2.0","id":%s,"result":{"status":"working"}}`, m.id())
			require.NotNil(t, s.heard(s.toClient).Result)
		}
		for _, params := range []string{`{}`, `{"taskId":7}`, `{"taskId":""}`, `{"TaskId":"mine"}`, `[]`} {
			s.says(s.client, `{"jsonrpc":"2.0","id":1,"method":"tasks/result","params":%s}`, params)
			require.NotEmpty(t, s.heard(s.toClient).Error, params)
		}
		s.approval = `{"id":"x","status":"denied","reason":"no"}`
		s.says(s.client, `{"jsonrpc":"2.0","id":1,"method":"tasks/result","params":{"taskId":"third"}}`)
		require.Contains(t, s.heard(s.toClient).Error["message"], "denied")
	}
}

// The server's questions for tasks of the client reach no person, and do not use up what people
// are asked in a minute.
func TestAdversary_T1_TheServersPollsAreNoCards(t *testing.T) {
	s := newStage(t)
	s.approval = ""
	for i := range 2 * maxInMinute {
		for _, method := range []string{"tasks/get", "tasks/result", "tasks/list", "tasks/cancel"} {
			s.says(s.server, `{"jsonrpc":"2.0","id":"%s%d","method":%q,"params":{"taskId":"1"}}`, method, i, method)
			require.Contains(t, s.heard(s.toServer).Error["message"], "no tasks of the client")
		}
	}
	require.Empty(t, s.calls())
	s.says(s.server, `{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage"}`)
	require.Equal(t, "sampling/createMessage", s.heard(s.toClient).Method)
}

// What is still asked for makes no progress.
func TestAdversary_T1_NoProgressBeforeTheServerHasTheCall(t *testing.T) {
	s := newStage(t)
	s.approval = ""
	const said = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":%d}}`
	s.says(s.client, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"order","_meta":{"progressToken":"p"}}}`)
	m := s.heard(s.toServer)
	require.Equal(t, listTools, m.Method)
	s.says(s.server, said, 9)
	s.says(s.server, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s]}}`, m.id(), order)
	require.Equal(t, callTool, s.heard(s.toServer).Method)
	s.says(s.server, said, 1)
	require.JSONEq(t, `{"progressToken":"p","progress":1}`, paramsText(t, s.heard(s.toClient).raw))
}

// A log that is not read keeps no cancel from being heard.
func TestAdversary_T1_ADeafLogKeepsNoCancelFromBeingHeard(t *testing.T) {
	s := newStage(t)
	s.approval = ""
	s.listed()
	s.says(s.client, callOf, 1)
	m := s.heard(s.toServer)
	for range cap(s.log) + 10*maxNotices {
		s.says(s.server, "noise")
	}
	s.says(s.client, cancels, 1)
	got := s.heard(s.toServer)
	require.Equal(t, "notifications/cancelled", got.Method)
	require.Contains(t, got.raw, m.id())
	for range cap(s.log) {
		<-s.log // lets the proxy end
	}
}

// What the server answers before it was asked is no answer to the call that comes next.
func TestAdversary_T2_AnAnswerBeforeItsQuestionIsDropped(t *testing.T) {
	s := newStage(t)
	s.approval = ""
	s.listed()
	for id := range 10 {
		s.says(s.server, `{"jsonrpc":"2.0","id":%d,"error":{"code":1,"message":"EVIL"}}`, id)
		require.Contains(t, <-s.log, "a request that it was not sent")
	}
	s.says(s.client, callOf, 2)
	require.NotContains(t, s.ran().raw, "EVIL")
}
