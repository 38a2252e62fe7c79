package core

import (
	"context"
	"fmt"
	"slices"
	"time"

	"approvalbot/internal/display"
	"approvalbot/internal/fault"
)

// A digest is one message in place of many cards: under a flood of one owner's, and as
// the sum-up of what waited for the end of a person's quiet hours. It lists what waits;
// from there a card is opened, or all that is listed is denied. Nothing can be allowed
// but on an approval's own card. Its delivery is one of the first approval that was
// folded into it; the others name that approval in Delivery.Digest.

// FloodMs is the time in which an owner's cards are counted.
const FloodMs = 60 * 1000

const (
	// DigestTakesMs is for how long a digest takes further cards: an edit notifies nobody, so
	// who asks much for longer is said again in a new message.
	DigestTakesMs = 10 * 60 * 1000

	digestGatherMs = 1000      // what comes at once goes into one drawing
	digestRestMs   = 10 * 1000 // between two drawings while it grows: a chat's pace is for its cards
	digestEndedMs  = 4 * 1000  // and when what it lists ends, or is opened

	maxEntries = 20 // of a list: what each platform has buttons for
)

// maxEntryLine is how many characters of a card's first line a digest shows.
const maxEntryLine = 70

// Digest is what a digest shows. Every text is safe to show and has no line breaks.
type Digest struct {
	Code    string // with Version it names the list to whoever denies it
	Version int64
	Title   string
	Entries []DigestEntry // riskiest first, then oldest
	More    int           // how many wait beside those
}

// DigestEntry is a line of a digest.
type DigestEntry struct {
	Code string
	Risk RiskClass
	Text string // the beginning of the card's first line
}

// DigestList is what a digest lists.
type DigestList struct {
	Version int64
	Items   []Approval // pending, without deliveries; riskiest first, then oldest
	Total   int        // how many wait, with those that there is no room for
}

// firstCard is a new approval's card at a place for which so many of its owner's cards
// were made lately. R4 has a card of its own, always; a drill tries the way of cards.
func (a Approval) firstCard(place Target, cards, digestAbove int, now int64) Delivery {
	flood := digestAbove > 0 && cards >= digestAbove
	if own := a.Assessment.RiskClass >= R4 || a.Drill(); flood && !own {
		return a.folded(place, "", now)
	}
	return a.delivery(CardDelivery, place, now)
}

// furtherCard is a card at a place that is asked later: folded as those before it.
func (a Approval) furtherCard(place Target, now int64) Delivery {
	folded := slices.ContainsFunc(a.Deliveries, func(d Delivery) bool { return d.Digest != "" && d.ForUser == "" })
	if folded && a.Assessment.RiskClass < R4 {
		return a.folded(place, "", now)
	}
	return a.delivery(CardDelivery, place, now)
}

// folded is a card that goes into its place's digest. For a person's sum-up forUser is
// that person, and the place their own.
func (a Approval) folded(place Target, forUser string, now int64) Delivery {
	d := a.delivery(CardDelivery, place, now)
	d.State, d.DueMs, d.ForUser = Folded, 0, forUser
	return d
}

// InDigest reports whether the card is one that a digest lists in its stead.
func (d Delivery) InDigest() bool { return d.State == Folded || d.State == Listed }

// outgrown gives the places whose digests an approval has become too risky for.
func (a Approval) outgrown(was Approval) (places []Target) {
	if a.Assessment.RiskClass < R4 || was.Assessment.RiskClass >= R4 {
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
func NewDigest(card Delivery, now int64) Delivery {
	return Delivery{
		Key: card.Key, Kind: DigestDelivery, Target: card.Target, ForUser: card.ForUser, Silent: card.Silent, State: Queued,
		DueMs: now + digestGatherMs, Rank: card.Rank, CreatedMs: now,
	}
}

// Raised is a digest whose list has changed, and that was last drawn at that time.
func (d Delivery) Raised(drawnMs, now int64, grew bool) Delivery {
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

// drawDigest says what a digest should show now. Its list is on disk before anybody
// sees it, so that who denies what it lists denies just that.
func (g *Gate) drawDigest(ctx context.Context, d Delivery) (Drawing, error) {
	fault.Point("before-digest-listed")
	list, err := g.store.Digest(ctx, d, maxEntries)
	if err != nil {
		return Drawing{}, err
	}
	fault.Point("after-digest-listed")
	first, err := g.store.Bare(ctx, d.Key)
	if err != nil {
		return Drawing{}, err
	}
	r, _ := d.Target.direct()
	people := g.people(time.Now())
	may := func(a Approval) bool { return a.couldDecide(r, people) }
	if d.ForUser != "" && d.MessageID == "" && len(list.Items) > 0 && !slices.ContainsFunc(list.Items, may) {
		return Drawing{Skip: "who was to be asked could not decide any of it any more"}, nil
	}
	return first.drawDigest(d, list), nil
}

// drawDigest is [Gate.drawDigest] for the digest that began with this approval.
func (a Approval) drawDigest(d Delivery, list DigestList) Drawing {
	if list.Total == 0 && d.MessageID == "" {
		return Drawing{Skip: "all of it ended before it could be shown"}
	}
	digest := Digest{
		Code: a.Code, Version: list.Version, Title: a.digestTitle(d, list.Total), More: list.Total - len(list.Items),
	}
	bare := digest
	for _, x := range list.Items {
		e := DigestEntry{Code: x.Code, Risk: x.Assessment.RiskClass, Text: entryLine(x)}
		digest.Entries = append(digest.Entries, e)
		e.Text = "a call that cannot be shown in this chat"
		bare.Entries = append(bare.Entries, e)
	}
	card := func(x *Digest) *Card { return &Card{Code: a.Code, Status: Pending, Headline: own(x.Title), Digest: x} }
	return Drawing{Card: card(&digest), Bare: card(&bare), Done: list.Total == 0}
}

// digestTitle says what a digest is.
func (a Approval) digestTitle(d Delivery, waiting int) string {
	requests, wait := "requests", "wait"
	if waiting == 1 {
		requests, wait = "request", "waits"
	}
	switch {
	case waiting == 0:
		return "Nothing of this list waits any more."
	case d.ForUser != "":
		return fmt.Sprintf("%d %s waited for the end of your quiet hours", waiting, requests)
	}
	owner := clipped(display.Safe(a.Owner), maxPlace)
	return fmt.Sprintf("%s asks much at once: %d more %s %s", owner, waiting, requests, wait)
}

// entryLine is how a card begins, for a list.
func entryLine(a Approval) string { return clipped(a.Headline(), maxEntryLine) }

// Listed gives the approvals that a version of a digest lists. The digest is the
// delivery, or where that is not known, the one of the chat that began with the approval
// of that code. CodeNotFound when there is no such list.
func (g *Gate) Listed(ctx context.Context, d Delivery, chat Target, code string, version int64) ([]Approval, error) {
	first, err := g.ByCode(ctx, code)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(first.Deliveries, func(o Delivery) bool {
		there := d.ID == "" && o.Target.Normal() == chat.Normal()
		return o.Kind == DigestDelivery && (o.ID == d.ID || there)
	})
	if i < 0 {
		return nil, notFound()
	}
	keys, err := g.store.DigestVersion(ctx, first.Deliveries[i], version)
	if err != nil {
		return nil, err
	}
	var all []Approval
	for _, key := range keys {
		a, err := g.store.Get(ctx, key)
		if err != nil && CodeOf(err) != CodeNotFound { // retention may have let it go
			return nil, err
		}
		if err == nil {
			all = append(all, a)
		}
	}
	return all, nil
}
