package core

import (
	"context"
	"slices"
	"time"

	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/fault"
	"approvalbot/internal/people"
)

// A digest is one message in place of many cards: if one owner asks too much at once, and
// as the sum-up of the approvals that waited for the end of a person's quiet hours. It
// lists pending approvals. A person can open a card from there, or deny all that is listed.
// An allow is possible only on an approval's own card. The digest's delivery belongs to the
// first approval that was folded into it; the others name that approval in Delivery.Digest.

// FloodMs is the time in which an owner's cards are counted.
const FloodMs = 60 * 1000

const (
	// DigestTakesMs is for how long a digest takes further cards: an edit does not notify
	// people, so if an owner asks much for longer, a new message says so again.
	DigestTakesMs = 10 * 60 * 1000

	digestGatherMs = 1000      // what comes at once goes into one drawing
	digestRestMs   = 10 * 1000 // between two drawings while it grows: a chat's pace is for its cards
	digestEndedMs  = 4 * 1000  // and when what it lists ends, or is opened

	maxEntries = 20 // of a list: what each platform has buttons for
)

// firstCard is a new approval's card at a place for which so many of its owner's cards
// were made lately. R4 has a card of its own, always; a drill tries the way of cards.
func firstCard(a approval.Approval, place approval.Target, cards, digestAbove int, now int64) approval.Delivery {
	flood := digestAbove > 0 && cards >= digestAbove
	if own := a.Assessment.RiskClass >= approval.R4 || a.Drill(); flood && !own {
		return foldedCard(a, place, "", now)
	}
	return a.Delivery(approval.CardDelivery, place, now)
}

// furtherCard is a card at a place that is asked later: folded as those before it.
func furtherCard(a approval.Approval, place approval.Target, now int64) approval.Delivery {
	folded := slices.ContainsFunc(a.Deliveries, func(d approval.Delivery) bool { return d.Digest != "" && d.ForUser == "" })
	if folded && a.Assessment.RiskClass < approval.R4 {
		return foldedCard(a, place, "", now)
	}
	return a.Delivery(approval.CardDelivery, place, now)
}

// folded is a card that goes into its place's digest. For a person's sum-up forUser is
// that person, and the place their own.
func foldedCard(a approval.Approval, place approval.Target, forUser string, now int64) approval.Delivery {
	d := a.Delivery(approval.CardDelivery, place, now)
	d.State, d.DueMs, d.ForUser = approval.Folded, 0, forUser
	return d
}

// outgrown gives the places whose digests an approval has become too risky for.
func outgrown(a approval.Approval, was approval.Approval) (places []approval.Target) {
	if a.Assessment.RiskClass < approval.R4 || was.Assessment.RiskClass >= approval.R4 {
		return nil
	}
	for _, d := range a.Deliveries {
		if d.InDigest() {
			places = append(places, d.Target.Normal())
		}
	}
	return places
}

// NewDigest is the digest that begins with a folded card.
func NewDigest(card approval.Delivery, now int64) approval.Delivery {
	return approval.Delivery{
		Key: card.Key, Kind: approval.DigestDelivery, Target: card.Target, ForUser: card.ForUser, Silent: card.Silent, State: approval.Queued,
		DueMs: now + digestGatherMs, Rank: card.Rank, CreatedMs: now,
	}
}

// Raised is a digest whose list has changed, and that was last drawn at that time.
func Raised(d approval.Delivery, drawnMs, now int64, grew bool) approval.Delivery {
	d.Revision++
	due := max(now+digestGatherMs, drawnMs+digestEndedMs)
	if grew {
		due = max(due, drawnMs+digestRestMs)
	}
	if drawn := d.DueMs <= drawnMs; drawn || due < d.DueMs {
		d.DueMs = due
	}
	return d
}

// drawDigest says what a digest should show now. Its list is on disk before people see it,
// so that a person who denies what it lists denies just that.
func (g *Gate) drawDigest(ctx context.Context, d approval.Delivery) (card.Drawing, error) {
	fault.Point("before-digest-listed")
	list, err := g.store.Digest(ctx, d, maxEntries)
	if err != nil {
		return card.Drawing{}, err
	}
	fault.Point("after-digest-listed")
	first, err := g.store.Bare(ctx, d.Key)
	if err != nil {
		return card.Drawing{}, err
	}
	r, _ := d.Target.Direct()
	directory := g.people(time.Now())
	may := func(a approval.Approval) bool { return people.CouldDecide(a, r, directory) }
	if d.ForUser != "" && d.MessageID == "" && len(list.Items) > 0 && !slices.ContainsFunc(list.Items, may) {
		return card.Drawing{Skip: "the people who were to be asked can no longer decide any of it"}, nil
	}
	return card.DrawDigest(first, d, list), nil
}

// Listed gives the approvals that a version of a digest lists. The digest is the delivery
// or, if that is not known, the one of the chat that began with the approval of that code.
// CodeNotFound if there is no such list.
func (g Chats) Listed(ctx context.Context, d approval.Delivery, chat approval.Target, code string, version int64) ([]approval.Approval, error) {
	first, err := g.ByCode(ctx, code)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(first.Deliveries, func(o approval.Delivery) bool {
		there := d.ID == "" && o.Target.Normal() == chat.Normal()
		return o.Kind == approval.DigestDelivery && (o.ID == d.ID || there)
	})
	if i < 0 {
		return nil, approval.NotFound()
	}
	keys, err := g.store.DigestVersion(ctx, first.Deliveries[i], version)
	if err != nil {
		return nil, err
	}
	var all []approval.Approval
	for _, key := range keys {
		a, err := g.store.Get(ctx, key)
		if err != nil && approval.CodeOf(err) != approval.CodeNotFound { // retention may have let it go
			return nil, err
		}
		if err == nil {
			all = append(all, a)
		}
	}
	return all, nil
}
