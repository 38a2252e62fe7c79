package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// stopTime is how long a server's process may take to end by itself.
const stopTime = 2 * time.Second

// Command starts an MCP server that speaks on its standard streams.
func Command(cmd *exec.Cmd) (mcp.Connection, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return Lines(io.NopCloser(out), process{in, cmd}), nil
}

// process is the input of a server's process.
type process struct {
	io.WriteCloser
	cmd *exec.Cmd
}

// Close ends the process: it closes its input, then asks it to end, then kills it.
func (p process) Close() error {
	_ = p.WriteCloser.Close() // it may have gone
	ended := make(chan error, 1)
	go func() { ended <- p.cmd.Wait() }()
	for _, then := range []os.Signal{syscall.SIGTERM, os.Kill} {
		t := time.NewTimer(stopTime)
		select {
		case err := <-ended:
			t.Stop()
			return err
		case <-t.C:
			_ = p.cmd.Process.Signal(then) // it may have gone
		}
	}
	return <-ended
}

// Remote is an MCP server that speaks streamable HTTP.
type Remote struct {
	URL    *url.URL    // may contain a secret, so errors do not show it
	Header http.Header // of every request

	version atomic.Value                                     // string: of the protocol, as it was negotiated
	pause   func(ctx context.Context, d time.Duration) error // nil means a real wait
}

// Connect makes the connection. It does not send yet.
func (r *Remote) Connect(ctx context.Context) mcp.Connection {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	return &remoteConn{Remote: r, to: outward(), in: make(chan frame), ctx: ctx, cancel: cancel}
}

// Negotiated sets the version of the protocol that is spoken from now on.
func (r *Remote) Negotiated(version string) { r.version.Store(version) }

// outward uses the environment's proxy only for https, which the proxy cannot read: a
// repository's settings may have set it.
func outward() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Proxy = func(r *http.Request) (*url.URL, error) {
		if r.URL.Scheme != "https" {
			return nil, nil
		}
		return http.ProxyFromEnvironment(r)
	}
	return t
}

// remoteConn is a connection over HTTP: each message is a request of its own, and Write returns once
// its answer has come.
type remoteConn struct {
	*Remote
	to      http.RoundTripper // follows no redirect: requests are meant for the named server only
	in      chan frame
	ctx     context.Context // of all of it
	cancel  context.CancelFunc
	session atomic.Value // string
	once    sync.Once

	mu    sync.Mutex
	hears context.CancelFunc // ends hear for the session before; nil if there was no session
}

func (*remoteConn) writesSideBySide() {}

// Read implements mcp.Connection.
func (c *remoteConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case f := <-c.in:
		return f.msg, f.err
	case <-c.ctx.Done():
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// SessionID implements mcp.Connection.
func (c *remoteConn) SessionID() string {
	id, _ := c.session.Load().(string)
	return id
}

// Close implements mcp.Connection.
func (c *remoteConn) Close() (err error) {
	c.once.Do(func() {
		defer c.cancel()
		if c.SessionID() == "" {
			return
		}
		ctx, cancel := context.WithTimeout(c.ctx, stopTime)
		defer cancel()
		var res *http.Response
		if res, err = c.do(ctx, http.MethodDelete, nil, http.Header{}); err == nil {
			err = res.Body.Close()
		}
	})
	return err
}

// Names of headers.
const (
	versionHeader = "Mcp-Protocol-Version"
	sessionHeader = "Mcp-Session-Id"
	paramHeader   = "Mcp-Param-"

	mirrorsFrom = "2026-07-28" // the first version that has a request's words in headers too
)

// do sends one request over HTTP.
func (c *remoteConn) do(ctx context.Context, method string, body []byte, header http.Header) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, "/", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.URL, r.Header = c.URL, header
	if version, _ := c.version.Load().(string); version != "" && header.Get(versionHeader) == "" {
		header.Set(versionHeader, version)
	}
	if id := c.SessionID(); id != "" {
		header.Set(sessionHeader, id)
	}
	if user := c.URL.User; user != nil {
		password, _ := user.Password()
		r.SetBasicAuth(user.Username(), password)
	}
	for name, values := range c.Header {
		header[name] = values
	}
	res, err := c.to.RoundTrip(r)
	if err == nil && res.StatusCode/100 == 3 {
		_ = res.Body.Close() // it is not read
		return nil, errors.New("it redirects to another address; give that address instead")
	}
	return res, err
}

