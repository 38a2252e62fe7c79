package server

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime/pprof"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/core"
)

// line is one connection to a desk, on which requests are written by hand.
type line struct {
	t testing.TB
	net.Conn
	r *bufio.Reader
}

func (d *desk) dial(addr string) *line {
	conn, err := net.Dial("tcp", addr)
	require.NoError(d.t, err)
	d.t.Cleanup(func() { conn.Close() })
	return &line{d.t, conn, bufio.NewReader(conn)}
}

func (l *line) say(method, path, more string) {
	_, err := fmt.Fprintf(l, "%s %s HTTP/1.1\r\nHost: desk\r\nAuthorization: Bearer %s\r\n%s\r\n", method, path, secretOf("agent"), more)
	require.NoError(l.t, err)
}

func (l *line) send(text string) {
	_, err := io.WriteString(l, text)
	require.NoError(l.t, err)
}

// creation is the agent's request for an approval of that id.
func creation(query, id string) string {
	body := `{"id":"` + id + `","toolName":"ask","params":{}}`
	return fmt.Sprintf("POST /v1/approvals?%s HTTP/1.1\r\nHost: desk\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", query, secretOf("agent"), len(body), body)
}

func (l *line) hear(method string) (*http.Response, string) {
	res, err := http.ReadResponse(l.r, &http.Request{Method: method})
	require.NoError(l.t, err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	require.NoError(l.t, err)
	return res, string(b)
}

func (d *desk) yes(id string) {
	_, err := d.alice.Resolve(d.t.Context(), id, api.ResolveRequest{Decision: api.AllowOnce})
	require.NoError(d.t, err)
}

func (d *desk) pending(id string) {
	d.ask("ask", `{}`, func(r *api.CreateRequest) { r.ID = id })
}

func TestWaitersKeepTheirConnection(t *testing.T) {
	d := newDesk(t)
	addr, _ := d.serving(d.srv)
	l := d.dial(addr)
	for _, id := range []string{"a", "b", "c"} {
		d.pending(id)
		l.say("GET", "/v1/approvals/"+id+"?wait=60s", "")
		d.untilWaiting()
		require.Eventually(t, func() bool { // it counts as waiting a moment before its connection is taken away
			var stacks strings.Builder
			return pprof.Lookup("goroutine").WriteTo(&stacks, 1) == nil && !strings.Contains(stacks.String(), "net/http.(*connReader).backgroundRead")
		}, time.Minute, time.Millisecond, "net/http keeps nothing for it")
		d.yes(id)
		parked, body := l.hear("GET")
		require.Contains(t, body, `"status":"approved"`)
		l.say("GET", "/v1/approvals/"+id, "")
		plain, same := l.hear("GET")
		require.Equal(t, same, body)
		parked.Header.Del("Date")
		plain.Header.Del("Date")
		require.Equal(t, plain.Header, parked.Header)
		require.False(t, parked.Close)
	}
	l.say("HEAD", "/v1/approvals/a?wait=1s", "")
	res, body := l.hear("HEAD")
	require.Equal(t, http.StatusOK, res.StatusCode)
	require.Empty(t, body)
	l.say("GET", "/v1/approvals/nobody?wait=1s", "")
	res, _ = l.hear("GET")
	require.Equal(t, http.StatusNotFound, res.StatusCode)
	l.say("GET", "/v1/approvals/a?wait=1s", "Connection: close\r\n")
	res, _ = l.hear("GET")
	require.True(t, res.Close)
	_, err := l.r.ReadByte()
	require.ErrorIs(t, err, io.EOF)
}

func TestWaitersThatSayMore(t *testing.T) {
	d := newDesk(t)
	addr, _ := d.serving(d.srv)
	for _, early := range []bool{true, false} { // with the request that waits, and while it does
		id := fmt.Sprint("early-", early)
		d.pending(id)
		l := d.dial(addr)
		if early {
			_, err := fmt.Fprintf(l, "GET /v1/approvals/%s?wait=60s HTTP/1.1\r\nHost: desk\r\nAuthorization: Bearer %s\r\n\r\nGET /healthz HTTP/1.1\r\nHost: desk\r\n\r\n", id, secretOf("agent"))
			require.NoError(t, err)
			d.untilWaiting()
		} else {
			l.say("GET", "/v1/approvals/"+id+"?wait=60s", "")
			d.untilWaiting()
			l.say("GET", "/healthz", "")
		}
		l.say("GET", "/v1/approvals/"+id+"?wait=60s", "Content-Length: 2\r\n")
		_, err := l.Write([]byte("{}"))
		require.NoError(t, err)
		d.yes(id)
		_, body := l.hear("GET")
		require.Contains(t, body, `"status":"approved"`)
		_, body = l.hear("GET")
		require.Equal(t, "ok\n", body)
		_, body = l.hear("GET")
		require.Contains(t, body, `"status":"approved"`, "with a body, which nobody reads")
		l.say("GET", "/healthz", "")
		_, body = l.hear("GET")
		require.Equal(t, "ok\n", body)
	}
}

func TestWaiterGoneAfterSayingMore(t *testing.T) {
	d := newDesk(t)
	addr, _ := d.serving(d.srv)
	l := d.dial(addr)
	l.send(creation("wait=60s&claim=1", "w") + "GET /healthz HTTP/1.1\r\nHost: desk\r\n\r\n")
	d.untilWaiting()
	require.NoError(t, l.Conn.(*net.TCPConn).CloseWrite())
	_, body := l.hear("POST")
	require.Contains(t, body, `"status":"pending"`)
	_, body = l.hear("GET")
	require.Equal(t, "ok\n", body, "what it said before it went is answered")
	_, err := l.r.ReadByte()
	require.ErrorIs(t, err, io.EOF)
	d.yes("w")
	a, err := d.agent.Get(t.Context(), "w", 0)
	require.NoError(t, err)
	require.Zero(t, a.ClaimedAtMs, "whoever has gone claims nothing")
}

// ways are how a request that waits may have come: by the lane, or by net/http.
var ways = map[string]string{"lane": "", "net/http": "Pragma: no-cache\r\n", "HTTP/1.0": "Pragma: no-cache\r\n"}

// waiter asks for an approval in that way, claims it with the answer, and waits. It
// is in a bubble of synctest.
func (d *desk) waiter(way, id string) *line {
	l, c := laneOf(d.t.(*testing.T), d.srv.Handler().ServeHTTP)
	srv := &http.Server{Handler: l.handler, BaseContext: func(net.Listener) context.Context { return l.ctx }}
	go func() { _ = srv.Serve(l.lot) }()
	d.t.Cleanup(func() { srv.Close() })
	ask := strings.Replace(creation("wait=60s&claim=1", id), "Host:", ways[way]+"Host:", 1)
	if way == "HTTP/1.0" {
		ask = strings.Replace(ask, "HTTP/1.1", way, 1)
	}
	out := &line{d.t, c, bufio.NewReader(c)}
	out.send(ask)
	synctest.Wait()
	require.Contains(d.t, d.do("GET", "/metrics", "", "").text, "approvalbot_waiting_requests 1")
	return out
}

// Whoever has gone claims nothing, whatever it said before.
func TestWaiterGone_WhateverItSaid(t *testing.T) {
	health := "GET /healthz HTTP/1.1\r\nHost: desk\r\n\r\n"
	for way := range ways {
		for _, pieces := range [][]string{{}, {"\r\n"}, {"G"}, {"\r\nG", "E"}, {health}, {health + health, "GET"}, {strings.Repeat("a", maxAhead/2), strings.Repeat("b", maxAhead/2-1)}} {
			t.Run(fmt.Sprintf("%s, %.10q", way, pieces), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					d := newDesk(t)
					l := d.waiter(way, "w")
					go func() {
						for _, piece := range pieces {
							_, _ = io.WriteString(l, piece)
						}
						l.Close()
					}()
					synctest.Wait()
					d.yes("w")
					synctest.Wait()
					a, err := d.agent.Get(t.Context(), "w", 0)
					require.NoError(t, err)
					require.Zero(t, a.ClaimedAtMs)
				})
			})
		}
	}
}

