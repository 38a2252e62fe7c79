package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// draftSuffix is after the name of a compacted copy that is not in its place yet. Open removes one that was left.
const draftSuffix = ".compact"

// Compaction is a SQLite store, which no desk has open meanwhile, on its way to a file without free pages. SQLite uses
// the room of deleted rows again, so the file does not grow as long as it has such room, and does not shrink either.
type Compaction struct {
	Bytes int64 // of the store's file
	Back  int64 // of its free pages; the disk gets about so many bytes back
	Needs int64 // bytes that the disk must have meanwhile: the copy is complete before the old file goes
	Disk  int64 // bytes that are free where the file is; -1: not known here

	store *Store
	path  string
}

// OpenToCompact opens a store that is there, as [Open] does, and says what a compaction takes. It refuses a store that a
// desk has open: the desk would go on in the old file. Close it.
func OpenToCompact(ctx context.Context, o Options) (_ *Compaction, err error) {
	path, file := strings.CutPrefix(o.URL, "sqlite:")
	if !file || path == memory {
		return nil, errors.New("only a SQLite file can be compacted here. PostgreSQL reuses free space by itself; to " +
			"give space back to the disk, run VACUUM FULL in PostgreSQL, which locks each table while it runs")
	}
	s, err := OpenExisting(ctx, o)
	if err != nil {
		return nil, err
	}
	c := &Compaction{store: s, Disk: -1}
	if c.path, err = realPath(path); err == nil {
		err = c.measure(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return c, nil
}

// measure reads the figures.
func (c *Compaction) measure(ctx context.Context) error {
	err := c.store.write.db.QueryRowContext(ctx, `SELECT page_count * page_size, freelist_count * page_size
 FROM pragma_page_count(), pragma_page_size(), pragma_freelist_count()`).Scan(&c.Bytes, &c.Back)
	if err != nil {
		return fmt.Errorf("store %s cannot be measured: %w", c.path, err)
	}
	c.Needs = c.Bytes - c.Back
	if free, err := FreeBytes(filepath.Dir(c.path)); err == nil {
		c.Disk = int64(min(free, 1<<62))
	}
	return nil
}

// Close ends it. A second call does nothing.
func (c *Compaction) Close() error { return c.store.Close() }

// Fits reports whether the disk has the room that it needs, as far as that is known.
func (c *Compaction) Fits() bool { return c.Disk < 0 || c.Disk >= c.Needs }

// Run writes the compacted copy, checks it through and through, and puts it in the old file's place. It gives the new
// file's size. It refuses a disk that is too full, and a store that another program reads. If the process ends
// before the last step, the old file is there as it was; after it, the new one is whole. The Compaction must be
// closed then, and nothing else done with it.
func (c *Compaction) Run(ctx context.Context) (bytes int64, err error) {
	if !c.Fits() {
		return 0, fmt.Errorf("the disk of %s has %d bytes free, but the compacted copy needs %d beside the old file: "+
			"free some space, or move the store to a larger disk", c.path, c.Disk, c.Needs)
	}
	old, err := os.Stat(c.path)
	if err != nil {
		return 0, err
	}
	draft := c.path + draftSuffix
	if err := makeFile(draft); err != nil { // VACUUM INTO takes an empty file as it is
		return 0, err
	}
	defer os.Remove(draft)
	if err := errors.Join(sameOwner(draft, old), os.Chmod(draft, old.Mode().Perm())); err != nil {
		return 0, fmt.Errorf("the copy cannot be given the owner and mode of %s: %w; run this as the desk's user", c.path, err)
	}
	seq, hash, err := c.store.Head(ctx)
	if err != nil {
		return 0, err
	}
	if err := c.copyAlone(ctx, draft); err != nil {
		return 0, err
	}
	b, err := inspect(ctx, draft)
	if err == nil && (b.Last != seq || b.Head != hash) {
		err = errors.New("the log of the copy differs from the log of the store")
	}
	if err == nil {
		err = syncFile(draft)
	}
	if err == nil {
		err = os.Rename(draft, c.path)
	}
	if err != nil {
		return 0, fmt.Errorf("the store is unchanged, because its compacted copy could not replace it: %w", err)
	}
	return b.Bytes, syncDir(filepath.Dir(c.path))
}

// copyAlone writes the copy and closes the database, whose write-ahead log is gone then, so that none is beside the
// copy that does not belong to it. That no other program has the database open shows where that log ends; one that
// opens it later finds a database without one, and cannot make one, since it reads.
func (c *Compaction) copyAlone(ctx context.Context, draft string) error {
	db := c.store.write.db
	if err := c.store.read.db.Close(); err != nil {
		return err
	}
	var journal string
	if err := db.QueryRowContext(ctx, "PRAGMA journal_mode = DELETE").Scan(&journal); err != nil || journal != "delete" {
		return fmt.Errorf("another program has %s open, such as a backup or a check of its log: try again when that "+
			"program has ended", c.path)
	}
	_, err := db.ExecContext(ctx, "VACUUM INTO $1", draft)
	if err = errors.Join(err, db.Close()); err != nil {
		return fmt.Errorf("store %s was not changed, because it cannot be copied: %w", c.path, err)
	}
	return nil
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
