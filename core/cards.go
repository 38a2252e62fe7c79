package core

import (
	"context"
	"errors"
	"time"

	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/display"
)

// Cards are what is said of approvals, for surfaces other than chats.
type Cards struct{ gate *Gate }

// Cards gives what approvals show.
func (g *Gate) Cards() Cards { return Cards{g} }

// Payload gives the whole call as people see it: redacted and escaped. It is nil if the
// params are no longer kept, or if people may see only the fingerprint.
func (c Cards) Payload(ctx context.Context, a approval.Approval) ([]card.Fact, error) {
	if a.Hidden() {
		return nil, nil
	}
	call, err := c.gate.openInTime(ctx, a, c.gate.rules.Load())
	if approval.CodeOf(err) == approval.CodeRetryDataGone {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return card.PayloadFacts(call)
}

// Draw says what a delivery should show now. Cards that look alike are the same one, so
// callers must not change it.
func (g *Gate) Draw(ctx context.Context, d approval.Delivery) (card.Drawing, error) {
	if d.Kind == approval.DigestDelivery {
		return g.drawDigest(ctx, d)
	}
	rules := g.rules.Load()
	alike := renderKeyOf(d, rules, g.absences.Load().Revision)
	if drawing, ok := g.rendered.get(alike); ok {
		return drawing, nil
	}
	a, err := g.store.Newest(ctx, d.Key) // a card does not show the other cards
	if errors.Is(err, ErrDisbelieved) {
		return card.Drawing{Skip: "its approval was changed by a program other than the desk"}, nil
	}
	if err != nil {
		return card.Drawing{}, err
	}
	var facts []card.Fact
	if !a.Final() || d.Kind == approval.RetryAskedDelivery {
		if facts, err = g.Cards().Payload(ctx, a); err != nil {
			return card.Drawing{}, err
		}
	}
	if d.Kind == approval.UnreachedDelivery && a.Reached {
		return card.Drawing{Skip: "a card has arrived after all"}, nil
	}
	now := time.Now()
	today := g.snapshot(now)
	if lostRight(a, d, &today) {
		return card.Drawing{Skip: "the people who were to be asked can no longer decide it"}, nil
	}
	drawing := card.Draw(a, d, facts, card.Reader{People: today.People, Zone: rules.zone(d.Target), Now: now.UnixMilli(), Site: rules.Site,
		Spread: func() approval.Spread { return g.Cards().spread(ctx, a, rules) }})
	if a.Version == d.Version {
		g.rendered.put(alike, drawing)
	}
	return drawing, nil
}

// Card gives all of a card to a reader outside of a chat, with the whole call on it, of any
// length.
func (g *Gate) Card(ctx context.Context, a approval.Approval) (card.Card, error) {
	facts, err := g.Cards().Payload(ctx, a)
	return g.Cards().Of(a, facts), err
}

// Of is [Gate.Card] if the whole call is known, as Payload gives it.
func (c Cards) Of(a approval.Approval, payload []card.Fact) card.Card {
	return c.In(a, payload, time.UTC)
}

// In is [Cards.Of] with times in that zone.
func (c Cards) In(a approval.Approval, payload []card.Fact, zone *time.Location) card.Card {
	if a.Final() {
		payload = nil
	}
	now := time.Now()
	return card.Of(a, payload, card.Reader{People: c.gate.people(now), Zone: zone, Now: now.UnixMilli(),
		Site: c.gate.rules.Load().Site})
}

// Short is [Cards.In] for a list: with as much of the call as fits on a phone's
// card. whole reports whether that is all that would run.
func (c Cards) Short(a approval.Approval, payload []card.Fact, zone *time.Location) (short card.Card, whole bool) {
	short = c.In(a, payload, zone)
	known := len(payload) > 0 && !a.Final()
	return short, known && card.PlacePayload(a, &short, payload, "open it for the rest", nil) == nil
}

// Commands says what each command of the approval's line does by itself, safe to show;
// empty if that is not known.
func (c Cards) Commands(ctx context.Context, a approval.Approval) approval.CommandList {
	rules := c.gate.rules.Load()
	reader, ok := rules.Policy.(CommandReader)
	call, err := c.gate.openInTime(ctx, a, rules)
	if !ok || err != nil || a.Hidden() {
		return approval.CommandList{}
	}
	out := reader.Commands(call)
	for i := range out.Commands {
		out.Commands[i].Text = display.Safe(out.Commands[i].Text)
	}
	return out
}

// spread says on which lines of the approval's call its commands are; empty if that is not known.
func (c Cards) spread(ctx context.Context, a approval.Approval, rules *Rules) approval.Spread {
	reader, ok := rules.Policy.(CommandReader)
	call, err := c.gate.openInTime(ctx, a, rules)
	if !ok || err != nil || a.Hidden() {
		return approval.Spread{}
	}
	return reader.Spread(call)
}

// Stored gives the call of an approval, as it was asked. It is for comparing, within the
// desk: callers must not send any part of it on.
func (c Cards) Stored(ctx context.Context, key string) (tool string, params []byte, bind *approval.Bind, err error) {
	sealed, err := c.gate.store.Sealed(ctx, key)
	if err != nil {
		return "", nil, nil, err
	}
	return approval.Open(sealed)
}
