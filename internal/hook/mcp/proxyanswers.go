package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"approvalbot/api"
	"approvalbot/internal/hook/ask"
)

// question is a request of the server to the client. Its answer can decide what a call does that
// was allowed before, so a person is asked for it.
type question struct {
	ctx      context.Context // ends when the server takes it back
	cancel   context.CancelFunc
	id       jsonrpc.ID // the server's
	method   string
	params   jsontext.Value
	answered bool
	over     bool // its id is free for the server again: its answer is being written
}

// reply carries the client's answer to a question of the server.
func (x *relay) reply(ctx context.Context, m *jsonrpc.Response) {
	x.mu.Lock()
	q := x.questions[m.ID]
	first := q != nil && !q.answered
	if first {
		q.answered = true
	}
	x.mu.Unlock()
	if !first {
		x.log("dropped an answer of the client to a request that it was not sent")
		return
	}
	x.do(func() {
		result, got, err := x.agreed(q, m)
		x.mu.Lock()
		q.over = true
		x.mu.Unlock()
		if q.ctx.Err() == nil {
			x.deliver(ctx, &jsonrpc.Response{ID: q.id, Result: json.RawMessage(result), Error: err})
		}
		q.cancel()
		x.mu.Lock()
		delete(x.questions, m.ID) // not before the server has it: what one that does not read asks is bounded
		x.mu.Unlock()
		if got != nil {
			x.report(ctx, *got, "succeeded", "")
		}
	})
}

// agreed is what the server gets for an answer: its own result if a person allowed it, or if the
// proxy knows everything that it says.
func (x *relay) agreed(q *question, m *jsonrpc.Response) (jsontext.Value, *ask.Allowed, error) {
	if m.Error != nil {
		return nil, nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the client gives no answer"}
	}
	elicited := q.method == "elicitation/create"
	switch {
	case q.method == "ping":
		return jsontext.Value(`{}`), nil, nil
	case q.method == "roots/list":
		if own := x.rootsWithin(m.Result); own != nil {
			return own, nil, nil
		}
	case elicited && declines(m.Result) != nil:
		return declines(m.Result), nil, nil
	}
	done, free := x.turnOf(q.method)
	if !free {
		return nil, nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError,
			Message: "not allowed: another answer of this kind waits for people, or there were too many; ask later"}
	}
	defer done()
	said, got, err := x.askedBeside(q.ctx, q.method, members{
		"method": value(q.method), "params": orNull(q.params),
		"answer": orNull(jsontext.Value(m.Result)), // its name sorts first: it is what is decided
	})
	switch {
	case err == nil:
		return said["answer"], &got, nil
	case elicited:
		return jsontext.Value(`{"action":"decline"}`), nil, nil
	}
	return nil, nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
}

const (
	maxQuestions = 100 // of a server, not answered yet
	maxInMinute  = 10  // answers for which people are asked
)

// turnOf lets one answer of a kind wait for people at a time, and so many a minute.
func (x *relay) turnOf(method string) (done func(), free bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if time.Since(x.minute) > time.Minute {
		x.minute, x.inMinute = time.Now(), 0
	}
	if x.people[method] || x.inMinute >= maxInMinute {
		return nil, false
	}
	x.people[method] = true
	x.inMinute++
	return func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		delete(x.people, method)
	}, true
}

func orNull(v jsontext.Value) jsontext.Value {
	if len(v) == 0 {
		return jsontext.Value("null")
	}
	return v
}

// declines is the answer of a client that gives the server no content; nil if it gives some.
func declines(result []byte) jsontext.Value {
	var in struct {
		Action string `json:"action"`
	}
	if strict(result, &in) != nil || in.Action != "decline" && in.Action != "cancel" {
		return nil
	}
	return jsontext.Value(object("action", in.Action))
}

// rootsWithin is the client's answer to roots/list if all of them are in the proxy's directory, to
// which its calls are bound; else nil.
func (x *relay) rootsWithin(result []byte) jsontext.Value {
	var in struct {
		Roots []struct {
			URI string `json:"uri"`
		} `json:"roots"`
	}
	if strict(result, &in) != nil {
		return nil
	}
	for _, r := range in.Roots {
		at, err := url.Parse(r.URI)
		if err != nil || (&url.URL{Scheme: "file", Path: at.Path}).String() != r.URI || // no user, host or query
			path.Clean(at.Path) != at.Path || !isWithin(at.Path, x.Workdir) {
			return nil
		}
	}
	out, err := encode(in)
	if err != nil {
		return nil
	}
	return jsontext.Value(out)
}

