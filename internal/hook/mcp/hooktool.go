package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"approvalbot/internal/hook"
)

var (
	hookSchema = json.RawMessage(`{"type":"object","properties":{
"runtime":{"type":"string","description":"claude-code or codex; claude-code if it is left out."},
"limit":{"type":"string","description":"The hook's time limit in the runtime's configuration, as 24h."},
"hook_event_name":{"type":"string"},"tool_name":{"type":"string"},"tool_input":{},"tool_use_id":{"type":"string"},
"session_id":{"type":"string"},"cwd":{"type":"string"}}}`)
	promptSchema = json.RawMessage(`{"type":"object","required":["tool_name","input"],"properties":{
"tool_name":{"type":"string"},"input":{"type":"object"},"tool_use_id":{"type":"string"}}}`)
)

// mcpRuntimes are those with mcp_tool hooks. The first is used if a configuration
// names no runtime: both follow its deny, byte for byte the same, and its allow.
var mcpRuntimes = [...]string{"claude-code", "codex"}

// promptTime is how long a permission prompt waits for people at most.
const promptTime = 24 * time.Hour

// hookArguments are what a runtime's configuration puts into the arguments of tool
// hook, in the runtimes' own words.
type hookArguments struct {
	Runtime string         `json:"runtime"`
	Limit   string         `json:"limit"`
	Event   string         `json:"hook_event_name"`
	Tool    string         `json:"tool_name"`
	Input   jsontext.Value `json:"tool_input"` // an object, or a text of one
	CallID  string         `json:"tool_use_id"`
	Session string         `json:"session_id"`
	Workdir string         `json:"cwd"`
}

// hook answers an mcp_tool hook, in the dialect of its runtime and event.
func (s Server) hook(ctx context.Context, args json.RawMessage) *mcp.CallToolResult {
	var in hookArguments
	err := strict(args, &in)
	rt, event, known := in.event()
	c := hook.Call{}
	if err == nil && known {
		c, err = event.Decode(in.body(s))
	}
	limit := time.Duration(0)
	if err == nil && in.Limit != "" {
		limit, err = time.ParseDuration(in.Limit)
	}
	switch {
	case !known:
		return answered(event.Deny(c, "this tool answers only the hooks of claude-code "+
			"and codex, and this is another hook"))
	case err != nil:
		return answered(event.Deny(c, hook.Failed(err)))
	}
	c.Typed = c.Typed || in.Runtime == "" // it may be any of them
	return answered(event.Answer(c, hook.Ask(ctx, s.Desk.Hooks(), c, rt.Limit.Until(time.Now(), limit)), false))
}

// event is the event whose dialect is answered in: of one that is not known, the first
// of the first runtime, for its deny.
func (in hookArguments) event() (hook.Runtime, hook.Event, bool) {
	first, _ := hook.Find(mcpRuntimes[0])
	for _, name := range mcpRuntimes {
		if cmp.Or(in.Runtime, mcpRuntimes[0]) != name {
			continue
		}
		rt, _ := hook.Find(name)
		if e, ok := rt.Event(cmp.Or(in.Event, "PreToolUse")); ok && e.Phase != hook.After {
			return rt, e, true
		}
		return rt, rt.Events[0], false
	}
	return first, first.Events[0], false
}

// body is the hook's body as the runtime's own hooks would get it.
func (in hookArguments) body(s Server) []byte {
	var inner string
	if strict(in.Input, &inner) == nil {
		in.Input = jsontext.Value(inner)
		if !in.Input.IsValid() {
			in.Input = jsontext.Value("null")
		}
	}
	all := map[string]any{"hook_event_name": cmp.Or(in.Event, "PreToolUse"), "tool_name": in.Tool,
		"session_id": cmp.Or(in.Session, s.Session), "cwd": cmp.Or(in.Workdir, s.Workdir)}
	if len(in.Input) > 0 {
		all["tool_input"] = in.Input
	}
	if in.CallID != "" {
		all["tool_use_id"] = in.CallID
	}
	out, err := encode(all)
	if err != nil {
		return nil // no decoder takes that for a call
	}
	return out
}

// hookDeny is the deny of tool hook if no better answer is possible.
func hookDeny(args json.RawMessage, why string) *mcp.CallToolResult {
	var in hookArguments
	_ = strict(args, &in)
	_, event, _ := in.event()
	return answered(event.Deny(hook.Call{}, why))
}

func answered(a hook.Answer) *mcp.CallToolResult { return text(string(a.Stdout)) }

// prompt answers Claude Code's --permission-prompt-tool.
func (s Server) prompt(ctx context.Context, args json.RawMessage) *mcp.CallToolResult {
	var in struct {
		Tool   string         `json:"tool_name"`
		Input  jsontext.Value `json:"input"`
		CallID string         `json:"tool_use_id"`
	}
	if err := strict(args, &in); err != nil {
		return promptAnswer(hook.Call{}, hook.Verdict{Why: hook.Failed(err)})
	}
	rt, event, _ := hookArguments{}.event()
	c, err := event.Decode(hookArguments{Tool: in.Tool, Input: in.Input, CallID: in.CallID}.body(s))
	if err != nil {
		return promptAnswer(c, hook.Verdict{Why: hook.Failed(err)})
	}
	c.Unheard = rt.Title + "'s permission prompt"
	return promptAnswer(c, hook.Ask(ctx, s.Desk.Hooks(), c, rt.Limit.Until(time.Now(), promptTime)))
}

// promptAnswer is the answer in Claude Code's words.
func promptAnswer(c hook.Call, v hook.Verdict) *mcp.CallToolResult {
	switch {
	case v.Allow && c.Echo() != nil:
		return text(`{"behavior":"allow","updatedInput":` + string(c.Echo()) + `}`)
	case v.Allow:
		return text(`{"behavior":"allow"}`)
	}
	return text(object("behavior", "deny", "message", cmp.Or(v.Why, "denied")))
}

func promptDeny(_ json.RawMessage, why string) *mcp.CallToolResult {
	return promptAnswer(hook.Call{}, hook.Verdict{Why: why})
}