// Write implements mcp.Connection.
func (c *remoteConn) Write(ctx context.Context, m jsonrpc.Message) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	body, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	header := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	request, _ := m.(*jsonrpc.Request)
	if request != nil {
		mirror(request, header)
		if request.Method == initialize {
			c.session.Store("")
		}
	}
	res, err := c.do(ctx, http.MethodPost, body, header)
	if err != nil {
		return err
	}
	switch {
	case request != nil && request.IsCall():
		if request.Method == initialize {
			c.session.Store(res.Header.Get(sessionHeader))
		}
		return c.answer(ctx, request.ID, res)
	case res.StatusCode/100 == 2, res.StatusCode/100 == 4 && request != nil: // it refuses only that notification
		if request != nil && request.Method == initialized {
			c.listen()
		}
		return res.Body.Close()
	}
	return errors.Join(refusedWith(res, ""), res.Body.Close())
}

// listen opens the stream on which the server sends messages that belong to no request, such as a
// question for the client's roots. From version mirrorsFrom on there is no such stream.
func (c *remoteConn) listen() {
	if version, _ := c.version.Load().(string); version >= mirrorsFrom {
		return
	}
	ctx, cancel := context.WithCancel(c.ctx)
	c.mu.Lock()
	before := c.hears
	c.hears = cancel
	c.mu.Unlock()
	if before != nil {
		before()
	}
	go c.hear(ctx)
}

// hear passes on the messages of that stream until ctx ends, or the server says that it has no
// such stream. If the stream ends, hear opens it again.
func (c *remoteConn) hear(ctx context.Context) {
	at := place{}
	for ended := 0; ; ended++ {
		header := http.Header{"Accept": {"text/event-stream"}}
		if at.last != "" {
			header.Set("Last-Event-Id", at.last)
		}
		res, err := c.do(ctx, http.MethodGet, nil, header)
		if err == nil {
			kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
			has := res.StatusCode/100 == 2 && kind == "text/event-stream"
			if has {
				_, _ = c.events(ctx, jsonrpc.ID{}, res.Body, &at) // an unreadable message ends the stream
			}
			_ = res.Body.Close() // it was read, or is useless
			if !has && res.StatusCode < 500 {
				return
			}
		}
		grown := min(float64(lastPause), float64(firstPause)*math.Pow(1.5, float64(ended)))
		if ended > maxResumptions || c.waits(ctx, max(time.Duration(grown), at.retry)) != nil {
			return
		}
	}
}

// refusedWith words the status of a server's answer, without the server's text.
func refusedWith(res *http.Response, more string) error {
	return fmt.Errorf("it answers %d %s%s", res.StatusCode, http.StatusText(res.StatusCode), more)
}

// mirror sets the headers that repeat parts of a request for those that route it. Each is taken
// from the request's content; those of a tool's arguments are in Extra.
func mirror(m *jsonrpc.Request, header http.Header) {
	var in struct {
		Name string  `json:"name"`
		URI  string  `json:"uri"`
		Task string  `json:"taskId"`
		Meta members `json:"_meta"`
	}
	_ = strict(m.Params, &in) // what it does not say is in no header
	var version string
	if strict(in.Meta[protocolVersion], &version) != nil {
		return
	}
	header.Set(versionHeader, version)
	if version < mirrorsFrom {
		return
	}
	header.Set("Mcp-Method", m.Method)
	switch {
	case m.Method == callTool, m.Method == "prompts/get":
		header.Set("Mcp-Name", headerText(in.Name))
	case m.Method == "resources/read":
		header.Set("Mcp-Name", headerText(in.URI))
	case isOfTask(m.Method):
		header.Set("Mcp-Name", headerText(in.Task))
	}
	arguments, _ := m.Extra.(http.Header)
	for name, values := range arguments {
		header[name] = values
	}
}

// headerText is a text as the value of a header.
func headerText(s string) string {
	const begin, end = "=?base64?", "?="
	plain := s != "" && strings.Trim(s, " \t") == s && !(strings.HasPrefix(s, begin) && strings.HasSuffix(s, end))
	for _, b := range []byte(s) {
		plain = plain && b >= ' ' && b <= '~'
	}
	if plain {
		return s
	}
	return begin + base64.StdEncoding.EncodeToString([]byte(s)) + end
}

const maxHeaderLevels = 8

var headerName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$")
})

// argumentHeaders adds the arguments of a call that the tool's schema wants in headers
// (x-mcp-header), down to so many levels.
func argumentHeaders(schema, arguments jsontext.Value, levels int, out http.Header) {
	var in struct {
		Properties members `json:"properties"`
	}
	var given members
	if levels == 0 || strict(schema, &in) != nil || strict(arguments, &given) != nil {
		return
	}
	for name, property := range in.Properties {
		var to struct {
			Header string `json:"x-mcp-header"`
		}
		v, text := given[name], ""
		number, err := strconv.ParseInt(string(v), 10, 64)
		switch {
		case v.Kind() == '{':
			argumentHeaders(property, v, levels-1, out)
			continue
		case v.Kind() == '"' && strict(v, &text) == nil:
		case v.Kind() == 't', v.Kind() == 'f', err == nil && -roundedFrom < number && number < roundedFrom:
			text = string(v)
		default:
			continue
		}
		if strict(property, &to) == nil && headerName().MatchString(to.Header) {
			out.Set(paramHeader+to.Header, headerText(text))
		}
	}
}

