package approval

// CoolsDown reports whether the very same call is refused unasked, by a person's deny of this approval. No
// drill is asked twice.
func (a Approval) CoolsDown(now int64) bool {
	return a.Final() && now < a.CoolsUntilMs && a.ToolName != DrillTool
}
