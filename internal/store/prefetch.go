package store

import (
	"context"
	"database/sql/driver"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// A statement on a shared database is a way to its server and back, and a batch
// has many. So statements whose outcome nobody waits for go along with the next
// that somebody does (later), and what jobs will look up first is looked up for all
// of them together (prefetch): a batch of any size takes three ways. On SQLite
// there is no way to go, and every statement is run at once.
//
// A statement that fails later than it was asked for fails the batch, which is then
// tried again carefully: job by job, with every statement run at once.

// anyNumber of rows may be changed.
const anyNumber = -1

// later runs a statement before the next that is answered. When it changes another
// number of rows than it must, that one fails with errStale.
func (w *writer) later(text string, must int64, args ...any) error {
	if !w.dialect.many {
		n, err := w.exec(text, args...)
		if err == nil && must != anyNumber && n != must {
			err = errStale
		}
		return err
	}
	if err := storableArgs(args); err != nil {
		return err
	}
	w.queue = append(w.queue, queued{text: text + w.dialect.locking[text], args: args, must: must})
	return nil
}

// ask runs what is queued and then a statement, and gives its answer, which may be
// known already.
func (w *writer) ask(text string, args []any) (*answer, error) {
	if err := storableArgs(args); err != nil {
		return nil, err
	}
	text += w.dialect.locking[text]
	if len(w.kept) > 0 {
		name := keptAs(text, args)
		if a, asked := w.kept[name]; asked {
			if a == nil { // it is among what is queued
				if _, err := w.send(); err != nil {
					return nil, err
				}
				a = w.kept[name]
			}
			delete(w.kept, name)
			return a, nil
		}
	}
	return w.send(queued{text: text, args: args, must: anyNumber})
}

// send runs what is queued and then last, and gives the last answer. The first
// statement that fails fails all that come after it.
func (w *writer) send(last ...queued) (a *answer, err error) {
	all := append(w.queue, last...)
	w.queue = nil
	if lost := w.conn.Raw(func(raw any) error {
		conn := raw.(*stdlib.Conn).Conn()
		if conn.IsClosed() {
			return driver.ErrBadConn
		}
		var b pgx.Batch
		for _, q := range all {
			b.Queue(q.text, q.args...)
		}
		results := conn.SendBatch(context.Background(), &b)
		a, err = w.take(results, all)
		if ended := results.Close(); err == nil {
			err = ended
		}
		return nil // its error is not for database/sql to judge
	}); lost != nil {
		return nil, driver.ErrBadConn
	}
	return a, err
}

func (w *writer) take(results pgx.BatchResults, all []queued) (a *answer, err error) {
	for _, q := range all {
		rows, err := results.Query()
		if err == nil {
			a, err = readAnswer(rows)
		}
		if err != nil {
			return nil, fmt.Errorf("%.40q: %w", q.text, err)
		}
		if n := a.tag.RowsAffected(); q.must != anyNumber && n != q.must {
			return nil, fmt.Errorf("%.40q changes %d rows: %w", q.text, n, errStale)
		}
		if _, wanted := w.kept[q.keep]; wanted {
			w.kept[q.keep] = a
		}
	}
	return a, nil
}

// queued is a statement whose answer nobody waits for.
type queued struct {
	text string
	args []any
	must int64  // change so many rows, or anyNumber
	keep string // not empty: keep the answer under this name
}

// keptAs names the answer to a statement with these values.
func keptAs(text string, args []any) string {
	name := []byte(text)
	for _, a := range args {
		name = fmt.Append(append(name, 0), a)
	}
	return string(name)
}

// settle makes sure that nothing but the commit is left to be said: COMMIT may go
// along with other statements only if whatever happens to those fails it too, and if
// the connection is known to live.
func (w *writer) settle() error {
	if !w.dialect.many {
		return nil
	}
	unsure := slices.ContainsFunc(w.queue, func(q queued) bool { return q.must != anyNumber })
	if w.met && !unsure {
		return nil
	}
	_, err := w.send()
	return err
}

// forget drops what waits to be run, and what was prefetched.
func (w *writer) forget() { w.queue, w.kept = nil, nil }

// put runs a statement whose outcome need not be known before the commit.
func (b *batch) put(text string, args ...any) error { return b.putNumber(anyNumber, text, args...) }

func (b *batch) putNumber(must int64, text string, args ...any) error {
	b.wrote = true
	if !b.careful {
		return b.later(text, must, args...)
	}
	n, err := b.writer.exec(text, args...)
	if err == nil && must != anyNumber && n != must {
		err = errStale
	}
	return err
}

// read is something that a job looks up: the names of what the answer depends on
// say when another job of the batch has made it worthless.
type read struct {
	text string
	args []any
	of   []int64
}

// prefetched is what was read for jobs that have not run yet.
type prefetched struct {
	of      map[int64][]string // where it is kept, by what it depends on
	changed map[string]bool    // keys of the approvals that jobs have changed
}

var grantsName = hash("grants")

func keyName(key string) int64 { return hash("key", key) }

func idName(owner, id string) int64 { return hash("id", owner, id) }

func byKey(key string) read { return read{approvalByKey, []any{key}, []int64{keyName(key)}} }

// readsOf are the look-ups of [tx.lookup].
func readsOf(look core.Lookup) (all []read) {
	for _, id := range []string{look.ID, look.Supersedes} {
		if id != "" {
			all = append(all, read{approvalByID, []any{id, look.Owner}, []int64{idName(look.Owner, id)}})
		}
	}
	if look.ID != "" {
		all = append(all, read{meaningOf, []any{look.ID, look.Owner}, []int64{idName(look.Owner, look.ID)}})
	}
	if first, end := core.KeysCalled(look.ID); first != "" {
		all = append(all, read{oneBetween, []any{first, end}, []int64{codeName(core.KeyCode(first))}})
	}
	if look.SessionKey != "" {
		all = append(all, read{keysOfSame, []any{look.Owner, look.Fingerprint, look.AgentID, look.SessionKey},
			[]int64{sameName(look.Owner, look.AgentID, look.SessionKey, look.Fingerprint)}})
	}
	if look.Grants {
		all = append(all, read{grantsOfCall, grantArgs(look), []int64{grantsName}})
	}
	return append(all, read{countPending, []any{look.Owner}, nil}, read{text: readPolicy})
}

// prefetch asks what the jobs will look up.
func (b *batch) prefetch(jobs []*job) error {
	b.prefetched = prefetched{of: map[int64][]string{}, changed: map[string]bool{}}
	b.kept = map[string]*answer{}
	for _, j := range jobs {
		for _, r := range j.on.reads {
			if storableArgs(r.args) != nil {
				continue // the job itself will fail
			}
			text := r.text + b.dialect.locking[r.text]
			name := keptAs(text, r.args)
			if _, asked := b.kept[name]; asked {
				continue // the job before may change it
			}
			b.kept[name] = nil
			b.queue = append(b.queue, queued{text: text, args: r.args, must: anyNumber, keep: name})
			for _, n := range r.of {
				b.prefetched.of[n] = append(b.prefetched.of[n], name)
			}
		}
	}
	return nil
}

// touch forgets what was prefetched of what now changes.
func (b *batch) touch(names ...int64) {
	for _, n := range names {
		for _, name := range b.prefetched.of[n] {
			delete(b.kept, name)
		}
	}
}

// forgetPrefetched forgets all that was prefetched.
func (b *batch) forgetPrefetched() {
	if b.prefetched.of != nil {
		b.prefetched.of = nil
		clear(b.kept)
	}
}

// changed tells the jobs that follow what a change has done to an approval.
func (t *tx) changed(a approval.Approval, c core.Change) {
	if t.prefetched.of == nil {
		return
	}
	names := []int64{idName(a.Owner, a.ID), codeName(a.Code), sameName(a.Owner, a.AgentID, a.SessionKey, a.Fingerprint)}
	for _, id := range c.Aliases {
		names = append(names, idName(a.Owner, id))
	}
	t.touch(names...)
	t.changedKey(a.Key)
}

// changedKey is changed, of what an approval is found with: its row and its deliveries.
func (t *tx) changedKey(key string) {
	if t.prefetched.of != nil {
		t.prefetched.changed[key] = true
		t.touch(keyName(key))
	}
}
