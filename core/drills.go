package core

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"approvalbot/internal/approval"
)

// DrillOwner asks for scheduled drills. No token may be called so.
const DrillOwner = "desk:drills"

// DrillTime is how long a scheduled drill waits for its cards and for a tap.
const DrillTime = 10 * time.Minute

// drillGrace is how much later a drill expires if it was not ended in time.
const drillGrace = time.Minute

// Drills is the Gate for callers that try routes: it begins drills, and notes how they
// went.
type Drills struct{ *Gate }

// Drills gives what is for drills.
func (g *Gate) Drills() Drills { return Drills{g} }

// Drill begins the drill that was scheduled for that time, or finds it: there is one for
// each time, also if several callers ask for it or ask often.
func (g Drills) Drill(ctx context.Context, at time.Time) (approval.Approval, error) {
	when := at.UTC().Format("20060102T1504Z")
	a, _, err := g.Submit(ctx, Caller{Token: DrillOwner, MayRequest: true}, approval.Call{
		ID: "drill-" + when, ToolName: approval.DrillTool, TimeoutMs: (DrillTime + drillGrace).Milliseconds(),
		Params:        fmt.Appendf(nil, `{"drill":true,"note":"Nothing will run, whatever you decide.","scheduled":%q}`, when),
		Justification: "A scheduled drill: tap any button, so that the way back is tried too.",
	})
	return a, err
}

// EndDrill notes how a scheduled drill went, and withdraws it if it is pending. If a chat
// got no card, the fallback chats are told; if no fallback chat got a card either, every
// chat that got one is told. Doing it again has no further effect.
func (g Drills) EndDrill(ctx context.Context, key string) (approval.Approval, error) {
	fallback := g.rules.Load().Router.Route(approval.Approval{}).Fallback
	return g.update(ctx, key, func(a approval.Approval) (Change, error) { return endDrill(a, fallback, nowMs()), nil })
}

// LastDrill gives the newest scheduled drill that has been ended; false if there is no such
// drill.
func (g Drills) LastDrill(ctx context.Context) (approval.Approval, bool, error) {
	page, err := g.store.List(ctx, Filter{Owner: DrillOwner, Limit: 3}) // one may be under way
	i := slices.IndexFunc(page.Items, func(a approval.Approval) bool { return a.DrilledAtMs != 0 })
	if err != nil || i < 0 {
		return approval.Approval{}, false, err
	}
	return page.Items[i], true, nil
}

func endDrill(a approval.Approval, fallback []approval.Target, now int64) Change {
	if a.DrilledAtMs != 0 {
		return Change{Approval: a, Unchanged: true}
	}
	missing, reached := drillCards(a)
	c := Change{Approval: a.Clone()}
	if !a.Final() {
		c = withdraw(a, DrillOwner, "the drill is over", now)
	}
	c.Approval.DrilledAtMs, c.Approval.Missing = now, missing
	c.Events = append(c.Events, c.Approval.Event(approval.EventDrilled, now, approval.EventData{Why: strings.Join(missing, "; ")}))
	if len(missing) == 0 {
		return c
	}
	for _, t := range drillNews(fallback, reached) {
		c.Deliveries = append(c.Deliveries, a.Delivery(approval.DrillDelivery, t, now))
	}
	return c
}

// drillCards gives the chats that got no card, each with why, and those that did.
func drillCards(a approval.Approval) (missing []string, reached []approval.Target) {
	cards := 0
	for _, d := range a.Deliveries {
		if d.Kind != approval.CardDelivery {
			continue
		}
		cards++
		switch {
		case d.MessageID != "" && d.State != approval.Failed:
			reached = append(reached, d.Target.Normal())
		case d.Error != "":
			missing = append(missing, d.Target.String()+": "+d.Error)
		default:
			missing = append(missing, d.Target.String()+": no card came in time")
		}
	}
	switch {
	case cards == 0 && a.Reason != "":
		missing = []string{"no chat was asked: " + a.Reason}
	case cards == 0:
		missing = []string{"no chat was asked: approvals.tools.routing names no target"}
	}
	return missing, reached
}

// drillNews are the chats that hear of a drill that failed.
func drillNews(fallback, reached []approval.Target) []approval.Target {
	worked := func(t approval.Target) bool { return slices.Contains(reached, t.Normal()) }
	if slices.ContainsFunc(fallback, worked) {
		return fallback
	}
	return append(slices.Clone(fallback), reached...)
}
