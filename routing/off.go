package routing

import (
	"context"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/card"
)

// Off is a channel that is not configured: every message to it fails for good,
// with the way out in the error.
type Off struct{ Name, WayOut string }

func (o Off) err() error {
	return &core.DeliveryError{Gone: true, Message: o.Name + " is off: " + o.WayOut}
}

// Post fails.
func (o Off) Post(context.Context, approval.Target, core.Posting) (core.Posted, error) {
	return core.Posted{}, o.err()
}

// Edit fails.
func (o Off) Edit(context.Context, approval.Target, string, card.Card) error { return o.err() }

// Attach fails.
func (o Off) Attach(context.Context, approval.Target, card.File) error { return o.err() }

// AttachParts fails.
func (o Off) AttachParts(context.Context, approval.Target, card.File) error { return o.err() }
