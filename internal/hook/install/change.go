package install

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"approvalbot/internal/lazy"
)

// Change is what becomes of one file.
type Change struct {
	Path   string // the path of the file itself: symbolic links are followed
	Before []byte // nil if there is no file
	After  []byte // nil: it is taken away
	mode   fs.FileMode
	backup *copyOf // of what install did not write; nil if no copy is kept
	clear  string  // a copy that is needed no more
}

// copyOf is what a file was before install, or that there was no file.
type copyOf struct{ text []byte }

// Same reports whether the file would not change.
func (c Change) Same() bool {
	return (c.Before == nil) == (c.After == nil) && bytes.Equal(c.Before, c.After)
}

// maxFile bounds a configuration file.
const maxFile = 4 << 20

// Plan gives the changes that install makes. They replace all that approvalbot wrote
// there before, with --beside or without.
func Plan(o Options) ([]Change, error) {
	chosen, err := o.chosen()
	if err != nil {
		return nil, err
	}
	var out []Change
	for _, path := range o.files(chosen) {
		f, err := o.open(path)
		if err != nil {
			return nil, err
		}
		text := string(f.base)
		if f.base == nil {
			text = chosen[0].fresh
		}
		for _, t := range chosen {
			if at, _ := o.path(t); at == path {
				if text, err = o.put(text, t); err != nil {
					return nil, fmt.Errorf("%s: %w", path, err)
				}
			}
		}
		c := Change{Path: f.path, Before: f.text, After: []byte(text), mode: f.mode, clear: f.kept}
		if chosen[0].form != wholeFile {
			c.backup = &copyOf{f.base}
		}
		for _, t := range chosen {
			if t.runs {
				c.mode |= 0o111
			}
		}
		out = append(out, c)
	}
	return out, nil
}

// Undo gives the changes that uninstall makes in the options' scope, however it was
// installed. A file gets its very bytes from before if no one else has changed it
// since, and else loses approvalbot's part only.
func Undo(o Options) ([]Change, error) {
	var all []target
	for _, t := range targets(o.Runtime.Name) {
		if t.scope == o.Scope {
			all = append(all, t)
		}
	}
	var out []Change
	for _, path := range o.files(all) {
		f, err := o.open(path)
		if err != nil {
			return nil, err
		}
		if f.text != nil && f.ours {
			out = append(out, Change{Path: f.path, Before: f.text, After: f.base, mode: f.mode, clear: f.kept})
		}
		if text, err := os.ReadFile(f.path + heartbeat); err == nil && f.ours {
			out = append(out, Change{Path: f.path + heartbeat, Before: text})
		}
	}
	return out, nil
}

// files are the files of the targets, each once.
func (o Options) files(of []target) []string {
	var out []string
	seen := map[string]bool{}
	for _, t := range of {
		if path, err := o.path(t); err == nil && !seen[path] {
			seen[path] = true
			out = append(out, path)
		}
	}
	return out
}

// existing is the present state of a file.
type existing struct {
	path string // links are followed
	text []byte // nil if there is no file
	base []byte // without approvalbot's part; nil if there was no file
	ours bool   // approvalbot has a part in it
	kept string // the copy that base came from
	mode fs.FileMode
}

// open reads a file, and what it was before install.
func (o Options) open(path string) (existing, error) {
	f := existing{path: path, mode: 0o644}
	if strings.HasPrefix(path, o.Home+string(filepath.Separator)) {
		f.mode = 0o600
	}
	if o.Scope == Project && leaves(o.Project, path) {
		return f, fmt.Errorf("%s is behind a link that leads out of the project, so it is left alone", path)
	}
	if at, err := filepath.EvalSymlinks(path); err == nil {
		f.path = at
	} else if !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	info, err := os.Stat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, nil
	case err != nil:
		return f, err
	case !info.Mode().IsRegular() || info.Size() > maxFile:
		return f, fmt.Errorf("%s is not a plain file of a few kilobytes, so it is left alone", path)
	}
	f.mode = info.Mode().Perm()
	if f.text, err = os.ReadFile(f.path); err != nil {
		return f, err
	}
	if kept, text, ok := f.copy(); ok {
		f.kept, f.base, f.ours = kept, text, true
		return f, nil
	}
	return o.without(f, path)
}

// leaves reports whether a path below a project leads, by an existing link, to a
// place outside: the project's author chose it.
func leaves(project, path string) bool {
	root, err := filepath.EvalSymlinks(project)
	if err != nil {
		return false // it does not exist
	}
	for ; ; path = filepath.Dir(path) {
		if at, err := filepath.EvalSymlinks(path); err == nil {
			rel, err := filepath.Rel(root, at)
			return err != nil || !filepath.IsLocal(rel)
		}
	}
}

// without takes approvalbot's part away from a file that another program has changed
// since.
func (o Options) without(f existing, path string) (existing, error) {
	text := string(f.text)
	for _, t := range targets(o.Runtime.Name) {
		if at, _ := o.path(t); at != path {
			continue
		}
		less, removed, err := o.take(text, t)
		if err != nil {
			return f, fmt.Errorf("%s: %w", path, err)
		}
		text, f.ours = less, f.ours || removed
		if t.form == wholeFile && removed {
			return f, nil
		}
		if t.form == wholeFile {
			return f, fmt.Errorf("%s already exists and is not approvalbot's; remove it first", path)
		}
	}
	f.base = []byte(text)
	return f, nil
}

