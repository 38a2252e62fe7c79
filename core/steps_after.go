package core

import (
	"slices"
	"time"

	"approvalbot/display"
)

// ClaimInput is what an owner says when it claims an approved call.
type ClaimInput struct {
	Params  []byte // what it is about to run, if it says so; must be what was approved
	Bind    *Bind  // where it is about to run it, likewise
	ClaimID string // names this claim, so that a lost answer can be asked for again
}

// claim hands an approved call out, once. call is what was sealed, policyDenies the
// reason why policy would now refuse it.
func (a Approval) claim(in ClaimInput, call Call, policyDenies string, now int64) (Change, error) {
	switch {
	case a.Status == Pending:
		return Change{}, notClaimable(WhyPending, "The approval is still pending.")
	case a.Status != Approved:
		return Change{}, notClaimable(WhyDenied, "The approval was not given: it is "+string(a.Status)+".")
	case a.RevokedAtMs != 0:
		return Change{}, notClaimable(WhyRevoked, "The approval was taken back.")
	case a.ToolName == DrillTool:
		return Change{}, notClaimable(WhyPolicy, WasDrill)
	}
	repeat := a.ClaimedAtMs != 0 && a.Result == nil && in.ClaimID != "" && in.ClaimID == a.ClaimID
	if a.ClaimedAtMs != 0 && !repeat {
		return Change{}, refuse(CodeAlreadyUsed, "The approval was claimed before.")
	}
	if !repeat && now >= a.ClaimUntilMs {
		return Change{}, notClaimable(WhyLate, "The time to claim it is over; an operator's retry opens it again.")
	}
	if err := sameCall(a.Fingerprint, in, call); err != nil {
		return Change{}, err
	}
	if policyDenies != "" {
		c := Change{Approval: a, Unchanged: true, Refusal: notClaimable(WhyPolicy, "Policy now refuses this call: "+policyDenies)}
		c.Events = []Event{a.event(EventRefused, now, eventData{By: "token:" + a.Owner, Why: WhyPolicy})}
		return c, nil
	}
	if repeat {
		return Change{Approval: a, Unchanged: true}, nil
	}
	next := a.clone()
	next.ClaimedAtMs, next.ClaimID = now, in.ClaimID
	claimed := next.event(EventClaimed, now, eventData{By: "token:" + a.Owner})
	return Change{Approval: next, Events: []Event{claimed}, Tool: next.seen()}, nil
}

// sameCall refuses a claim for other bytes, or for another place, than approved.
func sameCall(fingerprint string, in ClaimInput, call Call) error {
	if in.Params == nil && in.Bind == nil {
		return nil
	}
	if in.Params != nil {
		call.Params = in.Params
	}
	if in.Bind != nil {
		call.Bind = in.Bind
	}
	got, err := Canonical(call.ToolName, call.Params, call.Bind)
	if err != nil {
		return Invalid(FieldError{"params", err.Error()})
	}
	if got.Fingerprint != fingerprint {
		return refuse(CodeFingerprintMismatch, "This is not the call that was approved: its fingerprint is another one.")
	}
	return nil
}

func notClaimable(why, message string) *Error {
	return &Error{Code: CodeNotClaimable, Why: why, Message: message}
}

// report stores what the owner says about the execution, once.
func (a Approval) report(r Result, now int64) (Change, error) {
	r.Summary, r.AtMs = words(r.Summary, maxResultSummary), now
	switch {
	case a.ClaimedAtMs == 0:
		return Change{}, notClaimable(WhyPending, "Nothing was claimed yet, so there is no result to report.")
	case a.Result != nil && a.Result.same(r):
		return Change{Approval: a, Unchanged: true}, nil
	case a.Result != nil:
		return Change{}, refuse(CodeAlreadyUsed, "A result was reported before.")
	}
	next := a.clone()
	next.Result = &r
	return Change{
		Approval: next, Unseal: next.KeptSinceMs() == 0, Redraw: true,
		Events:     []Event{next.event(EventResult, now, eventData{By: "token:" + a.Owner})},
		Deliveries: next.tell(ResultDelivery, now),
	}, nil
}

