package effective

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"approvalbot/internal/approval"
	"approvalbot/internal/config"
	"approvalbot/internal/people"
)

// checkReach reports names of agents that do not exist, and quorums without enough
// approvers.
func (c *checker) checkReach(cfg *config.Config) {
	c.checkAgentIDs(cfg)
	t := cfg.ApprovalTools()
	now, err := people.NewDirectory(Rights(*cfg))
	if err != nil || !cfg.Approvals.Enabled() || !slices.Contains(t.EffectiveApprovers(), string(approval.UserRequest)) {
		return // named at another key, or no one is asked
	}
	mapped, unmapped, open := now.Eligible(nil)
	if mapped+unmapped == 0 && !open {
		c.Warn("approvals.tools", "no person can approve now, so every call that asks is denied until a person "+
			"may decide in a chat (allowedUserIds) or with a token (operator.approvals and a person)")
	}
	if t.ClampMinApprovals || open {
		return
	}
	here, ever := approversOf(*cfg), approversOf(allOn(*cfg))
	for _, q := range quorumsOf(*cfg) {
		switch {
		case few(ever, q.need):
			c.Mistake(q.key, "needs %d approvals, but %s could give one, so every such call would be denied; let "+
				"more people decide, each listed under people, or set "+
				"approvals.tools.clampMinApprovals", q.need, whoDecides(allOn(*cfg)))
		case few(here, q.need):
			c.Warn(q.key, "needs %d approvals, but %s could give one while a chat is off, so every such call "+
				"is denied",
				q.need, whoDecides(*cfg))
		}
	}
}

// allOn is the configuration as if each chat had its token.
func allOn(c config.Config) config.Config {
	c.Channels = c.Channels.Each(func(_ string, bot *config.Channel) { bot.BotToken = "on" })
	return c
}

// few reports whether a quorum of several is larger than the people who may decide.
func few(of approvers, need int) bool { return need > 1 && !of.enough("", need) }

// whoDecides names those of the people who may decide.
func whoDecides(c config.Config) string {
	dir, err := people.NewDirectory(Rights(c))
	if err != nil {
		return "no person"
	}
	switch names := decidersOf(c, dir); len(names) {
	case 0:
		return "no configured person"
	case 1:
		return "only " + names[0]
	default:
		return "only " + strings.Join(names, ", ")
	}
}

// quorum is the number of approvals that a key asks for.
type quorum struct {
	key  string
	need int
}

// quorumsOf lists the quorums that a call can need, each once: without classes that
// never ask, and without rules.
func quorumsOf(c config.Config) (all []quorum) {
	const tools = "approvals.tools"
	t := c.ApprovalTools()
	for class := range approval.R4 + 1 {
		asks := outcomeOf(c, class) == "ask"
		if asks {
			all = append(all, needed(class, t.MinApprovals, t.Policy.MinApprovalsByRisk, tools+".minApprovals", tools+".policy"))
		}
		for i, agent := range c.Agents.List {
			a := agent.Approvals
			asked := asks || a.Mode == "always" || a.Policy.RequireApprovalAtOrAbove.Reaches(class)
			denied := outcomeOf(c, class) == "deny" || a.Policy.DenyAtOrAbove.Reaches(class)
			if asked && !denied {
				key := config.Index("agents.list", i) + ".approvals"
				all = append(all, needed(class, a.MinApprovals, a.Policy.MinApprovalsByRisk, key+".minApprovals", key+".policy"))
			}
		}
	}
	slices.SortFunc(all, func(a, b quorum) int { return strings.Compare(a.key, b.key) })
	return slices.Compact(all)
}

// needed is the largest number that is set for a class or one below it, with its
// key.
func needed(class approval.RiskClass, least int, byRisk map[string]int, leastKey, policyKey string) quorum {
	most := quorum{leastKey, least}
	for of := range class + 1 {
		if n := byRisk[of.String()]; n > most.need {
			most = quorum{policyKey + ".minApprovalsByRisk." + of.String(), n}
		}
	}
	return most
}

// checkAgentIDs reports agents that agents.list does not have, if it has any:
// settings for them have no effect.
func (c *checker) checkAgentIDs(cfg *config.Config) {
	if len(cfg.Agents.List) == 0 {
		return
	}
	ids := make([]string, len(cfg.Agents.List))
	for i, a := range cfg.Agents.List {
		ids[i] = a.ID
	}
	unknown := func(key, id string) {
		if id != "" && !slices.Contains(ids, id) {
			c.Warn(key, "names an agent that is not in agents.list%s", config.DidYouMean(id, ids))
		}
	}
	for i, a := range cfg.Agents.List {
		own := func(t config.Token) bool { return t.AgentID == a.ID }
		if a.Sandboxed && !slices.ContainsFunc(cfg.Server.Tokens, own) {
			c.Warn(config.Index("agents.list", i)+".sandboxed", "has no effect, because no token has this "+
				"agentId; an agent id that a call itself gives never loosens policy")
		}
	}
	for i, t := range cfg.Server.Tokens {
		unknown(config.Index("server.tokens", i)+".agentId", t.AgentID)
	}
	for i, r := range cfg.ApprovalTools().Rules {
		for j, id := range r.Match.Agent {
			unknown(config.Index(config.Index("approvals.tools.rules", i)+".match.agent", j), id)
		}
	}
}

// KeyFolder checks whether the key can be made or read at its path. Only a desk
// that is about to start calls it: a file may be written on another machine.
func KeyFolder(r *config.Report, cfg config.Config) {
	if cfg.Store.KeyFile == "" {
		return
	}
	if at, err := os.Stat(filepath.Dir(cfg.Store.KeyFile)); os.IsNotExist(err) || err == nil && !at.IsDir() {
		r.Warn("store.keyFile", "lies in a folder that does not exist: make it before the first start")
	}
}

// approvers are the people of a configuration, counted for one rule after the other.
type approvers struct {
	people *people.Directory // nil if they contradict each other, which another check reports
	having map[string]int    // the counts, by role
}

func approversOf(c config.Config) approvers {
	dir, err := people.NewDirectory(Rights(c))
	if err != nil {
		dir = nil
	}
	return approvers{dir, map[string]int{}}
}

// enough reports whether as many people, of a role if one is named, could approve
// now. If that cannot be counted, the answer is yes.
func (a approvers) enough(role string, least int) bool {
	switch {
	case a.people == nil:
		return true
	case role == "" && least == 0:
		return true // no more than every call needs
	case role != "":
		n, counted := a.having[role]
		if !counted {
			n = a.people.Having(role, nil)
			a.having[role] = n
		}
		return n >= max(1, least)
	}
	mapped, unmapped, open := a.people.Eligible(nil)
	if least == 1 { // with a larger quorum only mapped people count
		mapped += unmapped
	}
	return open || mapped >= least
}
