package mcp

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxHTTPBody is the size of a message in bytes. It is far beyond what a desk takes
// for a call: padding must end in a deny, not in an error that a runtime takes for a
// yes.
const maxHTTPBody = 32 << 20

// maxStrangersBody is the same of a request whose token the desk does not know.
const maxStrangersBody = 1 << 20

// Door is what an HTTP endpoint needs of its desk.
type Door struct {
	Knows  func(*http.Request) bool                        // whether it names a token of the desk
	Server func(http.ResponseWriter, *http.Request) Server // of one request, which has come in whole
}

// Handler serves the tools over streamable HTTP. A token that the desk does not know is
// refused by the tools, in an answer that the runtime takes for a deny. There are no
// sessions, so any instance can serve any request, and a restart loses no session.
func Handler(door Door) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		limit := int64(maxStrangersBody)
		if door.Knows(r) {
			limit = maxHTTPBody
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
		if err != nil {
			http.Error(w, "The message is incomplete or too large.", http.StatusRequestEntityTooLarge)
			return
		}
		alive := &keptAlive{ResponseWriter: w}
		defer alive.end()
		s := door.Server(w, r)
		s.gone, s.beat = r.Context().Done(), alive.beat
		built := s.server()
		in := r.Clone(r.Context())
		in.Body = io.NopCloser(bytes.NewReader(body))
		mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return built }, &mcp.StreamableHTTPOptions{
			Stateless: true, MaxRequestBodyBytes: maxHTTPBody, PropagateRequestCancellation: true,
			DisableLocalhostProtection: true, // a bearer token protects, and a proxy's Host is its own
		}).ServeHTTP(alive, in)
	})
}

// keptAlive is a response that says now and then that it is still to come: clients
// and proxies give up a connection that is silent for some minutes.
type keptAlive struct {
	http.ResponseWriter
	mu    sync.Mutex
	ended bool // writing is refused
}

// Unwrap is for http.ResponseController.
func (k *keptAlive) Unwrap() http.ResponseWriter { return k.ResponseWriter }

// Write implements http.ResponseWriter.
func (k *keptAlive) Write(b []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ended {
		return 0, http.ErrHandlerTimeout
	}
	return k.ResponseWriter.Write(b)
}

// end refuses all further writes, since the handler returns.
func (k *keptAlive) end() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ended = true
}

// Flush implements http.Flusher.
func (k *keptAlive) Flush() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.ended {
		_ = http.NewResponseController(k.ResponseWriter).Flush()
	}
}

// beat sends a comment, which clients skip, in an answer of events.
func (k *keptAlive) beat() {
	if !strings.HasPrefix(k.Header().Get("Content-Type"), "text/event-stream") {
		return
	}
	_, _ = k.Write([]byte(": waiting\n\n"))
	k.Flush()
}
