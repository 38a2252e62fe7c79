package tool

import (
	"approvalbot/internal/approval"
	"approvalbot/internal/policy/finding"
)

// Filter is one hard layer as it is applied: a list of tools that may be used
// and a list of tools that may not.
type Filter struct {
	Allow, Deny       *List  // nil: no opinion
	AllowKey, DenyKey string // what the operator calls the lists
}

// Layer is one step of the hard layers: a call obeys the filters of its keys.
type Layer struct {
	Keys    func(c *approval.Call) [2]string // "" is no key
	Filters map[string][]Filter
}

// Objection gives the key of the first list that takes the tool away, and whether it
// is denied there or only not allowed.
func Objection(layers []Layer, t Tool, c *approval.Call) (key string, why finding.Code, any bool) {
	for i := range layers {
		for _, key := range layers[i].Keys(c) {
			if key == "" {
				continue
			}
			for _, f := range layers[i].Filters[key] {
				switch {
				case f.Deny != nil && f.Deny.Has(t):
					return f.DenyKey, finding.ToolDenied, true
				case f.Allow != nil && !f.Allow.Has(t):
					return f.AllowKey, finding.ToolNotAllowed, true
				}
			}
		}
	}
	return "", 0, false
}

// Fixed is the key of layers that do not depend on a name.
const Fixed = "*"

// Always gives the key of a layer for every call.
func Always(*approval.Call) [2]string { return [2]string{Fixed} }

// ByAgent names the agent.
func ByAgent(c *approval.Call) [2]string { return [2]string{c.AgentID} }

// ByGroup names the group of the context and the chat that the session lives in:
// leaving one of them out gets past no layer.
func ByGroup(c *approval.Call) (keys [2]string) {
	keys[0] = c.Context.Group
	if c.Origin != nil {
		keys[1] = c.Origin.Normal().To
	}
	return keys
}

// ByProvider names the provider of the model, and the model of it.
func ByProvider(c *approval.Call) [2]string {
	p := c.Context.Provider
	if p == "" || c.Context.Model == "" {
		return [2]string{p}
	}
	return [2]string{p, p + "/" + c.Context.Model}
}

// ByAgentProvider names the agent and the provider; a zero byte keeps them apart.
func ByAgentProvider(c *approval.Call) [2]string {
	keys := ByProvider(c)
	for i, k := range keys {
		if k != "" {
			keys[i] = c.AgentID + "\x00" + k
		}
	}
	return keys
}

// InSandbox has a key for calls that run in a sandbox.
func InSandbox(c *approval.Call) (keys [2]string) {
	if c.Context.Sandboxed {
		keys[0] = Fixed
	}
	return keys
}

// InSubagent has a key for calls of an agent that another one has started.
func InSubagent(c *approval.Call) (keys [2]string) {
	if c.Context.Subagent {
		keys[0] = Fixed
	}
	return keys
}
