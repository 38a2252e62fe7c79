package core

import (
	"encoding/json"
	"fmt"

	"approvalbot/internal/approval"
)

// MaxTools is how many names one question about a tool set may have.
const MaxTools = 1000

// ToolSet asks which of the tools of an agent a model may be shown.
type ToolSet struct {
	Tools   []string // nil: not given
	AgentID string
	Context approval.CallContext
}

// DeniedTool is a tool that the hard layers take away, and why in one sentence.
type DeniedTool struct{ Tool, Reason string }

// Tools says which tools of a set the hard layers leave. A tool that a model need not be
// shown is denied with every call of it. A tool that is left may still be asked for or
// denied, call by call. Each name is answered once, in the given order.
func (g *Gate) Tools(who Caller, set ToolSet) (allowed []string, denied []DeniedTool, err error) {
	rules, err := g.inForce()
	switch {
	case err != nil:
		return nil, nil, err
	case !who.MayRequest && !who.MayDecide:
		return nil, nil, approval.Refuse(approval.CodeForbidden, "This token may not ask about tools: it needs the scope "+
			"operator.approvals or approvals.request.")
	case !rules.Enabled:
		return nil, nil, approval.Refuse(approval.CodeApprovalsDisabled, "approvals disabled")
	}
	if who.AgentID != "" {
		set.AgentID = who.AgentID
	}
	if bad := set.validate(); len(bad) > 0 {
		return nil, nil, approval.Invalid(bad...)
	}
	call := approval.Call{AgentID: set.AgentID, Context: set.Context}
	answered := map[string]bool{}
	for _, name := range set.Tools {
		if answered[name] {
			continue
		}
		answered[name], call.ToolName = true, name
		if reason, ok := rules.Policy.Permits(call); ok {
			allowed = append(allowed, name)
		} else {
			denied = append(denied, DeniedTool{name, reason})
		}
	}
	return allowed, denied, nil
}

// maxWrongTools is how many wrong names one refusal lists.
const maxWrongTools = 20

func (s ToolSet) validate() []approval.FieldError {
	switch {
	case s.Tools == nil:
		return []approval.FieldError{{Field: "tools", Problem: "is required and must be a list of tool names"}}
	case len(s.Tools) > MaxTools:
		return []approval.FieldError{{Field: "tools", Problem: fmt.Sprintf("must have at most %d names", MaxTools)}}
	}
	any := approval.Call{ToolName: "any", Params: json.RawMessage("{}"), AgentID: s.AgentID, Context: s.Context}
	bad := any.Validate()
	for i, name := range s.Tools {
		if !approval.ValidTool(name) && len(bad) < maxWrongTools {
			bad = append(bad, approval.FieldError{Field: fmt.Sprintf("tools.%d", i), Problem: approval.ToolNameRule})
		}
	}
	return bad
}
