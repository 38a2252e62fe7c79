package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"

	"go.yaml.in/yaml/v3"
)

// clientFile is what the verbs need to reach a desk without flags. serve --local
// writes one for whoever asks and one for the operator.
type clientFile struct {
	Server string `yaml:"server"`
	Token  Secret `yaml:"token"`
}

// readClientFile reads the client file: the one that --client or APPROVALBOT_CLIENT
// names, else client.yaml in the user's configuration directory. The working
// directory names no desk: whoever writes there would decide for the asker. Without
// a file the result is empty.
func (a *app) readClientFile() (clientFile, string, error) {
	path, named := a.clientPath()
	if path == "" {
		return clientFile{}, "", nil
	}
	file, err := openClientFile(path)
	if !named && errors.Is(err, fs.ErrNotExist) {
		return clientFile{}, "", nil
	}
	return file, path, err
}

// clientPath says where the client file is, and whether somebody named it.
func (a *app) clientPath() (path string, named bool) {
	for _, path := range []string{a.clientFile, a.env["APPROVALBOT_CLIENT"]} {
		if path != "" {
			return path, true
		}
	}
	if dir := configHome(a.env); dir != "" {
		return filepath.Join(dir, homeFiles.client), false
	}
	return "", false
}

// openClientFile reads one client file. It must be its owner's alone, and that is
// whoever reads it.
func openClientFile(path string) (clientFile, error) { return openClientFileOf(path, os.Geteuid()) }

// openClientFileOf reads a client file that must be that user's alone.
func openClientFileOf(path string, uid int) (clientFile, error) {
	text, err := readOwnedBy(path, uid)
	if err != nil {
		return clientFile{}, err
	}
	r := &report{file: path, places: map[string]place{}}
	d := &decoder{report: r, override: map[*yaml.Node]string{}}
	var out clientFile
	if root, ok := d.parse(text); ok {
		d.decode(root, reflect.ValueOf(&out).Elem(), spot{source: path, literal: false})
	}
	if len(r.mistakes) > 0 {
		return clientFile{}, r.mistakes
	}
	return out, nil
}

// readOwn reads a file with a token, which must be its reader's alone.
func readOwn(path string) ([]byte, error) { return readOwnedBy(path, os.Geteuid()) }

func readOwnedBy(path string, uid int) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !ownedBy(info, uid):
		return nil, fmt.Errorf("%s belongs to another user, who could name another desk in it; use a file of your own", path)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("%s holds a token and others can read it; run: chmod 600 %s", path, shellWord(path))
	}
	return io.ReadAll(io.LimitReader(f, maxConfig))
}
