package offline

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"approvalbot/internal/config"
	"approvalbot/internal/config/effective"
	"approvalbot/internal/people"
	"approvalbot/internal/store"
)

// namedLine is a line of the table: what it is about, and what it says.
type namedLine struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// thresholds says from which class on calls ask, are denied or need a human; a threshold
// that is not set is left out.
func thresholds(ask, deny, human config.Risk) string {
	var out []string
	for _, t := range []struct {
		word string
		risk config.Risk
	}{{"ask", ask}, {"deny", deny}, {"a human", human}} {
		if t.risk.Set {
			out = append(out, fmt.Sprintf("%s from %v", t.word, t.risk.Class))
		}
	}
	return strings.Join(out, ", ")
}

func execLine(x config.Exec) string {
	line := fmt.Sprintf("security %s, ask %s", x.Security, x.Ask)
	if x.Security == "allowlist" && x.Ask == "on-miss" {
		line += ": what is above R2 asks; strict: true lets R2 ask too"
		if x.Strict {
			line = fmt.Sprintf("security %s, strict, ask %s: what is above R1 asks", x.Security, x.Ask)
		}
	}
	switch x.AskFallback {
	case "allowlist":
		line += "; if no approver can be reached a hit runs"
	case "full":
		line += "; if no approver can be reached it RUNS"
	}
	if len(x.Allowlist) > 0 {
		line += "; allowed " + strings.Join(config.Texts(x.Allowlist), ", ")
	}
	if len(x.SafeBins) > 0 {
		line += "; safe without files: " + strings.Join(x.SafeBins, ", ")
	}
	return line
}

func classifierLine(x config.Classifier) string {
	if !x.Enabled {
		return "off"
	}
	return fmt.Sprintf("%s within %d ms; below %g sure: %s", strings.TrimSpace(x.Provider+" "+x.Model), x.TimeoutMs,
		x.MinConfidence, x.OnLowConfidence)
}

