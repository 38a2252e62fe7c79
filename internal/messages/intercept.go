package messages

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"approvalbot/api"
	"approvalbot/internal/lazy"
)

// Limits of one request.
const (
	MaxBytes     = 256 << 10 // of the message, or of all chunks together
	MaxCalls     = 64        // tool calls of one message
	MaxApprovals = 256       // in one conversation
)

// The outcomes for a call.
const (
	CallRuns    = "run"
	CallWaits   = "wait"
	CallRefused = "refused"
)

// Intercept asks the desk about every tool call of an assistant message. Calls
// that may run stay as they are. One that waits is replaced by a call of
// client.requestApproval with the id "approval_" and the approval's id; one that
// is refused by a sentence that the model reads as its own text. A client.* call
// of the model's own is always refused. The same message again gives the same
// approvals, unless these have been used up by then.
//
// If the desk cannot answer, or refuses the asker altogether, it returns an
// error; then no call of the message may run.
func Intercept(ctx context.Context, approvals Approvals, req api.InterceptRequest) (api.InterceptAnswer, error) {
	if req.Chunks != nil {
		return interceptChunks(ctx, approvals, req)
	}
	in, err := newInterceptor(approvals, req)
	if err != nil {
		return api.InterceptAnswer{}, err
	}
	read, array, err := readReply(req.Message, req.Format)
	if err != nil {
		return api.InterceptAnswer{}, err
	}
	list, err := in.all(ctx, read)
	if err != nil {
		return api.InterceptAnswer{}, err
	}
	out := api.InterceptAnswer{Message: req.Message, Calls: in.calls}
	if slices.ContainsFunc(read, func(m *message) bool { return m.changed }) {
		out.Message = list[0]
		if array {
			out.Message = encodeArray(list)
		}
	}
	return out, nil
}

// readReply reads the message of a model, or the items of a response.
func readReply(raw json.RawMessage, format api.MessageFormat) (read []*message, array bool, err error) {
	if len(raw) == 0 || len(raw) > MaxBytes {
		return nil, false, invalid("message", fmt.Sprintf("is required, with at most %d bytes", MaxBytes))
	}
	list := []json.RawMessage{raw}
	if array = kindOf(raw) == '['; array {
		if list, err = parseArray(raw); err != nil {
			return nil, false, invalid("message", errNotJSON.Error())
		}
	}
	calls := 0
	for _, one := range list {
		m, err := readOne(one, format)
		if err != nil {
			return nil, false, invalid("message", err.Error())
		}
		if array && m.shape.list != "" {
			return nil, false, invalid("message", "must be one assistant message, or the output items of a response")
		}
		for _, it := range m.items {
			if it.kind == call || it.kind == odd {
				calls++
			}
		}
		read = append(read, m)
	}
	if calls > MaxCalls {
		return nil, false, invalid("message", fmt.Sprintf("must hold at most %d tool calls", MaxCalls))
	}
	return read, array, nil
}

// readOne reads a message in the one shape that has calls in it. A message that
// different readers would read differently is an error.
func readOne(raw json.RawMessage, format api.MessageFormat) (*message, error) {
	o, err := parseObject(raw)
	if err != nil {
		return nil, err
	}
	if o.lookalike("role", "tool_calls", "content", "parts", "function_call", "type", "call_id") {
		return nil, errMixed
	}
	found := &message{shape: responseItems(), raw: raw, obj: o}
	for _, sh := range shapes() {
		m := sh.read(raw, o)
		isText := sh.list == "content" && kindOf(o.get("content")) == '"'
		noItems := sh.list != "" && o.get(sh.list) != nil && len(m.items) == 0
		if noItems && !isText && !empty(o.get(sh.list)) {
			return nil, errMixed // calls outside of a list of calls
		}
		switch {
		case m.has(result):
			return nil, errAssistant
		case !m.has(call, odd):
			continue
		case found.items != nil || format != "" && format != sh.format:
			return nil, errMixed
		}
		found = m
	}
	if found.has(odd) && found.shape.note == nil && found.shape.list == "" {
		return nil, errMixed // the form before tool_calls
	}
	if !isReply(o, found) {
		return nil, errAssistant
	}
	return found, nil
}

// isReply reports whether this is a model's message, and not the envelope
// around it: a provider's whole answer has its calls at a place that no shape
// reads.
func isReply(o object, m *message) bool {
	if onlyIn(o.without("tool_calls").without("function_call"), "") != nil {
		return false
	}
	switch role := o.text("role"); role {
	case "assistant":
		return m.items == nil || m.shape.format != api.GoogleMessages
	case "model":
		return true
	default:
		speaks := o.text("type") != "" || o.get("parts") != nil || m.items != nil
		return speaks && o.get("role") == nil
	}
}

// interceptor asks the desk about the calls of one message.
type interceptor struct {
	approvals Approvals
	req       api.InterceptRequest
	tools     map[string]api.MessageTool
	calls     []api.MessageCall
}

func newInterceptor(approvals Approvals, req api.InterceptRequest) (*interceptor, error) {
	if req.SessionKey == "" {
		return nil, invalid("sessionKey", "is required")
	}
	if err := checkFormat(req.Format); err != nil {
		return nil, err
	}
	tools, err := toolsOf(req.Tools)
	return &interceptor{approvals: approvals, req: req, tools: tools, calls: []api.MessageCall{}}, err
}

func checkFormat(f api.MessageFormat) error {
	switch f {
	case "", api.OpenAIMessages, api.AnthropicMessages, api.GoogleMessages:
		return nil
	}
	return invalid("format", "must be openai, anthropic or google")
}

