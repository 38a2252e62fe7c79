package web

import (
	"cmp"
	"context"
	"fmt"
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
	maxHeld = 120 // a row that shows the whole call, so that it can be allowed there
	maxLine = 240 // of any other, the rest of which is in the detail
)

// row is a pending approval in the inbox, and what may be done there.
type row struct {
	Code   string
	Risk   approval.RiskClass
	Asker  string
	Call   card.Words // on one line
	Held   string     // the fingerprint of all that would run, if the row shows it all and none of it is flagged
	Reason card.Words // the strongest
	Flags  []string   // parts that its reader cannot see at once
	Votes  string
	Ends   stamp
	Mine   bool   // it waits for the person who looks
	Allow  bool   // it may be allowed once from here
	Deny   string // what the button against it says; empty: no button
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
	if reasons := reasonsOf(a, c); len(reasons) > 0 {
		r.Reason = reasons[0]
	}
	all := c.Call
	if !whole {
		all = gate.Cards().In(a, payload, v.zone).Call
	}
	line, held := oneLine(a, c, all)
	if r.Call = line; held && whole && len(r.Flags) == 0 { // look-alike letters are explained only on the page
		r.Held = a.Fingerprint
	}
	offers, deny := v.buttons(a, c, r.Held != "")
	r.Allow, r.Deny = slices.Contains(offers, approval.AllowOnce) && !core.ConfirmsTwice(a), deny
	return r, nil
}

// headlineOf is who asks for what: the first of its words names the asker. How a chat takes the answer to
// a question is not said on a page.
func headlineOf(c card.Card) card.Words {
	if len(c.Answers) > 0 {
		return append(c.Headline[:1:1], card.Word{Text: "a question"})
	}
	return c.Headline
}

// oneLine says the call of a card on one line: what it does, and each part of it; if lines are left out, it says how
// many there are in all. held reports whether the line has all of the card's call, in the form that the card has.
func oneLine(a approval.Approval, c card.Card, all []card.Block) (line card.Words, held bool) {
	headline := headlineOf(c)
	words := slices.Clone(headline[min(1, len(headline)):])
	if command := a.ToolName == "exec" || a.Form == approval.FormCommand; command && len(c.Call) > 0 && c.Call[0].Name == "" {
		words = nil // that it runs is said by what it runs
	} else if len(words) > 0 {
		words[0].Text = strings.TrimPrefix(words[0].Text, "to ")
	}
	held = true
	texts := 0
	for _, b := range c.Call {
		if len(b.Lines) > 0 {
			if texts++; texts > 1 { // one tells enough
				held = false
				continue
			}
		}
		of, whole := blockLine(b)
		if len(words) > 0 {
			words = append(words, card.Word{Text: " "})
		}
		words, held = append(words, of...), held && whole
		if more := moreLines(b, all); more != "" {
			words, held = append(words, card.Word{Text: more}), false
		}
	}
	if len(c.Place) > 0 {
		words = append(append(words, card.Word{Text: " "}), c.Place...)
	}
	room := maxLine
	for _, w := range words {
		text, cut := display.Clip(w.Text, room)
		if room -= card.CharCount(text); cut && text == "" {
			held = false
			break
		}
		line, held = append(line, card.Word{Text: text, Theirs: w.Theirs}), held && !cut
	}
	return line, held && maxLine-room <= maxHeld
}

// blockLine says a block on one line, and reports whether that is all of it: of a text the line that a reason comes
// from, else the first.
func blockLine(b card.Block) (line card.Words, whole bool) {
	if b.Kind == card.Diff {
		return nil, false
	}
	if b.Name != "" {
		line = append(line, card.Word{Text: b.Name, Theirs: !b.Own}, card.Word{Text: ": "})
	}
	for i, r := range b.Rows {
		if i > 0 {
			line = append(line, card.Word{Text: " · "})
		}
		line = append(line, card.Word{Text: r.Name, Theirs: !b.Own}, card.Word{Text: ": "}, card.Word{Text: r.Value, Theirs: true})
	}
	if len(b.Lines) == 0 {
		return line, b.Kind == card.Table && !slices.ContainsFunc(b.Rows, func(r card.Row) bool { return r.Value == "" })
	}
	at := max(0, slices.IndexFunc(b.Lines, telling))
	text := b.Lines[at].Text()
	return append(line, card.Word{Text: display.OneLine(text), Theirs: true}), display.OneLine(text) == text && b.Cut == ""
}

// moreLines describes the lines of a call that its line in a row leaves out; b is the call's first text. For changes it
// tells their size, for any other text the number of further lines.
func moreLines(b card.Block, all []card.Block) string {
	n := map[card.Sign]int{}
	for _, other := range all {
		if len(b.Lines) > 0 && other.Kind == b.Kind {
			for _, l := range other.Lines {
				n[l.Sign]++
			}
		}
	}
	switch more := n[card.Same] - 1; {
	case len(b.Lines) == 0:
		return ""
	case b.Kind == card.Diff:
		return fmt.Sprintf("+%d −%d lines", n[card.Come], n[card.Gone])
	case more == 1:
		return " … 1 more line"
	case more > 1:
		return fmt.Sprintf(" … %d more lines", more)
	case len(b.Lines) > 1 || b.Cut != "":
		return " …"
	}
	return ""
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
