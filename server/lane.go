package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// lane answers plain requests by itself, see plain: with net/http, most of
// what an evaluation costs is reading it and writing the answer. The first request
// of a connection that is not plain goes to net/http, with all that was read of
// it, and so does what follows there. So whatever is odd, slow, long or wrong is
// told by net/http and by nothing else.
//
// A request's context ends when its client goes, as with net/http, but whether it
// has gone is looked at only once the answer takes long: see listen.
type lane struct {
	handler http.Handler
	lot     *lot
	log     *slog.Logger
	ctx     context.Context // of all requests

	mu      sync.Mutex
	riders  map[*rider]struct{}
	closing atomic.Bool    // set under mu, and never taken back
	under   sync.WaitGroup // riders that have not ended
}

const (
	plainSize = 8 << 10                // bytes of a plain request, its body included
	pieces    = 3                      // in which it may come
	slowTime  = 100 * time.Millisecond // after which the client of an answer under way is listened to
)

func newLane(h http.Handler, parking *lot, log *slog.Logger) *lane {
	ctx := context.WithValue(context.Background(), lotKey{}, parking)
	l := &lane{handler: h, lot: parking, log: log, ctx: ctx, riders: map[*rider]struct{}{}}
	parking.lane = l
	return l
}

// accept takes connections until the listener is closed. Like net/http it tries
// again when only files have run out.
func (l *lane) accept(from net.Listener) error {
	pause := time.Duration(0)
	for {
		c, err := from.Accept()
		var passing interface{ Temporary() bool }
		switch {
		case err == nil:
			pause = 0
			go l.ride(c, nil)
		case errors.As(err, &passing) && passing.Temporary():
			pause = min(max(2*pause, 5*time.Millisecond), time.Second)
			time.Sleep(pause)
		default:
			return err
		}
	}
}

// stop lets what is under way be answered, at most until ctx is done, and closes
// all connections.
func (l *lane) stop(ctx context.Context) {
	l.mu.Lock()
	l.closing.Store(true)
	for v := range l.riders {
		_ = v.conn.SetReadDeadline(time.Unix(1, 0)) // whoever waits for a request
	}
	l.mu.Unlock()
	ended := make(chan struct{})
	go func() { l.under.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-ctx.Done():
		l.mu.Lock()
		defer l.mu.Unlock()
		for v := range l.riders {
			v.gone()
			v.conn.Close()
		}
	}
}

// rider is a connection in the lane, and the http.ResponseWriter of its requests.
type rider struct {
	lane  *lane
	conn  net.Conn
	plain plain
	head  []byte // read and not answered yet
	used  int    // bytes of head that are the request under way
	off   bool   // it is not the lane's any more

	blank    *http.Request      // a request before it is read
	gone     context.CancelFunc // ends its context
	slow     *time.Timer        // runs listen when an answer takes long; nil: there was none yet
	answered atomic.Bool        // nobody listens any more
	heard    chan struct{}      // says that listen has ended; until then it appends to head

	header http.Header
	out    []byte // the answer
}

// buffers are what riders read into.
var buffers = sync.Pool{New: func() any { return new([plainSize]byte) }}

// ride serves a connection of which head was read before.
func (l *lane) ride(c net.Conn, head []byte) {
	space := buffers.Get().(*[plainSize]byte)
	defer buffers.Put(space)
	v := &rider{lane: l, conn: c, head: append(space[:0], head...), header: http.Header{}, heard: make(chan struct{}, 1)}
	v.begin()
	defer func() { v.gone() }()
	if !v.enter() {
		c.Close()
		return
	}
	defer v.leave()
	for later := false; v.turn(later); later = true {
	}
}

// begin gives the requests to come a context.
func (v *rider) begin() {
	ctx, gone := context.WithCancel(v.lane.ctx)
	v.lane.mu.Lock()
	defer v.lane.mu.Unlock()
	v.blank, v.gone = new(http.Request).WithContext(ctx), gone
}

func (v *rider) enter() bool {
	v.lane.mu.Lock()
	defer v.lane.mu.Unlock()
	if v.lane.closing.Load() {
		return false
	}
	v.lane.riders[v] = struct{}{}
	v.lane.under.Add(1)
	return true
}

// leave is deferred. The connection goes with it, also after a panic, which ends
// nothing else.
func (v *rider) leave() {
	if p := recover(); p != nil && p != http.ErrAbortHandler {
		v.lane.log.Error("a connection made the desk stumble", "reason", fmt.Sprint(p), "stack", string(debug.Stack()))
	}
	if !v.off {
		v.take()
		v.conn.Close()
	}
	v.lane.under.Done()
}

