package mcp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// stopTime is how long a server's process may take to end by itself.
const stopTime = 2 * time.Second

// Command starts an MCP server that speaks on its standard streams.
func Command(ctx context.Context, cmd *exec.Cmd) (mcp.Connection, error) {
	return (&mcp.CommandTransport{Command: cmd, TerminateDuration: stopTime}).Connect(ctx)
}

// Remote is an MCP server that speaks streamable HTTP.
type Remote struct {
	URL    *url.URL    // may hold a secret, and is in no error
	Header http.Header // of every request

	version atomic.Value // string: of the protocol, as it was negotiated
}

// Connect makes the connection. Nothing is sent yet.
func (r *Remote) Connect(ctx context.Context) (mcp.Connection, error) {
	shown := url.URL{Scheme: r.URL.Scheme, Host: r.URL.Host} // what errors say
	client := &http.Client{Transport: dressed{r, outward()}}
	t := &mcp.StreamableClientTransport{Endpoint: shown.String(), HTTPClient: client, DisableStandaloneSSE: true}
	c, err := t.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return remoteConn{c}, nil
}

// remoteConn is a connection over HTTP: each message is a request of its own.
type remoteConn struct{ mcp.Connection }

func (remoteConn) writesSideBySide() {}

// maxRemoteBody is the size in bytes of an answer, or of an event of a stream.
const maxRemoteBody = 16 << 20

// bounded is a body that fails when it is too large.
type bounded struct {
	io.ReadCloser
	stream bool
	read   int
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.read += n
	if end := bytes.LastIndex(p[:n], []byte("\n\n")); b.stream && end >= 0 {
		b.read = n - end
	}
	if b.read > maxRemoteBody {
		return 0, errors.New("the MCP server's answer is larger than 16 MiB")
	}
	return n, err
}

// outward goes by the environment's proxy only where that cannot read what it carries: a
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

// Negotiated says which version of the protocol is spoken from now on.
func (r *Remote) Negotiated(version string) { r.version.Store(version) }

// dressed adds what every request has.
type dressed struct {
	remote *Remote
	base   http.RoundTripper
}

// RoundTrip implements http.RoundTripper. It follows no redirect: what is sent is for
// the server that was named.
func (d dressed) RoundTrip(r *http.Request) (*http.Response, error) {
	const versionHeader = "Mcp-Protocol-Version"
	r = r.Clone(r.Context())
	r.URL = d.remote.URL
	if user := r.URL.User; user != nil {
		password, _ := user.Password()
		r.SetBasicAuth(user.Username(), password)
	}
	for name, values := range d.remote.Header {
		r.Header[name] = values
	}
	if version, _ := d.remote.version.Load().(string); version != "" && r.Header.Get(versionHeader) == "" {
		r.Header.Set(versionHeader, version)
	}
	res, err := d.base.RoundTrip(r)
	if err == nil && res.StatusCode/100 == 3 {
		_ = res.Body.Close() // nobody reads it
		return nil, errors.New("it redirects elsewhere; give the address that it redirects to")
	}
	if err == nil && res.StatusCode/100 == 4 && notifies(r) {
		_ = res.Body.Close()
		res.StatusCode, res.Body = http.StatusAccepted, http.NoBody // it refuses that one message alone
	}
	if err == nil {
		stream := strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream")
		res.Body = &bounded{ReadCloser: res.Body, stream: stream}
	}
	return res, err
}

// notifies reports whether a request carries a notification, which nothing waits for.
func notifies(r *http.Request) bool {
	if r.GetBody == nil {
		return false
	}
	body, err := r.GetBody()
	if err != nil {
		return false
	}
	var in struct {
		ID     jsontext.Value `json:"id"`
		Method string         `json:"method"`
		Other  members        `json:",embed"`
	}
	return json.UnmarshalRead(body, &in) == nil && len(in.ID) == 0 && in.Method != ""
}
