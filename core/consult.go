package core

import (
	"context"
	"slices"
	"sync"
)

// Reason codes of what is not policy's own: a cool-down, and the verifier.
const (
	ReasonRecentlyDenied = "recently-denied"
	ReasonVerifierDenied = "verifier-denied"
	ReasonVerifierPeople = "verifier-people"
	ReasonMustAsk        = "must-ask"
)

// consulted is policy's judgement with the opinions from outside.
type consulted struct {
	Judgement
	verdict   Verification
	outside   bool     // somebody outside was asked
	timeLimit int64    // of the verifier's people, when nobody else had to be asked; 0: none
	chats     []Target // the verifier's own, that get a card too
}

// consult judges a call in the order hard layers, static risk, denies, rules,
// grants, classifier where unsure, decision, verifier. A deny from any of them
// wins. What it finds of grants only spares the classifier; they count in the
// transaction that settles the call.
func (g *Gate) consult(ctx context.Context, who Caller, call Call, sealed Sealed, rules *Rules) (consulted, error) {
	if call.drill() {
		return rules.drill(), nil
	}
	c := consulted{Judgement: rules.Policy.Judge(ctx, call)}
	if c.Unsure && rules.Classifier != nil && c.Outcome != OutcomeDeny {
		granted, err := g.granted(ctx, who, call, sealed, c.Judgement, rules)
		if err != nil {
			return c, err
		}
		if !granted {
			c.outside = true
			c.Judgement = rules.Policy.JudgeWith(ctx, call, rules.Classifier.Classify(ctx, call, c.Judgement))
		}
	}
	if rules.Verifier != nil && c.Outcome != OutcomeDeny {
		c.outside = true
		c.verdict = rules.Verifier.Verify(ctx, call, c.Assessment.RiskClass)
	}
	if c.outside && ctx.Err() != nil {
		// The caller hung up while others were asked: whatever they said is no
		// verdict of theirs, so nothing is put on record.
		return c, refuse(CodeUnavailable, "The request was broken off before everybody was asked.")
	}
	c.apply()
	if call.MustAsk && c.Outcome == OutcomeAllow {
		c.Outcome, c.Rule.RequiresHuman = OutcomeAsk, true
		if !slices.Contains(c.Offers, Deny) {
			c.Offers = []Decision{AllowOnce, Deny}
		}
		c.because(ReasonMustAsk, "Whoever asks wants a person to decide.")
	}
	return c, nil
}

// granted reports whether a grant or cool-down would settle the call.
func (g *Gate) granted(ctx context.Context, who Caller, call Call, sealed Sealed, j Judgement, rules *Rules) (bool, error) {
	d := outline(who, call, sealed.Fingerprint, j, rules)
	if d.Status != Pending {
		return false, nil
	}
	found, err := g.store.Covering(ctx, Lookup{Owner: d.Owner, AgentID: d.AgentID, SessionKey: d.SessionKey, Fingerprint: d.Fingerprint, Subject: d.Subject, Program: j.Reach.Program, Grants: true})
	return d.byGrant(Found{Grants: found}, j.Reach, rules.People, nowMs()).Final(), err
}

// apply adds the verifier's answer to the judgement; it can only tighten.
func (c *consulted) apply() {
	v := c.verdict
	c.Trace = append(slices.Clip(c.Trace), v.Steps...)
	switch {
	case v.Denied:
		c.Outcome, c.Reason = OutcomeDeny, v.Reason
		if c.Reason == "" {
			c.Reason = "The external verifier denied this call."
		}
		c.because(ReasonVerifierDenied, "The external verifier denied this call.")
	case v.People != nil && c.Outcome != OutcomeDeny:
		if c.Outcome == OutcomeAllow {
			c.timeLimit = v.People.TimeoutMs
			c.Offers = []Decision{AllowOnce, Deny}
		}
		c.Outcome, c.Unreached = OutcomeAsk, OutcomeAsk // nobody else's rules speak for them
		c.Rule.RequiresHuman = true
		c.Rule.Needs = append(slices.Clip(c.Rule.Needs), Need{Accounts: v.People.Accounts, Min: 1})
		c.chats = append(c.chats, v.People.Place.Normal())
		c.because(ReasonVerifierPeople, "The verifier's own people must agree.")
	}
}

func (c *consulted) because(code, why string) {
	c.Assessment.ReasonCodes = append(slices.Clip(c.Assessment.ReasonCodes), code)
	c.Why = append(slices.Clip(c.Why), why)
}

