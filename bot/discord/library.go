package discord

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"

	"github.com/bwmarrin/discordgo"
	"github.com/gorilla/websocket"
)

// newSession makes a session of the library that does nothing on its own: it
// neither reconnects nor logs nor keeps state, and asks nobody but us where the
// gateway is.
func (l *line) newSession(closed chan<- struct{}) *discordgo.Session {
	s, _ := discordgo.New("Bot " + l.b.cfg.Token) // never fails
	s.ShouldReconnectOnError, s.ShouldReconnectVoiceOnSessionError, s.ShouldRetryOnRateLimit = false, false, false
	s.StateEnabled, s.Compress, s.SyncEvents, s.LogLevel = false, false, true, -1
	s.Identify.Intents, s.Identify.Compress = intents, false
	s.Client = &http.Client{Transport: whereabouts{l}}
	s.Dialer = &websocket.Dialer{
		HandshakeTimeout: dialTimeout, Proxy: l.direct, NetDialContext: l.dial, NetDialTLSContext: l.dial,
	}
	s.AddHandler(func(_ *discordgo.Session, e *discordgo.Event) { l.dispatch(e) })
	s.AddHandler(func(*discordgo.Session, *discordgo.Disconnect) {
		select {
		case closed <- struct{}{}:
		default:
		}
	})
	return s
}

// dispatch takes an event. It runs in the library's reading goroutine, under its
// locks, so everything is done elsewhere.
func (l *line) dispatch(e *discordgo.Event) {
	if l.ctx.Err() != nil {
		return
	}
	raw := append([]byte(nil), e.RawData...)
	switch e.Type {
	case "READY", "RESUMED":
		l.mu.Lock()
		defer l.mu.Unlock()
		l.begun = true
		if l.ready != nil {
			close(l.ready)
			l.ready = nil
		}
	case "INTERACTION_CREATE":
		l.b.guarded(func() { l.b.onInteraction(l.work, raw) })
	case "MESSAGE_CREATE":
		l.b.guarded(func() { l.b.onMessage(l.work, raw) })
	}
}

// whereabouts answers the library's one REST call, for the gateway's address.
type whereabouts struct{ l *line }

func (w whereabouts) RoundTrip(r *http.Request) (*http.Response, error) {
	w.l.mu.Lock()
	answer, err := json.Marshal(map[string]string{"url": w.l.start.Scheme + "://" + w.l.start.Host + w.l.start.Path})
	w.l.mu.Unlock()
	body := io.NopCloser(bytes.NewReader(answer))
	return &http.Response{StatusCode: http.StatusOK, Status: "200 OK", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: body, Request: r}, err
}

// direct is called by the dialer before each connection, to name a proxy: there is
// none. It is the one place where the library's idea of address and version can be set right.
func (l *line) direct(r *http.Request) (*url.URL, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if u, err := url.Parse(l.resume); err == nil && u.Host != "" {
		r.URL.Host, r.Host, r.URL.Path = u.Host, u.Host, u.Path
	}
	r.URL.RawQuery = "v=10&encoding=json"
	return nil, nil
}

// dial opens a connection for the library, with the socket below it.
func (l *line) dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.ctx, cancel)()
	l.mu.Lock()
	secure := l.start.Scheme == "wss"
	l.mu.Unlock()
	c, err := dialer(l.b.cfg.Dial, secure)(ctx, network, address)
	if err != nil {
		return nil, err
	}
	s := newSocket(c, l.goOnAt)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.socket = s
	if l.ctx.Err() != nil {
		return nil, s.cut(ending{err: l.ctx.Err()})
	}
	return s, nil
}

func (l *line) goOnAt(url string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.resume = url
}

func (l *line) current() *socket {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.socket
}

// dialer opens connections as the address asks, with TLS where it must be.
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
