package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// retries of a change that another instance outran.
const retries = 10

const (
	approvalByID = selectApprovals + `a.key = (` + keyOfID + ` LIMIT 1)` + deliveriesInOrder
	// keyOfID: an id is the key itself or is listed in approval_ids, never both. The
	// empty text keeps PostgreSQL from walking all that the owner ever asked, which it
	// takes for short until it has counted.
	keyOfID = `SELECT key FROM approvals WHERE key = $1 AND id = '' AND owner || '' = $2
 UNION ALL SELECT key FROM approval_ids WHERE id = $1 AND owner = $2`
	// meaningOf is keyOfID with the MAC of the row that says so.
	meaningOf = `SELECT key, 0, '' FROM approvals WHERE key = $1 AND id = '' AND owner || '' = $2
 UNION ALL SELECT key, 1, mac FROM approval_ids WHERE id = $1 AND owner = $2`
	oneBetween = `SELECT key FROM approvals WHERE key >= $1 AND key < $2 LIMIT 1`
	// The empty texts keep it to the small index of pending ones.
	keysOfSame = `SELECT key, created_ms FROM approvals
 WHERE owner = $1 AND fingerprint = $2 AND status = 'pending' AND agent_id || '' = $3 AND session_key || '' = $4
 AND session_key <> ''`
	// What is approved and unclaimed is kept from the end of its time to be claimed on,
	// and that lies ahead: of all rows only a few. The empty texts keep SQLite from
	// walking all that the owner or the session ever asked.
	keysUnclaimed = `SELECT key, created_ms FROM approvals
 WHERE kept_ms > 0 AND kept_ms > $5 AND status = 'approved'
 AND owner || '' = $1 AND fingerprint = $2 AND agent_id || '' = $3 AND session_key || '' = $4 AND session_key <> ''`
	countPending = `SELECT pending FROM owners WHERE owner = $1`
)

