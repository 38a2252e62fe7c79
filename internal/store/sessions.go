package store

import (
	"context"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/signin"
)

const (
	insertLink = `INSERT INTO login_links (hash, person, made_by, enrols, ends_ms, mac)
 VALUES ($1, $2, $3, $4, $5, $6)`
	selectLink = `SELECT hash, person, made_by, enrols, ends_ms, mac FROM login_links WHERE hash = $1`
	spendLink  = `DELETE FROM login_links WHERE hash = $1 AND ends_ms > $2`
	spendOnce  = `INSERT INTO spent (hash, ends_ms) VALUES ($1, $2) ON CONFLICT (hash) DO NOTHING`

	sessionColumns = `cookie, mac, id, person, how, browser, enrols, created_ms, used_ms, ends_ms`
	insertSession  = `INSERT INTO sessions (` + sessionColumns + `)
 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`
	sessionOf    = `SELECT ` + sessionColumns + ` FROM sessions WHERE cookie = $1`
	sessionsOf   = `SELECT ` + sessionColumns + ` FROM sessions WHERE person = $1 ORDER BY created_ms DESC, id`
	sessionByID  = `SELECT ` + sessionColumns + ` FROM sessions WHERE id = $1`
	touchSession = `UPDATE sessions SET used_ms = $1, mac = $3 WHERE id = $2 AND used_ms < $1`
	endSession   = `DELETE FROM sessions WHERE id = $1`

	insertNotice = `INSERT INTO notices (id, channel, chat, text, session, created_ms, due_ms, attempts)
 VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`
	dueNotices = `SELECT id, channel, chat, text, session, created_ms, due_ms, attempts FROM notices
 ORDER BY due_ms, id LIMIT CAST($1 AS BIGINT)`
	delayNotice = `UPDATE notices SET due_ms = $1, attempts = $2 WHERE id = $3`
	dropNotice  = `DELETE FROM notices WHERE id = $1`

	sweepSessions = `DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE ends_ms <= $1 LIMIT $2)`
	sweepLinks    = `DELETE FROM login_links WHERE hash IN (SELECT hash FROM login_links WHERE ends_ms <= $1 LIMIT $2)`
	sweepSpent    = `DELETE FROM spent WHERE hash IN (SELECT hash FROM spent WHERE ends_ms <= $1 LIMIT $2)`
)

// SignInStores gives the store as what sign-in keeps things in.
func (s *Store) SignInStores() signin.Stores {
	return signin.Stores{SessionStore: s, LinkStore: s, PasskeyStore: s, PairingStore: s, PushStore: s, GoneStore: s}
}

// AddLink keeps a login link, appends its event to the log and marks the platform
// update handled (if not nil), in one transaction. If the update was handled before, it
// writes no row and returns approval.ErrHandled.
func (s *Store) AddLink(ctx context.Context, l signin.LoginLink, e approval.Event, handled *approval.InboundRef) error {
	return s.do(ctx, func(t *tx) error {
		if err := t.firstTime(handled); err != nil {
			return err
		}
		t.own.events = append(t.own.events, e)
		columns := []any{l.Hash, l.Person, l.By, stored(l.Enrols), l.EndsMs}
		return t.put(insertLink, append(columns, t.keys.rows.mac("login_links", columns))...)
	})
}

// firstTime marks a platform update handled: approval.ErrHandled when it was before.
func (t *tx) firstTime(handled *approval.InboundRef) error {
	fresh, err := t.handled(handled)
	if err == nil && !fresh {
		return approval.ErrHandled
	}
	return err
}

// Link gives the login link of that hash, or CodeNotFound.
func (s *Store) Link(ctx context.Context, hash string) (l signin.LoginLink, err error) {
	rows, err := s.read.query(ctx, selectLink, hash)
	if err != nil {
		return l, err
	}
	var mac text
	found, err := one(rows, (*text)(&l.Hash), (*text)(&l.Person), (*text)(&l.By), (*truth)(&l.Enrols),
		(*number)(&l.EndsMs), &mac)
	if err == nil && found && !s.keys.rows.row("login_links").text(l.Hash).text(l.Person).text(l.By).
		number(stored(l.Enrols)).number(l.EndsMs).fits(string(mac)) {
		return signin.LoginLink{}, s.keys.rows.doubt("login_links", hash)
	}
	if err == nil && !found {
		err = approval.Refuse(approval.CodeNotFound, "There is no such link.")
	}
	return l, err
}

