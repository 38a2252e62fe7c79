package config

import (
	"fmt"
	"io"
	"os"
	"reflect"
	"runtime"

	"go.yaml.in/yaml/v3"

	"approvalbot/display"
)

// ClientFile is what the verbs need to reach a desk without flags. serve --local
// writes one for whoever asks and one for the operator.
type ClientFile struct {
	Server string `yaml:"server"`
	Token  Secret `yaml:"token"`
}

// OpenClientFile reads one client file. It must be its owner's alone, and that is
// whoever reads it.
func OpenClientFile(path string) (ClientFile, error) { return OpenClientFileOf(path, os.Geteuid()) }

// OpenClientFileOf reads a client file that must be that user's alone.
func OpenClientFileOf(path string, uid int) (ClientFile, error) {
	text, err := readOwnedBy(path, uid)
	if err != nil {
		return ClientFile{}, err
	}
	r := &Report{file: path, places: map[string]Position{}}
	d := &decoder{Report: r, override: map[*yaml.Node]string{}}
	var out ClientFile
	if root, ok := d.parse(text); ok {
		d.decode(root, reflect.ValueOf(&out).Elem(), spot{source: path, literal: false})
	}
	if len(r.mistakes) > 0 {
		return ClientFile{}, r.mistakes
	}
	return out, nil
}

// ReadOwn reads a file with a token, which must be its reader's alone.
func ReadOwn(path string) ([]byte, error) { return readOwnedBy(path, os.Geteuid()) }

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
		return nil, fmt.Errorf("%s holds a token and others can read it; run: chmod 600 %s", path, display.ShellPath(path))
	}
	return io.ReadAll(io.LimitReader(f, maxConfig))
}
