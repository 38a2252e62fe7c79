package effective

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"approvalbot/config"
	"approvalbot/policy"
)

// part is a piece of the policy that can be tried alone, and the key it is at.
type part struct {
	key    string
	config policy.Config
}

// checkPolicy lets the policy itself look at what only it understands: patterns,
// expressions, groups. What it refuses is tried piece by piece, so that the
// mistake names a key.
func (c *checker) checkPolicy(cfg *config.Config) {
	_, err := policy.New(Policy(*cfg))
	if err == nil {
		return
	}
	before := len(c.Mistakes)
	for _, p := range slices.Concat(c.toolParts(cfg.Tools), c.agentParts(cfg.Agents.List), execParts(cfg.Approvals.Exec)) {
		c.try(p)
	}
	for i, r := range cfg.ApprovalTools().Rules {
		c.tryRule(config.Index("approvals.tools.rules", i), ruleOf(r), rolesOf(*cfg))
	}
	if len(c.Mistakes) == before && before == 0 {
		c.Mistake("", "makes no policy: %s", inOneLine(err))
	}
}

// try reports what the policy has against a part, unless a mistake stands there
// already.
func (c *checker) try(p part) {
	if !c.wrong(p.key) {
		c.tryOnly(p)
	}
}

func (c *checker) tryOnly(p part) {
	if _, err := policy.New(p.config); err != nil {
		c.Mistake(p.key, "%s", ownWords.ReplaceAllString(inOneLine(err), ""))
	}
}

// ownWords is what policy says of the place of a mistake, which the key says
// better.
var ownWords = regexp.MustCompile(`^(rule 1 \(.*?\): )?(when: |\S*\b(allow|deny|allowlist|safeBins): )?`)

// wrong reports whether there is a mistake at a key or below it, but for those keys.
func (c *checker) wrong(key string, butFor ...string) bool {
	return slices.ContainsFunc(c.Mistakes, func(m config.Mistake) bool {
		rest, under := strings.CutPrefix(m.Key, key)
		return under && (rest == "" || rest[0] == '.' || rest[0] == '[') && !slices.Contains(butFor, rest)
	})
}

// tryRule tries a rule's pieces beside an effect that is right, then the whole.
func (c *checker) tryRule(key string, r policy.Rule, roles []string) {
	good := policy.Rule{Name: "x", Outcome: "ask"}
	rule := func(at string, change func(*policy.Rule)) {
		one := good
		change(&one)
		c.try(part{key + at, policy.Config{Rules: []policy.Rule{one}, Roles: roles}})
	}
	rule(".name", func(x *policy.Rule) { x.Name = r.Name })
	rule(".when", func(x *policy.Rule) { x.When = r.When })
	rule(".sideEffects", func(x *policy.Rule) { x.SideEffects = r.SideEffects })
	rule(".role", func(x *policy.Rule) { x.Role = r.Role })
	for _, m := range []struct {
		at   string
		list []string
		into func(*policy.Rule) *[]string
	}{
		{".match.tool", r.Match.Tool, func(x *policy.Rule) *[]string { return &x.Match.Tool }},
		{".match.command", r.Match.Command, func(x *policy.Rule) *[]string { return &x.Match.Command }},
		{".match.path", r.Match.Path, func(x *policy.Rule) *[]string { return &x.Match.Path }},
		{".match.host", r.Match.Host, func(x *policy.Rule) *[]string { return &x.Match.Host }},
		{".match.agent", r.Match.Agent, func(x *policy.Rule) *[]string { return &x.Match.Agent }},
		{".match.session", r.Match.Session, func(x *policy.Rule) *[]string { return &x.Match.Session }},
	} {
		for i, pattern := range m.list {
			rule(config.Index(m.at, i), func(x *policy.Rule) { *m.into(x) = []string{pattern} })
		}
	}
	if r.Name = good.Name; !c.wrong(key, ".name") {
		c.tryOnly(part{key, policy.Config{Rules: []policy.Rule{r}, Roles: roles}})
	}
}

