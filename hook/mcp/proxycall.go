package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"approvalbot/api"
	"approvalbot/hook/ask"
)

// callParams are the params of tools/call.
type callParams struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments,omitzero"`

	// What else MCP says of a call. No other member is passed on: a server that does not
	// mind letter case could take "Name" for the name.
	Meta      jsontext.Value `json:"_meta,omitzero"`
	Task      jsontext.Value `json:"task,omitzero"`
	Responses jsontext.Value `json:"inputResponses,omitzero"`
	State     jsontext.Value `json:"requestState,omitzero"`
}

// call takes a call of a tool and answers it in its own time.
func (x *relay) call(ctx context.Context, m *jsonrpc.Request) {
	ctx, cancel := context.WithCancel(ctx)
	own := &pending{cancel: cancel}
	x.mu.Lock()
	under := x.calls[m.ID]
	twice := under != nil && !under.answered || x.lists[m.ID]
	if !twice {
		x.calls[m.ID] = own
	}
	x.mu.Unlock()
	if twice {
		cancel()
		x.answer(ctx, failure(m.ID, "a request with this id is under way"))
		return
	}
	x.do(func() {
		defer func() {
			cancel()
			x.mu.Lock()
			defer x.mu.Unlock()
			if x.calls[m.ID] == own {
				delete(x.calls, m.ID)
			}
		}()
		res := x.called(ctx, m, own)
		x.mu.Lock()
		own.answered = true // before the client can know it, and use the id again
		x.mu.Unlock()
		if res != nil {
			x.answer(ctx, res)
		}
	})
}

// called asks for the call, has the server do it, and gives its answer; nil where the
// client has taken it back.
func (x *relay) called(ctx context.Context, m *jsonrpc.Request, own *pending) *jsonrpc.Response {
	var in callParams
	if err := strict(m.Params, &in); err != nil || in.Name == "" {
		wrong := &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams,
			Message: "tools/call needs a name, and no member twice"}
		return &jsonrpc.Response{ID: m.ID, Error: wrong}
	}
	in.Meta = withoutApproval(in.Meta)
	req, err := x.asking(ctx, in)
	if err != nil {
		return x.refused(ctx, m.ID, err)
	}
	got, err := x.Desk.Ask(ctx, req, x.waiting(ctx, in))
	if err != nil {
		return x.refused(ctx, m.ID, err)
	}
	res, err := x.forward(ctx, m.ID, in, got, own)
	if err != nil || !needsApproval(res) {
		return x.finish(ctx, m.ID, got, res, err)
	}
	if !got.ByPerson() { // the tool wants a person, and policy had allowed it
		x.report(ctx, got, "failed", "not run: the tool asks for an approval of its own")
		if req, err = x.asking(ctx, in); err != nil {
			return x.refused(ctx, m.ID, err)
		}
		req.MustAsk = true
		if got, err = x.Desk.Ask(ctx, req, x.waiting(ctx, in)); err != nil {
			return x.refused(ctx, m.ID, err)
		}
	}
	in.Meta = withApproval(in.Meta, got)
	res, err = x.forward(ctx, m.ID, in, got, own)
	return x.finish(ctx, m.ID, got, res, err)
}

// asking is the request for a call, with what the server says of the tool.
func (x *relay) asking(ctx context.Context, in callParams) (api.CreateRequest, error) {
	def, known, err := x.definition(ctx, in.Name)
	switch {
	case err != nil:
		return api.CreateRequest{}, fmt.Errorf("not allowed: the MCP server does not say what its tools are: %w", err)
	case !known:
		return api.CreateRequest{}, fmt.Errorf("not allowed: the MCP server lists no tool of that name")
	}
	params := in.Arguments
	if len(params) == 0 {
		params = json.RawMessage(`{}`)
	}
	return api.CreateRequest{
		ToolName: x.named(in.Name), Params: params, SessionKey: x.Session, Bind: bind(x.Workdir),
		Context: &api.Context{Tool: def.facts(x.Name)},
	}, nil
}

// named is how the desk knows a tool: two underscores say that it is another server's.
func (p Proxy) named(tool string) string {
	return "mcp__" + p.Server + "__" + tool
}