// SignIn commits a session with what it uses up, its event and its notices, in one
// transaction. It returns CodeNotFound if its link is not there (any more), and
// CodeAlreadyUsed if what it uses up was used before; then it writes no row. If several
// calls use the same at once, in any instances, one wins.
func (s *Store) SignIn(ctx context.Context, in signin.SignedIn) error {
	return s.doOn(ctx, locks{names: []int64{hash("signin", in.Link, in.Once)}}, func(t *tx) error {
		if err := t.useUp(in); err != nil {
			return err
		}
		t.own.events = append(t.own.events, in.Event)
		if err := t.notices(in.Notices); err != nil {
			return err
		}
		x := in.Session
		return t.put(insertSession, in.Cookie, t.keys.rows.session(in.Cookie, x).end(), x.ID, x.Person, x.How, x.Browser, stored(x.Enrols), x.CreatedMs, x.UsedMs,
			x.EndsMs)
	})
}

func (t *tx) useUp(in signin.SignedIn) error {
	if in.Link != "" {
		if n, err := t.exec(spendLink, in.Link, in.Session.CreatedMs); err != nil || n == 0 {
			return orRefuse(err, approval.CodeNotFound, "There is no such link.")
		}
	}
	if in.Once != "" {
		if n, err := t.exec(spendOnce, in.Once, in.OnceMs); err != nil || n == 0 {
			return orRefuse(err, approval.CodeAlreadyUsed, "This link or passkey answer was already used to sign in.")
		}
	}
	return nil
}

func orRefuse(err error, code approval.Code, text string) error {
	if err != nil {
		return err
	}
	return approval.Refuse(code, "%s", text)
}

// Session gives the session of a cookie by its hash, or CodeNotFound. Whether it still
// holds is not looked at.
func (s *Store) Session(ctx context.Context, cookie string) (signin.Session, error) {
	all, err := s.keys.scanSessions(s.read.query(ctx, sessionOf, cookie))
	if err == nil && len(all) == 0 {
		return signin.Session{}, approval.Refuse(approval.CodeNotFound, "There is no such session, or it has ended.")
	}
	if err != nil {
		return signin.Session{}, err
	}
	return all[0], nil
}

// Sessions gives a person's sessions that were not swept, newest first.
func (s *Store) Sessions(ctx context.Context, person string) ([]signin.Session, error) {
	return s.keys.scanSessions(s.read.query(ctx, sessionsOf, person))
}

// session begins the MAC of a session.
func (r *rowKey) session(cookie string, x signin.Session) *maker {
	return r.row("sessions").text(x.ID).text(cookie).text(x.Person).text(x.How).text(x.Browser).number(stored(x.Enrols)).
		number(x.CreatedMs).number(x.UsedMs).number(x.EndsMs)
}

// scanSessions reads sessions, without those that are not believed.
func (k keyring) scanSessions(rows result, err error) (all []signin.Session, _ error) {
	failed := k.eachSession(rows, err, func(x signin.Session, _ string) { all = append(all, x) })
	return all, failed
}

// eachSession calls found with each session that is believed, and the hash of its cookie.
func (k keyring) eachSession(rows result, err error, found func(x signin.Session, cookie string)) error {
	if err != nil {
		return err
	}
	return each(rows, func() error {
		var x signin.Session
		var cookie, mac text
		err := rows.Scan(&cookie, &mac, (*text)(&x.ID), (*text)(&x.Person), (*text)(&x.How), (*text)(&x.Browser), (*truth)(&x.Enrols),
			(*number)(&x.CreatedMs), (*number)(&x.UsedMs), (*number)(&x.EndsMs))
		if err == nil && !k.rows.session(string(cookie), x).fits(string(mac)) {
			_ = k.rows.doubt("sessions", x.ID) // logged and counted
			return nil
		}
		if err == nil {
			found(x, string(cookie))
		}
		return err
	})
}

