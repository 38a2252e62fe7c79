//go:build linux

package confine

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// change is what a call did to one protected name.
type change struct {
	rel  string
	move bool   // away, for it is new or no longer what it was
	back bool   // what was there before
	link string // which was a link of no protected name
}

// compare gives what differs from the list before, parents first.
func (g *guard) compare(before, now *list) (out []change) {
	g.steps = 0
	moved := map[string]bool{}
	suspects := map[string]bool{}
	for rel, e := range now.Names {
		if old, was := before.Names[rel]; !was || !e.same(old) {
			suspects[rel] = true
		}
	}
	for rel, ino := range now.Twins {
		suspects[rel] = suspects[rel] || before.Twins[rel] != ino
	}
	strayed, changed := before.astray(g), len(suspects) > 0
	late := map[string]bool{} // links that were there before, which something changed leads elsewhere
	for rel, end := range now.astray(g) {
		if old, was := before.Links[rel]; !was || old != now.Links[rel] {
			suspects[rel], changed = true, true
		} else if strayed[rel] != end {
			late[rel] = true
		}
	}
	if !changed {
		suspects = late
	}
	for _, rel := range sorted(suspects) {
		if !suspects[rel] || beneath(rel, moved) {
			continue
		}
		e, is := now.Names[rel]
		old, was := before.Names[rel]
		onlyMode := is && was && e.Mode&unix.S_IFMT == unix.S_IFDIR && old.Mode&unix.S_IFMT == unix.S_IFDIR && e.Link == old.Link
		moved[rel] = !onlyMode
		out = append(out, change{rel: rel, move: !onlyMode, back: onlyMode})
	}
	for _, rel := range sorted(before.Names) {
		_, is := now.Names[rel]
		restorable := before.Names[rel].Sum != "" || before.Names[rel].Link != "" || before.Names[rel].Mode&unix.S_IFMT == unix.S_IFDIR
		if restorable && (!is || moved[rel] || beneath(rel, moved)) {
			out = append(out, change{rel: rel, back: true})
		}
	}
	for i, c := range out {
		if _, protected := before.Names[c.rel]; c.move && !protected {
			out[i].link = before.Links[c.rel]
			out[i].back = out[i].link != "" && out[i].link != now.Links[c.rel]
		}
	}
	return out
}

// mender undoes changes below one root.
type mender struct {
	root       int
	before     *list
	kept       string // folder of contents by their hash
	quarantine string // folder made at its first use
	to         int    // it; -1: not made yet
	count      int
}

func (m *mender) undo(c change) error {
	if c.move {
		if err := m.away(c.rel); err != nil {
			return fmt.Errorf("move %q into %s: %w", c.rel, m.quarantine, err)
		}
	}
	if c.back {
		if err := m.back(c.rel, c.link); err != nil {
			return fmt.Errorf("put back %q: %w", c.rel, err)
		}
	}
	return nil
}

// away moves a name into the quarantine folder. Its directory is reached by descriptors, so no
// link that is planted meanwhile leads elsewhere.
func (m *mender) away(rel string) error {
	dir, done, err := m.parent(rel, false)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return nil // gone with its directory; the next pass sees where to
	}
	if err != nil {
		return err
	}
	defer done()
	_, name := splitPath(rel)
	m.count++
	inside := fmt.Sprintf("%d-%s", m.count, name[:min(len(name), 200)])
	if err = m.open(); err == nil {
		err = writable(dir, name, func() error { return unix.Renameat2(dir, name, m.to, inside, unix.RENAME_NOREPLACE) })
	}
	if errors.Is(err, unix.EXDEV) {
		err = m.carry(dir, name, inside)
	}
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		setAside(dir, name, fmt.Sprintf("quarantined-by-approvalbot-%d-%d", os.Getpid(), m.count))
		return err
	}
	shut(m.to, inside)
	list, err := os.OpenFile(filepath.Join(m.quarantine, "names"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0600)
	if err == nil {
		_, err = fmt.Fprintf(list, "%q was %q\n", inside, rel)
		err = errors.Join(err, list.Close())
	}
	return err
}

