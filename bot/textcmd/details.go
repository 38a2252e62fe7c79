package textcmd

import (
	"context"
	"fmt"
	"strings"

	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/display"
)

// claimed begins every line of an asker's words.
const claimed = "💬 "

// details is the text of all that a person may want to read twice about an approval: all
// of its card, with the whole call.
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
	b.WriteString(strings.TrimPrefix(card.Spelled(c.Call, a.ToolName), "\n"))
	line("Where", c.Place.String())
	line("Risk", c.RiskLine().String())
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
