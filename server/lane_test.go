package server

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
)

// evaluation is a plain request of the agent, with more headers.
func evaluation(body, more string) string {
	return fmt.Sprintf("POST /v1/evaluate HTTP/1.1\r\nHost: desk\r\nAuthorization: Bearer %s\r\n%sContent-Length: %d\r\n\r\n%s", secretOf("agent"), more, len(body), body)
}

const readCall = `{"toolName":"read","params":{"path":"a"}}`

const cutOff = "" // ends a script in which the client says that it says no more

// scripts are what clients send on one connection, each string in a piece of its
// own.
var scripts = map[string][]string{
	"one":                      {evaluation(readCall, "")},
	"two in one piece":         {evaluation(readCall, "") + evaluation(readCall, "")},
	"body later":               {strings.TrimSuffix(evaluation(readCall, ""), readCall), readCall},
	"byte by byte":             strings.Split(evaluation(readCall, ""), ""),
	"next one cut in between":  {evaluation(readCall, "") + "POST /v1/eval", evaluation(readCall, "")[len("POST /v1/eval"):]},
	"plain, odd, plain":        {evaluation(readCall, ""), "GET /healthz HTTP/1.1\r\nHost: desk\r\n\r\n", evaluation(readCall, "")},
	"lower case, spaces":       {"POST /v1/evaluate HTTP/1.1\r\nhost:desk\r\nauthorization:   Bearer " + secretOf("agent") + "  \r\ncontent-length: 2\r\n\r\n{}"},
	"no token":                 {"POST /v1/evaluate HTTP/1.1\r\nHost: desk\r\nContent-Length: 2\r\n\r\n{}"},
	"two tokens":               {"POST /v1/evaluate HTTP/1.1\r\nHost: desk\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b\r\nContent-Length: 2\r\n\r\n{}"},
	"empty body":               {evaluation("", "")},
	"not JSON":                 {evaluation("{", ""), evaluation(readCall, "")},
	"form":                     {evaluation(readCall, "Content-Type: application/x-www-form-urlencoded\r\n")},
	"no length":                {"POST /v1/evaluate HTTP/1.1\r\nHost: desk\r\nAuthorization: Bearer " + secretOf("agent") + "\r\n\r\n", evaluation(readCall, "")},
	"two lengths":              {evaluation(readCall, "Content-Length: 3\r\n")},
	"the same length twice":    {evaluation(readCall, fmt.Sprintf("Content-Length: %d\r\n", len(readCall)))},
	"length with a sign":       {"POST /v1/evaluate HTTP/1.1\r\nHost: desk\r\nContent-Length: +2\r\n\r\n{}"},
	"length with a comma":      {"POST /v1/evaluate HTTP/1.1\r\nHost: desk\r\nContent-Length: 2, 2\r\n\r\n{}"},
	"length beyond all":        {"POST /v1/evaluate HTTP/1.1\r\nHost: desk\r\nAuthorization: Bearer " + secretOf("agent") + "\r\nContent-Length: 99999999999999999999\r\n\r\n{}"},
	"length beyond the limit":  {"POST /v1/evaluate HTTP/1.1\r\nHost: desk\r\nAuthorization: Bearer " + secretOf("agent") + "\r\nContent-Length: 262145\r\n\r\n{}"},
	"negative length":          {"POST /v1/evaluate HTTP/1.1\r\nHost: desk\r\nContent-Length: -1\r\n\r\n"},
	"chunked":                  {"POST /v1/evaluate HTTP/1.1\r\nHost: desk\r\nAuthorization: Bearer " + secretOf("agent") + "\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", evaluation(readCall, "")},
	"chunked and a length":     {evaluation(readCall, "Transfer-Encoding: chunked\r\n")},
	"odd transfer encoding":    {evaluation(readCall, "Transfer-Encoding : chunked\r\n")},
	"folded":                   {evaluation(readCall, "X-A: b\r\n c\r\n")},
	"tab in a value":           {evaluation(readCall, "X-A: b\tc\r\n")},
	"letters beyond ASCII":     {evaluation(readCall, "X-A: \xc3\xa9\r\n")},
	"control in a value":       {evaluation(readCall, "X-A: b\x01c\r\n")},
	"odd name":                 {evaluation(readCall, "X A: b\r\n")},
	"no colon":                 {evaluation(readCall, "X-A\r\n")},
	"bare line feeds":          {strings.ReplaceAll(evaluation(readCall, ""), "\r\n", "\n")},
	"bare line feed in a head": {strings.Replace(evaluation(readCall, ""), "Host: desk\r\n", "Host: desk\n", 1)},
	"carriage return in value": {evaluation(readCall, "X-A: b\rTransfer-Encoding: chunked\r\n")},
	"no host":                  {"POST /v1/evaluate HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}"},
	"two hosts":                {evaluation(readCall, "Host: other\r\n")},
	"empty host":               {"POST /v1/evaluate HTTP/1.1\r\nHost:\r\nContent-Length: 2\r\n\r\n{}"},
	"odd host":                 {"POST /v1/evaluate HTTP/1.1\r\nHost: a b\r\nContent-Length: 2\r\n\r\n{}"},
	"HTTP/1.0":                 {strings.Replace(evaluation(readCall, ""), "HTTP/1.1", "HTTP/1.0", 1)},
	"HTTP/2.0":                 {strings.Replace(evaluation(readCall, ""), "HTTP/1.1", "HTTP/2.0", 1)},
	"preface of HTTP/2":        {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
	"close":                    {evaluation(readCall, "Connection: close\r\n"), evaluation(readCall, "")},
	"keep-alive":               {evaluation(readCall, "Connection: keep-alive\r\n"), evaluation(readCall, "")},
	"Keep-Alive":               {evaluation(readCall, "Connection: Keep-Alive\r\n"), evaluation(readCall, "")},
	"upgrade":                  {evaluation(readCall, "Connection: Upgrade\r\nUpgrade: h2c\r\n")},
	"expectation":              {evaluation(readCall, "Expect: 100-continue\r\n")},
	"unknown expectation":      {evaluation(readCall, "Expect: the-worst\r\n")},
	"trailer":                  {evaluation(readCall, "Trailer: X-A\r\n")},
	"pragma":                   {evaluation(readCall, "Pragma: no-cache\r\n")},
	"query":                    {"GET /v1/approvals?limit=2&status=pending HTTP/1.1\r\nHost: desk\r\nAuthorization: Bearer " + secretOf("agent") + "\r\n\r\n"},
	"escaped query":            {"GET /v1/approvals?agentId=a%20b HTTP/1.1\r\nHost: desk\r\nAuthorization: Bearer " + secretOf("agent") + "\r\n\r\n"},
	"query with a semicolon":   {"GET /v1/approvals?limit=2;status=pending HTTP/1.1\r\nHost: desk\r\nAuthorization: Bearer " + secretOf("agent") + "\r\n\r\n"},
	"question mark, no query":  {"GET /v1/approvals? HTTP/1.1\r\nHost: desk\r\nAuthorization: Bearer " + secretOf("agent") + "\r\n\r\n"},
	"fragment":                 {"GET /v1/approvals#x HTTP/1.1\r\nHost: desk\r\nAuthorization: Bearer " + secretOf("agent") + "\r\n\r\n"},
	"escaped path":             {"GET /v1/approvals/a%2fb HTTP/1.1\r\nHost: desk\r\nAuthorization: Bearer " + secretOf("agent") + "\r\n\r\n"},
	"dots":                     {"GET /v1/approvals/../approvals HTTP/1.1\r\nHost: desk\r\nAuthorization: Bearer " + secretOf("agent") + "\r\n\r\n"},
	"one dot":                  {"GET /v1/approvals/. HTTP/1.1\r\nHost: desk\r\nAuthorization: Bearer " + secretOf("agent") + "\r\n\r\n"},
	"slashes":                  {"GET /v1/approvals//a HTTP/1.1\r\nHost: desk\r\nAuthorization: Bearer " + secretOf("agent") + "\r\n\r\n"},
	"slash at the end":         {"GET /v1/approvals/ HTTP/1.1\r\nHost: desk\r\nAuthorization: Bearer " + secretOf("agent") + "\r\n\r\n"},
	"no such verb":             {"POST /v1/approvals/a/forget HTTP/1.1\r\nHost: desk\r\nContent-Length: 0\r\n\r\n"},
	"wrong method":             {"GET /v1/evaluate HTTP/1.1\r\nHost: desk\r\n\r\n", evaluation(readCall, "")},
	"HEAD":                     {"HEAD /v1/approvals HTTP/1.1\r\nHost: desk\r\n\r\n"},
	"lower case method":        {"get /v1/approvals HTTP/1.1\r\nHost: desk\r\n\r\n"},
	"GET with a body":          {"GET /v1/approvals/x HTTP/1.1\r\nHost: desk\r\nContent-Length: 2\r\n\r\n{}", evaluation(readCall, "")},
	"whole URL":                {"GET http://desk/v1/approvals/x HTTP/1.1\r\nHost: desk\r\n\r\n"},
	"whole URL, another host":  {"GET http://other/v1/approvals/x HTTP/1.1\r\nHost: desk\r\n\r\n"},
	"asterisk":                 {"OPTIONS * HTTP/1.1\r\nHost: desk\r\n\r\n"},
	"no version":               {"GET /v1/approvals\r\n\r\n"},
	"two spaces":               {"GET  /v1/approvals HTTP/1.1\r\nHost: desk\r\n\r\n"},
	"space at the end":         {"GET /v1/approvals HTTP/1.1 \r\nHost: desk\r\n\r\n"},
	"empty lines before":       {"\r\n\r\n" + evaluation(readCall, "")},
	"empty line later":         {evaluation(readCall, ""), "\r\n", evaluation(readCall, "")},
	"empty line between":       {evaluation(readCall, "") + "\r\n" + evaluation(readCall, "")},
	"space before":             {" " + evaluation(readCall, "")},
	"TLS":                      {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"},
	"many headers":             {evaluation(readCall, strings.Repeat("X-A: b\r\n", 40))},
	"different headers":        {evaluation(readCall, manyHeaders(maxPlainLines-3)), evaluation(readCall, manyHeaders(maxPlainLines-2))},
	"head of 9 KB":             {evaluation(readCall, "X-A: "+strings.Repeat("a", 9<<10)+"\r\n"), evaluation(readCall, "")},
	"head of 70 KB":            {evaluation(readCall, "X-A: "+strings.Repeat("a", 70<<10)+"\r\n")},
	"body of 9 KB":             {evaluation(`{"toolName":"read","params":{"path":"`+strings.Repeat("a", 9<<10)+`"}}`, ""), evaluation(readCall, "")},
	"body cut off":             {strings.TrimSuffix(evaluation(readCall, ""), "}}"), cutOff},
	"head cut off":             {"POST /v1/evaluate HTTP/1.1\r\nHost: desk\r\n", cutOff},
	"nothing":                  {cutOff},
}

func manyHeaders(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "X-%d: b\r\n", i)
	}
	return b.String()
}

