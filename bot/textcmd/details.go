package textcmd

import (
	"context"
	"fmt"
	"strings"

	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/display"
)

// quoted is a value as details write it: of several lines, each stands behind a bar.
func quoted(f card.Fact) string {
	if f.Line() == f.Value {
		return f.Value
	}
	return "\n" + display.Bar + strings.ReplaceAll(f.Value, "\n", "\n"+display.Bar)
}

// claimed stands before what an asker says, on every line of it.
const claimed = "💬 "

// details is everything about an approval that a person may want to read twice: all of its
// card, with the whole call.
func (h *Handler) details(ctx context.Context, a approval.Approval) (string, error) {
	c, err := h.gate.Card(ctx, a)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, value)
		}
	}
	line("Request", a.Code+" ("+display.Escape(a.ID)+")")
	fmt.Fprintln(&b, c.Headline)
	for _, f := range c.Payload {
		line(f.Label(a.ToolName), quoted(f))
	}
	line("Where", c.Place.String())
	line("Risk", c.Why)
	for _, s := range c.Claims {
		fmt.Fprintln(&b, claimed+s)
	}
	line("Votes so far", c.State.Votes)
	line("Others", c.State.Also)
	line("Whole fingerprint", a.Fingerprint)
	for _, f := range c.Details {
		name := f.Name
		if !f.Own {
			name = claimed + name
		}
		line(name, f.Line())
	}
	line("Reason codes", strings.Join(a.Assessment.ReasonCodes, ", "))
	return b.String(), nil
}