// retry makes an approved call claimable again. hasCall: the sealed call is still
// there; policyDenies is the reason why policy would now refuse it.
func (a Approval) retry(by string, hasCall bool, policyDenies string, now int64) (Change, error) {
	switch {
	case a.Status == Pending:
		return Change{}, notClaimable(WhyPending, "The approval is still pending.")
	case a.Status != Approved:
		return Change{}, notClaimable(WhyDenied, "Only an approved request can be retried; this one is "+string(a.Status)+".")
	case a.RevokedAtMs != 0:
		return Change{}, notClaimable(WhyRevoked, "The approval was taken back.")
	case !hasCall:
		return Change{}, retryDataGone()
	case policyDenies != "":
		c := Change{Approval: a, Unchanged: true, Refusal: notClaimable(WhyPolicy, "Policy now refuses this call: "+policyDenies)}
		c.Events = []Event{a.event(EventRefused, now, eventData{By: by, Why: WhyPolicy})}
		return c, nil
	}
	next := a.clone()
	next.ClaimedAtMs, next.ClaimID, next.Result, next.ClaimUntilMs = 0, "", nil, now+claimWindowMs
	next.Retries++
	what := eventData{By: by, Until: next.ClaimUntilMs}
	return Change{Approval: next, Redraw: true,
		// The first says what the retry follows, a failed result for one.
		Events:     []Event{a.event(EventRetry, now, what), next.event(EventResolved, now, what)},
		Deliveries: append(next.tell(RetryDelivery, now), next.callBack(now)...),
	}, nil
}

// KeptSinceMs is since when the sealed call has been kept for an operator's retry
// alone; 0: it is not, because the approval is pending, or nothing may run any more. It
// counts from what was last done with the call: the result, the claim, or else the end
// of the time to claim it. A once-approval that succeeded is done with.
func (a Approval) KeptSinceMs() int64 {
	switch {
	case a.Status != Approved || a.RevokedAtMs != 0:
		return 0
	case a.Result != nil && a.Result.Status == "succeeded" && a.Decision == AllowOnce:
		return 0
	case a.Result != nil:
		return a.Result.AtMs
	case a.ClaimedAtMs != 0:
		return a.ClaimedAtMs
	}
	return a.ClaimUntilMs
}

// callGone reports whether the time for which the call is kept is over.
func (a Approval) callGone(rules *Rules, now int64) bool {
	since := a.KeptSinceMs()
	return rules.RetryWindowMs > 0 && since != 0 && now >= since+rules.RetryWindowMs
}

func retryDataGone() *Error {
	return refuse(CodeRetryDataGone, "Retry data not available: the call was deleted after it succeeded, "+
		"or its time is over (approvals.tools.retryWindow). The agent must ask again.")
}

func (r Result) same(o Result) bool {
	sameCode := r.ExitCode == nil && o.ExitCode == nil || r.ExitCode != nil && o.ExitCode != nil && *r.ExitCode == *o.ExitCode
	return r.Status == o.Status && r.Summary == o.Summary && sameCode
}

// revoke takes an unclaimed approval back.
func (a Approval) revoke(by, reason string, now int64) (Change, error) {
	switch {
	case a.Status != Approved:
		why := WhyDenied
		if a.Status == Pending {
			why = WhyPending
		}
		return Change{}, notClaimable(why, "Only an approved request can be revoked; this one is "+string(a.Status)+".")
	case a.ClaimedAtMs != 0:
		return Change{}, refuse(CodeAlreadyUsed, "The approval was claimed before; it can no longer be taken back.")
	case a.RevokedAtMs != 0:
		return Change{Approval: a, Unchanged: true}, nil
	}
	next := a.clone()
	next.RevokedAtMs, next.RevokedBy, next.RevokeReason = now, by, words(reason, maxReason)
	tell := next.callBack(now)
	if slices.ContainsFunc(a.Deliveries, func(d Delivery) bool { return d.Kind == OutcomeDelivery }) {
		tell = append(tell, next.tell(RevokedDelivery, now)...)
	}
	return Change{Approval: next, Unseal: true, EndGrants: true, Redraw: true, Deliveries: tell,
		Events: []Event{next.event(EventRevoked, now, eventData{By: by})}}, nil
}

// addReason attaches the reason that a person gives after their deny counted.
func (a Approval) addReason(v Voter, reason string, now int64) (Change, error) {
	next := a.clone()
	if next.Status == Withdrawn && next.Reason == withdrawnByRequester && slices.Contains(next.DecidedBy, v.Name()) {
		next.Reason = words(reason, maxReason) // their deny withdrew it
		return Change{Approval: next, Redraw: true, Events: []Event{next.event(EventReason, now, eventData{By: v.Name()})}}, nil
	}
	i := slices.IndexFunc(next.Votes, func(o Vote) bool { return o.Voter != nil && o.Voter.Name() == v.Name() && o.Verdict == Reject })
	if i < 0 {
		return Change{}, refuse(CodeNotFound, "You have not denied this request.")
	}
	next.Votes[i].Reason = words(reason, maxReason)
	if next.Status == Denied && slices.Contains(next.DecidedBy, v.Name()) {
		next.Reason = next.Votes[i].Reason
	}
	return Change{Approval: next, Redraw: true, Events: []Event{next.event(EventReason, now, eventData{Vote: &next.Votes[i]})}}, nil
}