// Pauses before an answer's stream is taken up again.
const (
	maxResumptions = 1000 // of one answer
	firstPause     = time.Second
	lastPause      = 30 * time.Second
	maxServerPause = 5 * time.Minute // that the server may ask for
)

// answer passes on messages until the answer to a request has come. If the stream ends before it,
// it is resumed, if the server has named the place.
func (c *remoteConn) answer(ctx context.Context, id jsonrpc.ID, res *http.Response) error {
	at := place{}
	for resumed := 0; ; {
		kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
		if kind != "text/event-stream" || res.StatusCode/100 != 2 {
			return errors.Join(c.whole(ctx, id, res), res.Body.Close())
		}
		came, err := c.events(ctx, id, res.Body, &at)
		_ = res.Body.Close() // messages after the answer are not read
		switch {
		case came, err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case at.last == "":
			return errors.New("its stream ended before the answer")
		}
		for res = nil; res == nil; {
			if resumed++; resumed > maxResumptions {
				return fmt.Errorf("its stream ended %d times before the answer", resumed)
			}
			grown := min(float64(lastPause), float64(firstPause)*math.Pow(1.5, float64(resumed-1)))
			if err := c.waits(ctx, max(time.Duration(grown), at.retry)); err != nil {
				return err
			}
			header := http.Header{"Accept": {"text/event-stream"}, "Last-Event-Id": {at.last}}
			if res, err = c.do(ctx, http.MethodGet, nil, header); err == nil && res.StatusCode >= 500 {
				_ = res.Body.Close() // it is asked again
				res = nil
			}
		}
	}
}

// waits lets so much time pass.
func (c *remoteConn) waits(ctx context.Context, d time.Duration) error {
	if c.pause != nil {
		return c.pause(ctx, d)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// whole passes on an answer that is no stream.
func (c *remoteConn) whole(ctx context.Context, id jsonrpc.ID, res *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(res.Body, maxFrame+1))
	switch {
	case err != nil:
		return err
	case len(text) > maxFrame:
		return errTooLong
	case res.StatusCode/100 != 2:
		var in struct {
			Error *jsonrpc.Error `json:"error"`
		}
		if json.Unmarshal(text, &in, asWritten()) == nil && in.Error != nil {
			return c.deliver(ctx, frame{msg: &jsonrpc.Response{ID: id, Error: in.Error}})
		}
		if res.StatusCode == http.StatusNotFound && c.SessionID() != "" {
			_ = c.deliver(ctx, frame{err: errors.New("the MCP server has ended the session")})
		}
		return refusedWith(res, "")
	}
	came := false
	if len(bytes.TrimSpace(text)) > 0 {
		came, err = c.carry(ctx, id, text)
	}
	if err == nil && !came {
		err = refusedWith(res, " without the answer")
	}
	return err
}

// carry passes on one text, and reports whether the answer was in it.
func (c *remoteConn) carry(ctx context.Context, id jsonrpc.ID, text []byte) (came bool, err error) {
	for _, f := range framesOf(text) {
		if err := c.deliver(ctx, f); err != nil {
			return false, err
		}
		answer, is := f.msg.(*jsonrpc.Response)
		came = came || is && answer.ID == id
	}
	return came, nil
}

func (c *remoteConn) deliver(ctx context.Context, f frame) error {
	select {
	case c.in <- f:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// place is the point at which a stream ended.
type place struct {
	last  string // id of its last event
	retry time.Duration
}

// events passes on the messages of a stream until the answer, or until the stream ends.
func (c *remoteConn) events(ctx context.Context, id jsonrpc.ID, stream io.Reader, at *place) (came bool, err error) {
	r, data, kind := bufio.NewReader(stream), []byte(nil), ""
	for {
		line, err := readLine(r)
		if errors.As(err, new(unreadable)) || len(data)+len(line) > maxFrame {
			return false, errTooLong
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return false, nil // it may be resumed
		}
		name, value, _ := strings.Cut(string(line), ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "id":
			at.last = value
		case "event":
			kind = value
		case "retry":
			if ms, err := strconv.ParseUint(value, 10, 31); err == nil {
				at.retry = min(time.Duration(ms)*time.Millisecond, maxServerPause)
			}
		case "data":
			data = append(append(data, value...), '\n')
		}
		if len(line) > 0 {
			continue
		}
		ended := err != nil
		if len(bytes.TrimSpace(data)) > 0 && (kind == "" || kind == "message") {
			if came, err := c.carry(ctx, id, data); came || err != nil {
				return came, err
			}
		}
		if data, kind = nil, ""; ended {
			return false, nil
		}
	}
}
