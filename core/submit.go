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

// Submit takes one call: policy allows or refuses it at once, or people are asked. created
// is false if an approval that existed already answers the call: the owner's same id, or
// the same call of the same session while it is pending. The answer is on disk before it is
// returned.
func (g *Gate) Submit(ctx context.Context, who Caller, call approval.Call) (a approval.Approval, created bool, err error) {
	got, created, w, err := g.SubmitAndWatch(ctx, who, call)
	w.Stop()
	if got != nil {
		a = *got
	}
	return a, created, err
}

// submission is a call on its way to an approval, with what is known of it so far.
type submission struct {
	who       Caller
	call      approval.Call
	sealed    approval.Sealed
	asked     consulted         // what policy says, and the authorities that were asked
	draft     approval.Approval // what would be committed if the store knows no approval of the call
	suggested string            // what would have let it run unasked; for the log
	rules     *Rules
}

// submitted is what a submission left behind.
type submitted struct {
	approval *approval.Approval
	created  bool      // it is new, not one that answered the call already
	watch    *Watch    // of a created one; nil if it was not created
	first    authority // who must be asked before anything is committed; empty: it was committed
}

// SubmitAndWatch is [Gate.Submit] for a caller that goes on to wait. w is not nil if the approval was
// created, and tells of every change after that without a look. a is nil beside an error.
func (g *Gate) SubmitAndWatch(
	ctx context.Context, who Caller, call approval.Call,
) (a *approval.Approval, created bool, w *Watch, err error) {
	rules, outdated := g.inForce()
	if call.Drill() && who.MayDecide {
		who = who.drilling()
	}
	switch {
	case !who.MayRequest:
		return nil, false, nil, approval.Refuse(approval.CodeForbidden, "This token may not ask: it needs the scope approvals.request.")
	case outdated != nil:
		return nil, false, nil, outdated
	case !rules.Enabled:
		return nil, false, nil, approval.Refuse(approval.CodeApprovalsDisabled, "approvals disabled")
	}
	s := submission{who: who, rules: rules}
	call.Points = true
	if s.call, s.sealed, s.asked, err = g.judge(ctx, who, askedBy(call, who), rules); err != nil {
		return nil, false, nil, err
	}
	for { // at most three times: no authority outside is asked twice
		out, err := g.submitOnce(ctx, &s)
		if err != nil || out.first == "" {
			return out.approval, out.created, out.watch, err
		}
		if s.asked, err = g.consult(ctx, out.first, s.call, s.asked, rules); err != nil {
			return nil, false, nil, err
		}
	}
}

// submitOnce drafts the approval by what is known of the call, and commits it.
func (g *Gate) submitOnce(ctx context.Context, s *submission) (out submitted, err error) {
	if err := g.withHolders(ctx, s.asked.Rule, s.rules); err != nil {
		return out, err
	}
	if s.draft, err = draft(s.who, s.call, s.sealed, s.asked.Judgement, s.rules); err != nil {
		return out, err
	}
	refused := s.draft.Status == approval.Denied || s.asked.OnMiss != ""
	if s.asked.classifier && refused && s.rules.surelyRefused(ctx, s.who, s.call, s.sealed.Fingerprint) {
		s.asked.classifier = false
	}
	s.draft = s.asked.withConsultations(s.draft)
	return g.create(ctx, s)
}

// create commits the draft, or finds what answers the call already. If an authority must be
// asked first, it commits no change.
func (g *Gate) create(ctx context.Context, s *submission) (out submitted, err error) {
	fault.Point("before-create-committed")
	defer fault.Point("after-create-committed")
	var changes []Change
	var watch *Watch
	defer func() {
		if out.watch == nil { // with every outcome, and after a panic too
			watch.Stop()
		}
	}()
	s.suggested = ""
	if s.draft.Status == approval.Pending {
		s.suggested = brief(s.asked.suggestion(ctx, s.call, s.rules))
	}
	look := s.lookup(nowMs())
	for tries := 0; ; tries++ {
		look.Code = s.draft.Code
		watch = g.expect(s.draft.Key)
		err = g.store.Create(ctx, look, func(f Existing) (_ []Change, err error) {
			changes, out, err = s.begin(f, nowMs())
			for i := range changes {
				changes[i].Policy = s.rules.Policy.Hash()
				if changes[i].New && changes[i].Approval.Status != approval.Denied {
					changes[i].Seal = s.sealed.Bytes
				}
			}
			return changes, err
		})
		if !errors.Is(err, ErrCodeTaken) || tries == 10 {
			break
		}
		watch.Stop()
		s.draft = named(s.draft, s.call.ID)
	}
	if err != nil || out.first != "" {
		return submitted{first: out.first}, err
	}
	for _, c := range changes {
		if c.New {
			g.notify(c)
			continue
		}
		g.committed(c)
	}
	out.approval = &changes[0].Approval
	if out.created {
		out.watch = watch
	}
	return out, nil
}

// lookup asks the store for all that the submission could collide with.
func (s *submission) lookup(now int64) Lookup {
	look := Lookup{Owner: s.who.Token, ID: s.call.ID, Fingerprint: s.sealed.Fingerprint,
		AgentID: s.call.AgentID, SessionKey: s.call.SessionKey, Supersedes: s.call.Supersedes,
		Flood: s.rules.DigestAbove, Push: s.rules.Push, Grants: s.asked.Outcome == approval.OutcomeAsk || s.asked.Confined != nil,
		Subject: s.draft.Subject, Program: s.asked.GrantScope.Program}
	if s.call.Resume {
		look.ResumeMs = now
	}
	if s.draft.Status != approval.Pending && !s.asked.classifier && s.draft.Confined == nil {
		look.SessionKey = "" // no pending approval answers what policy has settled: see stricter
	}
	return look
}

