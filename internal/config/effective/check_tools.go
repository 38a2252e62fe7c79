package effective

import (
	"maps"
	"path"
	"slices"
	"strings"

	"approvalbot/internal/approval"
	"approvalbot/internal/config"
	"approvalbot/internal/policy/workspace"
)

func (c *checker) checkTools(t config.Tools) {
	c.toolPatterns("tools.allow", t.Allow)
	c.toolPatterns("tools.deny", t.Deny)
	c.named("tools.providerProfiles", slices.Sorted(maps.Keys(t.ProviderProfiles)))
	c.layers("tools.providers", t.Providers)
	c.layers("tools.groups", t.Groups)
	c.layer("tools.sandbox", t.Sandbox)
	c.layer("tools.subagent", t.Subagent)
}

func (c *checker) layers(key string, all map[string]config.Layer) {
	names := slices.Sorted(maps.Keys(all))
	c.named(key, names)
	for _, n := range names {
		c.layer(config.Join(key, n), all[n])
	}
}

func (c *checker) layer(key string, l config.Layer) {
	key = c.layerKey(key)
	c.toolPatterns(key+".allow", l.Allow)
	c.toolPatterns(key+".deny", l.Deny)
}

// layerKey is the key of a layer's lists, which are below tools in the longer form.
func (c *checker) layerKey(key string) string {
	if c.Has(key + ".tools") {
		return key + ".tools"
	}
	return key
}

// named reports a map with a key that is empty, or that begins or ends with a
// blank.
func (c *checker) named(key string, names []string) {
	for _, n := range names {
		if strings.TrimSpace(n) != n || n == "" {
			c.Mistake(key, "has a key that is empty or begins or ends with a blank")
		}
	}
}

// toolPatterns takes names of tools, globs with *, and group:name.
func (c *checker) toolPatterns(key string, tools []string) {
	for i, t := range tools {
		if t == "" || strings.ContainsAny(t, "?[]{} \t\r\n") {
			c.Mistake(config.Index(key, i), "must be a tool's name (read), a pattern (jira__*) or a group (group:fs)")
		}
	}
	distinct(c, key, tools)
}

func (c *checker) checkAgents(cfg *config.Config) {
	seen := map[string]bool{}
	for i, agent := range cfg.Agents.List {
		key := config.Index("agents.list", i)
		switch {
		case agent.ID == "" || len(agent.ID) > 256:
			c.Mistake(key+".id", "must be the agent's id, at most 256 bytes")
		case seen[agent.ID]:
			c.Mistake(key+".id", "is listed twice")
		}
		seen[agent.ID] = true
		c.checkWorkspaces(key+".workspace", agent.Workspace)
		c.toolPatterns(key+".tools.allow", agent.Tools.Allow)
		c.toolPatterns(key+".tools.deny", agent.Tools.Deny)
		c.layers(key+".tools.providers", agent.Tools.Providers)
		c.checkAgentApprovals(key+".approvals", agent.Approvals, cfg.ApprovalTools())
	}
}

// checkWorkspaces accepts absolute paths. Rules about directories of settings and
// programs apply only below a workspace, so a workspace that is such a directory
// itself is reported.
func (c *checker) checkWorkspaces(key string, dirs []string) {
	for i, dir := range dirs {
		at := key
		if c.Has(config.Index(key, i)) {
			at = config.Index(key, i)
		}
		switch {
		case !path.IsAbs(dir) || path.Clean(dir) == "/":
			c.Mistake(at, "must be an absolute path below /")
		case !workspace.PlainDirectory(dir):
			c.Warn(at, "is not a plain project directory (it is a home, or belongs to the "+
				"system, or holds settings or programs): "+
				"the agent may change files in it unasked")
		}
	}
	distinct(c, key, dirs)
}

// modes are ordered from loose to strict.
var modes = []string{"off", "adaptive", "always"}

// checkAgentApprovals reports overrides without effect: a value that is looser
// than the rule for all does not count.
func (c *checker) checkAgentApprovals(key string, a config.AgentApprovals, all config.ApprovalTools) {
	looser := func(key string, is bool) {
		if is && c.Has(key) {
			c.Warn(key, "is looser than approvals.tools%s, so it has no effect: the stricter value counts",
				key[strings.LastIndex(key, ".approvals")+len(".approvals"):])
		}
	}
	if c.Has(key + ".minApprovals") {
		c.atLeast(key+".minApprovals", a.MinApprovals, 1)
	}
	looser(key+".mode", slices.Index(modes, a.Mode) < slices.Index(modes, all.Mode))
	looser(key+".minApprovals", a.MinApprovals < all.MinApprovals)
	at := key + ".policy"
	c.checkQuorums(at, a.Policy.MinApprovalsByRisk)
	for _, t := range []struct {
		key       string
		mine, all config.Risk
	}{
		{".requireApprovalAtOrAbove", a.Policy.RequireApprovalAtOrAbove, all.Policy.RequireApprovalAtOrAbove},
		{".denyAtOrAbove", a.Policy.DenyAtOrAbove, all.Policy.DenyAtOrAbove},
		{".requireHumanApproverAtOrAbove", a.Policy.RequireHumanApproverAtOrAbove, all.Policy.RequireHumanApproverAtOrAbove},
	} {
		looser(at+t.key, t.mine.Set && t.all.Set && t.mine.Class > t.all.Class)
	}
}

// checkQuorums takes numbers by risk class.
func (c *checker) checkQuorums(key string, byRisk map[string]int) {
	for _, class := range slices.Sorted(maps.Keys(byRisk)) {
		var known approval.RiskClass
		at := key + ".minApprovalsByRisk." + class
		if known.UnmarshalText([]byte(class)) != nil {
			c.Mistake(at, "unknown key; the classes are R0, R1, R2, R3 and R4")
		}
		c.atLeast(at, byRisk[class], 1)
	}
}
