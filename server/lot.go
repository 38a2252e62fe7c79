package server

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// lot is where requests of HTTP/1 wait. For a handler that waits, buffers are
// kept, with net/http of 10 KB, and the stack that grew with all it did before. So
// the handler takes its connection away and ends; what is left are the connection
// and two goroutines with hardly a stack, which let the lot's few workers do what
// needs one. With the first byte of its next request the connection goes to the
// lane. What the lane does not know goes on to net/http, for which a lot is the
// net.Listener.
type lot struct {
	lane    *lane
	addr    net.Addr
	back    chan net.Conn
	closed  chan struct{}
	closing sync.Once
	parked  sync.WaitGroup

	errands chan func()
	hire    chan struct{} // one for each worker that there may still be
	empty   chan struct{} // closed when the last one has left
}

// workers is how many parked requests read, claim and write at once.
const workers = 32

func newLot(addr net.Addr) *lot {
	l := &lot{addr: addr, back: make(chan net.Conn), closed: make(chan struct{}),
		errands: make(chan func()), hire: make(chan struct{}, workers), empty: make(chan struct{})}
	for range workers {
		l.hire <- struct{}{}
	}
	return l
}

// Accept implements net.Listener.
func (l *lot) Accept() (net.Conn, error) {
	select {
	case c := <-l.back:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Addr implements net.Listener.
func (l *lot) Addr() net.Addr { return l.addr }

// give gives a connection to net/http, as if it were new.
func (l *lot) give(c net.Conn) {
	select {
	case l.back <- c:
	case <-l.closed:
		c.Close()
	}
}

// Close implements net.Listener. Connections that wait for their next request
// are closed.
func (l *lot) Close() error {
	l.closing.Do(func() { close(l.closed) })
	return nil
}

// leave waits until nobody is in the lot or ctx is done. Nobody may come any more.
func (l *lot) leave(ctx context.Context) {
	go func() { l.parked.Wait(); close(l.empty) }()
	select {
	case <-l.empty:
	case <-ctx.Done():
	}
}

// run has a worker do something, and waits for it.
func (l *lot) run(do func()) {
	done := make(chan struct{})
	errand := func() { defer close(done); do() }
	select {
	case l.errands <- errand: // somebody is idle
	default:
		select {
		case l.errands <- errand:
		case <-l.hire:
			go l.work(errand)
		}
	}
	<-done
}

func (l *lot) work(errand func()) {
	for {
		errand()
		select {
		case errand = <-l.errands:
		case <-l.empty:
			return
		}
	}
}

// lotKey finds the lot in a request's context.
type lotKey struct{}

// park takes a request's connection into the lot to wait there, where that can be.
func (t *turn) park(w http.ResponseWriter, r *http.Request, p *pause) bool {
	l, _ := r.Context().Value(lotKey{}).(*lot)
	unread := t.route.in == nil && r.ContentLength != 0
	if l == nil || r.ProtoMajor != 1 || unread || t.server.closing.Err() != nil {
		return false
	}
	l.parked.Add(1) // before anybody forgets the connection, so that whoever stops waits for one of the two
	conn, head, ok := take(w)
	if !ok {
		l.parked.Done()
		return false
	}
	head = bytes.Clone(bytes.TrimLeft(head, emptyLines))
	ctx, gone := context.WithCancel(context.Background())
	last := r.Close || !r.ProtoAtLeast(1, 1)
	c := &parked{conn: conn, head: head, heard: make(chan struct{}), r: (&http.Request{Method: r.Method, URL: &url.URL{Path: r.URL.Path}, Close: last}).WithContext(ctx)}
	c.said.Store(len(head) > 0)
	go c.listen(gone)
	go func() { defer l.parked.Done(); t.stay(l, c, p) }()
	return true
}

// take takes a request's connection from whoever serves it, with what is here of
// the next request.
func take(w http.ResponseWriter) (conn net.Conn, head []byte, ok bool) {
	if v, rides := w.(*rider); rides {
		v.deafen()
		conn, head = v.take()
		return conn, head, true
	}
	h, ok := w.(http.Hijacker)
	if !ok {
		return nil, nil, false
	}
	conn, buf, err := h.Hijack()
	if err != nil {
		return nil, nil, false
	}
	head, _ = buf.Reader.Peek(buf.Reader.Buffered())
	if b, again := conn.(*begun); again {
		conn, head = b.Conn, append(bytes.Clone(head), b.head...)
	}
	return conn, head, true
}

// parked is a connection in the lot.
type parked struct {
	conn     net.Conn
	r        *http.Request // what the answer needs of it; its context ends when the client goes
	head     []byte        // of its next request, as far as it has come; listen's until heard is closed
	heard    chan struct{} // closed when nobody listens any more
	said     atomic.Bool   // there is a head
	answered atomic.Bool   // with the next head nobody needs to listen
	first    [1]byte
}

// emptyLines may stand before a request, and some clients end a POST with one.
const emptyLines = "\r\n"

// maxAhead is how many bytes of what a client says before it is answered are kept.
// Nothing more is read then, so nobody would know if it went.
const maxAhead = 64 << 10

// listen ends the wait of a client that goes, whatever it says before, and of one that
// says too much. What it says is kept, and once it is answered that is all it listens for.
func (c *parked) listen(gone context.CancelFunc) {
	for !(c.said.Load() && c.answered.Load()) {
		if len(c.head) >= maxAhead || c.hear() != nil {
			gone()
			break
		}
	}
	close(c.heard)
}

// hear hears what there is. Only who says something costs a buffer.
func (c *parked) hear() (err error) {
	if len(c.head) > 0 {
		c.head, err = hearOn(c.conn, c.head)
		return err
	}
	n, err := c.conn.Read(c.first[:])
	if n > 0 && !strings.ContainsRune(emptyLines, rune(c.first[0])) {
		c.head = append(c.head, c.first[0])
		c.said.Store(true)
	}
	return err
}

// hearOn appends what there is to what was heard before, up to maxAhead bytes.
func hearOn(c net.Conn, head []byte) ([]byte, error) {
	head = slices.Grow(head, 512)
	n, err := c.Read(head[len(head):min(cap(head), maxAhead)])
	return head[:len(head)+n], err
}

// stay waits, answers, and gives the connection back for its next request.
func (t *turn) stay(l *lot, c *parked, p *pause) {
	var text []byte
	last, out := false, &letter{}
	t.sit(out, c.r, p, func(try func()) {
		l.run(func() {
			if try(); out.status != 0 {
				last = c.r.Close || t.server.closing.Err() != nil
				text = out.text(c.r.Method, last)
			}
		})
	})
	_ = c.conn.SetWriteDeadline(time.Now().Add(chunkTime))
	if _, err := c.conn.Write(text); err == nil && !last && c.next(l) {
		_ = c.conn.SetDeadline(time.Time{})
		go l.lane.ride(c.conn, c.head)
		return
	}
	c.conn.Close()
}

// next waits for the first byte of the next request, and for listen to end.
func (c *parked) next(l *lot) bool {
	patience := idleTime
	if c.answered.Store(true); c.said.Load() { // in this order: listen does it the other way round
		patience = 0
	}
	_ = c.conn.SetReadDeadline(time.Now().Add(patience))
	select {
	case <-c.heard:
		return len(c.head) > 0
	case <-l.closed:
		return false
	}
}

// text is the answer as it is sent over HTTP/1.1.
func (l *letter) text(method string, last bool) []byte {
	if last {
		l.header.Set("Connection", "close")
	}
	b := appendHead(nil, l.status, l.header)
	if method != http.MethodHead {
		b = append(b, l.body...)
	}
	return b
}

// appendHead writes what stands before an answer's body in HTTP/1.1.
func appendHead(b []byte, status int, h http.Header) []byte {
	b = strconv.AppendInt(append(b, "HTTP/1.1 "...), int64(status), 10)
	b = append(append(b, ' '), http.StatusText(status)...)
	b = time.Now().UTC().AppendFormat(append(b, "\r\nDate: "...), http.TimeFormat)
	for name, values := range h {
		for _, value := range values {
			b = append(append(b, "\r\n"...), name...)
			b = append(append(b, ": "...), oneLine.Replace(value)...)
		}
	}
	return append(b, "\r\n\r\n"...)
}

// oneLine keeps a header from becoming two.
var oneLine = strings.NewReplacer("\r", " ", "\n", " ")

// begun is a connection of which something was read already.
type begun struct {
	net.Conn
	head []byte
}

// Read implements net.Conn.
func (b *begun) Read(p []byte) (int, error) {
	if len(b.head) == 0 {
		return b.Conn.Read(p)
	}
	n := copy(p, b.head)
	b.head = b.head[n:]
	return n, nil
}

// CloseWrite is what net/http does before it closes a connection to somebody who
// still sends.
func (b *begun) CloseWrite() error {
	if c, ok := b.Conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return nil
}
