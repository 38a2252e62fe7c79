package push

import (
	"crypto/ecdh"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

const maxKeyFile = 4096

// Key is the desk's own at push services (VAPID, RFC 8292): browsers subscribe with its
// public half, and their push services accept notifications only if signed by it.
type Key struct {
	private string
	Public  string // in base64url, as browsers want it
}

// String keeps the private half out of logs.
func (k Key) String() string { return k.Public }

// GoString does too.
func (k Key) GoString() string { return k.Public }

// OpenKey reads the key from a file that only the desk's user may read, and makes it if it
// is missing. Instances that share a store must share the file: with another key every
// browser has to subscribe anew.
func OpenKey(file string) (k Key, made bool, err error) {
	k, err = readKey(file)
	if !errors.Is(err, os.ErrNotExist) {
		return k, false, err
	}
	if err := makeKey(file); err != nil {
		return Key{}, false, fmt.Errorf("server.web.push.vapidKeyFile %s cannot be made: %w", file, err)
	}
	k, err = readKey(file)
	return k, true, err
}

func readKey(file string) (Key, error) {
	f, err := os.Open(file)
	if err != nil {
		return Key{}, fmt.Errorf("server.web.push.vapidKeyFile cannot be read: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Key{}, err
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return Key{}, fmt.Errorf("server.web.push.vapidKeyFile %s has mode %04o: others can read or change it; "+
			"run: chmod 600 %s", file, mode, file)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxKeyFile))
	if err != nil {
		return Key{}, err
	}
	return parseKey(file, strings.TrimSpace(string(text)))
}

func parseKey(file, text string) (Key, error) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return Key{}, fmt.Errorf("server.web.push.vapidKeyFile %s holds no key: it must be one line of base64url; "+
			"remove it, and the desk makes a new one", file)
	}
	private, err := ecdh.P256().NewPrivateKey(raw)
	if err != nil {
		return Key{}, fmt.Errorf("server.web.push.vapidKeyFile %s holds no private key on P-256; remove it, and the "+
			"desk makes a new one", file)
	}
	return Key{private: text, Public: base64.RawURLEncoding.EncodeToString(private.PublicKey().Bytes())}, nil
}

// makeKey writes a new key, as a whole, and never over another file.
func makeKey(file string) error {
	private, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".new*") // of mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = fmt.Fprintln(f, base64.RawURLEncoding.EncodeToString(private.Bytes()))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err = os.Link(f.Name(), file); errors.Is(err, os.ErrExist) {
		return nil // another instance was first
	}
	return err
}
