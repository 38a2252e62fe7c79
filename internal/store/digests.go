package store

import (
	"context"
	"errors"
	"strings"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/card"
)

const (
	// countNewestCards looks at no more of the owner's approvals than make a flood anywhere.
	countNewestCards = `SELECT d.channel, d.chat, d.thread, COUNT(*) FROM deliveries d
 WHERE d.kind = 'card' AND d.state <> 'failed' AND d.key IN (SELECT key FROM approvals
 WHERE owner = $1 AND status = 'pending' AND created_ms > $2
 ORDER BY created_ms DESC, key DESC LIMIT CAST($3 AS BIGINT))
 GROUP BY d.channel, d.chat, d.thread`
	newestOfFlood = 200

	// openDigest is the digest of a flood of that owner's, or the sum-up for that person.
	openDigest = `SELECT ` + deliveryColumns + ` FROM deliveries d JOIN approvals a ON a.key = d.key
 WHERE d.channel = CAST($1 AS TEXT) AND d.chat = $2 AND d.thread = $3 AND d.kind = 'digest' AND d.created_ms > $4
 AND d.state IN ('queued', 'sent') AND d.for_user = $5 AND (d.for_user <> '' OR a.owner = $6)
 ORDER BY d.created_ms DESC, d.id DESC LIMIT 1`
	digestOf = `SELECT ` + deliveryColumns + ` FROM deliveries d
 WHERE d.key = $1 AND d.kind = 'digest' AND d.channel = CAST($2 AS TEXT) AND d.chat = $3 AND d.thread = $4`
	// raiseDigest counts up in the database: approvals that one digest lists have no lock
	// in common.
	raiseDigest = `UPDATE deliveries SET due_ms = $1, revision = revision + 1, turn = $2, since_ms = $3
 WHERE key = $4 AND id = $5 AND state IN ('queued', 'sent', 'settled')`
	openFolded = `UPDATE deliveries SET state = 'queued', digest = '', due_ms = $1, turn = $2, since_ms = $3
 WHERE key = $4 AND id = $5 AND state IN ('folded', 'listed')`

	ofDigest = ` WHERE digest = $1 AND digest <> '' AND channel = CAST($2 AS TEXT) AND chat = $3
 AND thread = $4 AND kind = 'card' `
	// listFolded are those that a digest says of that they wait there, foldAgain those of
	// a digest that is to be posted anew.
	listFolded = `UPDATE deliveries SET state = 'listed'` + ofDigest + `AND state = 'folded'`
	foldAgain  = `UPDATE deliveries SET state = 'folded'` + ofDigest + `AND state = 'listed'`
	failFolded = `UPDATE deliveries SET state = 'failed', error = $5` + ofDigest + `AND state IN ('folded', 'listed')`
	// hurryFolded is hurryApproval for all that a digest lists, before they fail.
	hurryFolded = `UPDATE approvals SET timer_ms = $5 WHERE status = 'pending' AND (timer_ms IS NULL OR timer_ms > $5)
 AND key IN (SELECT key FROM deliveries` + ofDigest + `AND state IN ('folded', 'listed'))`

	pendingOfDigest = ` FROM deliveries d JOIN approvals a ON a.key = d.key WHERE d.digest = $1
 AND d.digest <> '' AND d.channel = CAST($2 AS TEXT) AND d.chat = $3 AND d.thread = $4
 AND d.state IN ('folded', 'listed') AND a.status = 'pending'`
	listOfDigest = `SELECT ` + approvalColumns + pendingOfDigest +
		` ORDER BY d.rank DESC, a.created_ms, a.key LIMIT CAST($5 AS BIGINT)`
	countOfDigest = `SELECT COUNT(*)` + pendingOfDigest
	newestList    = `SELECT version, keys, drawn_ms FROM digest_lists WHERE key = $1 AND id = $2
 ORDER BY version DESC LIMIT 1`
	listOfVersion = `SELECT keys FROM digest_lists WHERE key = $1 AND id = $2 AND version = $3`
	insertList    = `INSERT INTO digest_lists (key, id, version, keys, drawn_ms) VALUES ($1, $2, $3, $4, $5)`
	drawnAgain    = `UPDATE digest_lists SET drawn_ms = $4 WHERE key = $1 AND id = $2 AND version = $3`
)

