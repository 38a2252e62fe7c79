package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// blank is a SQLite database with the schema of this program and no rows of the store's own, as the
// bytes of its file. New stores begin with it, which takes less than a tenth of the time of all the
// migrations one by one; they are made in memory, once in a process.
var blank = sync.OnceValues(func() (image []byte, err error) {
	p, err := openMemory()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.db.Close()) }()
	ctx := context.Background()
	if _, err := migrate(ctx, p.db, sqlite, memory, migrations(), nil); err != nil {
		return nil, err
	}
	c, err := p.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	err = c.Raw(func(driver any) (err error) {
		image, err = driver.(interface{ Serialize() ([]byte, error) }).Serialize()
		return err
	})
	return image, err
})

// fill gives a new database in memory the schema.
func (p *pool) fill(ctx context.Context) error {
	image, err := blank()
	if err != nil {
		return err
	}
	c, err := p.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	return c.Raw(func(driver any) error {
		return driver.(interface{ Deserialize([]byte) error }).Deserialize(image)
	})
}

// begin makes a new database file with the schema, for its owner's eyes only; SQLite would let the
// umask decide, and its side files copy the mode. The file appears when it is complete. Beside a log
// that another database left behind it is empty: to such a file SQLite does not apply the log.
func begin(path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, suffix := range []string{"-wal", "-journal"} {
		if _, err := os.Lstat(path + suffix); !errors.Is(err, os.ErrNotExist) {
			return makeFile(path)
		}
	}
	image, err := blank()
	if err != nil {
		return err
	}
	draft := path + ".part"
	if err := os.Remove(draft); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("store %s cannot be made: %w", path, err)
	}
	if err := writeNew(draft, image); err != nil {
		return fmt.Errorf("store %s cannot be made: %w", path, err)
	}
	if err := os.Rename(draft, path); err != nil {
		return fmt.Errorf("store %s cannot be made: %w", path, err)
	}
	return syncDir(filepath.Dir(path))
}

// makeFile makes an empty file for its owner's eyes only, unless a file is there.
func makeFile(path string) error {
	err := writeNew(path, nil)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("store %s cannot be made: %w", path, err)
	}
	return nil
}

// writeNew writes a file that was not there, to the disk, for its owner's eyes only.
func writeNew(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Sync(), f.Close())
}
