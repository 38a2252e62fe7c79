package server

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/server/connection"
)

// pipes is a listener without a network, for bubbles of synctest.
type pipes struct {
	accept chan net.Conn
	closed chan struct{}
	once   sync.Once
	open   atomic.Int64 // connections that the server has not closed
}

func newPipes() *pipes { return &pipes{accept: make(chan net.Conn), closed: make(chan struct{})} }

// Accept implements net.Listener.
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.accept:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Addr implements net.Listener.
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// Close implements net.Listener.
func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// dial connects from an address.
func (p *pipes) dial(from string) net.Conn {
	here, there := net.Pipe()
	p.open.Add(1)
	p.accept <- &pipe{Conn: here, from: &net.TCPAddr{IP: net.ParseIP(from), Port: 1}, of: p}
	return there
}

// pipe is the server's end.
type pipe struct {
	net.Conn
	from net.Addr
	of   *pipes
	once sync.Once
}

// RemoteAddr implements net.Conn.
func (p *pipe) RemoteAddr() net.Addr { return p.from }

// Close implements net.Conn.
func (p *pipe) Close() error {
	p.once.Do(func() { p.of.open.Add(-1) })
	return p.Conn.Close()
}

// piped serves a server without a network, in a bubble of synctest.
func (d *desk) piped(srv *Server) *pipes {
	l := newPipes()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(ctx, l) }()
	d.t.Cleanup(func() { cancel(); <-ended })
	return l
}

// ask sends one request on a connection of its own, and reads its answer.
func (p *pipes) ask(t *testing.T, from, text string) (*http.Response, string) {
	c := p.dial(from)
	defer c.Close()
	go func() { _, _ = io.WriteString(c, text) }()
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(t, err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res, string(b)
}

const healthRequest = "GET /healthz HTTP/1.1\r\nHost: desk\r\n\r\n"

// silence is what clients send that then send no more.
type silence struct {
	text  string
	deaf  bool // nor do they read
	later string
}

func silences() map[string]silence {
	head := func(line, more string) string {
		return line + " HTTP/1.1\r\nHost: desk\r\n" + more + "\r\n"
	}
	token, length := "Authorization: Bearer "+secretOf("agent")+"\r\n", "Content-Length: 100\r\n"
	wrong, chunked := "Authorization: Bearer wrong\r\n", "Transfer-Encoding: chunked\r\n"
	return map[string]silence{
		"nothing":                     {},
		"half a line":                 {text: "POST /v1/appr"},
		"half a head":                 {text: strings.TrimSuffix(head("POST /v1/approvals", token+length), "\r\n")},
		"no body":                     {text: head("POST /v1/approvals", token+length)},
		"half a body":                 {text: head("POST /v1/approvals", token+length) + `{"toolName":`},
		"no body, after an answer":    {text: healthRequest, later: head("POST /v1/approvals", token+length)},
		"no body, no token":           {text: head("POST /v1/approvals", length)},
		"no body, a wrong token":      {text: head("POST /v1/approvals", wrong+length)},
		"no body, too large":          {text: head("POST /v1/approvals", token+"Content-Length: 1000000\r\n")},
		"a hook's half body":          {text: head("POST "+claudePre, token+length) + "{"},
		"a hook, a wrong token":       {text: head("POST "+claudePre, wrong+"Content-Length: 1000000\r\n")},
		"a hook, half a chunk":        {text: head("POST "+claudePre, token+chunked) + "5\r\n{"},
		"no body, an unknown path":    {text: head("POST /v2/nothing", token+length)},
		"no body, an odd path":        {text: head("POST /v1//approvals", token+length)},
		"no body, a wrong method":     {text: head("PATCH /v1/approvals", token+length)},
		"no chunk":                    {text: head("POST /v1/approvals", token+chunked)},
		"half a chunk":                {text: head("POST /v1/approvals", token+chunked) + "5\r\n{"},
		"no last chunk":               {text: head("POST /v1/approvals", token+chunked) + "2\r\n{}\r\n"},
		"no chunk, a wrong token":     {text: head("POST /v1/approvals", wrong+chunked)},
		"GET with a body":             {text: head("GET /v1/approvals", token+length)},
		"GET with a body, waits":      {text: head("GET /v1/approvals/w?wait=60s", token+length)},
		"a stream with a body":        {text: head("GET /v1/events", token+length)},
		"health with a body":          {text: head("GET /healthz", length)},
		"metrics with a body":         {text: head("GET /metrics", chunked)},
		"a body that is expected":     {text: head("POST /v1/approvals", token+length+"Expect: 100-continue\r\n")},
		"webhook, before its secret":  {text: head("POST /refuses", length)},
		"webhook, before a signature": {text: head("POST /reads", length)},
		"webhook, chunked":            {text: head("POST /reads", chunked)},
		"health":                      {text: healthRequest},
		"health, and another":         {text: healthRequest, later: "G"},
		"a wrong token":               {text: head("GET /v1/approvals", wrong)},
		"reads nothing":               {text: head("GET /openapi.json", ""), deaf: true},
		"HTTP/1.0":                    {text: "POST /v1/approvals HTTP/1.0\r\n" + length + "\r\n"},
	}
}

const silents = 500

// hold opens a connection of that kind, and holds it until the server closes it.
func (s silence) hold(p *pipes, from string) {
	c := p.dial(from)
	go func() {
		_, _ = io.WriteString(c, s.text)
		if s.deaf {
			return
		}
		if s.later != "" {
			if res, err := http.ReadResponse(bufio.NewReader(c), nil); err == nil {
				_, _ = io.Copy(io.Discard, res.Body)
			}
			_, _ = io.WriteString(c, s.later)
		}
		_, _ = io.Copy(io.Discard, c)
	}()
}

// Whatever a client sends before it sends no more: its connection is closed in 40
// seconds, and the desk answers all the while, also at the same address.
func TestAdversary_P12_SilentConnections(t *testing.T) {
	for name, s := range silences() {
		for _, addresses := range []int{1, silents} {
			t.Run(fmt.Sprintf("%s, %d addresses", name, addresses), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { holdSilent(t, s, addresses) })
			})
		}
	}
}

