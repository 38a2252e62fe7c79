package config

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"

	"approvalbot/internal/lazy"
)

// ClientDesk is the part of a client file that is renewed from its desk. An empty
// member leaves the file's value.
type ClientDesk struct {
	Server, Socket string
	DeskKeys       []DeskKey
	Owner          string
}

// Renewal is a client file that stays open from its reading to its renewal, so that it writes the file
// that it read, even if another user has put a link at its path meanwhile.
type Renewal struct {
	ClientFile // as read, or as changed by the caller
	Path       string

	dir  *os.Root // its directory, without symlinks
	name string   // in dir
	file *os.File
	info os.FileInfo
	text string
	was  ClientFile // the decoded text
}

// OpenToRenew opens the client file at path. Only this user may have access to it, or, with anyones,
// only its owner. The caller closes it.
func OpenToRenew(path string, anyones bool) (c *Renewal, err error) {
	to, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	c = &Renewal{Path: path, name: filepath.Base(to)}
	if c.dir, err = os.OpenRoot(filepath.Dir(to)); err != nil {
		return nil, err
	}
	if err = c.read(anyones); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (c *Renewal) read(anyones bool) (err error) {
	if c.file, err = c.dir.Open(c.name); err != nil {
		return err
	}
	if c.info, err = c.file.Stat(); err != nil {
		return err
	}
	uid := os.Geteuid()
	if anyones {
		uid = OwnerOf(c.info)
	}
	text, err := readOwn(c.file, c.info, c.Path, uid)
	if err == nil {
		c.text = string(text)
		c.was, err = readClientFile(c.Path, text)
	}
	c.ClientFile = c.was
	return err
}

// Close closes the file.
func (c *Renewal) Close() {
	_ = c.file.Close() // a nil or closed file gives an error, which is ignored
	_ = c.dir.Close()
}

// RenewClientFile writes set into this user's client file at path, as [Renewal.Write] does.
func RenewClientFile(path string, set ClientDesk) (wrote bool, err error) {
	c, err := OpenToRenew(path, false)
	if err != nil {
		return false, err
	}
	defer c.Close()
	return c.Write(set)
}

// Write sets these keys in the file if they differ from what it has, once, and reports whether
// it wrote. The rest of the file is kept byte by byte, and so are its owner and its mode; a
// crash leaves the old file or the new one. If another file is at its path by now, Write does
// not write.
func (c *Renewal) Write(set ClientDesk) (wrote bool, err error) {
	was, want, after := c.was, c.was, c.text
	if set.Server != "" && set.Server != was.Server {
		want.Server, after = set.Server, setLine(after, "server", set.Server)
	}
	if set.Socket != "" && set.Socket != was.Socket {
		want.Socket, after = set.Socket, setLine(after, "socket", fmt.Sprintf("%q", set.Socket))
	}
	if set.Owner != "" && set.Owner != was.Owner {
		want.Owner, after = set.Owner, setLine(after, "owner", fmt.Sprintf("%q", set.Owner))
	}
	if len(set.DeskKeys) > 0 && !reflect.DeepEqual(set.DeskKeys, was.DeskKeys) {
		want.DeskKeys, after = set.DeskKeys, setKeys(after, set.DeskKeys)
	}
	if after == c.text {
		return false, nil
	}
	if is, err := readClientFile(c.Path, []byte(after)); err != nil || !reflect.DeepEqual(is, want) {
		return false, fmt.Errorf("approvalbot cannot edit %s, because of how the file is written; add this by "+
			"hand:\n\n%s", c.Path,
			setKeys(setLine(setLine("", "socket", fmt.Sprintf("%q", want.Socket)), "owner", fmt.Sprintf("%q", want.Owner)),
				want.DeskKeys))
	}
	if err := c.replace(after); err != nil {
		return false, fmt.Errorf("%s cannot be written: %w", c.Path, err)
	}
	return true, nil
}

// Has reports whether the file already has the desk's address and its keys.
func (c *Renewal) Has(set ClientDesk) bool {
	return set.Socket == c.was.Socket && reflect.DeepEqual(set.DeskKeys, c.was.DeskKeys)
}

// replace writes a file with that text in the place of the one that was read.
func (c *Renewal) replace(text string) (err error) {
	made := c.name + "." + rand.Text() + ".new"
	f, err := c.dir.OpenFile(made, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.dir.Remove(made))
		}
	}()
	_, err = f.WriteString(text)
	if err == nil && !ownedBy(c.info, os.Geteuid()) {
		err = f.Chown(OwnerOf(c.info), -1)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	now, err := c.dir.Lstat(c.name)
	if err != nil || !os.SameFile(now, c.info) {
		return errors.New("the file was replaced meanwhile; find out which program " +
			"changes it, then run the command again")
	}
	_ = c.file.Close() // until now no other file could have its number; Windows replaces no open file
	return c.dir.Rename(made, c.name)
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

var keysBlock = lazy.Pattern(`(?m)^deskKeys:.*\n?((?:[ \t]+|-).*\n?)*`)

// setKeys gives a text with those desk keys, in the place of the old ones or at its end.
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

// ended gives the text with an end of its last line.
func ended(text string) string {
	if text != "" && !strings.HasSuffix(text, "\n") {
		return text + "\n"
	}
	return text
}