// heard is what a client hears of an answer.
type heard struct {
	Status int
	Header http.Header
	Close  bool
	Body   string
}

// Whatever a client sends, it hears the same as from net/http alone.
func TestLaneAnswersAsNetHTTP(t *testing.T) {
	d := newDesk(t)
	lane, _ := d.serving(d.srv)
	alone := &http.Server{Handler: d.srv.Handler(), MaxHeaderBytes: maxHeader, DisableGeneralOptionsHandler: true}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = alone.Serve(l) }()
	t.Cleanup(func() { alone.Close() })
	for name, script := range scripts {
		if script[len(script)-1] != cutOff {
			script = append(script, "GET /healthz HTTP/1.1\r\nHost: desk\r\nConnection: close\r\n\r\n")
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := d.play(l.Addr().String(), script)
			require.Equal(t, want, d.play(lane, script))
		})
	}
}

// play sends a script, and hears all answers.
func (d *desk) play(addr string, script []string) (all []heard) {
	conn := d.dial(addr)
	go func() {
		for _, piece := range script {
			_, _ = conn.Write([]byte(piece)) // whoever closed has said why
		}
		if script[len(script)-1] == cutOff {
			_ = conn.Conn.(*net.TCPConn).CloseWrite()
		}
	}()
	for {
		res, err := http.ReadResponse(conn.r, nil)
		if err != nil {
			return all
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		res.Header.Del("Date")
		all = append(all, heard{res.StatusCode, res.Header, res.Close, string(body)})
	}
}

// What the lane reads as plain, net/http reads just so.
func FuzzPlain(f *testing.F) {
	for _, script := range scripts {
		f.Add([]byte(strings.Join(script, "")))
	}
	type key struct{}
	blank := new(http.Request).WithContext(context.WithValue(context.Background(), key{}, 1))
	f.Fuzz(func(t *testing.T, b []byte) {
		var p plain
		n, how := p.read(blank, b)
		if how != wholly {
			require.Zero(t, n)
			return
		}
		in := bufio.NewReader(bytes.NewReader(b))
		want, err := http.ReadRequest(in)
		require.NoError(t, err)
		require.Equal(t, []any{want.Method, want.URL, want.Proto, want.ProtoMajor, want.ProtoMinor, want.Header, want.ContentLength, want.Host, want.RequestURI},
			[]any{p.r.Method, p.r.URL, p.r.Proto, p.r.ProtoMajor, p.r.ProtoMinor, p.r.Header, p.r.ContentLength, p.r.Host, p.r.RequestURI})
		require.False(t, want.Close)
		require.Empty(t, want.TransferEncoding)
		require.Empty(t, want.Trailer)
		wantBody, err := io.ReadAll(want.Body)
		require.NoError(t, err)
		body, err := io.ReadAll(p.r.Body)
		require.NoError(t, err)
		require.Equal(t, string(wantBody), string(body))
		rest, err := io.ReadAll(in)
		require.NoError(t, err)
		require.Equal(t, string(rest), string(b[n:]))
		require.Equal(t, 1, p.r.Context().Value(key{}))

		again := n // a second one is read as if the first had not been
		_, _ = p.read(blank, []byte(evaluation(readCall, "X-Other: 1\r\n")))
		n, how = p.read(blank, b)
		require.Equal(t, wholly, how)
		require.Equal(t, again, n)
		require.Equal(t, want.Header, p.r.Header)
		require.Equal(t, want.URL, p.r.URL)
	})
}

// laneOf is a lane around a handler, and a connection in it.
func laneOf(t *testing.T, h http.HandlerFunc) (*lane, net.Conn) {
	here, there := halves()
	l := newLane(h, newLot(here.LocalAddr()), slog.New(slog.DiscardHandler))
	go l.ride(here, nil)
	t.Cleanup(func() {
		there.Close()
		l.lot.leave(context.Background())
	})
	return l, there
}

// half is one end of a connection on which each side can stop to speak alone, as
// with TCP.
type half struct {
	net.Conn // to hear
	out      net.Conn
}

func halves() (here, there half) {
	a, b := net.Pipe()
	c, d := net.Pipe()
	return half{a, c}, half{d, b}
}

func (h half) Write(b []byte) (int, error)         { return h.out.Write(b) }
func (h half) SetWriteDeadline(at time.Time) error { return h.out.SetWriteDeadline(at) }
func (h half) SetDeadline(at time.Time) error {
	return errors.Join(h.Conn.SetDeadline(at), h.out.SetWriteDeadline(at))
}
func (h half) CloseWrite() error { return h.out.Close() }
func (h half) Close() error      { return errors.Join(h.Conn.Close(), h.out.Close()) }

// Some clients end a POST with an empty line, and it may come by itself.
func TestLaneEmptyLines(t *testing.T) {
	l, c := laneOf(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "0")
		w.WriteHeader(200)
	})
	in := bufio.NewReader(c)
	for range 3 {
		_, err := c.Write([]byte(evaluation(readCall, "")))
		require.NoError(t, err)
		_, err = http.ReadResponse(in, nil)
		require.NoError(t, err)
		for range pieces + 1 {
			_, err = c.Write([]byte("\r\n"))
			require.NoError(t, err)
		}
	}
	select {
	case <-l.lot.back:
		t.Error("went to net/http")
	default:
	}
}

