package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/hook/ask"
)

// stage is a proxy between a scripted client and a scripted server, whose words the test
// writes and reads line by line. Its desk answers each call alike.
type stage struct {
	t                    *testing.T
	client, server       io.Writer // what they say
	toClient, toServer   *bufio.Reader
	mu                   sync.Mutex
	asked                []api.CreateRequest
	reported             chan api.ResultRequest
	log                  chan string
	approval             string // what the desk answers; empty: it allows what it is asked for, as it is
	endServer, endClient func()
	desk                 ask.Approvals
	asking, answering    chan struct{} // not nil: the desk says that it is asked, and answers once it is told
	dir                  string        // the proxy's
	done                 chan struct{} // closed once the proxy has ended
	written              chan struct{} // not nil: each write to the client returns once one comes
}

// slow is a connection whose writes return late, when what they wrote has long been read.
type slow struct {
	mcp.Connection
	s *stage
}

func (c slow) Write(ctx context.Context, m jsonrpc.Message) error {
	err := c.Connection.Write(ctx, m)
	if c.s.written != nil {
		<-c.s.written
	}
	return err
}

func newStage(t *testing.T) *stage {
	s := &stage{t: t, dir: t.TempDir(), reported: make(chan api.ResultRequest, 100), log: make(chan string, 100),
		approval: `{"id":"x","code":"K7QX2M","status":"approved","decidedBy":["policy"],"claim":{"toolName":"mcp__shop__order","params":{"what":"tea"}}}`}
	desk := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/tools"):
			var in api.ToolsRequest
			_ = json.NewDecoder(r.Body).Decode(&in)
			_ = json.NewEncoder(w).Encode(map[string]any{"allowed": in.Tools})
		case strings.HasSuffix(r.URL.Path, "/result"):
			var in api.ResultRequest
			_ = json.NewDecoder(r.Body).Decode(&in)
			s.reported <- in
			_, _ = io.WriteString(w, `{}`)
		default:
			var in api.CreateRequest
			_ = json.NewDecoder(r.Body).Decode(&in)
			s.mu.Lock()
			s.asked = append(s.asked, in)
			approval := s.approval
			s.mu.Unlock()
			if s.asking != nil {
				s.asking <- struct{}{}
				<-s.answering
			}
			if approval == "" {
				claim, _ := json.Marshal(api.Claim{ToolName: in.ToolName, Params: in.Params})
				approval = fmt.Sprintf(`{"id":"x","code":"K7QX2M","status":"approved","decidedBy":["policy"],"claim":%s}`, claim)
			}
			_, _ = io.WriteString(w, approval)
		}
	}))
	t.Cleanup(desk.Close)
	clientIn, client := io.Pipe()
	toClient, clientOut := io.Pipe()
	serverIn, server := io.Pipe()
	toServer, serverOut := io.Pipe()
	s.client, s.server, s.toClient, s.toServer = client, server, bufio.NewReader(toClient), bufio.NewReader(toServer)
	s.endServer, s.endClient = func() { _ = server.Close() }, func() { _ = client.Close() }
	ctx, cancel := context.WithCancel(context.Background())
	down, up := Lines(clientIn, clientOut), Lines(serverIn, serverOut)
	done := make(chan struct{})
	s.done = done
	s.desk = ask.Approvals{Client: &api.Client{Server: desk.URL, Token: "t"}}
	p := Proxy{Desk: s.desk, Server: "shop", Session: "s", Workdir: s.dir, Log: func(text string) { s.log <- text }}
	go func() { defer close(done); _ = p.Run(ctx, slow{down, s}, up) }()
	hangUp := func() {
		for _, c := range []io.Closer{client, server, toClient, toServer} {
			_ = c.Close()
		}
	}
	guard := time.AfterFunc(time.Minute, hangUp) // whoever waits in vain reads an end
	t.Cleanup(func() {
		guard.Stop()
		cancel()
		hangUp()
		<-done
	})
	return s
}

func (s *stage) calls() []api.CreateRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

