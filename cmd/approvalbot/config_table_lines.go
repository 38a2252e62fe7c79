package main

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"approvalbot/core"
)

// namedLine is a line of the table: what it is about, and what it says.
type namedLine struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// thresholds says from which class on what happens; what is not set is left out.
func thresholds(ask, deny, human Risk) string {
	var out []string
	for _, t := range []struct {
		word string
		risk Risk
	}{{"ask", ask}, {"deny", deny}, {"a human", human}} {
		if t.risk.Set {
			out = append(out, fmt.Sprintf("%s from %v", t.word, t.risk.Class))
		}
	}
	return strings.Join(out, ", ")
}

func execLine(x ExecConfig) string {
	line := fmt.Sprintf("security %s, ask %s", x.Security, x.Ask)
	if x.Security == "allowlist" && x.Ask == "on-miss" {
		line += ": what is above R1 asks"
	}
	switch x.AskFallback {
	case "allowlist":
		line += "; when nobody is reached a hit runs"
	case "full":
		line += "; when nobody is reached it RUNS"
	}
	if len(x.Allowlist) > 0 {
		line += "; allowed " + strings.Join(words[string](x.Allowlist), ", ")
	}
	if len(x.SafeBins) > 0 {
		line += "; safe without files: " + strings.Join(x.SafeBins, ", ")
	}
	return line
}

func (x ClassifierConfig) line() string {
	if !x.Enabled {
		return "off"
	}
	return fmt.Sprintf("%s within %d ms; below %g sure: %s", strings.TrimSpace(x.Provider+" "+x.Model), x.TimeoutMs, x.MinConfidence, x.OnLowConfidence)
}

// verifierLine names the webhook by its host: the rest of an address may hold a key.
func (c Config) verifierLine(v VerifierConfig) string {
	if !v.Enabled {
		return "off"
	}
	var out []string
	if u, err := url.Parse(v.Webhook.URL); err == nil && u.Host != "" {
		out = append(out, "webhook at "+u.Host)
	}
	if t := v.Telegram; t.Enabled {
		chat := "its chat"
		if t.ChatID != "" {
			chat = c.verifierChannel(t) + ":" + string(t.ChatID)
		}
		out = append(out, fmt.Sprintf("%d account(s) in %s", len(t.AllowedUserIDs), chat))
	}
	switch {
	case len(v.Scope.Include) > 0:
		out = append(out, "for "+strings.Join(v.Scope.Include, ", "))
	case len(v.Scope.Exclude) > 0:
		out = append(out, "for all but "+strings.Join(v.Scope.Exclude, ", "))
	}
	if v.FailMode != "" {
		out = append(out, "no answer: "+v.FailMode)
	}
	return cmp.Or(strings.Join(out, "; "), "on")
}

func (l LayerConfig) line() string {
	var out []string
	add := func(word string, list ...string) {
		if text := strings.Join(list, ", "); text != "" {
			out = append(out, word+" "+text)
		}
	}
	add("profile", l.Profile)
	add("deny", l.Deny...)
	add("allow only", l.Allow...)
	return strings.Join(out, "; ")
}

// layerLines lists the hard layers that take anything away, in the order in which
// they are applied.
func (c Config) layerLines() []namedLine {
	out := []namedLine{}
	add := func(name string, l LayerConfig) {
		if text := l.line(); text != "" {
			out = append(out, namedLine{name, text})
		}
	}
	each := func(name string, layers map[string]LayerConfig) {
		for _, key := range slices.Sorted(maps.Keys(layers)) {
			add(name+" "+key, layers[key])
		}
	}
	t := c.Tools
	if t.Profile != "full" {
		add("tools", LayerConfig{Profile: t.Profile})
	}
	for _, key := range slices.Sorted(maps.Keys(t.ProviderProfiles)) {
		add("provider "+key, LayerConfig{Profile: t.ProviderProfiles[key]})
	}
	add("tools", LayerConfig{Allow: t.Allow, Deny: t.Deny})
	each("provider", t.Providers)
	for _, a := range c.Agents.List {
		add("agent "+a.ID, LayerConfig{Profile: a.Tools.Profile, Allow: a.Tools.Allow, Deny: a.Tools.Deny})
		each("agent "+a.ID+", provider", a.Tools.Providers)
	}
	each("group", t.Groups)
	add("sandbox", t.Sandbox)
	add("subagent", t.Subagent)
	return out
}

