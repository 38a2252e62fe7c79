package gateway

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"approvalbot/api"
	"approvalbot/core"
)

// call is one request of a client whose token is known.
type call struct {
	*conn
	ctx    context.Context
	who    core.Caller // as the token stands now
	id     json.RawMessage
	params json.RawMessage
}

// method serves one request. Its payload is the answer.
type method func(*call) (any, error)

// methods is what a connection may call once it is connected.
func methods() map[string]method {
	return map[string]method{
		"tool.approval.request":      with(toolRequest),
		"tool.approval.waitDecision": with(waitDecision(toolWords)),
		"tool.approval.resolve":      with(resolve),
		"tool.approvals.get":         with(toolGet),
		"tool.approvals.list":        with(toolList),
		"tool.approvals.policy.get":  with(toolPolicy),

		"tools.effective": with(toolsEffective),

		"exec.approval.request":      with(execRequest),
		"exec.approval.waitDecision": with(waitDecision(execWords)),
		"exec.approval.resolve":      with(execResolve),
		"exec.approval.get":          with(execGet),
		"exec.approval.list":         with(execList),

		"agentshield.approval.request":      shielded(with(shieldRequest)),
		"agentshield.approval.waitDecision": shielded(with(waitDecision(toolWords))),
		"agentshield.approval.resolve":      shielded(with(resolve)),
		"agentshield.approval.list":         shielded(with(shieldList)),

		"approval.get":           with(approvalGet),
		"approval.resolve":       with(approvalResolve),
		"exec.approvals.get":     with(execPolicyGet),
		"plugin.approval.list":   with(nothing),
		"openclaw.approval.list": with(nothing),
	}
}

func methodNames() []string {
	return append([]string{"connect"}, slices.Sorted(maps.Keys(methods()))...)
}

// with makes a method of a function that takes decoded params.
func with[In any](serve func(*call, In) (any, error)) method {
	return func(c *call) (any, error) {
		in, err := decode[In](c.params)
		if err != nil {
			return nil, err
		}
		return serve(c, in)
	}
}

func (c *call) serve(name string) (any, error) {
	if m := methods()[name]; m != nil {
		return m(c)
	}
	if name == "connect" {
		return nil, &refusal{Code: invalidRequest, Message: "connect is only valid as the first request", Details: &details{Reason: "ALREADY_CONNECTED"}}
	}
	return nil, &refusal{Code: invalidRequest, Message: "unknown method; features.methods of hello-ok lists what there is", Details: &details{Reason: "UNKNOWN_METHOD"}}
}

// operator refuses whoever may not decide.
func (c *call) operator() error {
	if !c.who.MayDecide {
		return core.Refuse(core.CodeForbidden, "missing scope: operator.approvals")
	}
	return nil
}

// one names an approval.
type one struct {
	ID string `json:"id"`
}

// find gives the approval that the caller means: its own by its id, for
// operators also any by id, code or the prefix of a server's id.
func (c *call) find(id string) (core.Approval, error) {
	if !core.ValidID(id) {
		return core.Approval{}, core.Refuse(core.CodeNotFound, "There is no such approval.")
	}
	return c.g.cfg.Gate.Get(c.ctx, c.who, id)
}

// verdict is an operator's decision.
type verdict struct {
	ID       string       `json:"id"`
	Decision api.Decision `json:"decision"`
	Reason   string       `json:"reason"`
}

type done struct {
	OK bool `json:"ok"`
}

// resolve counts the vote of the token's person. A decision that is not offered
// is refused and leaves the approval as it is.
func resolve(c *call, in verdict) (any, error) {
	if err := c.operator(); err != nil {
		return nil, err
	}
	_, err := c.g.cfg.Gate.VoteAs(c.ctx, c.who, in.ID, core.Decision(in.Decision), in.Reason)
	if core.CodeOf(err) == core.CodeDecisionNotOffered && in.Decision == api.AllowAlways {
		return nil, &refusal{Code: invalidRequest, Message: err.Error(),
			Details: &details{Reason: "APPROVAL_ALLOW_ALWAYS_UNAVAILABLE", Code: string(core.CodeDecisionNotOffered)}}
	}
	return done{true}, err
}
