package fakechat

import (
	"context"
	"slices"
	"time"
)

// GatewayKind is what happened at the gateway.
type GatewayKind string

// What is written down of the gateway.
const (
	GatewayConnected    GatewayKind = "connected"
	GatewayDisconnected GatewayKind = "disconnected"
	GatewayReceived     GatewayKind = "received"
	GatewayIdentified   GatewayKind = "identified"
	GatewayResumed      GatewayKind = "resumed"
)

// GatewayEvent is an entry of the gateway's journal.
type GatewayEvent struct {
	Kind GatewayKind
	At   time.Time
	// Op is the opcode of what was received.
	Op int
	// Code is the close code of the bot's close frame, -1 if it sent no such frame.
	Code int
	// Session is the session's id.
	Session string
	// Resume says that the bot connected to resume_gateway_url.
	Resume bool
}

func (g *DiscordGateway) add(e GatewayEvent) {
	e.At = g.dc.now()
	g.log = append(g.log, e)
	g.dc.note("gateway: %s op %d code %d", e.Kind, e.Op, e.Code)
	g.dc.wake()
}

// Gateway controls the gateway.
func (dc *Discord) Gateway() *DiscordGateway { return &dc.gateway }

// Log returns everything of one kind, or with "" everything that happened.
func (g *DiscordGateway) Log(kind GatewayKind) []GatewayEvent {
	g.dc.mu.Lock()
	defer g.dc.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(g.log), func(e GatewayEvent) bool { return kind != "" && e.Kind != kind })
}

// Identifies is the number of sessions that were begun.
func (g *DiscordGateway) Identifies() int { return len(g.Log(GatewayIdentified)) }

// Resumes is the number of sessions that were resumed.
func (g *DiscordGateway) Resumes() int { return len(g.Log(GatewayResumed)) }

// Heartbeats is the number of heartbeats of the bot.
func (g *DiscordGateway) Heartbeats() int {
	return len(slices.DeleteFunc(g.Log(GatewayReceived), func(e GatewayEvent) bool { return e.Op != opHeartbeat }))
}

// Ready says that a bot is connected and has a session.
func (g *DiscordGateway) Ready() bool {
	g.dc.mu.Lock()
	defer g.dc.mu.Unlock()
	return slices.ContainsFunc(g.conns, func(c *gwConn) bool { return c.session != nil && !c.closing })
}

// WaitReady waits until [DiscordGateway.Ready].
func (g *DiscordGateway) WaitReady(ctx context.Context) error { return g.dc.WaitFor(ctx, g.Ready) }

// each does something to all connections, and reports a mistake of the test if there is no
// connection.
func (g *DiscordGateway) each(what string, do func(*gwConn)) {
	g.dc.mu.Lock()
	defer g.dc.mu.Unlock()
	if len(g.conns) == 0 {
		g.dc.fail("%s: %v", what, errNoSession)
	}
	for _, c := range slices.Clone(g.conns) {
		do(c)
	}
	g.dc.wake()
}

// Drop cuts all connections without a close frame; the sessions can be resumed.
func (g *DiscordGateway) Drop() { g.each("Drop", (*gwConn).drop) }

// Cut is Drop for a test that cannot know whether a bot is connected.
func (g *DiscordGateway) Cut() {
	g.set(func() {
		for _, c := range slices.Clone(g.conns) {
			c.drop()
		}
	})
}

// CloseWith closes all connections with a code (Discord, "Opcodes and Status
// Codes": gateway close event codes).
func (g *DiscordGateway) CloseWith(code int) {
	g.each("CloseWith", func(c *gwConn) { c.close(code, "") })
}

// RefuseWith answers the next IDENTIFYs and RESUMEs with this close code; if times is
// negative, it refuses all, and if 0, it refuses no more.
func (g *DiscordGateway) RefuseWith(code, times int) {
	g.dc.mu.Lock()
	defer g.dc.mu.Unlock()
	g.refuse, g.refuseTimes = code, times
}

// Reconnect asks the bot to reconnect and resume: opcode 7.
func (g *DiscordGateway) Reconnect() {
	g.each("Reconnect", func(c *gwConn) { c.send(opReconnect, nil) })
}

// InvalidSession sends opcode 9. If the session is not resumable it is gone, and
// the bot must identify again.
func (g *DiscordGateway) InvalidSession(resumable bool) {
	g.each("InvalidSession", func(c *gwConn) {
		c.send(opInvalidSession, resumable)
		if s := c.session; s != nil {
			s.conn, c.session = nil, nil
			if !resumable {
				delete(g.sessions, s.id)
			}
		}
	})
}

// RequestHeartbeat asks the bot for a heartbeat at once: opcode 1.
func (g *DiscordGateway) RequestHeartbeat() {
	g.each("RequestHeartbeat", func(c *gwConn) { c.send(opHeartbeat, nil) })
}

// EndSessions forgets all sessions, so that RESUME is answered with opcode 9.
func (g *DiscordGateway) EndSessions() {
	g.dc.mu.Lock()
	defer g.dc.mu.Unlock()
	clear(g.sessions)
}

// StopAcks leaves heartbeats without an ACK, or stops doing so.
func (g *DiscordGateway) StopAcks(stop bool) { g.set(func() { g.noAcks = stop }) }

// Zombie lets the gateway accept connections and say HELLO but leave all else unanswered.
func (g *DiscordGateway) Zombie(zombie bool) { g.set(func() { g.zombie = zombie }) }

// HoldHello lets new connections wait for HELLO; false sends it to those that
// wait.
func (g *DiscordGateway) HoldHello(hold bool) {
	g.set(func() {
		held := g.noHello && !hold
		g.noHello = hold
		for _, c := range g.conns {
			if held && c.session == nil {
				c.hello()
			}
		}
	})
}

func (g *DiscordGateway) set(change func()) {
	g.dc.mu.Lock()
	defer g.dc.mu.Unlock()
	change()
	g.dc.wake()
}

// SpendIdentifies counts n IDENTIFYs of today, for the session start limit.
func (g *DiscordGateway) SpendIdentifies(n int) {
	g.set(func() {
		for range n {
			g.identifies = append(g.identifies, g.dc.now())
		}
	})
}

// closeAll closes every connection.
func (g *DiscordGateway) closeAll(code int, reason string) {
	for _, c := range g.conns {
		c.close(code, reason)
	}
}

// cut ends all connections at once.
func (g *DiscordGateway) cut() {
	for _, c := range g.conns {
		_ = c.ws.CloseNow()
		c.closing = true
	}
}
