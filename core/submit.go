package core

import (
	"context"
	"errors"
	"slices"

	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/fault"
	"approvalbot/internal/people"
)

// Submit takes one call: policy allows or refuses it at once, or people are
// asked. created is false when an approval that existed already answers the
// call: the owner's same id, or the same call of the same session while it is
// pending. Whatever comes back is on disk.
func (g *Gate) Submit(ctx context.Context, who Caller, call approval.Call) (a approval.Approval, created bool, err error) {
	a, created, w, err := g.SubmitAndWatch(ctx, who, call)
	w.Stop()
	return a, created, err
}

// SubmitAndWatch is [Gate.Submit] for who goes on to wait: w is not nil where the
// approval was created, and tells of every change after that without a look.
func (g *Gate) SubmitAndWatch(
	ctx context.Context, who Caller, call approval.Call,
) (a approval.Approval, created bool, w *Watch, err error) {
	rules, outdated := g.inForce()
	if call.Drill() && who.MayDecide {
		who = who.drilling()
	}
	switch {
	case !who.MayRequest:
		return a, false, nil, approval.Refuse(approval.CodeForbidden, "This token may not ask: it needs the scope approvals.request.")
	case outdated != nil:
		return a, false, nil, outdated
	case !rules.Enabled:
		return a, false, nil, approval.Refuse(approval.CodeApprovalsDisabled, "approvals disabled")
	}
	call, sealed, asked, err := g.judge(ctx, who, askedBy(call, who), rules)
	if err != nil {
		return a, false, nil, err
	}
	for { // at most three times: nobody outside is asked twice
		if err := g.withHolders(ctx, asked.Rule, rules); err != nil {
			return a, false, nil, err
		}
		draft, err := draft(who, call, sealed, asked.Judgement, rules)
		if err != nil {
			return a, false, nil, err
		}
		refused := draft.Status == approval.Denied || asked.OnMiss != ""
		if asked.classifier && refused && rules.surelyRefused(ctx, who, call, sealed.Fingerprint) {
			asked.classifier = false
		}
		var first authority
		a, created, w, first, err = g.create(ctx, who, call, asked.withConsultations(draft), sealed, asked, rules)
		if err != nil || first == "" {
			return a, created, w, err
		}
		if asked, err = g.consult(ctx, first, call, asked, rules); err != nil {
			return a, false, nil, err
		}
	}
}

// create commits the draft, or finds what answers the call already. Where an authority
// must be asked first, nothing is committed.
func (g *Gate) create(
	ctx context.Context, who Caller, call approval.Call, draft approval.Approval, sealed approval.Sealed, asked consulted, rules *Rules,
) (a approval.Approval, created bool, w *Watch, first authority, err error) {
	fault.Point("before-create-committed")
	defer fault.Point("after-create-committed")
	var changes []Change
	var watch *Watch
	defer func() {
		if w == nil { // whatever came of it, and after a panic too
			watch.Stop()
		}
	}()
	look := Lookup{Owner: who.Token, ID: call.ID, Fingerprint: sealed.Fingerprint,
		AgentID: call.AgentID, SessionKey: call.SessionKey, Supersedes: call.Supersedes,
		Flood: rules.DigestAbove, Push: rules.Push, Grants: asked.Outcome == approval.OutcomeAsk, Subject: draft.Subject,
		Program: asked.GrantScope.Program}
	if call.Resume {
		look.ResumeMs = nowMs()
	}
	if draft.Status != approval.Pending && !asked.classifier {
		look.SessionKey = "" // no pending approval answers what policy has settled: see stricter
	}
	suggested := ""
	if draft.Status == approval.Pending {
		suggested = brief(asked.suggestion(ctx, call, rules))
	}
	for tries := 0; ; tries++ {
		look.Code = draft.Code
		watch = g.expect(draft.Key)
		err = g.store.Create(ctx, look, func(f Existing) (_ []Change, err error) {
			changes, created, first, err = begin(who, call, draft, asked, suggested, f, rules, nowMs())
			for i := range changes {
				changes[i].Policy = rules.Policy.Hash()
				if changes[i].New && changes[i].Approval.Status != approval.Denied {
					changes[i].Seal = sealed.Bytes
				}
			}
			return changes, err
		})
		if !errors.Is(err, ErrCodeTaken) || tries == 10 {
			break
		}
		watch.Stop()
		draft = named(draft, call.ID)
	}
	if err != nil || first != "" {
		return a, false, nil, first, err
	}
	for _, c := range changes {
		if c.New {
			g.notify(c)
			continue
		}
		g.committed(c)
	}
	if created {
		w = watch
	}
	return changes[0].Approval, created, w, "", nil
}