// waiting tells a client that asked for progress where its call waits.
func (x *relay) waiting(ctx context.Context, in callParams) func(api.Approval) {
	var meta struct {
		Token json.RawMessage `json:"progressToken"`
	}
	if json.Unmarshal(in.Meta, &meta) != nil || len(meta.Token) == 0 {
		return nil
	}
	return func(a api.Approval) {
		// Small, so that whatever the server counts later is more.
		params := object("progressToken", meta.Token, "progress", 0.001, "message", "waiting for approval "+a.Code)
		x.answer(ctx, &jsonrpc.Request{Method: progress, Params: json.RawMessage(params)})
	}
}

// forward has the server do a claimed call: with the very params that were approved.
func (x *relay) forward(
	ctx context.Context, id jsonrpc.ID, in callParams, got ask.Allowed, own *pending,
) (*jsonrpc.Response, error) {
	in.Arguments = got.Claim.Params
	params, err := encode(in)
	if err != nil {
		return nil, err
	}
	answer := make(chan *jsonrpc.Response, 1)
	x.mu.Lock()
	if x.ended || ctx.Err() != nil {
		x.mu.Unlock()
		return nil, errServerEnded
	}
	own.forwarded = answer
	x.mu.Unlock()
	if err := x.server.Write(ctx, &jsonrpc.Request{ID: id, Method: callTool, Params: params}); err != nil {
		x.mu.Lock()
		own.forwarded = nil
		x.mu.Unlock()
		return nil, fmt.Errorf("the MCP server was not reached: %w", err)
	}
	select {
	case res, ok := <-answer:
		if !ok {
			return nil, errServerEnded
		}
		return res, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// finish reports how a forwarded call went, and gives the answer to the client.
func (x *relay) finish(
	ctx context.Context, id jsonrpc.ID, got ask.Allowed, res *jsonrpc.Response, err error,
) *jsonrpc.Response {
	switch {
	case err != nil && x.takenBack(ctx):
		x.report(ctx, got, "failed", "the caller took it back while it ran")
		return nil
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
	return res
}

func (x *relay) report(ctx context.Context, got ask.Allowed, status, summary string) {
	if err := x.Desk.Report(ctx, got.Approval.ID, api.ResultRequest{ClaimID: got.Claim.ClaimID, Status: status, Summary: summary}); err != nil {
		x.log("the result of a call could not be reported: " + err.Error())
	}
}

// refused is the tool error of a call that was not passed on; nil where the client has
// taken it back.
func (x *relay) refused(ctx context.Context, id jsonrpc.ID, why error) *jsonrpc.Response {
	if x.takenBack(ctx) {
		return nil
	}
	result := object("content", []any{map[string]string{"type": "text", "text": why.Error()}}, "isError", true)
	return &jsonrpc.Response{ID: id, Result: json.RawMessage(result)}
}

// takenBack reports whether the client does not want an answer any more: it ended the
// call, and not the server's end.
func (x *relay) takenBack(ctx context.Context) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return ctx.Err() != nil && !x.ended
}

// cancelled takes a call back, and reports whether the server has not got it.
func (x *relay) cancelled(m *jsonrpc.Request) bool {
	var in struct {
		ID any `json:"requestId"`
	}
	if json.Unmarshal(m.Params, &in) != nil {
		return false
	}
	id, err := jsonrpc.MakeID(in.ID)
	if err != nil {
		return false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	c := x.calls[id]
	if c == nil {
		return false
	}
	c.cancel()
	return c.forwarded == nil
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

// approvalMeta is the member of a call's _meta that says which approval the call has.
const approvalMeta = "approvalbot/approval"

// withoutApproval is a call's _meta without an approval that the client claims to have.
func withoutApproval(meta jsontext.Value) jsontext.Value {
	all, claimed := members{}, false
	if strict(meta, &all) != nil {
		return nil
	}
	for name := range all {
		if strings.EqualFold(name, approvalMeta) {
			delete(all, name)
			claimed = true
		}
	}
	if !claimed {
		return meta
	}
	return value(all)
}

// withApproval is a call's _meta with the approval that it has.
func withApproval(meta jsontext.Value, got ask.Allowed) jsontext.Value {
	all := members{}
	if strict(meta, &all) != nil || all == nil {
		all = members{}
	}
	fields := []any{"id", got.Approval.ID, "code", got.Approval.Code,
		"decision", got.Claim.Decision, "fingerprint", got.Claim.Fingerprint}
	if got.Claim.Receipt != "" {
		fields = append(fields, "receipt", got.Claim.Receipt)
	}
	all[approvalMeta] = jsontext.Value(object(fields...))
	out, err := encode(all)
	if err != nil {
		return meta
	}
	return jsontext.Value(out)
}