func holdSilent(t *testing.T, s silence, addresses int) {
	d := newDesk(t)
	d.pending("w")
	d.srv.Mount("POST /refuses", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	d.srv.Mount("POST /reads", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody)); err != nil {
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	l := d.piped(d.srv)
	address := func(i int) string { return fmt.Sprintf("10.0.%d.%d", i%addresses/250, i%addresses%250) }
	for i := range silents {
		s.hold(l, address(i))
	}
	for range 40 {
		for _, from := range []string{address(0), "192.0.2.1"} {
			res, text := l.ask(t, from, healthRequest)
			require.Equal(t, http.StatusOK, res.StatusCode)
			require.Equal(t, "ok\n", text)
		}
		time.Sleep(time.Second) // on the bubble's clock
	}
	synctest.Wait()
	require.Zero(t, l.open.Load())
}

// A client that speaks TLS, or not even that, and then nothing.
func TestAdversary_P12_SilentTLS(t *testing.T) {
	cert, key := selfSigned(t)
	// The head of a request whose body never comes, as HTTP/2 sends it: settings, then
	// headers in HPACK without Huffman coding, END_HEADERS and no END_STREAM.
	headers := "\x83\x87" + "\x44\x0d/v1/approvals" + "\x41\x04desk"
	http2 := "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + "\x00\x00\x00\x04\x00\x00\x00\x00\x00" +
		fmt.Sprintf("\x00\x00%c\x01\x04\x00\x00\x00\x01", len(headers)) + headers
	for name, text := range map[string]string{"no handshake": "", "nothing": "", "no body": "POST /v1/approvals HTTP/1.1\r\nHost: desk\r\nContent-Length: 9\r\n\r\n", "HTTP/2": http2} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t)
				srv, err := New(Config{Gate: d.gate, Tokens: testTokens(), CertFile: cert, KeyFile: key})
				require.NoError(t, err)
				l := d.piped(srv)
				for i := range 20 {
					c := l.dial(fmt.Sprintf("10.0.0.%d", i))
					if name == "no handshake" {
						continue
					}
					proto := "http/1.1"
					if name == "HTTP/2" {
						proto = "h2"
					}
					go func() {
						c := tls.Client(c, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{proto}})
						go func() { _, _ = io.WriteString(c, text) }()
						_, _ = io.Copy(io.Discard, c)
					}()
				}
				time.Sleep(connection.AnonymousTime)
				synctest.Wait()
				require.Zero(t, l.open.Load())
			})
		})
	}
}

