package core

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/people"
)

// Leave is what a person says when they go away.
type Leave struct {
	Person  string
	To      string // who stands in for them; empty: no one
	UntilMs int64
}

// Left is what came of it.
type Left struct {
	Absence people.Absence
	Notes   []string // sentences: what the available approvers cannot allow as long as it lasts
}

// SetAway has a person be away, in place of what was said before: by a token of that
// person that may decide, or by an operator's, which may not lend another's roles to the
// person behind it.
func (a Absences) SetAway(ctx context.Context, who Caller, l Leave) (Left, error) {
	by, err := who.mayAnswerFor(l.Person)
	if err != nil {
		return Left{}, err
	}
	if l.To != "" && l.To == who.Person && l.Person != who.Person {
		return Left{}, approval.Refuse(approval.CodeForbidden, "You cannot make yourself the delegate of %s; another "+
			"operator can.", l.Person)
	}
	return a.gate.leave(ctx, by, l, nil)
}

// SetBack ends a person's absence, for the same callers as [Absences.SetAway]. was is false if
// the person was not away.
func (a Absences) SetBack(ctx context.Context, who Caller, person string) (was bool, err error) {
	by, err := who.mayAnswerFor(person)
	if err != nil {
		return false, err
	}
	return a.gate.comeBack(ctx, by, person, nil)
}

// mayAnswerFor gives the name of a caller that may say whether a person is away.
func (who Caller) mayAnswerFor(person string) (by string, err error) {
	themselves := who.MayDecide && who.Person != "" && who.Person == person
	switch {
	case !themselves && !who.MayAdmin:
		return "", approval.Refuse(approval.CodeForbidden, "This token may not say whether %s is away: it needs the scope operator.admin, "+
			"or that person and the scope operator.approvals.", person)
	case who.Person != "":
		return approval.Voter{Person: who.Person}.Name(), nil
	}
	return "token:" + who.Token, nil
}

// VoterAway has the person behind an approver's account be away, as they say in a chat.
// When it returns an answer or a refusal, the platform update is handled.
func (g Chats) VoterAway(ctx context.Context, v approval.Voter, to string, untilMs int64, handled *approval.InboundRef) (Left, error) {
	v, refusal := g.absentee(v)
	if refusal == nil {
		l, err := g.leave(ctx, v.Name(), Leave{v.Person, to, untilMs}, handled)
		if approval.CodeOf(err) == "" {
			return l, err
		}
		errors.As(err, &refusal)
	}
	return Left{}, g.refusedAbsence(ctx, v, refusal, handled)
}

// VoterBack ends the absence of the person behind an approver's account.
func (g Chats) VoterBack(ctx context.Context, v approval.Voter, handled *approval.InboundRef) (was bool, err error) {
	v, refusal := g.absentee(v)
	if refusal != nil {
		return false, g.refusedAbsence(ctx, v, refusal, handled)
	}
	return g.comeBack(ctx, v.Name(), v.Person, handled)
}

// absentee gives the voter who is an approver there and a person by name.
func (g *Gate) absentee(v approval.Voter) (approval.Voter, *approval.Error) {
	d := g.people(time.Now())
	v = d.Identify(v)
	switch {
	case !d.MayDecide(v):
		return v, notAnApprover()
	case v.Person == "":
		return v, approval.Refuse(approval.CodeNotAnApprover, "Only people in the desk's configuration can be away, "+
			"and this account belongs to no such person.")
	}
	return v, nil
}

// refusedAbsence puts an attempt on record that was refused.
func (g *Gate) refusedAbsence(ctx context.Context, v approval.Voter, why *approval.Error, handled *approval.InboundRef) error {
	if err := g.Chats().Refused(ctx, v, "away: "+string(why.Code), handled); err != nil {
		return err
	}
	return why
}

