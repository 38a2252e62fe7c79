package effective

import (
	"cmp"
	"reflect"
	"slices"

	"approvalbot/internal/approval"
	"approvalbot/internal/config"
	"approvalbot/internal/schedule"
)

// ruleChange is the effect of a change of the rules on their calls, the worst last.
type ruleChange int

const (
	same    ruleChange = iota
	tighter            // proved by their form
	changed            // their form proves neither
	looser             // they may allow what they did not
)

// comparison compares two lists of rules by their form.
type comparison struct {
	r3Asks     bool // calls of R3 are asked or denied
	classifier bool // a rule that sets a class spares its opinion
}

// Unproved says, in words, that the operator's rules changed, if their form proves neither that they
// allow more nor that they do not.
func Unproved(old, now config.Config) []string {
	if changeOfRules(old, now) != changed {
		return nil
	}
	return []string{"the operator's rules changed, and their form does not prove that they allow no more"}
}

// Tighter says, in words, that the operator's rules changed, if their form proves that they allow no more.
func Tighter(old, now config.Config) []string {
	if changeOfRules(old, now) != tighter {
		return nil
	}
	return []string{"the operator's rules ask or deny more"}
}

// changeOfRules compares the rules of two configurations.
func changeOfRules(old, now config.Config) ruleChange {
	a, b := old.ApprovalTools(), now.ApprovalTools()
	c := comparison{r3Asks: outcomeOf(now, approval.R3) != "allow", classifier: a.Classifier.Enabled || b.Classifier.Enabled}
	return c.of(a.Rules, b.Rules)
}

// of goes through both lists side by side. The first rule that matches a call counts, so what a
// rule is in front of counts too.
func (c comparison) of(old, now []config.Rule) (worst ruleChange) {
	if reflect.DeepEqual(old, now) {
		return same
	}
	add := func(change ruleChange) { worst = max(worst, change) }
	for k, n := range now {
		switch at := slices.IndexFunc(old, func(o config.Rule) bool { return reflect.DeepEqual(o, n) }); {
		case at >= 0:
			for _, gone := range old[:at] {
				add(goneRule(gone, now[k:]))
			}
			old = old[at+1:]
		case len(old) > 0 && sameCalls(n, old[0]) && !slices.ContainsFunc(now[k:],
			func(x config.Rule) bool { return reflect.DeepEqual(x, old[0]) }):
			add(c.replaced(n, old[0], now[k+1:], old[1:]))
			old = old[1:]
		default:
			add(c.before(n, old))
		}
	}
	for _, gone := range old {
		add(goneRule(gone, nil))
	}
	return worst
}

// replaced is the effect of a rule that replaces another one about the same calls. behind are
// those after it, after those after the other one.
func (c comparison) replaced(n, o config.Rule, behind, after []config.Rule) ruleChange {
	change := changed
	switch more, less := c.asStrict(n, o), c.asStrict(o, n); {
	case more && less:
		change = same
	case more:
		change = tighter
	case less:
		change = looser
	}
	switch mild := loosens(n); {
	case mild != loosens(o), !mild && n.During != o.During:
		// A rule that tightens is also about calls of which only a part is what it names, and
		// one that holds longer about further times: the rules behind it no longer see those.
		return max(change, c.before(n, after))
	case n.During != o.During:
		return max(change, goneRule(o, behind)) // at the times at which it no longer holds
	}
	return change
}

// before is the effect of a new rule before others.
func (c comparison) before(n config.Rule, after []config.Rule) ruleChange {
	if loosens(n) {
		return looser
	}
	mine, change := ruleOf(n).Match, tighter
	for _, o := range after {
		switch {
		case c.asStrict(n, o) || mine.Apart(ruleOf(o).Match):
		case c.asStrict(o, n):
			return looser
		default:
			change = changed
		}
	}
	return change
}

// goneRule is the effect of a removed rule, if those after it count.
func goneRule(gone config.Rule, after []config.Rule) ruleChange {
	allows := func(o config.Rule) bool { return o.Outcome == "allow" }
	sets := func(o config.Rule) bool { return o.Risk.Set }
	switch {
	case gone.Outcome == "allow":
		return tighter
	case needsNobody(gone) && slices.ContainsFunc(after, allows):
		return looser
	case needsNobody(gone) && slices.ContainsFunc(after, sets):
		return changed
	case needsNobody(gone):
		return tighter
	case gone.Risk.Set && gone.Risk.Class < approval.R3 && gone.MinApprovals == 0 && gone.Role == "" && !gone.StepUp:
		return changed // it lowered the class of some calls, and raised that of others
	}
	return looser
}

// loosens reports a rule that can make an answer milder than it would be without it.
func loosens(r config.Rule) bool {
	return r.Outcome == "allow" || r.Approve || r.Risk.Set && r.Risk.Class < approval.R3
}

// sameCalls reports whether two rules are about the same calls: one that tightens perhaps at further
// times than the other, one that loosens at fewer.
func sameCalls(r config.Rule, o config.Rule) bool {
	during := r.During == o.During
	if mild := loosens(r); !during && mild == loosens(o) {
		during = mild && longer(o.During, r.During) || !mild && longer(r.During, o.During)
	}
	match := r.When == o.When && reflect.DeepEqual(r.Match, o.Match)
	return during && match && reflect.DeepEqual(r.SideEffects, o.SideEffects)
}

// longer reports whether a rule's time certainly includes all of another one's.
func longer(d, o config.During) bool {
	switch {
	case d == (config.During{}):
		return true
	case o == (config.During{}) || (d.Weekly == "") != (o.Weekly == ""):
		return false
	case d.Weekly != "":
		outer, err := schedule.Weekly(d.Weekly, d.Timezone)
		inner, bad := schedule.Weekly(o.Weekly, o.Timezone)
		return err == nil && bad == nil && outer.Holds(inner)
	}
	outer, err := schedule.Once(d.From, d.To, d.Timezone)
	inner, bad := schedule.Once(o.From, o.To, o.Timezone)
	return err == nil && bad == nil && outer.Holds(inner)
}

// asStrict reports whether a rule is certainly no milder than another one about the same calls.
func (c comparison) asStrict(r config.Rule, o config.Rule) bool {
	if r.Outcome == "deny" {
		return true
	}
	people := cmp.Or(o.Role, r.Role) == r.Role && r.MinApprovals >= o.MinApprovals && (r.StepUp || !o.StepUp)
	raises := r.Risk.Set && r.Risk.Class >= approval.R3 && c.r3Asks && !c.classifier
	switch {
	case o.Outcome == "allow":
		return true
	case !people || o.Outcome == "deny":
		return false
	case o.Approve:
		return r.Approve || r.Outcome == "ask" || raises
	case o.Risk.Set:
		return r.Risk.Set && r.Risk.Class >= o.Risk.Class
	}
	return r.Outcome == "ask"
}

// needsNobody reports whether a rule's yes is enough.
func needsNobody(r config.Rule) bool {
	return r.Approve && r.MinApprovals == 0 && r.Role == "" && !r.StepUp
}