// verified gives the draft the verifier's time limit.
func (c consulted) verified(a Approval) Approval {
	if c.timeLimit > 0 {
		a.ExpiresAtMs = min(a.ExpiresAtMs, a.CreatedAtMs+c.timeLimit)
	}
	return a
}

// events puts on record that a verifier's failure did not stop the call, because
// the operator wrote failMode allow, and each automatic opinion that failed open.
func (c consulted) events(a Approval, now int64) (out []Event) {
	if c.verdict.Open && a.Status != Denied {
		out = append(out, a.event(EventFailOpen, now, eventData{Why: "tools.verifier.failMode"}))
	}
	if c.FailedOpen != "" && a.Status != Denied {
		out = append(out, a.event(EventFailOpen, now, eventData{Why: c.FailedOpen}))
	}
	return out
}

func withPlaces(targets, more []Target) []Target {
	out := slices.Clone(targets)
	for _, t := range more {
		if !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

// stamped gives the votes of automatic factors their time.
func stamped(votes []Vote, now int64) []Vote {
	for i := range votes {
		votes[i].DecidedAtMs = now
	}
	return votes
}

// Preview is what policy says of a call without anything being created, sent or
// asked outside.
type Preview struct {
	Judgement
	By string // "grant:<id>" where a grant or a cool-down speaks, else empty
}

// forms are buffers for the canonical forms of calls that are not kept.
var forms = sync.Pool{New: func() any { return new([]byte) }}

// Evaluate judges a call by what is known here: policy, and the grants on
// record. Classifier and verifier are not asked; the trace, which only those who
// may decide get, says that they would be.
func (g *Gate) Evaluate(ctx context.Context, who Caller, call Call) (Preview, error) {
	rules, err := g.inForce()
	if err != nil {
		return Preview{}, err
	}
	if !rules.Enabled {
		return Preview{}, refuse(CodeApprovalsDisabled, "approvals disabled")
	}
	if who.AgentID != "" {
		call.AgentID = who.AgentID
	}
	if who.MayDecide {
		who.Person = "" // an operator looks at what others would ask, in whatever chat
		if call.Origin != nil {
			who.SessionChats = []Target{*call.Origin}
		}
	}
	call.Explain = who.MayDecide // nobody else is told which rule spoke
	room := forms.Get().(*[]byte)
	sealed, err := admit((*room)[:0], who, call, rules)
	defer func() {
		form := sealed.Bytes
		if cap(form) <= maxSpare {
			clear(form[:cap(form)]) // it was a call's
			*room = form
			forms.Put(room)
		}
	}()
	if err != nil {
		return Preview{}, err
	}
	var c consulted
	if call.drill() {
		c = rules.drill()
	} else if c.Judgement = rules.Policy.Judge(ctx, call); rules.Verifier != nil && c.Outcome != OutcomeDeny {
		c.verdict = rules.Verifier.Wants(call)
		c.apply()
	}
	p := Preview{Judgement: c.Judgement}
	if c.Outcome != OutcomeAsk {
		return p, nil
	}
	d := outline(who, call, fingerprintOf(sealed.Bytes), c.Judgement, rules)
	p.Offers = d.Offers
	found, err := g.store.Covering(ctx, Lookup{Owner: d.Owner, AgentID: d.AgentID, SessionKey: d.SessionKey, Fingerprint: d.Fingerprint, Subject: d.Subject, Program: c.Reach.Program, Grants: true})
	if err != nil {
		return p, err
	}
	switch settled := d.byGrant(Found{Grants: found}, c.Reach, rules.People, nowMs()); {
	case d.Status == Denied:
		p.Outcome, p.Reason = OutcomeDeny, d.Reason
		p.Assessment = d.Assessment
		p.Trace = append(slices.Clip(p.Trace), Step{Stage: "people", Rule: ReasonInsufficient, Outcome: "deny", Text: d.Reason})
	case settled.Status == Approved:
		p.Outcome, p.By = OutcomeAllow, settled.DecidedBy[0]
		p.Trace = append(slices.Clip(p.Trace), Step{Stage: "grants", Rule: p.By, Outcome: "allow", Text: "A standing grant covers this call."})
	case settled.Status == Denied:
		p.Outcome, p.By, p.Reason = OutcomeDeny, settled.DecidedBy[0], settled.Reason
		p.Assessment = settled.Assessment
		p.Trace = append(slices.Clip(p.Trace), Step{Stage: "grants", Rule: p.By, Outcome: "deny", Text: settled.Reason})
	case c.OnMiss != "":
		p.Outcome, p.Reason = OutcomeDeny, c.OnMiss
	}
	return p, nil
}