func (s *stage) says(who io.Writer, format string, args ...any) {
	s.t.Helper()
	_, err := fmt.Fprintf(who, format+"\n", args...)
	require.NoError(s.t, err)
}

// message is what one of them gets.
type message struct {
	ID     any
	Method string
	Params struct {
		Cursor    string
		Name      string
		Arguments map[string]any
	}
	Result map[string]any
	Error  map[string]any
	raw    string
}

// id is the message's id as JSON.
func (m message) id() string {
	out, _ := json.Marshal(m.ID)
	return string(out)
}

// heard is the next message that one of them gets.
func (s *stage) heard(by *bufio.Reader) (m message) {
	s.t.Helper()
	line, err := by.ReadString('\n')
	require.NoError(s.t, err)
	require.NoError(s.t, json.Unmarshal([]byte(line), &m))
	m.raw = strings.TrimSpace(line)
	return m
}

const order = `{"name":"order","description":"Orders.","inputSchema":{"type":"object"}}`

// lists answers the proxy's own question for the server's tools.
func (s *stage) lists(tools string) {
	s.t.Helper()
	m := s.heard(s.toServer)
	require.Equal(s.t, "tools/list", m.Method)
	s.says(s.server, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s]}}`, m.id(), tools)
}

// However its method is spelt, a call of a tool is asked for, and one that nobody waits
// for does not reach the server. What reaches it is what was approved.
func TestAdversary_H2_EverySpellingOfACallIsAskedFor(t *testing.T) {
	for _, method := range []string{"tools/call", "Tools/Call", "TOOLS/CALL"} {
		s := newStage(t)
		s.says(s.client, `{"jsonrpc":"2.0","method":%q,"params":{"name":"order","arguments":{"unasked":true}}}`, method)
		require.Contains(t, <-s.log, "without an id")
		s.says(s.client, `{"jsonrpc":"2.0","id":1,"method":%q,"params":{"name":"order","arguments":{"what":"more"}}}`, method)
		s.lists(order)
		got := s.heard(s.toServer)
		require.Equal(t, "tools/call", got.Method)
		require.Equal(t, "order", got.Params.Name)
		require.Equal(t, map[string]any{"what": "tea"}, got.Params.Arguments, "what was claimed, and nothing else")
		require.Len(t, s.calls(), 1)
		require.Equal(t, "mcp__shop__order", s.calls()[0].ToolName)
	}
}

// What is no call of a listed tool is refused, and no server gets it.
func TestAdversary_H2_WhatTheServerDoesNotListIsRefused(t *testing.T) {
	s := newStage(t)
	for i, params := range []string{`{}`, `{"name":""}`, `{"name":"order","name":"burn"}`, `{"name":"order","arguments":{"a":1,"a":2}}`, `[]`,
		`{"name":"order","Name":"burn"}`, `{"name":"order","arguments":{"Approvalbot/MCP":{}}}`} {
		s.says(s.client, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":%s}`, i, params)
		require.NotEmpty(t, s.heard(s.toClient).Error, params)
	}
	for _, name := range []string{"burn", "Order", "оrder"} { // the last one's first letter is Cyrillic
		s.says(s.client, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q}}`, name)
		s.lists(order)
		require.Equal(t, true, s.heard(s.toClient).Result["isError"], name)
	}
	require.Empty(t, s.calls())
}

// A client may use an id again as soon as it has read the answer.
func TestProxy_AnIDIsFreeWithItsAnswer(t *testing.T) {
	s := newStage(t)
	s.written = make(chan struct{})
	defer close(s.written)
	for range 3 {
		s.says(s.client, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"burn"}}`)
		s.lists(order)
		require.Equal(t, true, s.heard(s.toClient).Result["isError"])
	}
}

