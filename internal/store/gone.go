package store

import (
	"context"
	"encoding/json"
	"slices"

	"approvalbot/internal/approval"
	"approvalbot/internal/signin"
)

const (
	allPersons = `SELECT person FROM sessions UNION SELECT person FROM login_links
 UNION SELECT person FROM push_subscriptions UNION SELECT person FROM passkeys`
	allSessions   = `SELECT ` + sessionColumns + ` FROM sessions ORDER BY created_ms, id`
	allLinks      = `SELECT hash, person FROM login_links ORDER BY hash`
	endLink       = `DELETE FROM login_links WHERE hash = $1`
	allCeremonies = `SELECT id, body FROM ceremonies WHERE kind <> $1 ORDER BY id`

	suspendedColumns = `SELECT id, person, sign_count, backed_up, used_ms, created_ms, body, mac, suspended_ms
 FROM suspended_passkeys `
	suspendedOf    = suspendedColumns + `WHERE person = $1 ORDER BY created_ms, id`
	allSuspended   = suspendedColumns + `ORDER BY created_ms, id`
	isSuspended    = `SELECT COUNT(*) FROM suspended_passkeys WHERE id = $1`
	suspendPasskey = `INSERT INTO suspended_passkeys
 (id, person, sign_count, backed_up, used_ms, created_ms, body, suspended_ms, mac)
 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (id) DO NOTHING`
)

// EndGone ends the sessions and all else of people who are not among those known, and suspends
// their passkeys, in one transaction; see signin.GoneStore. If several instances call it at once,
// one does the work.
func (s *Store) EndGone(
	ctx context.Context, known []string, policy string, events func(signin.Gone) []approval.Event,
) (gone signin.Gone, err error) {
	if has, err := s.hasGone(ctx, known); err != nil || !has {
		return gone, err
	}
	on := locks{names: []int64{hash("gone")}, policy: countsOnPolicy}
	err = s.doOn(ctx, on, func(t *tx) error {
		var err error
		if gone, err = t.gone(known); err != nil {
			return err
		}
		if everywhere, err := t.everywhere(policy); err != nil || !everywhere {
			gone.Waits = true
			return err
		}
		t.own.events = append(t.own.events, events(gone)...)
		return t.end(gone)
	})
	return gone, err
}

// hasGone reports whether the store has anything of people who are not known.
func (s *Store) hasGone(ctx context.Context, known []string) (has bool, err error) {
	rows, err := s.read.query(ctx, allPersons)
	if err != nil {
		return false, err
	}
	err = each(rows, func() error {
		var person text
		err := rows.Scan(&person)
		has = has || !slices.Contains(known, string(person))
		return err
	})
	return has, err
}

// everywhere reports whether the policy of that hash, which names the people too, is in force
// at all instances.
func (t *tx) everywhere(policy string) (bool, error) {
	if !t.dialect.many {
		return true, nil
	}
	now, err := policyThatCounts(context.Background(), t)
	if err != nil || now.counts != policy {
		return false, err
	}
	running, err := readInstances(context.Background(), t)
	return !slices.ContainsFunc(running, func(i Instance) bool { return i.PolicyHash != policy }), err
}

// gone reads what people have who are not known.
func (t *tx) gone(known []string) (x signin.Gone, err error) {
	stranger := func(person string) bool { return !slices.Contains(known, person) }
	if x.Sessions, err = t.keys.scanSessions(t.rows(allSessions)); err != nil {
		return x, err
	}
	x.Sessions = slices.DeleteFunc(x.Sessions, func(s signin.Session) bool { return !stranger(s.Person) })
	subscribed, err := t.subscribed()
	if err != nil {
		return x, err
	}
	for _, p := range subscribed {
		if stranger(p.Person) {
			x.Push = append(x.Push, signin.PushSubscription{ID: p.ID, Person: p.Person})
		}
	}
	if x.Passkeys, err = t.keys.passkeys(context.Background(), t, "passkeys", allPasskeys); err != nil {
		return x, err
	}
	x.Passkeys = slices.DeleteFunc(x.Passkeys, func(p signin.Passkey) bool { return !stranger(p.Person) })
	rows, err := t.rows(allLinks)
	if err != nil {
		return x, err
	}
	err = each(rows, func() error {
		var l signin.LoginLink
		err := rows.Scan((*text)(&l.Hash), (*text)(&l.Person))
		if stranger(l.Person) {
			x.Links = append(x.Links, l)
		}
		return err
	})
	if err != nil {
		return x, err
	}
	x.Ceremonies, err = t.ceremoniesOf(func(c signin.Challenge) bool {
		return c.Person != "" && stranger(c.Person) ||
			slices.ContainsFunc(x.Sessions, func(s signin.Session) bool { return s.ID == c.Browser })
	})
	return x, err
}

// ceremoniesOf gives the ids of the ceremonies in sessions that a function selects.
func (t *tx) ceremoniesOf(selects func(signin.Challenge) bool) (ids []string, err error) {
	rows, err := t.rows(allCeremonies, string(signin.SignInChallenge))
	if err != nil {
		return nil, err
	}
	err = each(rows, func() error {
		var id, body text
		var c signin.Challenge
		if err := rows.Scan(&id, &body); err != nil {
			return err
		}
		if json.Unmarshal([]byte(body), &c) != nil || selects(c) { // one that cannot be read is of no use
			ids = append(ids, string(id))
		}
		return nil
	})
	return ids, err
}

// end deletes what is gone, and moves the passkeys to the suspended ones.
func (t *tx) end(x signin.Gone) error {
	ids := map[string][]string{endCeremony: x.Ceremonies}
	for _, s := range x.Sessions {
		ids[endSession] = append(ids[endSession], s.ID)
	}
	for _, l := range x.Links {
		ids[endLink] = append(ids[endLink], l.Hash)
	}
	for _, p := range x.Push {
		ids[endPush] = append(ids[endPush], p.ID)
	}
	for statement, all := range ids {
		for _, id := range all {
			if err := t.put(statement, id); err != nil {
				return err
			}
		}
	}
	now := nowMs()
	for _, p := range x.Passkeys {
		row, err := t.keys.passkeyRow(context.Background(), t, p.ID)
		if err != nil {
			return err
		}
		row.suspended = number(now)
		columns := row.columns("suspended_passkeys")
		if err := t.put(suspendPasskey, append(columns, t.keys.rows.mac("suspended_passkeys", columns))...); err != nil {
			return err
		}
		if err := t.put(removePasskey, p.ID, p.Person); err != nil {
			return err
		}
	}
	return nil
}

// SuspendedPasskeys gives a person's passkeys that are suspended, or all persons' if person is
// empty, oldest first.
func (s *Store) SuspendedPasskeys(ctx context.Context, person string) ([]signin.Passkey, error) {
	if person == "" {
		return s.keys.passkeys(ctx, s.read, "suspended_passkeys", allSuspended)
	}
	return s.keys.passkeys(ctx, s.read, "suspended_passkeys", suspendedOf, person)
}
