package policy

import (
	"fmt"
	"strings"

	"approvalbot/core"
	"approvalbot/policy/finding"
	"approvalbot/policy/tool"
)

// filter is one hard layer as it is applied: a list of tools that may be used
// and a list of tools that may not.
type filter struct {
	allow, deny       *tool.List // nil: no opinion
	allowKey, denyKey string     // what the operator calls the lists
}

// layer is one step of the hard layers: a call obeys the filters of its keys.
type layer struct {
	keys    func(c *core.Call) [2]string // "" is no key
	filters map[string][]filter
}

// objection gives the key of the first list that takes the tool away, and whether it
// is denied there or only not allowed.
func objection(layers []layer, t tool.Tool, c *core.Call) (key string, why finding.Code, any bool) {
	for i := range layers {
		for _, key := range layers[i].keys(c) {
			if key == "" {
				continue
			}
			for _, f := range layers[i].filters[key] {
				switch {
				case f.deny != nil && f.deny.Has(t):
					return f.denyKey, finding.ToolDenied, true
				case f.allow != nil && !f.allow.Has(t):
					return f.allowKey, finding.ToolNotAllowed, true
				}
			}
		}
	}
	return "", 0, false
}

// fixed is the key of layers that do not depend on a name.
const fixed = "*"

func always(*core.Call) [2]string { return [2]string{fixed} }

func byAgent(c *core.Call) [2]string { return [2]string{c.AgentID} }

// byGroup names the group of the context and the chat that the session lives in:
// leaving one of them out gets past no layer.
func byGroup(c *core.Call) (keys [2]string) {
	keys[0] = c.Context.Group
	if c.Origin != nil {
		keys[1] = c.Origin.Normal().To
	}
	return keys
}

func byProvider(c *core.Call) [2]string {
	p := c.Context.Provider
	if p == "" || c.Context.Model == "" {
		return [2]string{p}
	}
	return [2]string{p, p + "/" + c.Context.Model}
}

// byAgentProvider names the agent and the provider; a zero byte keeps them apart.
func byAgentProvider(c *core.Call) [2]string {
	keys := byProvider(c)
	for i, k := range keys {
		if k != "" {
			keys[i] = c.AgentID + "\x00" + k
		}
	}
	return keys
}

func inSandbox(c *core.Call) (keys [2]string) {
	if c.Context.Sandboxed {
		keys[0] = fixed
	}
	return keys
}

func inSubagent(c *core.Call) (keys [2]string) {
	if c.Context.Subagent {
		keys[0] = fixed
	}
	return keys
}

// hardLayers makes the layers of a Config in the order in which they apply, and
// names every mistake in them.
func hardLayers(c *Config) ([]layer, []error) {
	b, l := layerMaker{}, &c.Layers
	b.step(always)
	b.profile(fixed, "tools.profile", l.Profile)
	b.step(byProvider)
	for key, profile := range l.ProviderProfiles {
		b.profile(key, "tools.providerProfiles."+key, profile)
	}
	b.step(always)
	b.layer(fixed, "tools", Layer{Allow: c.ToolsAllow, Deny: c.ToolsDeny})
	b.step(byProvider)
	b.all("tools.providers.", l.Providers)
	b.step(byAgent)
	for id, a := range l.Agents {
		b.layer(id, "agents."+id+".tools", a.Layer)
	}
	b.step(byAgentProvider)
	for id, a := range l.Agents {
		for key, p := range a.Providers {
			b.layer(id+"\x00"+key, "agents."+id+".tools.providers."+key, p)
		}
	}
	b.step(byGroup)
	b.all("tools.groups.", l.Groups)
	b.step(inSandbox)
	b.layer(fixed, "tools.sandbox", l.Sandbox)
	b.step(inSubagent)
	b.layer(fixed, "tools.subagent", l.Subagent)
	used := b.layers[:0]
	for _, l := range b.layers {
		if len(l.filters) > 0 {
			used = append(used, l)
		}
	}
	return used, b.bad
}

// layerMaker collects layers and what is wrong with them.
type layerMaker struct {
	layers []layer
	bad    []error
}

func (b *layerMaker) step(keys func(*core.Call) [2]string) {
	b.layers = append(b.layers, layer{keys: keys, filters: map[string][]filter{}})
}

func (b *layerMaker) add(key string, f filter) {
	m := b.layers[len(b.layers)-1].filters
	if f.allow != nil || f.deny != nil {
		m[key] = append(m[key], f)
	}
}

func (b *layerMaker) all(prefix string, some map[string]Layer) {
	for key, l := range some {
		b.layer(key, prefix+key, l)
	}
}

func (b *layerMaker) layer(key, name string, l Layer) {
	b.profile(key, name+".profile", l.Profile)
	f := filter{allowKey: name + ".allow", denyKey: name + ".deny"}
	f.allow, f.deny = b.list(f.allowKey, l.Allow, false), b.list(f.denyKey, l.Deny, true)
	if f.allow != nil && !f.allow.Plausible {
		b.bad = append(b.bad, fmt.Errorf("%s: %s names no tool that the desk knows, no group and no pattern, so it would deny every tool; docs/policy.md has the names",
			f.allowKey, strings.Join(l.Allow, ", ")))
	}
	b.add(key, f)
}

func (b *layerMaker) profile(key, name, profile string) {
	names, known := tool.Profiles[profile]
	if !known {
		b.bad = append(b.bad, fmt.Errorf("%s must be minimal, coding, messaging or full, not %q", name, profile))
		return
	}
	if names != nil {
		allow, _ := tool.NewList(names, false) // profiles are well-formed
		b.add(key, filter{allow: allow, allowKey: name + ": " + profile})
	}
}

func (b *layerMaker) list(key string, names []string, wide bool) *tool.List {
	if len(names) == 0 {
		return nil
	}
	list, bad := tool.NewList(names, wide)
	for _, err := range bad {
		b.bad = append(b.bad, fmt.Errorf("%s: %w", key, err))
	}
	return list
}
