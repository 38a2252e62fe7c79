package gateway

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

func TestAStormOfConnections(t *testing.T) {
	d := newDesk(t, func(g *Gateway) {
		g.pace.ping = time.Hour
	})
	const n = 1000
	all := make([]*client, n)
	for i := range all {
		all[i] = d.connect("alice")
	}
	agent := d.connect("agent")
	id := agent.start("exec.approval.request", `{"command":"make","twoPhase":true}`)
	want := agent.answer(id).get("id")
	for _, c := range all {
		require.Equal(t, want, c.event("tool.approval.requested").get("id"))
		c.event("exec.approval.requested")
	}
	go d.stop()
	for _, c := range all {
		c.gone(websocket.StatusServiceRestart)
	}
	d.stop()
	require.Zero(t, d.gw.open.Load())
}

// handRolled is a client without a library: it answers nothing by itself.
func (d *desk) handRolled(token string) (net.Conn, *bufio.Reader) {
	conn, err := net.Dial("tcp", d.addr)
	require.NoError(d.t, err)
	d.t.Cleanup(func() { _ = conn.Close() })
	require.NoError(d.t, conn.(*net.TCPConn).SetReadBuffer(4096))
	fmt.Fprintf(conn, "GET /v1/gateway HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n\r\n",
		d.addr, "AAAAAAAAAAAAAAAAAAAAAA==")
	in := bufio.NewReader(conn)
	for line := "-"; line != "\r\n"; {
		line, err = in.ReadString('\n')
		require.NoError(d.t, err)
	}
	sendText(conn, `{"type":"req","id":1,"method":"connect","params":`+greetingOf(token, "")+`}`)
	return conn, in
}

// sendText writes one masked text frame of less than 64 KiB.
func sendText(w io.Writer, text string) {
	head := []byte{0x81, 0x80 | 126, byte(len(text) >> 8), byte(len(text)), 0, 0, 0, 0} // a mask of zeros changes nothing
	_, _ = w.Write(append(head, text...))
}

// fill makes a page of approvals that no socket's buffers hold often.
func (d *desk) fill() {
	for i := range pageMax {
		_, _, err := d.gate.Submit(d.t.Context(), agentCaller, approval.Call{ToolName: "read", Params: fmt.Appendf(nil, `{"n":%d,"pad":%q}`, i, strings.Repeat("x", 500))})
		require.NoError(d.t, err)
	}
}

// A client that never reads is cut off; nobody else notices it.
func TestAClientThatNeverReads(t *testing.T) {
	d := newDesk(t, func(g *Gateway) { g.pace.patience, g.pace.goodbye = time.Millisecond, time.Millisecond })
	d.fill()
	operator := d.connect("alice")
	conn, _ := d.handRolled("agent")
	before := d.gw.open.Load()
	for i := 0; d.gw.open.Load() >= before; i++ {
		sendText(conn, fmt.Sprintf(`{"type":"req","id":%d,"method":"tool.approvals.list","params":{"limit":200}}`, i))
		operator.ok("tool.approvals.get", `{"id":"`+d.anyID()+`"}`)
	}
	operator.ok("tool.approvals.get", `{"id":"`+d.anyID()+`"}`)
}

func (d *desk) anyID() string {
	a, err := d.gate.List(d.t.Context(), aliceCaller, filterOne)
	require.NoError(d.t, err)
	return a.Items[0].ID
}

// A client that is slow and reads on in the end finds the reason.
func TestASlowClientIsTold(t *testing.T) {
	d := newDesk(t, func(g *Gateway) { g.queue, g.pace.patience = 4, time.Nanosecond })
	d.fill()
	c := d.connect("agent") // its own summaries cost the desk little
	for range 200 {
		c.start("tool.approvals.list", `{"limit":200}`)
	}
	for {
		if _, _, err := c.ws.Read(t.Context()); err != nil { // not held to the schema: it is much
			var ce websocket.CloseError
			require.ErrorAs(t, err, &ce)
			require.Equal(t, websocket.StatusTryAgainLater, ce.Code)
			require.Contains(t, ce.Reason, "lastSeq")
			return
		}
	}
}

// A connection whose other side is gone without a word is cut when no pong comes.
func TestAHalfOpenConnection(t *testing.T) {
	d := newDesk(t, func(g *Gateway) {
		g.pace.ping, g.pace.pong, g.pace.goodbye = time.Millisecond, time.Millisecond, time.Millisecond
	})
	_, in := d.handRolled("alice")
	_, _ = io.Copy(io.Discard, in) // until the desk ends it
}

func TestNobodyStaysWithoutConnecting(t *testing.T) {
	d := newDesk(t, func(g *Gateway) { g.pace.connect = time.Millisecond })
	c := d.dial()
	require.Contains(t, c.gone(websocket.StatusPolicyViolation), "connect")
}

func TestTicks(t *testing.T) {
	d := newDesk(t, func(g *Gateway) { g.pace.tick = time.Millisecond })
	c := d.connect("alice")
	require.NotZero(t, c.event("tick").get("ts"))
	require.EqualValues(t, 3, c.event("tick").Seq)
}

// A restart loses no pending approval: whoever waited connects again, waits on
// and gets the decision; an operator hears what it missed.
func TestARestartKeepsWhatIsPending(t *testing.T) {
	d := inFile(t)
	operator, agent := d.connect("alice"), d.connect("agent")
	agent.answer(agent.start("exec.approval.request", `{"id":"job","command":"make","twoPhase":true}`))
	seq := operator.event("tool.approval.requested").get("seq")
	go d.stop()
	require.Contains(t, agent.gone(websocket.StatusServiceRestart), "connect again")
	operator.gone(websocket.StatusServiceRestart)
	d.stop()

	d.open()
	agent = d.connect("agent")
	id := agent.start("exec.approval.waitDecision", `{"id":"job"}`)
	d.connect("alice").ok("exec.approval.resolve", `{"id":"job","decision":"allow-once"}`)
	require.Equal(t, "allow-once", agent.answer(id).get("decision"))
	operator = d.connect("alice", fmt.Sprintf(`,"lastSeq":%v`, seq))
	require.Equal(t, "job", operator.event("tool.approval.resolved").get("id"))
	operator.event("exec.approval.resolved")
}

// An asker that goes away leaves its approval pending, and may come back for it.
func TestAnAskerMayGoAndComeBack(t *testing.T) {
	d := newDesk(t)
	operator, agent := d.connect("alice"), d.connect("agent")
	agent.answer(agent.start("tool.approval.request", `{"id":"j","toolName":"ask","params":{},"twoPhase":true}`))
	require.NoError(t, agent.ws.CloseNow())
	operator.ok("tool.approval.resolve", `{"id":"j","decision":"allow-once"}`)
	require.Equal(t, "allow-once", d.connect("agent").ok("tool.approval.waitDecision", `{"id":"j"}`).get("decision"))
}

// A panic over one request refuses that one; its connection, and the desk, go on.
func TestAPanicRefuses(t *testing.T) {
	d := newDesk(t, func(g *Gateway) { g.cfg.Gate = nil }) // whatever is asked of it panics
	agent := d.connect("agent")
	r := agent.refused("tool.approval.request", `{"toolName":"read","params":{"k":"v4lue"}}`, unavailable, "")
	require.True(t, r.Retryable)
	agent.refused("no.such.method", `{}`, invalidRequest, "UNKNOWN_METHOD")
	d.stop()
	require.Contains(t, d.logs.String(), `"panic":`)
	require.NotContains(t, d.logs.String(), "v4lue")
}
