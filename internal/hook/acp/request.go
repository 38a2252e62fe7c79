package acp

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"approvalbot/api"
	"approvalbot/internal/lazy"
)

// request are the params of session/request_permission.
type request struct {
	Session string          `json:"sessionId"`
	Call    json.RawMessage `json:"toolCall"`
	Options []option        `json:"options"`
	Title   string          `json:"title"`   // of version 2's draft
	Subject json.RawMessage `json:"subject"` // likewise

	tool toolCall
	err  error // why it cannot be read
}

// option is one answer that the agent takes.
type option struct {
	ID   string `json:"optionId"`
	Kind string `json:"kind"`
}

// toolCall is what the agent is about to do.
type toolCall struct {
	ID        string          `json:"toolCallId"`
	Title     string          `json:"title"`
	Kind      string          `json:"kind"`
	Input     json.RawMessage `json:"rawInput"`
	Content   json.RawMessage `json:"content"`
	Locations json.RawMessage `json:"locations"`
	Meta      struct {
		Tool string `json:"toolName"`
	} `json:"_meta"`

	early bool // the input was reported before, and not repeated now
}

// after completes a report of a call with what was reported of it before and is not repeated.
// If the present report has no input, the earlier input may still have been growing: it is
// shown, but not relied upon.
func (t toolCall) after(before toolCall) toolCall {
	t.ID, t.Title, t.Kind = cmp.Or(t.ID, before.ID), cmp.Or(t.Title, before.Title), cmp.Or(t.Kind, before.Kind)
	t.Meta.Tool = cmp.Or(t.Meta.Tool, before.Meta.Tool)
	t.Content, t.Locations = orElse(t.Content, before.Content), orElse(t.Locations, before.Locations)
	if blank(t.Input) {
		t.Input, t.early = before.Input, true
	}
	return t
}

// asked is the call of a question, whose input may be a part of what was reported before:
// OpenCode asks for a command, and only before says in which directory it runs.
func (t toolCall) asked(before toolCall) toolCall {
	t = t.after(before)
	var now, all map[string]json.RawMessage
	if json.Unmarshal(before.Input, &all) != nil || json.Unmarshal(t.Input, &now) != nil || len(all) == 0 {
		return t
	}
	maps.Copy(all, now)
	if input, err := json.Marshal(all); err == nil {
		t.Input = input
	}
	return t
}

// blank reports whether a value is missing or empty.
func blank(v json.RawMessage) bool {
	switch strings.TrimSpace(string(v)) {
	case "", "null", "[]", "{}":
		return true
	}
	return false
}

func orElse(v, other json.RawMessage) json.RawMessage {
	if blank(v) {
		return other
	}
	return v
}

func readRequest(params json.RawMessage) request {
	var in request
	if err := json.Unmarshal(params, &in); err != nil {
		return request{Options: in.Options, err: errors.New("the agent's question cannot be read")}
	}
	if len(in.Call) > 0 && json.Unmarshal(in.Call, &in.tool) != nil {
		in.err = errors.New("the agent's tool call cannot be read")
	}
	if len(in.Call) == 0 && in.Title == "" {
		in.err = errors.New("the agent does not say what it asks for")
	}
	return in
}

// option gives the id of the first option of a kind. Its place and its name do not
// matter: agents order and name options freely. An id that an option of another kind has
// too is not used.
func (r request) option(kind string) (string, bool) {
	for _, o := range r.Options {
		other := func(p option) bool { return p.ID == o.ID && p.Kind != kind }
		if o.Kind == kind && o.ID != "" && !slices.ContainsFunc(r.Options, other) {
			return o.ID, true
		}
	}
	return "", false
}

// reject is the outcome of a deny. A refusal for good would leave a rule outside the
// desk, so without one for just this once it is cancelled.
func (r request) reject() any {
	if id, ok := r.option("reject_once"); ok {
		return selected(id)
	}
	return map[string]string{"outcome": "cancelled"}
}

func selected(id string) any { return map[string]string{"outcome": "selected", "optionId": id} }

var toolName = lazy.Pattern(`^[A-Za-z0-9._:/-]{1,128}$`)

// call is the call that the desk is asked for.
func (r request) call(workdir string) api.CreateRequest {
	out := api.CreateRequest{SessionKey: clip(r.Session, 256), Context: &api.Context{Unheard: "the agent's editor protocol (ACP)"}}
	if workdir != "" {
		out.Bind = &api.Bind{Workdir: &workdir}
	}
	out.ToolName, out.Params, out.Justification = r.structured()
	if out.ToolName == "" {
		out.ToolName, out.Params, out.MustAsk = r.described()
		out.Offers = []api.Decision{api.AllowOnce, api.Deny} // the same words may be for something else next time
	}
	return out
}

// structured is the call of an agent that says which tool it calls with what, or which
// command it runs; empty if it says neither.
func (r request) structured() (tool string, params json.RawMessage, justification string) {
	var in map[string]json.RawMessage
	if r.tool.early || json.Unmarshal(r.tool.Input, &in) != nil || len(in) == 0 {
		return "", nil, ""
	}
	var command string
	runs := r.tool.Kind == "execute" && json.Unmarshal(in["command"], &command) == nil && command != ""
	switch {
	case toolName.MatchString(r.tool.Meta.Tool):
		tool = r.tool.Meta.Tool
	case runs:
		tool = "bash"
	case r.tool.Kind == "execute" && in["commands"] != nil:
		tool = "run_commands" // Cline's: each is a line
	default:
		return "", nil, ""
	}
	if runs {
		var twice []string
		if json.Unmarshal(in["commands"], &twice) == nil && len(twice) == 1 && twice[0] == command {
			delete(in, "commands") // the same again
		}
		if json.Unmarshal(in["description"], &justification) == nil {
			delete(in, "description") // the model's words, no part of what runs
		}
	}
	params, err := json.Marshal(in)
	if err != nil {
		return "", nil, ""
	}
	return tool, params, clip(justification, 2000)
}

// described is the call of an agent that gives words for people alone, or an input
// whose tool it does not name: all of it is shown, and a person is asked.
func (r request) described() (tool string, params json.RawMessage, mustAsk bool) {
	kind := r.tool.Kind
	if kind == "" || !toolName.MatchString("acp:"+kind) {
		kind = "other"
	}
	title := r.tool.Title
	if title == "" {
		title = r.Title
	}
	shown := map[string]any{"title": title}
	for name, v := range map[string]json.RawMessage{
		"content": r.tool.Content, "locations": r.tool.Locations, "input": r.tool.Input, "subject": r.Subject,
	} {
		if !blank(v) {
			shown[name] = v
		}
	}
	if shown["input"] == nil {
		shown["note"] = "the agent gave no structured input: these are its words for what it will do"
	}
	params, err := json.Marshal(shown)
	if err != nil {
		params = json.RawMessage(`{"note":"the agent's words cannot be shown"}`)
	}
	return "acp:" + kind, params, true
}

// clip keeps the first bytes of a text, whole characters.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "")
}
