package people

import (
	"slices"
	"strings"

	"approvalbot/internal/approval"
)

// Covers reports whether the grant allows a call that policy would ask about as a describes it.
// A grant never exceeds what a card could offer today: a scope that is no longer offered, a
// higher class, another reason or more people needed ask again, and so does a request by a giver
// of the grant (see GivenByAsker), or a grant whose giver may not decide such a call any more.
func Covers(g approval.Grant, a approval.Approval, r approval.GrantScope, d *Directory, now int64) bool {
	lost := GivenByAsker(a, g.By, g.Behind, d) || giversLost(g, a.Rule.Needs, d)
	another := g.Owner != a.Owner || g.AgentID != a.AgentID || a.Rule.StepUp // each call wants its own signature
	stricter := a.Assessment.RiskClass > g.MaxClass || g.Rule.AsksLess(a.Rule)
	if lost || another || stricter || !g.Live(now) {
		return false
	}
	elsewhere := g.Server != a.Context.Tool.Server || g.Sandboxed && !a.Context.Sandboxed
	if elsewhere && g.Kind != approval.PatternGrant {
		return false
	}
	switch g.Kind {
	case approval.SessionGrant:
		known := g.Subject != "" && a.SessionKey != ""
		same := known && g.Subject == a.Subject && g.SessionKey == a.SessionKey
		other := func(code string) bool { return !slices.Contains(g.ReasonCodes, code) }
		return same && slices.Contains(a.Offers, approval.AllowSession) && !slices.ContainsFunc(a.Assessment.ReasonCodes, other)
	case approval.AlwaysGrant:
		return g.Fingerprint == a.Fingerprint && slices.Contains(a.Offers, approval.AllowAlways)
	case approval.PatternGrant:
		return g.Subject != "" && g.Subject == r.Program && approval.Fits(g.Pattern, r.Words)
	}
	return false
}

// giversLost reports whether the people whose yes made the grant could not give it any more: one
// is not configured any more, one may not decide any call, or too few have a role that is
// needed. The author of a pattern need not be able to decide calls. A right from a chat's role
// is seen only at a tap, so a person who may have one counts.
func giversLost(g approval.Grant, needs []approval.Need, d *Directory) bool {
	behind := slices.Concat(g.By, g.Behind)
	lost := func(name string) bool {
		giver := d.voterNamed(name)
		switch {
		case giver.Person != "" && !d.Known(giver.Person):
			return true
		case g.Kind == approval.PatternGrant || !strings.Contains(name, ":"): // a rule said yes, not a person
			return false
		case giver.Person != "":
			return !d.decidesOnWeb(giver.Person) && !d.byRole(d.People[giver.Person])
		}
		return !d.MayDecide(giver) && len(d.Roles[giver.Channel]) == 0
	}
	if slices.ContainsFunc(behind, lost) {
		return true
	}
	return g.Kind != approval.PatternGrant && slices.ContainsFunc(needs, func(n approval.Need) bool {
		have := 0
		for _, name := range behind {
			if giver := d.voterNamed(name); giver.Person != "" && d.mayHave(n.Role, d.People[giver.Person]) {
				have++
			}
		}
		return have < n.Min
	})
}

// Refuses reports whether the grant is a cool-down for this very call.
func Refuses(g approval.Grant, a approval.Approval, now int64) bool {
	same := g.Fingerprint == a.Fingerprint && g.Owner == a.Owner && g.AgentID == a.AgentID
	return g.Kind == approval.CoolDown && same && g.Live(now)
}
