package card

import (
	"fmt"
	"strings"

	"approvalbot/internal/approval"
	"approvalbot/internal/display"
)

// maxMissing is how many chats a drill's message names at most.
const maxMissing = 10

// drillText says in a chat that a scheduled drill failed.
func drillText(a approval.Approval) string {
	lines := []string{"⚠️ The scheduled drill " + a.Code + " did not reach every chat. No card at:"}
	for _, m := range a.Missing[:min(len(a.Missing), maxMissing)] {
		lines = append(lines, "· "+Clipped(display.Escape(m), maxFact))
	}
	if more := len(a.Missing) - maxMissing; more > 0 {
		lines = append(lines, fmt.Sprintf("· and %d more", more))
	}
	return strings.Join(lines, "\n")
}
