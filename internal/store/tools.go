package store

import (
	"context"

	"approvalbot/internal/approval"
)

const (
	selectTool = `SELECT hash FROM tools WHERE owner = $1 AND server = $2 AND tool = $3`
	noteTool   = `INSERT INTO tools (owner, server, tool, hash) VALUES ($1, $2, $3, $4)
 ON CONFLICT (owner, server, tool) DO UPDATE SET hash = excluded.hash WHERE tools.hash <> excluded.hash`
)

// SeenTool gives the hash that the description of a server's tool had when a call of the
// tool was last handed out to that owner; empty: never.
func (s *Store) SeenTool(ctx context.Context, owner, server, tool string) (string, error) {
	rows, err := s.read.query(ctx, selectTool, owner, server, tool)
	if err != nil {
		return "", err
	}
	var hash text
	_, err = one(rows, &hash)
	return string(hash), err
}

// seen keeps the hash of a tool's description when a call of it is handed out.
func (t *tx) seen(tool *approval.ToolSeen) error {
	if tool == nil {
		return nil
	}
	return t.put(noteTool, tool.Owner, tool.Server, tool.Tool, tool.Hash)
}
