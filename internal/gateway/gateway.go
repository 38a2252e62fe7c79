package gateway

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/server"
	"approvalbot/internal/server/connection"
	"approvalbot/internal/server/events"
)

const (
	maxConnections = 10_000
	maxPayload     = 256<<10 + 16<<10 // bytes of a frame: the body limit of the HTTP API, and what is around it
	maxGreeting    = 64 << 10         // bytes of a frame before the token is known
	maxInFlight    = 64               // requests of one connection that wait for their answers
	maxQueued      = 64               // frames that wait for one client to read
)

// pace is how long a connection may take for what. Tests make it shorter.
type pace struct {
	connect  time.Duration // to identify the connection
	tick     time.Duration // between two ticks
	ping     time.Duration // between two pings
	pong     time.Duration // to answer one
	patience time.Duration // to make room for one more frame
	goodbye  time.Duration // to read what is queued and the reason, when it is closed
	stop     time.Duration // the same for all of them, when the desk stops
}

var usualPace = pace{connect: 10 * time.Second, tick: 30 * time.Second, ping: 30 * time.Second, pong: 25 * time.Second,
	patience: 10 * time.Second, goodbye: 2 * time.Second, stop: 700 * time.Millisecond}

// Config is what a Gateway is made of.
type Config struct {
	Server  *server.Server // knows the tokens, and how approvals look to programs
	Gate    *core.Gate
	Feed    *events.Feed
	Log     *slog.Logger // nil: silent
	Version string

	// Policy gives the effective policy, for operators. Nil: the method is refused.
	Policy func(context.Context) (api.Policy, error)
	// AgentShield reports whether the agentshield.approval.* methods are open now.
	// Nil: never.
	AgentShield func() bool
}

// Gateway serves WebSocket connections. Safe for concurrent use.
type Gateway struct {
	cfg     Config
	log     *slog.Logger
	pace    pace
	queue   int // frames that wait for one client
	started time.Time
	open    atomic.Int64
	recent  memo

	mu      sync.Mutex // guards the Add of running against its Wait
	stopped bool
	running sync.WaitGroup
	life    context.Context // done: every connection says goodbye
	stop    context.CancelCauseFunc
	dead    context.Context // done: connections that have not said goodbye are cut
	kill    context.CancelFunc
}

// New makes a Gateway. It is an http.Handler for the path of the upgrade.
func New(cfg Config) *Gateway {
	g := &Gateway{cfg: cfg, pace: usualPace, queue: maxQueued, started: time.Now()}
	g.log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	g.life, g.stop = context.WithCancelCause(context.Background())
	g.dead, g.kill = context.WithCancel(context.Background())
	return g
}

// Run keeps the gateway until ctx ends, then closes every connection with a
// reason and returns nil, within a second. Pending approvals stay pending; their
// clients connect again.
func (g *Gateway) Run(ctx context.Context) error {
	<-ctx.Done()
	g.mu.Lock()
	g.stopped = true
	g.mu.Unlock()
	g.stop(&ending{websocket.StatusServiceRestart, "the approval desk is stopping; connect again"})
	cut := time.AfterFunc(g.pace.stop, g.kill)
	g.running.Wait()
	cut.Stop()
	return nil
}

// enter counts one more connection, unless the gateway is stopping or full.
func (g *Gateway) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stopped || g.open.Load() >= maxConnections {
		return false
	}
	g.open.Add(1)
	g.running.Add(1)
	return true
}

func (g *Gateway) leave() {
	g.open.Add(-1)
	g.running.Done()
}

// ServeHTTP upgrades one request and serves the connection until it ends. Pages
// of other origins are refused: a browser does not send a token by itself, but
// no other page has a reason to try.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !g.enter() {
		g.cfg.Server.Refuse(w, r, approval.Refuse(approval.CodeUnavailable,
			"The approval desk accepts no more connections right now."))
		return
	}
	defer g.leave()
	raw := &hijacked{ResponseWriter: w}
	ws, err := websocket.Accept(raw, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		g.log.Debug("a gateway connection was refused", "reason", err)
		refusal := error(server.ErrUpgrade)
		if raw.refused == http.StatusForbidden {
			refusal = approval.Refuse(approval.CodeForbidden, "Pages of other origins may not connect to the gateway.")
		}
		g.cfg.Server.Refuse(w, r, refusal)
		return
	}
	c := newConn(g, ws, raw.conn)
	c.admitted = func() { connection.Authenticated(w, r) }
	c.run()
}

// hijacked keeps the network connection below a WebSocket, to cut it when its
// client does not read a goodbye. A refusal is kept too, to be answered as all others.
type hijacked struct {
	http.ResponseWriter
	conn    net.Conn
	refused int // status
}

// WriteHeader implements http.ResponseWriter.
func (h *hijacked) WriteHeader(status int) {
	if h.refused = status; status < http.StatusBadRequest {
		h.ResponseWriter.WriteHeader(status)
	}
}

// Write implements http.ResponseWriter: a refusal's own words are dropped.
func (h *hijacked) Write(b []byte) (int, error) { return len(b), nil }

// Hijack gives the connection away and remembers it.
func (h *hijacked) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	j, ok := h.ResponseWriter.(http.Hijacker)
	if !ok {
		return nil, nil, errors.New("this connection cannot become a WebSocket")
	}
	conn, rw, err := j.Hijack()
	h.conn = conn
	return conn, rw, err
}