// newestCards counts the cards that were made lately of an owner's pending approvals.
func (t *tx) newestCards(owner string) (map[approval.Target]int, error) {
	rows, err := t.rows(countNewestCards, owner, nowMs()-core.FloodMs, newestOfFlood)
	if err != nil {
		return nil, err
	}
	all := map[approval.Target]int{}
	err = each(rows, func() error {
		var place approval.Target
		var n number
		err := rows.Scan((*text)(&place.Channel), (*text)(&place.To), (*text)(&place.ThreadID), &n)
		all[place] = int(n)
		return err
	})
	return all, err
}

// fold puts a card into the digest of its place, and raises that. If no open digest
// accepts it, a new digest begins with it and is given.
func (t *tx) fold(a approval.Approval, card *approval.Delivery) (begun []approval.Delivery, err error) {
	card.Key, card.Target = a.Key, card.Target.Normal()
	open, found, err := t.openDigest(a.Owner, *card)
	if err == nil && !found && t.dialect.many { // two instances begin one, not two
		name := []int64{hash("digest", card.Target.String(), card.ForUser, a.Owner)}
		if err = t.put(lockNames, array(name)); err == nil {
			open, found, err = t.openDigest(a.Owner, *card)
		}
	}
	switch {
	case err != nil:
		return nil, err
	case found:
		card.Digest = open.Key
		return nil, t.raise(open, true)
	}
	card.Digest = a.Key
	d, _, err := t.addDelivery(a, core.NewDigest(*card, nowMs()))
	return []approval.Delivery{d}, err
}

func (t *tx) openDigest(owner string, card approval.Delivery) (approval.Delivery, bool, error) {
	p := card.Target
	return t.oneDelivery(openDigest, p.Channel, p.To, p.ThreadID, nowMs()-core.DigestTakesMs, card.ForUser, owner)
}

// unfold has the cards that are folded at a place sent, here and in all.
func (t *tx) unfold(a approval.Approval, place approval.Target, all []approval.Delivery) error {
	for i, d := range all {
		if !d.InDigest() || d.Target != place.Normal() {
			continue
		}
		if err := t.raiseDigestOf(d); err != nil {
			return err
		}
		d.State, d.Digest, d.DueMs = approval.Queued, "", nowMs()
		turn, since := urgency(d, !a.Final())
		if err := t.putOne(openFolded, d.DueMs, turn, since, a.Key, d.ID); err != nil {
			return err
		}
		all[i] = d
		t.stands(d, a.Version, turn, since)
	}
	return nil
}

// raiseDigestOf raises the digest that lists a card. It does nothing if retention has
// deleted the digest.
func (t *tx) raiseDigestOf(card approval.Delivery) error {
	p := card.Target.Normal()
	d, found, err := t.oneDelivery(digestOf, card.Digest, p.Channel, p.To, p.ThreadID)
	if err != nil || !found {
		return err
	}
	return t.raise(d, false)
}

// raise makes a digest due because its list has changed.
func (t *tx) raise(d approval.Delivery, grew bool) error {
	last, err := t.lastList(d)
	if err != nil {
		return err
	}
	d = core.Raised(d, last.drawnMs, nowMs(), grew)
	turn, since := urgency(d, true)
	t.changedKey(d.Key)
	if err := t.put(raiseDigest, d.DueMs, turn, since, d.Key, d.ID); err != nil {
		return err
	}
	if d.State != approval.Failed {
		t.stands(d, 0, turn, since)
	}
	return nil
}

