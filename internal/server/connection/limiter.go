// Package connection bounds connections on which no client has authenticated yet, and the
// time that a request may take to come in, and keeps the TLS certificate that they are
// given.
package connection

import (
	lists "container/list"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"approvalbot/internal/server/metrics"
)

const (
	AnonymousTime = 40 * time.Second // how long a connection may be open without an authenticated request
	AnonymousLast = 20 * time.Second // from when on its next answer is its last one
	// MaxPerAddress is how many anonymous connections of one address there may be, those
	// that are younger than BurstTime apart.
	MaxPerAddress   = 64
	BurstTime       = 5 * time.Second // in which a request comes that is sent at once, however many do
	maxAnonymous    = 4096            // of all addresses, and never more than a quarter of the file descriptors
	usualFiles      = 1024            // file descriptors, if the system does not tell
	connectionsWarn = time.Minute     // how often the same trouble is logged at most
)

// Limiter accepts connections, and bounds those that are anonymous: on which no
// authenticated request has come in whole yet. Each ends after anonymousTime. An
// address may have maxPerAddress of them, with an IPv6 address counted as its /64;
// one more ends its oldest. So a new client is served, and the one that was silent
// longest is cut off. Behind a proxy all of them are the proxy's.
type Limiter struct {
	net.Listener
	log     *slog.Logger
	metrics *metrics.Set
	limit   int // anonymous connections of all addresses

	mu     sync.Mutex
	oldest *lists.List                  // of *conn: the anonymous ones, oldest first
	byAddr map[netip.Prefix]*lists.List // the same of each address
	warned map[string]time.Time         // when a trouble was logged last
}

// conn is a connection that a Limiter has accepted.
type conn struct {
	net.Conn
	from     *Limiter
	addr     netip.Prefix
	since    time.Time
	late     *time.Timer
	all, own *lists.Element // its places in oldest and byAddr; nil if it is not anonymous, or closed
}

// NewLimiter makes a listener that bounds what l accepts.
func NewLimiter(l net.Listener, counts *metrics.Set, log *slog.Logger) *Limiter {
	return &Limiter{
		Listener: l, metrics: counts, log: log, limit: min(maxAnonymous, fileLimit()/4),
		oldest: lists.New(), byAddr: map[netip.Prefix]*lists.List{}, warned: map[string]time.Time{},
	}
}

// Accept implements net.Listener.
func (l *Limiter) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		l.failed(err)
		return nil, err
	}
	in := &conn{Conn: c, from: l, addr: addressOf(c), since: time.Now()}
	in.late = time.AfterFunc(AnonymousTime, func() { l.end(in, "late") })
	l.enter(in)
	return in, nil
}

// failed counts and logs that a connection could not be accepted. If the file
// descriptors have run out, the oldest anonymous connection gives its own back;
// net/http tries again in a moment.
func (l *Limiter) failed(err error) {
	if errors.Is(err, net.ErrClosed) {
		return
	}
	l.metrics.AcceptFailed()
	why := "could not accept connections; trying again"
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		why = "could not accept connections, because the desk has no file descriptors left; raise the limit " +
			"(LimitNOFILE= of systemd, ulimit -n)"
		l.mu.Lock()
		first := l.oldest.Front()
		l.mu.Unlock()
		if first != nil {
			l.end(first.Value.(*conn), "files")
		}
	}
	if l.warns(why) {
		l.log.Error(why, "reason", err)
	}
}

// warns reports whether a trouble is to be logged now.
func (l *Limiter) warns(what string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if last, before := l.warned[what]; before && now.Sub(last) < connectionsWarn {
		return false
	}
	l.warned[what] = now
	return true
}

// enter counts one more anonymous connection, and ends the one that is too many.
func (l *Limiter) enter(c *conn) {
	l.mu.Lock()
	own := l.byAddr[c.addr]
	if own == nil {
		own = lists.New()
		l.byAddr[c.addr] = own
	}
	c.all, c.own = l.oldest.PushBack(c), own.PushBack(c)
	victim, reason := l.tooMany(own)
	l.mu.Unlock()
	if victim == nil {
		return
	}
	l.end(victim, reason)
	if l.warns(reason) {
		l.log.Warn("too many connections without an authenticated request; the oldest are closed",
			"address", victim.addr.String(), "limit", reason)
	}
}

// tooMany finds the connection that must be closed because one more of an address
// has come; nil if all may stay.
func (l *Limiter) tooMany(own *lists.List) (victim *conn, reason string) {
	first := own.Front().Value.(*conn)
	if own.Len() > MaxPerAddress && time.Since(first.since) > BurstTime {
		return first, "address"
	}
	if l.oldest.Len() <= l.limit {
		return nil, ""
	}
	for _, other := range l.byAddr { // an address with few connections keeps them
		if other.Len() > own.Len() {
			own = other
		}
	}
	return own.Front().Value.(*conn), "total"
}

// end closes a connection that is still anonymous.
func (l *Limiter) end(c *conn, reason string) {
	if l.leave(c) {
		l.metrics.AnonymousClosed(reason)
		_ = c.Conn.Close()
	}
}

// leave takes a connection off the anonymous ones, and reports whether it was one.
func (l *Limiter) leave(c *conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.all == nil {
		return false
	}
	l.oldest.Remove(c.all)
	own := l.byAddr[c.addr]
	if own.Remove(c.own); own.Len() == 0 {
		delete(l.byAddr, c.addr)
	}
	c.all, c.own = nil, nil
	c.late.Stop()
	return true
}

// lastAnswer reports whether the next answer to an anonymous connection is its last.
func (c *conn) lastAnswer() bool {
	c.from.mu.Lock()
	defer c.from.mu.Unlock()
	return c.all != nil && time.Since(c.since) > AnonymousLast
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.from.leave(c)
	return c.Conn.Close()
}

// CloseWrite is called by net/http before it closes a connection to a client
// that still sends.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// addressOf is the address whose connections are counted together; all that
// have no IP address count as one.
func addressOf(c net.Conn) netip.Prefix {
	at, err := netip.ParseAddrPort(c.RemoteAddr().String())
	if err != nil {
		return netip.Prefix{}
	}
	ip, bits := at.Addr().Unmap().WithZone(""), 64
	if ip.Is4() {
		bits = 32
	}
	prefix, _ := ip.Prefix(bits)
	return prefix
}

type connKey struct{}

// WithContext has requests know their connection. It is made for http.Server.ConnContext.
func WithContext(ctx context.Context, c net.Conn) context.Context {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	if e, ok := c.(*either); ok {
		c = e.conn
	}
	if own, ok := c.(*conn); ok {
		return context.WithValue(ctx, connKey{}, own)
	}
	return ctx
}

// connOf is a request's connection; nil if it did not come by [Server.Serve].
func connOf(r *http.Request) *conn { return connIn(r.Context()) }

func connIn(ctx context.Context) *conn {
	c, _ := ctx.Value(connKey{}).(*conn)
	return c
}

// StillThere reports whether the client still waits for the answer to the request
// with that context. A client that has gone must not claim a call, since the
// answer would be lost. net/http ends the context of a client that it sees go. It
// does not look behind a further request that came in meanwhile.
func StillThere(ctx context.Context) bool {
	c := connIn(ctx)
	return ctx.Err() == nil && (c == nil || !HungUp(c.Conn))
}
