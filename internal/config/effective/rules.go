package effective

import (
	"slices"
	"time"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/config"
	"approvalbot/internal/people"
	"approvalbot/internal/platform"
	"approvalbot/internal/policy"
	"approvalbot/internal/server/auth"
	"approvalbot/routing"
)

// Rights gives who may decide, on which channels.
func Rights(c config.Config) people.Rights {
	r := people.Rights{
		AllowedUsers: map[string][]string{}, AllowedRoles: map[string][]string{}, Tokens: map[string]string{},
		Verifiers: Verifier(c).Accounts(), Duty: Duty(c),
	}
	for _, p := range c.People {
		accounts := map[string]string{}
		for channel, id := range p.Accounts {
			if id != "" { // a mistake, which Load reports
				accounts[channel] = string(id)
			}
		}
		person := people.Person{Name: p.Name, Accounts: accounts, Roles: p.Roles, Email: p.Email, Zone: zoneOf(p.Timezone)}
		person.Quiet, _ = quietOf(p)
		r.People = append(r.People, person)
	}
	for _, on := range platform.Rows {
		bot := c.Channels.Bots[on.Name]
		if bot.On() {
			r.AllowedUsers[on.Name] = config.Texts(bot.AllowedUserIDs)
		}
		if bot.On() && on.Roles {
			r.AllowedRoles[on.Name] = config.Texts(bot.AllowedRoleIDs)
		}
	}
	for _, t := range c.Server.Tokens {
		if t.Person != "" && slices.Contains(t.Scopes, "operator.approvals") {
			r.Tokens[t.Name] = t.Person
		}
	}
	return r
}

// Tokens gives the API tokens, secrets hashed.
func Tokens(c config.Config) []auth.Token {
	out := make([]auth.Token, len(c.Server.Tokens))
	for i, t := range c.Server.Tokens {
		out[i] = auth.Token{
			Name: t.Name, Hash: auth.Hash(string(t.Token)), RequestsPerSecond: c.Server.Limits.RequestsPerSecond,
			Caller: core.Caller{
				Token: t.Name, Person: t.Person, AgentID: t.AgentID, SessionChats: config.Targets(t.SessionChats),
				MaxPending: c.Server.Limits.Pending, Callbacks: callbackRight(t, c.Server.Production),
				RequireRequester: t.RequireRequester, MayConfine: t.MayConfine,

				MayRequest: slices.Contains(t.Scopes, "approvals.request"),
				MayDecide:  slices.Contains(t.Scopes, "operator.approvals"),
				MayAudit:   slices.Contains(t.Scopes, "operator.audit"),
				MayAdmin:   slices.Contains(t.Scopes, "operator.admin"),
			},
		}
	}
	return out
}

// Table is the operator's routing.
func Table(c config.Config) *routing.Table {
	r := c.ApprovalTools().Routing
	t := &routing.Table{
		Mode: routing.Mode(r.Mode), Targets: config.Targets(r.Targets), Fallback: config.Targets(r.Fallback),
		FallbackAfterMs: time.Duration(r.FallbackAfter).Milliseconds(), AgentShield: config.Targets(c.Approvals.AgentShield.Targets),
		Escalate: escalationChats(c),
	}
	if c.Approvals.AgentShield.Enabled {
		t.Drills = t.AgentShield
	}
	return t
}

// Rules makes the snapshot that the Gate judges by. The error names mistakes
// that Load cannot see in the file.
func Rules(c config.Config, router core.Router) (core.Rules, error) {
	rights := Rights(c)
	people, err := people.NewDirectory(rights)
	if err != nil {
		return core.Rules{}, err
	}
	p := Policy(c)
	if p.Beside, err = judged(c); err != nil {
		return core.Rules{}, err
	}
	engine, err := policy.New(p)
	if err != nil {
		return core.Rules{}, err
	}
	t := c.ApprovalTools()
	return core.Rules{
		Enabled: c.Approvals.Enabled(), Policy: engine, People: people, Router: router,
		Solo: t.SelfApproval == "solo", Clamp: t.ClampMinApprovals, TimeoutMs: t.TimeoutMs, MaxTimeoutMs: t.MaxTimeoutMs,
		RetryWindowMs: time.Duration(t.RetryWindow).Milliseconds(),
		Contact:       Contact(c, rights), BreaksQuiet: t.Policy.BreaksQuietAtOrAbove.Class, DigestAbove: t.Routing.DigestAbove,
		Zones: zones(c), Drill: drillOf(t.Drill), Classes: classRules(c), Site: site(c),
		Push:      c.Server.WebOn() && c.Server.Web.Push.VAPIDKeyFile != "",
		Owners:    owners(c),
		Objective: core.Objective{DecidedWithin: time.Duration(t.SLO.DecidedWithin), Share: t.SLO.Share},
	}, nil
}

// owners are the tokens that may ask, each with its person, or "" without one.
func owners(c config.Config) map[string]string {
	out := map[string]string{}
	for _, t := range c.Server.Tokens {
		if slices.Contains(t.Scopes, "approvals.request") {
			out[t.Name] = t.Person
		}
	}
	return out
}

// zones are the time zones of the chats that name one.
func zones(c config.Config) map[approval.Target]*time.Location {
	out := map[approval.Target]*time.Location{}
	r := c.ApprovalTools().Routing
	for _, p := range slices.Concat(c.Approvals.AgentShield.Targets, r.Fallback, r.Targets) {
		if zone, err := time.LoadLocation(p.Timezone); err == nil && p.Timezone != "" {
			out[p.Target] = zone
		}
	}
	return out
}

// classRules gives, for each class that asks people, whose yes it needs.
func classRules(c config.Config) (out []core.ClassRule) {
	t := c.ApprovalTools()
	var may []approval.Factor
	for _, f := range t.AllowedApprovers {
		if !slices.Contains(t.DisabledApprovers, f) {
			may = append(may, approval.Factor(f))
		}
	}
	for class := range approval.R4 + 1 {
		if outcomeOf(c, class) == "ask" {
			out = append(out, core.ClassRule{Class: class, Rule: approval.Rule{Effective: may, MinApprovals: needOf(c, class),
				RequiresHuman: t.Policy.RequireHumanApproverAtOrAbove.Reaches(class)}})
		}
	}
	return out
}

// callbackRight tells whether the desk may call back the token's owner.
func callbackRight(t config.Token, production bool) core.CallbackRight {
	switch {
	case t.CallbackSecret == "":
		return core.NoCallbacks
	case production:
		return core.SecureCallbacks
	}
	return core.AnyCallbacks
}
