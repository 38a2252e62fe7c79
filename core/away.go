package core

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"approvalbot/internal/assertion"
	"approvalbot/internal/schedule"
)

// maxAway is how long somebody may be away at a time.
const maxAway = 366 * 24 * time.Hour

// ErrAbsences says that a Change counts on absences that are not the newest.
var ErrAbsences = errors.New("the absences have changed meanwhile")

// Leave is what somebody says when they go away.
type Leave struct {
	Person  string
	To      string // who stands in for them; empty: nobody
	UntilMs int64
}

// Left is what came of it.
type Left struct {
	Absence Absence
	Notes   []string // sentences: what nobody present can approve as long as it lasts
}

// SetAway has a person be away, in place of what was said before: by a token of that
// person that may decide, or by an operator's, which may not lend another's roles to the
// person behind it.
func (g *Gate) SetAway(ctx context.Context, who Caller, l Leave) (Left, error) {
	by, err := who.mayAnswerFor(l.Person)
	if err != nil {
		return Left{}, err
	}
	if l.To != "" && l.To == who.Person && l.Person != who.Person {
		return Left{}, Refuse(CodeForbidden, "You cannot have %s's roles lent to yourself.", l.Person)
	}
	return g.leave(ctx, by, l, nil)
}

// SetBack ends a person's absence: by the same as [Gate.SetAway]. was is false where there
// was none.
func (g *Gate) SetBack(ctx context.Context, who Caller, person string) (was bool, err error) {
	by, err := who.mayAnswerFor(person)
	if err != nil {
		return false, err
	}
	return g.comeBack(ctx, by, person, nil)
}

// mayAnswerFor gives the name of a caller that may say whether a person is away.
func (who Caller) mayAnswerFor(person string) (by string, err error) {
	themselves := who.MayDecide && who.Person != "" && who.Person == person
	switch {
	case !themselves && !who.MayAdmin:
		return "", Refuse(CodeForbidden, "This token may not say whether %s is away: it needs the scope operator.admin, "+
			"or that person and the scope operator.approvals.", person)
	case who.Person != "":
		return Voter{Person: who.Person}.Name(), nil
	}
	return "token:" + who.Token, nil
}

// VoterAway has the person behind an approver's account be away, as they say in a chat.
// When it returns an answer or a refusal, the platform update is handled.
func (g *Gate) VoterAway(ctx context.Context, v Voter, to string, untilMs int64, handled *InboundRef) (Left, error) {
	v, refusal := g.absentee(v)
	if refusal == nil {
		l, err := g.leave(ctx, v.Name(), Leave{v.Person, to, untilMs}, handled)
		if CodeOf(err) == "" {
			return l, err
		}
		errors.As(err, &refusal)
	}
	return Left{}, g.refusedAbsence(ctx, v, refusal, handled)
}

// VoterBack ends the absence of the person behind an approver's account.
func (g *Gate) VoterBack(ctx context.Context, v Voter, handled *InboundRef) (was bool, err error) {
	v, refusal := g.absentee(v)
	if refusal != nil {
		return false, g.refusedAbsence(ctx, v, refusal, handled)
	}
	return g.comeBack(ctx, v.Name(), v.Person, handled)
}

// absentee gives the voter who is an approver there and a person by name.
func (g *Gate) absentee(v Voter) (Voter, *Error) {
	d := g.people(time.Now())
	v = d.Identify(v)
	switch {
	case !d.MayDecide(v):
		return v, notAnApprover()
	case v.Person == "":
		return v, Refuse(CodeNotAnApprover, "Only people named in the configuration can be away: this account is nobody's.")
	}
	return v, nil
}

// refusedAbsence puts an attempt on record that was refused.
func (g *Gate) refusedAbsence(ctx context.Context, v Voter, why *Error, handled *InboundRef) error {
	if err := g.Refused(ctx, v, "away: "+string(why.Code), handled); err != nil {
		return err
	}
	return why
}

func (g *Gate) leave(ctx context.Context, by string, l Leave, handled *InboundRef) (Left, error) {
	var said Absence
	err := g.absent(ctx, handled, func(all Absences, now int64) (AbsenceChange, error) {
		said = Absence{Person: l.Person, To: l.To, SinceMs: now, UntilMs: l.UntilMs, By: by}
		if refusal := g.rules.Load().People.admitsAbsence(said, all); refusal != nil {
			return AbsenceChange{}, refusal
		}
		return AbsenceChange{Person: l.Person, Absence: &said, Event: personEvent(EventAway, now, said)}, nil
	})
	if err != nil {
		return Left{}, err
	}
	notes, err := g.unreachable(ctx, said)
	if err != nil { // it is said all the same
		g.log.Error("what nobody present can approve cannot be looked up", "person", l.Person, "reason", err)
	}
	return Left{said, notes}, nil
}

