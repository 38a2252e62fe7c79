package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

const (
	insertGrant = `INSERT INTO grants (id, owner, agent_id, name, session_key, approval, created_ms, expires_ms, body,
 mac)
 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`
	grantColumns = `SELECT id, owner, agent_id, name, session_key, approval, created_ms, expires_ms, body, mac FROM grants `
	grantsOfCall = grantColumns + `WHERE owner = $1 AND agent_id = $2 AND name IN ($3, $4, $5, $6)
 ORDER BY created_ms DESC, id`
	// endCoolDown: of one call there is one cool-down, the newest.
	endCoolDown = `DELETE FROM grants WHERE owner = $1 AND agent_id = $2 AND name = $3`
	endGrants   = `DELETE FROM grants WHERE approval = $1 AND approval <> ''`
	endGrant    = `DELETE FROM grants WHERE id = $1`
	maxGrants   = 1000
)

// grantName is what a call is looked up by to find the grant.
func grantName(g approval.Grant) string {
	switch g.Kind {
	case approval.AlwaysGrant:
		return g.Fingerprint
	case approval.CoolDown:
		return coolDownOf(g.Fingerprint)
	}
	return g.Subject
}

// addGrant stores a grant.
func (t *tx) addGrant(g approval.Grant) error {
	name := grantName(g)
	if g.ID == "" || g.Owner == "" || name == "" {
		return fmt.Errorf("grant %q has no id, no owner or no subject; this is an error in approvalbot; please "+
			"report it", g.ID)
	}
	body, err := json.Marshal(g)
	if err != nil {
		return err
	}
	if g.Kind == approval.CoolDown {
		if err := t.put(endCoolDown, g.Owner, g.AgentID, name); err != nil {
			return err
		}
	}
	t.touch(grantsName)
	t.granted.add(g.Owner, g.AgentID, name)
	columns := []any{g.ID, g.Owner, g.AgentID, name, g.SessionKey, g.Approval, g.CreatedAtMs, g.ExpiresAtMs, string(body)}
	return t.put(insertGrant, append(columns, t.keys.rows.mac("grants", columns))...)
}

// granting writes what a change says about grants.
func (t *tx) granting(c core.Change) error {
	if c.EndGrants {
		t.touch(grantsName)
		if err := t.put(endGrants, c.Approval.Key); err != nil {
			return err
		}
	}
	if err := t.endGrantsOf(c); err != nil {
		return err
	}
	if c.EndGrant != "" {
		t.touch(grantsName)
		if err := t.put(endGrant, c.EndGrant); err != nil {
			return err
		}
	}
	for _, g := range c.Grants {
		if err := t.addGrant(g); err != nil {
			return err
		}
	}
	return t.coolDownReason(c)
}

// endGrantsOf ends the grants that a change ends of those that could speak about its call.
func (t *tx) endGrantsOf(c core.Change) error {
	if c.Ends == nil {
		return nil
	}
	a := c.Approval
	found, err := t.grantsFor(core.Lookup{Owner: a.Owner, AgentID: a.AgentID, SessionKey: a.SessionKey,
		Fingerprint: a.Fingerprint, Subject: a.Subject, Grants: true})
	for _, g := range found {
		event, ends := c.Ends(g)
		if !ends || err != nil {
			continue
		}
		t.touch(grantsName)
		t.own.events = append(t.own.events, event)
		err = t.put(endGrant, g.ID)
	}
	return err
}

// coolDownReason writes the reason that an approver gave after the deny into the cool-down.
func (t *tx) coolDownReason(c core.Change) error {
	if c.CoolDownReason == "" {
		return nil
	}
	a := c.Approval
	found, err := t.grantsFor(core.Lookup{Owner: a.Owner, AgentID: a.AgentID, Fingerprint: a.Fingerprint, Grants: true})
	for _, g := range found {
		if g.Kind == approval.CoolDown && g.Approval == a.Key && err == nil {
			g.Reason = c.CoolDownReason
			err = t.addGrant(g) // in place of the one without
		}
	}
	return err
}

func grantArgs(look core.Lookup) []any {
	return []any{look.Owner, look.AgentID, look.Fingerprint, coolDownOf(look.Fingerprint), look.Subject, look.Program}
}

// grantsFor finds the grants and cool-downs that could speak about a call.
func (t *tx) grantsFor(look core.Lookup) ([]approval.Grant, error) {
	if !look.Grants {
		return nil, nil
	}
	rows, err := t.rows(grantsOfCall, grantArgs(look)...)
	if err != nil {
		return nil, err
	}
	all, err := t.keys.covering(rows, look)
	if err != nil {
		return nil, err
	}
	return t.says().unended(all)
}

// notDenied asks a change that hangs on it what it makes of the grants and cool-downs of its call.
func (t *tx) notDenied(c core.Change) error {
	if c.NotDenied == nil {
		return nil
	}
	a := c.Approval
	found, err := t.grantsFor(core.Lookup{Owner: a.Owner, AgentID: a.AgentID, Fingerprint: a.Fingerprint, Grants: true})
	if err != nil {
		return err
	}
	return c.NotDenied(found)
}

// Covering gives the grants and cool-downs that could speak about a call, newest
// first: those of its fingerprint or subject, session grants of its session only. One that ended
// and was put back is among them, and not in the commit that counts.
func (s *Store) Covering(ctx context.Context, look core.Lookup) ([]approval.Grant, error) {
	if none, err := s.ungranted(ctx, look); none || err != nil {
		return nil, err
	}
	rows, err := s.read.query(ctx, grantsOfCall, grantArgs(look)...)
	if err != nil {
		return nil, err
	}
	return s.keys.covering(rows, look)
}

