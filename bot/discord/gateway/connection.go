package gateway

import (
	"approvalbot/bot/discord/rest"
	"approvalbot/bot/textcmd"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/gorilla/websocket"
)

// newSession makes a session of the library that takes no action of its own: it
// neither reconnects nor logs nor keeps state, and gets the gateway's address
// only from this package.
func (c *connection) newSession(closed chan<- struct{}) *discordgo.Session {
	s, _ := discordgo.New("Bot " + c.cfg.Token) // never fails
	s.ShouldReconnectOnError, s.ShouldReconnectVoiceOnSessionError, s.ShouldRetryOnRateLimit = false, false, false
	s.StateEnabled, s.Compress, s.SyncEvents, s.LogLevel = false, false, true, -1
	s.Identify.Intents, s.Identify.Compress = intents, false
	s.Client = &http.Client{Transport: whereabouts{c}}
	s.Dialer = &websocket.Dialer{
		HandshakeTimeout: dialTimeout, Proxy: c.direct, NetDialContext: c.dial, NetDialTLSContext: c.dial,
	}
	s.AddHandler(func(_ *discordgo.Session, e *discordgo.Event) { c.dispatch(e) })
	s.AddHandler(func(*discordgo.Session, *discordgo.Disconnect) {
		select {
		case closed <- struct{}{}:
		default:
		}
	})
	return s
}

// dispatch takes an event. It runs in the library's reading goroutine, under its
// locks, so the work is done by other goroutines.
func (c *connection) dispatch(e *discordgo.Event) {
	if c.ctx.Err() != nil {
		return
	}
	raw := append([]byte(nil), e.RawData...)
	switch e.Type {
	case "READY", "RESUMED":
		c.mu.Lock()
		defer c.mu.Unlock()
		c.begun = true
		if c.ready != nil {
			close(c.ready)
			c.ready = nil
		}
	case "INTERACTION_CREATE":
		c.cfg.Interaction(raw)
	case "MESSAGE_CREATE":
		c.cfg.Message(raw)
	}
}

// whereabouts answers the library's one REST call, which asks for the gateway's
// address.
type whereabouts struct{ c *connection }

func (w whereabouts) RoundTrip(r *http.Request) (*http.Response, error) {
	w.c.mu.Lock()
	answer, err := json.Marshal(map[string]string{"url": w.c.start.Scheme + "://" + w.c.start.Host + w.c.start.Path})
	w.c.mu.Unlock()
	body := io.NopCloser(bytes.NewReader(answer))
	return &http.Response{StatusCode: http.StatusOK, Status: "200 OK", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: body, Request: r}, err
}

// direct is called by the dialer before each connection, to name a proxy, which is never
// used. Only here can the library's address and version be corrected.
func (c *connection) direct(r *http.Request) (*url.URL, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if u, err := url.Parse(c.resume); err == nil && u.Host != "" {
		r.URL.Host, r.Host, r.URL.Path = u.Host, u.Host, u.Path
	}
	r.URL.RawQuery = "v=10&encoding=json"
	return nil, nil
}

// dial opens a connection for the library, with the socket below it.
func (c *connection) dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	c.mu.Lock()
	secure := c.start.Scheme == "wss"
	c.mu.Unlock()
	raw, err := dialer(c.cfg.Dial, secure)(ctx, network, address)
	if err != nil {
		return nil, err
	}
	s := newSocket(raw, c.goOnAt)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.socket = s
	if c.ctx.Err() != nil {
		return nil, s.cut(ending{err: c.ctx.Err()})
	}
	return s, nil
}

func (c *connection) goOnAt(url string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.resume = url
}

func (c *connection) current() *Socket {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.socket
}

// dialer opens connections as the address asks, with TLS if it is required.
func dialer(own Dial, secure bool) Dial {
	if own == nil {
		own = (&net.Dialer{Timeout: dialTimeout}).DialContext
	}
	if !secure {
		return own
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := own(ctx, network, address)
		if err != nil {
			return nil, err
		}
		host, _, err := net.SplitHostPort(address)
		if err == nil {
			t := tls.Client(c, &tls.Config{ServerName: host})
			if err = t.HandshakeContext(ctx); err == nil {
				return t, nil
			}
		}
		return nil, errors.Join(err, c.Close())
	}
}

// intents are the events that the bot asks for beside interactions, which need
// no intent: messages, whose text it sees only if it is mentioned or written to.
// They are not privileged.
const intents = discordgo.IntentGuildMessages | discordgo.IntentDirectMessages

// Config configures a gateway connection.
type Config struct {
	Token  string
	Dial   Dial // nil means TCP, with TLS if the address is wss
	REST   *rest.Client
	Health *textcmd.Health

	// Interaction and Message get each event unchanged. They must return at once:
	// slow work is done by other goroutines.
	Interaction, Message func(raw json.RawMessage)
}

// connection is the gateway connection of a bot, one after the other.
type connection struct {
	cfg Config
	ctx context.Context // ends when the bot must stop

	session    *discordgo.Session // nil if the next connection begins a session
	closed     chan struct{}      // gets a value when the library is done with a connection
	identified time.Time

	mu     sync.Mutex
	start  *url.URL      // the address at which a session begins
	resume string        // the address at which it goes on (READY, resume_gateway_url)
	begun  bool          // the session has had its READY
	ready  chan struct{} // closed at the next READY or RESUMED
	socket *Socket
}

// begin prepares for a connection, and gives a channel that is closed once it is
// open.
func (c *connection) begin() (ready <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ready, c.socket = make(chan struct{}), nil
	return c.ready
}
