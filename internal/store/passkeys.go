package store

import (
	"cmp"
	"context"
	"crypto/hmac"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/signin"
)

// maxCeremonies is how many ceremonies of a kind are kept at once. Those for signing in are not kept, because anyone
// may begin one.
const maxCeremonies = 2000

const (
	passkeyColumns = `SELECT id, person, sign_count, backed_up, used_ms, created_ms, body, mac FROM passkeys `
	passkeyByID    = passkeyColumns + `WHERE id = $1`
	passkeysOf     = passkeyColumns + `WHERE person = $1 ORDER BY created_ms, id`
	allPasskeys    = passkeyColumns + `ORDER BY created_ms, id`
	addPasskey     = `INSERT INTO passkeys (id, person, sign_count, backed_up, used_ms, created_ms, body, mac)
 VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING`
	removePasskey = `DELETE FROM passkeys WHERE id = $1 AND person = $2`
	usePasskey    = `UPDATE passkeys SET sign_count = $3, backed_up = $4, used_ms = $5, mac = $6
 WHERE id = $1 AND sign_count = $2`

	passkeyLog = `SELECT type, data FROM events
 WHERE type = 'passkey.enrolled' OR type = 'passkey.removed' OR type = 'passkey.suspended' ORDER BY seq`

	countCeremonies = `SELECT COUNT(*) FROM ceremonies WHERE kind = $1 AND expires_ms > $2`
	keepCeremony    = `INSERT INTO ceremonies (id, kind, expires_ms, body, mac) VALUES ($1, $2, $3, $4, $5)
 ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, expires_ms = excluded.expires_ms, body = excluded.body,
 mac = excluded.mac`
	dropCeremonies = `DELETE FROM ceremonies WHERE id IN (SELECT id FROM ceremonies WHERE kind = $1 AND expires_ms > $2
 ORDER BY expires_ms LIMIT $3)`
	readCeremony  = `SELECT kind, expires_ms, body, mac FROM ceremonies WHERE id = $1 AND expires_ms > $2`
	endCeremony   = `DELETE FROM ceremonies WHERE id = $1`
	spendCeremony = `INSERT INTO ceremonies (id, kind, expires_ms, body, mac) VALUES ($1, $2, $3, $4, $5)
 ON CONFLICT (id) DO NOTHING`
	sweepCeremonies = `DELETE FROM ceremonies WHERE id IN (SELECT id FROM ceremonies WHERE expires_ms <= $1
 ORDER BY expires_ms LIMIT $2)`
)

// Passkey gives the passkey of that credential id, or CodeNotFound; a [*Disbelieved] is one
// that something else than the desk wrote.
func (s *Store) Passkey(ctx context.Context, id string) (signin.Passkey, error) {
	if !storable(id) {
		return signin.Passkey{}, noPasskey()
	}
	row, err := s.keys.passkeyRow(ctx, s.read, id)
	if err != nil {
		return signin.Passkey{}, err
	}
	return row.passkey()
}

// Passkeys gives a person's passkeys, or all persons' if person is empty, oldest first, without
// those that are not believed.
func (s *Store) Passkeys(ctx context.Context, person string) ([]signin.Passkey, error) {
	if person == "" {
		return s.keys.passkeys(ctx, s.read, "passkeys", allPasskeys)
	}
	return s.keys.passkeys(ctx, s.read, "passkeys", passkeysOf, person)
}

// passkeyRow is a row of passkeys, or of suspended_passkeys, as it is stored.
type passkeyRow struct {
	id, person              text
	count, backed, used, at number
	body, mac               text
	suspended               number // of suspended_passkeys alone
}

// columns are what its MAC is over in that table.
func (r passkeyRow) columns(table string) []any {
	all := []any{string(r.id), string(r.person), int64(r.count), int64(r.backed), int64(r.used), int64(r.at), string(r.body)}
	if table == "suspended_passkeys" {
		all = append(all, int64(r.suspended))
	}
	return all
}

func (r passkeyRow) passkey() (p signin.Passkey, err error) {
	if err := json.Unmarshal([]byte(r.body), &p); err != nil {
		return p, fmt.Errorf("a stored passkey cannot be read: %w", err)
	}
	p.SignCount, p.BackedUp, p.UsedMs = uint32(r.count), r.backed != 0, int64(r.used)
	return p, nil
}

