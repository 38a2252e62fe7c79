package local

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"approvalbot/internal/config"
)

// ClientFiles are the files with a local desk's two tokens. The operator's is never
// looked for: it must be named.
type ClientFiles struct{ Client, Operator string }

// The names of a local desk's client files, in the user's configuration directory
// and in the desk's own.
var (
	HomeFiles = ClientFiles{"client.yaml", "operator.yaml"}
	DeskFiles = ClientFiles{"approvalbot.client.yaml", "approvalbot.operator.yaml"}
)

// In gives the files in that directory.
func (f ClientFiles) In(dir string) ClientFiles {
	return ClientFiles{filepath.Join(dir, f.Client), filepath.Join(dir, f.Operator)}
}

// Both are the two files.
func (f ClientFiles) Both() [2]string { return [2]string{f.Client, f.Operator} }

// Tokens reads both tokens.
func (f ClientFiles) Tokens() (asks, decides string, err error) {
	c, err := config.OpenClientFile(f.Client)
	if err != nil {
		return "", "", err
	}
	o, err := config.OpenClientFile(f.Operator)
	if err == nil && (c.Token == "" || o.Token == "") {
		err = fmt.Errorf("%s and %s must both have a token; "+
			"delete both, and the desk makes new ones", f.Client, f.Operator)
	}
	return string(c.Token), string(o.Token), err
}

// FindClientFiles gives the client files of the local desk in dir: those whose tokens
// it has. ok is false if there are no such files.
func FindClientFiles(dir string, env config.Environ, has func(token string) bool) (f ClientFiles, ok bool) {
	places := []ClientFiles{DeskFiles.In(dir)}
	if home := config.Home(env); home != "" {
		places = append(places, HomeFiles.In(home))
	}
	for _, f := range places {
		if f.Of(has) {
			return f, true
		}
	}
	return ClientFiles{}, false
}

// Of reports whether both files are there, with tokens that the desk has.
func (f ClientFiles) Of(has func(token string) bool) bool {
	asks, decides, err := f.Tokens()
	return err == nil && has(asks) && has(decides)
}

// tokensIn gives the tokens of the local desk in dir, whose configuration so far is
// old: those of its client files, else fresh ones in new files. The new files go to the
// user's configuration directory, which the verbs read, if it has no client file yet.
func tokensIn(dir string, env config.Environ, old string) (asks, decides string, err error) {
	has := func(token string) bool { return strings.Contains(old, token) }
	if f, ok := FindClientFiles(dir, env, has); ok {
		return f.Tokens()
	}
	asks, decides = rand.Text(), rand.Text()
	if home := config.Home(env); home != "" && os.MkdirAll(home, 0o700) == nil {
		if HomeFiles.In(home).create(asks, decides) == nil {
			return asks, decides, nil
		}
	}
	f := DeskFiles.In(dir)
	if err = f.create(asks, decides); errors.Is(err, fs.ErrExist) { // if the configuration was lost
		return f.Tokens()
	}
	return asks, decides, err
}

// create writes both files, neither of which may be there.
func (f ClientFiles) create(asks, decides string) error {
	for _, path := range f.Both() {
		if _, err := os.Lstat(path); err == nil {
			return fs.ErrExist
		}
	}
	for i, token := range [2]string{asks, decides} {
		text := fmt.Appendf(nil, "server: %s\ntoken: %s\n", config.DefaultServer, token)
		if err := os.WriteFile(f.Both()[i], text, 0o600); err != nil {
			_, _ = os.Remove(f.Client), os.Remove(f.Operator) // one file without the other is useless
			return err
		}
	}
	return nil
}

// Point lets both files name that desk, and its name for their tokens. The rest of the
// files is not changed.
func (f ClientFiles) Point(to config.ClientDesk, name func(token string) string) error {
	for _, path := range f.Both() {
		file, err := config.OpenClientFile(path)
		if err == nil {
			to.Owner = name(string(file.Token))
			_, err = config.RenewClientFile(path, to)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
