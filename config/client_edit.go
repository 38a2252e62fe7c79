package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
)

// ClientDesk is what of a client file follows its desk. An empty member stays as the
// file has it.
type ClientDesk struct {
	Server, Socket string
	DeskKeys       []DeskKey
}

// RenewClientFile writes that into a client file, if it is not what the file says, and
// reports whether it wrote. All else in the file stays byte by byte, and so do its owner
// and that it is its owner's alone; a crash leaves the old file or the new one.
func RenewClientFile(path string, set ClientDesk) (wrote bool, err error) {
	path, err = filepath.EvalSymlinks(path)
	if err != nil {
		return false, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return false, err
	}
	text, err := readOwnedBy(path, OwnerOf(info))
	if err != nil {
		return false, err
	}
	was, err := readClientFile(path, text)
	if err != nil {
		return false, err
	}
	want, after := was, string(text)
	if set.Server != "" && set.Server != was.Server {
		want.Server, after = set.Server, setLine(after, "server", set.Server)
	}
	if set.Socket != "" && set.Socket != was.Socket {
		want.Socket, after = set.Socket, setLine(after, "socket", fmt.Sprintf("%q", set.Socket))
	}
	if len(set.DeskKeys) > 0 && !reflect.DeepEqual(set.DeskKeys, was.DeskKeys) {
		want.DeskKeys, after = set.DeskKeys, setKeys(after, set.DeskKeys)
	}
	if after == string(text) {
		return false, nil
	}
	if is, err := readClientFile(path, []byte(after)); err != nil || !reflect.DeepEqual(is, want) {
		return false, fmt.Errorf("%s is written so that nothing can be replaced in it; write into it by hand:\n\n%s", path,
			setKeys(setLine("", "socket", fmt.Sprintf("%q", want.Socket)), want.DeskKeys))
	}
	return true, replaceOwn(path, after, info)
}

// replaceOwn puts a file of that text in the place of one.
func replaceOwn(path, text string, was os.FileInfo) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.new") // 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.WriteString(text)
	if err == nil && !ownedBy(was, os.Geteuid()) {
		err = f.Chown(OwnerOf(was), -1)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// setLine gives a text in which a key at its top has that value.
func setLine(text, key, value string) string {
	line := key + ": " + value
	at := regexp.MustCompile(`(?m)^` + key + `:.*$`)
	if at.MatchString(text) {
		return at.ReplaceAllLiteralString(text, line)
	}
	return ended(text) + line + "\n"
}

var keysBlock = regexp.MustCompile(`(?m)^deskKeys:.*\n?((?:[ \t]+|-).*\n?)*`)

// setKeys gives a text with those desk keys, where the old ones were or at its end.
func setKeys(text string, keys []DeskKey) string {
	var b strings.Builder
	b.WriteString("deskKeys:\n")
	for _, k := range keys {
		fmt.Fprintf(&b, "  - {id: %q, publicKey: %q}\n", k.ID, k.PublicKey)
	}
	if at := keysBlock.FindStringIndex(text); at != nil {
		return text[:at[0]] + b.String() + text[at[1]:]
	}
	return ended(text) + b.String()
}

// ended is a text whose last line has an end.
func ended(text string) string {
	if text != "" && !strings.HasSuffix(text, "\n") {
		return text + "\n"
	}
	return text
}
