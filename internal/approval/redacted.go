package approval

import "approvalbot/internal/display"

// An asker chooses the ids of its agent and its session, and some ids contain a secret. The
// store keeps them as they came, because calls and grants are matched by them; the log and all
// other readers get them without the secret. Ids of requesters and chats are numbers and names
// that the configuration knows.

// Redacted is the approval with its asker's ids as everyone may read them.
func (a Approval) Redacted() Approval {
	a.AgentID, a.SessionKey = display.Redact(a.AgentID), display.Redact(a.SessionKey)
	return a
}

// SeenBy is the approval as the holder of a token may read it: raw for the one that asked.
func (a Approval) SeenBy(token string) Approval {
	if token == a.Owner {
		return a
	}
	return a.Redacted()
}

// Redacted is the grant with its asker's ids as everyone may read them.
func (g Grant) Redacted() Grant {
	g.AgentID, g.SessionKey = display.Redact(g.AgentID), display.Redact(g.SessionKey)
	return g
}