// all handles every call and gives the messages as they then are.
func (in *interceptor) all(ctx context.Context, read []*message) ([]json.RawMessage, error) {
	var list []json.RawMessage
	for _, m := range read {
		for i, it := range m.items {
			if it.kind != call && it.kind != odd {
				continue
			}
			if err := in.one(ctx, m, i); err != nil {
				return nil, err
			}
		}
		list = append(list, m.encode())
	}
	return list, nil
}

// one handles one call: it stays, waits or is refused.
func (in *interceptor) one(ctx context.Context, m *message, i int) error {
	it := m.items[i]
	c := api.MessageCall{ToolCallID: it.id, ToolName: it.name, Location: in.tools[it.name].Location,
		Outcome: CallRefused}
	switch {
	case reserved(it.name):
		c.Code, c.Reason = "reserved_tool", "Tools of that name are called by the approval desk alone."
	case ours(it.id, ""):
		c.Code, c.Reason = "reserved_id", "Ids that begin with approval_ are given by the approval desk alone."
	case it.kind == odd || it.args == nil:
		c.Code, c.Reason = "invalid_request", "A call must have a name and its arguments as a JSON object without duplicate names."
	default:
		if err := in.ask(ctx, &c, m, i); err != nil {
			return err
		}
	}
	if c.Outcome == CallRefused {
		m.refuse(i, refusal(c))
	}
	in.calls = append(in.calls, c)
	return nil
}

// ask asks the desk about one call that can be judged.
func (in *interceptor) ask(ctx context.Context, c *api.MessageCall, m *message, i int) error {
	it := m.items[i]
	t, described := in.tools[it.name]
	if !described {
		t = api.MessageTool{Name: it.name}
	}
	a, err := in.submit(ctx, it, t)
	if p := problemOf(err); p != nil && (p.Code == "invalid_request" || p.Code == "payload_too_large") {
		c.Code, c.Reason = p.Code, sentence(p)
		return nil
	}
	if err != nil {
		return err
	}
	c.ApprovalID, c.Status = a.ID, a.Status
	standing(c, a)
	if c.Outcome == CallWaits {
		m.replace(i, idPrefix+a.ID, RequestApproval, requestArgs(t, request{it.id, it.name, it.args}, a))
	}
	return nil
}

// submit asks for the call under the id that the message gives it. If that id
// already belongs to a call that ran, that is too late to run, or that was never
// decided, the call is asked for again as a new one: every approval covers one
// execution, and some providers repeat ids. A deny remains in force.
func (in *interceptor) submit(ctx context.Context, it item, t api.MessageTool) (api.Approval, error) {
	req := api.CreateRequest{
		ID: approvalID(in.req, len(in.calls), it, mustAsk(t)), MustAsk: mustAsk(t),
		ToolName: it.name, Params: it.args, SessionKey: in.req.SessionKey,
		AgentID: in.req.AgentID, Origin: in.req.Origin, Requester: in.req.Requester, Context: in.req.Context,
		Bind: in.req.Bind, TimeoutMs: in.req.TimeoutMs,
		Justification: ownMessage(t), Offers: decisionsOf(t),
	}
	if t.Description != "" && (req.Context == nil || req.Context.ToolDescription == "") {
		more := api.Context{}
		if req.Context != nil {
			more = *req.Context
		}
		more.ToolDescription = t.Description
		req.Context = &more
	}
	own := req.ID
	a, err := in.approvals.Ask(ctx, req)
	if err == nil && own != "" && usedUp(a) {
		req.ID, own = "", ""
		a, err = in.approvals.Ask(ctx, req)
	}
	if err == nil && own != "" {
		a.ID = own // the same call of another message is that approval's other name
	}
	return a, err
}

func usedUp(a api.Approval) bool {
	switch a.Status {
	case api.Expired, api.Withdrawn:
		return true
	case api.Approved:
		return a.ClaimedAtMs != 0 || a.RevokedAtMs == 0 && late(a)
	}
	return false
}

func late(a api.Approval) bool { return time.Now().UnixMilli() >= a.ClaimUntilMs }

// standing sets what the present state of an approval means for its call. A
// call does not run unless it clearly may be claimed now.
func standing(c *api.MessageCall, a api.Approval) {
	c.Status, c.Outcome, c.Code, c.Reason = a.Status, CallRefused, string(a.Status), a.Reason
	switch {
	case a.Status == api.Pending:
		c.Outcome, c.Code, c.Reason = CallWaits, "", ""
	case a.Status == api.Approved && a.RevokedAtMs != 0:
		c.Code, c.Reason = "revoked", "The approval was taken back."
	case a.Status == api.Approved && a.ClaimedAtMs != 0:
		c.Code, c.Reason = "already_used", "The approval was claimed before; one approval covers one execution."
	case a.Status == api.Approved && late(a):
		c.Code, c.Reason = "late", "The time to claim it is over; ask again."
	case a.Status == api.Approved:
		c.Outcome, c.Code, c.Reason = CallRuns, "", ""
	case a.Status == api.Expired:
		c.Reason = "No approver decided in time."
	case c.Reason == "":
		c.Reason = "It was " + string(a.Status) + "."
	}
}

var plainName = lazy.Pattern(`^[A-Za-z0-9][A-Za-z0-9._:/-]*$`)

// refusal is the sentence that replaces a refused call.
func refusal(c api.MessageCall) string {
	if len(c.ToolName) > 128 || !plainName.MatchString(c.ToolName) || reserved(c.ToolName) {
		return "A tool call was refused and did not run: " + c.Reason
	}
	return "The call of tool " + c.ToolName + " was refused and did not run: " + c.Reason
}
