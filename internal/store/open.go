package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/google/uuid"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// CoreStores gives the store as what a [core.Gate] keeps things in.
func (s *Store) CoreStores() core.Stores {
	return core.Stores{Changes: s, Queries: s, GrantStore: s, CallStore: s, DigestStore: s, AbsenceStore: s, CountStore: s}
}

// Open opens the store, makes it if it is new, and brings an older schema up to
// date. It refuses a store that another process has open, a schema that is newer
// than the program, and a key that is missing, readable by others or not this
// store's. It starts no goroutine: see [Store.Run].
func Open(ctx context.Context, o Options) (_ *Store, err error) {
	id, err := uuid.NewV7()
	if err != nil {
		return nil, err
	}
	s := &Store{
		heartbeat: newHeartbeat(id.String()),
		log:       o.Log,
		saying:    o.Saying,
		due:       dueQueue{known: map[approval.Target]*chat{}},
		posted:    posted{known: map[message]approval.Delivery{}, more: make(chan struct{})},
		version:   o.Version,
		build:     o.Build,
		started:   nowMs(),
		jobs:      make(chan *job, maxBatch),
		closing:   make(chan struct{}),
		ended:     make(chan struct{}),
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	switch path, ok := strings.CutPrefix(o.URL, "sqlite:"); {
	case ok && path == memory:
		err = s.openMemory(ctx, o)
	case ok && path != "":
		err = s.openFile(ctx, path, o)
	case strings.HasPrefix(o.URL, "postgres://"), strings.HasPrefix(o.URL, "postgresql://"):
		err = s.openPostgres(ctx, o)
	default:
		err = errors.New("the store's URL must be sqlite:<path> or postgres://…")
	}
	if err != nil {
		return nil, err
	}
	s.due.alone, s.due.keys, s.due.fail = !s.dialect.many, s.keys, s.failDoubted
	if s.due.alone {
		s.granted, s.written = newGrantNames(), &written{kept: map[string]*approval.Approval{}}
	}
	w := &s.writer
	w.db, w.build, w.dialect, w.share = s.write.db, s.build, s.dialect, s.read == s.write
	w.granted = s.granted
	return s, nil
}

func (s *Store) openMemory(ctx context.Context, o Options) (err error) {
	s.dialect = sqlite
	if s.write, err = openMemory(); err != nil {
		return err
	}
	s.read = s.write
	if err := s.write.fill(ctx); err != nil {
		return err
	}
	return s.prepare(ctx, s.write, memory, o.KeyFile)
}

func (s *Store) openFile(ctx context.Context, path string, o Options) (err error) {
	s.dialect = sqlite
	if path, err = realPath(path); err != nil {
		return err
	}
	if s.lock, err = lockFile(path + ".lock"); err != nil {
		return err
	}
	if err := os.Remove(path + draftSuffix); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("the files of an interrupted compaction cannot be removed: %w", err)
	}
	if err = begin(path); err != nil {
		return err
	}
	if s.damage, err = walDamage(path); err != nil {
		return err
	}
	if s.write, s.read, err = openFile(path); err != nil {
		return err
	}
	if err = checkEngine(ctx, s.write, path); err != nil {
		return err
	}
	if err = s.afterDamage(ctx, path); err != nil {
		return err
	}
	return s.prepare(ctx, s.write, path, o.KeyFile)
}

// afterDamage says what the write-ahead log has lost, and refuses a database that is not
// whole without that. It ends the log, lest the next start finds the same again.
func (s *Store) afterDamage(ctx context.Context, path string) error {
	if s.damage == nil {
		return nil
	}
	level := slog.LevelError
	if s.damage.LastOnly {
		level = slog.LevelWarn
	}
	s.log.Log(ctx, level, s.damage.String(), "store", path)
	var found string
	err := s.write.db.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&found)
	if err != nil || found != "ok" {
		return fmt.Errorf("store %s is damaged, because %s; restore a backup", path, s.damage)
	}
	_, err = s.write.db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	return err
}

// Lost gives what the write-ahead log that Open found had lost; nil: the log was whole.
func (s *Store) Lost() *Damage { return s.damage }
