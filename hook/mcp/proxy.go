package mcp

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"approvalbot/hook/ask"
)

// Proxy stands between one client and one server, and asks the desk for every call
// of a tool. All else passes as it is.
type Proxy struct {
	Desk    ask.Approvals
	Name    string // what the operator calls the server; empty: it is not known
	Server  string // tells servers without a name apart, and stands in the names of tools
	Session string // sessionKey of its calls
	Workdir string
	Log     func(string) // nil: silent

	// Negotiated, if not nil, is called with which version of the protocol the two agree on.
	Negotiated func(version string)
}

// Methods that the proxy looks at.
const (
	initialize  = "initialize"
	callTool    = "tools/call"
	listTools   = "tools/list"
	toolsChange = "notifications/tools/list_changed"
	cancelled   = "notifications/cancelled"
	progress    = "notifications/progress"
)

// errServerEnded ends what the server has not answered.
var errServerEnded = errors.New("the MCP server has ended")

// Run carries messages until one side ends, and closes both. It is nil where the client ended
// it, or ctx.
func (p Proxy) Run(ctx context.Context, client, server mcp.Connection) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	x := &relay{
		Proxy: p, client: client, server: server,
		calls: map[jsonrpc.ID]*pending{}, lists: map[jsonrpc.ID]bool{},
		own: map[jsonrpc.ID]chan *jsonrpc.Response{}, tools: map[string]definition{},
	}
	ended := make(chan error, 2)
	go func() { ended <- x.fromClient(ctx) }()
	go func() { ended <- x.fromServer(ctx) }()
	err := <-ended // both read until ctx ends
	cancel()       // what is asked for is withdrawn
	<-ended
	x.work.Wait() // and answered, where the client still reads
	_ = server.Close()
	_ = client.Close()
	return err
}

// relay is one Run.
type relay struct {
	Proxy
	client, server mcp.Connection
	work           sync.WaitGroup

	mu    sync.Mutex
	calls map[jsonrpc.ID]*pending               // of the client, not answered yet
	lists map[jsonrpc.ID]bool                   // the client's tools/list, likewise
	own   map[jsonrpc.ID]chan *jsonrpc.Response // the proxy's own requests
	tools map[string]definition                 // as the server last described them
	stale bool                                  // the server says that they have changed
	hello jsonrpc.ID                            // the client's initialize
	ended bool
}

// pending is a call of a tool.
type pending struct {
	cancel    context.CancelFunc
	forwarded chan *jsonrpc.Response // nil: the server has not got it
	answered  bool                   // its id is free again; what the server still says to it is dropped
}

// fromClient carries what the client says. It is nil at the end of its input.
func (x *relay) fromClient(ctx context.Context) error {
	for {
		msg, err := x.client.Read(ctx)
		if err != nil {
			return ending(err)
		}
		switch m := msg.(type) {
		case *jsonrpc.Response:
			x.send(ctx, m)
		case *jsonrpc.Request:
			x.request(ctx, m)
		}
	}
}

// request carries one request or notification of the client.
func (x *relay) request(ctx context.Context, m *jsonrpc.Request) {
	switch {
	case strings.EqualFold(m.Method, callTool) && m.IsCall():
		x.call(ctx, m)
	case strings.EqualFold(m.Method, callTool):
		x.log("a tools/call without an id is not passed on")
	case m.Method == cancelled && x.cancelled(m):
	case !m.IsCall():
		x.send(ctx, m)
	default:
		x.mu.Lock()
		switch m.Method {
		case listTools:
			x.lists[m.ID] = true
		case initialize:
			x.hello = m.ID
		}
		x.mu.Unlock()
		x.do(func() { x.pass(ctx, m) })
	}
}

// pass carries a request to the server; where it cannot be carried, the client gets an error.
func (x *relay) pass(ctx context.Context, m *jsonrpc.Request) {
	if err := x.server.Write(ctx, m); err != nil && ctx.Err() == nil {
		x.mu.Lock()
		delete(x.lists, m.ID)
		x.mu.Unlock()
		x.answer(ctx, failure(m.ID, "the MCP server was not reached: "+err.Error()))
	}
}

// do does something beside the reading.
func (x *relay) do(f func()) {
	x.work.Add(1)
	go func() {
		defer x.work.Done()
		f()
	}()
}

