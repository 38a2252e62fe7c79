package store

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"approvalbot/internal/approval"
)

var (
	// errFate: the connection was lost while it committed.
	errFate = errors.New("the connection was lost during COMMIT")
	errLate = errors.New("the database was busy with other changes for too long")
)

// failure is an error of the database's: the caller gets CodeUnavailable, the log gets
// the cause.
type failure struct {
	refusal *approval.Error
	cause   error
}

// Error gives both.
func (f *failure) Error() string { return f.refusal.Message + " " + f.cause.Error() }

// Unwrap gives both.
func (f *failure) Unwrap() []error { return []error{f.refusal, f.cause} }

// unwritten is the error for a caller whose change could not be committed.
func unwritten(cause error) error {
	message := "The store could not commit, so the change was not written."
	if errors.Is(cause, errFate) {
		message = "The connection to the database broke while the change was being stored, so it is not known " +
			"whether it was stored: look before you try again."
	}
	return &failure{approval.Refuse(approval.CodeUnavailable, "%s", message), cause}
}

// unreadable is the error for a reader whose question the database did not answer.
func unreadable(err error) error {
	if err == nil || approval.CodeOf(err) != "" {
		return err
	}
	return &failure{approval.Refuse(approval.CodeUnavailable, "The store could not be read."), err}
}

// isOutrun reports whether another instance was in the way: the same again will
// do (serialization failure, deadlock, lock not available).
func isOutrun(err error) bool {
	return slices.Contains([]string{"40001", "40P01", "55P03"}, state(err))
}

// isLost reports whether the connection is no longer good, and another may be.
func isLost(err error) bool {
	for _, lost := range []error{driver.ErrBadConn, pgconn.ErrConnClosed, io.EOF, io.ErrUnexpectedEOF} {
		if errors.Is(err, lost) {
			return true
		}
	}
	var network net.Error
	if errors.As(err, &network) {
		return true
	}
	s := state(err)
	return strings.HasPrefix(s, "57P") || strings.HasPrefix(s, "08") || // shut down, connection
		s == "25006" || // a standby by now: the next connection finds the primary
		s == "0A000" || s == "26000" // the schema has changed since a statement was prepared
}

// state is PostgreSQL's SQLSTATE; empty for an error that is not PostgreSQL's.
func state(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// errStale says that another instance was faster: look again.
var errStale = fmt.Errorf("other instances changed the same records first at every attempt; try again")

// errCareful asks for another attempt with savepoints.
var errCareful = errors.New("a job failed after it had written")

var errEnded = errors.New("the store is closed: the change was not written")

var errSilent = errors.New("the database does not answer")

func notFound() error { return approval.Refuse(approval.CodeNotFound, "There is no such approval.") }
