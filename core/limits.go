package core

import "approvalbot/internal/display"

// Limits on what a caller sends, in bytes unless named otherwise.
const (
	MaxParams        = 1 << 20
	maxToolName      = 128
	maxName          = 256 // agentId, sessionKey, context fields
	maxText          = 2000
	maxDescription   = 4000
	maxShellLine     = 128 << 10
	maxResultSummary = 2000
	maxReason        = 500 // characters
)

// cleanText redacts, unbreaks and cuts what a person or program said.
func cleanText(s string, limit int) string {
	s, _ = display.Clip(display.Redact(s), limit)
	return s
}
