package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/panics"
	"approvalbot/internal/server/events"
)

// ending says why a connection is closed.
type ending struct {
	code   websocket.StatusCode
	reason string // at most 123 bytes
}

// Error makes an ending the cause of a context's end.
func (e *ending) Error() string { return e.reason }

// conn is one client.
type conn struct {
	g     *Gateway
	ws    *websocket.Conn
	id    string
	token [32]byte // hash of its secret

	admitted func() // reports that the client is identified

	ctx    context.Context
	cancel context.CancelCauseFunc
	out    chan []byte   // frames on their way
	slots  chan struct{} // requests under way
	closed chan struct{} // closed when the connection and its goroutines have ended
	work   sync.WaitGroup
	seq    int64 // of events; only one goroutine at a time sends those
}

func newConn(g *Gateway, ws *websocket.Conn, raw net.Conn) *conn {
	c := &conn{g: g, ws: ws, id: uuid.NewString(), out: make(chan []byte, g.queue),
		slots: make(chan struct{}, maxInFlight), closed: make(chan struct{})}
	c.ctx, c.cancel = context.WithCancelCause(g.life)
	context.AfterFunc(c.ctx, func() { // a client that does not read its goodbye is cut
		late := time.NewTimer(g.pace.goodbye)
		defer late.Stop()
		select {
		case <-late.C:
		case <-g.dead.Done():
		case <-c.closed:
		}
		_ = raw.Close()
	})
	return c
}

// end closes the connection with a reason; only the first one counts.
func (c *conn) end(code websocket.StatusCode, reason string) { c.cancel(&ending{code, reason}) }

// run serves the connection until it is closed.
func (c *conn) run() {
	c.ws.SetReadLimit(maxGreeting)
	c.work.Go(c.write)
	if at, ok := c.greet(); ok {
		c.admitted()
		c.ws.SetReadLimit(maxPayload)
		c.work.Go(func() { c.notify(at) })
		c.work.Go(c.probe)
		c.read()
	}
	<-c.ctx.Done()
	c.work.Wait()
	close(c.closed)
}

// write hands frames over, one at a time; at the end those that are queued, and
// the reason.
func (c *conn) write() {
	for {
		select {
		case frame := <-c.out:
			if c.ws.Write(context.Background(), websocket.MessageText, frame) != nil {
				c.end(websocket.StatusAbnormalClosure, "gone")
			}
		case <-c.ctx.Done():
			c.goodbye()
			return
		}
	}
}

func (c *conn) goodbye() {
	for {
		select {
		case frame := <-c.out:
			if c.ws.Write(context.Background(), websocket.MessageText, frame) != nil {
				_ = c.ws.CloseNow()
				return
			}
			continue
		default:
		}
		why, _ := context.Cause(c.ctx).(*ending)
		if why == nil || why.code == websocket.StatusAbnormalClosure {
			_ = c.ws.CloseNow()
			return
		}
		_ = c.ws.Close(why.code, why.reason)
		return
	}
}

// send queues one frame. A client that makes no room in time is closed: it gets
// the missed frames when it connects again.
func (c *conn) send(v any) {
	frame, err := json.Marshal(v)
	if err != nil { // plain values always marshal
		panic(fmt.Sprintf("gateway frame: %v", err))
	}
	select {
	case c.out <- frame:
		return
	case <-c.ctx.Done():
		return
	default:
	}
	late := time.NewTimer(c.g.pace.patience)
	defer late.Stop()
	select {
	case c.out <- frame:
	case <-c.ctx.Done():
	case <-late.C:
		c.end(websocket.StatusTryAgainLater, "too slow: connect again, with lastSeq to get every event")
	}
}

func (c *conn) event(name string, payload any) {
	c.send(event{"event", name, payload, c.seq})
	c.seq++
}

func (c *conn) answer(id json.RawMessage, payload any) {
	c.send(response{Type: "res", ID: id, OK: true, Payload: payload})
}

func (c *conn) refuse(id json.RawMessage, method, token string, err error) {
	c.send(response{Type: "res", ID: id, Error: refused(err, c.g.log, method, token)})
}