// tick does what time asks of a pending approval: expiry, fallback targets, and
// the word that nobody could be asked. It always gives a full change, so that
// the store computes the next timer anew. silent are the chats that leave tries
// unanswered; nil: not looked up. Where that matters, there is no change and who is
// true.
func (a Approval) tick(routes Routes, silent map[Target]Unreachable, now int64) (_ Change, who bool) {
	if a.Final() {
		return Change{Approval: a, Unchanged: true}, false
	}
	if now >= a.ExpiresAtMs {
		return a.expire(now), false
	}
	c := Change{Approval: a.clone()}
	sent, waiting := a.cards(nil)
	approvers, mayReach := a.cards(routes.Verifier)
	if !a.Rule.AsksApprovers() {
		approvers, mayReach = sent, waiting
	}
	switch {
	case approvers || sent && a.FallbackDone:
		c.Approval = c.Approval.reachedAfterAll()
		c.Approval.FallbackAtMs = 0
		return c, false
	case a.FallbackAtMs == 0 || mayReach && now < a.FallbackAtMs:
		return c, false // nothing is over yet, or it was all said before
	case !a.FallbackDone:
		if c = c.fallBack(routes, now); len(c.Deliveries) > 0 {
			return c, false
		}
	}
	if sent { // the verifier's people are asked
		c.Approval = c.Approval.reachedAfterAll()
		c.Approval.FallbackAtMs = 0
		return c, false
	}
	if waiting && silent == nil {
		return Change{}, true
	}
	again := now + max(routes.FallbackAfterMs, leastLookMs)
	if look := a.mayArrive(silent, routes.FallbackAfterMs, again, now); look != 0 {
		c.Approval.FallbackAtMs = max(look, now+leastLookMs)
		return c, false
	}
	if c = c.unreached(now); waiting && !c.Approval.Final() {
		c.Approval.FallbackAtMs = again // a card may arrive after all
	}
	return c, false
}

// openTries is how often a card itself must have gone unanswered before its call runs
// because nobody could be asked: that other messages fail there says too little.
const openTries = 2

// leastLookMs is how often at most is looked whether a card has arrived.
const leastLookMs = 1000

// cards says whether any card stands in a chat, and whether any waits to, but for
// those elsewhere.
func (a Approval) cards(elsewhere []Target) (sent, waiting bool) {
	for _, d := range a.Deliveries {
		if d.Kind == CardDelivery && !slices.Contains(elsewhere, d.Target.Normal()) {
			sent = sent || d.State == Sent || d.State == Settled
			waiting = waiting || d.State == Queued
		}
	}
	return sent, waiting
}

// mayArrive says when to look whether a card has arrived; 0: nobody can be asked.
// A card that waits because its chat is limited, or behind other cards, or for its
// first try, is only late. One that cannot arrive has failed for good, or goes to a
// chat that was tried since, and has answered nothing for as long as fallback targets
// are waited for. Its tries must go over half of that time: one in which nobody tried,
// as while the desk was down, says nothing.
func (a Approval) mayArrive(silent map[Target]Unreachable, afterMs, again, now int64) (look int64) {
	for _, d := range a.Deliveries {
		if d.Kind != CardDelivery || d.State != Queued {
			continue
		}
		switch s, ok := silent[d.Target.Chat()]; {
		case ok && s.SinceMs+afterMs > now:
			look = max(look, s.SinceMs+afterMs)
		case !ok || s.TriedMs < d.CreatedMs || s.TriedMs-s.SinceMs < afterMs/2, a.Unreached && d.Attempts < openTries:
			look = max(look, again)
		}
	}
	return look
}

// reachedAfterAll is the approval with what its cards say: one that stands in a chat
// has reached somebody, though that was given up before.
func (a Approval) reachedAfterAll() Approval {
	if sent, _ := a.cards(nil); a.Reached || !sent {
		return a
	}
	a.Reached = true
	a.Assessment.ReasonCodes = slices.DeleteFunc(slices.Clone(a.Assessment.ReasonCodes), func(c string) bool { return c == ReasonUnreached })
	return a
}

