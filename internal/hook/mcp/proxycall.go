package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"approvalbot/api"
	"approvalbot/internal/hook"
	"approvalbot/internal/hook/ask"
)

// called asks for the call, has the server do it, and gives its answer; nil if the client has
// taken it back.
func (x *relay) called(ctx context.Context, m *jsonrpc.Request, own *pending) *jsonrpc.Response {
	in, err := readCall(m.Params)
	if err != nil {
		return &jsonrpc.Response{Error: &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}}
	}
	id := x.identified(in.meta)
	x.mu.Lock()
	x.lastMeta = id
	x.mu.Unlock()
	in.meta = x.meta(in.meta, own)
	in.token = own.token
	got, err := x.asked(ctx, in, false)
	if err != nil {
		return x.refused(ctx, m.ID, err)
	}
	res, err := x.forward(ctx, in, got, own)
	if err != nil || got.ByPerson() || !needsApproval(res) {
		return x.finish(ctx, m.ID, got, res, err) // a person's yes is for one run
	}
	x.report(ctx, got, "failed", "the tool asks for an approval of its own")
	if got, err = x.asked(ctx, in, true); err != nil {
		return x.refused(ctx, m.ID, err)
	}
	res, err = x.forward(ctx, in, got, own)
	return x.finish(ctx, m.ID, got, res, err)
}

// asked asks the desk for a call and claims it. A call whose tool has changed since is refused: the
// yes was for the earlier definition.
func (x *relay) asked(ctx context.Context, in call, mustAsk bool) (ask.Allowed, error) {
	req, gift, err := x.requestFor(ctx, in)
	if err != nil {
		return ask.Allowed{}, err
	}
	req.MustAsk = mustAsk || len(in.beside) > 0
	telling, over := context.WithCancel(ctx)
	got, err := x.Desk.Ask(ctx, req, x.waiting(telling, in))
	over()
	if err != nil {
		return ask.Allowed{}, err
	}
	now, _, err := x.facts(ctx, in.name)
	if err == nil {
		now.Otherwise = now.Otherwise || req.Context.Tool.Otherwise
	}
	if err == nil && !bytes.Equal(canonical(now), canonical(req.Context.Tool)) {
		err = errors.New("not allowed: the MCP server changed its description of the tool while people decided; ask " +
			"again")
	}
	if err != nil {
		x.report(ctx, got, "failed", "not run: what the MCP server says of the tool changed meanwhile")
		return got, err
	}
	x.handed(in.name, gift)
	return got, nil
}

// requestFor is the request for a call, with the server's description of the tool, and the last
// gift before.
func (x *relay) requestFor(ctx context.Context, in call) (api.CreateRequest, int, error) {
	tool, gift, err := x.facts(ctx, in.name)
	if err != nil {
		return api.CreateRequest{}, 0, err
	}
	params, err := in.params()
	return api.CreateRequest{
		ToolName: x.named(in.name), Params: params, SessionKey: x.Session, Bind: bind(x.Workdir, x.EnvHash),
		Context: &api.Context{Tool: tool},
	}, gift, err
}

// named is the desk's name of a tool: two underscores mark it as another server's.
func (p Proxy) named(tool string) string {
	return "mcp__" + p.Server + "__" + tool
}

// waiting tells a client that asked for progress that its call waits for approval, again and again until ctx ends.
func (x *relay) waiting(ctx context.Context, in call) func(api.Approval) {
	if in.token == nil {
		return nil
	}
	return func(a api.Approval) {
		tell := func(n float64) {
			// It grows, and stays below 1, so that every count of the server's is more.
			params := object(progressToken, in.token, "progress", n/(n+1000), "message", "waiting for approval "+a.Code)
			x.answer(ctx, &jsonrpc.Request{Method: progress, Params: json.RawMessage(params)})
		}
		tell(1)
		x.do(func() {
			again := time.NewTicker(cmp.Or(x.pause, progressPause))
			defer again.Stop()
			for n := 2.0; ; n++ {
				select {
				case <-again.C:
					tell(n)
				case <-ctx.Done():
					return
				}
			}
		})
	}
}

// forward sends a claimed call to the server: the claim's parameters, and those members of the
// client's _meta that may pass.
func (x *relay) forward(
	ctx context.Context, in call, got ask.Allowed, own *pending,
) (*jsonrpc.Response, error) {
	name, ours := strings.CutPrefix(got.Claim.ToolName, x.named(""))
	params, err := claimed(got.Claim.Params)
	if err != nil || !ours || name != in.name {
		return nil, errors.New("not allowed: the approval desk handed out another call")
	}
	params["name"] = value(name)
	meta := maps.Clone(in.meta)
	if got.ByPerson() {
		meta[approvalMeta] = approvalOf(got)
	}
	if len(meta) > 0 {
		params["_meta"] = value(meta)
	}
	out, err := encode(params)
	if err != nil {
		return nil, err
	}
	own.headers = x.headersOf(name, params["arguments"])
	return x.roundTrip(ctx, callTool, out, own)
}

// headersOf are the headers in which the server wants a call's arguments.
func (x *relay) headersOf(name string, arguments jsontext.Value) http.Header {
	x.mu.Lock()
	schema := x.own[name].Schema
	if given := x.shown[name].as; len(schema) == 0 && len(given) > 0 {
		schema = given[len(given)-1].Schema
	}
	x.mu.Unlock()
	out := http.Header{}
	argumentHeaders(schema, arguments, maxHeaderLevels, out)
	return out
}

