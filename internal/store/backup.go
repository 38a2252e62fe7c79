package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// OpenExisting is [Open], and makes no new SQLite store: a file that is not there is
// an error.
func OpenExisting(ctx context.Context, o Options) (*Store, error) {
	if err := isThere(o.URL); err != nil {
		return nil, err
	}
	return Open(ctx, o)
}

// BackedUp is what [Backup] wrote.
type BackedUp struct {
	File  string `json:"file"`
	Bytes int64  `json:"bytes"`
	Last  int64  `json:"lastRecord"` // number of the log's last entry in it
	Head  string `json:"headHash"`
	KeyID string `json:"keyId"` // of the key file that the backup needs and does not hold
}

// Backup writes a copy of a SQLite store, as it is at one moment, into a new file
// that only its owner can read. The store may be open elsewhere and goes on
// meanwhile. Sealed calls stay sealed; the key file is not in the backup. The file
// appears when it is complete and has been checked: the database and the log's
// chain are whole.
func Backup(ctx context.Context, url, file string) (b BackedUp, err error) {
	return BackupSaying(ctx, url, file, nil)
}

// BackupSaying is [Backup]; saying hears how far it is.
func BackupSaying(ctx context.Context, url, file string, saying Saying) (b BackedUp, err error) {
	s, err := OpenToRead(ctx, Options{URL: url})
	if err != nil {
		return b, err
	}
	defer s.Close()
	if _, err := os.Lstat(file); err == nil {
		return b, fmt.Errorf("%s already exists; name another file", file)
	}
	draft := file + ".part"
	if err := os.Remove(draft); err != nil && !errors.Is(err, os.ErrNotExist) {
		return b, err
	}
	if err := makeFile(draft); err != nil { // VACUUM INTO takes an empty file as it is
		return b, fmt.Errorf("backup: %w", err)
	}
	defer os.Remove(draft)
	path, err := realPath(strings.TrimPrefix(url, "sqlite:"))
	if err == nil {
		followed := followFile(saying, path, draft)
		err = copyFile(ctx, path, draft)
		followed()
	}
	if err != nil {
		return b, err
	}
	saying.say("checking the backup", 0, 0)
	if b, err = inspect(ctx, draft); err != nil {
		return b, fmt.Errorf("the backup failed its check and was not kept: %w", err)
	}
	b.File = file
	if err := os.Link(draft, file); err != nil {
		return b, fmt.Errorf("the finished backup cannot be moved to its file name: %w", err)
	}
	return b, syncDir(filepath.Dir(file))
}

// followFile says how large a copy of a file has become, until stop is called.
func followFile(saying Saying, path, to string) (stop func()) {
	whole, err := os.Stat(path)
	if saying == nil || err != nil {
		return func() {}
	}
	over, followed := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(followed)
		for {
			select {
			case <-over:
				return
			case <-time.After(followEvery):
			}
			if part, err := os.Stat(to); err == nil {
				saying("copying the store", part.Size(), whole.Size())
			}
		}
	}()
	return func() { close(over); <-followed }
}

const followEvery = 500 * time.Millisecond

// copyFile writes the database at path into another file, marked as a copy, to the disk.
func copyFile(ctx context.Context, path, to string) error {
	p, err := openPool(path, 1, []string{"busy_timeout(5000)"})
	if err != nil {
		return err
	}
	_, err = p.db.ExecContext(ctx, `VACUUM INTO $1`, to)
	if err = errors.Join(err, p.db.Close()); err != nil {
		return fmt.Errorf("store %s cannot be copied: %w", path, err)
	}
	full, err := filepath.Abs(to)
	if err != nil {
		return err
	}
	if p, err = openPool(full, 1, nil); err != nil {
		return err
	}
	_, err = p.db.ExecContext(ctx, setMeta, copyName, isBackup)
	if err = errors.Join(err, p.db.Close()); err != nil {
		return fmt.Errorf("the copy cannot be marked as a backup: %w", err)
	}
	return syncFile(to)
}

// inspect checks a database file through and through.
func inspect(ctx context.Context, file string) (b BackedUp, err error) {
	s, err := OpenToRead(ctx, Options{URL: "sqlite:" + file})
	if err != nil {
		return b, err
	}
	defer s.Close()
	var found string
	var orphans int
	err = s.read.db.QueryRowContext(ctx, `SELECT (SELECT integrity_check
 FROM pragma_integrity_check LIMIT 1), (SELECT COUNT(*) FROM pragma_foreign_key_check)`).Scan(&found, &orphans)
	if err == nil && (found != "ok" || orphans > 0) {
		err = fmt.Errorf("the database is damaged: SQLite says %q, and %d rows refer to missing rows", found, orphans)
	}
	if err != nil {
		return b, err
	}
	n, head, err := s.Verify(ctx)
	if err != nil {
		return b, err
	}
	b.Last, b.Head = int64(n), head
	if b.KeyID, err = keyID(ctx, s.read); err != nil {
		return b, err
	}
	info, err := os.Stat(file)
	if err == nil {
		b.Bytes = info.Size()
	}
	return b, err
}