// begin decides, with what was found, what a submitted call leaves behind. The
// first change is the one that answers the caller; there is none where an authority
// must be asked first.
func begin(
	who Caller, call approval.Call, draft approval.Approval, asked consulted, suggested string, f Existing, rules *Rules, now int64,
) (_ []Change, created bool, first authority, err error) {
	if f.ByID != nil {
		if f.ByID.Fingerprint != draft.Fingerprint {
			return nil, false, "", approval.Refuse(approval.CodeIDConflict, "That id names another call of yours.")
		}
		if call.MustAsk && !asksAPerson(*f.ByID) {
			return nil, false, "", approval.Refuse(approval.CodeIDConflict,
				"That id names a call that needs no approver's own yes; choose another id, so that a person is asked.")
		}
		if f.ByID.Status == approval.Approved && people.GivenByAsker(draft, f.ByID.DecidedBy, people.LentTo(f.ByID.Votes), rules.People) {
			return nil, false, "", approval.Refuse(approval.CodeIDConflict,
				"That id names a call that whoever asks for it now has allowed; choose another id.")
		}
		if err := crowded(*f.ByID, draft.Askers); err != nil {
			return nil, false, "", err
		}
		return superseding(asked.joining(*f.ByID, draft, "", rules, now), f, now), false, "", nil
	}
	if f.Another {
		return nil, false, "", approval.Refuse(approval.CodeIDConflict,
			"That id is another approval's code, or its id or the beginning of it; "+
				"choose one that people cannot take for it.")
	}
	granted := byGrant(draft, f, asked.GrantScope, rules.People, now)
	if asked.answeredBy(f.Same, draft, granted, now) {
		if err := crowded(*f.Same, draft.Askers); err != nil {
			return nil, false, "", err
		}
		return superseding(asked.joining(*f.Same, draft, call.ID, rules, now), f, now), false, "", nil
	}
	if asked.resumedBy(f.Unclaimed, draft, granted, rules, now) {
		if err := crowded(*f.Unclaimed, draft.Askers); err != nil {
			return nil, false, "", err
		}
		return superseding(resumed(*f.Unclaimed, draft, call.ID, now), f, now), false, "", nil
	}
	if call.Supersedes != "" && f.Superseded == nil {
		return nil, false, "", approval.Invalid(approval.FieldError{Field: "supersedes", Problem: "is no approval of yours"})
	}
	if f.Superseded != nil && f.Superseded.Final() {
		return nil, false, "", card.Ended(*f.Superseded)
	}
	if first = asked.next(granted); first == AuthorityClassifier {
		return nil, false, first, nil
	}
	draft = asked.onMiss(granted)
	full := who.MaxPending > 0 && f.Pending >= who.MaxPending
	if full && draft.Status == approval.Pending && f.Superseded == nil {
		return nil, false, "", approval.Refuse(approval.CodeRateLimited,
			"This token has %d approvals pending, which is its limit; wait for some to end or withdraw them.",
			f.Pending)
	}
	if first = asked.next(draft); first != "" {
		return nil, false, first, nil
	}
	c := open(draft, suggested, f.Cards, rules, now).notifications(f.Pushed, f.Cards, rules, now)
	if c.Approval.Status == approval.Pending && len(c.Deliveries) == 0 {
		// A terminal or a page could decide it, so nothing runs, but no person is told.
		c.Approval.Unreached = false
		c = c.unreached(now)
	}
	changes := []Change{c}
	changes[0].Events = append(asked.events(draft, now), changes[0].Events...)
	if f.Superseded != nil {
		changes = append(changes, supersede(*f.Superseded, draft, now))
	}
	return changes, true, "", nil
}

// open makes the first change of a new approval: settled by policy, or with
// cards on their way. suggested is what would have let it run unasked, cards is how many of its owner's
// were made lately for each place.
func open(a approval.Approval, suggested string, cards map[approval.Target]int, rules *Rules, now int64) Change {
	if a.Final() {
		c := Change{Approval: a, New: true}.end(approval.EventResolved, now)
		if a.Status == approval.Denied && suggested != "" && !byRecord(a) {
			c.Events[0] = c.Approval.Event(approval.EventResolved, now, approval.EventData{Suggestion: suggested})
		}
		return c
	}
	a = people.WithoutNeedlessApprovers(a, rules.People)
	if people.TallyOf(a, rules.People).Outcome == approval.Pending {
		a = people.WithoutApprovers(a, rules.People)
	}
	asked := a.Event(approval.EventRequested, now, approval.EventData{Solo: a.Solo, Suggestion: suggested})
	c := Change{Approval: a, New: true, Events: []approval.Event{asked}}
	if t := people.TallyOf(a, rules.People); t.Outcome != approval.Pending {
		return c.settle(rules.People, now)
	}
	routes := rules.Router.Route(a)
	places := routes.Targets
	if len(places) == 0 {
		places, c.Approval.FallbackDone = routes.Fallback, true
	}
	places = slices.Concat(places, routes.Verifier)
	c = c.cards(places, cards, rules, now)
	switch {
	case len(places) > 0:
		c.Approval.FallbackAtMs = now + routes.FallbackAfterMs
		if a.Rule.AsksVerifier() {
			c.Approval.VerifierLookMs = now + routes.FallbackAfterMs
		}
	case routes.Originless:
		c.Approval.Unreached = false // nothing runs for who leaves the chat out
		c = c.unreached(now)
	case !rules.People.AnyToken():
		// No chat gets a card and no terminal could decide.
		c = c.unreached(now)
	}
	return c
}