// fallBack adds the fallback targets that have no card yet, if there are any.
func (c Change) fallBack(routes Routes, now int64) Change {
	a := &c.Approval
	a.FallbackDone = true
	for _, t := range routes.Fallback {
		if !a.hasCardAt(t) {
			d := a.delivery(CardDelivery, t.Normal(), now)
			d.Fallback = true
			c.Deliveries = append(c.Deliveries, d)
		}
	}
	if len(c.Deliveries) > 0 {
		a.FallbackAtMs = now + routes.FallbackAfterMs
		c.Events = append(c.Events, a.event(EventFallback, now, eventData{}))
	}
	return c
}

// unreached says that nobody could be asked, once.
func (c Change) unreached(now int64) Change {
	a := &c.Approval
	a.FallbackAtMs = 0
	if !a.Reached {
		return c
	}
	a.Reached = false
	if !slices.Contains(a.Assessment.ReasonCodes, ReasonUnreached) {
		a.Assessment.ReasonCodes = append(slices.Clone(a.Assessment.ReasonCodes), ReasonUnreached)
	}
	if a.Unreached && !a.cardRefused() {
		c.Events = append(c.Events, a.event(EventFailOpen, now, eventData{Why: "approvals.exec.askFallback"}))
		a.Status, a.Decision, a.DecidedBy, a.Reason = Approved, AllowOnce, []string{"policy"}, "nobody could be asked, and approvals.exec.askFallback lets it run then"
		return c.end(EventResolved, now)
	}
	c.Events = append(c.Events, a.event(EventUnreached, now, eventData{}))
	if a.Origin != nil && !slices.ContainsFunc(a.Deliveries, func(d Delivery) bool { return d.Target.Normal() == a.Origin.Normal() }) {
		c.Deliveries = append(c.Deliveries, a.delivery(UnreachedDelivery, a.Origin.Normal(), now))
	}
	return c
}

// cardRefused reports whether a chat that is there refuses the card as it stands. Whoever
// writes a call could see to that, so nothing follows from it but that people were not
// asked.
func (a Approval) cardRefused() bool {
	return slices.ContainsFunc(a.Deliveries, func(d Delivery) bool {
		return d.Kind == CardDelivery && d.State == Failed && d.DenyOnly
	})
}

// Ending says how the approval ended, for people, in a few words: "allowed once
// by alice". Empty while it is pending.
func (a Approval) Ending() string { return a.ending(func(int64) string { return "" }) }

// endingAt is Ending with the times: "allowed once by alice at 21 Nov 15:00:00 CET".
// What people gave as a reason stands behind them.
func (a Approval) endingAt() string {
	return a.ending(func(ms int64) string { return " at " + clock(ms, time.Local) })
}

// ending says how the approval ended; at says when that was. What approvers and
// operators gave as a reason stands behind them; what an asker says is a claim and
// stands elsewhere, see withdrawalWords.
func (a Approval) ending(at func(ms int64) string) string {
	by := ""
	if len(a.DecidedBy) > 0 {
		by = " by " + People(a.DecidedBy)
	}
	because := func(reason string) string {
		if reason == "" {
			return ""
		}
		return ": " + display.Escape(reason)
	}
	if a.Status == Pending {
		return ""
	}
	when := at(a.ResolvedAtMs)
	switch {
	case a.RevokedAtMs != 0:
		return decisionWords[a.Decision] + by + when + ", then revoked by " + People([]string{a.RevokedBy}) + at(a.RevokedAtMs) + because(a.RevokeReason)
	case a.Status == Approved:
		return decisionWords[a.Decision] + by + when + because(a.Reason)
	case a.Status == Denied:
		return "denied" + by + when + because(a.Reason)
	case a.SupersededBy != "":
		return "withdrawn" + when + ": superseded by " + a.SupersededBy
	case a.Status == Withdrawn:
		return "withdrawn" + by + when
	default:
		return "expired" + when + because(a.Reason)
	}
}

var decisionWords = map[Decision]string{
	AllowOnce: "allowed once", AllowSession: "allowed for the session", AllowAlways: "allowed always", Deny: "denied",
}

// clock writes a time for people, with its zone named.
func clock(ms int64, zone *time.Location) string {
	return time.UnixMilli(ms).In(zone).Format("2 Jan 15:04:05 MST")
}