// projectCodeLine says what happens to calls that run the workspace's own code.
func projectCodeLine(p PolicyConfig) string {
	if p.ProjectCode == "ask" {
		return "tests and builds of the workspace ask"
	}
	return "tests and builds of the workspace run unasked, whatever code they run (projectCode: allow)"
}

// placeLines lists what is local to agents, and whose commands count as confined.
func (c Config) placeLines() []namedLine {
	out := []namedLine{}
	for _, a := range c.Agents.List {
		text := cmp.Or(strings.Join(a.Workspace, ", "), "a call's workdir where it is a plain project directory")
		if a.Sandboxed {
			text += "; its commands count as confined (sandboxed): unknown ones and the project's code are R2"
		}
		out = append(out, namedLine{a.ID, text})
	}
	return out
}

// agentLines lists what is stricter for single agents than for all.
func (c Config) agentLines() []namedLine {
	out := []namedLine{}
	for _, a := range c.Agents.List {
		var words []string
		add := func(format string, args ...any) { words = append(words, fmt.Sprintf(format, args...)) }
		o := a.Approvals
		if o.Mode != "" {
			add("mode %s", o.Mode)
		}
		if text := thresholds(o.Policy.RequireApprovalAtOrAbove, o.Policy.DenyAtOrAbove, o.Policy.RequireHumanApproverAtOrAbove); text != "" {
			add("%s", text)
		}
		if o.MinApprovals > 0 {
			add("needs %d", o.MinApprovals)
		}
		for _, class := range slices.Sorted(maps.Keys(o.Policy.MinApprovalsByRisk)) {
			add("%s needs %d", class, o.Policy.MinApprovalsByRisk[class])
		}
		if v := a.Tools.Verifier; v.Enabled {
			add("verifier: %s", c.verifierLine(v))
		}
		if len(words) > 0 {
			out = append(out, namedLine{a.ID, strings.Join(words, "; ")})
		}
	}
	return out
}

// ruleLines lists the operator's rules: what each does, whose yes it needs and
// who that is now, and which calls it is about.
func (c Config) ruleLines() ([]namedLine, error) {
	out := []namedLine{}
	dir, err := core.NewDirectory(c.rights())
	if err != nil {
		return nil, err
	}
	for _, r := range c.approvals().Rules {
		text := r.effect()
		if r.Role != "" {
			text += fmt.Sprintf(" by %d of %s (%s)", max(1, r.MinApprovals), r.Role, cmp.Or(strings.Join(c.withRole(r.Role, dir), ", "), "nobody"))
		} else if r.MinApprovals > 0 {
			text += fmt.Sprintf(" by %d", r.MinApprovals)
		}
		out = append(out, namedLine{r.Name, text + ": " + cmp.Or(r.about(), "every call")})
	}
	return out, nil
}

func (r RuleConfig) effect() string {
	effect := r.Outcome
	switch {
	case r.Risk.Set:
		effect = r.Risk.Class.String()
	case r.Approve:
		effect = "rules_based approves"
	}
	if len(r.SideEffects) > 0 {
		effect += " +" + strings.Join(r.SideEffects, " +")
	}
	return effect
}

func (r RuleConfig) about() string {
	var out []string
	for _, m := range []struct {
		word string
		list Patterns
	}{
		{"tool", r.Match.Tool}, {"command", r.Match.Command}, {"path", r.Match.Path},
		{"host", r.Match.Host}, {"agent", r.Match.Agent}, {"session", r.Match.Session},
	} {
		if len(m.list) > 0 {
			out = append(out, m.word+" "+strings.Join(m.list, " or "))
		}
	}
	if r.When != "" {
		out = append(out, "when "+r.When)
	}
	return strings.Join(out, ", ")
}