// open makes the quarantine folder at its first use.
func (m *mender) open() (err error) {
	if m.to < 0 {
		if err = os.MkdirAll(m.quarantine, 0700); err == nil {
			m.to, err = unix.Open(m.quarantine, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		}
	}
	return err
}

// setAside gives what could not be moved away another name in its place, by which nothing obeys it, and
// closes it to all.
func setAside(dir int, name, aside string) {
	_ = writable(dir, name, func() error { return unix.Renameat2(dir, name, dir, aside, unix.RENAME_NOREPLACE) })
	shut(dir, aside)
}

// shut closes a name to all, so that no tool obeys what is in it before its owner opens it.
func shut(dir int, name string) {
	if fd, _, err := openAnyway(dir, name, unix.O_NONBLOCK); err == nil {
		_ = unix.Fchmod(fd, 0)
		_ = unix.Close(fd)
	}
}

// writable runs do, once more after the owner may write to the directory and to the directory
// below it that is to move, if a call took that right away.
func writable(dir int, name string, do func() error) error {
	err := do()
	if !errors.Is(err, unix.EACCES) {
		return err
	}
	var st unix.Stat_t
	if unix.Fstat(dir, &st) == nil && unix.Fchmod(dir, st.Mode&07777|0700) == nil {
		defer unix.Fchmod(dir, st.Mode&07777)
	}
	if err = do(); errors.Is(err, unix.EACCES) {
		sub, _, openErr := openAnyway(dir, name, unix.O_DIRECTORY)
		if openErr != nil {
			return err
		}
		_ = unix.Fchmod(sub, 0700)
		_ = unix.Close(sub)
		err = do()
	}
	return err
}

// carry copies a name to another file system, and then removes it.
func (m *mender) carry(dir int, name, inside string) error {
	from, err := os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d", dir))
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenRoot(m.quarantine)
	if err != nil {
		return err
	}
	defer to.Close()
	loosen(dir, name)
	err = fs.WalkDir(from.FS(), name, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		copied := inside + strings.TrimPrefix(file, name)
		switch d.Type() {
		case fs.ModeDir:
			return to.Mkdir(copied, 0700)
		case fs.ModeSymlink:
			target, err := from.Readlink(file)
			if err != nil {
				return err
			}
			return to.Symlink(target, copied)
		case 0:
			in, err := from.OpenFile(file, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
			if err != nil {
				return err
			}
			defer in.Close()
			out, err := to.OpenFile(copied, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0600)
			if err != nil {
				return err
			}
			_, err = io.Copy(out, in)
			return errors.Join(err, out.Close())
		}
		return nil // a socket, a pipe: there is nothing to keep
	})
	if err != nil {
		return err
	}
	return from.RemoveAll(name)
}

// loosen lets the owner into a name and all below it.
func loosen(dir int, name string) {
	fd, _, err := openAnyway(dir, name, unix.O_NONBLOCK)
	if err != nil {
		return
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		_ = f.Chmod(0700)
		all, _ := f.ReadDir(-1) // what cannot be read is missed by the copy, which says so
		for _, d := range all {
			loosen(fd, d.Name())
		}
	}
}

// parent opens the directory of a name, one component after the other. If it makes them, whatever else
// has a directory's name is moved away.
func (m *mender) parent(rel string, make bool) (fd int, done func(), err error) {
	dir, _ := splitPath(rel)
	fd, err = unix.Openat(m.root, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, nil, err
	}
	at, undo := "", func() {}
	for _, name := range strings.FieldsFunc(dir, func(r rune) bool { return r == '/' }) {
		at = join(at, name)
		next, put, err := openAnyway(fd, name, unix.O_DIRECTORY)
		if make && (errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)) {
			if err := m.away(at); err != nil {
				return -1, nil, err
			}
			err = unix.ENOENT
		}
		if make && errors.Is(err, unix.ENOENT) {
			mode := uint32(0755)
			if old, ok := m.before.Names[at]; ok {
				mode = old.Mode & 07777
			}
			if err := writable(fd, name, func() error { return unix.Mkdirat(fd, name, mode|0700) }); err != nil {
				return -1, nil, err
			}
			next, put, err = openAnyway(fd, name, unix.O_DIRECTORY)
		}
		undo()
		_ = unix.Close(fd)
		if err != nil {
			return -1, nil, err
		}
		if fd, undo = next, put; undo == nil {
			undo = func() {}
		}
	}
	return fd, func() { undo(); _ = unix.Close(fd) }, nil
}

// back makes a name again what it was before.
func (m *mender) back(rel, link string) error {
	e := m.before.Names[rel]
	if link != "" {
		e = entry{Mode: unix.S_IFLNK, Link: link}
	}
	dir, done, err := m.parent(rel, true)
	if err != nil {
		return err
	}
	defer done()
	_, name := splitPath(rel)
	switch e.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		err := writable(dir, name, func() error { return unix.Mkdirat(dir, name, 0700) })
		if err != nil && !errors.Is(err, unix.EEXIST) {
			return err
		}
		fd, _, err := openAnyway(dir, name, unix.O_DIRECTORY)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.Fchmod(fd, e.Mode&07777)
	case unix.S_IFLNK:
		err := writable(dir, name, func() error { return unix.Symlinkat(e.Link, dir, name) })
		if errors.Is(err, unix.EEXIST) {
			return nil // the next pass looks at it
		}
		return err
	}
	kept, err := os.Open(filepath.Join(m.kept, hex.EncodeToString([]byte(e.Sum))))
	if err != nil {
		return err
	}
	defer kept.Close()
	fresh := ".approvalbot-" + rand.Text()
	return writable(dir, name, func() error {
		fd, err := unix.Openat(dir, fresh, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0600)
		if err != nil {
			return err
		}
		file := os.NewFile(uintptr(fd), fresh)
		_, err = io.Copy(file, kept)
		err = errors.Join(err, unix.Fchmod(fd, e.Mode&07777), file.Close())
		if err == nil {
			err = unix.Renameat(dir, fresh, dir, name)
		}
		if err != nil {
			_ = unix.Unlinkat(dir, fresh, 0)
		}
		return err
	})
}

// sorted gives the keys of a map, each directory before what is in it.
func sorted[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