// finish reports how a forwarded call went, and gives the answer to the client.
func (x *relay) finish(
	ctx context.Context, id jsonrpc.ID, got ask.Allowed, res *jsonrpc.Response, err error,
) *jsonrpc.Response {
	switch {
	case err != nil && x.takenBack(ctx):
		x.report(ctx, got, "failed", "the caller took it back while it ran")
		return nil
	case errors.Is(err, errTooLong), res != nil && res.Error == errCut: // it has run, and how it ended is not known
		return tellsModel(id, errCut.Message)
	case err != nil:
		x.report(ctx, got, "failed", "the MCP server gave no answer")
		return failure(id, err.Error())
	case res.Error != nil:
		x.report(ctx, got, "failed", "the MCP server refused it")
	case isError(res):
		x.report(ctx, got, "failed", "the tool says that it failed")
	default:
		x.report(ctx, got, "succeeded", "")
	}
	return withNotes(res, got)
}

// withNotes adds people's notes for the model to a tool's result, as a text after it. A result without content,
// such as a task's, is not changed.
func withNotes(res *jsonrpc.Response, got ask.Allowed) *jsonrpc.Response {
	note := hook.NotesText(got.Approval, got.Claim.Notes)
	if note == "" || res.Error != nil {
		return res
	}
	var all members
	var content []jsontext.Value
	if strict(res.Result, &all) != nil || strict(all["content"], &content) != nil || content == nil {
		return res
	}
	all["content"] = value(append(content, jsontext.Value(object("type", "text", "text", note))))
	return &jsonrpc.Response{ID: res.ID, Result: json.RawMessage(value(all))}
}

func (x *relay) report(ctx context.Context, got ask.Allowed, status, summary string) {
	if err := x.Desk.Report(ctx, got.Approval.ID, api.ResultRequest{ClaimID: got.Claim.ClaimID, Status: status, Summary: summary}); err != nil {
		x.log("the result of a call could not be reported: " + err.Error())
	}
}

// refused is the tool error of a call that was not passed on; nil if the client has
// cancelled the call.
func (x *relay) refused(ctx context.Context, id jsonrpc.ID, why error) *jsonrpc.Response {
	if x.takenBack(ctx) {
		return nil
	}
	return tellsModel(id, why.Error())
}

// tellsModel is a tool error with that text, which the model reads.
func tellsModel(id jsonrpc.ID, text string) *jsonrpc.Response {
	result := object("content", []any{map[string]string{"type": "text", "text": text}}, "isError", true)
	return &jsonrpc.Response{ID: id, Result: json.RawMessage(result)}
}

// takenBack reports whether the client does not want an answer any more: it ended the
// call, and not the server's end.
func (x *relay) takenBack(ctx context.Context) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return ctx.Err() != nil && !x.ended
}

// cancelled takes a request of the client back, at the server too if it is there.
func (x *relay) cancelled(ctx context.Context, m *jsonrpc.Request) {
	x.mu.Lock()
	r := x.requests[requestOf(m)]
	if r == nil {
		x.mu.Unlock()
		return
	}
	at := r.sent
	r.cancel()
	r.gone = true
	if r.call && !r.answered {
		x.withdraw(ctx)
	}
	x.mu.Unlock()
	if at.IsValid() {
		x.send(ctx, &jsonrpc.Request{Method: cancelled, Params: json.RawMessage(object("requestId", at.Raw()))})
	}
}

// withdraw takes the server's questions back if the client waits for no call any more. x.mu is held.
func (x *relay) withdraw(ctx context.Context) {
	for _, r := range x.requests {
		if r.call && !r.gone && !r.answered {
			return
		}
	}
	for id, q := range x.questions {
		if q.method != "ping" && !q.over {
			q.cancel()
			delete(x.questions, id)
			x.do(func() { x.deliver(ctx, failure(q.id, "the client took its call back")) })
		}
	}
}

// requestOf is the request that a notification cancels; not valid if it names no request.
func requestOf(m *jsonrpc.Request) jsonrpc.ID {
	var in struct {
		ID jsontext.Value `json:"requestId"`
	}
	_ = strict(m.Params, &in) // it names no request then
	id, _ := idOf(in.ID)
	return id
}

// needsApproval reports whether a tool's own result says that it has to be approved.
func needsApproval(m *jsonrpc.Response) bool {
	if m.Error != nil {
		return false
	}
	var res struct {
		Structured json.RawMessage `json:"structuredContent"`
		Content    []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
	}
	if json.Unmarshal(m.Result, &res) != nil {
		return false
	}
	if asksApproval(res.Structured) {
		return true
	}
	return len(res.Content) == 1 && res.Content[0].Type == "text" && asksApproval([]byte(res.Content[0].Text))
}

func asksApproval(raw []byte) bool {
	var in struct {
		Action string `json:"action"`
	}
	return json.Unmarshal(raw, &in) == nil && (in.Action == "needs_approval" || in.Action == "needs-approval")
}

func isError(m *jsonrpc.Response) bool {
	var res struct {
		IsError bool `json:"isError"`
	}
	return json.Unmarshal(m.Result, &res) == nil && res.IsError
}
