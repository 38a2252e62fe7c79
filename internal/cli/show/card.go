package show

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"approvalbot/api"
	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/display"
)

// Card writes an approval as the cards in the chats have it, in the same order and words.
// Every line that an asker wrote follows a bar, so that it cannot be taken for a line of
// the desk.
func Card(to Column, a api.Approval) {
	c, p := cardOf(a), to.Paint
	to.Own(p.Bold, display.Escape(inZone(a, c.Outcome, time.Local)))
	to.Own(p.Bold, display.Escape(c.Headline))
	to.call(c.Call)
	to.Own(p.Plain, display.Escape(c.Place))
	to.Barred(p.Plain, bar, c.Summary)
	to.Own(func(s string) string { return p.Risk(a.RiskClass, s) }, display.Escape(c.Risk))
	for _, s := range c.Claims {
		to.Barred(p.Plain, claim, s)
	}
	for _, s := range c.Warnings {
		to.Own(p.Yellow, "⚠ "+display.Escape(s))
	}
	if c.Link != "" {
		fmt.Fprintln(to.To, "  "+display.Escape(c.Link)) // whole, so that it can be copied
	}
	to.Own(p.Plain, state(a, c))
}

// Details writes what a card folds away.
func Details(to Column, a api.Approval) {
	for _, f := range cardOf(a).Details {
		text := f.Name + ": " + f.Value
		if f.Own {
			to.Own(to.Paint.Dim, display.Escape(text))
		} else {
			to.Barred(to.Paint.Dim, claim, text)
		}
	}
}

const (
	bar    = "│ " // before what an asker wrote
	onward = "┊ " // before the rest of such a line
	claim  = "💬 " // before an asker's words
)

// state is the line that tells an approval's progress.
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

// inZone writes the times of an outcome, which the desk writes in UTC, in another zone: an answer
// has one.
func inZone(a api.Approval, outcome string, zone *time.Location) string {
	times := []int64{a.ResolvedAtMs, a.RevokedAtMs, a.ClaimedAtMs, a.ClaimUntilMs}
	if a.Result != nil {
		times = append(times, a.Result.AtMs)
	}
	if a.RetryRound != nil {
		times = append(times, a.RetryRound.ExpiresAtMs)
	}
	for _, ms := range times {
		if ms != 0 {
			outcome = strings.ReplaceAll(outcome, card.TimeText(a.CreatedAtMs, ms, time.UTC), card.TimeText(a.CreatedAtMs, ms, zone))
		}
	}
	return outcome
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
