package core

import (
	"context"

	"approvalbot/internal/approval"
)

// Show posts the card of an approval into a chat that has none yet, also if a digest there
// lists it. If the chat has the card, Show only marks the update handled.
func (g Chats) Show(ctx context.Context, key string, place approval.Target, handled *approval.InboundRef) (approval.Approval, error) {
	return g.update(ctx, key, func(a approval.Approval) (Change, error) {
		c := Change{Approval: a, Unchanged: true, Handled: handled}
		for _, d := range a.Deliveries {
			here := d.Kind == approval.CardDelivery && d.Target.Normal() == place.Normal()
			switch {
			case here && d.InDigest() && !a.Final():
				c.Unchanged, c.Open = false, []approval.Target{place.Normal()}
				return c, nil
			case here && d.State != approval.Failed:
				return c, nil
			}
		}
		c.Unchanged = false
		c.Deliveries = []approval.Delivery{a.Delivery(approval.CardDelivery, place.Normal(), nowMs())}
		return c, nil
	})
}

// Redraw has every card of the approval drawn again.
func (g *Gate) Redraw(ctx context.Context, key string) error {
	_, err := g.update(ctx, key, func(a approval.Approval) (Change, error) {
		return Change{Approval: a, Unchanged: true, Redraw: true}, nil
	})
	return err
}

// AskReason posts the question for a deny's reason to one person in a chat.
func (g Chats) AskReason(ctx context.Context, key string, place approval.Target, replyTo, userID string) error {
	_, err := g.update(ctx, key, func(a approval.Approval) (Change, error) {
		d := a.Delivery(approval.ReasonDelivery, place.Normal(), nowMs())
		d.ReplyTo, d.ForUser = replyTo, userID
		for _, old := range a.Deliveries {
			if old.Kind == approval.ReasonDelivery && old.Target == d.Target && old.ForUser == userID {
				return Change{Approval: a, Unchanged: true}, nil
			}
		}
		return Change{Approval: a, Deliveries: []approval.Delivery{d}}, nil
	})
	return err
}
