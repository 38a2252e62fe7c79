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
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/internal/approval"
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
		d.yes(id)
		waited, body := l.hear("GET")
		require.Contains(t, body, `"status":"approved"`)
		l.say("GET", "/v1/approvals/"+id, "")
		plain, same := l.hear("GET")
		require.Equal(t, same, body)
		waited.Header.Del("Date")
		plain.Header.Del("Date")
		require.Equal(t, plain.Header, waited.Header)
		require.False(t, waited.Close)
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

func TestIdleWhenStopping(t *testing.T) {
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
	rules.Policy = panicking{rules.Policy}
	d.gate.Use(rules)
	d.yes("w")
	res, text := l.hear("POST")
	require.Equal(t, http.StatusServiceUnavailable, res.StatusCode)
	require.NotContains(t, text, "boom")
	require.Contains(t, d.logs.String(), `"panic":"boom"`)
	require.Contains(t, d.do("GET", "/metrics", "", "").text, `approvalbot_http_requests_total{method="POST",route="/v1/approvals",status="503"} 1`)
	d.gate.Use(d.rules)
	l.say("GET", "/v1/approvals/w", "")
	_, text = l.hear("GET")
	require.Contains(t, text, `"status":"approved"`)
}

// panicking is a policy that panics.
type panicking struct{ core.Policy }

// Judge panics.
func (panicking) Judge(context.Context, approval.Call) approval.Judgement { panic("boom") }