// recordDigest updates a digest, and the cards that it lists, after a try at it. row is
// the digest as it is to be recorded, with its present revision.
func (t *tx) recordDigest(row approval.Delivery, d approval.Delivered, now int64) (approval.Delivery, error) {
	p := row.Target
	members := []any{row.Key, p.Channel, p.To, p.ThreadID}
	outdated := row.Revision > d.Revision
	again := row.State == approval.Failed && (outdated || row.MessageID != "")
	switch {
	case again && d.MovedTo == nil: // it was deleted, or takes no edits: what waits is said in a new message
		row.State, row.MessageID, row.DueMs = approval.Queued, "", now
		_, err := t.exec(foldAgain, members...)
		return row, err
	case row.State == approval.Failed:
		if _, err := t.exec(hurryFolded, append(members, now)...); err != nil {
			return row, err
		}
		_, err := t.exec(failFolded, append(members, row.Error)...)
		return row, err
	case row.MessageID != "" && row.DueMs == 0: // no card was added since it was drawn
		_, err := t.exec(listFolded, members...)
		return row, err
	}
	return row, nil
}

// Digest gives what a digest lists now, at most limit of it, and keeps that as a version,
// unless the newest one lists the same.
func (s *Store) Digest(ctx context.Context, d approval.Delivery, limit int) (list card.DigestList, err error) {
	err = s.doOn(ctx, locks{approval: d.Key}, func(t *tx) error {
		p := d.Target.Normal()
		digest := []any{d.Key, p.Channel, p.To, p.ThreadID}
		if list.Total, err = t.count(countOfDigest, digest...); err != nil {
			return err
		}
		if list.Items, err = t.bareApprovals(listOfDigest, append(digest, limit)...); err != nil {
			return err
		}
		var keys []string
		for _, a := range list.Items {
			keys = append(keys, a.Key)
		}
		last, err := t.lastList(d)
		if err != nil {
			return err
		}
		if said := strings.Join(keys, " "); last.version == 0 || last.keys != said {
			list.Version = last.version + 1
			return t.put(insertList, d.Key, d.ID, list.Version, said, nowMs())
		}
		list.Version = last.version
		return t.put(drawnAgain, d.Key, d.ID, list.Version, nowMs())
	})
	return list, err
}

// DigestVersion gives the keys that a version of a digest lists, in its order, or
// CodeNotFound.
func (s *Store) DigestVersion(ctx context.Context, d approval.Delivery, version int64) ([]string, error) {
	rows, err := s.read.query(ctx, listOfVersion, d.Key, d.ID, version)
	if err != nil {
		return nil, err
	}
	var keys text
	if found, err := one(rows, &keys); err != nil || !found {
		if err == nil {
			err = notFound()
		}
		return nil, err
	}
	return strings.Fields(string(keys)), nil
}

// drawnList is a version of a digest's list; the zero one: it was never drawn.
type drawnList struct {
	version int64
	keys    string
	drawnMs int64
}

func (t *tx) lastList(d approval.Delivery) (last drawnList, err error) {
	rows, err := t.rows(newestList, d.Key, d.ID)
	if err == nil {
		_, err = one(rows, (*number)(&last.version), (*text)(&last.keys), (*number)(&last.drawnMs))
	}
	return last, err
}

func (t *tx) oneDelivery(query string, args ...any) (d approval.Delivery, found bool, err error) {
	rows, err := t.rows(query, args...)
	if err != nil {
		return d, false, err
	}
	return t.keys.oneDelivery(rows)
}

// bareApprovals gives the approvals that a query finds, without deliveries, and without those
// that are not believed.
func (t *tx) bareApprovals(query string, args ...any) (all []approval.Approval, err error) {
	rows, err := t.rows(query, args...)
	if err != nil {
		return nil, err
	}
	err = each(rows, func() error {
		var a approval.Approval
		var body, mac text
		if err := rows.Scan(approvalDest(&a, &body, &mac)...); err != nil {
			return err
		}
		err := t.keys.readBody(&a, body, mac)
		if _, doubted := errors.AsType[*Disbelieved](err); doubted {
			return nil
		}
		all = append(all, a)
		return err
	})
	return all, err
}
