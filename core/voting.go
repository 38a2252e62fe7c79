package core

import (
	"context"
	"errors"
	"time"

	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/fault"
)

// Vote counts one person's ballot on the approval of that key, and gives the approval after it. A
// refused ballot (not_an_approver, self_approval, decision_not_offered, unseen_payload,
// already_resolved) is on record and comes with the approval, so that the voter can be told how
// it ended. Under rules that do not count, only a deny does. A note that cannot be handed on as
// it is written refuses the ballot before it is counted.
func (g *Gate) Vote(ctx context.Context, key string, b Ballot) (approval.Approval, error) {
	note, no := approval.ReadNote(b.Note)
	if no == nil && note != "" && b.Signed != nil {
		no = signedNote()
	}
	if no != nil {
		return approval.Approval{}, no
	}
	b.Note = note
	b.site = g.rules.Load().Site
	adopted, err := g.adopt(ctx, key, b)
	if err != nil {
		return approval.Approval{}, err
	}
	var today judged
	return anew(ctx, g, key, func() (approval.Approval, error) {
		a, err := g.voteOnce(ctx, key, b, adopted, today)
		switch {
		case errors.Is(err, errOtherRound):
			return g.voteAgain(ctx, key, b)
		case errors.Is(err, errOtherRules):
			if today, err = g.judgedToday(ctx, key, b.Decision); err == nil {
				err = errOtherRules
			}
		}
		return a, err
	})
}

// judged is what a policy says of a call; zero if it was not asked.
type judged struct {
	policy    string // its hash
	judgement *approval.Judgement
}

// by gives the judgement if it is that policy's, or nil.
func (j judged) by(policy string) *approval.Judgement {
	if j.policy != policy {
		return nil
	}
	return j.judgement
}

// judgedToday asks the policy in force about the call of an approval. If another policy
// counts by then, the result of a deny is zero, because a deny does not need it.
func (g *Gate) judgedToday(ctx context.Context, key string, d approval.Decision) (judged, error) {
	rules, outdated := g.inForce()
	switch {
	case outdated != nil && d == approval.Deny:
		return judged{}, nil
	case outdated != nil:
		return judged{}, outdated
	}
	j, err := g.judgeAgain(ctx, key, rules)
	return judged{rules.Policy.Hash(), j}, err
}

// voteOnce is one try of a vote. today is what policy says of the call, if that was asked.
// errOtherRules: it must be asked before the vote counts. errOtherRound: it denies one more run.
func (g *Gate) voteOnce(
	ctx context.Context, key string, b Ballot, adopted []approval.Delivery, today judged,
) (approval.Approval, error) {
	if b.Decision == approval.Retry {
		return g.voteAgain(ctx, key, b)
	}
	fault.Point("before-vote-committed")
	defer fault.Point("after-vote-committed")
	rules, outdated := g.inForce()
	b.site = rules.Site
	var err error
	if b.evidence, err = g.evidenceOf(ctx, b.Signed); err != nil {
		return approval.Approval{}, err
	}
	policy := rules.Policy.Hash()
	fresh := today.by(policy)
	if fresh != nil { // what policy wants today may want signatures: who could give one?
		if err := g.withHolders(ctx, approval.Rule{StepUp: true}, rules); err != nil {
			return approval.Approval{}, err
		}
	}
	return g.update(ctx, key, func(a approval.Approval) (Change, error) {
		if b.Code != "" && b.Code != a.Code || b.named != "" && b.named != a.ID {
			return Change{}, approval.NotFound()
		}
		if b.deniesRound(a, nowMs()) {
			return Change{}, errOtherRound
		}
		open, allows := !a.Final(), b.Decision != approval.Deny
		switch {
		case open && allows && outdated != nil:
			return Change{}, outdated
		case open && outdated == nil && fresh == nil && a.PolicyHash != policy:
			return Change{}, errOtherRules
		}
		b := g.confirms.confirm(b, a)
		b.atVerifier = rules.atVerifier(b, a)
		now := time.Now() // people may be back since the vote began to wait for its turn
		asOf := rules.at(now)
		c := vote(a, b, adopted, fresh, &asOf, now.UnixMilli()).spending(b, now.UnixMilli())
		if open && allows {
			c.Policy, c.Absences = policy, rules.absences.Revision
		}
		return c, nil
	})
}

// adopt makes the delivery for a tapped card whose id was lost in a crash or a cut
// connection. It applies only to a chat that was to get a card of that approval. An allow
// is on a card only after everything that would run was delivered there, so the card counts
// as shown exactly when its chat has all of it.
func (g *Gate) adopt(ctx context.Context, key string, b Ballot) ([]approval.Delivery, error) {
	if b.Card == "" || b.Chat == nil {
		return nil, nil
	}
	a, err := g.store.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	drawn := approval.Delivery{}
	for _, d := range a.Deliveries {
		if d.Kind == approval.CardDelivery && d.Target.Chat() == b.Chat.Normal().Chat() {
			drawn.Attached = drawn.Attached || d.Attached
			drawn.DenyOnly = drawn.DenyOnly || d.MessageID != "" && !d.Shown
			drawn.Key = a.Key
		}
	}
	if drawn.Key == "" {
		return nil, approval.Refuse(approval.CodeNotFound, "The desk does not know this button.")
	}
	facts, err := g.Cards().Payload(ctx, a)
	if err != nil {
		return nil, err
	}
	now := nowMs()
	attached, hidden := drawn.Attached, drawn.DenyOnly
	drawn = a.Delivery(approval.CardDelivery, b.Chat.Normal(), now)
	drawn.MessageID, drawn.State, drawn.Attached = b.Card, approval.Sent, attached
	// If another copy could not show it, this one cannot either.
	drawn.Shown = card.Draw(a, drawn, facts, card.Reader{People: g.people(time.Now()), Zone: time.UTC, Now: now, Site: b.site}).Shown && !hidden
	return []approval.Delivery{drawn}, nil
}
