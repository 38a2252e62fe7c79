package config

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"

	"go.yaml.in/yaml/v3"

	"approvalbot/internal/display"
)

// ClientFile is what the verbs need to reach a desk without flags, and to recognize it.
// serve --local writes one for agents, which ask, and one for the operator.
type ClientFile struct {
	Server   string    `yaml:"server"`
	Token    Secret    `yaml:"token"`
	Socket   string    `yaml:"socket"`   // the desk's Unix socket, absolute; tried before Server
	DeskKeys []DeskKey `yaml:"deskKeys"` // the desk's public keys; empty: any answer is trusted, as before 0.2
	Owner    string    `yaml:"owner"`    // the token's name at the desk; receipts must be for it; empty: for any token
	PlainTCP bool      `yaml:"plainTCP"` // an http Server may be asked without TLS, and gets the token
}

// DeskKey is a public key of a desk, as GET /.well-known/approvalbot-keys gives it.
type DeskKey struct {
	ID        string `yaml:"id"`
	PublicKey string `yaml:"publicKey"`
}

// KnowsDesk reports whether the file has what identifies its desk: a socket or keys.
func (f ClientFile) KnowsDesk() bool { return f.Socket != "" || len(f.DeskKeys) > 0 }

// OpenClientFile reads one client file. Only its owner may have access to it, and
// the owner must be the user who reads it.
func OpenClientFile(path string) (ClientFile, error) { return OpenClientFileOf(path, os.Geteuid()) }

// OpenClientFileOf reads a client file to which only that user may have access.
func OpenClientFileOf(path string, uid int) (ClientFile, error) {
	text, err := readOwnedBy(path, uid)
	if err != nil {
		return ClientFile{}, err
	}
	return readClientFile(path, text)
}

func readClientFile(path string, text []byte) (ClientFile, error) {
	r := &Report{file: path, places: map[string]Position{}}
	d := &decoder{Report: r, override: map[*yaml.Node]string{}}
	var out ClientFile
	if root, ok := d.parse(text); ok {
		d.decode(root, reflect.ValueOf(&out).Elem(), spot{source: path, literal: false})
	}
	if out.Socket != "" && !filepath.IsAbs(out.Socket) {
		r.Mistake("socket", "must be an absolute path")
	}
	if r.Has("deskKeys") && len(out.DeskKeys) == 0 {
		r.Mistake("deskKeys", "has no key; write the desk's (approvalbot admin keys trust does), or take the key out")
	}
	if len(r.mistakes) > 0 {
		return ClientFile{}, r.mistakes
	}
	return out, nil
}

// ReadOwn reads a file with a token, to which only its reader may have access.
func ReadOwn(path string) ([]byte, error) { return readOwnedBy(path, os.Geteuid()) }

func readOwnedBy(path string, uid int) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return readOwn(f, info, path, uid)
}

// readOwn reads the file that was opened at path.
func readOwn(f *os.File, info os.FileInfo, path string, uid int) ([]byte, error) {
	switch {
	case !ownedBy(info, uid):
		return nil, fmt.Errorf("%s belongs to another user, who could name another desk in it; use a file of your own", path)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("%s holds a token and others can read it; run: chmod 600 %s", path, display.ShellPath(path))
	}
	return io.ReadAll(io.LimitReader(f, MaxFile))
}