// passkeyRows reads the rows of one of the two tables that a query finds; err of each is a
// [*Disbelieved] if its MAC does not fit.
func (k keyring) passkeyRows(
	ctx context.Context, q querier, table, query string, args []any, found func(r passkeyRow, err error) error,
) error {
	rows, err := q.query(ctx, query, args...)
	if err != nil {
		return err
	}
	return each(rows, func() error {
		var r passkeyRow
		dest := []any{&r.id, &r.person, &r.count, &r.backed, &r.used, &r.at, &r.body, &r.mac}
		if table == "suspended_passkeys" {
			dest = append(dest, &r.suspended)
		}
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		if k.rows != nil && !hmac.Equal([]byte(k.rows.mac(table, r.columns(table))), []byte(r.mac)) {
			return found(r, k.rows.doubt(table, string(r.id)))
		}
		return found(r, nil)
	})
}

// passkeyRow reads one passkey, or is CodeNotFound.
func (k keyring) passkeyRow(ctx context.Context, q querier, id string) (row passkeyRow, err error) {
	err = noPasskey()
	failed := k.passkeyRows(ctx, q, "passkeys", passkeyByID, []any{id}, func(r passkeyRow, doubt error) error {
		row, err = r, doubt
		return nil
	})
	return row, cmp.Or(failed, err)
}

// passkeys gives the passkeys that a query finds, without those that are not believed.
func (k keyring) passkeys(
	ctx context.Context, q querier, table, query string, args ...any,
) (all []signin.Passkey, err error) {
	err = k.passkeyRows(ctx, q, table, query, args, func(r passkeyRow, doubt error) error {
		if doubt != nil {
			return nil
		}
		p, err := r.passkey()
		all = append(all, p)
		return err
	})
	return all, err
}

// ChangePasskeys calls fn with a person's passkeys, adds or removes what it says, and
// appends its events to the log, all in one transaction.
func (s *Store) ChangePasskeys(
	ctx context.Context, person string, fn func([]signin.Passkey) (signin.PasskeyChange, error),
) error {
	return s.doOn(ctx, locks{names: []int64{hash("passkeys", person)}}, func(t *tx) error {
		held, err := t.keys.passkeys(ctx, t, "passkeys", passkeysOf, person)
		if err != nil {
			return err
		}
		c, err := fn(held)
		if t.refused = err != nil; t.refused {
			return err
		}
		t.own.events = append(t.own.events, c.Events...)
		if c.Remove != "" {
			if err := t.put(removePasskey, c.Remove, person); err != nil {
				return err
			}
		}
		if err := t.notices(c.Notices); err != nil {
			return err
		}
		return t.addPasskey(c.Add)
	})
}

func (t *tx) addPasskey(p *signin.Passkey) error {
	if p == nil {
		return nil
	}
	body, err := json.Marshal(p)
	if err != nil {
		return err
	}
	columns := []any{p.ID, p.Person, int64(p.SignCount), stored(p.BackedUp), p.UsedMs, p.CreatedMs, string(body)}
	n, err := t.exec(addPasskey, append(columns, t.keys.rows.mac("passkeys", columns))...)
	suspended := 0
	if err == nil {
		suspended, err = t.count(isSuspended, p.ID)
	}
	if err == nil && (n == 0 || suspended > 0) {
		err = approval.Refuse(approval.CodeIDConflict, "That passkey is already registered.")
	}
	return err
}

// KeepChallenge keeps a ceremony, in place of one of the same id. If too many of its kind wait, the
// oldest are dropped, so that a client that begins very many does not keep others out.
func (s *Store) KeepChallenge(ctx context.Context, c signin.Challenge) error {
	body, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return s.doOn(ctx, locks{names: []int64{hash("ceremonies", string(c.Kind))}}, func(t *tx) error {
		kind, now := string(c.Kind), nowMs()
		n, err := t.count(countCeremonies, kind, now)
		if err == nil && n >= maxCeremonies {
			_, err = t.exec(dropCeremonies, kind, now, n-maxCeremonies+1)
		}
		if err != nil {
			return err
		}
		return t.put(keepCeremony, t.keys.ceremony(c.ID, kind, c.ExpiresMs, string(body))...)
	})
}

