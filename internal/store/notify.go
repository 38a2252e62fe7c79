package store

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"approvalbot/internal/approval"
)

const (
	notifyOn    = "approvalbot"
	sendNote    = `SELECT pg_notify('` + notifyOn + `', $1)`
	maxNote     = 7900            // bytes; PostgreSQL takes 8000
	pollEvery   = 2 * time.Second // even if no notification came
	listenAgain = time.Second
	eventsAfter = `SELECT seq, key FROM events WHERE seq > $1 ORDER BY seq LIMIT $2`
	logPage     = 1000
)

// note is what a commit tells the other instances: that there is something to
// read, and what is not in the log.
type note struct {
	From  string      `json:"from"`
	Chats [][2]string `json:"chats,omitempty"` // whose deliveries changed
	Any   bool        `json:"any,omitempty"`   // so many that any could
	Freed bool        `json:"freed,omitempty"` // leases were given back
	Moved bool        `json:"moved,omitempty"` // a chat lives elsewhere now
	// Policy: another policy counts, or a configuration was loaded.
	Policy bool `json:"policy,omitempty"`
}

// Changed is what other instances may have changed.
type Changed struct {
	// Keys are the approvals with new events in the log.
	Keys []string
	// Head is the number of the log's newest entry.
	Head int64
	// People says that there are entries that are not about an approval: a person may be
	// away or back.
	People bool
	// Moved says that chats may live elsewhere now: see [Store.Moves].
	Moved bool
}

// notifyCommitted notifies the other instances of what the batch commits.
func (b *batch) notifyCommitted(from string) error {
	if !b.dialect.many {
		return nil
	}
	n := note{From: from, Moved: b.done.moved}
	seen := map[approval.Target]bool{}
	for _, w := range b.done.stirred {
		if c := w.Target.Chat(); !w.done() && !seen[c] {
			seen[c] = true
			n.Chats = append(n.Chats, [2]string{c.Channel, c.To})
		}
	}
	if len(b.done.events) == 0 && len(n.Chats) == 0 && !b.done.inbound {
		return nil
	}
	return b.notify(n)
}

func (b *batch) notify(n note) error {
	text, err := json.Marshal(n)
	if err == nil && len(text) > maxNote {
		n.Chats, n.Any = nil, true
		text, err = json.Marshal(n)
	}
	if err != nil {
		return err
	}
	return b.put(sendNote, string(text))
}

// Listen calls changed for all that other instances have committed since the store was opened,
// until ctx ends: right after their commits, and every two seconds in any case, since a
// notification may be lost with its connection. What others said of the policy is known by then.
// Keys of this instance's own changes may be among them. changed runs in one goroutine and should
// be quick: it wakes the callers that wait for these approvals or read the log, the dispatchers,
// the timers and the handler of platform updates. The connection is made anew whenever it is lost.
// With SQLite no other process changes the store, and changed is never called.
func (s *Store) Listen(ctx context.Context, changed func(Changed)) error {
	if !s.dialect.many {
		<-ctx.Done()
		return nil
	}
	l := &listener{store: s, changed: changed, head: s.opened}
	for ctx.Err() == nil {
		err := l.listen(ctx)
		if ctx.Err() != nil {
			break
		}
		s.log.Warn("notifications from other instances do not arrive; polling for changes instead", "reason", err)
		l.poll(ctx)
		select {
		case <-time.After(listenAgain):
		case <-ctx.Done():
		}
	}
	return nil
}

type listener struct {
	store   *Store
	changed func(Changed)
	head    int64 // of the log, as far as it was told
	notes   []note
	moved   bool // and changed was not called for it
}

// listen waits for notifications on a connection of its own until that is lost.
func (l *listener) listen(ctx context.Context) error {
	config := l.store.listen.Config.Copy()
	config.OnNotification = func(_ *pgconn.PgConn, n *pgconn.Notification) {
		var got note
		if json.Unmarshal([]byte(n.Payload), &got) != nil {
			got = note{Any: true, Freed: true, Moved: true, Policy: true}
		}
		l.notes = append(l.notes, got)
	}
	begin, cancel := context.WithTimeout(ctx, networkPatience)
	defer cancel()
	conn, err := pgconn.ConnectConfig(begin, config)
	if err != nil {
		return connectFailure(err)
	}
	defer func() {
		bye, cancel := context.WithTimeout(context.Background(), goodbyeFor)
		defer cancel()
		conn.Close(bye)
	}()
	if _, err := conn.Exec(begin, "LISTEN "+notifyOn).ReadAll(); err != nil {
		return err
	}
	l.moved = true // for all that is known
	l.poll(ctx)
	for {
		l.notes = l.notes[:0]
		wait, cancel := context.WithTimeout(ctx, pollEvery)
		err := conn.WaitForNotification(wait)
		cancel()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			l.take()
		case pgconn.Timeout(err):
			if err := ping(ctx, conn); err != nil { // only a ping shows that the network is gone
				return err
			}
			l.take()
			l.poll(ctx)
		default:
			return err
		}
	}
}

func ping(ctx context.Context, conn *pgconn.PgConn) error {
	ctx, cancel := context.WithTimeout(ctx, networkPatience)
	defer cancel()
	return conn.Ping(ctx)
}

// take does what notifications of others ask for.
func (l *listener) take() {
	foreign := slices.DeleteFunc(l.notes, func(n note) bool { return n.From == l.store.heartbeat.id })
	if len(foreign) == 0 {
		return
	}
	var chats []waiting
	policy := false
	for _, n := range foreign {
		l.moved, policy = l.moved || n.Moved, policy || n.Policy
		for _, c := range n.Chats {
			chats = append(chats, anything(approval.Target{Channel: c[0], To: c[1]}))
		}
		if n.Any || n.Freed {
			chats = append(chats, anyChats...)
		}
		if n.Freed {
			l.store.heartbeat.wake()
			l.store.due.foreign.stale()
		}
	}
	l.store.due.touch(chats)
	if policy {
		if err := l.store.readPolicy(context.Background()); err != nil {
			l.store.log.Warn("could not read which policy is in force; trying again", "reason", err)
		}
	}
	l.read()
}

// poll looks whether anything has changed, in case a notification was lost.
func (l *listener) poll(ctx context.Context) {
	if ctx.Err() == nil {
		l.store.due.touch(anyChats)
		l.read()
	}
}

// read reads on in the log and calls changed with what is new. If the log cannot be read
// now, the next call catches up.
func (l *listener) read() {
	c, err := l.news()
	if err != nil {
		l.store.log.Warn("could not read new records of the log; trying again", "reason", err)
		return
	}
	c.Moved, l.moved = l.moved, false
	l.changed(c)
}

// news reads all that is new. What is read is news again until all of it is.
func (l *listener) news() (c Changed, err error) {
	seen := map[string]bool{}
	c.Head = l.head
	for n := logPage; n == logPage; {
		n = 0
		rows, err := l.store.read.query(context.Background(), eventsAfter, c.Head, logPage)
		if err != nil {
			return c, err
		}
		err = each(rows, func() error {
			var key text
			n++
			err := rows.Scan((*number)(&c.Head), &key)
			c.People = c.People || key == ""
			if key != "" && !seen[string(key)] {
				seen[string(key)] = true
				c.Keys = append(c.Keys, string(key))
			}
			return err
		})
		if err != nil {
			return c, err
		}
	}
	l.head = c.Head
	return c, nil
}
