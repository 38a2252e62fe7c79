package mcp

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	callOf  = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"order"}}`
	cancels = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`
	roots   = `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`
	large   = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"order","arguments":{"x":%q}}}`
	pings   = `{"jsonrpc":"2.0","id":"last","method":"ping"}`
)

// pinged reports that the proxy has read all that the client said, and gives what the server got
// before the ping.
func (s *stage) pinged() (before []string) {
	s.t.Helper()
	s.says(s.client, pings)
	for {
		m := s.heard(s.toServer)
		if m.Method == "ping" {
			return before
		}
		before = append(before, m.Method)
	}
}

// A server that does not read keeps no cancel from being heard: what was taken back is not sent.
func TestAdversary_T1_ACallThatWasTakenBackIsNotSentToADeafServer(t *testing.T) {
	t.Run("behind a notice", func(t *testing.T) {
		s := newStage(t)
		s.approval = ""
		s.listed()
		s.says(s.client, roots)
		s.says(s.client, callOf, 1)
		s.says(s.client, cancels, 1)
		require.Equal(t, []string{"notifications/roots/list_changed"}, s.pinged())
	})
	t.Run("behind a call", func(t *testing.T) {
		s := newStage(t)
		s.approval = ""
		s.listed()
		s.says(s.client, large, strings.Repeat("x", 64<<10))
		_, err := s.toServer.Peek(1) // is being written
		require.NoError(t, err)
		s.says(s.client, callOf, 2) // is allowed, and waits for its turn
		require.Eventually(t, func() bool { return len(s.calls()) == 2 }, time.Minute, time.Millisecond)
		s.says(s.client, cancels, 2)
		s.says(s.client, roots)
		got := s.pinged()
		require.Equal(t, 1, strings.Count(strings.Join(got, " "), "tools/call"), got)
		require.NotContains(t, got, "notifications/cancelled")
	})
}

// What the client says keeps its order for the server.
func TestProxy_NoticesKeepTheirOrder(t *testing.T) {
	s := newStage(t)
	s.says(s.client, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	for range 5 {
		s.says(s.client, roots)
	}
	got := s.pinged()
	require.Len(t, got, 6)
	require.Equal(t, "notifications/initialized", got[0])
}

// The proxy ends with its client, whatever the server does not take.
func TestAdversary_T1_TheProxyEndsBeforeADeafServer(t *testing.T) {
	t.Run("on streams", func(t *testing.T) {
		s := newStage(t)
		s.approval = ""
		s.listed()
		s.says(s.client, large, strings.Repeat("x", 64<<10))
		_, err := s.toServer.Peek(1) // is being written
		require.NoError(t, err)
		s.endClient()
		<-s.done
		_, err = io.Copy(io.Discard, s.toServer)
		require.NoError(t, err, "the proxy closed it, and no guard")
	})
	t.Run("over HTTP", func(t *testing.T) {
		came := make(chan struct{})
		web := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if _, _ = io.ReadAll(r.Body); r.Method == http.MethodPost {
				close(came)
				<-r.Context().Done()
			}
		}))
		t.Cleanup(web.Close)
		in, _, done := before(t, web.URL)
		fmt.Fprintln(in, roots)
		<-came
		require.NoError(t, in.Close())
		<-done
	})
}

// before is a proxy before an address.
func before(t *testing.T, address string) (io.WriteCloser, *bufio.Reader, <-chan struct{}) {
	t.Helper()
	to, err := url.Parse(address)
	require.NoError(t, err)
	r := &Remote{URL: to, Header: http.Header{}}
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = (Proxy{Server: "shop"}).Run(ctx, Lines(inR, outW), r.Connect(ctx)) }()
	t.Cleanup(func() { cancel(); _ = inW.Close(); _ = outR.Close(); <-done })
	return inW, bufio.NewReader(outR), done
}

// A remote's answer is bounded as one on streams is.
func TestAdversary_T1_ARemotesAnswerIsBounded(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, _ = io.ReadAll(r.Body); r.Method == http.MethodPost {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{"x":"`+strings.Repeat("x", maxFrame)+`"}}`)
		}
	}))
	t.Cleanup(web.Close)
	in, out, _ := before(t, web.URL)
	fmt.Fprintln(in, pings)
	line, _ := out.ReadString('\n')
	require.Less(t, len(line), 1<<10)
}

// Of a server's questions few reach a person, and none is kept once it was taken back.
func TestAdversary_T1_AServerDoesNotFloodPeople(t *testing.T) {
	s := newStage(t)
	s.approval = ""
	for i := range 15 {
		s.says(s.server, `{"jsonrpc":"2.0","id":"q%d","method":"sampling/createMessage"}`, i)
		s.says(s.client, `{"jsonrpc":"2.0","id":%s,"result":{"text":"yes"}}`, s.heard(s.toClient).id())
		require.Equal(t, i >= maxInMinute, s.heard(s.toServer).Error != nil, i)
	}
	require.Len(t, s.calls(), maxInMinute)
	for i := range 2 * maxQuestions {
		s.says(s.server, `{"jsonrpc":"2.0","id":"c%d","method":"ping"}`, i)
		s.heard(s.toClient)
		s.says(s.server, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"c%d"}}`, i)
		s.heard(s.toClient)
	}
	for i := range maxQuestions {
		s.says(s.server, `{"jsonrpc":"2.0","id":"d%d","method":"ping"}`, i)
		s.heard(s.toClient)
	}
	s.says(s.server, `{"jsonrpc":"2.0","id":"more","method":"ping"}`)
	require.NotNil(t, s.heard(s.toServer).Error)
}

// Calls that wait for the server's tools wait for one listing, which is bounded.
func TestAdversary_T2_CallsWaitForOneListing(t *testing.T) {
	s := newStage(t)
	s.approval = ""
	s.listed()
	s.changed()
	for i := range 5 {
		s.says(s.client, callOf, i)
	}
	s.lists(order)
	for range 5 {
		s.ran()
	}
	s.changed()
	s.says(s.client, callOf, 1)
	var many []string
	for i := range maxKnown + 1 {
		many = append(many, fmt.Sprintf(`{"name":"t%d"}`, i))
	}
	s.lists(strings.Join(many, ","))
	require.Contains(t, s.heard(s.toClient).raw, "more than")
}

// A server over HTTP that refuses a notification still answers what comes next.
func TestProxy_ARefusedNotificationEndsNothing(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if !strings.Contains(string(body), `"id"`) {
			http.Error(w, "no notifications here", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{"x":"here"}}`)
	}))
	t.Cleanup(web.Close)
	in, out, _ := before(t, web.URL)
	fmt.Fprintln(in, roots)
	fmt.Fprintln(in, pings)
	line, err := out.ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, "here")
}

// Pings of a server that does not read, which clients answer by themselves, are bounded.
func TestAdversary_T1_ADeafServersPingsAreBounded(t *testing.T) {
	s := newStage(t)
	for i := range maxQuestions {
		s.says(s.server, `{"jsonrpc":"2.0","id":"p%d","method":"ping"}`, i)
		s.says(s.client, `{"jsonrpc":"2.0","id":%s,"result":{}}`, s.heard(s.toClient).id())
	}
	s.says(s.client, `{"jsonrpc":"2.0","id":"read","method":"vendor/run"}`) // what it said before is read
	require.Equal(t, "read", s.heard(s.toClient).ID)
	s.says(s.server, `{"jsonrpc":"2.0","id":"more","method":"ping"}`)
	s.says(s.server, `{"jsonrpc":"2.0","method":"notifications/message"}`)
	require.Equal(t, "notifications/message", s.heard(s.toClient).Method)
}
