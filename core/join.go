package core

import (
	"cmp"
	"reflect"
	"slices"

	"approvalbot/internal/approval"
	"approvalbot/internal/people"
)

// join lets one more identical request wait for the same approval. The people behind that
// request may not decide it; if no one else can, it ends. The card names the first
// requester and the first justification that a request gave.
func join(a approval.Approval, by approval.Approval, alias string, rules *Rules, now int64) Change {
	next := a.Clone()
	if next.Requester == nil {
		next.Requester = by.Requester
	}
	next.Justification = cmp.Or(next.Justification, by.Justification)
	next = askedToo(next, by.Askers)
	next.Joined = true
	next.Unreached = a.Unreached && by.Unreached // the joining asker may want a person's yes
	c := Change{Approval: next}
	if alias != "" && alias != a.ID {
		c.Aliases = []string{alias}
	}
	cardChanges := next.Requester != a.Requester || next.Justification != a.Justification
	stricter := next.Unreached != a.Unreached
	asksMore := len(next.Askers) != len(a.Askers) || stricter
	records := len(c.Aliases) > 0 || len(by.Consulted) > 0
	if !asksMore && !cardChanges && !records {
		return Change{Approval: next, Unchanged: a.Joined}
	}
	c.Events = []approval.Event{next.Event(approval.EventJoined, now, approval.EventData{Joined: by.Askers})}
	c.Redraw = cardChanges || len(next.Askers) != len(a.Askers)
	if why := people.QuorumImpossible(c.Approval, rules.People); why != "" && !(rules.Clamp && people.Clamp(&c.Approval, rules.People)) {
		c.Approval = people.Insufficient(c.Approval, why)
		return c.end(approval.EventResolved, now)
	}
	return c
}

// maxAskers is how many people and tokens may have asked for one approval.
const maxAskers = 64

// crowded refuses further askers if there would be too many.
func crowded(a approval.Approval, by []approval.Requester) error {
	if n := len(askedToo(a, by).Askers); n <= maxAskers || n == len(a.Askers) {
		return nil
	}
	return approval.Refuse(approval.CodeIDConflict, "%d askers already wait for %s, which is the limit. Ask under "+
		"another id and session.",
		len(a.Askers), a.Code)
}

// askedToo is the approval with further people who may not decide it. Of one that has
// ended that is whether it runs again.
func askedToo(a approval.Approval, by []approval.Requester) approval.Approval {
	a.Askers = slices.Clone(a.Askers)
	for _, r := range by {
		if !slices.Contains(a.Askers, r) {
			a.Askers = append(a.Askers, r)
		}
	}
	return a
}

// asksAPerson reports whether the call runs, if at all, by an approver's own yes or by a
// grant, which is one's.
func asksAPerson(a approval.Approval) bool {
	switch {
	case byRecord(a):
		return true
	case a.Status == approval.Approved:
		return approversVoted(a)
	}
	return a.Final() || a.Rule.AsksApprovers() && a.Rule.RequiresHuman
}

// superseding withdraws what the call replaces, also if an existing approval answers it: a
// card for the old payload must not stay open.
func superseding(c Change, f Existing, now int64) []Change {
	if old := f.Superseded; old != nil && !old.Final() && old.Key != c.Approval.Key {
		return []Change{c, supersede(*old, c.Approval, now)}
	}
	return []Change{c}
}