// What a client says while it waits is answered afterwards, also if it says no more
// then, which ends its wait.
func TestWaiterSaysMoreAndNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		start, l := time.Now(), d.waiter("lane", "w")
		go func() {
			for _, piece := range []string{"G", "ET /v1/approvals/w HTTP/1.1\r\nHost: desk\r\nAuthorization: Bearer " + secretOf("agent") + "\r\n\r\nGET /hea", "lthz HTTP/1.1\r\nHost: desk\r\n\r\n"} {
				_, _ = io.WriteString(l, piece)
			}
			_ = l.Conn.(half).CloseWrite()
		}()
		_, body := l.hear("POST")
		require.Contains(t, body, `"status":"pending"`)
		_, body = l.hear("GET")
		require.Contains(t, body, `"status":"pending"`)
		_, body = l.hear("GET")
		require.Equal(t, "ok\n", body)
		_, err := l.r.ReadByte()
		require.ErrorIs(t, err, io.EOF)
		require.Equal(t, start, time.Now())
	})
}

// Of what a client says while it waits no more is kept than maxAhead. Since nobody would
// know if it went, it waits and claims no more; but all that it says is answered.
func TestWaiterSaysTooMuch(t *testing.T) {
	const health = "GET /healthz HTTP/1.1\r\nHost: desk\r\n\r\n"
	const many = 2 * maxAhead / len(health)
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		l := d.waiter("lane", "w")
		var taken atomic.Int64
		go func() {
			const piece = 64
			for text := strings.Repeat(health, many); text != ""; text = text[min(piece, len(text)):] {
				n, _ := io.WriteString(l, text[:min(piece, len(text))])
				taken.Add(int64(n))
			}
		}()
		synctest.Wait()
		require.EqualValues(t, maxAhead, taken.Load())
		require.Contains(t, d.do("GET", "/metrics", "", "").text, "approvalbot_waiting_requests 0")
		d.yes("w")
		_, body := l.hear("POST")
		require.Contains(t, body, `"status":"pending"`)
		for range many {
			_, body = l.hear("GET")
			require.Equal(t, "ok\n", body)
		}
	})
}

