package core

import "approvalbot/internal/approval"

// Notice is a message to one person about themselves that belongs to no approval, when a
// session was opened in their name. It goes into their own direct chat, never into a group.
type Notice struct {
	ID        string // UUID
	Target    approval.Target
	Text      string // plain text, already safe
	Session   string // id of the session that its button ends; empty: no button
	CreatedMs int64
	DueMs     int64
	Attempts  int
}