func (g *Gate) leave(ctx context.Context, by string, l Leave, handled *approval.InboundRef) (Left, error) {
	var said people.Absence
	err := g.absent(ctx, handled, func(all people.Absences, now int64) (AbsenceChange, error) {
		said = people.Absence{Person: l.Person, To: l.To, SinceMs: now, UntilMs: l.UntilMs, By: by}
		if refusal := g.rules.Load().People.AdmitsAbsence(said, all); refusal != nil {
			return AbsenceChange{}, refusal
		}
		return AbsenceChange{Person: l.Person, Absence: &said, Event: personEvent(approval.EventAway, now, said)}, nil
	})
	if err != nil {
		return Left{}, err
	}
	notes, err := g.unreachable(ctx, said)
	if err != nil { // it is said all the same
		g.log.Error("could not check whether an absence leaves requests without an available approver; the absence "+
			"is in force", "person", l.Person, "reason", err)
	}
	return Left{said, notes}, nil
}

func (g *Gate) comeBack(ctx context.Context, by, person string, handled *approval.InboundRef) (was bool, err error) {
	if !g.rules.Load().People.Known(person) {
		return false, people.NoSuchPerson(person)
	}
	err = g.absent(ctx, handled, func(all people.Absences, now int64) (AbsenceChange, error) {
		a, away := all.Live(now)[person]
		if was = away; !away {
			return AbsenceChange{}, nil
		}
		back := struct {
			people.Absence
			Ended string `json:"endedBy"`
		}{a, by}
		return AbsenceChange{Person: person, Event: personEvent(approval.EventBack, now, back)}, nil
	})
	return was && err == nil, err
}

// absent commits one change of the absences and has this instance know it.
func (g *Gate) absent(
	ctx context.Context, handled *approval.InboundRef, fn func(all people.Absences, now int64) (AbsenceChange, error),
) error {
	after, err := g.store.Absent(ctx, handled, func(all people.Absences) (AbsenceChange, error) { return fn(all, nowMs()) })
	if err != nil {
		return err
	}
	g.learn(after)
	g.notify(Change{Unchanged: true})
	if err := g.redrawVoted(ctx); err != nil { // it is so all the same
		g.log.Error("could not redraw cards after an absence changed; a card shows it when its approval next changes",
			"reason", err)
	}
	if err := g.Upkeep().Replan(ctx); err != nil { // at the next step it is
		g.log.Error("could not reschedule reminders after an absence changed; the reminders of an approval are "+
			"rescheduled when it next changes", "reason", err)
	}
	return nil
}

// redrawVoted has the cards drawn again that say who has voted: it may count otherwise.
func (g *Gate) redrawVoted(ctx context.Context) error {
	return g.eachPending(ctx, func(a approval.Approval) error {
		if !slices.ContainsFunc(a.Votes, approval.ByPeople) {
			return nil
		}
		if err := g.Redraw(ctx, a.Key); approval.CodeOf(err) != approval.CodeNotFound {
			return err
		}
		return nil
	})
}

// personEvent makes a log entry about a person.
func personEvent(t approval.EventType, now int64, data any) approval.Event {
	text, _ := json.Marshal(data) // plain values always marshal
	return approval.Event{AtMs: now, Type: t, Data: text}
}

// unreachable says what the available approvers cannot allow while that absence lasts.
func (g *Gate) unreachable(ctx context.Context, said people.Absence) (notes []string, err error) {
	now := time.UnixMilli(said.SinceMs)
	rules := g.snapshot(now)
	everybody := rules.People.At(now)
	lost := func(a approval.Approval) bool { return !people.MetNow(a, rules.People) && people.MetNow(a, everybody) }
	var classes []string
	for _, c := range rules.Classes {
		if lost(approval.Approval{
			Ended:  approval.Ended{Status: approval.Pending},
			Judged: approval.Judged{Rule: c.Rule, Assessment: approval.Assessment{RiskClass: c.Class}},
		}) {
			classes = append(classes, c.Class.String())
		}
	}
	if len(classes) > 0 {
		notes = append(notes, fmt.Sprintf("No available approver can allow %s until then.", strings.Join(classes, " or ")))
	}
	var codes []string
	err = g.eachPending(ctx, func(a approval.Approval) error {
		if lost(a) {
			codes = append(codes, a.Code)
		}
		return nil
	})
	if n := len(codes); n > 0 {
		list := strings.Join(card.Clip(codes, 5), ", ")
		if n > 5 {
			list += fmt.Sprintf(" and %d more", n-5)
		}
		notes = append(notes, "Of the waiting requests, no available approver can allow "+list+".")
	}
	return notes, err
}
