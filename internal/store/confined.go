package store

import (
	"context"

	"approvalbot/core"
)

const (
	selectTried = `SELECT approval FROM confined_runs WHERE owner = $1 AND agent_id = $2 AND fingerprint = $3 AND until_ms > $4`
	noteTried   = `INSERT INTO confined_runs (owner, agent_id, fingerprint, approval, until_ms) VALUES ($1, $2, $3, $4, $5)
 ON CONFLICT (owner, agent_id, fingerprint) DO UPDATE SET approval = excluded.approval, until_ms = excluded.until_ms`
	sweepTried = `DELETE FROM confined_runs WHERE (owner, agent_id, fingerprint) IN (SELECT owner, agent_id, fingerprint
 FROM confined_runs WHERE until_ms <= $1 LIMIT $2)`
)

// TriedConfined implements core.CallStore.
func (s *Store) TriedConfined(ctx context.Context, owner, agentID, fingerprint string, nowMs int64) (string, error) {
	rows, err := s.read.query(ctx, selectTried, owner, agentID, fingerprint, nowMs)
	if err != nil {
		return "", err
	}
	var key text
	_, err = one(rows, &key)
	return string(key), err
}

// tried keeps that the call failed confined.
func (t *tx) tried(c core.Change) error {
	if c.TriedUntilMs == 0 {
		return nil
	}
	a := c.Approval
	return t.put(noteTried, a.Owner, a.AgentID, a.Fingerprint, a.Key, c.TriedUntilMs)
}
