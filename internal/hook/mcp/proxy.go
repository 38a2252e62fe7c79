package mcp

import (
	"context"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"approvalbot/internal/hook/ask"
	"approvalbot/internal/lazy"
)

// Proxy relays between one client and one server, and asks the desk for every call of a
// tool, and for every answer to a question of the server. For other messages see passes.
type Proxy struct {
	Desk    ask.Approvals
	Name    string // the operator's name for the server; empty if not known
	Server  string // tells servers without a name apart, and is part of the names of tools
	Session string // sessionKey of its calls
	Workdir string
	EnvHash string       // of what the server is started with or sent; its calls are bound to it, as to Workdir
	Log     func(string) // nil: silent

	pause time.Duration // between two words of progress while a person is asked; 0: progressPause

	// Negotiated, if not nil, is called with which version of the protocol the two agree on.
	Negotiated func(version string)
}

// Methods that the proxy looks at.
const (
	initialize  = "initialize"
	initialized = "notifications/initialized"
	callTool    = "tools/call"
	listTools   = "tools/list"
	updateTask  = "tasks/update"
	toolsChange = "notifications/tools/list_changed"
	cancelled   = "notifications/cancelled"
	progress    = "notifications/progress"
)

// passes are the requests of the client that reach the server beside calls of tools: true if they
// carry an answer to the server. A method that MCP does not name could be anything and is refused.
var passes = sync.OnceValue(func() map[string]bool {
	return map[string]bool{
		initialize: false, "ping": false, "server/discover": false, listTools: false,
		"resources/list": false, "resources/templates/list": false, "resources/read": false,
		"resources/subscribe": false, "resources/unsubscribe": false, "subscriptions/listen": false,
		"prompts/list": false, "prompts/get": false, "completion/complete": false, "logging/setLevel": false,
		"tasks/get": false, "tasks/result": false, "tasks/cancel": false, updateTask: true,
	}
})

// notices are the client's notifications that reach the server, without params.
var notices = lazy.Words("notifications/initialized notifications/roots/list_changed")

// progressPause is how often a client that asked for progress is told that its call waits: many give up
// after a minute without a word.
const progressPause = 10 * time.Second

// errCut replaces an answer that is too large to be passed on. It is recognized by its address.
var errCut = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the MCP server was " +
	"asked, but its answer is not passed on: " +
	errTooLong.why + ". How it ended is not known; ask for less of it"}

// errServerEnded ends what the server has not answered.
var errServerEnded = errors.New("the MCP server has ended")

// Run carries messages until one side ends, and closes both. It returns nil if the client or
// ctx ended it.
func (p Proxy) Run(ctx context.Context, client, server mcp.Connection) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	x := &relay{
		Proxy: p, ctx: ctx, client: client, server: server,
		requests: map[jsonrpc.ID]*pending{}, flights: map[jsonrpc.ID]*flight{}, tasks: map[task]bool{},
		questions: map[jsonrpc.ID]*question{}, shown: map[string]shown{}, people: map[string]bool{},
		toServer: newLane(), toClient: newLane(), says: make(chan string, maxNotices),
	}
	over, logged := make(chan struct{}), make(chan struct{})
	go func() { defer close(logged); x.logs(over) }()
	if _, many := server.(manyWriters); !many {
		x.turn = make(chan struct{}, 1)
	}
	ended := make(chan error, 2)
	go func() { ended <- x.fromClient(ctx) }()
	go func() { ended <- x.fromServer(ctx) }()
	err := <-ended // both read until ctx ends
	cancel()       // open requests are withdrawn
	closed, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(closed)
		_ = server.Close() // it may never take what is being written
	}()
	go func() {
		defer close(done)
		<-ended
		x.work.Wait() // and answered, if the client still reads
	}()
	within(done, stopTime)
	_ = client.Close()
	within(done, endTime)
	within(closed, endTime)
	close(over)
	within(logged, stopTime)
	return err
}

// endTime is how long the end waits for the desk to be told, and for the server to end.
const endTime = 4 * stopTime

// within waits for done, for so long at most.
func within(done <-chan struct{}, most time.Duration) {
	t := time.NewTimer(most)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
	}
}

// manyWriters is a connection that writes messages side by side.
type manyWriters interface{ writesSideBySide() }