func TestLaneTimes(t *testing.T) {
	hello := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "2")
		_, _ = w.Write([]byte("ok"))
	}
	ends := func(c net.Conn) time.Duration {
		start := time.Now()
		_, err := c.Read(make([]byte, 1))
		require.ErrorIs(t, err, io.EOF)
		return time.Since(start)
	}
	t.Run("silent from the start", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			_, c := laneOf(t, hello)
			require.Equal(t, headerTime, ends(c))
		})
	})
	t.Run("idle", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			_, c := laneOf(t, hello)
			_, err := c.Write([]byte(evaluation(readCall, "")))
			require.NoError(t, err)
			res, err := http.ReadResponse(bufio.NewReader(c), nil)
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, res.StatusCode)
			require.Equal(t, idleTime, ends(c))
		})
	})
	t.Run("takes no answer", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			_, c := laneOf(t, hello)
			_, err := c.Write([]byte(evaluation(readCall, "")))
			require.NoError(t, err)
			time.Sleep(chunkTime + time.Second)
			ends(c)
		})
	})
	t.Run("half a head", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l, c := laneOf(t, hello)
			_, err := c.Write([]byte(evaluation(readCall, "")))
			require.NoError(t, err)
			_, err = http.ReadResponse(bufio.NewReader(c), nil)
			require.NoError(t, err)
			_, err = c.Write([]byte("POST /v1"))
			require.NoError(t, err)
			start := time.Now()
			given := <-l.lot.back
			require.Equal(t, headerTime, time.Since(start))
			require.Equal(t, "POST /v1", string(given.(*begun).head), "net/http goes on with it")
			go func() { time.Sleep(time.Hour); _, _ = c.Read(make([]byte, 1)) }()
			_, err = given.Write([]byte("x"))
			require.NoError(t, err, "in its own time")
			given.Close()
		})
	})
}

