package core

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"approvalbot/display"
	"approvalbot/internal/fault"
)

// Submit takes one call: policy allows or refuses it at once, or people are
// asked. created is false when an approval that existed already answers the
// call: the owner's same id, or the same call of the same session while it is
// pending. Whatever comes back is on disk.
func (g *Gate) Submit(ctx context.Context, who Caller, call Call) (a Approval, created bool, err error) {
	a, created, w, err := g.SubmitAndWatch(ctx, who, call)
	w.Stop()
	return a, created, err
}

// SubmitAndWatch is [Gate.Submit] for who goes on to wait: w is not nil where the
// approval was created, and tells of every change after that without a look.
func (g *Gate) SubmitAndWatch(ctx context.Context, who Caller, call Call) (a Approval, created bool, w *Watch, err error) {
	rules, stray := g.inForce()
	switch {
	case !who.MayRequest:
		return a, false, nil, refuse(CodeForbidden, "This token may not ask: it needs the scope approvals.request.")
	case stray != nil:
		return a, false, nil, stray
	case !rules.Enabled:
		return a, false, nil, refuse(CodeApprovalsDisabled, "approvals disabled")
	}
	call, sealed, asked, err := g.judge(ctx, who, call.askedBy(who), rules)
	if err != nil {
		return a, false, nil, err
	}
	for { // at most three times: nobody outside is asked twice
		draft, err := draft(who, call, sealed, asked.Judgement, rules)
		if err != nil {
			return a, false, nil, err
		}
		refused := draft.Status == Denied || asked.OnMiss != ""
		if asked.classifier && refused && rules.hopeless(ctx, who, call, sealed.Fingerprint) {
			asked.classifier = false
		}
		var first authority
		a, created, w, first, err = g.create(ctx, who, call, asked.verified(draft), sealed, asked, rules)
		if err != nil || first == "" {
			return a, created, w, err
		}
		if asked, err = g.consult(ctx, first, call, asked, rules); err != nil {
			return a, false, nil, err
		}
	}
}

// askedBy is the call with what its token says of it.
func (c Call) askedBy(who Caller) Call {
	c.Owner = who.Token
	if c.TokensAgent = who.AgentID != ""; c.TokensAgent {
		c.AgentID = who.AgentID
	}
	if r := c.Requester; r != nil {
		normal := *r
		normal.UserID = normalID(r.UserID)
		c.Requester = &normal
	}
	return c
}

// judge checks a call and judges it by what is known here. What is on record comes
// next, then whoever is asked outside: see [consulted.next] and [consulted.onMiss].
func (g *Gate) judge(ctx context.Context, who Caller, call Call, rules *Rules) (_ Call, sealed Sealed, c consulted, err error) {
	if sealed, err = admit(who, call, rules); err == nil {
		call, err = g.compared(ctx, call)
	}
	if err == nil {
		call.exec = sealed.exec
		c = rules.weigh(ctx, call)
	}
	return call, sealed, c, err
}

