package fakechat

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/coder/websocket"
)

// Gateway opcodes (Discord, "Opcodes and Status Codes").
const (
	opDispatch       = 0
	opHeartbeat      = 1
	opIdentify       = 2
	opPresence       = 3
	opVoice          = 4
	opResume         = 6
	opReconnect      = 7
	opMembers        = 8
	opInvalidSession = 9
	opHello          = 10
	opHeartbeatAck   = 11
)

// Limits of what a bot sends (Discord, "Gateway").
const (
	maxGatewayPayload = 4096
	maxGatewaySends   = 120
	gatewayWindow     = time.Minute
)

// DiscordGateway is the gateway and what a test does to it. Its methods are safe
// for concurrent use.
type DiscordGateway struct {
	dc         *Discord
	conns      []*gwConn
	sessions   map[string]*gwSession
	identifies window
	log        []GatewayEvent

	noHello, noAcks, zombie bool
	refuse                  int // close code for the next identifies and resumes
	refuseTimes             int
}

// gwSession is a session that can be resumed.
type gwSession struct {
	id      string
	intents DiscordIntents
	seq     int
	events  []gwEvent // all of them, for RESUME
	conn    *gwConn   // nil while no bot is connected
}

type gwEvent struct {
	seq  int
	body []byte
}

// gwConn is one WebSocket connection.
type gwConn struct {
	dc       *Discord
	ws       *websocket.Conn
	resuming bool // connected to resume_gateway_url
	session  *gwSession
	compress bool
	sent     window  // by the bot
	out      []gwOut // to the bot
	closing  bool
	more     chan struct{} // has room for one: there is something in out
}

// gwOut is a frame, or the close that ends the connection.
type gwOut struct {
	body   []byte
	binary bool
	close  int
	reason string
	drop   bool
}

// gwFrame is a payload of the bot.
type gwFrame struct {
	Op   int             `json:"op"`
	Data json.RawMessage `json:"d"`
}

func (g *DiscordGateway) start(dc *Discord) {
	g.dc, g.sessions = dc, make(map[string]*gwSession)
}

// serve runs one connection; it is called without the lock.
func (g *DiscordGateway) serve(w http.ResponseWriter, r *http.Request) {
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return
	}
	defer ws.CloseNow()
	ws.SetReadLimit(1 << 20)
	c := &gwConn{dc: g.dc, ws: ws, resuming: r.URL.Path == resumePath || r.URL.Path == resumePath+"/", more: make(chan struct{}, 1)}
	if !g.connect(c, r.URL.Query().Get("v")) {
		return
	}
	ctx, cancel := context.WithCancel(g.dc.ctx)
	written := make(chan struct{})
	go func() {
		defer close(written)
		c.writeAll(ctx)
	}()
	err = c.readAll(ctx)
	g.disconnect(c, err)
	cancel()
	<-written
}

const resumePath = "/gateway/resume"

// connect greets a new connection.
func (g *DiscordGateway) connect(c *gwConn, version string) bool {
	g.dc.mu.Lock()
	defer g.dc.mu.Unlock()
	if g.dc.closed {
		return false
	}
	g.conns = append(g.conns, c)
	g.add(GatewayEvent{Kind: GatewayConnected, Resume: c.resuming})
	switch {
	case version != "" && version != "9" && version != "10":
		c.close(4012, "Invalid API version.")
	case !g.noHello:
		c.hello()
	}
	return true
}

func (c *gwConn) hello() {
	c.send(opHello, obj{"heartbeat_interval": c.dc.opts.HeartbeatInterval.Milliseconds(), "_trace": []string{}})
}

// disconnect forgets a connection. Closing with 1000 or 1001 ends the session.
func (g *DiscordGateway) disconnect(c *gwConn, err error) {
	g.dc.mu.Lock()
	defer g.dc.mu.Unlock()
	for i, other := range g.conns {
		if other == c {
			g.conns = append(g.conns[:i:i], g.conns[i+1:]...)
			break
		}
	}
	code := int(websocket.CloseStatus(err))
	if s := c.session; s != nil && s.conn == c {
		s.conn = nil
		if !c.closing && (code == 1000 || code == 1001) {
			delete(g.sessions, s.id)
		}
	}
	c.closing = true
	g.add(GatewayEvent{Kind: GatewayDisconnected, Code: code})
}

func (c *gwConn) readAll(ctx context.Context) error {
	for {
		kind, data, err := c.ws.Read(ctx)
		if err != nil {
			return err
		}
		c.take(kind, data)
	}
}

// writeAll sends what is queued, in order, until the connection is closed.
func (c *gwConn) writeAll(ctx context.Context) {
	for {
		select {
		case <-c.more:
		case <-ctx.Done():
			return
		}
		for _, out := range c.drain() {
			if !c.write(ctx, out) {
				return
			}
		}
	}
}

