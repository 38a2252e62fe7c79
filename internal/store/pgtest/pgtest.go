// Package pgtest gives tests a PostgreSQL server of their own: made in a folder
// under the system's temporary one, or under /tmp where that one's path is too long
// for a socket's, reached by a socket in it. Only tests import it.
//
// A server ends with the process that started it, however that ends: a shell
// stands between, which waits for orders on a pipe and clears up when it closes.
package pgtest

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// Require names the environment variable that, set to 1, makes a missing
// PostgreSQL a failure instead of a skipped test.
const Require = "APPROVALBOT_REQUIRE_POSTGRES"

const wayOut = "install it (apt-get install -y postgresql), or put its initdb on PATH"

var shared struct {
	once   sync.Once
	server *Server
	err    error
}

// New gives the URL of a fresh, empty database on the one server that all tests
// of this binary share. Where PostgreSQL is missing the test is skipped.
func New(t testing.TB) (url string) {
	t.Helper()
	shared.once.Do(func() {
		if bin() != "" {
			shared.server, shared.err = launch()
		}
	})
	return use(t, shared.server, shared.err).New(t)
}

// Start gives a server for this test alone, to be stopped and started at will. It
// ends with the test. Where PostgreSQL is missing the test is skipped.
func Start(t testing.TB) *Server {
	t.Helper()
	var s *Server
	var err error
	if bin() != "" {
		if s, err = launch(); err == nil {
			t.Cleanup(s.end)
		}
	}
	return use(t, s, err)
}

func use(t testing.TB, s *Server, err error) *Server {
	t.Helper()
	switch {
	case err != nil:
		t.Fatalf("PostgreSQL could not be started: %v", err)
	case s == nil && os.Getenv(Require) == "1":
		t.Fatalf("%s=1, and PostgreSQL is not on this machine: %s", Require, wayOut)
	case s == nil:
		t.Skipf("PostgreSQL: not tested, %s", wayOut)
	}
	return s
}

var databases atomic.Int64

// New makes an empty database and gives its URL.
func (s *Server) New(t testing.TB) (url string) {
	t.Helper()
	name := fmt.Sprintf("test%d", databases.Add(1))
	conn, err := pgconn.Connect(context.Background(), s.url("postgres"))
	if err != nil {
		t.Fatalf("PostgreSQL does not answer: %v\n%s", err, s.log())
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(context.Background(), "CREATE DATABASE "+name+" TEMPLATE template0").ReadAll(); err != nil {
		t.Fatalf("database %s could not be made: %v", name, err)
	}
	return s.url(name)
}

func (s *Server) url(database string) string {
	return fmt.Sprintf("postgres:///%s?host=%s&port=5432&user=desk", database, s.dir)
}
