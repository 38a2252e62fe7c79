package mcp

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const (
	noticeTime = 30 * time.Second // for a server to take a notification
	maxNotices = 100              // that wait to be written
)

// lane has what one side says in passing written to the other in its order, beside the reading: a
// side that does not read keeps no word of the other from being heard.
type lane struct {
	last chan struct{} // closed once all that was put in is written; guarded by the relay's mu
	room chan struct{}
}

func newLane() *lane {
	last := make(chan struct{})
	close(last)
	return &lane{last: last, room: make(chan struct{}, maxNotices)}
}

// put has write called after what was put in before. The caller has taken the room.
func (x *relay) put(l *lane, write func()) {
	x.mu.Lock()
	before, done := l.last, make(chan struct{})
	l.last = done
	x.mu.Unlock()
	x.do(func() {
		defer func() { close(done); <-l.room }()
		<-before
		write()
	})
}

// written is closed once all is written that was put in until now.
func (x *relay) written(l *lane) <-chan struct{} {
	x.mu.Lock()
	defer x.mu.Unlock()
	return l.last
}

// send writes to the server what needs no answer, once the server has what the client said before.
func (x *relay) send(ctx context.Context, m jsonrpc.Message) {
	select {
	case x.toServer.room <- struct{}{}:
	default:
		x.log("dropped a message, because the MCP server does not take the messages before it")
		return
	}
	x.put(x.toServer, func() {
		ctx, cancel := context.WithTimeout(ctx, noticeTime)
		defer cancel()
		x.deliver(ctx, m)
	})
}

// deliver writes to the server what needs no answer.
func (x *relay) deliver(ctx context.Context, m jsonrpc.Message) {
	if err := x.write(ctx, m, nil); err != nil && x.ctx.Err() == nil {
		x.log("a message could not be passed on to the MCP server: " + err.Error())
	}
}

// notify writes to the client a message that the server sends of its own accord.
func (x *relay) notify(ctx context.Context, m jsonrpc.Message) {
	select {
	case x.toClient.room <- struct{}{}:
		x.put(x.toClient, func() { x.answer(ctx, m) })
	case <-ctx.Done():
	}
}

// write writes to the server in its turn, unless ctx has ended by then. begins, if not nil, is called
// in the turn, with mu held.
func (x *relay) write(ctx context.Context, m jsonrpc.Message, begins func()) error {
	if x.turn != nil {
		select {
		case x.turn <- struct{}{}:
			defer func() { <-x.turn }()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	x.mu.Lock()
	err := ctx.Err()
	if err == nil && begins != nil {
		begins()
	}
	x.mu.Unlock()
	if err != nil {
		return err
	}
	return x.server.Write(ctx, m)
}
