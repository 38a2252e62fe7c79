package acp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"approvalbot/internal/hook/ask"
)

// maxLine is the size of one message in bytes.
const maxLine = 64 << 20

var errLine = errors.New("a message is larger than 64 MiB")

// Relay connects one editor and one agent.
type Relay struct {
	Desk    ask.Approvals
	Workdir string       // of sessions whose own is not known
	Log     func(string) // nil: silent
}

// Streams are the two ends of one side.
type Streams struct {
	From io.Reader
	To   io.WriteCloser
}

// Run carries messages until the agent ends, and then returns nil or the agent's
// error. When the editor or ctx ends, open requests of the agent are withdrawn and
// its input is closed.
func (r Relay) Run(ctx context.Context, editor, agent Streams) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	x := &relay{
		Relay: r, editor: &writer{to: editor.To}, agent: &writer{to: agent.To},
		asked: map[string]*asked{}, opened: map[string]string{}, workdirs: map[string]string{},
		reported: map[callKey]toolCall{},
	}
	ended := make(chan error, 1)
	go func() { ended <- lines(agent.From, func(line []byte) { x.fromAgent(ctx, line) }) }()
	go func() { // it reads until the editor ends, possibly never
		if err := lines(editor.From, x.fromEditor); err != nil {
			x.log("the editor's messages cannot be read: " + err.Error())
		}
		x.cancelAll("")
		_ = agent.To.Close()
	}()
	stop := context.AfterFunc(ctx, func() { _ = agent.To.Close() })
	defer stop()
	err := <-ended
	cancel()
	x.work.Wait()
	return err
}

// relay is one Run.
type relay struct {
	Relay
	editor, agent *writer
	work          sync.WaitGroup
	reported      map[callKey]toolCall // of calls that have not ended; for fromAgent alone

	mu       sync.Mutex
	asked    map[string]*asked // open requests of the agent, by keyOf of their id
	opened   map[string]string // the editor's session/new: its id, and the working directory
	workdirs map[string]string // of sessions
}

// callKey names a tool call of a session.
type callKey struct{ session, call string }

// asked is one session/request_permission under way.
type asked struct {
	session string
	cancel  context.CancelFunc
}

// message is a JSON-RPC message, the members that Relay reads.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
}

// read takes the members by their exact names: encoding/json does not mind letter case.
func read(line []byte) (message, bool) {
	var all map[string]json.RawMessage
	if json.Unmarshal(line, &all) != nil || all == nil {
		return message{}, false
	}
	out := message{ID: all["id"], Params: all["params"], Result: all["result"]}
	if m, ok := all["method"]; ok && json.Unmarshal(m, &out.Method) != nil {
		return message{}, false
	}
	if bytes.Equal(out.ID, []byte("null")) {
		out.ID = nil
	}
	return out, true
}

// fromAgent carries one line of the agent, or has the desk answer it.
func (x *relay) fromAgent(ctx context.Context, line []byte) {
	m, ok := read(line)
	switch {
	case !ok:
		x.log("a line of the agent is not a message, so it is not passed on")
	case m.Method == "session/request_permission" && m.ID != nil:
		x.permission(ctx, m)
	case m.Method == "session/request_permission":
		x.log("dropped a session/request_permission that has no id")
	case m.Method == "$/cancel_request" && x.cancelOne(m.Params):
	default:
		switch {
		case m.Method == "" && m.ID != nil:
			x.answered(m)
		case m.Method == "session/update":
			x.observe(m.Params)
		}
		x.editor.line(line)
	}
}

// fromEditor carries one line of the editor.
func (x *relay) fromEditor(line []byte) {
	m, ok := read(line)
	switch {
	case !ok:
		x.log("a line of the editor is not a message, so it is not passed on")
		return
	case m.Method == "" && x.isAsked(m.ID):
		x.log("dropped an answer of the editor to a question that it was not asked")
		return
	case m.Method == "session/new" && m.ID != nil, m.Method == "session/load":
		x.opening(m)
	case m.Method == "session/cancel":
		x.cancelAll(sessionOf(m.Params))
	}
	x.agent.line(line)
}

// permission has the desk answer the agent.
func (x *relay) permission(ctx context.Context, m message) {
	ctx, cancel := context.WithCancel(ctx)
	in := readRequest(m.Params)
	in.tool = in.tool.asked(x.reported[callKey{in.Session, in.tool.ID}])
	key := keyOf(m.ID)
	own := &asked{session: in.Session, cancel: cancel}
	x.mu.Lock()
	first := x.asked[key]
	if first != nil {
		first.cancel() // its answer could be taken for the second one's
	} else {
		x.asked[key] = own
	}
	dir, known := x.workdirs[in.Session]
	x.mu.Unlock()
	if !known {
		dir = x.Workdir
	}
	if first != nil {
		cancel()
		x.log("the agent sent two questions with one id, so neither is allowed")
		return
	}
	x.work.Go(func() {
		defer cancel()
		outcome := x.decide(ctx, in, dir)
		x.mu.Lock()
		delete(x.asked, key)
		x.mu.Unlock()
		result := map[string]any{"outcome": outcome}
		answer, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": result})
		if err == nil {
			x.agent.line(answer)
		}
	})
}