func (c *checker) toolParts(t config.Tools) []part {
	out := []part{{"tools.profile", policy.Config{Layers: policy.Layers{Profile: t.Profile}}}}
	for i := range t.Allow {
		out = append(out, part{config.Index("tools.allow", i), policy.Config{ToolsAllow: []string{t.Allow[i], "*"}}})
	}
	out = append(out, part{"tools.allow", policy.Config{ToolsAllow: t.Allow}})
	for i := range t.Deny {
		out = append(out, part{config.Index("tools.deny", i), policy.Config{ToolsDeny: t.Deny[i : i+1]}})
	}
	for _, name := range slices.Sorted(maps.Keys(t.ProviderProfiles)) {
		one := map[string]string{name: t.ProviderProfiles[name]}
		out = append(out, part{"tools.providerProfiles." + name, policy.Config{Layers: policy.Layers{ProviderProfiles: one}}})
	}
	for _, name := range slices.Sorted(maps.Keys(t.Providers)) {
		out = append(out, c.layerParts("tools.providers."+name, t.Providers[name], func(l policy.Layer) policy.Layers {
			return policy.Layers{Providers: map[string]policy.Layer{name: l}}
		})...)
	}
	for _, name := range slices.Sorted(maps.Keys(t.Groups)) {
		out = append(out, c.layerParts("tools.groups."+name, t.Groups[name], func(l policy.Layer) policy.Layers {
			return policy.Layers{Groups: map[string]policy.Layer{name: l}}
		})...)
	}
	out = append(out, c.layerParts("tools.sandbox", t.Sandbox, func(l policy.Layer) policy.Layers { return policy.Layers{Sandbox: l} })...)
	return append(out, c.layerParts("tools.subagent", t.Subagent, func(l policy.Layer) policy.Layers { return policy.Layers{Subagent: l} })...)
}

// layerParts takes a layer apart into its entries, then the whole. Whether a list
// names any tool at all is for the whole to say; "*" beside an entry does.
func (c *checker) layerParts(key string, l config.Layer, in func(policy.Layer) policy.Layers) (out []part) {
	key = c.layerKey(key)
	add := func(at string, l policy.Layer) { out = append(out, part{key + at, policy.Config{Layers: in(l)}}) }
	for i := range l.Allow {
		add(config.Index(".allow", i), policy.Layer{Allow: []string{l.Allow[i], "*"}})
	}
	for i := range l.Deny {
		add(config.Index(".deny", i), policy.Layer{Deny: l.Deny[i : i+1]})
	}
	add("", policy.Layer(l))
	return out
}

func (c *checker) agentParts(list []config.Agent) (out []part) {
	for i, a := range list {
		key := config.Index("agents.list", i)
		tools := config.Layer{Profile: a.Tools.Profile, Allow: a.Tools.Allow, Deny: a.Tools.Deny}
		out = append(out, c.layerParts(key+".tools", tools, func(l policy.Layer) policy.Layers {
			return policy.Layers{Agents: map[string]policy.AgentLayer{a.ID: {Layer: l}}}
		})...)
		for _, name := range slices.Sorted(maps.Keys(a.Tools.Providers)) {
			out = append(out, c.layerParts(key+".tools.providers."+name, a.Tools.Providers[name], func(l policy.Layer) policy.Layers {
				return policy.Layers{Agents: map[string]policy.AgentLayer{a.ID: {Providers: map[string]policy.Layer{name: l}}}}
			})...)
		}
		out = append(out, part{key, policy.Config{
			Layers:     policy.Layers{Agents: map[string]policy.AgentLayer{a.ID: layerOf(a)}},
			Workspaces: map[string][]string{a.ID: a.Workspace},
		}})
	}
	return out
}

func execParts(x config.Exec) (out []part) {
	allowed := config.Texts(x.Allowlist)
	for i := range allowed {
		out = append(out, part{config.Index("approvals.exec.allowlist", i), policy.Config{ExecAllowlist: allowed[i : i+1]}})
	}
	for i := range x.SafeBins {
		out = append(out, part{config.Index("approvals.exec.safeBins", i), policy.Config{ExecSafeBins: x.SafeBins[i : i+1]}})
	}
	return append(out, part{"approvals.exec", policy.Config{ExecSecurity: x.Security, ExecAsk: x.Ask, ExecAskFallback: x.AskFallback}})
}

// inOneLine writes an error of several lines as one.
func inOneLine(err error) string {
	return strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}