// ceremony is a row of ceremonies.
func (k keyring) ceremony(id, kind string, expiresMs int64, body string) []any {
	columns := []any{id, kind, expiresMs, body}
	return append(columns, k.rows.mac("ceremonies", columns))
}

// Challenge gives a ceremony that has not ended, or CodeNotFound, a [*Disbelieved] for one that something
// else than the desk wrote.
func (s *Store) Challenge(ctx context.Context, id string) (c signin.Challenge, err error) {
	if !storable(id) {
		return c, noCeremony()
	}
	rows, err := s.read.query(ctx, readCeremony, id, nowMs())
	if err != nil {
		return c, err
	}
	var kind, body, mac text
	switch found, err := one(rows, &kind, (*number)(&c.ExpiresMs), &body, &mac); {
	case err != nil:
		return c, err
	case !found:
		return c, noCeremony()
	case !s.keys.rows.row("ceremonies").text(id).text(string(kind)).number(c.ExpiresMs).text(string(body)).fits(string(mac)):
		return signin.Challenge{}, s.keys.rows.doubt("ceremonies", id)
	}
	if c.ID = id; json.Unmarshal([]byte(body), &c) != nil {
		return c, errors.New("the stored state of a sign-in or signature with a passkey cannot be read; begin again")
	}
	return c, nil
}

// SpendChallenge ends a ceremony and counts the passkey on, in one transaction, or is
// core.ErrSpent.
func (s *Store) SpendChallenge(ctx context.Context, use core.PasskeyUse) error {
	return s.do(ctx, func(t *tx) error {
		if use.Passkey == "" {
			n, err := t.exec(endCeremony, use.Challenge)
			return t.spentUnless(n, err)
		}
		return t.spend(&use)
	})
}

// spend ends the ceremony of a signature. If the signature was good, spend fails when
// another request has ended the ceremony, and when the passkey is gone or no longer has
// the count that was checked.
func (t *tx) spend(use *core.PasskeyUse) error {
	if use == nil {
		return nil
	}
	var n int64
	var err error
	if use.RememberMs != 0 {
		n, err = t.exec(spendCeremony, t.keys.ceremony(use.Challenge, "spent", use.RememberMs, `{"kind":"spent"}`)...)
	} else {
		n, err = t.exec(endCeremony, use.Challenge)
	}
	if err != nil || use.Passkey == "" {
		return err
	}
	if err := t.spentUnless(n, nil); err != nil {
		return err
	}
	row, err := t.keys.passkeyRow(context.Background(), t, use.Passkey)
	if approval.CodeOf(err) == approval.CodeNotFound {
		return t.spentUnless(0, nil)
	}
	if err != nil {
		return err
	}
	if err := t.enrolled(use.Passkey); err != nil {
		return err
	}
	row.count, row.backed, row.used = number(use.After), number(stored(use.BackedUp)), number(use.AtMs)
	n, err = t.exec(usePasskey, use.Passkey, int64(use.Before), int64(use.After), stored(use.BackedUp), use.AtMs,
		t.keys.rows.mac("passkeys", row.columns("passkeys")))
	return t.spentUnless(n, err)
}

// enrolled refuses a passkey if the log says that it was removed or suspended: then its row was put
// back.
func (t *tx) enrolled(id string) error {
	if err := t.says().legible(""); err != nil {
		t.refused = true
		return err
	}
	rows, err := t.rows(passkeyLog)
	if err != nil {
		return err
	}
	var last text
	err = each(rows, func() error {
		var kind, data text
		err := rows.Scan(&kind, &data)
		if strings.Contains(string(data), `"id":"`+id+`"`) {
			last = kind
		}
		return err
	})
	if kind := approval.EventType(last); err == nil && kind != "" && kind != approval.EventPasskeyEnrolled {
		t.refused, err = true, t.keys.rows.doubt("passkeys", id)
	}
	return err
}

// spentUnless is core.ErrSpent unless a statement changed a row.
func (t *tx) spentUnless(n int64, err error) error {
	if err == nil && n == 0 {
		t.refused, err = true, core.ErrSpent
	}
	return err
}

func noPasskey() error {
	return approval.Refuse(approval.CodeNotFound, "The desk does not know that passkey.")
}

func noCeremony() error {
	return approval.Refuse(approval.CodeNotFound, "The desk no longer waits for this passkey: begin again.")
}