// send writes to the server what needs no answer.
func (x *relay) send(ctx context.Context, m jsonrpc.Message) {
	if err := x.server.Write(ctx, m); err != nil && ctx.Err() == nil {
		x.log("a message could not be passed on to the MCP server: " + err.Error())
	}
}

// answer writes to the client.
func (x *relay) answer(ctx context.Context, m jsonrpc.Message) {
	_ = x.client.Write(context.WithoutCancel(ctx), m) // it may have gone
}

// fromServer carries what the server says, until it ends.
func (x *relay) fromServer(ctx context.Context) error {
	defer x.serverEnded(ctx)
	for {
		msg, err := x.server.Read(ctx)
		if err != nil {
			if err = ending(err); err == nil && ctx.Err() == nil {
				err = errServerEnded
			}
			return err
		}
		switch m := msg.(type) {
		case *jsonrpc.Request:
			if m.Method == toolsChange {
				x.mu.Lock()
				x.stale = true
				x.mu.Unlock()
			}
			x.answer(ctx, m)
		case *jsonrpc.Response:
			x.response(ctx, m)
		}
	}
}

// response carries one answer of the server to whoever waits for it. One that nobody
// asked for is dropped.
func (x *relay) response(ctx context.Context, m *jsonrpc.Response) {
	x.mu.Lock()
	call, own, list := x.calls[m.ID], x.own[m.ID], x.lists[m.ID]
	delete(x.own, m.ID)
	delete(x.lists, m.ID)
	if hello := x.hello; hello.IsValid() && hello == m.ID {
		x.hello = jsonrpc.ID{}
		x.negotiated(m)
	}
	var got chan *jsonrpc.Response
	if call != nil {
		got, call.forwarded = call.forwarded, nil // one answer counts
	}
	x.mu.Unlock()
	switch {
	case own != nil:
		own <- m
	case got != nil:
		got <- m
	case call != nil:
		x.log("an answer to a call that the MCP server has not got is dropped")
	case list && m.Error == nil:
		x.do(func() { x.listed(ctx, m) })
	default:
		x.answer(ctx, m)
	}
}

// negotiated reads the answer to initialize.
func (x *relay) negotiated(m *jsonrpc.Response) {
	var in struct {
		Version string `json:"protocolVersion"`
	}
	if x.Negotiated != nil && m.Error == nil && strict(m.Result, &in) == nil {
		x.Negotiated(in.Version)
	}
}

// serverEnded ends what the server has not answered.
func (x *relay) serverEnded(ctx context.Context) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.ended = true
	for _, c := range x.calls {
		if c.forwarded != nil {
			close(c.forwarded)
			c.forwarded = nil
		}
		c.cancel()
	}
	for id, c := range x.own {
		close(c)
		delete(x.own, id)
	}
	for id := range x.lists {
		delete(x.lists, id)
		x.do(func() { x.answer(ctx, failure(id, errServerEnded.Error())) })
	}
}

// roundTrip asks the server on the proxy's own account.
func (x *relay) roundTrip(ctx context.Context, method string, params []byte) (*jsonrpc.Response, error) {
	id, err := jsonrpc.MakeID("approvalbot-" + uuid.NewString())
	if err != nil {
		return nil, err
	}
	got := make(chan *jsonrpc.Response, 1)
	x.mu.Lock()
	if x.ended {
		x.mu.Unlock()
		return nil, errServerEnded
	}
	x.own[id] = got
	x.mu.Unlock()
	defer func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		delete(x.own, id)
	}()
	if err := x.server.Write(ctx, &jsonrpc.Request{ID: id, Method: method, Params: params}); err != nil {
		return nil, err
	}
	select {
	case res, ok := <-got:
		if !ok {
			return nil, errServerEnded
		}
		return res, res.Error
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (x *relay) log(text string) {
	if x.Log != nil {
		x.Log(text)
	}
}

// failure is an answer that says what went wrong.
func failure(id jsonrpc.ID, text string) *jsonrpc.Response {
	return &jsonrpc.Response{ID: id, Error: &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: text}}
}

// ending is the error of a connection that ended otherwise than by its end.
func ending(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) || errors.Is(err, mcp.ErrConnectionClosed) {
		return nil
	}
	return err
}
