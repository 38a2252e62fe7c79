package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"approvalbot/api"
	"approvalbot/internal/hook"
	"approvalbot/internal/hook/ask"
)

var (
	requestSchema = json.RawMessage(`{"type":"object","required":["toolName","params"],"properties":{
"toolName":{"type":"string","description":"The tool; exec is a command."},
"params":{"type":"object","description":"What it is called with. Tool exec: exactly one of command (a shell line) and argv."},
"justification":{"type":"string","description":"Why, in your words; shown as a claim."},
"sessionKey":{"type":"string","description":"The conversation or job."},
"workdir":{"type":"string","description":"The directory in which it would run: an absolute path."},
"id":{"type":"string","description":"Your own id: the same id with the same call gives the same approval."},
"timeoutMs":{"type":"integer","minimum":1,"description":"How long people have."}}}`)
	awaitSchema = json.RawMessage(`{"type":"object","required":["id"],"properties":{
"id":{"type":"string","description":"As request_approval gave it."}}}`)
)

// standing is what request_approval and await_approval answer.
type standing struct {
	State       string          `json:"state"` // pending, approved, denied, expired or withdrawn
	ID          string          `json:"id"`
	Code        string          `json:"code,omitzero"`
	Reason      string          `json:"reason,omitzero"`
	ToolName    string          `json:"toolName,omitzero"`
	Params      json.RawMessage `json:"params,omitzero"` // only this may run now, once
	Notes       string          `json:"notes,omitzero"`  // notes to the model from those who allowed it
	Decision    api.Decision    `json:"decision,omitzero"`
	Receipt     string          `json:"receipt,omitzero"`
	ExpiresAtMs int64           `json:"expiresAtMs,omitzero"`
}

// request asks for a call.
func (s Server) request(ctx context.Context, args json.RawMessage) *mcp.CallToolResult {
	var in struct {
		ToolName      string          `json:"toolName"`
		Params        json.RawMessage `json:"params"`
		Justification string          `json:"justification"`
		SessionKey    string          `json:"sessionKey"`
		Workdir       string          `json:"workdir"`
		ID            string          `json:"id"`
		TimeoutMs     int64           `json:"timeoutMs"`
	}
	if err := strict(args, &in); err != nil {
		return failed(nil, "not allowed: the arguments must be toolName, params and what else the schema names")
	}
	req := api.CreateRequest{
		ID: in.ID, ToolName: in.ToolName, Params: in.Params, Justification: cut(in.Justification),
		TimeoutMs:  in.TimeoutMs,
		SessionKey: cmp.Or(in.SessionKey, s.Session), Bind: bind(cmp.Or(in.Workdir, s.Workdir), ""),
	}
	a, err := s.Desk.Hold(ctx, req, s.holds())
	s.asked.keep(a, req)
	return s.stands(ctx, a, req, err)
}

// await waits for an approval.
func (s Server) await(ctx context.Context, args json.RawMessage) *mcp.CallToolResult {
	var in struct {
		ID string `json:"id"`
	}
	if err := strict(args, &in); err != nil || in.ID == "" {
		return failed(nil, "not allowed: the arguments must be the id that request_approval gave")
	}
	a, err := s.Desk.Look(ctx, in.ID, s.holds())
	return s.stands(ctx, a, s.asked.of(in.ID), err)
}

// maxAsked is how many calls are remembered for await_approval.
const maxAsked = 1000

// askedCalls are what one client has asked for, by the approval's id: a later claim
// is compared with it. A call that is not there is claimed only by a client without a
// desk's keys.
type askedCalls struct {
	mu    sync.Mutex
	byID  map[string]api.CreateRequest
	order []string
}

func (c *askedCalls) keep(a api.Approval, req api.CreateRequest) {
	if a.ID == "" || a.Status.Final() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, again := c.byID[a.ID]; !again {
		c.order = append(c.order, a.ID)
	}
	c.byID[a.ID] = req
	if len(c.order) > maxAsked {
		delete(c.byID, c.order[0])
		c.order = c.order[1:]
	}
}

func (c *askedCalls) of(id string) api.CreateRequest {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.byID[id]
}

func (s Server) holds() time.Duration { return cmp.Or(s.hold, holdTime) }

// It describes the state of an approval, and hands out the call of one that was
// approved.
func (s Server) stands(ctx context.Context, a api.Approval, req api.CreateRequest, err error) *mcp.CallToolResult {
	if err != nil {
		return failed(nil, err.Error())
	}
	out := standing{State: string(a.Status), ID: a.ID, Code: a.Code, ExpiresAtMs: a.ExpiresAtMs}
	if a.Status != api.Approved {
		out.Reason = ask.Why(a)
		return structured(out)
	}
	got, err := s.Desk.Claim(ctx, a, req)
	if err != nil {
		var refused *api.Problem
		if errors.As(err, &refused) && refused.Code == "already_used" {
			return failed(nil, "not allowed: this approval was handed out before; ask again with request_approval")
		}
		return failed(nil, err.Error())
	}
	c := got.Claim
	out.ToolName, out.Params, out.Decision, out.Receipt = c.ToolName, c.Params, c.Decision, c.Receipt
	out.Notes = hook.NotesText(a, c.Notes)
	return structured(out)
}

// bind is what a call is bound to, of what is known; nil if it is not bound.
func bind(workdir, envHash string) *api.Bind {
	var b api.Bind
	if workdir != "" {
		b.Workdir = &workdir
	}
	if envHash != "" {
		b.EnvHash = &envHash
	}
	if b == (api.Bind{}) {
		return nil
	}
	return &b
}

// cut keeps what the desk takes of a text.
func cut(s string) string {
	const most = 2000
	if len(s) <= most {
		return s
	}
	out := s[:most]
	for len(out) > 0 && s[len(out)]&0xC0 == 0x80 { // in the middle of a character
		out = out[:len(out)-1]
	}
	return out
}