func (g *Gate) comeBack(ctx context.Context, by, person string, handled *InboundRef) (was bool, err error) {
	if !g.rules.Load().People.Known(person) {
		return false, noSuchPerson(person)
	}
	err = g.absent(ctx, handled, func(all Absences, now int64) (AbsenceChange, error) {
		a, away := all.live(now)[person]
		if was = away; !away {
			return AbsenceChange{}, nil
		}
		back := struct {
			Absence
			Ended string `json:"endedBy"`
		}{a, by}
		return AbsenceChange{Person: person, Event: personEvent(EventBack, now, back)}, nil
	})
	return was && err == nil, err
}

// absent commits one change of the absences and has this instance know it.
func (g *Gate) absent(
	ctx context.Context, handled *InboundRef, fn func(all Absences, now int64) (AbsenceChange, error),
) error {
	after, err := g.store.Absent(ctx, handled, func(all Absences) (AbsenceChange, error) { return fn(all, nowMs()) })
	if err != nil {
		return err
	}
	g.learn(after)
	g.notify(Change{Unchanged: true})
	if err := g.redrawVoted(ctx); err != nil { // it is so all the same
		g.log.Error("cards that say who has voted cannot be drawn again", "reason", err)
	}
	if err := g.Replan(ctx); err != nil { // at the next step it is
		g.log.Error("who hears of what waits cannot be planned anew", "reason", err)
	}
	return nil
}

// redrawVoted has the cards drawn again that say who has voted: it may count otherwise.
func (g *Gate) redrawVoted(ctx context.Context) error {
	return g.eachPending(ctx, func(a Approval) error {
		if !slices.ContainsFunc(a.Votes, byPeople) {
			return nil
		}
		if err := g.Redraw(ctx, a.Key); CodeOf(err) != CodeNotFound {
			return err
		}
		return nil
	})
}

// eachPending calls fn for every pending approval, until it fails.
func (g *Gate) eachPending(ctx context.Context, fn func(Approval) error) error {
	f := Filter{Status: Pending, Limit: 200}
	for {
		page, err := g.store.List(ctx, f)
		if err != nil {
			return err
		}
		for _, a := range page.Items {
			if err := fn(a); err != nil {
				return err
			}
		}
		if f.Cursor = page.Next; f.Cursor == "" {
			return nil
		}
	}
}

// LearnAbsences reads who is away: at the start, and when another instance changed it. What
// was known before is gone, also where the database has lost its newest changes.
func (g *Gate) LearnAbsences(ctx context.Context) error {
	known := g.absences.Load()
	all, err := g.store.Absences(ctx)
	if err != nil {
		return err
	}
	if !g.absences.CompareAndSwap(known, &all) {
		g.learn(all)
	}
	return nil
}

// learn takes over absences that are newer than those that are known.
func (g *Gate) learn(all Absences) {
	for {
		known := g.absences.Load()
		if known.Revision >= all.Revision || g.absences.CompareAndSwap(known, &all) {
			return
		}
	}
}

// admitsAbsence says why it cannot be so, beside the other absences, or nil. A delegate
// must be an approver already, and whoever lends must be one by more than a chat's role,
// which nobody sees while they are away. Nobody stands in for themselves, over others
// either.
func (d *Directory) admitsAbsence(a Absence, others Absences) *Error {
	last := time.UnixMilli(a.SinceMs).Add(maxAway).UnixMilli()
	switch {
	case !d.Known(a.Person):
		return noSuchPerson(a.Person)
	case a.UntilMs <= a.SinceMs:
		return Invalid(FieldError{"untilMs", "must be a time to come, in Unix milliseconds"})
	case a.UntilMs > last:
		return Invalid(FieldError{"untilMs", fmt.Sprintf("must be within the next %d days", int(maxAway.Hours()/24))})
	case a.To == "":
		return nil
	case a.To == a.Person:
		return Invalid(FieldError{"to", "must be another person"})
	case !d.isApprover(a.To, true):
		return Invalid(FieldError{"to", "must be an approver already: standing in for somebody makes nobody one"})
	case !d.isApprover(a.Person, false):
		return Invalid(FieldError{"to", "must be empty: who is no approver, or only by a role in a chat, has nothing to lend"})
	}
	away := others.live(a.SinceMs)
	away[a.Person] = a
	view := *d
	if view.away = away; view.standsIn(a.Person) == "" {
		return Invalid(FieldError{"to", "must not lead back: " + view.circle(a.Person) + " would stand in for each other"})
	}
	return nil
}

// circle names those of a circle of delegations, from one on.
func (d *Directory) circle(from string) string {
	names := []string{from}
	for to := d.away[from].To; to != from && len(names) <= len(d.away); to = d.away[to].To {
		names = append(names, to)
	}
	return strings.Join(names, ", ")
}

// isApprover reports whether a person may decide somewhere; byRole: perhaps by a role of
// a chat that they may hold.
func (d *Directory) isApprover(person string, byRole bool) bool {
	p, known := d.people[person]
	may := slices.ContainsFunc(d.accountsOf(person), func(v Voter) bool {
		v.Roles = nil
		return d.MayDecide(v)
	})
	return known && (may || byRole && d.byRole(p))
}

