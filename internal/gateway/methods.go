package gateway

import (
	"maps"
	"slices"
)

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

func (c *call) serve(name string) (any, error) {
	if m := methods()[name]; m != nil {
		return m(c)
	}
	if name == "connect" {
		return nil, &refusal{Code: invalidRequest, Message: "connect is only valid as the first request",
			Details: &details{Reason: "ALREADY_CONNECTED"}}
	}
	return nil, &refusal{Code: invalidRequest, Message: "unknown method; features.methods of hello-ok lists what " +
		"there is", Details: &details{Reason: "UNKNOWN_METHOD"}}
}
