package mcp

import (
	"context"
	"errors"
	"net/http"
	"os/exec"
	"sync/atomic"
	"time"

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
	URL    string
	Header http.Header // of every request
	HTTP   *http.Client

	version atomic.Value // string: of the protocol, as it was negotiated
}

// Connect makes the connection. Nothing is sent yet.
func (r *Remote) Connect(ctx context.Context) (mcp.Connection, error) {
	base := http.DefaultTransport
	if r.HTTP != nil && r.HTTP.Transport != nil {
		base = r.HTTP.Transport
	}
	// The headers are for the server that was named, so no redirect is followed.
	client := &http.Client{Transport: dressed{r, base}, CheckRedirect: func(*http.Request, []*http.Request) error {
		return errors.New("it redirects elsewhere; give the address that it redirects to")
	}}
	return (&mcp.StreamableClientTransport{Endpoint: r.URL, HTTPClient: client, DisableStandaloneSSE: true}).Connect(ctx)
}

// Negotiated says which version of the protocol is spoken from now on.
func (r *Remote) Negotiated(version string) { r.version.Store(version) }

// dressed adds what every request has.
type dressed struct {
	remote *Remote
	base   http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (d dressed) RoundTrip(r *http.Request) (*http.Response, error) {
	const versionHeader = "Mcp-Protocol-Version"
	r = r.Clone(r.Context())
	for name, values := range d.remote.Header {
		r.Header[name] = values
	}
	if version, _ := d.remote.version.Load().(string); version != "" && r.Header.Get(versionHeader) == "" {
		r.Header.Set(versionHeader, version)
	}
	return d.base.RoundTrip(r)
}
