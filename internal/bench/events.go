package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"sync"
	"sync/atomic"
	"time"
)

const listeners = 1000

// audience is a thousand listeners of one server.
type audience struct {
	conns []*conn
	heard atomic.Int64 // events that end an approval, over all listeners
}

// events measures how long it takes until the last of a thousand listeners has
// an event, from the request that causes it on, against a plain broadcast; then
// whether any misses one while 64 approvals are in flight.
func events(b bench) error {
	d, err := start(b.bin, options{})
	if err != nil {
		return err
	}
	defer d.stop()
	ref, err := self("-serve", "events")
	if err != nil {
		return err
	}
	defer ref.stop()
	plain, err := listen(ref.addr, "")
	if err != nil {
		return err
	}
	defer plain.close()
	ours, err := listen(d.addr, operatorToken)
	if err != nil {
		return err
	}
	defer ours.close()
	s := series{}
	const hand, mine = "plain broadcast to 1,000 listeners (reference), p50", "event to 1,000 listeners, commit included, p50"
	for range b.rounds {
		took, err := plain.last(ref.addr, request("POST", "/say", "", `{"type":"tool.approval.resolved"}`), 20)
		if err != nil {
			return err
		}
		s.add(hand, ms(took))
		took, err = ours.last(d.addr, request("POST", "/v1/approvals", agentToken, call("read", `{"path":"/workspace/a"}`)), 20)
		if err != nil {
			return err
		}
		s.add(mine, ms(took))
		s.ratio("… against the reference", mine, hand)
	}
	s.row(hand, "ms")
	s.row(mine, "ms")
	s.atMost("… against the reference", "×", 1.5)
	return d.missed(s, ours)
}

// missed runs approvals with 64 in flight and counts the ends that a listener
// did not hear of.
func (d *desk) missed(s series, a *audience) error {
	const approvals = 320
	before := a.heard.Load()
	began := time.Now()
	if _, err := roundTrip([]string{d.addr}, 64, approvals); err != nil {
		return err
	}
	_ = a.until(before+approvals*listeners, 30*time.Second) // what is missing then is missing
	s.add("320 approvals, 64 in flight: until all have all events", ms(time.Since(began)))
	s.add("… events missed", float64(before+approvals*listeners-a.heard.Load()))
	s.row("320 approvals, 64 in flight: until all have all events", "ms")
	s.atMost("… events missed", "", 0)
	return nil
}

// listen connects the listeners.
func listen(addr, token string) (*audience, error) {
	a := &audience{}
	for range listeners {
		c, err := dial(addr, 4096)
		if err != nil {
			a.close()
			return nil, err
		}
		a.conns = append(a.conns, c)
		if _, err := c.net.Write(request("GET", "/v1/events", token, "")); err != nil {
			a.close()
			return nil, err
		}
		status, _, _, err := c.head()
		if err != nil || status != http.StatusOK {
			a.close()
			return nil, fmt.Errorf("a listener is refused: %d, %w", status, err)
		}
		go a.follow(httputil.NewChunkedReader(c.in))
	}
	time.Sleep(200 * time.Millisecond) // the last is at its place
	return a, nil
}

func (a *audience) close() {
	for _, c := range a.conns {
		c.net.Close()
	}
}

// follow counts until the connection ends.
func (a *audience) follow(r io.Reader) {
	in := bufio.NewReaderSize(r, 4096)
	for {
		line, err := in.ReadSlice('\n')
		if err != nil && err != bufio.ErrBufferFull {
			return
		}
		if bytes.HasPrefix(line, []byte("event: tool.approval.resolved")) {
			a.heard.Add(1)
		}
	}
}

// last gives the median time until the last listener has what a request causes.
func (a *audience) last(addr string, req []byte, n int) (time.Duration, error) {
	c, err := dial(addr, 4096)
	if err != nil {
		return 0, err
	}
	defer c.net.Close()
	var took []time.Duration
	for range n {
		want := a.heard.Load() + listeners
		began := time.Now()
		if _, err := c.do(req); err != nil {
			return 0, err
		}
		if err := a.until(want, 10*time.Second); err != nil {
			return 0, err
		}
		took = append(took, time.Since(began))
	}
	return median(took), nil
}

func (a *audience) until(want int64, limit time.Duration) error {
	for end := time.Now().Add(limit); a.heard.Load() < want; time.Sleep(100 * time.Microsecond) {
		if time.Now().After(end) {
			return fmt.Errorf("%d events have not reached a listener in %s", want-a.heard.Load(), limit)
		}
	}
	return nil
}

// broadcast is the reference: each listener has a channel, and gets what is said.
type broadcast struct {
	*http.ServeMux
	mu   sync.Mutex
	all  map[chan []byte]bool
	seen int
}

func newBroadcast() *broadcast {
	b := &broadcast{ServeMux: http.NewServeMux(), all: map[chan []byte]bool{}}
	b.HandleFunc("GET /v1/events", b.follow)
	b.HandleFunc("POST /say", b.say)
	return b
}

func (b *broadcast) follow(w http.ResponseWriter, r *http.Request) {
	mine := make(chan []byte, 1000)
	b.mu.Lock()
	b.all[mine] = true
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.all, mine)
	}()
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	_ = control.Flush()
	for {
		select {
		case text := <-mine:
			if _, err := w.Write(text); err != nil || control.Flush() != nil {
				return
			}
		case <-r.Context().Done():
			return
		}
	}
}

func (b *broadcast) say(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(io.LimitReader(r.Body, 1<<16))
	if err != nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seen++
	text := fmt.Appendf(nil, "id: %d\nevent: tool.approval.resolved\ndata: %s\n\n", b.seen, append(data, bytes.Repeat([]byte(" "), 700)...))
	for c := range b.all {
		c <- text
	}
	w.WriteHeader(http.StatusNoContent)
}