// Nobody waits for the rest of what net/http can answer as it is.
func TestLaneHoldsNobodyBack(t *testing.T) {
	for _, text := range []string{
		"GET /v1/approvals HTTP/1.1\nHost: desk\n\n", "GET /v1/approvals HTTP/1.1\r\nHost: desk\n\r\n",
		"\x16\x03\x01\x00\n", "GET /v1/approvals\r\n", "GET /healthz HTTP/1.1\r\n",
	} {
		synctest.Test(t, func(t *testing.T) {
			l, c := laneOf(t, nil)
			start := time.Now()
			_, err := c.Write([]byte(text))
			require.NoError(t, err)
			given := <-l.lot.back
			require.Zero(t, time.Since(start), text)
			require.Equal(t, text, string(given.(*begun).head))
			given.Close()
		})
	}
}

func TestLaneStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		under, go_ := make(chan struct{}), make(chan struct{})
		l, busy := laneOf(t, func(w http.ResponseWriter, _ *http.Request) {
			close(under)
			<-go_
			w.Header().Set("Content-Length", "0")
			w.WriteHeader(http.StatusOK)
		})
		here, idle := net.Pipe()
		go l.ride(here, nil)
		here, half := net.Pipe()
		go l.ride(here, nil)
		_, err := half.Write([]byte("POST /v1"))
		require.NoError(t, err)
		_, err = busy.Write([]byte(evaluation(readCall, "")))
		require.NoError(t, err)
		<-under
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), stopTime)
		defer cancel()
		stopped := make(chan struct{})
		go func() { l.stop(ctx); close(stopped) }()
		for _, c := range []net.Conn{idle, half} {
			_, err = c.Read(make([]byte, 1))
			require.ErrorIs(t, err, io.EOF)
		}
		close(go_)
		res, err := http.ReadResponse(bufio.NewReader(busy), nil)
		require.NoError(t, err)
		require.True(t, res.Close)
		<-stopped
		require.NoError(t, ctx.Err())
		here, late := net.Pipe()
		l.ride(here, nil)
		_, err = late.Read(make([]byte, 1))
		require.ErrorIs(t, err, io.EOF, "nobody comes any more")
	})
}

func TestLaneStopsWhoHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		l, c := laneOf(t, func(http.ResponseWriter, *http.Request) { <-hang })
		_, err := c.Write([]byte(evaluation(readCall, "")))
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), stopTime)
		defer cancel()
		l.stop(ctx)
		require.Error(t, ctx.Err())
		_, err = c.Read(make([]byte, 1))
		require.ErrorIs(t, err, io.EOF)
		close(hang)
	})
}

func TestLaneWhenAHandlerPanics(t *testing.T) {
	for _, p := range []any{http.ErrAbortHandler, "boom"} {
		synctest.Test(t, func(t *testing.T) {
			_, c := laneOf(t, func(http.ResponseWriter, *http.Request) { panic(p) })
			_, err := c.Write([]byte(evaluation(readCall, "")))
			require.NoError(t, err)
			_, err = c.Read(make([]byte, 1))
			require.ErrorIs(t, err, io.EOF, "that connection alone is given up")
		})
	}
	d := newDesk(t)
	rules := d.rules
	rules.Policy = stumbling{rules.Policy}
	d.gate.Use(rules)
	addr, _ := d.serving(d.srv)
	l := d.dial(addr)
	for range 2 {
		l.send(evaluation(readCall, ""))
		res, text := l.hear("POST")
		require.Equal(t, http.StatusServiceUnavailable, res.StatusCode)
		require.NotContains(t, text, "boom")
	}
}