// Names of copies: what a file was, and that there was no file. The hash is of
// what install wrote, so a copy counts only while the file is as install left
// it.
const (
	backupName  = ".approvalbot-backup-"
	createdName = ".approvalbot-created-"
)

func hash(text []byte) string { return fmt.Sprintf("%x", sha256.Sum256(text))[:16] }

// copy finds the copy of what the file was before install wrote what it says now.
func (f existing) copy() (path string, text []byte, ok bool) {
	path = f.path + createdName + hash(f.text)
	if _, err := os.Stat(path); err == nil {
		return path, nil, true
	}
	path = f.path + backupName + hash(f.text)
	text, err := os.ReadFile(path)
	return path, append([]byte{}, text...), err == nil
}

// Copy is the path of the copy that Write keeps of the file; empty if it keeps
// none.
func (c Change) Copy() string {
	switch {
	case c.backup == nil || c.Same():
		return ""
	case c.backup.text == nil:
		return c.Path + createdName + hash(c.After)
	}
	return c.Path + backupName + hash(c.After)
}

// Write writes the file, its copy first. A crash in between leaves the old file. Folders
// that it had to make are gone again if it fails.
func (c Change) Write() (err error) {
	if c.Same() {
		return nil
	}
	now, err := os.ReadFile(c.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if !bytes.Equal(now, c.Before) {
		return fmt.Errorf("%s was changed just now by another program; start again", c.Path)
	}
	if c.After == nil {
		if err := os.Remove(c.Path); err != nil {
			return err
		}
		return c.tidy()
	}
	defer func() {
		if err != nil {
			leaveFolder(filepath.Dir(c.Path), false)
		}
	}()
	if err := makeFolder(filepath.Dir(c.Path)); err != nil {
		return err
	}
	kept := c.Copy()
	if kept != "" {
		if err := replace(kept, c.backup.text, c.mode); err != nil {
			return err
		}
	}
	if err := replace(c.Path, c.After, c.mode); err != nil {
		return err
	}
	if c.clear == kept {
		return nil
	}
	return c.tidy()
}

// tidy takes the copy away that is needed no more.
func (c Change) tidy() error {
	if c.clear == "" {
		return nil
	}
	return os.Remove(c.clear)
}

// madeName is an empty file in each folder that Write made, so that uninstall knows them.
const madeName = ".approvalbot-made"

// makeFolder makes a folder and those above it, as far as they are missing.
func makeFolder(dir string) error {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := makeFolder(filepath.Dir(dir)); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	err := os.WriteFile(filepath.Join(dir, madeName), nil, 0o644)
	if err != nil {
		os.Remove(dir)
	}
	return err
}

// leaveFolder removes a folder that makeFolder made, and those above it, if they hold no
// other files. If end is set, a folder with other files loses only its mark and belongs to
// their owner.
func leaveFolder(dir string, end bool) {
	for up := filepath.Dir(dir); up != dir; dir, up = up, filepath.Dir(up) {
		in, err := os.ReadDir(dir)
		made := slices.ContainsFunc(in, func(f fs.DirEntry) bool { return f.Name() == madeName })
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case !made || len(in) > 1 && !end:
			return
		}
		if os.Remove(filepath.Join(dir, madeName)) == nil && len(in) == 1 {
			os.Remove(dir)
		}
	}
}

// LeaveFolders takes the folders away that install made for these files, once uninstall has
// written all of them.
func LeaveFolders(changes []Change) {
	for _, c := range changes {
		leaveFolder(filepath.Dir(c.Path), true)
	}
}

// replace writes a file whole or not at all. Its owner stays.
func replace(path string, text []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".approvalbot-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // gone by then if it has become the file
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(mode), keepOwner(f, path), f.Sync(), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// Diff shows a change as a unified diff of one hunk, without the tokens in it.
func (c Change) Diff() string {
	before, after := lines(c.Before), lines(c.After)
	from, to := c.Path, c.Path
	if c.Before == nil {
		from = "/dev/null"
	}
	if c.After == nil {
		to = "/dev/null"
	}
	top := 0
	for top < len(before) && top < len(after) && before[top] == after[top] {
		top++
	}
	end := 0
	for end < len(before)-top && end < len(after)-top && before[len(before)-1-end] == after[len(after)-1-end] {
		end++
	}
	first, last := max(0, top-3), max(0, end-3)
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n+++ %s\n@@ -%s +%s @@\n", from, to,
		span(first, len(before)-last), span(first, len(after)-last))
	put := func(sign string, lines []string) {
		for _, line := range lines {
			b.WriteString(sign + line)
			if !strings.HasSuffix(line, "\n") {
				b.WriteString("\n\\ No newline at end of file\n")
			}
		}
	}
	put(" ", before[first:top])
	put("-", before[top:len(before)-end])
	put("+", after[top:len(after)-end])
	put(" ", before[len(before)-end:len(before)-last])
	return bearer.ReplaceAllString(b.String(), `"Bearer <the token>"`)
}

// bearer is a token in a JSON text: this one, and one that is replaced or taken away.
var bearer = lazy.Pattern(`"Bearer (?:[^"\\\n]|\\.)*"`)

// span is a range of lines as diff writes it.
func span(first, end int) string {
	if first == end {
		return fmt.Sprintf("%d,0", first)
	}
	return fmt.Sprintf("%d,%d", first+1, end-first)
}

// lines are a text's lines, each with its end.
func lines(text []byte) []string {
	all := strings.SplitAfter(string(text), "\n")
	if all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	return all
}