// observe keeps what the agent tells the editor of a call until it has ended: a question
// about it may leave out what was reported.
func (x *relay) observe(params json.RawMessage) {
	var in struct {
		Session string `json:"sessionId"`
		Update  struct {
			toolCall
			About  string `json:"sessionUpdate"`
			Status string `json:"status"`
		} `json:"update"`
	}
	_ = json.Unmarshal(params, &in) // the readable members count
	if in.Update.About != "tool_call" && in.Update.About != "tool_call_update" {
		return
	}
	key := callKey{in.Session, in.Update.ID}
	if in.Update.Status == "completed" || in.Update.Status == "failed" {
		delete(x.reported, key)
		return
	}
	x.reported[key] = in.Update.after(x.reported[key])
}

// decide gives the outcome for the agent. It is cancelled if ctx has ended. If no
// option allows just this once, decide rejects without asking the desk.
func (x *relay) decide(ctx context.Context, in request, workdir string) any {
	allow, ok := in.option("allow_once")
	switch {
	case in.err != nil:
		x.log("not allowed: " + in.err.Error())
		return in.reject()
	case !ok:
		x.log("not allowed: the agent offers no option to allow it once")
		return in.reject()
	}
	_, err := x.Desk.Ask(ctx, in.call(workdir), nil)
	switch {
	case err == nil && ctx.Err() == nil:
		return selected(allow)
	case ctx.Err() != nil:
		return map[string]string{"outcome": "cancelled"}
	}
	x.log(err.Error())
	return in.reject()
}

// opening keeps the working directory of a session.
func (x *relay) opening(m message) {
	var in struct {
		Workdir string `json:"cwd"`
		Session string `json:"sessionId"`
	}
	if json.Unmarshal(m.Params, &in) != nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if in.Session != "" {
		x.workdirs[in.Session] = in.Workdir
	} else if m.ID != nil {
		x.opened[keyOf(m.ID)] = in.Workdir
	}
}

// answered looks for the session that an answer of the agent opens.
func (x *relay) answered(m message) {
	x.mu.Lock()
	defer x.mu.Unlock()
	dir, ok := x.opened[keyOf(m.ID)]
	if !ok {
		return
	}
	delete(x.opened, keyOf(m.ID))
	if session := sessionOf(m.Result); session != "" {
		x.workdirs[session] = dir
	}
}

func sessionOf(raw json.RawMessage) string {
	var in struct {
		Session string `json:"sessionId"`
	}
	_ = json.Unmarshal(raw, &in)
	return in.Session
}

// keyOf is an id as one text, however it is written: 1 and 1.0 are the same to an agent.
func keyOf(id json.RawMessage) string {
	v := jsontext.Value(id).Clone()
	if v.Canonicalize() != nil {
		return string(id)
	}
	return string(v)
}

func (x *relay) isAsked(id json.RawMessage) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return id != nil && x.asked[keyOf(id)] != nil
}

// cancelOne takes back what the agent does not ask any more, and reports whether it was
// a question to the desk.
func (x *relay) cancelOne(params json.RawMessage) bool {
	var in struct {
		ID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(params, &in) != nil {
		return false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	a := x.asked[keyOf(in.ID)]
	if a != nil {
		a.cancel()
	}
	return a != nil
}

// cancelAll withdraws the requests of a session; with an empty id, of all of them.
func (x *relay) cancelAll(session string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, a := range x.asked {
		if session == "" || a.session == session {
			a.cancel()
		}
	}
}

func (x *relay) log(text string) {
	if x.Log != nil {
		x.Log(text)
	}
}

// writer writes whole lines, one at a time.
type writer struct {
	mu sync.Mutex
	to io.Writer
}

func (w *writer) line(line []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, _ = w.to.Write(append(bytes.Clone(line), '\n')) // a reader that is gone gets no answer
}

// lines gives each line to f, without its end, and empty ones not at all.
func lines(from io.Reader, f func([]byte)) error {
	r := bufio.NewReaderSize(from, 64<<10)
	var line []byte
	for {
		part, more, err := r.ReadLine()
		if err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) {
				return nil
			}
			return err
		}
		if line = append(line, part...); len(line) > maxLine {
			return errLine
		}
		if more {
			continue
		}
		if len(bytes.TrimSpace(line)) > 0 {
			f(line)
		}
		line = line[:0]
	}
}