// relay is one Run.
type relay struct {
	Proxy
	ctx            context.Context // of all of it
	client, server mcp.Connection
	work           sync.WaitGroup
	turn           chan struct{} // taken while a message is written to the server; nil if writes may overlap
	toServer       *lane
	toClient       *lane

	mu         sync.Mutex
	requests   map[jsonrpc.ID]*pending  // of the client, not answered yet
	flights    map[jsonrpc.ID]*flight   // requests that the server has not answered
	sent       int64                    // id of the last of them: the proxy numbers them all alike
	questions  map[jsonrpc.ID]*question // the server's requests, not answered yet, by their ids for the client
	questioned int64                    // the last of these ids; they are not used again
	people     map[string]bool          // methods of those that wait for a person
	tasks      map[task]bool            // those of the client: see keepTask
	minute     time.Time                // in which people were asked for so many of them
	inMinute   int
	identity   members               // the client's, of its first request that has one
	denied     map[string]denial     // by the hash of what was asked for
	greeted    members               // the client's identity, from its first initialize
	lastMeta   members               // identity in the client's last tools/list or tools/call
	shown      map[string]shown      // tools as the client was given them
	listing    int                   // which of the client's listings is the newest
	gifts      int                   // how often the client was given a page of them
	forgotten  int                   // the last gift at which shown was emptied; 0: it never was
	own        map[string]definition // tools as the proxy was given them; nil if it did not ask
	asking     *ownList              // of the proxy, under way; nil if it asks for no list
	changes    int                   // how often own, or its absence, came to be outdated
	told       int                   // changes when own was asked for
	ended      bool

	delivery sync.Mutex  // held while a list of tools is noted and given to the client
	numbered int64       // the last progress token for the server
	says     chan string // lines of the log that are not written yet
	dropped  sync.Once   // says that members of _meta are dropped
}

// flight is a request that the server has not answered.
type flight struct {
	got  chan *jsonrpc.Response
	call bool // of a tool
}

// pending is a request of the client.
type pending struct {
	cancel   context.CancelFunc
	sent     jsonrpc.ID     // at the server, if it is there
	progress int64          // the number sent to the server as its progress token; 0 if not set
	token    jsontext.Value // the client's for it
	answered bool           // its id is free again
	gone     bool           // the client took it back
	call     bool           // of a tool
	shows    func()         // notes the tools that its answer gives the client; nil if it gives no tools
	headers  http.Header    // those in which a call's arguments go to a server over HTTP
}

// fromClient carries what the client says. It is nil at the end of its input.
func (x *relay) fromClient(ctx context.Context) error {
	for {
		msg, err := x.client.Read(ctx)
		if bad := (unreadable{}); errors.As(err, &bad) {
			x.unanswerable(ctx, jsonrpc.CodeParseError, "a message of the client is dropped: "+bad.why)
			continue
		}
		if err != nil {
			return ending(err)
		}
		switch m := msg.(type) {
		case *jsonrpc.Response:
			x.reply(ctx, m)
		case *jsonrpc.Request:
			x.request(ctx, m)
		}
	}
}

// unanswerable tells the client of a message to which no answer can be given under an id. An answer
// under the id of another request would be taken for that one's.
func (x *relay) unanswerable(ctx context.Context, code int64, why string) {
	x.log(why)
	x.answer(ctx, &jsonrpc.Response{Error: &jsonrpc.Error{Code: code, Message: why}})
}

// request carries one request or notification of the client.
func (x *relay) request(ctx context.Context, m *jsonrpc.Request) {
	_, passed := passes()[m.Method]
	switch {
	case m.Method == cancelled:
		x.cancelled(ctx, m)
	case !m.IsCall() && notices.Has(m.Method):
		x.send(ctx, &jsonrpc.Request{Method: m.Method})
	case !m.IsCall():
		x.log(fmt.Sprintf("%.64q without an id is not passed on", m.Method))
	case strings.EqualFold(m.Method, callTool):
		x.serve(ctx, m, x.called)
	case passed:
		x.serve(ctx, m, x.passed)
	default:
		x.answer(ctx, &jsonrpc.Response{ID: m.ID, Error: &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound,
			Message: fmt.Sprintf("approvalbot does not pass the method %.64q on", m.Method)}})
	}
}

