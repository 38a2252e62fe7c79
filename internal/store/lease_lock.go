package store

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// An instance that dies is noticed sooner than by its silence: it holds an advisory lock, which
// PostgreSQL frees with the connection. This order keeps two instances from working under one lease
// at once:
//
//   - A lock has a number of its own, which is written to the instance's row and to the leases
//     taken under it only once it is held. A lock that is lost is never taken again; the next
//     one has another number. So a lock that was seen free stays free.
//   - The holder counts on the lock for a second after it asked on that connection for an answer
//     that came. Then it drops what it holds under it.
//   - Others take what is held under a lock two seconds after they saw it free.
//
// The rule of ten seconds (leaseMs) goes on beside it: for an instance that is frozen, whose kernel
// keeps its connection, one of an older version, and one that a pooler serves.
const (
	lockLook  = 250 * time.Millisecond // how often a holder asks, and others look
	lockTrust = time.Second            // after the question that was answered last
	lockAgain = time.Second            // after one was lost or could not be had
)

// lockKeepalives has the server drop a connection three seconds after the last sign of its other side.
const lockKeepalives = `SET tcp_keepalives_idle = 1; SET tcp_keepalives_interval = 1; SET tcp_keepalives_count = 2;
 SET tcp_user_timeout = 3000; `

// lockDialer finds a dead connection as soon.
var lockDialer = net.Dialer{KeepAliveConfig: net.KeepAliveConfig{
	Enable: true, Idle: time.Second, Interval: time.Second, Count: 2,
}}

var (
	errPooled = errors.New("a connection pooler is in between, so this instance has no database connection of its " +
		"own")
	errLapsed = errors.New("the database did not answer for a second")
)

// keepLock holds a lock of this instance's until ctx ends, another one whenever one is lost.
func (s *Store) keepLock(ctx context.Context) {
	for said := ""; ; {
		err := s.holdLock(ctx)
		if ctx.Err() != nil {
			return
		}
		if err.Error() != said {
			said = err.Error()
			s.log.Warn("could not get a database lock; if this instance crashes, the other instances wait ten "+
				"seconds before they take its leases", "reason", err)
		}
		select {
		case <-time.After(lockAgain):
		case <-ctx.Done():
			return
		}
	}
}

// holdLock takes a lock, tells the others, and returns why it is lost.
func (s *Store) holdLock(ctx context.Context) error {
	config := s.listen.Config.Copy()
	config.DialFunc = lockDialer.DialContext
	begin, cancel := context.WithTimeout(ctx, connectPatience)
	defer cancel()
	conn, err := pgconn.ConnectConfig(begin, config)
	if err != nil {
		return connectFailure(err)
	}
	defer func() {
		bye, cancel := context.WithTimeout(context.Background(), lockLook)
		defer cancel()
		conn.Close(bye)
	}()
	if err := ownConnection(begin, conn); err != nil {
		return err
	}
	number, asked := rand.Int64N(1<<62)+1, time.Now()
	got, err := answerTo(begin, conn, lockKeepalives+"SELECT pg_try_advisory_lock("+strconv.FormatInt(number, 10)+")")
	if err != nil {
		return err
	}
	if got != "t" {
		return errors.New("the database refused this instance a lock")
	}
	s.heartbeat.lockIs(number, asked.Add(lockTrust))
	defer s.heartbeat.unlock(number)
	for {
		select {
		case <-time.After(lockLook):
		case <-ctx.Done():
			return ctx.Err()
		}
		asked = time.Now()
		ask, cancel := context.WithTimeout(ctx, lockTrust)
		err := ownConnection(ask, conn)
		cancel()
		if err != nil {
			return err
		}
		if !s.heartbeat.renewLock(number, asked.Add(lockTrust)) {
			return errLapsed
		}
	}
}

// ownConnection refuses a connection whose statements a pooler may give to another one of the
// server's: with a pooler, the process that answers is not the one that the client was told of, or
// changes with each statement.
func ownConnection(ctx context.Context, conn *pgconn.PgConn) error {
	pid, err := answerTo(ctx, conn, "SELECT pg_backend_pid()")
	if err == nil && pid != strconv.FormatUint(uint64(conn.PID()), 10) {
		err = errPooled
	}
	return err
}

// answerTo gives the one value that the last statement gives.
func answerTo(ctx context.Context, conn *pgconn.PgConn, statements string) (string, error) {
	all, err := conn.Exec(ctx, statements).ReadAll()
	if err != nil {
		return "", err
	}
	rows := all[len(all)-1].Rows
	if len(rows) != 1 || len(rows[0]) != 1 {
		return "", errors.New("the database gave no answer")
	}
	return string(rows[0][0]), nil
}

// freeLocks are locks, of instances that were seen lately, that no session holds. A standby knows of no locks at all.
const freeLocks = `SELECT i.id, i.lock_no FROM instances i
 WHERE i.lock_no <> 0 AND i.id <> $1 AND i.seen_ms > ` + databaseTime + ` - $2 AND NOT pg_is_in_recovery() AND NOT EXISTS (SELECT 1 FROM pg_locks l
  WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
  AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND (CAST(l.classid AS BIGINT) << 32) + CAST(l.objid AS BIGINT) = i.lock_no)`

// watchLocks looks after the others' locks until ctx ends, and wakes the waiting callers when the
// leases under one can be taken.
func (s *Store) watchLocks(ctx context.Context) {
	look := time.NewTicker(lockLook)
	defer look.Stop()
	for {
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
		dead, _ := s.lookForDead(ctx) // if the database does not answer, others say so
		for _, l := range dead {
			s.log.Warn("another instance has died; its leases can be taken", "instance", l.instance)
			_ = s.do(ctx, func(t *tx) error { return t.notify(note{From: l.instance, Freed: true}) }) // or a second later
		}
	}
}

// lookForDead gives the locks that are free for long enough by now.
func (s *Store) lookForDead(ctx context.Context) ([]heldLock, error) {
	rows, err := s.read.query(ctx, freeLocks, s.heartbeat.id, leaseMs)
	if err != nil {
		return nil, err
	}
	var free []heldLock
	err = each(rows, func() error {
		var l heldLock
		err := rows.Scan((*text)(&l.instance), (*number)(&l.number))
		free = append(free, l)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.heartbeat.sawFree(free, time.Now()), nil
}

const putUnderLock = `UPDATE leases SET lock_no = $2 WHERE holder = $1 AND lock_no <> $2 AND (name, token) IN (
 SELECT * FROM unnest(CAST($3 AS TEXT[]), CAST($4 AS BIGINT[])))`

// putUnder puts leases that were taken under no lock under this one. They count on it from now on,
// even if the transaction fails.
func (t *tx) putUnder(h *heartbeat, lock int64, leases []*lease) error {
	var names []string
	var tokens []int64
	h.mu.Lock()
	for _, l := range leases {
		if lock != 0 && l.lock == 0 {
			l.lock = lock
		}
		if l.lock == lock {
			names, tokens = append(names, l.name), append(tokens, l.token)
		}
	}
	h.mu.Unlock()
	if lock == 0 || len(names) == 0 {
		return nil
	}
	_, err := t.exec(putUnderLock, h.id, lock, array(names), array(tokens))
	return err
}