// read reads frames until the connection ends.
func (c *conn) read() {
	for {
		kind, frame, err := c.ws.Read(context.Background())
		switch {
		case err != nil:
			c.end(websocket.StatusAbnormalClosure, "gone")
			return
		case kind != websocket.MessageText:
			c.end(websocket.StatusUnsupportedData, "frames are JSON text")
			return
		case c.ctx.Err() == nil:
			c.take(frame)
		}
	}
}

// take starts the request of one frame. Answers may come in another order.
func (c *conn) take(frame []byte) {
	req, id, err := parse(frame)
	who, denied := c.g.cfg.Server.Tokens.Admit(c.token)
	switch {
	case approval.CodeOf(denied) == approval.CodeUnauthorized:
		c.end(websocket.StatusPolicyViolation, "this token is no longer known here")
		return
	case denied != nil:
		err = denied
	}
	if err != nil {
		c.refuse(id, req.Method, who.Token, err)
		return
	}
	select {
	case c.slots <- struct{}{}:
	default:
		c.refuse(id, req.Method, who.Token, approval.Refuse(approval.CodeRateLimited,
			"More than %d requests of this connection are unanswered. Wait for an answer first.", maxInFlight))
		return
	}
	c.work.Go(func() {
		defer func() { <-c.slots }()
		c.serve(&call{conn: c, ctx: c.ctx, who: who, id: id, params: req.Params}, req.Method)
	})
}

func (c *conn) serve(in *call, name string) {
	deny := func() { c.refuse(in.id, name, in.who.Token, errUnavailable) }
	defer panics.Catch(c.g.log, deny, "a gateway request caused a panic; its client was told to try again", "method", name)
	payload, err := in.serve(name)
	c.g.cfg.Gate.Forbidden(c.ctx, in.who, "gateway "+name, err)
	if err == nil {
		_, err = in.standing()()
	}
	if c.ctx.Err() != nil {
		return // no client is there to read it
	}
	if err != nil {
		c.refuse(in.id, name, in.who.Token, err)
		return
	}
	c.answer(in.id, payload)
}

// notify sends what happens after number at of the log, until the connection or
// its token ends.
func (c *conn) notify(at int64) {
	defer c.g.cfg.Feed.Listen()()
	tick := time.NewTicker(c.g.pace.tick)
	defer tick.Stop()
	for c.ctx.Err() == nil {
		who, reloaded, ok := c.g.cfg.Server.Tokens.Holder(c.token)
		if !ok || !who.MayDecide && !who.MayRequest {
			c.end(websocket.StatusPolicyViolation, "this token is no longer known here")
			return
		}
		batch, news, err := c.g.cfg.Feed.After(c.ctx, at)
		if err != nil && c.ctx.Err() == nil {
			c.g.log.Error("could not read the audit log; a gateway client was disconnected and should reconnect",
				"token", who.Token, "reason", err)
			c.end(websocket.StatusInternalError, "the log cannot be read right now; connect again, with lastSeq")
			return
		}
		for _, t := range batch {
			c.notifyOne(t, who)
			at = t.Seq
		}
		if len(batch) > 0 {
			continue
		}
		select {
		case <-c.ctx.Done():
		case <-reloaded:
		case <-news:
		case now := <-tick.C:
			c.event("tick", map[string]int64{"ts": now.UnixMilli()})
		}
	}
}

func (c *conn) notifyOne(t events.Entry, who core.Caller) {
	if !t.For(who) {
		return
	}
	for _, n := range c.g.notices(c.ctx, t) {
		c.event(n.name, n.payload)
	}
}

// probe pings the client, and cuts the connection if no pong comes: the other
// side is gone, or does not read.
func (c *conn) probe() {
	tick := time.NewTicker(c.g.pace.ping)
	defer tick.Stop()
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-tick.C:
		}
		ctx, stop := context.WithTimeout(c.ctx, c.g.pace.pong)
		err := c.ws.Ping(ctx)
		stop()
		if err != nil {
			c.end(websocket.StatusTryAgainLater, "no answer to a ping; connect again, with lastSeq to get every event")
		}
	}
}