// Create looks up what a new approval could collide with, calls fn with it, and
// commits the changes that fn returns, all together or not at all. Changes that are not
// New must be of approvals that still are as Existing showed them. The approvals of the
// slice that fn returned are then as they were committed, with deliveries. If another
// approval, of any status, has the code of a new one, Create returns ErrCodeTaken.
func (s *Store) Create(ctx context.Context, look core.Lookup, fn func(core.Existing) ([]core.Change, error)) error {
	return s.doOn(ctx, locksOf(look), func(t *tx) error {
		return t.again(func() error {
			found, err := t.lookup(look)
			if err != nil {
				return err
			}
			changes, err := fn(found)
			if t.refused = err != nil; t.refused {
				return err
			}
			for i, c := range changes {
				if changes[i].Approval, err = t.applyTo(found, c); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// applyTo applies one of Create's changes to the approval it was made from.
func (t *tx) applyTo(found core.Existing, c core.Change) (approval.Approval, error) {
	if c.New {
		return t.apply(nil, c)
	}
	for _, a := range []*approval.Approval{found.ByID, found.Superseded} {
		if a != nil && a.Key == c.Approval.Key {
			return t.apply(a, c)
		}
	}
	for _, a := range slices.Concat(found.Same, found.Unclaimed) {
		if a.Key == c.Approval.Key {
			return t.apply(&a, c)
		}
	}
	return approval.Approval{}, fmt.Errorf("a change was made for approval %s, which was not read before; this is an "+
		"error in approvalbot; please report it",
		c.Approval.Key)
}

// again repeats a job's work as long as another instance is faster.
func (t *tx) again(work func() error) error {
	err := work()
	for range retries {
		if !errors.Is(err, errStale) {
			return err
		}
		if err := t.undo(); err != nil {
			return err
		}
		err = work()
	}
	return err
}

// Update loads the approval of that key, calls fn with it, and commits the
// change. It gives the approval as committed, with its deliveries. A change that
// is Unchanged leaves the approval as it was, version and timer included;
// everything else in it is still written. If the platform update that it handles was
// handled before, by another instance, Update writes no row and returns
// CodeAlreadyResolved.
func (s *Store) Update(
	ctx context.Context, key string, fn func(approval.Approval) (core.Change, error),
) (approval.Approval, error) {
	var after approval.Approval
	on := locks{approval: key, policy: countsOnPolicy, reads: []read{{text: readPolicy}, {text: countAbsences}, byKey(key),
		outcomeOf(key)}}
	err := s.doOn(ctx, on, func(t *tx) error {
		return t.again(func() error {
			before, err := t.approval(approvalByKey, key)
			if err != nil {
				return err
			}
			if before == nil {
				return notFound()
			}
			c, err := fn(*before)
			if t.refused = err != nil; t.refused {
				return err
			}
			if c.New || c.Approval.Key != key {
				return fmt.Errorf("a change of approval %s contains approval %q; this is an error in approvalbot; "+
					"please report it", key, c.Approval.Key)
			}
			after, err = t.apply(before, c)
			return err
		})
	})
	if err != nil {
		return approval.Approval{}, err
	}
	return after, nil
}

// Append adds events to the log and marks the platform update handled (if not
// nil), in one transaction, without changing any approval. Events of an update that
// was handled before are in the log already, and are not added.
func (s *Store) Append(ctx context.Context, handled *approval.InboundRef, events ...approval.Event) error {
	return s.do(ctx, func(t *tx) error {
		fresh, err := t.handled(handled)
		if err == nil && fresh {
			t.own.events = append(t.own.events, events...)
		}
		return err
	})
}

// lookup finds what a new approval could collide with.
func (t *tx) lookup(look core.Lookup) (f core.Existing, err error) {
	if look.ID != "" {
		f.ByID, err = t.called(look.ID, look.Owner)
		if _, doubted := errors.AsType[*Disbelieved](err); doubted {
			return f, approval.Refuse(approval.CodeIDConflict, "A program other than the desk has changed the desk's "+
				"record of your request with that id, so the desk ignores the record. Ask under another id.")
		}
		if err != nil {
			return f, err
		}
		if f.Another, err = t.another(look.ID); err != nil {
			return f, err
		}
	}
	if f.Pending, err = t.pendingOf(look.Owner); err != nil {
		return f, err
	}
	if look.Flood > 0 && f.Pending >= look.Flood {
		if f.Cards, err = t.newestCards(look.Owner); err != nil {
			return f, err
		}
	}
	if look.SessionKey != "" && f.Pending > 0 {
		if f.Same, err = t.same(look); err != nil {
			return f, err
		}
	}
	if look.SessionKey != "" && look.ResumeMs > 0 {
		if f.Unclaimed, err = t.unclaimed(look); err != nil {
			return f, err
		}
	}
	if look.Supersedes != "" {
		f.Superseded, err = t.called(look.Supersedes, look.Owner)
		if _, doubted := errors.AsType[*Disbelieved](err); err != nil && !doubted { // what is not believed is not there
			return f, err
		}
	}
	if look.Push {
		if f.Pushed, err = t.subscribed(); err != nil {
			return f, err
		}
	}
	f.Grants, err = t.grantsFor(look)
	return f, err
}

// meaning gives the key of the approval to which the owner gave this id; empty if there is no such approval. foreign
// reports a row of that id that is not believed.
func (t *tx) meaning(id, owner string) (key string, foreign bool, err error) {
	rows, err := t.rows(meaningOf, id, owner)
	if err != nil {
		return "", false, err
	}
	err = each(rows, func() error {
		var k, mac text
		var row truth
		err := rows.Scan(&k, &row, &mac)
		if err == nil && bool(row) && !t.keys.isName(id, owner, string(k), string(mac)) {
			foreign = true
		} else {
			key = string(k)
		}
		return err
	})
	return key, foreign, err
}

// isName reports whether a row of approval_ids is believed.
func (k keyring) isName(id, owner, key, mac string) bool {
	if k.rows == nil || k.rows.row("approval_ids").text(id).text(owner).text(key).fits(mac) {
		return true
	}
	_ = k.rows.doubt("approval_ids", id+" "+owner) // logged and counted
	return false
}

// called gives the approval that an owner calls so, or nil. The approval itself, which is believed,
// says its owner and the id that it was asked under; for a further one a row does.
func (t *tx) called(id, owner string) (*approval.Approval, error) {
	a, err := t.approval(approvalByID, id, owner)
	if err != nil || a == nil || a.Owner == owner && a.ID == id {
		return a, err
	}
	key, _, err := t.meaning(id, owner)
	if err != nil || key != a.Key {
		return nil, err
	}
	return a, nil
}

// another reports whether there is an approval whose code or key people could mean by
// that id.
func (t *tx) another(id string) (bool, error) {
	first, end := core.KeysCalled(id)
	if first == "" {
		return false, nil
	}
	rows, err := t.rows(oneBetween, first, end)
	if err != nil {
		return false, err
	}
	var key text
	return one(rows, &key)
}

// same finds the pending approvals of the same call, newest first: there may be an overdue or less strict one, or one
// that runs confined. Most calls have no such approval, so a small query finds the keys first, and a larger one reads a row.
func (t *tx) same(look core.Lookup) ([]approval.Approval, error) {
	return t.newest(keysOfSame, look.Owner, look.Fingerprint, look.AgentID, look.SessionKey)
}

// unclaimed finds the approved ones of the same call that may still be claimed, newest first.
// If another instance's clock is ahead, the query also finds an approval that was claimed
// there; it is left out.
func (t *tx) unclaimed(look core.Lookup) ([]approval.Approval, error) {
	all, err := t.newest(keysUnclaimed, look.Owner, look.Fingerprint, look.AgentID, look.SessionKey, look.ResumeMs)
	return slices.DeleteFunc(all, func(a approval.Approval) bool { return a.ClaimedAtMs != 0 }), err
}

// newest gives the approvals whose keys a query finds, the newest first and no more than [core.MostSame], without those
// that are not believed, so that the call asks anew.
func (t *tx) newest(query string, args ...any) (all []approval.Approval, err error) {
	rows, err := t.rows(query, args...)
	if err != nil {
		return nil, err
	}
	type found struct {
		key     string
		created number
	}
	var keys []found
	err = each(rows, func() error {
		var key text
		var created number
		err := rows.Scan(&key, &created)
		keys = append(keys, found{string(key), created})
		return err
	})
	slices.SortFunc(keys, func(a, b found) int { return cmp.Or(cmp.Compare(b.created, a.created), cmp.Compare(a.key, b.key)) })
	for _, f := range keys[:min(len(keys), core.MostSame)] {
		a, failed := t.approval(approvalByKey, f.key)
		if _, doubted := errors.AsType[*Disbelieved](failed); doubted {
			continue
		}
		if failed != nil {
			return nil, failed
		}
		if a != nil {
			all = append(all, *a)
		}
	}
	return all, err
}

// pendingOf counts an owner's pending approvals, with those that the batch has
// not written down yet.
func (t *tx) pendingOf(owner string) (int, error) {
	n, known := t.counted[owner]
	if !known {
		var err error
		if n, err = t.count(countPending, owner); err != nil {
			return 0, err
		}
		t.counted[owner] = n
	}
	return n + t.done.pending[owner], nil
}

// approval gives the approval that a query finds, or nil. What was prefetched may
// be older than another job's change of it: then the next look is newer.
func (t *tx) approval(query string, args ...any) (*approval.Approval, error) {
	a, err := t.keys.oneApproval(context.Background(), t, query, args...)
	if err != nil || a == nil {
		return a, err
	}
	if query != approvalByKey && t.prefetched.changed[a.Key] {
		a, err = t.keys.oneApproval(context.Background(), t, query, args...)
	}
	return a, err
}