func TestEmptyLinesAfterAWait(t *testing.T) {
	d := newDesk(t)
	addr, _ := d.serving(d.srv)
	const health = "GET /healthz HTTP/1.1\r\nHost: desk\r\n\r\n"
	for i, more := range []string{"\r\n" + health, "\r\n", ""} { // with the request that waits, or later
		l := d.dial(addr)
		id := fmt.Sprint("w", i)
		l.send(creation("wait=60s", id) + more)
		d.untilWaiting()
		if more != "\r\n"+health {
			l.send("\r\n" + health)
		}
		d.yes(id)
		_, body := l.hear("POST")
		require.Contains(t, body, `"status":"approved"`)
		_, body = l.hear("GET")
		require.Equal(t, "ok\n", body)
	}
}

// giving is a response whose connection can be taken.
type giving struct {
	*httptest.ResponseRecorder
	hijack func() (net.Conn, *bufio.ReadWriter, error)
}

// Hijack implements http.Hijacker.
func (g giving) Hijack() (net.Conn, *bufio.ReadWriter, error) { return g.hijack() }

func TestStoppingKnowsWhoJustComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.pending("w")
		here, there := net.Pipe()
		l := newLot(here.LocalAddr())
		defer there.Close()
		ask := httptest.NewRequestWithContext(context.WithValue(t.Context(), lotKey{}, l), "GET", "/v1/approvals/w?wait=60s", nil)
		ask.Header.Set("Authorization", "Bearer "+secretOf("agent"))
		w := giving{ResponseRecorder: httptest.NewRecorder()}
		w.hijack = func() (net.Conn, *bufio.ReadWriter, error) {
			d.srv.EndWaits()
			go l.leave(t.Context()) // net/http knows nothing of the connection any more
			synctest.Wait()
			select {
			case <-l.empty:
				t.Error("nobody waits for the one who comes")
			default:
			}
			return here, bufio.NewReadWriter(bufio.NewReader(here), bufio.NewWriter(here)), nil
		}
		d.srv.Handler().ServeHTTP(w, ask)
		res, err := http.ReadResponse(bufio.NewReader(there), ask)
		require.NoError(t, err)
		require.True(t, res.Close)
		res.Body.Close()
		<-l.empty

		late := giving{ResponseRecorder: httptest.NewRecorder(), hijack: func() (net.Conn, *bufio.ReadWriter, error) {
			t.Error("comes to where everybody has left")
			return nil, nil, net.ErrClosed
		}}
		d.srv.Handler().ServeHTTP(late, ask)
		require.Equal(t, http.StatusOK, late.Code)
	})
}

