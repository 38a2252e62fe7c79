package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"runtime"
	"strconv"
	"strings"

	"approvalbot/internal/people"
	"approvalbot/internal/signin"
)

// OpenToRead opens a SQLite store to look at its log, without its lock, and does not
// change it. With Options.KeyFile that must be the store's key; without one, what is
// sealed stays so, and every row is believed. Close it.
func OpenToRead(ctx context.Context, o Options) (_ *Store, err error) {
	path, ok := strings.CutPrefix(o.URL, "sqlite:")
	if !ok || path == "" || path == memory {
		return nil, errors.New("only a SQLite store can be read without its desk: sqlite:<path>")
	}
	if path, err = realPath(path); err != nil {
		return nil, err
	}
	if err := isThere(o.URL); err != nil {
		return nil, err
	}
	lost, err := Damaged(o.URL)
	if err == nil && lost != nil && !lost.LastOnly {
		err = errors.New(lost.String() + "; start the desk, which uses the records that are left and reports the " +
			"loss, or restore a backup")
	}
	if err != nil {
		return nil, fmt.Errorf("store %s cannot be read: %w", path, err)
	}
	p, err := openPool(path, runtime.NumCPU(), []string{"busy_timeout(5000)", "query_only(1)"})
	if err != nil {
		return nil, err
	}
	s := &Store{log: slog.New(slog.DiscardHandler), dialect: sqlite, read: p, closing: make(chan struct{}),
		ended: make(chan struct{})}
	if _, _, err = s.Head(ctx); err == nil && o.KeyFile != "" {
		s.keys, err = theirKey(ctx, p, o.KeyFile)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("store %s cannot be read: %w", path, err), s.Close())
	}
	return s, nil
}

// isThere refuses a SQLite file that Open would make.
func isThere(url string) error {
	path, ok := strings.CutPrefix(url, "sqlite:")
	if !ok || path == memory {
		return nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("store cannot be opened: %w", err)
	}
	if info.IsDir() {
		return fmt.Errorf("store %s is a folder: give the path of the file in it", path)
	}
	return nil
}

// theirKey reads a store's key, and does not make one.
func theirKey(ctx context.Context, p *pool, file string) (keyring, error) {
	key, err := readKey(file)
	if err != nil {
		return keyring{}, err
	}
	ring, err := newKeyring(key)
	if err != nil {
		return keyring{}, err
	}
	known, err := keyID(ctx, p)
	if err == nil && known != ring.id {
		err = fmt.Errorf("key file %s holds key %s, but this store was sealed with key %s: set store.keyFile to "+
			"the file that holds that key", file, ring.id, known)
	}
	if err != nil {
		return ring, err
	}
	value, err := readOne(ctx, p, readMeta, storeIDName)
	if err != nil {
		return ring, err
	}
	if value == "" {
		schema, err := readOne(ctx, p, schemaNow)
		if n, no := strconv.Atoi(schema); err == nil && (no != nil || n >= macSchema) {
			err = fmt.Errorf("the store's row %s in table meta is missing, so no row's MAC can be checked: restore a "+
				"backup", storeIDName)
		}
		return ring, err // an older release's rows have no MACs
	}
	return ring.withID(value, slog.New(slog.DiscardHandler))
}

// LookAbsences reads who is away from a store that may be open elsewhere, and does not change it.
// If there is no store yet, the list is empty. It has no key and so believes every row: its answer
// is advice for people, and no decision may depend on it.
func LookAbsences(ctx context.Context, o Options) (none people.Absences, err error) {
	if strings.HasPrefix(o.URL, "postgres") {
		config, err := readURL(o.URL)
		if err != nil {
			return none, err
		}
		p := openPostgres(config, pgConnector{patience: openPatience, reads: true}, nil)
		defer p.db.Close()
		missing := false
		row := p.db.QueryRowContext(ctx, `SELECT to_regclass('meta') IS NULL`)
		if err := row.Scan(&missing); err != nil || missing {
			return none, err
		}
		return keyring{}.absences(ctx, p)
	}
	if o.URL == "sqlite:"+memory || errors.Is(isThere(o.URL), fs.ErrNotExist) {
		return none, nil
	}
	s, err := OpenToRead(ctx, Options{URL: o.URL})
	if err != nil {
		return none, err
	}
	defer s.Close()
	return s.Absences(ctx)
}

// PasskeysIn reads the passkeys of a store, which may be open elsewhere, and those that are
// suspended. It does not change the store. It has no key and so believes every row: its answer is
// advice for people, and no decision may depend on it.
func PasskeysIn(ctx context.Context, o Options) (held, suspended []signin.Passkey, err error) {
	var from querier
	if strings.HasPrefix(o.URL, "postgres") {
		config, err := readURL(o.URL)
		if err != nil {
			return nil, nil, err
		}
		p := openPostgres(config, pgConnector{patience: openPatience, reads: true}, nil)
		defer p.db.Close()
		from = p
	} else {
		s, err := OpenToRead(ctx, o)
		if err != nil {
			return nil, nil, err
		}
		defer s.Close()
		from = s.read
	}
	var unchecked keyring
	if held, err = unchecked.passkeys(ctx, from, "passkeys", allPasskeys); err != nil {
		return nil, nil, err
	}
	suspended, err = unchecked.passkeys(ctx, from, "suspended_passkeys", allSuspended)
	return held, suspended, err
}

// Reach connects to a PostgreSQL store, which may be open elsewhere, and does not change
// it. The error says why [Open] would not take the server, or the key. For a new store
// the key is not looked at.
func Reach(ctx context.Context, o Options) (r Reached, err error) {
	config, err := readURL(o.URL)
	if err != nil {
		return r, err
	}
	s := &Store{log: slog.New(slog.DiscardHandler)}
	if r.Version, err = s.checkServer(ctx, config); err != nil {
		return r, err
	}
	p := openPostgres(config, pgConnector{patience: openPatience, reads: true}, nil)
	defer p.db.Close()
	if err := p.db.QueryRowContext(ctx, `SELECT to_regclass('meta') IS NULL`).Scan(&r.New); err != nil || r.New {
		return r, err
	}
	if s.keys, err = theirKey(ctx, p, o.KeyFile); err == nil {
		s.read = p
		r.Checked, err = s.LastChecked(ctx)
	}
	return r, err
}

// Reached is what [Reach] found.
type Reached struct {
	Version string // of PostgreSQL, such as 16.4
	New     bool   // no store is in the database yet
	Checked Checked
}