// begin decides, with what was found, what a submitted call leaves behind. The first change
// is the one that answers the caller; the list is empty if an authority must be asked
// first.
func (s *submission) begin(f Existing, now int64) ([]Change, submitted, error) {
	answer, err := s.answered(f, now)
	if err != nil || answer != nil {
		return answer, submitted{}, err
	}
	granted := s.granted(f, now)
	if answer, err = s.joined(f, granted, now); err != nil || answer != nil {
		return answer, submitted{}, err
	}
	if s.call.Supersedes != "" && f.Superseded == nil {
		return nil, submitted{}, approval.Invalid(approval.FieldError{Field: "supersedes", Problem: "is not an " +
			"approval of yours"})
	}
	if f.Superseded != nil && f.Superseded.Final() {
		return nil, submitted{}, card.Ended(*f.Superseded)
	}
	if first := s.asked.next(granted); first == AuthorityClassifier {
		return nil, submitted{first: first}, nil
	}
	draft := s.asked.onMiss(granted)
	full := s.who.MaxPending > 0 && f.Pending >= s.who.MaxPending
	if full && draft.Status == approval.Pending && f.Superseded == nil {
		return nil, submitted{}, approval.Refuse(approval.CodeRateLimited,
			"This token has %d approvals pending, which is its limit; wait for some to end or withdraw them.",
			f.Pending)
	}
	if first := s.asked.next(draft); first != "" {
		return nil, submitted{first: first}, nil
	}
	c := open(draft, s.suggested, f.Cards, s.rules, now).notifications(f.Pushed, f.Cards, s.rules, now)
	if c.Approval.Status == approval.Pending && len(c.Deliveries) == 0 {
		// A terminal or a page could decide it, so the call does not run, but no person is
		// told.
		c.Approval.Unreached = false
		c = c.unreached(now)
	}
	c.Events = append(s.asked.events(draft, now), c.Events...)
	changes := []Change{c}
	if f.Superseded != nil {
		changes = append(changes, supersede(*f.Superseded, draft, now))
	}
	return changes, submitted{created: true}, nil
}

// granted is the draft as a grant or a cool-down settles it. If policy allows a call only confined, it runs as it is
// if a person's grant covers it, and does not run after a person's deny.
func (s *submission) granted(f Existing, now int64) approval.Approval {
	byPolicy := s.draft.Status == approval.Approved && s.draft.Confined != nil
	if !byPolicy {
		return byGrant(s.draft, f, s.asked.GrantScope, s.rules.People, now)
	}
	if by := byGrant(unconfined(s.draft), f, s.asked.GrantScope, s.rules.People, now); by.Final() {
		return by
	}
	return s.draft
}

// answered gives what the owner's approval of the same id answers, or an error if that id
// cannot be this call's. It gives neither if the id is free, or the call has no id.
func (s *submission) answered(f Existing, now int64) ([]Change, error) {
	old := f.ByID
	conflict := func(text string) error { return approval.Refuse(approval.CodeIDConflict, "%s", text) }
	switch {
	case old == nil && f.Another:
		return nil, conflict("That id is the code, the id or the beginning of the id of another approval. Choose " +
			"another id.")
	case old == nil:
		return nil, nil
	case old.Fingerprint != s.draft.Fingerprint:
		return nil, conflict("You already used that id for another call. Choose another id.")
	case old.Context.Confine != s.draft.Context.Confine:
		return nil, conflict("You already used that id for this call with another context.confine. Choose another id.")
	case unseen(old.Context, s.draft.Context):
		return nil, conflict("You already used that id for this call, which would now take more files with secrets, or run more programs of the " +
			"project. Choose another id.")
	case s.call.MustAsk && !asksAPerson(*old):
		return nil, conflict("This request needs a person's decision, but no person was asked about the call that " +
			"already has that id. Choose another id.")
	case old.Status == approval.Approved && people.GivenByAsker(s.draft, old.DecidedBy, people.LentTo(old.Votes), s.rules.People):
		return nil, conflict("The call that already has that id was allowed by a person who now asks for it. Choose " +
			"another id.")
	}
	if err := crowded(*old, s.draft.Askers); err != nil {
		return nil, err
	}
	return superseding(s.asked.joining(*old, s.draft, "", s.rules, now), f, now), nil
}

// joined gives what another approval of the very call answers: the pending one, or an approved
// one that was not claimed; nil: neither does.
func (s *submission) joined(f Existing, granted approval.Approval, now int64) ([]Change, error) {
	for _, a := range f.Same {
		if s.asked.answeredBy(a, s.draft, granted, now) {
			return superseding(s.asked.joining(a, s.draft, s.call.ID, s.rules, now), f, now), crowded(a, s.draft.Askers)
		}
	}
	for _, a := range f.Unclaimed {
		if s.asked.resumedBy(a, s.draft, granted, s.rules, now) {
			return superseding(resumed(a, s.draft, s.call.ID, now), f, now), crowded(a, s.draft.Askers)
		}
	}
	return nil, nil
}

// open makes the first change of a new approval: settled by policy, or with
// cards on their way. suggested is what would have let it run unasked, cards is how many of its owner's
// were made lately for each place.
func open(a approval.Approval, suggested string, cards map[approval.Target]int, rules *Rules, now int64) Change {
	if a.Final() {
		a.Points = nil // no person is asked
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
		c.Approval.Unreached = false // it does not run for an asker that leaves the chat out
		c = c.unreached(now)
	case !rules.People.AnyToken():
		// No chat gets a card and no terminal could decide.
		c = c.unreached(now)
	}
	return c
}