func TestIdleInTheLotWhenStopping(t *testing.T) {
	d := newDesk(t)
	addr, stop := d.serving(d.srv)
	d.pending("w")
	idle, waiting := d.dial(addr), d.dial(addr)
	d.yes("w")
	idle.say("GET", "/v1/approvals/w?wait=60s", "")
	idle.hear("GET")
	d.pending("v")
	waiting.say("GET", "/v1/approvals/v?wait=60s", "")
	d.untilWaiting()
	require.NoError(t, stop())
	_, err := idle.r.ReadByte()
	require.ErrorIs(t, err, io.EOF)
	res, body := waiting.hear("GET")
	require.True(t, res.Close)
	require.Contains(t, body, `"status":"pending"`)
}

func TestWaitOverTLS(t *testing.T) {
	cert, key := selfSigned(t)
	d := newDesk(t)
	srv, err := New(Config{Gate: d.gate, Tokens: testTokens(), CertFile: cert, KeyFile: key, Metrics: d.srv.metrics})
	require.NoError(t, err)
	addr, _ := d.serving(srv)
	pem, err := os.ReadFile(cert)
	require.NoError(t, err)
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(pem))
	for _, http2 := range []bool{false, true} {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: http2}
		defer transport.CloseIdleConnections()
		c := &api.Client{Server: "https://" + addr, Token: secretOf("agent"), HTTP: &http.Client{Transport: transport}}
		for i := range 2 {
			id := fmt.Sprintf("%v-%d", http2, i)
			d.pending(id)
			got := make(chan api.Approval, 1)
			go func() {
				a, err := c.WaitFinal(t.Context(), id)
				if err != nil {
					t.Error(err)
				}
				got <- a
			}()
			d.untilWaiting()
			d.yes(id)
			require.Equal(t, api.Approved, (<-got).Status)
		}
	}
}

func TestPanicAfterAWait(t *testing.T) {
	d := newDesk(t)
	addr, _ := d.serving(d.srv)
	l := d.dial(addr)
	const body = `{"id":"w","toolName":"ask","params":{}}`
	l.say("POST", "/v1/approvals?wait=60s&claim=1", fmt.Sprintf("Content-Length: %d\r\n", len(body)))
	_, err := l.Write([]byte(body))
	require.NoError(t, err)
	d.untilWaiting()
	rules := d.rules
	rules.Policy = stumbling{rules.Policy}
	d.gate.Use(rules)
	d.yes("w")
	res, text := l.hear("POST")
	require.Equal(t, http.StatusServiceUnavailable, res.StatusCode)
	require.NotContains(t, text, "boom")
	require.Contains(t, d.logs.String(), "boom")
	require.Contains(t, d.do("GET", "/metrics", "", "").text, `approvalbot_http_requests_total{method="POST",route="/v1/approvals",status="503"} 1`)
	d.gate.Use(d.rules)
	l.say("GET", "/v1/approvals/w", "")
	_, text = l.hear("GET")
	require.Contains(t, text, `"status":"approved"`)
}

// stumbling is a policy that panics.
type stumbling struct{ core.Policy }

// Judge panics.
func (stumbling) Judge(context.Context, core.Call) core.Judgement { panic("boom") }
