package web

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/people"
)

// row is a pending approval in the inbox: its card, and what may be done there.
type row struct {
	card.Card
	Call    []part
	Mine    bool   // it waits for whoever looks
	Whole   bool   // all that would run is in the row
	Allow   bool   // it may be allowed once from here
	Confirm bool   // it may be allowed once, and its own page asks twice
	Deny    string // what the button against it says; empty: there is none
}

// buttons are those that a person has on an approval whose whole call they were
// shown, or were not.
func (v reader) buttons(a approval.Approval, c card.Card, whole bool) (offers []approval.Decision, deny string) {
	voter := v.people.Identify(v.session.Voter())
	switch {
	case a.Final():
		return nil, ""
	case people.MayNotDecide(a, voter, v.people):
		return nil, "Withdraw"
	case !people.MayBeDecidedBy(a, voter, v.people):
		return nil, ""
	case !whole, a.Rule.StepUp: // a yes is signed on a page of its own
		return nil, "Deny"
	}
	return c.Offers, "Deny"
}

// drawRow draws one approval of the inbox.
func drawRow(ctx context.Context, gate *core.Gate, v reader, a approval.Approval) (row, error) {
	payload, err := gate.Cards().Payload(ctx, a)
	if err != nil {
		return row{}, err
	}
	c, whole := gate.Cards().Short(a, payload, v.zone)
	call, _ := parts(a, c.Payload)
	r := row{Card: c, Call: call, Whole: whole, Mine: core.WaitsFor(a, v.session.Voter(), v.people)}
	offers, deny := v.buttons(a, c, whole)
	allow := slices.Contains(offers, approval.AllowOnce)
	r.Confirm = allow && core.ConfirmsTwice(a)
	r.Allow, r.Deny = allow && !r.Confirm, deny
	return r, nil
}

// byUrgency puts what waits for the person first: the riskiest, then what ends soonest.
func (v reader) byUrgency(all []approval.Approval) (mine int) {
	waits := make(map[string]bool, len(all))
	for _, a := range all {
		if core.WaitsFor(a, v.session.Voter(), v.people) {
			waits[a.Key] = true
		}
	}
	slices.SortStableFunc(all, func(a, b approval.Approval) int {
		if waits[a.Key] != waits[b.Key] {
			if waits[a.Key] {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(b.Assessment.RiskClass, a.Assessment.RiskClass), cmp.Compare(a.ExpiresAtMs, b.ExpiresAtMs))
	})
	return len(waits)
}

// riskIcons are the colours of the classes, as cards have them.
var riskIcons = sync.OnceValue(func() map[string]string {
	return map[string]string{"R0": "🟩", "R1": "🟦", "R2": "🟨", "R3": "🟧", "R4": "🟥"}
})