// An answer that was begun when its handler panicked is replaced, not continued.
func TestLaneAnswersOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := laneOf(t, func(w http.ResponseWriter, _ *http.Request) {
			for i, text := range []string{"first", "2nd"} {
				w.Header().Set("Content-Length", fmt.Sprint(len(text)))
				w.Header().Set("Location", "a\r\nX-Injected: b")
				w.WriteHeader(200 + i)
				_, _ = w.Write([]byte(text))
			}
		})
		_, err := c.Write([]byte(evaluation(readCall, "")))
		require.NoError(t, err)
		in := bufio.NewReader(c)
		res, err := http.ReadResponse(in, nil)
		require.NoError(t, err)
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.Equal(t, 201, res.StatusCode)
		require.Equal(t, "2nd", string(body))
		require.Empty(t, res.Header.Get("X-Injected"))
		require.Zero(t, in.Buffered())
	})
}

// Nothing follows an answer of which nobody knows where it ends.
func TestLaneAnswersWithoutALength(t *testing.T) {
	for _, text := range []string{"", "as long as it is"} {
		synctest.Test(t, func(t *testing.T) {
			_, c := laneOf(t, func(w http.ResponseWriter, _ *http.Request) {
				if text != "" {
					_, _ = w.Write([]byte(text))
				}
			})
			go func() { _, _ = c.Write([]byte(evaluation(readCall, "") + evaluation(readCall, ""))) }()
			res, err := http.ReadResponse(bufio.NewReader(c), nil)
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, res.StatusCode)
			require.True(t, res.Close)
			body, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			require.Equal(t, text, string(body))
		})
	}
}

// failing is a listener whose Accept fails in turn.
type failing struct {
	net.Listener
	errs []error
}

// Accept implements net.Listener.
func (f *failing) Accept() (net.Conn, error) {
	err := f.errs[0]
	f.errs = f.errs[1:]
	return nil, err
}

type outOfFiles struct{ error }

// Temporary reports true.
func (outOfFiles) Temporary() bool { return true }

func TestLaneOutOfFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		short := outOfFiles{errors.New("too many open files")}
		l := &failing{errs: slices.Concat(slices.Repeat([]error{short}, 10), []error{net.ErrClosed})}
		start := time.Now()
		require.ErrorIs(t, newLane(nil, newLot(nil), slog.New(slog.DiscardHandler)).accept(l), net.ErrClosed)
		require.Equal(t, 3275*time.Millisecond, time.Since(start)) // 5 ms, doubled up to a second
	})
}

// Whoever goes while the answer takes long ends what is done for it; whoever says
// more does not, and is answered too.
func TestLaneListens(t *testing.T) {
	begin := func(t *testing.T) (c net.Conn, asked chan context.Context, free chan struct{}) {
		asked, free = make(chan context.Context), make(chan struct{})
		_, c = laneOf(t, func(w http.ResponseWriter, r *http.Request) {
			asked <- r.Context()
			select {
			case <-r.Context().Done():
			case <-free:
			}
			w.Header().Set("Content-Length", "0")
			w.WriteHeader(http.StatusOK)
		})
		go func() { _, _ = c.Write([]byte(evaluation(readCall, ""))) }()
		return c, asked, free
	}
	for _, when := range []time.Duration{0, 2 * idleTime} { // longer than any deadline
		t.Run(fmt.Sprint("gone after ", when), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, asked, _ := begin(t)
				under := <-asked
				time.Sleep(when)
				c.Close()
				<-under.Done()
			})
		})
	}
	t.Run("says more", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c, asked, free := begin(t)
			in := bufio.NewReader(c)
			more := func() { _, _ = c.Write([]byte(evaluation(readCall, ""))) }
			for i := range 4 {
				under := <-asked
				time.Sleep(time.Duration(i) * idleTime)
				if i < 2 {
					go more()
				}
				synctest.Wait()
				require.NoError(t, under.Err())
				free <- struct{}{}
				res, err := http.ReadResponse(in, nil)
				require.NoError(t, err)
				require.Equal(t, http.StatusOK, res.StatusCode)
				if i == 2 {
					go more()
				}
			}
		})
	})
}

