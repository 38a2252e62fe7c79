package store

import (
	"errors"
	"fmt"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

const (
	// insertApproval inserts no row if there is an approval of that code.
	insertApproval = `INSERT INTO approvals (key, version, owner, id, status, agent_id, session_key, tool_name,
 fingerprint, created_ms, expires_ms, timer_ms, resolved_ms, kept_ms, body, sealed, mac, risk)
 VALUES (COALESCE((SELECT key FROM approvals
 WHERE key >= $1 AND key < $2 LIMIT 1), $3),$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,$18,$19,$20)
 ON CONFLICT (key) DO NOTHING`
	// updateApproval leaves alone what the small indexes of pending approvals
	// depend on; endApproval does not.
	updateApproval = `UPDATE approvals SET version = $3, expires_ms = $4, timer_ms = $5, kept_ms = $6, body = $7,
 mac = $8, round_ms = $9
 WHERE key = $1 AND version = $2`
	endApproval = `UPDATE approvals SET version = $3, expires_ms = $4, timer_ms = $5, kept_ms = $6, body = $7,
 mac = $8, status = $9, resolved_ms = $10
 WHERE key = $1 AND version = $2`
	nameApproval = `INSERT INTO approval_ids (id, owner, key, mac) VALUES ($1, $2, $3, $4)
 ON CONFLICT (id, owner) DO NOTHING`
	dropName = `DELETE FROM approval_ids WHERE id = $1 AND owner = $2`
	rateCall = `UPDATE approvals SET risk = $2 WHERE key = $1`
	sealCall = `UPDATE approvals SET sealed = $2 WHERE key = $1`
)

// apply writes a change, and gives the approval as it is afterwards. before is the
// approval as this transaction read it, nil for a new one.
func (t *tx) apply(before *approval.Approval, c core.Change) (approval.Approval, error) {
	a := c.Approval
	if err := consistent(before, c); err != nil {
		return a, err
	}
	if err := t.agreed(c.Policy); err != nil {
		return a, err
	}
	if err := t.sameAbsences(c.Absences); err != nil {
		return a, err
	}
	if err := t.notDenied(c); err != nil {
		return a, err
	}
	switch fresh, err := t.handled(c.Handled); {
	case err != nil:
		return a, err
	case !fresh: // a slow or paused instance must not count it twice
		return a, approval.ErrHandled
	}
	if err := t.current(c, before); err != nil {
		return a, err
	}
	a.Records = 0
	if before != nil {
		a.Records = before.Records
	}
	events := c.Events
	if !c.Unchanged {
		events = recording(&a, events)
	}
	var err error
	switch {
	case before == nil:
		a.Version, a.Deliveries = 1, nil
		err = t.insert(a, c.Seal)
		if a.ID != a.Key {
			c.Aliases = append([]string{a.ID}, c.Aliases...)
		}
	case c.Unchanged:
		a = *before
	default:
		a.Version, a.Deliveries = before.Version+1, before.Deliveries
		err = t.rewrite(*before, a)
	}
	if err == nil && before != nil {
		err = t.sealing(c)
	}
	if err != nil {
		return a, err
	}
	for _, id := range c.Aliases {
		if err := t.name(a, id); err != nil {
			return a, err
		}
	}
	if err := t.granting(c); err != nil {
		return a, err
	}
	if err := t.seen(c.Tool); err != nil {
		return a, err
	}
	if err := t.tried(c); err != nil {
		return a, err
	}
	if err := t.spend(c.Passkey); err != nil {
		return a, err
	}
	if a.Deliveries, err = t.deliver(before, a, c); err != nil {
		return a, err
	}
	t.own.events = append(t.own.events, events...)
	if (before != nil || len(a.Deliveries) > 0) && !t.dialect.many { // no card is drawn of the others
		bare := a
		bare.Deliveries = nil
		t.own.written = append(t.own.written, &bare)
	}
	t.changed(a, c)
	return a, nil
}

// consistent refuses a change that was not made from what it is applied to.
func consistent(before *approval.Approval, c core.Change) error {
	a := c.Approval
	switch {
	case a.Key == "" || a.Owner == "" || a.ID == "":
		return fmt.Errorf("a change of approval %q has no key, owner or id; this is an error in approvalbot; please "+
			"report it", a.Key)
	case before == nil && a.Code != core.KeyCode(a.Key):
		return fmt.Errorf("new approval %s has code %q, but its key gives another code; this is an error in "+
			"approvalbot; please report it", a.Key, a.Code)
	case before == nil || c.Unchanged:
		return nil
	case a.Version != before.Version:
		return fmt.Errorf("a change of approval %s is for its version %d, but the approval has version %d; this is "+
			"an error in approvalbot; please report it", a.Key, a.Version,
			before.Version)
	}
	was, is := identity(*before), identity(a)
	for i, field := range identityFields {
		if is[i] != was[i] {
			return fmt.Errorf("approval %s was not changed, because an error in approvalbot tried to change its %s "+
				"from %q to %q; please report it", before.Key, field, was[i], is[i])
		}
	}
	return nil
}

// identityFields names what identity gives.
var identityFields = [8]string{"key", "owner", "id", "code", "agent", "session", "tool", "fingerprint"}

func identity(a approval.Approval) [8]string {
	return [8]string{a.Key, a.Owner, a.ID, a.Code, a.AgentID, a.SessionKey, a.ToolName, a.Fingerprint}
}

// timer is when time next asks something of an approval: nil once it has ended.
func timer(a approval.Approval) any {
	if at := core.TimerMs(a); at != 0 {
		return at
	}
	return nil
}

func (t *tx) insert(a approval.Approval, call []byte) error {
	first, end := core.CodeKeys(a.Code)
	id := a.ID
	if id == a.Key {
		id = ""
	}
	body := string(a.Body())
	err := t.putOne(insertApproval, first, end, a.Key, a.Version, a.Owner, id, string(a.Status), a.AgentID, a.SessionKey,
		a.ToolName, a.Fingerprint,
		a.CreatedAtMs, a.ExpiresAtMs, timer(a), a.ResolvedAtMs, core.KeptSinceMs(a), body, t.keys.seal(a.Key, call),
		t.keys.rows.approval(&a, id, body).end(), int64(a.Assessment.RiskClass))
	switch {
	case errors.Is(err, errStale):
		return core.ErrCodeTaken
	case err != nil:
		return fmt.Errorf("approval %s (code %s) cannot be stored: %w", a.Key, a.Code, err)
	}
	if !a.Final() {
		t.own.grow(a.Owner, 1)
	}
	return nil
}

// rewrite is the compare-and-swap: errStale when the version is another by now.
func (t *tx) rewrite(before, a approval.Approval) error {
	id, body := a.ID, string(a.Body())
	if id == a.Key {
		id = ""
	}
	args := []any{a.Key, before.Version, a.Version, a.ExpiresAtMs, timer(a), core.KeptSinceMs(a), body,
		t.keys.rows.approval(&a, id, body).end()}
	statement := updateApproval
	if a.Status != before.Status || a.ResolvedAtMs != before.ResolvedAtMs {
		statement = endApproval
		args = append(args, string(a.Status), a.ResolvedAtMs)
	} else {
		args = append(args, a.RoundEndsMs())
	}
	err := t.putOne(statement, args...)
	if err == nil && a.Assessment.RiskClass != before.Assessment.RiskClass {
		err = t.put(rateCall, a.Key, int64(a.Assessment.RiskClass))
	}
	if before.Final() != a.Final() {
		t.own.grow(a.Owner, map[bool]int{true: -1, false: 1}[a.Final()])
	}
	return err
}

// name lets the approval's owner find it under that id; errStale when the owner
// has another approval of that id, which a new look finds.
func (t *tx) name(a approval.Approval, id string) error {
	key, foreign, err := t.meaning(id, a.Owner)
	switch {
	case err != nil:
		return err
	case key == a.Key:
		return nil
	case key != "":
		return fmt.Errorf("id %q of owner %q is used by another approval: %w", id, a.Owner, errStale)
	case foreign:
		if err := t.put(dropName, id, a.Owner); err != nil {
			return err
		}
	}
	columns := []any{id, a.Owner, a.Key}
	return t.putOne(nameApproval, append(columns, t.keys.rows.mac("approval_ids", columns))...)
}

// sealing writes what a change of a stored approval says about its call.
func (t *tx) sealing(c core.Change) error {
	if !c.Unseal && c.Seal == nil {
		return nil
	}
	call := c.Seal
	if c.Unseal {
		call = nil
	}
	return t.put(sealCall, c.Approval.Key, t.keys.seal(c.Approval.Key, call))
}