// TouchSession writes down that a session was used. One that has ended meanwhile stays so.
func (s *Store) TouchSession(ctx context.Context, id string, usedMs int64) error {
	return s.do(ctx, func(t *tx) error {
		mac := ""
		rows, err := t.rows(sessionByID, id)
		err = t.keys.eachSession(rows, err, func(x signin.Session, cookie string) {
			x.UsedMs = usedMs
			mac = t.keys.rows.session(cookie, x).end()
		})
		if err != nil || mac == "" {
			return err
		}
		_, err = t.exec(touchSession, usedMs, id, mac)
		return err
	})
}

// EndSessions ends the sessions that the filter selects, appends what event makes of
// each to the log and marks the platform update handled (if not nil), in one
// transaction. It gives what it ended: if several calls end the same at once, one does.
// If no session or link was left to end, it writes no row. The push subscriptions made in
// them end too, or go over to f.Next; see signin.SessionStore.
func (s *Store) EndSessions(
	ctx context.Context, f signin.SessionFilter, handled *approval.InboundRef, event func(signin.Session) approval.Event,
	unsubscribed func(signin.PushSubscription) approval.Event,
) (ended []signin.Session, err error) {
	err = s.do(ctx, func(t *tx) error {
		ended = nil
		subscriptions, err := t.endPushOf(f, unsubscribed)
		if err != nil {
			return err
		}
		all, err := t.keys.scanSessions(t.rows(sessionsOf, f.Person))
		if err != nil {
			return err
		}
		for _, x := range all {
			if f.ID != "" && x.ID != f.ID || x.ID == f.But {
				continue
			}
			n, err := t.exec(endSession, x.ID)
			if err != nil {
				return err
			}
			if n > 0 {
				ended = append(ended, x)
				t.own.events = append(t.own.events, event(x))
			}
		}
		if len(ended) > 0 || subscriptions > 0 {
			_, err = t.handled(handled)
		}
		return err
	})
	return ended, err
}

// notices puts messages to people into the outbox that belong to no approval.
func (t *tx) notices(all []core.Notice) error {
	for _, n := range all {
		err := t.put(insertNotice, n.ID, n.Target.Channel, n.Target.To, n.Text, n.Session, n.CreatedMs, n.DueMs, n.Attempts)
		if err != nil {
			return err
		}
	}
	return nil
}

// Notices gives at most limit notices that wait to be posted, in the order in which they
// are due.
func (s *Store) Notices(ctx context.Context, limit int) (all []core.Notice, err error) {
	rows, err := s.read.query(ctx, dueNotices, limit)
	if err != nil {
		return nil, err
	}
	err = each(rows, func() error {
		var n core.Notice
		var attempts number
		err := rows.Scan((*text)(&n.ID), (*text)(&n.Target.Channel), (*text)(&n.Target.To), (*text)(&n.Text),
			(*text)(&n.Session), (*number)(&n.CreatedMs), (*number)(&n.DueMs), &attempts)
		n.Attempts = int(attempts)
		all = append(all, n)
		return err
	})
	return all, err
}

// NoticeTried writes down what became of a try: it is gone (dueMs 0), or to be tried
// again at dueMs.
func (s *Store) NoticeTried(ctx context.Context, n core.Notice, dueMs int64) error {
	return s.do(ctx, func(t *tx) error {
		if dueMs == 0 {
			return t.put(dropNotice, n.ID)
		}
		return t.put(delayNotice, dueMs, n.Attempts+1, n.ID)
	})
}

// sweepWeb deletes sessions and links that are over, and what need not be remembered as
// spent any more.
func (s *Store) sweepWeb(ctx context.Context, now int64) error {
	gone := 0
	for _, statement := range []string{sweepSessions, sweepLinks, sweepSpent} {
		if err := s.sweep(ctx, statement, now-clocksApartMs, &gone); err != nil {
			return err
		}
	}
	return nil
}
