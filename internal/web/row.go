package web

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/display"
	"approvalbot/internal/people"
)

// Limits of the line that says a call in a row, in characters.
const (
	maxHeld = 120 // a row that holds the whole call, and can be allowed where it is
	maxLine = 240 // of any other, the rest of which is in the detail
)

// row is a pending approval in the inbox, and what may be done there.
type row struct {
	Code   string
	Risk   approval.RiskClass
	Asker  string
	Call   card.Words // on one line
	Held   bool       // that is all that would run
	Reason string     // the strongest
	Flags  []string   // what its reader cannot see at once
	Votes  string
	Ends   stamp
	Mine   bool   // it waits for whoever looks
	Allow  bool   // it may be allowed once from here
	Deny   string // what the button against it says; empty: there is none
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
	r := row{Code: a.Code, Risk: a.Assessment.RiskClass, Asker: card.Asker(a), Flags: c.State.Flags,
		Votes: c.State.Votes, Ends: v.left(a.ExpiresAtMs), Mine: core.WaitsFor(a, v.session.Voter(), v.people)}
	if reasons := reasonsOf(a); len(reasons) > 0 {
		r.Reason = reasons[0]
	}
	r.Call, r.Held = oneLine(a, c)
	r.Held = r.Held && whole
	offers, deny := v.buttons(a, c, r.Held)
	r.Allow, r.Deny = slices.Contains(offers, approval.AllowOnce) && !core.ConfirmsTwice(a), deny
	return r, nil
}

// oneLine says the call of a card on one line: what it does, and each part of it. held reports
// whether nothing of the card's call is left out, or is shown otherwise than it is there.
func oneLine(a approval.Approval, c card.Card) (line card.Words, held bool) {
	does := slices.Clone(c.Headline[min(1, len(c.Headline)):])
	if command := a.ToolName == "exec" || a.Form == approval.FormCommand; command && len(c.Payload) > 0 && c.Payload[0].Block {
		does = nil // that it runs is said by what it runs
	} else if len(does) > 0 {
		does[0].Text = strings.TrimPrefix(does[0].Text, "to ")
	}
	held = true
	add := func(text string, theirs bool) { does = append(does, card.Word{Text: text, Theirs: theirs}) }
	for _, f := range c.Payload {
		if len(does) > 0 {
			add(" ", false)
		}
		if !f.Block {
			add(f.Name, !f.Own)
			add(" ", false)
		}
		add(f.Line(), true)
		held = held && f.Line() == f.Value && f.Value != ""
	}
	if len(c.Place) > 0 {
		add(" ", false)
		does = append(does, c.Place...)
	}
	room := maxLine
	for _, w := range does {
		text, cut := display.Clip(w.Text, room)
		if room -= card.CharCount(text); cut && text == "" {
			held = false
			break
		}
		line, held = append(line, card.Word{Text: text, Theirs: w.Theirs}), held && !cut
	}
	return line, held && maxLine-room <= maxHeld
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