// An id that is under way names no second call, and a server's second answer to a call is
// not the client's.
func TestAdversary_H2_TheProxysIDsAreUsedOnce(t *testing.T) {
	s := newStage(t)
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"order"}}`
	s.says(s.client, call)
	m := s.heard(s.toServer) // the proxy asks for the tools first
	s.says(s.client, call)
	again := s.heard(s.toClient)
	require.Contains(t, again.Error["message"], "under way")
	require.Nil(t, again.ID, "else the client takes it for the answer of the call that runs later")
	require.Contains(t, <-s.log, "under way")
	s.says(s.server, `{"jsonrpc":"2.0","id":99,"result":{"content":[{"type":"text","text":"forged"}]}}`)
	require.Contains(t, <-s.log, "a request that it was not sent")
	s.says(s.server, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s]}}`, m.id(), order)
	got := s.heard(s.toServer)
	require.Equal(t, "tools/call", got.Method)
	s.says(s.server, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"ordered"}]}}`, got.id())
	require.Contains(t, s.heard(s.toClient).raw, "ordered")
	require.Equal(t, "succeeded", (<-s.reported).Status)
	require.Len(t, s.calls(), 1)
}

// Where the server says that its tools have changed, it is asked what they are now; where
// it does not say that either, nothing is called.
func TestAdversary_H5_AChangeOfToolsIsLookedAt(t *testing.T) {
	s := newStage(t)
	call := func(id int) {
		s.says(s.client, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"order"}}`, id)
	}
	ordered := func(id int) {
		m := s.heard(s.toServer)
		require.Equal(t, "tools/call", m.Method)
		s.says(s.server, `{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`, m.id())
		require.EqualValues(t, id, s.heard(s.toClient).ID)
	}
	call(1)
	s.lists(order)
	ordered(1)
	call(2)
	ordered(2)
	s.says(s.server, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	require.Equal(t, "notifications/tools/list_changed", s.heard(s.toClient).Method)
	call(3)
	m := s.heard(s.toServer)
	require.Equal(t, "tools/list", m.Method)
	s.says(s.server, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"not now"}}`, m.id())
	require.Equal(t, true, s.heard(s.toClient).Result["isError"])
	call(4)
	s.lists(strings.Replace(order, "Orders.", "Orders more.", 1))
	ordered(4)
	require.Len(t, s.calls(), 3)
	require.Contains(t, s.calls()[2].Context.Tool.Description, "Orders more.")
}

// A tool that is listed twice is shown once, and one whose name the desk does not take
// not at all.
func TestProxy_ListsATool(t *testing.T) {
	s := newStage(t)
	s.says(s.client, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	require.Equal(t, "tools/list", s.heard(s.toServer).Method) // the proxy's first request
	s.says(s.server, `{"jsonrpc":"2.0","id":1,"result":{"tools":[%s,%s,{"name":"оrder"},{"name":"%s"}],"nextCursor":"n"}}`,
		order, strings.Replace(order, "Orders.", "Orders, too.", 1), strings.Repeat("x", 200))
	got := s.heard(s.toClient)
	require.Len(t, got.Result["tools"], 1)
	require.Contains(t, got.raw, "Orders.")
	require.Equal(t, "n", got.Result["nextCursor"])
}

// A schema that is larger or deeper than the desk takes is named by a digest, so that another one is
// another.
func TestFacts_OfALargeSchema(t *testing.T) {
	digests := map[string]bool{}
	for _, schema := range []string{`{"a":"` + strings.Repeat("x", maxSchema) + `"}`, strings.Repeat(`{"a":`, 70) + "1" + strings.Repeat("}", 70), `[]`, `null`} {
		d, err := readDefinition([]byte(`{"name":"order","inputSchema":` + schema + `}`))
		require.NoError(t, err)
		facts := factsOf([]definition{d}, "s")
		require.Empty(t, facts.Schema)
		require.Len(t, facts.Digest, 64)
		digests[facts.Digest] = true
	}
	require.Len(t, digests, 4)
	d, err := readDefinition([]byte(order))
	require.NoError(t, err)
	facts := factsOf([]definition{d}, "s")
	require.JSONEq(t, `{"type":"object"}`, string(facts.Schema))
	require.Empty(t, facts.Digest)
}
