package store

import (
	"context"
	"errors"
	"strings"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

const (
	// By the key itself, which needs no MAC, since the approval has one, or by a row of approval_ids.
	keyNamed = `SELECT key, status, 0, '', '' FROM approvals `
	rowNamed = ` UNION ALL SELECT a.key, a.status, 1, i.owner, i.mac FROM approval_ids i JOIN approvals a
 ON a.key = i.key WHERE i.id = $1`
	keysByID      = keyNamed + `WHERE key = $1 AND id = ''` + rowNamed
	keysByOwnerID = keyNamed + `WHERE key = $1 AND id = '' AND owner || '' = $2` + rowNamed + ` AND i.owner = $2`
	keysByCode    = keyNamed + `WHERE key >= $1 AND key < $2`
	keysByPrefix  = keyNamed + `WHERE key >= $1 AND key < $2 AND id = '' ORDER BY key LIMIT 100`
)

// Get gives one approval by its key, with deliveries, or CodeNotFound.
func (s *Store) Get(ctx context.Context, key string) (approval.Approval, error) {
	a, err := s.keys.oneApproval(ctx, s.read, approvalByKey, key)
	if err != nil {
		return approval.Approval{}, err
	}
	if a == nil {
		return approval.Approval{}, notFound()
	}
	return *a, nil
}

const bareByKey = `SELECT ` + approvalColumns + ` FROM approvals a WHERE a.key = $1`

// Bare gives one approval by its key, without its deliveries, or CodeNotFound.
func (s *Store) Bare(ctx context.Context, key string) (a approval.Approval, err error) {
	rows, err := s.read.query(ctx, bareByKey, key)
	if err != nil {
		return a, err
	}
	found := false
	err = each(rows, func() error {
		var body, mac text
		if err := rows.Scan(approvalDest(&a, &body, &mac)...); err != nil {
			return err
		}
		found = true
		return s.keys.readBody(&a, body, mac)
	})
	if err == nil && !found {
		err = notFound()
	}
	if err != nil {
		return approval.Approval{}, err
	}
	return a, nil
}

const endedByKey = selectApprovals + `a.key = ANY(CAST($1 AS TEXT[])) AND a.status <> 'pending'
 ORDER BY a.key, d.created_ms, d.id`

// Ended gives those of the approvals of these keys that have ended, with deliveries, in one statement of PostgreSQL.
// If one is not believed it is a [*Disbelieved].
func (s *Store) Ended(ctx context.Context, keys []string) ([]approval.Approval, error) {
	rows, err := s.read.query(ctx, endedByKey, array(keys))
	if err != nil {
		return nil, err
	}
	all, doubted, err := s.keys.scanApprovals(rows)
	for _, not := range doubted {
		return nil, not
	}
	return all, err
}

// Keys finds approvals by name, each once. An id matches exactly, with Owner only
// that owner's. A code finds the one approval that has it.
// A prefix finds approvals whose public id is the server's own, at most 100.
func (s *Store) Keys(ctx context.Context, q core.NameQuery) ([]core.Named, error) {
	var all []core.Named
	seen := map[string]bool{}
	add := func(by, query string, args ...any) error {
		rows, err := s.read.query(ctx, query, args...)
		if err != nil {
			return err
		}
		return each(rows, func() error {
			n := core.Named{By: by}
			var row truth
			var owner, mac text
			err := rows.Scan((*text)(&n.Key), (*text)(&n.Status), &row, &owner, &mac)
			if err == nil && bool(row) && !s.keys.isName(q.ID, string(owner), n.Key, string(mac)) {
				return nil
			}
			if err == nil && !seen[n.Key] {
				seen[n.Key] = true
				all = append(all, n)
			}
			return err
		})
	}
	if q.ID != "" {
		query, args := keysByID, []any{q.ID}
		if q.Owner != "" {
			query, args = keysByOwnerID, append(args, q.Owner)
		}
		if err := add("id", query, args...); err != nil {
			return nil, err
		}
	}
	if q.Code != "" {
		first, end := core.CodeKeys(q.Code)
		if err := add("code", keysByCode, first, end); err != nil {
			return nil, err
		}
	}
	if q.Prefix != "" && strings.Trim(q.Prefix, "0123456789abcdef-") == "" {
		// Keys are hex digits and dashes: "g" comes after all that follow the prefix.
		if err := add("prefix", keysByPrefix, q.Prefix, q.Prefix+"g"); err != nil {
			return nil, err
		}
	}
	return all, nil
}

const dueApprovals = `SELECT key, timer_ms FROM approvals WHERE timer_ms IS NOT NULL
 ORDER BY timer_ms, key LIMIT CAST($1 AS BIGINT)`

const clearTimer = `UPDATE approvals SET timer_ms = NULL WHERE key = $1`

// Due gives the keys of at most limit approvals whose timer is at or
// before now, earliest first, and the time of the first one that it did not give
// (which is not after now when limit cut the list short; 0: there is none). The timers of
// those that are not believed are cleared: nothing is to be done for them.
func (s *Store) Due(ctx context.Context, now int64, limit int) (keys []string, next int64, err error) {
	if keys, next, err = s.dueKeys(ctx, now, limit); err != nil {
		return nil, 0, err
	}
	var doubtful []string
	for _, key := range keys {
		_, err := s.Bare(ctx, key)
		if _, is := errors.AsType[*Disbelieved](err); is {
			doubtful = append(doubtful, key)
		}
	}
	if doubtful == nil {
		return keys, next, nil
	}
	err = s.do(ctx, func(t *tx) error {
		for _, key := range doubtful {
			if err := t.put(clearTimer, key); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	return s.Due(ctx, now, limit)
}

func (s *Store) dueKeys(ctx context.Context, now int64, limit int) (keys []string, next int64, err error) {
	rows, err := s.read.query(ctx, dueApprovals, limit+1)
	if err != nil {
		return nil, 0, err
	}
	err = each(rows, func() error {
		var key text
		var at number
		if err := rows.Scan(&key, &at); err != nil {
			return err
		}
		if int64(at) <= now && len(keys) < limit {
			keys = append(keys, string(key))
		} else if next == 0 {
			next = int64(at)
		}
		return nil
	})
	return keys, next, err
}

// Seed gives secret key material that signing keys are derived from. It comes
// from the key file and tells nothing of the key that calls are sealed with.
func (s *Store) Seed() [32]byte { return s.keys.seed }

// Sealed gives the canonical call that was sealed under key: CodeRetryDataGone
// when it was deleted, CodeNotFound when there is no such approval.
func (s *Store) Sealed(ctx context.Context, key string) ([]byte, error) {
	rows, err := s.read.query(ctx, `SELECT sealed FROM approvals WHERE key = $1`, key)
	if err != nil {
		return nil, err
	}
	var value text
	found, err := one(rows, &value)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, notFound()
	case value == "":
		return nil, approval.Refuse(approval.CodeRetryDataGone, "The desk no longer keeps the arguments of this call.")
	}
	return s.keys.open(key, string(value))
}

// Newest is [Store.Bare] for a drawing: if this process alone writes, it may give the approval as it was
// committed last, without a look at the row. Nothing may be allowed by it.
func (s *Store) Newest(ctx context.Context, key string) (approval.Approval, error) {
	if a := s.written.of(key); a != nil && ctx.Err() == nil {
		return *a, nil
	}
	return s.Bare(ctx, key)
}