// isWithin reports whether a path leads to a directory or to what is in it, links followed.
func isWithin(at, dir string) bool {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil || !filepath.IsAbs(dir) {
		return false
	}
	to, err := filepath.EvalSymlinks(at)
	return err == nil && (to == dir || strings.HasPrefix(to, strings.TrimSuffix(dir, "/")+"/"))
}

// questionName begins the name as which an answer is asked for. No tool is passed on whose name does.
const questionName = "question:"

// denialTime is how long what people denied is not asked for again.
const denialTime = 10 * time.Minute

// denial is when people denied something, and what the asker was told.
type denial struct {
	at  time.Time
	why error
}

// askedBeside asks a person for something that reaches the server and is no call of a tool. It gives
// what the desk handed out.
func (x *relay) askedBeside(ctx context.Context, method string, all members) (members, ask.Allowed, error) {
	params, err := encode(map[string]members{beside: all}) // a value that cannot be encoded must not become null
	if err != nil {
		return nil, ask.Allowed{}, errors.New("not allowed: approvers cannot be shown the call, because it has a " +
			"member twice, text that is not UTF-8, or too many nested levels")
	}
	key := hashOf(params)
	x.mu.Lock()
	no, denied := x.denied[key]
	x.mu.Unlock()
	if denied && time.Since(no.at) < denialTime {
		return nil, ask.Allowed{}, no.why
	}
	got, err := x.Desk.Ask(ctx, api.CreateRequest{
		ToolName: x.named(questionName + method), Params: params, SessionKey: x.Session, Bind: bind(x.Workdir, x.EnvHash),
		MustAsk: true, Context: &api.Context{Tool: &api.Tool{Server: x.Name}},
	}, nil)
	if r := (*ask.Refusal)(nil); errors.As(err, &r) && r.Cause == nil && r.Approval.Status == api.Denied {
		x.mu.Lock()
		if x.denied == nil || len(x.denied) >= maxTasks {
			x.denied = map[string]denial{}
		}
		x.denied[key] = denial{time.Now(), err}
		x.mu.Unlock()
	}
	if err != nil {
		return nil, ask.Allowed{}, err
	}
	out, err := claimed(got.Claim.Params)
	if err != nil || got.Claim.ToolName != x.named(questionName+method) {
		return nil, ask.Allowed{}, errors.New("not allowed: the approval desk handed out another call")
	}
	return out, got, nil
}

// outgoing gives the params with which a request that calls no tool reaches the server. If they
// answer the server, a person is asked, and got is the claim.
func (x *relay) outgoing(
	ctx context.Context, m *jsonrpc.Request, own *pending,
) (params []byte, got *ask.Allowed, err error) {
	all := members{}
	if len(m.Params) > 0 && strict(m.Params, &all) != nil {
		return nil, nil, errors.New("the params must be an object, with no member twice")
	}
	var meta members
	_ = strict(all["_meta"], &meta) // it has no identity, then
	if m.Method == initialize {
		return x.initParams(all), nil, nil
	}
	if m.Method == listTools {
		id := x.identified(meta)
		x.mu.Lock()
		x.lastMeta = id
		x.mu.Unlock()
		return listParams(all["cursor"], id), nil, nil
	}
	answers := passes()[m.Method]
	for name := range all {
		answers = answers || strings.EqualFold(name, "inputResponses") || strings.EqualFold(name, "requestState")
	}
	_, has := all["_meta"]
	delete(all, "_meta")
	meta = x.meta(meta, own)
	if isOfTask(m.Method) && m.Method != updateTask {
		return x.ofTask(ctx, m.Method, all["taskId"], meta)
	}
	if !answers {
		return withMeta(m.Params, all, meta, has), nil, nil
	}
	said, allowed, err := x.askedBeside(ctx, m.Method, members{"method": value(m.Method), "params": value(all)})
	if err != nil {
		return nil, nil, err
	}
	out := members{}
	if err := strict(said["params"], &out); err != nil || out == nil {
		return nil, nil, errors.New("not allowed: the approval desk's answer lacks the params of the call")
	}
	return withMeta(nil, out, meta, true), &allowed, nil
}

// withMeta are params with these members and that _meta: raw if the client gave no _meta.
func withMeta(raw []byte, all, meta members, given bool) []byte {
	if !given {
		return raw
	}
	if len(meta) > 0 {
		all["_meta"] = value(meta)
	}
	return value(all)
}
