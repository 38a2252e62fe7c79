package policy

import (
	"maps"
	"slices"
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
// The lists of tools itself are sorted in c; written is as they came.
func hardLayers(c *Config, written Layer) ([]layer, Mistakes) {
	b, l := layerMaker{}, &c.Layers
	b.step(always)
	b.profile(fixed, []string{"tools", "profile"}, l.Profile)
	b.step(byProvider)
	for _, key := range slices.Sorted(maps.Keys(l.ProviderProfiles)) {
		b.profile(key, []string{"tools", "providerProfiles", key}, l.ProviderProfiles[key])
	}
	b.step(always)
	b.layer(fixed, []string{"tools"}, Layer{Allow: c.ToolsAllow, Deny: c.ToolsDeny}, written)
	b.step(byProvider)
	b.all([]string{"tools", "providers"}, "", l.Providers)
	agents := slices.Sorted(maps.Keys(l.Agents))
	b.step(byAgent)
	for _, id := range agents {
		of := l.Agents[id].Layer
		b.layer(id, []string{"agents", id, "tools"}, of, of)
	}
	b.step(byAgentProvider)
	for _, id := range agents {
		b.all([]string{"agents", id, "tools", "providers"}, id+"\x00", l.Agents[id].Providers)
	}
	b.step(byGroup)
	b.all([]string{"tools", "groups"}, "", l.Groups)
	b.step(inSandbox)
	b.layer(fixed, []string{"tools", "sandbox"}, l.Sandbox, l.Sandbox)
	b.step(inSubagent)
	b.layer(fixed, []string{"tools", "subagent"}, l.Subagent, l.Subagent)
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
	bad    Mistakes
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

func (b *layerMaker) all(path []string, prefix string, some map[string]Layer) {
	for _, key := range slices.Sorted(maps.Keys(some)) {
		b.layer(prefix+key, below(path, key), some[key], some[key])
	}
}

// layer makes one layer; written is the same with its lists as they came.
func (b *layerMaker) layer(key string, path []string, l, written Layer) {
	b.profile(key, below(path, "profile"), l.Profile)
	allow, deny := below(path, "allow"), below(path, "deny")
	f := filter{allowKey: strings.Join(allow, "."), denyKey: strings.Join(deny, ".")}
	f.allow, f.deny = b.list(allow, l.Allow, written.Allow, false), b.list(deny, l.Deny, written.Deny, true)
	if f.allow != nil && !f.allow.Plausible {
		if len(path) > 1 { // a layer of its own, which is wrong as a whole
			allow = path
		}
		b.bad.add(allow, f.allowKey+": ", "%s names no tool that the desk knows, no group and no pattern, "+
			"so it would deny every tool; docs/policy.md has the names", strings.Join(l.Allow, ", "))
	}
	b.add(key, f)
}

func (b *layerMaker) profile(key string, path []string, profile string) {
	names, known := tool.Profiles[profile]
	name := strings.Join(path, ".")
	if !known {
		b.bad.add(path, name+" ", "must be minimal, coding, messaging or full, not %q", profile)
		return
	}
	if names != nil {
		allow, _ := tool.NewList(names, false) // profiles are well-formed
		b.add(key, filter{allow: allow, allowKey: name + ": " + profile})
	}
}

func (b *layerMaker) list(path, names, written []string, wide bool) *tool.List {
	if len(names) == 0 {
		return nil
	}
	for i, name := range written {
		if _, bad := tool.NewList([]string{name}, wide); len(bad) > 0 {
			b.bad.add(below(path, entry(i)), strings.Join(path, ".")+": ", "%s", bad[0])
		}
	}
	list, _ := tool.NewList(names, wide) // its mistakes are named
	return list
}