func (c *gwConn) drain() []gwOut {
	c.dc.mu.Lock()
	defer c.dc.mu.Unlock()
	out := c.out
	c.out = nil
	return out
}

func (c *gwConn) write(ctx context.Context, out gwOut) bool {
	switch {
	case out.drop:
		c.ws.CloseNow()
		return false
	case out.close != 0:
		_ = c.ws.Close(websocket.StatusCode(out.close), out.reason)
		return false
	}
	kind := websocket.MessageText
	if out.binary {
		kind = websocket.MessageBinary
	}
	return c.ws.Write(ctx, kind, out.body) == nil
}

// queue adds something for the writer.
func (c *gwConn) queue(out gwOut) {
	if c.closing {
		return
	}
	c.out = append(c.out, out)
	select {
	case c.more <- struct{}{}:
	default:
	}
}

func (c *gwConn) close(code int, reason string) {
	c.queue(gwOut{close: code, reason: reason})
	c.closing = true
	if s := c.session; s != nil && s.conn == c {
		s.conn = nil
		if code == 4004 || code == 4007 || code == 4009 {
			delete(c.dc.gateway.sessions, s.id)
		}
	}
}

func (c *gwConn) drop() {
	c.queue(gwOut{drop: true})
	c.closing = true
	if s := c.session; s != nil && s.conn == c {
		s.conn = nil
	}
}

func (c *gwConn) send(op int, data any) {
	c.queue(gwOut{body: encodeJSON(obj{"op": op, "d": data, "s": nil, "t": nil})})
}

// dispatch sends an event; to a bot that asked for compression as a zlib stream
// of its own in a binary frame (Discord, "Gateway": payload compression).
func (c *gwConn) dispatch(body []byte) {
	if !c.compress {
		c.queue(gwOut{body: body})
		return
	}
	var packed bytes.Buffer
	w := zlib.NewWriter(&packed)
	w.Write(body)
	w.Close()
	c.queue(gwOut{body: packed.Bytes(), binary: true})
}

// take handles a payload of the bot; it takes the lock.
func (c *gwConn) take(kind websocket.MessageType, data []byte) {
	c.dc.mu.Lock()
	defer c.dc.mu.Unlock()
	defer c.dc.wake()
	now, g := c.dc.now(), &c.dc.gateway
	c.sent.wait(now, 0, gatewayWindow)
	c.sent = append(c.sent, now)
	var frame gwFrame
	switch {
	case c.closing:
		return
	case len(data) > maxGatewayPayload, kind != websocket.MessageText, json.Unmarshal(data, &frame) != nil:
		c.close(4002, "Error while decoding payload.")
		return
	case len(c.sent) > maxGatewaySends:
		c.close(4008, "You are being rate limited.")
		return
	}
	g.add(GatewayEvent{Kind: GatewayReceived, Op: frame.Op})
	if g.zombie {
		return
	}
	switch frame.Op {
	case opHeartbeat:
		if !g.noAcks {
			c.send(opHeartbeatAck, nil)
		}
	case opIdentify:
		c.identify(frame.Data)
	case opResume:
		c.resume(frame.Data)
	case opPresence, opVoice, opMembers:
		if c.session == nil {
			c.close(4003, "Not authenticated.")
		}
	default:
		c.close(4001, "Unknown opcode.")
	}
}

// emit sends an event to all sessions that asked for one of the intents; if intent is 0, to
// all of them.
func (dc *Discord) emit(name string, intent DiscordIntents, data any) {
	var body []byte
	dc.emitRaw(name, intent, func(*gwSession) json.RawMessage {
		if body == nil {
			body = encodeJSON(data)
		}
		return body
	})
}

// emitRaw is emit with data that differs from session to session. An event waits in the
// session for RESUME while no bot is connected.
func (dc *Discord) emitRaw(name string, intent DiscordIntents, data func(*gwSession) json.RawMessage) {
	for _, s := range dc.gateway.sessions {
		if intent != 0 && s.intents&intent == 0 {
			continue
		}
		s.dispatch(name, data(s))
	}
}

func (s *gwSession) dispatch(name string, data json.RawMessage) {
	s.seq++
	body := encodeJSON(struct {
		Op   int             `json:"op"`
		Data json.RawMessage `json:"d"`
		Seq  int             `json:"s"`
		Type string          `json:"t"`
	}{opDispatch, data, s.seq, name})
	s.events = append(s.events, gwEvent{s.seq, body})
	if s.conn != nil {
		s.conn.dispatch(body)
	}
}

// errNoSession says that a test controls a gateway to which no bot is connected.
var errNoSession = errors.New("fakechat: no bot is connected to the gateway")