// serve answers one request of the client in its own time. how gives the answer; nil if the
// client has taken the request back.
func (x *relay) serve(
	ctx context.Context, m *jsonrpc.Request, how func(context.Context, *jsonrpc.Request, *pending) *jsonrpc.Response,
) {
	ctx, cancel := context.WithCancel(ctx)
	own, before := &pending{cancel: cancel, call: strings.EqualFold(m.Method, callTool)}, x.written(x.toServer)
	x.mu.Lock()
	under := x.requests[m.ID]
	twice := under != nil && !under.answered
	if !twice {
		x.requests[m.ID] = own
	}
	x.mu.Unlock()
	if twice {
		cancel()
		x.unanswerable(ctx, jsonrpc.CodeInvalidRequest,
			fmt.Sprintf("a request of the client is dropped: "+
				"another one with the id %.64q is under way", fmt.Sprint(m.ID.Raw())))
		return
	}
	x.do(func() {
		defer func() {
			cancel()
			x.mu.Lock()
			defer x.mu.Unlock()
			if x.requests[m.ID] == own {
				delete(x.requests, m.ID)
			}
		}()
		select {
		case <-before: // notices that the client gave before
		case <-ctx.Done():
		}
		res := how(ctx, m, own)
		if own.shows != nil {
			x.delivery.Lock()
			defer x.delivery.Unlock()
			own.shows()
		}
		x.mu.Lock()
		own.answered = true // before the client can know it, and use the id again
		x.mu.Unlock()
		if res != nil {
			within(x.written(x.toClient), stopTime) // messages of the server before its answer
			x.answer(ctx, &jsonrpc.Response{ID: m.ID, Result: res.Result, Error: res.Error})
		}
	})
}

// passed has the server answer a request that calls no tool. An answer to the server's questions
// in it is asked for.
func (x *relay) passed(ctx context.Context, m *jsonrpc.Request, own *pending) *jsonrpc.Response {
	params, got, err := x.outgoing(ctx, m, own)
	if err != nil {
		return failure(m.ID, err.Error())
	}
	listing := x.begins(m.Method, params)
	res, err := x.roundTrip(ctx, m.Method, params, own)
	if got != nil {
		res = x.finish(ctx, m.ID, *got, res, err)
	}
	switch {
	case x.takenBack(ctx):
		return nil
	case err != nil:
		return failure(m.ID, err.Error())
	case m.Method == initialize:
		x.negotiated(res)
	case m.Method == listTools && res.Error == nil:
		return x.listed(ctx, res, listing, own)
	}
	return res
}

// do does something beside the reading.
func (x *relay) do(f func()) {
	x.work.Add(1)
	go func() {
		defer x.work.Done()
		f()
	}()
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
		if bad := (unreadable{}); errors.As(err, &bad) {
			x.log("a message of the MCP server is dropped: " + bad.why)
			if bad.of.IsValid() {
				x.response(&jsonrpc.Response{ID: bad.of, Error: errCut})
			}
			continue
		}
		if err != nil {
			if err = ending(err); err == nil && ctx.Err() == nil {
				err = errServerEnded
			}
			return err
		}
		switch m := msg.(type) {
		case *jsonrpc.Request:
			if !m.IsCall() && m.Method == progress {
				m = x.progressed(m)
			}
			if m == nil || !m.IsCall() && !x.isOfKnownTask(m) {
				continue
			}
			if refused, passed := x.asks(ctx, m); passed != nil {
				x.notify(ctx, passed)
			} else if refused != "" {
				x.send(ctx, failure(m.ID, refused))
			}
		case *jsonrpc.Response:
			x.response(m)
		}
	}
}

