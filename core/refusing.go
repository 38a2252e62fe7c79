package core

import (
	"context"
	"time"

	"approvalbot/internal/approval"
)

// Refused puts an attempt that never reached an approval on record (a forged
// payload, a stranger's listing) and marks its platform update handled.
func (g Chats) Refused(ctx context.Context, v approval.Voter, what string, handled *approval.InboundRef) error {
	by := g.people(time.Now()).Identify(v).Name()
	return g.refusals.Append(ctx, handled, RefusedEvent(by, what))
}

// Forbidden puts on record, if err is CodeForbidden, that a token was refused what it has no
// right to: what names the route or method. The attempt is on record also if its caller has gone.
func (g *Gate) Forbidden(ctx context.Context, who Caller, what string, err error) {
	if approval.CodeOf(err) != approval.CodeForbidden {
		return
	}
	e := RefusedEvent("token:"+who.Token, "forbidden: "+what)
	if err := g.refusals.Append(context.WithoutCancel(ctx), nil, e); err != nil {
		g.log.Error("could not record that a request of a token was refused; the audit log lacks this refusal",
			"token", who.Token, "what", what, "reason", err)
	}
}

// Handled marks a platform update done that caused no change.
func (g Chats) Handled(ctx context.Context, ref approval.InboundRef) error {
	return g.store.Append(ctx, &ref)
}

// Refusals are those of the steps and of sign-in, which are bounded together.
func (g *Gate) Refusals() *Refusals { return g.refusals }

// Run puts on record, until ctx ends and once then, how many refusals were not recorded
// one by one.
func (g *Gate) Run(ctx context.Context) error {
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			g.tellRefusals(ctx, false)
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
			defer cancel()
			g.tellRefusals(last, true)
			return nil
		}
	}
}

func (g *Gate) tellRefusals(ctx context.Context, all bool) {
	events := g.refusals.over(all)
	if len(events) == 0 {
		return
	}
	if err := g.store.Append(ctx, nil, events...); err != nil {
		g.log.Error("could not record how many further attempts were refused; the audit log has only the first 30 "+
			"per minute for each person, token or address",
			"refusers", len(events), "reason", err)
	}
}