// take takes the connection out of the lane, for somebody who takes also what was
// read of it.
func (v *rider) take() (net.Conn, []byte) {
	v.off = true
	v.lane.mu.Lock()
	delete(v.lane.riders, v)
	v.lane.mu.Unlock()
	_ = v.conn.SetDeadline(time.Time{}) // stop, which could set it again, does not know it any more
	return v.conn, v.head[v.used:]
}

// turn answers one request, the first one or a later one. It reports whether to
// stay for another.
func (v *rider) turn(later bool) bool {
	if v.blank.Context().Err() != nil { // who went had said more before, and may hear yet
		v.begin()
	}
	if !v.hear(later) {
		return false
	}
	clear(v.header)
	v.out = v.out[:0]
	v.answer()
	if v.off {
		return false
	}
	if len(v.out) == 0 {
		v.WriteHeader(http.StatusOK)
	}
	v.head, v.used = v.head[:copy(v.head, v.head[v.used:])], 0
	_ = v.conn.SetWriteDeadline(time.Now().Add(chunkTime))
	_, err := v.conn.Write(v.out)
	if cap(v.out) > plainSize {
		v.out = nil
	}
	return err == nil && v.header.Get("Connection") != "close"
}

// answer has the handler answer.
func (v *rider) answer() {
	v.answered.Store(false)
	if v.slow == nil {
		v.slow = time.AfterFunc(slowTime, v.listen)
	} else {
		v.slow.Reset(slowTime)
	}
	defer v.deafen()
	v.lane.handler.ServeHTTP(v, &v.plain.r)
}

// listen ends the context of a request whose client goes before it is answered:
// others are asked then for nobody, and a claim would be lost. What the client
// says before it goes is the beginning of its next request; after maxAhead bytes of
// that nobody listens.
func (v *rider) listen() {
	_ = v.conn.SetReadDeadline(time.Time{})
	var err error
	for err == nil && len(v.head) < maxAhead && !v.answered.Load() { // afterwards deafen's deadline may be the one that was just taken away
		v.head, err = hearOn(v.conn, v.head)
	}
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		v.gone()
	}
	v.heard <- struct{}{}
}

// deafen ends listening, before anybody else reads.
func (v *rider) deafen() {
	if v.off || v.slow.Stop() {
		return
	}
	v.answered.Store(true)
	_ = v.conn.SetReadDeadline(time.Unix(1, 0))
	<-v.heard
}

// hear reads a request, and reports whether there is one to answer here.
func (v *rider) hear(later bool) bool {
	for piece := 0; ; piece++ {
		patience := headerTime
		if later {
			v.head = v.head[:copy(v.head, bytes.TrimLeft(v.head, emptyLines))]
			if len(v.head) == 0 {
				patience, piece = idleTime, 0
			}
		}
		n, how := v.plain.read(v.blank, v.head)
		if how == wholly {
			v.used = n
			return true
		}
		if how == other || piece == pieces || len(v.head) >= plainSize || !v.read(patience) {
			break
		}
	}
	if len(v.head) > 0 && !v.lane.closing.Load() {
		conn, head := v.take()
		v.lane.lot.give(&begun{Conn: conn, head: bytes.Clone(head)})
	}
	return false
}

// read reads what there is.
func (v *rider) read(patience time.Duration) bool {
	_ = v.conn.SetReadDeadline(time.Now().Add(patience))
	if v.lane.closing.Load() {
		return false
	}
	n, _ := v.conn.Read(v.head[len(v.head):plainSize])
	v.head = v.head[:len(v.head)+n]
	return n > 0
}

// SetReadDeadline is for handlers that give a body its time: it is here.
func (v *rider) SetReadDeadline(time.Time) error { return nil }

// Header implements http.ResponseWriter.
func (v *rider) Header() http.Header { return v.header }

// WriteHeader implements http.ResponseWriter. An answer that does not say how long
// it is ends with its connection.
func (v *rider) WriteHeader(status int) {
	if v.lane.closing.Load() || v.header["Content-Length"] == nil {
		v.header.Set("Connection", "close")
	}
	v.out = appendHead(v.out[:0], status, v.header) // nothing was sent: what a panic answers counts
}

// Write implements http.ResponseWriter. Nothing is sent before the handler ends.
func (v *rider) Write(b []byte) (int, error) {
	if len(v.out) == 0 {
		v.WriteHeader(http.StatusOK)
	}
	v.out = append(v.out, b...)
	return len(b), nil
}