func noSuchPerson(name string) *Error {
	return Refuse(CodeNotFound, "There is no person named %.64q in the configuration.", name)
}

// personEvent makes a log entry about a person.
func personEvent(t EventType, now int64, data any) Event {
	text, _ := json.Marshal(data) // plain values always marshal
	return Event{AtMs: now, Type: t, Data: text}
}

// metNow reports whether those who are present could allow the approval, beside the yes
// that there is.
func (a Approval) metNow(d *Directory) bool {
	_, _, open := d.Eligible(nil)
	if open && a.Rule.AsksApprovers() { // there may be more than can be named
		return true
	}
	now := d.now.UnixMilli()
	add := func(v Voter) {
		yes := Vote{Approver: UserRequest, Verdict: Approve, Decision: AllowOnce, Voter: &v, DecidedAtMs: now}
		if a.Rule.StepUp {
			if !d.maySign(v) {
				return
			}
			yes.Signature = &assertion.Signature{PolicyHash: a.PolicyHash}
		}
		if w := a.weightNow(yes, d); !w.Approvers && !w.Verifier {
			return
		}
		yes.For, yes.OnDuty = a.lenders(v, d), d.mayBeOnDuty(v.Person)
		a.Votes = append(a.Votes, yes)
	}
	a = a.clone()
	a.Votes = slices.DeleteFunc(a.standing(d), func(v Vote) bool { return v.Verdict != Approve })
	for _, name := range slices.Sorted(maps.Keys(d.people)) {
		if _, away := d.Away(name); away {
			continue
		}
		for _, v := range d.accountsOf(name) {
			add(v)
		}
	}
	all := d.accounts()
	if a.Rule.Verifier != nil {
		all = append(all, d.listed(a.Rule.Verifier, a.AgentID)...)
	}
	for _, v := range all {
		if v = d.Identify(v); v.Person == "" {
			add(v)
		} else if _, away := d.Away(v.Person); !away { // the verifier's, in whose name no account may decide
			add(v)
		}
	}
	return a.tally(d).Outcome == Approved
}

// mayBeOnDuty are the rosters by which a person may be on duty.
func (d *Directory) mayBeOnDuty(person string) (rosters []string) {
	for _, r := range d.duty.Rosters() {
		if person != "" && slices.Contains(d.duty.Among(r.Name), person) {
			rosters = append(rosters, r.Name)
		}
	}
	return rosters
}

// missed names those who are away and could decide the approval, with how long.
func (a Approval) missed(d *Directory) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(d.away)) {
		if slices.ContainsFunc(d.accountsOf(name), func(v Voter) bool { return a.counts(v, d) }) {
			out = append(out, name+" until "+timeText(d.away[name].UntilMs, time.Local))
		}
	}
	if n := len(out) - 3; n > 0 {
		out = append(out[:3], fmt.Sprintf("%d more", n))
	}
	return strings.Join(out, ", ")
}

// withoutApprovers says on the approval that nobody present could allow it, where that
// is so since people are away: they may come back, or answer all the same, so it waits.
func (a Approval) withoutApprovers(d *Directory) Approval {
	if len(d.away) == 0 || a.metNow(d) {
		return a
	}
	who := a.missed(d)
	if who == "" {
		return a
	}
	a.Assessment.ReasonCodes = append(slices.Clone(a.Assessment.ReasonCodes), ReasonAway)
	a.Why = append([]string{"Nobody who is here can allow this: away are " + who + "."}, a.Why...)
	return a
}

// unreachable says what nobody present can approve while that absence lasts.
func (g *Gate) unreachable(ctx context.Context, said Absence) (notes []string, err error) {
	now := time.UnixMilli(said.SinceMs)
	rules := g.snapshot(now)
	everybody := rules.People.At(now)
	lost := func(a Approval) bool { return !a.metNow(rules.People) && a.metNow(everybody) }
	until := schedule.Moment(time.UnixMilli(said.UntilMs), now, cmp.Or(rules.People.Zone(said.Person), time.UTC))
	var classes []string
	for _, c := range rules.Classes {
		if lost(Approval{Status: Pending, Rule: c.Rule, Assessment: Assessment{RiskClass: c.Class}}) {
			classes = append(classes, c.Class.String())
		}
	}
	if len(classes) > 0 {
		notes = append(notes, fmt.Sprintf("Until %s nobody who is here can allow %s.", until, strings.Join(classes, " or ")))
	}
	var codes []string
	err = g.eachPending(ctx, func(a Approval) error {
		if lost(a) {
			codes = append(codes, a.Code)
		}
		return nil
	})
	if n := len(codes); n > 0 {
		list := strings.Join(clip(codes, 5), ", ")
		if n > 5 {
			list += fmt.Sprintf(" and %d more", n-5)
		}
		notes = append(notes, "Of what is waiting, nobody who is here can allow "+list+".")
	}
	return notes, err
}
