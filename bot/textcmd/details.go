package textcmd

import (
	"context"
	"fmt"
	"strings"

	"approvalbot/core"
	"approvalbot/display"
)

// quoted is a value as details write it: of several lines, each stands behind a bar.
func quoted(f core.Fact) string {
	if f.Line() == f.Value {
		return f.Value
	}
	return "\n" + bar + strings.ReplaceAll(f.Value, "\n", "\n"+bar)
}

// bar stands before each line of what an asker wrote in several.
const bar = "│ "

// needs says whose yes an approval needs.
func needs(r core.Rule) string {
	var all []string
	if r.AsksApprovers() {
		all = append(all, fmt.Sprintf("%d approval(s)", max(1, r.MinApprovals)))
	}
	if r.AsksVerifier() {
		all = append(all, "1 of the verifier's people")
	}
	return strings.Join(all, " and ")
}

// details is everything about an approval that a person may want to read twice.
func (h *Handler) details(ctx context.Context, a core.Approval) (string, error) {
	facts, err := h.gate.Payload(ctx, a)
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
	line("Tool", display.Escape(a.ToolName))
	for _, f := range facts {
		line(f.Label(a.ToolName), quoted(f))
	}
	line("Fingerprint", a.Fingerprint)
	line("Risk", a.Assessment.RiskClass.String()+", "+a.Assessment.RiskClass.Text())
	line("Reason codes", strings.Join(a.Assessment.ReasonCodes, ", "))
	line("Needs", needs(a.Rule))
	line("Votes so far", a.TallyText(h.gate.Rules().People))
	line("Asked by token", display.Escape(a.Owner))
	line("Policy", a.PolicyHash[:min(12, len(a.PolicyHash))])
	return b.String(), nil
}