// Whoever goes after saying more has gone as well, and what it said is answered.
func TestLaneListensOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := make(chan context.Context)
		_, c := laneOf(t, func(w http.ResponseWriter, r *http.Request) {
			asked <- r.Context()
			select {
			case <-r.Context().Done():
			case <-time.After(time.Hour):
				t.Error("nobody has noticed")
			}
			w.Header().Set("Content-Length", "0")
			w.WriteHeader(http.StatusOK)
		})
		in := bufio.NewReader(c)
		go func() {
			for _, piece := range []string{evaluation(readCall, ""), "P", evaluation(readCall, "")[1:] + "P", evaluation(readCall, "")[1:]} {
				_, _ = c.Write([]byte(piece))
			}
			_ = c.(half).CloseWrite()
		}()
		for range 3 {
			require.NoError(t, (<-asked).Err(), "it was said before")
			res, err := http.ReadResponse(in, nil)
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, res.StatusCode)
		}
		_, err := in.ReadByte()
		require.ErrorIs(t, err, io.EOF)
	})
}

// Whoever takes a connection away hears all of it.
func TestLaneListensUntilTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		taken := make(chan string)
		_, c := laneOf(t, func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(time.Second)
			conn, head, ok := take(w)
			require.True(t, ok)
			defer conn.Close()
			taken <- string(head)
			text := make([]byte, 4)
			n, err := conn.Read(text)
			require.NoError(t, err)
			taken <- string(text[:n])
		})
		for _, text := range []string{evaluation(readCall, ""), "ne"} {
			go func() { _, _ = c.Write([]byte(text)) }()
			synctest.Wait()
		}
		require.Equal(t, "ne", <-taken)
		go func() { _, _ = c.Write([]byte("xt")) }()
		require.Equal(t, "xt", <-taken)
	})
}

// hesitant is a verifier that has an opinion only when it is let go.
type hesitant struct {
	asked chan struct{}
	free  chan struct{}
}

func (hesitant) Wants(core.Call) core.Verification { return core.Verification{Asked: true} }

func (hesitant) Chats() []core.VerifierPeople { return nil }

func (h hesitant) Verify(ctx context.Context, _ core.Call, _ core.RiskClass) core.Verification {
	h.asked <- struct{}{}
	select {
	case <-ctx.Done():
	case <-h.free:
	}
	return core.Verification{Asked: true}
}

// A caller that hangs up while others are asked gets nothing, and leaves nothing.
func TestLaneGoneWhileOthersAreAsked(t *testing.T) {
	d := newDesk(t)
	rules, v := d.rules, hesitant{make(chan struct{}), make(chan struct{})}
	rules.Verifier = v
	d.gate.Use(rules)
	addr, _ := d.serving(d.srv)
	l := d.dial(addr)
	const body = `{"id":"w","toolName":"read","params":{}}`
	l.send(fmt.Sprintf("POST /v1/approvals?claim=1 HTTP/1.1\r\nHost: desk\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", secretOf("agent"), len(body), body))
	<-v.asked
	require.NoError(t, l.Close())
	time.AfterFunc(time.Minute, func() { close(v.free) }) // so that it fails, and does not hang
	const gone = `approvalbot_http_requests_total{method="POST",route="/v1/approvals",status="503"} 1`
	for !strings.Contains(d.do("GET", "/metrics", "", "").text, gone) {
		_, err := d.agent.Get(t.Context(), "w", 0)
		refusal(t, err, core.CodeNotFound)
	}
}
