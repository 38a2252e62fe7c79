package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// clientFiles are the files with a local desk's two tokens. The operator's is never
// looked for: it must be named.
type clientFiles struct{ client, operator string }

// The names of a local desk's client files, in the user's configuration directory
// and in the desk's own.
var (
	homeFiles  = clientFiles{"client.yaml", "operator.yaml"}
	localFiles = clientFiles{"approvalbot.client.yaml", "approvalbot.operator.yaml"}
)

func (f clientFiles) in(dir string) clientFiles {
	return clientFiles{filepath.Join(dir, f.client), filepath.Join(dir, f.operator)}
}

// both are the two files.
func (f clientFiles) both() [2]string { return [2]string{f.client, f.operator} }

// tokens reads both tokens.
func (f clientFiles) tokens() (asks, decides string, err error) {
	c, err := openClientFile(f.client)
	if err != nil {
		return "", "", err
	}
	o, err := openClientFile(f.operator)
	if err == nil && (c.Token == "" || o.Token == "") {
		err = fmt.Errorf("%s and %s must both have a token; delete them, and fresh ones are made", f.client, f.operator)
	}
	return string(c.Token), string(o.Token), err
}

// findClientFiles gives the client files of the local desk in dir: those whose tokens
// it has. ok is false where there are none.
func findClientFiles(dir string, env environ, has func(token string) bool) (f clientFiles, ok bool) {
	places := []clientFiles{localFiles.in(dir)}
	if home := configHome(env); home != "" {
		places = append(places, homeFiles.in(home))
	}
	for _, f := range places {
		asks, decides, err := f.tokens()
		if err == nil && has(asks) && has(decides) {
			return f, true
		}
	}
	return clientFiles{}, false
}

// localTokens gives the tokens of the local desk in dir, whose configuration so far is
// old: those of its client files, else fresh ones in new files. The new files go to the
// user's configuration directory, where the verbs look, if no client file is there yet.
func localTokens(dir string, env environ, old string) (asks, decides string, err error) {
	has := func(token string) bool { return strings.Contains(old, token) }
	if f, ok := findClientFiles(dir, env, has); ok {
		return f.tokens()
	}
	asks, decides = rand.Text(), rand.Text()
	if home := configHome(env); home != "" && os.MkdirAll(home, 0o700) == nil {
		if homeFiles.in(home).create(asks, decides) == nil {
			return asks, decides, nil
		}
	}
	f := localFiles.in(dir)
	if err = f.create(asks, decides); errors.Is(err, fs.ErrExist) { // the configuration was lost
		return f.tokens()
	}
	return asks, decides, err
}

// create writes both files, neither of which may be there.
func (f clientFiles) create(asks, decides string) error {
	for _, path := range f.both() {
		if _, err := os.Lstat(path); err == nil {
			return fs.ErrExist
		}
	}
	for i, token := range [2]string{asks, decides} {
		text := fmt.Appendf(nil, "server: %s\ntoken: %s\n", defaultServer, token)
		if err := os.WriteFile(f.both()[i], text, 0o600); err != nil {
			_, _ = os.Remove(f.client), os.Remove(f.operator) // half of them is none
			return err
		}
	}
	return nil
}

// point lets both files name that server. All else in them stays as it is.
func (f clientFiles) point(server string) error {
	for _, path := range f.both() {
		if err := pointClient(path, server); err != nil {
			return err
		}
	}
	return nil
}

func pointClient(path, server string) error {
	client, err := openClientFile(path)
	if err != nil || client.Server == server {
		return err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	line := "server: " + server
	if client.Server == "" {
		text = append([]byte(line+"\n"), text...)
	} else {
		text = serverLine.ReplaceAllLiteral(text, []byte(line))
	}
	return replaceFile(path, string(text)) // the token in it is nowhere else
}

var serverLine = regexp.MustCompile(`(?m)^server:.*$`)
