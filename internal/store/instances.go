package store

import "context"

// Instance is a program that runs on this database.
type Instance struct {
	ID         string
	Version    string // of the program
	Schema     int64  // that the program knows
	PolicyHash string // empty: it has not said yet
	KeyID      string // names the key it seals with
	StartedMs  int64  // by the database's clock, like the next
	SeenMs     int64
}

const (
	// databaseTime is the one clock that all instances share.
	databaseTime  = `CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)`
	liveInstances = `SELECT id, version, schema_no, policy_hash, key_id, started_ms, seen_ms FROM instances
 WHERE seen_ms > ` + databaseTime + ` - $1 ORDER BY started_ms, id`
)

func readInstances(ctx context.Context, q querier) ([]Instance, error) {
	rows, err := q.query(ctx, liveInstances, leaseMs)
	if err != nil {
		return nil, err
	}
	var all []Instance
	err = each(rows, func() error {
		var i Instance
		err := rows.Scan((*text)(&i.ID), (*text)(&i.Version), (*number)(&i.Schema), (*text)(&i.PolicyHash),
			(*text)(&i.KeyID), (*number)(&i.StartedMs), (*number)(&i.SeenMs))
		all = append(all, i)
		return err
	})
	return all, err
}

// show writes that this instance lives, and which lock it holds.
func (t *tx) show(s *Store, lock int64) error {
	_, err := t.exec(showSelf, s.heartbeat.id, s.version, s.schema, s.heartbeat.policyHash(), t.keys.id, lock)
	return err
}

const showSelf = `INSERT INTO instances (id, started_ms, seen_ms, version, schema_no, policy_hash, key_id, lock_no)
 VALUES ($1, ` + databaseTime + `, ` + databaseTime + `, $2, $3, $4, $5, $6)
 ON CONFLICT (id) DO UPDATE SET seen_ms = excluded.seen_ms, policy_hash = excluded.policy_hash, lock_no = excluded.lock_no`
