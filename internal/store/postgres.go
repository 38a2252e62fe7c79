package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"net"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/pressly/goose/v3"
)

// oldestPostgres is the oldest major version that its makers still mend, or did
// when this was written.
const oldestPostgres = 14

var postgres = dialect{
	goose: goose.DialectPostgres,
	begin: "BEGIN ISOLATION LEVEL READ COMMITTED",
	many:  true,
	locking: map[string]string{
		// A transaction that removes a grant waits for those that have just used it;
		// later ones do not find it.
		grantsOfCall: " FOR SHARE",
		// No other instance can take a chat while its holder records what it did there.
		chatHolder: " FOR SHARE",
		readHead:   " FOR UPDATE",
		// Others raise a digest while it is recorded, without the lock of its approval.
		deliveryByID: " FOR UPDATE OF d",
	},
	// Names are compared byte by byte, as SQLite does it: pages and prefixes depend
	// on that.
	ddl: strings.NewReplacer(" TEXT", ` TEXT COLLATE "C"`, " INTEGER ", " BIGINT ", " BLOB ", " BYTEA ", " WITHOUT ROWID", "").Replace,
}

// openPostgres opens the pools, for the one writer of this instance and for readers that
// cannot write.
func (s *Store) openPostgres(ctx context.Context, o Options) error {
	config, err := readURL(o.URL)
	if err != nil {
		return err
	}
	s.dialect = postgres
	if err := s.awaitServer(ctx, config, o.Wait); err != nil {
		return err
	}
	setUp := openPostgres(config, pgConnector{}, nil)
	defer setUp.db.Close()
	if err = s.prepare(ctx, setUp, config.Database, o.KeyFile); err != nil {
		return err
	}
	config.ConnectTimeout = connectPatience
	limits := map[string]string{
		"lock_timeout":                        milliseconds(lockPatience),
		"statement_timeout":                   milliseconds(statementPatience),
		"idle_in_transaction_session_timeout": milliseconds(networkPatience),
	}
	s.health = &health{}
	s.write = openPostgres(config, pgConnector{patience: networkPatience, health: s.health}, limits)
	s.write.db.SetMaxOpenConns(1)
	s.read = openPostgres(config, pgConnector{patience: networkPatience, reads: true, health: s.health}, limits)
	s.read.health = s.health
	s.read.size = max(4, runtime.NumCPU())
	s.read.db.SetMaxOpenConns(s.read.size)
	s.read.db.SetMaxIdleConns(s.read.size)
	s.listen = prepareConfig(config, nil)
	s.opened, _, err = s.Head(ctx)
	return err
}

func readURL(url string) (*pgx.ConnConfig, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil { // it may hold the password
		return nil, errors.New("the store's URL cannot be read: write " +
			"postgres://user:password@host:port/database?sslmode=verify-full, with special characters as %XX")
	}
	config.ConnectTimeout = openPatience
	return config, nil
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// durable makes a commit wait for its fsync, should the server not ask for that.
const durable = `SELECT set_config('synchronous_commit', 'on', false)
 WHERE current_setting('synchronous_commit') = 'off'`

// readOnly keeps a connection from writing. It is sent after the connection is made:
// target_session_attrs=read-write accepts only those that can write.
const readOnly = "SET default_transaction_read_only = on"

func openPostgres(config *pgx.ConnConfig, as pgConnector, settings map[string]string) *pool {
	if as.config, as.greet = prepareConfig(config, settings), durable; as.reads {
		as.greet = readOnly
	}
	return &pool{db: sql.OpenDB(&as), many: true}
}

// prepareConfig adds what every connection of ours asks for.
func prepareConfig(config *pgx.ConnConfig, settings map[string]string) *pgx.ConnConfig {
	config = config.Copy()
	config.RuntimeParams["client_encoding"] = "UTF8"
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "approvalbot"
	}
	maps.Copy(config.RuntimeParams, settings)
	return config
}

// lookForServer is how often is looked whether a server takes connections.
const lookForServer = 250 * time.Millisecond

// awaitServer is checkServer, which a server that is only starting is given time for.
func (s *Store) awaitServer(ctx context.Context, config *pgx.ConnConfig, patience time.Duration) error {
	for end, logged := time.Now().Add(patience), false; ; {
		_, err := s.checkServer(ctx, config)
		if err == nil || !isEarly(err) || time.Now().After(end) {
			return err
		}
		if !logged {
			s.log.Warn("PostgreSQL does not accept connections yet; waiting for it", "for", patience, "reason", err)
			logged = true
		}
		select {
		case <-time.After(lookForServer):
		case <-ctx.Done():
			return err
		}
	}
}

// checkServer refuses a server that the store could lose data on, and warns of
// one that others could listen to. shown is the server's version as people write it.
func (s *Store) checkServer(ctx context.Context, config *pgx.ConnConfig) (shown string, err error) {
	p := openPostgres(config, pgConnector{patience: openPatience}, nil)
	defer p.db.Close()
	var version, encoding, fsync string
	var tls bool
	err = p.db.QueryRowContext(ctx, `SELECT split_part(current_setting('server_version'), ' ', 1),
 current_setting('server_version_num'), current_setting('server_encoding'), current_setting('fsync'),
 COALESCE((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()),
 false)`).Scan(&shown, &version, &encoding, &fsync, &tls)
	if err != nil {
		return "", fmt.Errorf("the store cannot be opened: %w; start PostgreSQL, or correct store.url", err)
	}
	if n, err := strconv.Atoi(version); err != nil || n < oldestPostgres*10000 {
		return "", fmt.Errorf("the store's PostgreSQL has version number %s, but %d is the oldest that is supported: "+
			"update PostgreSQL", version,
			oldestPostgres)
	}
	if encoding != "UTF8" {
		return "", fmt.Errorf("the store's database has encoding %s: make one with encoding UTF8", encoding)
	}
	if fsync != "on" {
		s.log.Warn("PostgreSQL runs with fsync off: a power cut can destroy approvals and votes that were confirmed")
	}
	if !tls && !local(config.Host) {
		s.log.Warn("the connection to PostgreSQL is not encrypted; set sslmode=verify-full in store.url")
	}
	return shown, nil
}

// local reports whether a server's address is this machine: a socket's folder, or
// a loopback address.
func local(host string) bool {
	socket := strings.HasPrefix(host, "/") || strings.HasPrefix(host, "@")
	return socket || host == "localhost" || net.ParseIP(host).IsLoopback()
}
