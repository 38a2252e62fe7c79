package gateway

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
	"approvalbot/internal/server/auth"
)

// pipes is a listener without a network, for bubbles of synctest.
type pipes struct {
	accept chan net.Conn
	closed chan struct{}
	once   sync.Once
	open   atomic.Int64 // connections that the desk has not closed
}

// Accept implements net.Listener.
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.accept:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Addr implements net.Listener.
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// Close implements net.Listener.
func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) dial() net.Conn {
	here, there := net.Pipe()
	p.open.Add(1)
	p.accept <- &pipe{Conn: here, of: p}
	return there
}

// pipe is the desk's end.
type pipe struct {
	net.Conn
	of   *pipes
	once sync.Once
}

// Close implements net.Conn.
func (p *pipe) Close() error {
	p.once.Do(func() { p.of.open.Add(-1) })
	return p.Conn.Close()
}

// dialing is how clients connect, where that is not by a network.
func (d *desk) dialing() *websocket.DialOptions {
	if d.pipes == nil {
		return nil
	}
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return d.pipes.dial(), nil }}
	return &websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}}
}

// Sockets that never say who they are are closed in 40 seconds; those that have
// said it stay, however quiet they are.
func TestAdversary_P12_SilentSockets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{t: t, setup: atUsualPace, pipes: &pipes{accept: make(chan net.Conn), closed: make(chan struct{})}}
		d.open()
		agent := d.connect("agent")
		heard := make(chan error, 1)
		go func() {
			for {
				if _, _, err := agent.ws.Read(t.Context()); err != nil {
					heard <- err
					return
				}
			}
		}()
		for range 500 {
			c := d.pipes.dial()
			go func() {
				go func() {
					_, _ = io.WriteString(c, "GET /v1/gateway HTTP/1.1\r\nHost: desk\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
						"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
				}()
				_, _ = io.Copy(io.Discard, c)
			}()
		}
		time.Sleep(40 * time.Second) // on the bubble's clock
		synctest.Wait()
		require.EqualValues(t, 1, d.pipes.open.Load())
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		require.EqualValues(t, 1, d.pipes.open.Load())
		require.Empty(t, heard)
		d.stop()
		<-heard
	})
}

// A token that is taken away hears no decision that it waits for, also where both come
// in the same moment; one that is not what it was is refused.
func TestAdversary_I9_ARemovedTokensWaitHearsNothing(t *testing.T) {
	changed := func(change func(*auth.Token)) []auth.Token {
		all := tokens()
		change(&all[0])
		return all
	}
	for name, left := range map[string][]auth.Token{
		"removed":       tokens("agent"),
		"another owner": changed(func(t *auth.Token) { t.Name = "renamed" }),
		"another agent": changed(func(t *auth.Token) { t.Caller.AgentID = "other" }),
		"a scope less":  changed(func(t *auth.Token) { t.Caller.MayRequest, t.Caller.MayDecide = false, true }),
	} {
		for _, decided := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " ", decided), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					d := &desk{t: t, pipes: &pipes{accept: make(chan net.Conn), closed: make(chan struct{})}}
					d.open()
					c := d.pending()
					c.start("tool.approval.waitDecision", `{"id":"p"}`)
					a, err := d.gate.Get(t.Context(), agentCaller, "p")
					require.NoError(t, err)
					synctest.Wait()
					require.NoError(t, d.srv.Tokens.Use(left))
					if decided {
						_, err := d.gate.VoteAs(t.Context(), aliceCaller, a.Code, approval.AllowOnce, "", "")
						require.NoError(t, err)
					}
					defer time.AfterFunc(time.Minute, d.stop).Stop() // so that it fails, and does not hang
					for refused := 0; ; {
						f, err := c.next()
						if err != nil {
							break
						}
						if f.Type == "res" {
							require.False(t, f.OK, "%s", f.Payload)
							refused++
						}
						if refused == 2 {
							break
						}
					}
					d.stop()
				})
			})
		}
	}
}