// answeredBy reports whether the pending approval of the same call answers this one. It
// does not if policy now wants more than when that was asked. The classifier's opinion from
// then counts, if policy saw the same. If a grant covers the call (granted) and the
// verifier's people are asked all the same, a pending approval that waits only for them
// answers it.
func (c consulted) answeredBy(pending, draft, granted approval.Approval, now int64) bool {
	if granted.Status == approval.Pending {
		draft = granted
	}
	if pending.ExpiresAtMs <= now {
		return false
	}
	if pending.Rule.Weaker(draft.Rule) || pending.Context.Tool != draft.Context.Tool {
		return false
	}
	shown, wanted := pending.Context, draft.Context
	leaves := shown.Sandboxed && !wanted.Sandboxed
	confined := shown.Confine != wanted.Confine || (pending.Confined == nil) != (draft.Confined == nil)
	if unseen(shown, wanted) {
		return false
	}
	if typed := wanted.Terminal != "" && wanted.Terminal != shown.Terminal; leaves || typed || confined {
		return false // people saw a call in a sandbox, or one without that terminal
	}
	offers := func(d approval.Decision) bool { return !slices.Contains(draft.Offers, d) }
	if slices.ContainsFunc(pending.Offers, offers) {
		return false
	}
	stricter := draft.Status != approval.Pending || draft.Assessment.RiskClass > pending.Assessment.RiskClass
	return !stricter || c.classifier && judgedLike(draft, pending)
}

// unseen reports a call that takes files or runs programs of the project of which was not told when the same call was asked before.
func unseen(shown, wanted approval.CallContext) bool {
	seen := slices.Concat(shown.Untracked.All(), shown.Programs)
	return slices.ContainsFunc(slices.Concat(wanted.Untracked.All(), wanted.Programs), func(name string) bool {
		return !slices.Contains(seen, name)
	})
}

// resumedBy reports whether a yes that was not used yet answers the same call: it counts as
// it would for a pending approval, and the people who gave it did not ask for the call.
func (c consulted) resumedBy(unclaimed, draft, granted approval.Approval, rules *Rules, now int64) bool {
	if !approversVoted(unclaimed) || granted.Final() {
		return false
	}
	if people.GivenByAsker(draft, unclaimed.DecidedBy, people.LentTo(unclaimed.Votes), rules.People) {
		return false
	}
	open := unclaimed
	open.ExpiresAtMs = open.ClaimUntilMs
	return c.answeredBy(open, draft, granted, now)
}

// resumed answers a call with a yes that was not used yet.
func resumed(a approval.Approval, by approval.Approval, alias string, now int64) Change {
	next := askedToo(a, by.Askers)
	next.Joined = true
	c := Change{Approval: next, Unchanged: a.Joined && len(next.Askers) == len(a.Askers)}
	if alias != "" {
		c.Aliases = []string{alias}
	}
	if alias != "" || len(next.Askers) != len(a.Askers) {
		c.Events = []approval.Event{next.Event(approval.EventJoined, now, approval.EventData{Joined: by.Askers})}
	}
	return c
}

// judgedLike reports whether policy saw the same of both: the same rules, and the same
// call in the same context.
func judgedLike(a approval.Approval, b approval.Approval) bool {
	sameCall := reflect.DeepEqual(a.Context.Judged(), b.Context.Judged()) && a.Dialect == b.Dialect && equal(a.Origin, b.Origin)
	return a.PolicyHash == b.PolicyHash && sameCall
}

// equal reports whether both are the same, or neither is there.
func equal[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// joining answers the call with an approval that exists. If an authority outside was asked
// all the same, because two requests came at the same time, its answer is on record, and a
// deny ends an approval that is still pending.
func (c consulted) joining(a, draft approval.Approval, alias string, rules *Rules, now int64) Change {
	answering := a
	answering.Consulted = append(slices.Clip(a.Consulted), c.records...)
	asked := askedToo(a, draft.Askers)
	same := len(asked.Askers) == len(a.Askers)
	switch {
	case a.Final() && len(c.records) == 0 && same:
		return Change{Approval: a, Unchanged: true}
	case a.Final():
		answering.Askers = asked.Askers
		return Change{Approval: asked, Unchanged: same,
			Events: []approval.Event{answering.Event(approval.EventJoined, now, approval.EventData{Joined: draft.Askers})}}
	case c.Outcome == approval.OutcomeDeny && len(c.records) > 0:
		return judgedAgain(answering, &c.Judgement, rules, now)
	}
	return join(answering, draft, alias, rules, now)
}