func (k keyring) covering(rows result, look core.Lookup) ([]approval.Grant, error) {
	all, err := k.scanGrants(rows)
	live := all[:0]
	for _, g := range all {
		if g.Kind != approval.SessionGrant || g.SessionKey == look.SessionKey {
			live = append(live, g)
		}
	}
	return live, err
}

// Grants gives grants and cool-downs, newest first, at most f.Limit. A list may have one that ended
// and was put back, which covers no call; one that is asked for by its id is not given then.
func (s *Store) Grants(ctx context.Context, f core.GrantFilter) ([]approval.Grant, error) {
	where, args := grantWhere(f)
	limit := f.Limit
	if limit < 1 || limit > maxGrants {
		limit = maxGrants
	}
	rows, err := s.read.query(ctx, fmt.Sprintf(grantColumns+"WHERE %s ORDER BY created_ms DESC, id LIMIT $%d",
		where, len(args)+1), append(args, limit)...)
	if err != nil {
		return nil, err
	}
	all, err := s.keys.scanGrants(rows)
	if err != nil || f.ID == "" || len(all) == 0 {
		return all, err
	}
	err = s.do(ctx, func(t *tx) (err error) { // with what the commits before it say
		all, err = t.says().unended(all)
		return err
	})
	return all, err
}

// DropGrants removes the grants that the filter selects and appends what event
// makes of each to the log, in one transaction. It gives what it removed. An
// filter that does not name a grant, owner, agent, session or approval is empty: it does
// not remove any grant.
func (s *Store) DropGrants(
	ctx context.Context, f core.GrantFilter, event func(approval.Grant) approval.Event,
) (dropped []approval.Grant, err error) {
	where, args := grantWhere(f)
	if cmp.Or(f.ID, f.Owner, f.SessionKey, f.AgentID, f.Approval) == "" {
		return nil, nil
	}
	err = s.do(ctx, func(t *tx) error {
		rows, err := t.rows(grantColumns+"WHERE "+where+" ORDER BY created_ms DESC, id", args...)
		if err != nil {
			return err
		}
		if dropped, err = t.keys.scanGrants(rows); err != nil || len(dropped) == 0 {
			return err
		}
		if _, err := t.exec("DELETE FROM grants WHERE "+where, args...); err != nil {
			return err
		}
		for _, g := range dropped {
			t.own.events = append(t.own.events, event(g))
		}
		return nil
	})
	return dropped, err
}

// AddGrant stores a grant that no approval left, with its event.
func (s *Store) AddGrant(ctx context.Context, g approval.Grant, e approval.Event) error {
	return s.do(ctx, func(t *tx) error {
		t.own.events = append(t.own.events, e)
		return t.addGrant(g)
	})
}

func grantWhere(f core.GrantFilter) (string, []any) {
	where, args := []string{"1 = 1"}, []any{}
	add := func(text string, v any) {
		args = append(args, v)
		where = append(where, fmt.Sprintf(text, len(args)))
	}
	if f.ID != "" {
		add("id = $%d", f.ID)
	}
	if f.Owner != "" {
		add("owner = $%d", f.Owner)
	}
	if f.AgentID != "" {
		add("agent_id = $%d", f.AgentID)
	}
	if f.SessionKey != "" {
		add("session_key = $%d", f.SessionKey)
	}
	if f.Approval != "" {
		add("approval = $%d", f.Approval)
	}
	if f.Loosens {
		where = append(where, "name NOT LIKE 'cooldown %'")
	}
	if f.Live != 0 {
		add("(expires_ms = 0 OR expires_ms > $%d)", f.Live)
	}
	return strings.Join(where, " AND "), args
}

// scanGrants reads grants, without those that are not believed: a call that one of them would
// have allowed asks, and so does one that a cool-down would have refused.
func (k keyring) scanGrants(rows result) (all []approval.Grant, err error) {
	err = each(rows, func() error {
		var id, owner, agent, name, session, approvalKey, body, mac text
		var created, expires number
		err := rows.Scan(&id, &owner, &agent, &name, &session, &approvalKey, &created, &expires, &body, &mac)
		if err != nil {
			return err
		}
		if k.rows != nil && !k.rows.row("grants").text(string(id)).text(string(owner)).text(string(agent)).
			text(string(name)).text(string(session)).text(string(approvalKey)).number(int64(created)).
			number(int64(expires)).text(string(body)).fits(string(mac)) {
			_ = k.rows.doubt("grants", string(id)) // logged and counted; it is left out
			return nil
		}
		var g approval.Grant
		if err := json.Unmarshal([]byte(body), &g); err != nil {
			return fmt.Errorf("a stored grant cannot be read: %w", err)
		}
		all = append(all, g)
		return nil
	})
	return all, err
}

// ungranted reports whether it is known that no grant and no cool-down could speak about a call.
func (s *Store) ungranted(ctx context.Context, look core.Lookup) (bool, error) {
	if s.granted == nil {
		return false, nil
	}
	out, ready := s.granted.exclude(look)
	if ready {
		return out, nil
	}
	if err := s.granted.load(ctx, s.read); err != nil {
		return false, err
	}
	out, _ = s.granted.exclude(look)
	return out, nil
}