// progressed translates the server's progress message to the client's token; nil if it belongs to no
// open request.
func (x *relay) progressed(m *jsonrpc.Request) *jsonrpc.Request {
	all, number := members{}, int64(0)
	if strict(m.Params, &all) != nil || strict(all[progressToken], &number) != nil {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, r := range x.requests {
		if r.progress == number && number != 0 && r.sent.IsValid() {
			all[progressToken] = r.token
			return &jsonrpc.Request{Method: progress, Params: stdjson.RawMessage(value(all))}
		}
	}
	return nil
}

// asks records a message that the server sends of its own accord, and gives it in the form for
// the client; nil if it is not passed on: then the server is refused with this text, or gets no
// answer if the text is empty.
func (x *relay) asks(ctx context.Context, m *jsonrpc.Request) (refused string, passed *jsonrpc.Request) {
	if _, err := encode(orNull(jsontext.Value(m.Params))); err != nil && m.IsCall() {
		return "the params have a member twice, or text that is not UTF-8", nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case m.Method == "":
		x.log("a message of the MCP server without a method is dropped")
		return "", nil
	case m.IsCall() && x.questionOf(m.ID).IsValid():
		x.log("dropped a request of the MCP server, because another one with its id is under way")
		return "", nil
	case m.IsCall() && strings.HasPrefix(m.Method, "tasks/"):
		return "approvalbot carries no tasks of the client", nil
	case m.IsCall() && len(x.questions) >= maxQuestions:
		return "too many requests are under way", nil
	case m.IsCall():
		x.questioned++
		id, err := jsonrpc.MakeID(float64(x.questioned))
		if err != nil {
			return err.Error(), nil
		}
		ctx, cancel := context.WithCancel(ctx)
		x.questions[id] = &question{ctx: ctx, cancel: cancel, id: m.ID, method: m.Method, params: jsontext.Value(m.Params)}
		return "", &jsonrpc.Request{ID: id, Method: m.Method, Params: m.Params}
	case m.Method == toolsChange:
		x.changes++
	case m.Method == cancelled:
		id := x.questionOf(requestOf(m))
		if !id.IsValid() {
			return "", nil
		}
		x.questions[id].cancel()
		delete(x.questions, id)
		return "", &jsonrpc.Request{Method: cancelled, Params: stdjson.RawMessage(object("requestId", id.Raw()))}
	}
	return "", m
}

// questionOf is the client's id of the server's request; not valid if it is not under way. x.mu is held.
func (x *relay) questionOf(servers jsonrpc.ID) jsonrpc.ID {
	for id, q := range x.questions {
		if q.id == servers && !q.over {
			return id
		}
	}
	return jsonrpc.ID{}
}

// response carries one answer of the server to the request that waits for it. Any other answer
// is dropped.
func (x *relay) response(m *jsonrpc.Response) {
	x.mu.Lock()
	f := x.flights[m.ID]
	delete(x.flights, m.ID) // one answer counts
	x.mu.Unlock()
	if f == nil {
		x.log("dropped an answer of the MCP server to a request that it was not sent")
		return
	}
	if f.call {
		x.keepTask(task{id: taskOf(m.Result)}) // before the server's next message, which may belong to it
	}
	f.got <- m
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
	for id, f := range x.flights {
		close(f.got)
		delete(x.flights, id)
	}
	for _, r := range x.requests {
		r.cancel()
	}
	for _, q := range x.questions {
		q.cancel()
	}
}

// roundTrip sends a request to the server and waits for its answer. own is the client's request;
// nil if the proxy asks for itself. The server sees no difference.
func (x *relay) roundTrip(
	ctx context.Context, method string, params []byte, own *pending,
) (*jsonrpc.Response, error) {
	got := make(chan *jsonrpc.Response, 1)
	x.mu.Lock()
	if x.ended || ctx.Err() != nil {
		x.mu.Unlock()
		return nil, errServerEnded
	}
	x.sent++
	id, err := jsonrpc.MakeID(float64(x.sent))
	if err != nil {
		x.mu.Unlock()
		return nil, err
	}
	x.flights[id] = &flight{got, method == callTool}
	x.mu.Unlock()
	defer func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		delete(x.flights, id)
		if own != nil {
			own.sent = jsonrpc.ID{}
		}
	}()
	m := &jsonrpc.Request{ID: id, Method: method, Params: params}
	if own != nil {
		m.Extra = own.headers
	}
	err = x.write(ctx, m, func() {
		if own != nil {
			own.sent = id
		}
	})
	if err != nil {
		return nil, fmt.Errorf("the MCP server gave no answer: %w", err)
	}
	select {
	case res, ok := <-got:
		if !ok {
			return nil, errServerEnded
		}
		return res, nil
	case <-ctx.Done():
		x.mu.Lock()
		defer x.mu.Unlock()
		if x.ended {
			return nil, errServerEnded
		}
		return nil, ctx.Err()
	}
}

// log has a line logged beside all else: an unread log must not delay a cancel. Lines that exceed the
// buffer are dropped.
func (x *relay) log(text string) {
	select {
	case x.says <- text:
	default:
	}
}

// logs writes the lines until over is closed, and those that are there by then.
func (x *relay) logs(over <-chan struct{}) {
	for {
		text := ""
		select {
		case text = <-x.says:
		case <-over:
			select {
			case text = <-x.says:
			default:
				return
			}
		}
		if x.Log != nil {
			x.Log(text)
		}
	}
}

// failure is an answer with an error text.
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
