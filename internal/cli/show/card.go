package show

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"approvalbot/api"
	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/display"
)

// Card writes an approval as the cards in the chats have it, in the same order and words.
// Whatever an asker wrote stands behind a bar, on every line of it, so that nothing of it
// can be taken for a line of the desk.
func Card(w io.Writer, p Paint, a api.Approval) {
	c := cardOf(a)
	line := func(s string) {
		if s != "" {
			fmt.Fprintln(w, s)
		}
	}
	line(p.Bold(display.Escape(c.Outcome)))
	line(p.Bold(display.Escape(c.Headline)))
	for _, f := range c.Call {
		text := f.Value
		if !f.Block {
			text = f.Name + ": " + f.Value
		}
		barred(w, bar, text)
	}
	line(display.Escape(c.Place))
	barred(w, bar, c.Summary)
	line(p.Risk(a.RiskClass, display.Escape(c.Risk)))
	for _, s := range c.Claims {
		barred(w, claim, s)
	}
	for _, s := range c.Warnings {
		line(p.With("33", "⚠ "+display.Escape(s)))
	}
	if c.Link != "" {
		line("  " + display.Escape(c.Link))
	}
	line(state(a, c))
}

// Details writes what a card folds away.
func Details(w io.Writer, p Paint, a api.Approval) {
	for _, f := range cardOf(a).Details {
		mark := ""
		if !f.Own {
			mark = claim
		}
		fmt.Fprintln(w, p.Dim(mark+display.Escape(f.Name+": "+f.Value)))
	}
}

const (
	bar   = "│ " // before what an asker wrote
	claim = "💬 " // before what an asker says of it
	wide  = 76   // characters of such a line
)

// state is the line that says how far an approval is.
func state(a api.Approval, c *api.Card) string {
	var parts []string
	if len(c.Flags) > 0 {
		parts = append(parts, "⚠ "+display.Escape(strings.Join(c.Flags, ", ")))
	}
	if c.Votes != "" {
		parts = append(parts, display.Escape(c.Votes))
	}
	if !a.Status.Final() {
		parts = append(parts, card.UntilText(a.ExpiresAtMs, time.Local, time.Now().UnixMilli()))
	}
	return strings.Join(append(parts, display.Escape(a.Code)), " · ")
}

// barred writes a text behind a mark, on every line that it takes.
func barred(w io.Writer, mark, text string) {
	if text == "" {
		return
	}
	for line := range strings.SplitSeq(display.EscapeBlock(text), "\n") {
		runes := []rune(line)
		for first := true; first || len(runes) > 0; first = false {
			n := min(len(runes), wide)
			fmt.Fprintln(w, mark+string(runes[:n]))
			runes = runes[n:]
		}
	}
}

// cardOf is the card that the desk gives to who may decide; for others one of what they
// know of a call themselves.
func cardOf(a api.Approval) *api.Card {
	if a.Card != nil {
		return a.Card
	}
	c := &api.Card{Risk: Risk(a.RiskClass), Votes: Votes(a)}
	if a.Status.Final() {
		c.Outcome = Ending(a)
	}
	c.Headline = cmp.Or(a.Owner, "somebody") + " asks for " + a.ToolName
	c.Call = []api.CardFact{{Name: "call", Value: cmp.Or(a.ParamsSummary, "no parameters"), Block: true}}
	if a.Justification != "" {
		c.Claims = []string{"claimed: “" + a.Justification + "”"}
	}
	if f := a.From; f != nil {
		c.Claims = append(c.Claims, card.FromText(approval.AskedFrom(*f)))
	}
	return c
}
