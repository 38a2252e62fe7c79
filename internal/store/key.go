package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"approvalbot/internal/fault"
)

// loadKey gives the store's key: for a new store it makes the key file (or takes
// the one that lies there) and remembers the key's id; afterwards only the very
// same key will do.
func loadKey(ctx context.Context, p *pool, file string, inMemory bool) (keyring, error) {
	if file == "" && inMemory {
		return newKeyring(newKey())
	}
	if file == "" {
		return keyring{}, errors.New("the store needs a key file to seal calls with: set store.keyFile")
	}
	known, err := keyID(ctx, p)
	if err != nil {
		return keyring{}, err
	}
	if err := finishRotation(file, known); err != nil {
		return keyring{}, err
	}
	key, err := readKey(file)
	if errors.Is(err, os.ErrNotExist) {
		if known != "" {
			return keyring{}, fmt.Errorf("key file %s is missing, but this store "+
				"was sealed with key %s: put that file "+
				"back; without it no sealed call can be read", file, known)
		}
		key, err = makeKey(file)
	}
	if err != nil {
		return keyring{}, err
	}
	ring, err := newKeyring(key)
	if err != nil {
		return keyring{}, err
	}
	if known == "" { // another instance may start at the same time
		_, err := p.db.ExecContext(ctx, `INSERT INTO meta (name, value) VALUES ('key-id', $1)
 ON CONFLICT (name) DO NOTHING`, ring.id)
		if err != nil {
			return keyring{}, err
		}
		if known, err = keyID(ctx, p); err != nil {
			return keyring{}, err
		}
	}
	if known != ring.id {
		return keyring{}, fmt.Errorf("key file %s holds key %s, but this store was sealed with key %s: set "+
			"store.keyFile to the file that holds that key", file, ring.id, known)
	}
	return ring, nil
}

// keyID gives the id of the key that this store was made with; empty: it is new.
func keyID(ctx context.Context, p *pool) (id string, err error) {
	err = p.db.QueryRowContext(ctx, `SELECT value FROM meta WHERE name = 'key-id'`).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return id, err
}

// readKey reads a key file and refuses one that others may read.
func readKey(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("key file cannot be read: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return nil, fmt.Errorf("key file %s has mode %04o: others can read or change it; run: chmod 600 %s", file, mode, file)
	}
	b, err := io.ReadAll(io.LimitReader(f, 4096))
	if err != nil {
		return nil, err
	}
	key, ok := parseKey(b)
	if !ok {
		return nil, fmt.Errorf("key file %s holds %d bytes, but a key is %d raw bytes or %d hex digits", file, len(b),
			keySize, 2*keySize)
	}
	return key, nil
}

func parseKey(b []byte) ([]byte, bool) {
	if len(b) == keySize {
		return b, true
	}
	for len(b) > 0 && (b[len(b)-1] == '\n' || b[len(b)-1] == '\r') {
		b = b[:len(b)-1]
	}
	key, err := hex.DecodeString(string(b))
	return key, err == nil && len(key) == keySize
}

// makeKey writes a new key: the whole file appears at once, and never replaces another
// file.
func makeKey(file string) ([]byte, error) {
	key := newKey()
	draft := file + ".new" // left over only by a crash in here
	if err := os.Remove(draft); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	f, err := os.OpenFile(draft, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("key file cannot be made: %w", err)
	}
	_, err = fmt.Fprintln(f, hex.EncodeToString(key))
	err = errors.Join(err, f.Sync(), f.Close())
	fault.Point("after-key-written")
	if err == nil {
		err = os.Link(draft, file) // fails if a file of that name exists
	}
	fault.Point("after-key-linked")
	err = errors.Join(err, os.Remove(draft), syncDir(filepath.Dir(file)))
	if err != nil {
		return nil, fmt.Errorf("key file %s cannot be made: %w", file, err)
	}
	return key, nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func newKey() []byte {
	key := make([]byte, keySize)
	rand.Read(key) // never fails
	return key
}

// finishRotation puts the new key in the old one's place if a rotation was interrupted
// after its commit: the store was then sealed with the new key.
func finishRotation(file, known string) error {
	file = realKey(file)
	next, err := readKey(file + nextKey)
	if known == "" || errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if ring, err := newKeyring(next); err != nil || ring.id != known {
		return err // interrupted before its commit
	}
	return replaceKey(file)
}

// realKey follows links, so that the file itself is replaced.
func realKey(file string) string {
	if real, err := filepath.EvalSymlinks(file); err == nil {
		return real
	}
	return file
}

func replaceKey(file string) error {
	if err := os.Rename(file+nextKey, file); err != nil {
		return fmt.Errorf("the store has its new key, but the key file was not "+
			"replaced (%w); the next start replaces it", err)
	}
	fault.Point("after-key-replaced")
	return syncDir(filepath.Dir(file))
}

const nextKey = ".next" // what a key file's name ends in while it is being replaced
