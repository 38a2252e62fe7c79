package policy

import (
	"maps"
	"slices"
	"strings"

	"approvalbot/internal/approval"
	"approvalbot/internal/policy/tool"
)

// hardLayers makes the layers of a Config in the order in which they apply, and
// names every mistake in them.
// The lists of tools itself are sorted in c; written is as they came.
func hardLayers(c *Config, written Layer) ([]tool.Layer, Mistakes) {
	b, l := layerMaker{}, &c.Layers
	b.step(tool.Always)
	b.profile(tool.Fixed, []string{"tools", "profile"}, l.Profile)
	b.step(tool.ByProvider)
	for _, key := range slices.Sorted(maps.Keys(l.ProviderProfiles)) {
		b.profile(key, []string{"tools", "providerProfiles", key}, l.ProviderProfiles[key])
	}
	b.step(tool.Always)
	b.layer(tool.Fixed, []string{"tools"}, Layer{Allow: c.ToolsAllow, Deny: c.ToolsDeny}, written)
	b.step(tool.ByProvider)
	b.all([]string{"tools", "providers"}, "", l.Providers)
	agents := slices.Sorted(maps.Keys(l.Agents))
	b.step(tool.ByAgent)
	for _, id := range agents {
		of := l.Agents[id].Layer
		b.layer(id, []string{"agents", id, "tools"}, of, of)
	}
	b.step(tool.ByAgentProvider)
	for _, id := range agents {
		b.all([]string{"agents", id, "tools", "providers"}, id+"\x00", l.Agents[id].Providers)
	}
	b.step(tool.ByGroup)
	b.all([]string{"tools", "groups"}, "", l.Groups)
	b.step(tool.InSandbox)
	b.layer(tool.Fixed, []string{"tools", "sandbox"}, l.Sandbox, l.Sandbox)
	b.step(tool.InSubagent)
	b.layer(tool.Fixed, []string{"tools", "subagent"}, l.Subagent, l.Subagent)
	used := b.layers[:0]
	for _, l := range b.layers {
		if len(l.Filters) > 0 {
			used = append(used, l)
		}
	}
	return used, b.bad
}

// layerMaker collects layers and what is wrong with them.
type layerMaker struct {
	layers []tool.Layer
	bad    Mistakes
}

func (b *layerMaker) step(keys func(*approval.Call) [2]string) {
	b.layers = append(b.layers, tool.Layer{Keys: keys, Filters: map[string][]tool.Filter{}})
}

func (b *layerMaker) add(key string, f tool.Filter) {
	m := b.layers[len(b.layers)-1].Filters
	if f.Allow != nil || f.Deny != nil {
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
	f := tool.Filter{AllowKey: strings.Join(allow, "."), DenyKey: strings.Join(deny, ".")}
	f.Allow, f.Deny = b.list(allow, l.Allow, written.Allow, false), b.list(deny, l.Deny, written.Deny, true)
	if f.Allow != nil && !f.Allow.Plausible {
		if len(path) > 1 { // a layer of its own, which is wrong as a whole
			allow = path
		}
		b.bad.add(allow, f.AllowKey+": ", "%s names no tool that the desk knows, no group and no pattern, "+
			"so it would deny every tool; docs/policy.md has the names", strings.Join(l.Allow, ", "))
	}
	b.add(key, f)
}

func (b *layerMaker) profile(key string, path []string, profile string) {
	names, known := tool.Profiles()[profile]
	name := strings.Join(path, ".")
	if !known {
		b.bad.add(path, name+" ", "must be minimal, coding, messaging or full, not %q", profile)
		return
	}
	if names != nil {
		allow, _ := tool.NewList(names, false) // profiles are well-formed
		b.add(key, tool.Filter{Allow: allow, AllowKey: name + ": " + profile})
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
