package approval

import "approvalbot/internal/display"

// Limits on what a caller sends, in bytes unless named otherwise.
const (
	MaxParams        = 1 << 20
	maxToolName      = 128
	MaxName          = 256 // agentId, sessionKey, context fields
	maxText          = 2000
	maxDescription   = 4000
	maxShellLine     = 128 << 10
	MaxResultSummary = 2000
	MaxReason        = 500 // characters
)

// CleanText redacts, unbreaks and cuts what a person or program said.
func CleanText(s string, limit int) string {
	s, _ = display.Clip(display.Redact(s), limit)
	return s
}
