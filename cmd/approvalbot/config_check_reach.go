package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"approvalbot/core"
)

// checkReach looks at what names something that is not there: agents, and approvers for
// a quorum.
func (c *checker) checkReach(cfg *Config) {
	c.checkAgentIDs(cfg)
	t := cfg.approvals()
	now, err := core.NewDirectory(cfg.rights())
	if err != nil || !cfg.Approvals.Enabled() || !slices.Contains(t.effective(), string(core.UserRequest)) {
		return // named elsewhere, or nobody is asked
	}
	mapped, unmapped, open := now.Eligible(nil)
	if mapped+unmapped == 0 && !open {
		c.warn("approvals.tools", "nobody could say yes now: every call that asks is denied until somebody may decide "+
			"in a chat (allowedUserIds) or with a token (operator.approvals and a person)")
	}
	if t.ClampMinApprovals || open {
		return
	}
	for _, q := range cfg.quorums() {
		switch few := cfg.allOn().few(q.need); {
		case few:
			c.mistake(q.key, "needs %d approvals, and %s could give one: every such call would be denied; let more people "+
				"decide, each mapped under people, or set approvals.tools.clampMinApprovals", q.need, whoDecides(cfg.allOn()))
		case cfg.few(q.need):
			c.warn(q.key, "needs %d approvals, and %s could give one as long as a chat is off: every such call is denied",
				q.need, whoDecides(*cfg))
		}
	}
}

// allOn is the configuration as if each chat had its token.
func (c Config) allOn() Config {
	c.Channels.Telegram.BotToken, c.Channels.Discord.BotToken = redacted, redacted
	return c
}

// few reports whether a quorum of several is larger than the people who may decide.
func (c Config) few(need int) bool { return need > 1 && !c.enough("", need) }

// whoDecides says who of people may decide.
func whoDecides(c Config) string {
	dir, err := core.NewDirectory(c.rights())
	if err != nil {
		return "nobody"
	}
	switch names := c.deciders(dir); len(names) {
	case 0:
		return "nobody of people"
	case 1:
		return "only " + names[0]
	default:
		return "only " + strings.Join(names, ", ")
	}
}

// quorum is how many people a key wants to say yes.
type quorum struct {
	key  string
	need int
}

// quorums lists those that a call can be held to, each once: not of classes that are
// never asked about, nor of rules.
func (c Config) quorums() (all []quorum) {
	const tools = "approvals.tools"
	t := c.approvals()
	for class := range core.R4 + 1 {
		asks := c.outcome(class) == "ask"
		if asks {
			all = append(all, needed(class, t.MinApprovals, t.Policy.MinApprovalsByRisk, tools+".minApprovals", tools+".policy"))
		}
		for i, agent := range c.Agents.List {
			a := agent.Approvals
			asked := asks || a.Mode == "always" || a.Policy.RequireApprovalAtOrAbove.Reaches(class)
			denied := c.outcome(class) == "deny" || a.Policy.DenyAtOrAbove.Reaches(class)
			if asked && !denied {
				key := index("agents.list", i) + ".approvals"
				all = append(all, needed(class, a.MinApprovals, a.Policy.MinApprovalsByRisk, key+".minApprovals", key+".policy"))
			}
		}
	}
	slices.SortFunc(all, func(a, b quorum) int { return strings.Compare(a.key, b.key) })
	return slices.Compact(all)
}

// needed is the largest number that is said for a class or one below it, and the key
// that says it.
func needed(class core.RiskClass, least int, byRisk map[string]int, leastKey, policyKey string) quorum {
	most := quorum{leastKey, least}
	for of := range class + 1 {
		if n := byRisk[of.String()]; n > most.need {
			most = quorum{policyKey + ".minApprovalsByRisk." + of.String(), n}
		}
	}
	return most
}

// checkAgentIDs names agents that agents.list does not know, where it knows any: what
// is said of them there counts for nobody.
func (c *checker) checkAgentIDs(cfg *Config) {
	if len(cfg.Agents.List) == 0 {
		return
	}
	ids := make([]string, len(cfg.Agents.List))
	for i, a := range cfg.Agents.List {
		ids[i] = a.ID
	}
	unknown := func(key, id string) {
		if id != "" && !slices.Contains(ids, id) {
			c.warn(key, "names an agent that is not in agents.list%s", didYouMean(id, ids))
		}
	}
	for i, a := range cfg.Agents.List {
		own := func(t TokenConfig) bool { return t.AgentID == a.ID }
		if a.Sandboxed && !slices.ContainsFunc(cfg.Server.Tokens, own) {
			c.warn(index("agents.list", i)+".sandboxed", "has no effect: no token has this agentId, "+
				"and what a call says of its agent loosens nothing")
		}
	}
	for i, t := range cfg.Server.Tokens {
		unknown(index("server.tokens", i)+".agentId", t.AgentID)
	}
	for i, r := range cfg.approvals().Rules {
		for j, id := range r.Match.Agent {
			unknown(index(index("approvals.tools.rules", i)+".match.agent", j), id)
		}
	}
}

// checkKeyFolder looks whether the key can be made or read where it is to be. Only
// who is about to start asks: a file may be written on another machine.
func (c *checker) checkKeyFolder(cfg Config) {
	if cfg.Store.KeyFile == "" {
		return
	}
	if at, err := os.Stat(filepath.Dir(cfg.Store.KeyFile)); os.IsNotExist(err) || err == nil && !at.IsDir() {
		c.warn("store.keyFile", "lies in a folder that does not exist: make it before the first start")
	}
}
