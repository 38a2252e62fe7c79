package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"

	"go.yaml.in/yaml/v3"
)

// clientFile is what the verbs need to reach a desk without flags. serve writes
// it for a local desk.
type clientFile struct {
	Server        string `yaml:"server"`
	Token         Secret `yaml:"token"`         // asks
	OperatorToken Secret `yaml:"operatorToken"` // lists and decides
}

// readClientFile reads the client file: the one that APPROVALBOT_CLIENT_FILE
// names, else approvalbot.client.yaml in the working directory, else client.yaml
// in the user's configuration directory. Without one the result is empty. A file
// that others than its owner can read is refused.
func readClientFile(env environ) (clientFile, string, error) {
	if path := env["APPROVALBOT_CLIENT_FILE"]; path != "" {
		return openClientFile(path)
	}
	candidates := []string{"approvalbot.client.yaml"}
	if dir := configHome(env); dir != "" {
		candidates = append(candidates, filepath.Join(dir, "client.yaml"))
	}
	for _, path := range candidates {
		file, _, err := openClientFile(path)
		if !errors.Is(err, fs.ErrNotExist) {
			return file, path, err
		}
	}
	return clientFile{}, "", nil
}

func openClientFile(path string) (clientFile, string, error) {
	f, err := os.Open(path)
	if err != nil {
		return clientFile{}, path, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return clientFile{}, path, err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return clientFile{}, path, fmt.Errorf("%s holds tokens and others can read it; run: chmod 600 %s", path, path)
	}
	text, err := readConfig(path)
	if err != nil {
		return clientFile{}, path, err
	}
	r := &report{file: path, places: map[string]place{}}
	d := &decoder{report: r, override: map[*yaml.Node]string{}}
	var out clientFile
	if root, ok := d.parse(text); ok {
		d.decode(root, reflect.ValueOf(&out).Elem(), spot{source: path, literal: false})
	}
	if len(r.mistakes) > 0 {
		return clientFile{}, path, r.mistakes
	}
	return out, path, nil
}
