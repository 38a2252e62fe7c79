package setup

import (
	"context"
	"slices"
	"strings"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/config"
	"approvalbot/internal/config/effective"
	"approvalbot/internal/daemon"
	"approvalbot/internal/platform"
)

// namedPlace is a chat that the configuration names, with its use there.
type namedPlace struct {
	approval.Target
	as string
}

// placesOf gives the chats that the configuration names, each once. Chats that get every
// card come first.
func placesOf(c config.Config) []namedPlace {
	var out []namedPlace
	add := func(as string, list []config.Place) {
		for _, p := range list {
			if !slices.ContainsFunc(out, func(o namedPlace) bool { return o.Target == p.Target }) {
				out = append(out, namedPlace{p.Target, as})
			}
		}
	}
	r := c.ApprovalTools().Routing
	if r.Mode != "session" {
		add("target", r.Targets)
	}
	if c.Approvals.AgentShield.Enabled {
		add("agentshield target", c.Approvals.AgentShield.Targets)
	}
	for _, t := range c.Server.Tokens {
		add("session chat", t.SessionChats)
	}
	add("fallback", r.Fallback)
	for _, p := range effective.VerifierChats(c) {
		add("verifier chat", []config.Place{{Target: p}})
	}
	return out
}

// targetsOn gives the named chats of one platform.
func targetsOn(c config.Config, channel string) []approval.Target {
	var out []approval.Target
	for _, p := range placesOf(c) {
		if p.Channel == channel {
			out = append(out, p.Target)
		}
	}
	return out
}

// chatFindings looks at the platforms that are on, with the chats and people that
// the configuration names there.
func chatFindings(ctx context.Context, cfg config.Config) []core.Diagnostic {
	var looks []func() []core.Diagnostic
	for _, name := range slices.Concat([]string{approval.VerifierChannel}, platform.Names()) {
		if effective.Bot(cfg, name).On() {
			looks = append(looks, func() []core.Diagnostic {
				return daemon.Probe(ctx, cfg, name, targetsOn(cfg, name), usersOn(cfg, name))
			})
		}
	}
	if len(looks) == 0 {
		return []core.Diagnostic{core.Warn("chats", "no chat is on, so no cards go out", "set a bot token, or decide with approvalbot watch")}
	}
	found := core.Gather(len(looks), looks...)
	if !slices.ContainsFunc(placesOf(cfg), namedPlace.essential) {
		found = append(found, core.Warn("routing", "names no chat for cards, so people can decide only in the "+
			"terminal and by the API",
			"set approvals.tools.routing.targets"))
	}
	return found
}

// usersOn are the accounts that may decide on a bot's cards.
func usersOn(c config.Config, name string) []string {
	users := config.Texts(effective.Bot(c, name).AllowedUserIDs)
	switch own := effective.VerifierBot(c).On(); {
	case name == approval.VerifierChannel:
		return verifierUsers(c)
	case name == platform.Verifier && !own: // the platform's bot asks the verifier's people
		return distinctOf(append(users, verifierUsers(c)...))
	}
	return users
}

// verifierUsers are the accounts of the verifier's people.
func verifierUsers(c config.Config) []string {
	var out []string
	for _, accounts := range effective.Verifier(c).Accounts() {
		for _, a := range accounts {
			out = append(out, strings.TrimPrefix(a, platform.Verifier+":"))
		}
	}
	return distinctOf(out)
}

func distinctOf(list []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(list)))
}

// essential reports whether the asking of people hangs on that place.
func (p namedPlace) essential() bool { return p.as == "target" || p.as == "session chat" }

// weigh adds names to the findings, and lowers to warnings the failures that do not stop
// approvals: a broken chat is a failure only if no other chat brings cards to people and
// their taps back. A broken chat of the verifier is always a failure: no other chat can
// replace it.
func weigh(found []core.Diagnostic, cfg config.Config) []core.Diagnostic {
	places := placesOf(cfg)
	broken := map[string]bool{}
	for _, f := range found {
		broken[f.What] = broken[f.What] || f.Level == core.LevelFail
	}
	looked := func(what string) bool {
		return slices.ContainsFunc(found, func(f core.Diagnostic) bool { return f.What == what })
	}
	works := slices.ContainsFunc(places, func(p namedPlace) bool {
		return p.essential() && looked(p.String()) && !broken[p.String()] && !broken[p.Channel]
	})
	out := slices.Clone(found)
	for i, f := range out {
		at := slices.IndexFunc(places, func(p namedPlace) bool { return p.String() == f.What })
		chat := at >= 0 || slices.Contains(effective.Outboxes(), f.What)
		verifier := f.What == approval.VerifierChannel || at >= 0 && places[at].as == "verifier chat"
		if f.Level == core.LevelFail && chat && !verifier && (works || at >= 0 && !places[at].essential()) {
			out[i].Level = core.LevelWarn
		}
		if at >= 0 {
			out[i].What = places[at].as + " " + f.What
		} else if name := nameOf(cfg, f.What); name != "" {
			out[i].What = "approver " + name + ", " + f.What
		}
	}
	return out
}

// nameOf gives the configured person behind an account, as "PLATFORM user ID" names it.
func nameOf(c config.Config, what string) string {
	for _, p := range c.People {
		channel, id, ok := strings.Cut(what, " user ")
		if own := p.Accounts[channel]; ok && own != "" && id == string(own) {
			return p.Name
		}
	}
	return ""
}
