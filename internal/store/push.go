package store

import (
	"context"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/signin"
)

const (
	pushColumns = `id, person, endpoint, p256dh, auth, browser, created_ms, session`
	selectPush  = `SELECT ` + pushColumns + ` FROM push_subscriptions WHERE id = $1`
	pushOf      = `SELECT ` + pushColumns + ` FROM push_subscriptions WHERE person = $1 ORDER BY created_ms, id`
	pushed      = `SELECT id, person FROM push_subscriptions ORDER BY created_ms, id`
	countPush   = `SELECT COUNT(*) FROM push_subscriptions WHERE person = $1 AND endpoint <> $2`
	keepPush    = `INSERT INTO push_subscriptions (` + pushColumns + `) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
 ON CONFLICT (endpoint) DO UPDATE SET id = excluded.id, person = excluded.person, p256dh = excluded.p256dh,
 auth = excluded.auth, browser = excluded.browser, created_ms = excluded.created_ms, session = excluded.session`
	dropPush  = `DELETE FROM push_subscriptions WHERE id = $1 AND ($2 = '' OR person = $2)`
	endPush   = `DELETE FROM push_subscriptions WHERE id = $1`
	adoptPush = `UPDATE push_subscriptions SET session = $3 WHERE person = $1 AND session = $2`
)

// KeepPush adds a subscription with its event and notices, in place of any other of its
// endpoint, in one transaction, unless the person has limit others: CodeRateLimited.
func (s *Store) KeepPush(
	ctx context.Context, p signin.PushSubscription, limit int, e approval.Event, tell []core.Notice,
) error {
	return s.doOn(ctx, locks{names: []int64{hash("push", p.Person)}}, func(t *tx) error {
		rows, err := t.rows(countPush, p.Person, p.Endpoint)
		if err != nil {
			return err
		}
		var n number
		if _, err := one(rows, &n); err != nil {
			return err
		}
		if int(n) >= limit {
			t.refused = true
			return approval.Refuse(approval.CodeRateLimited,
				"You get notifications in %d browsers, which is the limit. Turn them off in one of these browsers "+
					"first.", n)
		}
		t.own.events = append(t.own.events, e)
		if err := t.notices(tell); err != nil {
			return err
		}
		return t.put(keepPush, p.ID, p.Person, p.Endpoint, p.P256dh, p.Auth, p.Browser, p.CreatedMs, p.Session)
	})
}

// endPushOf ends the subscriptions of the sessions that a filter selects, or gives them to
// its Next, and says how many it ended.
func (t *tx) endPushOf(f signin.SessionFilter, event func(signin.PushSubscription) approval.Event) (n int, err error) {
	if f.Next != "" {
		return 0, t.put(adoptPush, f.Person, f.ID, f.Next)
	}
	all, err := readSubscriptions(t.rows(pushOf, f.Person))
	for _, p := range all {
		if f.ID != "" && p.Session != f.ID || f.But != "" && p.Session == f.But {
			continue
		}
		ended, err := t.endPush(p, event)
		if err != nil {
			return n, err
		}
		n += ended
	}
	return n, err
}

// endPush ends a subscription with its event, if no other has.
func (t *tx) endPush(p signin.PushSubscription, event func(signin.PushSubscription) approval.Event) (int, error) {
	n, err := t.exec(endPush, p.ID)
	if err == nil && n > 0 {
		t.own.events = append(t.own.events, event(p))
	}
	return int(n), err
}

// DropPush removes a subscription; if person is not empty, only one of that person's own.
func (s *Store) DropPush(ctx context.Context, person, id string) error {
	return s.do(ctx, func(t *tx) error { return t.put(dropPush, id, person) })
}

// Push gives one subscription, or CodeNotFound.
func (s *Store) Push(ctx context.Context, id string) (signin.PushSubscription, error) {
	found, err := s.subscriptions(ctx, selectPush, id)
	if err != nil || len(found) == 0 {
		return signin.PushSubscription{}, orNotFound(err)
	}
	return found[0], nil
}

func orNotFound(err error) error {
	if err != nil {
		return err
	}
	return approval.Refuse(approval.CodeNotFound, "There is no such subscription to notifications.")
}

// PushOf gives a person's subscriptions, oldest first.
func (s *Store) PushOf(ctx context.Context, person string) ([]signin.PushSubscription, error) {
	return s.subscriptions(ctx, pushOf, person)
}

func (s *Store) subscriptions(ctx context.Context, query string, args ...any) (all []signin.PushSubscription, err error) {
	return readSubscriptions(s.read.query(ctx, query, args...))
}

func readSubscriptions(rows result, err error) (all []signin.PushSubscription, _ error) {
	if err != nil {
		return nil, err
	}
	err = each(rows, func() error {
		var p signin.PushSubscription
		err := rows.Scan((*text)(&p.ID), (*text)(&p.Person), (*text)(&p.Endpoint), (*text)(&p.P256dh), (*text)(&p.Auth),
			(*text)(&p.Browser), (*number)(&p.CreatedMs), (*text)(&p.Session))
		all = append(all, p)
		return err
	})
	return all, err
}

// subscribed gives each subscriber with the subscriptions to notify.
func (t *tx) subscribed() (all []core.Subscriber, err error) {
	rows, err := t.rows(pushed)
	if err != nil {
		return nil, err
	}
	err = each(rows, func() error {
		var p core.Subscriber
		err := rows.Scan((*text)(&p.ID), (*text)(&p.Person))
		all = append(all, p)
		return err
	})
	return all, err
}