// verifierLine names the webhook by its host: the rest of an address may hold a key.
func verifierLine(c config.Config, v config.Verifier) string {
	if !v.Enabled {
		return "off"
	}
	var out []string
	if u, err := url.Parse(v.Webhook.URL); err == nil && u.Host != "" {
		out = append(out, "webhook at "+u.Host)
	}
	if t := v.Chat; t.Enabled {
		chat := "its chat"
		if t.ChatID != "" {
			chat = effective.VerifierChannel(c, t) + ":" + string(t.ChatID)
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

func layerLine(l config.Layer) string {
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

// layerLines lists the hard layers that restrict calls, in the order in which they are
// applied.
func layerLines(c config.Config) []namedLine {
	out := []namedLine{}
	add := func(name string, l config.Layer) {
		if text := layerLine(l); text != "" {
			out = append(out, namedLine{name, text})
		}
	}
	each := func(name string, layers map[string]config.Layer) {
		for _, key := range slices.Sorted(maps.Keys(layers)) {
			add(name+" "+key, layers[key])
		}
	}
	t := c.Tools
	if t.Profile != "full" {
		add("tools", config.Layer{Profile: t.Profile})
	}
	for _, key := range slices.Sorted(maps.Keys(t.ProviderProfiles)) {
		add("provider "+key, config.Layer{Profile: t.ProviderProfiles[key]})
	}
	add("tools", config.Layer{Allow: t.Allow, Deny: t.Deny})
	each("provider", t.Providers)
	for _, a := range c.Agents.List {
		add("agent "+a.ID, config.Layer{Profile: a.Tools.Profile, Allow: a.Tools.Allow, Deny: a.Tools.Deny})
		each("agent "+a.ID+", provider", a.Tools.Providers)
	}
	each("group", t.Groups)
	add("sandbox", t.Sandbox)
	add("subagent", t.Subagent)
	return out
}

// projectCodeLine says what happens to calls that run the workspace's own code.
func projectCodeLine(p config.Policy) string {
	switch p.ProjectCode {
	case "ask":
		return "tests and builds of the workspace ask"
	case "confined":
		return "tests and builds of the workspace run confined, and ask if they cannot"
	}
	return "tests and builds of the workspace run unasked, with any code in them (projectCode: allow)"
}

// confineLine says which calls may run confined, and which tokens may ask for that;
// empty: no call runs confined.
func confineLine(c config.Config) string {
	on := func(mode string) bool { return mode == "unsure" || mode == "always" }
	mode := c.ApprovalTools().Confine.Mode
	var agents, tokens []string
	for _, a := range c.Agents.List {
		if a.Confine.Mode != "" && a.Confine.Mode != mode {
			agents = append(agents, a.ID+" "+a.Confine.Mode)
		}
	}
	if !on(mode) && len(agents) == 0 {
		return ""
	}
	for _, t := range c.Server.Tokens {
		if t.MayConfine {
			tokens = append(tokens, t.Name)
		}
	}
	line := map[string]string{"unsure": "what is only not understood runs confined instead of asking", "always": "what is not understood, or allowed and local, runs confined"}[mode]
	line = cmp.Or(line, "no call")
	if len(agents) > 0 {
		line += "; of agents " + strings.Join(agents, ", ")
	}
	if len(tokens) == 0 {
		return line + "; no token may say that it confines (mayConfine), so no call runs confined"
	}
	return line + ", if it is asked by token " + strings.Join(tokens, ", ") + " (experimental)"
}

// placeLines lists what is local to agents, and whose commands count as confined.
func placeLines(c config.Config) []namedLine {
	out := []namedLine{}
	for _, a := range c.Agents.List {
		text := cmp.Or(strings.Join(a.Workspace, ", "), "a call's workdir if it is a plain project directory")
		if a.Sandboxed {
			text += "; its commands count as confined (sandboxed): unknown ones and the project's code are R2"
		}
		out = append(out, namedLine{a.ID, text})
	}
	return out
}

// agentLines lists the settings that are stricter for single agents than for all.
func agentLines(c config.Config) []namedLine {
	out := []namedLine{}
	for _, a := range c.Agents.List {
		var words []string
		add := func(format string, args ...any) { words = append(words, fmt.Sprintf(format, args...)) }
		o := a.Approvals
		if o.Mode != "" {
			add("mode %s", o.Mode)
		}
		if text := thresholds(o.Policy.RequireApprovalAtOrAbove, o.Policy.DenyAtOrAbove,
			o.Policy.RequireHumanApproverAtOrAbove); text != "" {
			add("%s", text)
		}
		if o.MinApprovals > 0 {
			add("needs %d", o.MinApprovals)
		}
		for _, class := range slices.Sorted(maps.Keys(o.Policy.MinApprovalsByRisk)) {
			add("%s needs %d", class, o.Policy.MinApprovalsByRisk[class])
		}
		if v := a.Tools.Verifier; v.Enabled {
			add("verifier: %s", verifierLine(c, v))
		}
		if len(words) > 0 {
			out = append(out, namedLine{a.ID, strings.Join(words, "; ")})
		}
	}
	return out
}

// absences are those that the configuration's SQLite store knows, if it is there and can
// be read; others only a running desk, and doctor, know.
func absences(c config.Config) []people.Absence {
	if c.DatabaseFile() == "" {
		return nil
	}
	all, _ := store.LookAbsences(context.Background(), store.Options{URL: c.Store.URL})
	return all.All
}

// undecidedLines says who hears of a request that stays undecided, and when.
func undecidedLines(c config.Config) ([]namedLine, error) {
	now := time.Now()
	lines, err := effective.Timelines(c, effective.DutyFromFiles(c, now), now, absences(c)...)
	out := []namedLine{}
	for _, l := range lines {
		out = append(out, namedLine(l))
	}
	return out, err
}

// ruleLines lists the operator's rules: what each does, whose yes it needs and
// who that is now, and which calls it is about.
func ruleLines(c config.Config) ([]namedLine, error) {
	out := []namedLine{}
	dir, err := people.NewDirectory(effective.Rights(c))
	if err != nil {
		return nil, err
	}
	having := effective.WithRoles(c, dir)
	for _, r := range c.ApprovalTools().Rules {
		text := ruleEffect(r)
		if r.Role != "" {
			text += fmt.Sprintf(" by %d of %s (%s)", max(1, r.MinApprovals), r.Role,
				cmp.Or(strings.Join(having[r.Role], ", "), "no person"))
		} else if r.MinApprovals > 0 {
			text += fmt.Sprintf(" by %d", r.MinApprovals)
		}
		out = append(out, namedLine{r.Name, text + ": " + cmp.Or(ruleAbout(r), "every call")})
	}
	return out, nil
}

func ruleEffect(r config.Rule) string {
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

func ruleAbout(r config.Rule) string {
	var out []string
	for _, m := range []struct {
		word string
		list config.Patterns
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
	if r.During != (config.During{}) {
		out = append(out, "during "+r.During.String())
	}
	return strings.Join(out, ", ")
}