// create commits the draft, or finds what answers the call already. Where an authority
// must be asked first, nothing is committed.
func (g *Gate) create(
	ctx context.Context, who Caller, call Call, draft Approval, sealed Sealed, asked consulted, rules *Rules,
) (a Approval, created bool, w *Watch, first authority, err error) {
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
		AgentID: call.AgentID, SessionKey: call.SessionKey, Supersedes: call.Supersedes, Grants: asked.Outcome == OutcomeAsk, Subject: draft.Subject, Program: asked.GrantScope.Program}
	if call.Resume {
		look.ResumeMs = nowMs()
	}
	if draft.Status != Pending && !asked.classifier {
		look.SessionKey = "" // no pending approval answers what policy has settled: see stricter
	}
	for tries := 0; ; tries++ {
		look.Code = draft.Code
		watch = g.expect(draft.Key)
		err = g.store.Create(ctx, look, func(f Existing) (_ []Change, err error) {
			changes, created, first, err = begin(who, call, draft, asked, f, rules, nowMs())
			for i := range changes {
				changes[i].Policy = rules.Policy.Hash()
				if changes[i].New && changes[i].Approval.Status != Denied {
					changes[i].Seal = sealed.Bytes
				}
			}
			return changes, err
		})
		if !errors.Is(err, ErrCodeTaken) || tries == 10 {
			break
		}
		watch.Stop()
		draft = draft.named(call.ID)
	}
	if err != nil || first != "" {
		return a, false, nil, first, err
	}
	for _, c := range changes {
		if c.New {
			g.tell(c)
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
func begin(who Caller, call Call, draft Approval, asked consulted, f Existing, rules *Rules, now int64) (_ []Change, created bool, first authority, err error) {
	if f.ByID != nil {
		if f.ByID.Fingerprint != draft.Fingerprint {
			return nil, false, "", refuse(CodeIDConflict, "That id names another call of yours.")
		}
		if call.MustAsk && !f.ByID.asksAPerson() {
			return nil, false, "", refuse(CodeIDConflict,
				"That id names a call that needs no approver's own yes; choose another id, so that a person is asked.")
		}
		if f.ByID.Status == Approved && draft.gaveOwn(f.ByID.DecidedBy, rules.People) {
			return nil, false, "", refuse(CodeIDConflict, "That id names a call that whoever asks for it now has allowed; choose another id.")
		}
		return superseding(asked.joining(*f.ByID, draft, "", rules, now), f, now), false, "", nil
	}
	if f.Another {
		return nil, false, "", refuse(CodeIDConflict, "That id is another approval's code, or its id or the beginning of it; choose one that people cannot take for it.")
	}
	granted := draft.byGrant(f, asked.GrantScope, rules.People, now)
	if asked.answeredBy(f.Same, draft, granted, now) {
		return superseding(asked.joining(*f.Same, draft, call.ID, rules, now), f, now), false, "", nil
	}
	if asked.resumedBy(f.Unclaimed, draft, granted, rules, now) {
		return superseding(f.Unclaimed.resumed(call.ID, now), f, now), false, "", nil
	}
	if call.Supersedes != "" && f.Superseded == nil {
		return nil, false, "", Invalid(FieldError{"supersedes", "is no approval of yours"})
	}
	if f.Superseded != nil && f.Superseded.Final() {
		return nil, false, "", f.Superseded.ended()
	}
	if first = asked.next(granted); first == AuthorityClassifier {
		return nil, false, first, nil
	}
	draft = asked.onMiss(granted)
	if draft.Status == Pending && who.MaxPending > 0 && f.Pending >= who.MaxPending && f.Superseded == nil {
		return nil, false, "", refuse(CodeRateLimited, "This token has %d approvals pending, which is its limit; wait for some to end or withdraw them.", f.Pending)
	}
	if first = asked.next(draft); first != "" {
		return nil, false, first, nil
	}
	changes := []Change{open(draft, rules, now)}
	changes[0].Events = append(asked.events(draft, now), changes[0].Events...)
	if f.Superseded != nil {
		changes = append(changes, f.Superseded.supersede(draft, now))
	}
	return changes, true, "", nil
}

// asksAPerson reports whether the call runs, if at all, by an approver's own yes or by a
// grant, which is one's.
func (a Approval) asksAPerson() bool {
	switch {
	case a.byRecord():
		return true
	case a.Status == Approved:
		return a.approversVoted()
	}
	return a.Final() || a.Rule.AsksApprovers() && a.Rule.RequiresHuman
}

// superseding withdraws what the call replaces, also where an existing approval
// answers it: a card for the old payload must not stay open.
func superseding(c Change, f Existing, now int64) []Change {
	if old := f.Superseded; old != nil && !old.Final() && old.Key != c.Approval.Key {
		return []Change{c, old.supersede(c.Approval, now)}
	}
	return []Change{c}
}

// answeredBy reports whether the pending approval of the same call answers this one.
// Where policy now wants more than when that was asked, it does not. What a classifier
// would make of the call it has said then, if policy saw the same. Where a grant covers
// the call (granted) and the verifier's people are asked all the same, one that waits for
// just them answers it.
func (c consulted) answeredBy(pending *Approval, draft, granted Approval, now int64) bool {
	if granted.Status == Pending {
		draft = granted
	}
	if pending == nil || pending.ExpiresAtMs <= now || pending.Rule.weaker(draft.Rule) || pending.Context.Tool != draft.Context.Tool {
		return false
	}
	offers := func(d Decision) bool { return !slices.Contains(draft.Offers, d) }
	if slices.ContainsFunc(pending.Offers, offers) {
		return false
	}
	stricter := draft.Status != Pending || draft.Assessment.RiskClass > pending.Assessment.RiskClass
	return !stricter || c.classifier && draft.judgedLike(*pending)
}

// resumedBy reports whether a yes that nobody has used yet answers the same call: it is
// as good as it would be for a pending one, and whoever gave it does not ask now.
func (c consulted) resumedBy(unclaimed *Approval, draft, granted Approval, rules *Rules, now int64) bool {
	if unclaimed == nil || !unclaimed.approversVoted() || granted.Final() {
		return false
	}
	if draft.gaveOwn(unclaimed.DecidedBy, rules.People) {
		return false
	}
	open := *unclaimed
	open.ExpiresAtMs = open.ClaimUntilMs
	return c.answeredBy(&open, draft, granted, now)
}

// resumed answers a call with a yes that nobody has used yet.
func (a Approval) resumed(alias string, now int64) Change {
	c := Change{Approval: a, Unchanged: true}
	if alias != "" {
		c.Aliases, c.Events = []string{alias}, []Event{a.event(EventJoined, now, eventData{})}
	}
	return c
}

// judgedLike reports whether policy saw the same of both: the same rules, and the same
// call in the same context.
func (a Approval) judgedLike(b Approval) bool {
	sameOrigin := a.Origin == nil && b.Origin == nil || a.Origin != nil && b.Origin != nil && *a.Origin == *b.Origin
	return a.PolicyHash == b.PolicyHash && a.Context == b.Context && a.Dialect == b.Dialect && sameOrigin
}

// joining answers the call with an approval that exists. Where somebody outside was
// asked all the same, since two asked at the same time, that is on record, and a deny
// ends what is still pending.
func (c consulted) joining(a, draft Approval, alias string, rules *Rules, now int64) Change {
	heard := a
	heard.Consulted = append(slices.Clip(a.Consulted), c.records...)
	switch {
	case a.Final() && len(c.records) == 0:
		return Change{Approval: a, Unchanged: true}
	case a.Final():
		return Change{Approval: a, Unchanged: true, Events: []Event{heard.event(EventJoined, now, eventData{})}}
	case c.Outcome == OutcomeDeny && len(c.records) > 0:
		return heard.judgedAgain(&c.Judgement, rules, now)
	}
	return heard.join(draft, alias, rules, now)
}

// open makes the first change of a new approval: settled by policy, or with
// cards on their way.
func open(a Approval, rules *Rules, now int64) Change {
	if a.Final() {
		return Change{Approval: a, New: true}.end(EventResolved, now)
	}
	a = a.sparingApprovers(rules.People)
	c := Change{Approval: a, New: true, Events: []Event{a.event(EventRequested, now, eventData{Solo: a.Solo})}}
	if t := a.tally(rules.People); t.Outcome != Pending {
		return c.settle(rules.People, now)
	}
	routes := rules.Router.Route(a)
	places := routes.Targets
	if len(places) == 0 {
		places, c.Approval.FallbackDone = routes.Fallback, true
	}
	places = slices.Concat(places, routes.Verifier)
	for _, t := range places {
		c.Deliveries = append(c.Deliveries, a.delivery(CardDelivery, t, now))
	}
	switch {
	case len(places) > 0:
		c.Approval.FallbackAtMs = now + routes.FallbackAfterMs
	case routes.Originless:
		c.Approval.Unreached = false // nothing runs for who leaves the chat out
		c = c.unreached(now)
	case !rules.People.AnyToken():
		// No chat gets a card and no terminal could decide.
		c = c.unreached(now)
	}
	return c
}

// admit checks a call before anybody judges it, and gives its canonical form.
func admit(who Caller, call Call, rules *Rules) (sealed Sealed, err error) {
	bad := call.validate()
	if len(call.Params) > 0 {
		if sealed, err = Canonical(call.ToolName, call.Params, call.Bind); err != nil {
			bad = append(bad, FieldError{"params", err.Error()})
		} else if call.ToolName == "exec" {
			e, wrong := ParseExec(call.Params)
			sealed.exec, bad = &e, append(bad, wrong...)
		}
	}
	switch {
	case call.CallbackURL == "" || !validCallback(call.CallbackURL):
	case who.Callbacks == NoCallbacks:
		bad = append(bad, FieldError{"callbackUrl", "needs a token with a callbackSecret, which signs the call"})
	case who.Callbacks == SecureCallbacks && !strings.HasPrefix(call.CallbackURL, "https:"):
		bad = append(bad, FieldError{"callbackUrl", "must be https here"})
	}
	if who.RequireRequester && call.Requester == nil {
		bad = append(bad, FieldError{"requester",
			"must say which human asked the agent, as {channel, userId} or {person}: this token has requireRequester"})
	}
	if r := call.Requester; r != nil && r.Person != "" && !rules.People.Known(r.Person) {
		bad = append(bad, FieldError{"requester.person", "is not a configured person"})
	}
	if len(bad) > 0 {
		return sealed, Invalid(bad...)
	}
	if len(sealed.Bytes) > MaxParams {
		return sealed, refuse(CodePayloadTooLarge, "The call is larger than %d bytes.", MaxParams)
	}
	if o := call.Origin; o != nil && !rules.Router.Names(*o) &&
		!slices.ContainsFunc(who.SessionChats, func(t Target) bool { return t.Names(*o) }) {
		return sealed, refuse(CodeOriginNotAllowed, "This token may not name that chat as its origin: neither its sessionChats nor the routing targets do.")
	}
	return sealed, nil
}

// draft makes the approval that a call would become.
func draft(who Caller, call Call, sealed Sealed, j Judgement, rules *Rules) (Approval, error) {
	a := outline(who, call, sealed.Fingerprint, j, rules).named(call.ID)
	if a.hidden() {
		return a, nil // its dialect tells the fingerprint only
	}
	call.Params = sealed.params
	facts, err := lines(call)
	if err != nil {
		return Approval{}, err
	}
	a.Summary = about(call.ToolName, facts, call.Bind, maxSummary)
	return a, nil
}

// outline is draft without a key, and without what people read of the call.
func outline(who Caller, call Call, fingerprint string, j Judgement, rules *Rules) Approval {
	now := nowMs()
	timeout := rules.TimeoutMs
	if call.TimeoutMs > 0 {
		timeout = min(call.TimeoutMs, rules.MaxTimeoutMs)
	}
	a := Approval{
		ID: call.ID, Owner: who.Token, Status: Pending,
		ToolName: call.ToolName, Fingerprint: fingerprint, Bind: call.Bind,
		AgentID: call.AgentID, TokensAgent: call.TokensAgent, SessionKey: call.SessionKey, Context: call.Context.kept(), Dialect: call.Dialect,
		Requester: call.Requester, CallbackURL: call.CallbackURL, Justification: display.Redact(call.Justification), ActionSummary: display.Redact(call.ActionSummary),
		Assessment: j.Assessment, Why: j.Why, PolicyHash: rules.Policy.Hash(), Rule: j.Rule,
		Subject: j.subject(call), Unreached: j.Unreached == OutcomeAllow, Solo: rules.Solo,
		Votes: stamped(j.Votes, now), Reached: true, CreatedAtMs: now, ExpiresAtMs: now + timeout,
	}
	if a.Subject != "" {
		a.Session = j.GrantScope.Session
	}
	a.Always, a.Offers = j.GrantScope.Always, grantable(j, call, a.Subject)
	if a.hidden() {
		a.Summary = "arguments not shown; fingerprint " + a.Fingerprint
	}
	if call.Origin != nil {
		origin := call.Origin.Normal()
		a.Origin = &origin
	}
	a.Askers = askers(who, call, rules.People)
	return a.judged(j, rules)
}

// named gives an approval a new key, with that its code, and its id: its owner's
// own, or the key.
func (a Approval) named(own string) Approval {
	a.Key = a.newKey()
	a.ID, a.Code = cmp.Or(own, a.Key), KeyCode(a.Key)
	return a
}

// grantable drops the scopes that would cover nothing: no session scope without a
// session or a subject, and none for always where policy has no words for it.
func grantable(j Judgement, call Call, subject string) []Decision {
	return slices.DeleteFunc(slices.Clone(j.Offers), func(d Decision) bool {
		return d == AllowSession && (call.SessionKey == "" || subject == "") || d == AllowAlways && j.GrantScope.Always == ""
	})
}

// judged settles what policy settles at once. Anything that is neither a clear
// allow nor a clear ask is denied.
func (a Approval) judged(j Judgement, rules *Rules) Approval {
	switch j.Outcome {
	case OutcomeAllow:
		a.Status, a.Decision, a.DecidedBy = Approved, AllowOnce, []string{"policy"}
	case OutcomeAsk:
		if why := a.unreachable(rules.People); why != "" && !(rules.Clamp && a.clamp(rules.People)) {
			return a.insufficient(why)
		}
	default:
		a.Status, a.Decision, a.DecidedBy, a.Reason = Denied, Deny, []string{"policy"}, j.Reason
	}
	return a
}

// clamp lowers the quorum to the people there are, where the operator allows
// it; it never goes below one.
func (a *Approval) clamp(d *Directory) bool {
	for a.Rule.MinApprovals > 1 && a.unreachable(d) != "" {
		a.Rule.MinApprovals--
	}
	return a.unreachable(d) == ""
}