// An address is held to its number of connections without an authenticated request,
// from the oldest on. Who has authenticated counts no more, and waits undisturbed.
func TestAnonymousConnectionsOfAnAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		l := d.piped(d.srv)
		answered := atomic.Int64{}
		const waiting = 3 * connection.MaxPerAddress
		for i := range waiting {
			c := l.dial("192.0.2.1")
			id := fmt.Sprint("w", i)
			go func() {
				go func() { _, _ = io.WriteString(c, creation("wait=60s", id)) }()
				res, err := http.ReadResponse(bufio.NewReader(c), nil)
				if err == nil && res.StatusCode == http.StatusCreated {
					answered.Add(1)
				}
			}()
		}
		synctest.Wait()
		for range 2 * connection.MaxPerAddress {
			silence{}.hold(l, "192.0.2.1")
		}
		time.Sleep(connection.BurstTime + time.Millisecond)
		require.EqualValues(t, waiting+2*connection.MaxPerAddress, l.open.Load(), "a burst is no attack")
		for range 2 * connection.MaxPerAddress {
			silence{}.hold(l, "192.0.2.1")
		}
		synctest.Wait()
		require.EqualValues(t, waiting+2*connection.MaxPerAddress, l.open.Load(), "one has gone for each that came")
		require.Contains(t, d.do("GET", "/metrics", "", "").text, fmt.Sprintf(`closed_total{reason="address"} %d`, 2*connection.MaxPerAddress))
		require.Equal(t, 1, strings.Count(d.logs.String(), "too many connections"), "said once a minute")
		silence{}.hold(l, "192.0.2.2")
		synctest.Wait()
		require.EqualValues(t, waiting+2*connection.MaxPerAddress+1, l.open.Load(), "another address has its own")
		time.Sleep(maxWait)
		synctest.Wait()
		require.EqualValues(t, waiting, answered.Load())
	})
}

// A connection is used again, and an anonymous one for a while.
func TestAnonymousConnectionsAreUsedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		l := d.piped(d.srv)
		c := l.dial("192.0.2.1")
		in := bufio.NewReader(c)
		ask := func(text string) *http.Response {
			go func() { _, _ = io.WriteString(c, text) }()
			res, err := http.ReadResponse(in, nil)
			require.NoError(t, err)
			_, _ = io.Copy(io.Discard, res.Body)
			return res
		}
		require.False(t, ask(healthRequest).Close)
		time.Sleep(connection.AnonymousLast)
		require.False(t, ask(healthRequest).Close)
		time.Sleep(time.Second)
		require.True(t, ask(healthRequest).Close, "nobody is cut off in the middle of an answer")
		synctest.Wait()
		require.Zero(t, l.open.Load())

		c = l.dial("192.0.2.1")
		in.Reset(c)
		require.False(t, ask(healthRequest).Close)
		time.Sleep(connection.AnonymousLast + time.Second)
		require.False(t, ask(creation("wait=0s", "w")).Close)
		time.Sleep(connection.AnonymousTime)
		require.False(t, ask(healthRequest).Close)
		res := ask("POST /v1/approvals HTTP/1.1\r\nHost: desk\r\nAuthorization: Bearer wrong\r\nContent-Length: 2\r\n\r\n")
		require.Equal(t, http.StatusUnauthorized, res.StatusCode)
		require.True(t, res.Close, "its body was not read")
		c.Close()
	})
}

// Running out of file descriptors is said once and counted.
func TestOutOfFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		short := &net.OpError{Op: "accept", Err: syscall.EMFILE}
		l := &failing{Listener: newPipes(), errs: slices.Concat(slices.Repeat([]error{short}, 10), []error{errors.New("broken")})}
		err := d.srv.Serve(t.Context(), l)
		require.ErrorContains(t, err, "broken")
		require.Equal(t, 1, strings.Count(d.logs.String(), "no file descriptors left"))
		require.Contains(t, d.do("GET", "/metrics", "", "").text, "approvalbot_accept_failures_total 11\n")
	})
}

// A stream over HTTP/2 on which nothing happens goes on.
func TestQuietStreamOverHTTP2(t *testing.T) {
	cert, key := selfSigned(t)
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		srv, err := New(Config{Gate: d.gate, Feed: d.feed, Tokens: testTokens(), CertFile: cert, KeyFile: key})
		require.NoError(t, err)
		l := d.piped(srv)
		transport := &http.Transport{
			DialContext:     func(context.Context, string, string) (net.Conn, error) { return l.dial("192.0.2.1"), nil },
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true,
		}
		defer transport.CloseIdleConnections()
		ctx, hangUp := context.WithCancel(t.Context())
		defer hangUp()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://desk/v1/events", nil)
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer "+secretOf("agent"))
		res, err := transport.RoundTrip(req)
		require.NoError(t, err)
		defer res.Body.Close()
		require.Equal(t, 2, res.ProtoMajor)
		in := bufio.NewScanner(res.Body)
		for beats := 0; beats < 10; {
			require.True(t, in.Scan(), in.Err())
			if in.Text() == ": still here" {
				beats++
			}
		}
	})
}
