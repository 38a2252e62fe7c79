package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// errHeld is that another process has the lock.
var errHeld = errors.New("another process holds the lock")

// fileLock is a file whose exclusive lock this process has.
type fileLock struct{ file *os.File }

// Close gives up the lock. Closing the file alone would leave it to a child that this process has forked and that has
// not executed its program yet: it has a duplicate of each descriptor until then.
func (l *fileLock) Close() error { return errors.Join(unlock(l.file), l.file.Close()) }

// lockFile takes the file's exclusive lock, which ends with the process, even if that
// crashes. The file stays: removing it would let two processes each hold a lock on a file
// of that name. It holds the owner's process id, for people.
//
// A file of its own is needed: closing any handle of the database file itself
// would drop the locks that SQLite has on it.
func lockFile(path string) (*fileLock, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("store lock %s cannot be opened: %w", path, err)
	}
	err = exclusively(f)
	if err == nil {
		err = errors.Join(f.Truncate(0), writePID(f))
	}
	if err == nil {
		return &fileLock{f}, nil
	}
	defer f.Close()
	if errors.Is(err, errHeld) {
		pid, _ := io.ReadAll(io.LimitReader(f, 20))
		return nil, fmt.Errorf("store is in use: process %s has locked %s; stop that process, or give this desk a "+
			"store of its own",
			strings.TrimSpace(string(pid)), path)
	}
	return nil, fmt.Errorf("store lock %s cannot be taken: %w", path, err)
}

func writePID(f *os.File) error {
	_, err := fmt.Fprintln(f, os.Getpid())
	return err
}
