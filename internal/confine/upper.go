//go:build linux

package confine

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"approvalbot/internal/policy/workspace"
)

// ofOverlay is how the attributes begin that the kernel notes on what is in an upper directory: opaque directories
// hide what is below, and origin is on what was copied up.
const ofOverlay = "user.overlay."

// judgement is what a call did to a workspace: the upper directory of its overlay beside what is below it.
type judgement struct {
	*guard
	before    *list
	began     int64
	protected map[string]bool // names that a file tool would be asked about, see [guard.in]
	meanwhile map[string]bool // names that a program of the host changed since the call began, and the call too
	changed   int
	deep      bool
	left      bool // a socket or a pipe that the call made or changed, which is not copied
	took      bool // one of the host's is gone
	folders   int
	made      int // of these
	watches   int // see mostWatches
	names     int // that the call left or removed; a long one counts several times
	plan
}

// plan is what makes a workspace what a call left: first what is new or changed, then what is removed, then what takes the
// names of folders that were.
type plan struct{ puts, removals, late []change }

// change is one name: what the call left of it, and what was there when it was judged. A mode of 0 is nothing.
type change struct {
	rel     string
	up, low unix.Stat_t
}

// mode is what the name is to have in the workspace: set-id bits are not copied back, nor is that all others may write, where they
// could not before.
func (c change) mode() uint32 { return c.up.Mode & 01777 &^ (0002 &^ c.low.Mode) }

// mostNames bounds how long it takes to judge what a call left: some 110,000 usual names, or 14,000 of 4 KB.
const mostNames = 1 << 20

// mostFolders bounds how many folders a call may leave or remove: each takes some tenths of a millisecond, and one of the user's
// watches in later calls.
const mostFolders = 20_000

// judge looks at each name that a call made, changed or removed. It changes nothing. Symbolic links are protected, each of
// them: where one leads depends on other links and on folders, which later commands change without a question.
func (w *Watch) judge(upper int) (*judgement, error) {
	j := &judgement{guard: &w.guard, before: w.before, began: w.began, watches: mostWatches(), protected: map[string]bool{}, meanwhile: map[string]bool{}}
	var top, low unix.Stat_t
	if err := unix.Fstat(upper, &top); err != nil || closed(top) {
		return nil, errors.New("the call made the workspace itself unreadable (chmod)")
	}
	if err := unix.Fstat(int(w.root.Fd()), &low); err != nil {
		return nil, err
	}
	j.folder("", top, low, false, false)
	if err := j.dir(upper, int(w.root.Fd()), "", j.top(), false, 0); err != nil {
		return nil, err
	}
	if j.deep {
		return nil, fmt.Errorf("the call made folders more than %d levels deep, or with names of more than %d "+
			"bytes", deepest, longest)
	}
	if j.left && j.took {
		return nil, errors.New("the call moved a socket or a pipe, which is not copied back")
	}
	return j, nil
}

// mostWatches is how many folders the kernel lets a user watch, as each call watches all; 0 if that is not known.
func mostWatches() int {
	text, _ := os.ReadFile(watchesFile)
	most, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return most
}

var watchesFile = "/proc/sys/fs/inotify/max_user_watches"

// something is an error if the call did anything at all.
func (w *Watch) something(upper int) error {
	if all, err := entries(upper); err != nil || len(all) > 0 || !w.sameMode(upper) {
		return errors.New("the call changed something")
	}
	return nil
}

// lstat reports false if there is no such name; of a directory -1 nothing is there.
func lstat(dir int, name string) (st unix.Stat_t, is bool) {
	return st, dir >= 0 && unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil
}

func kind(st unix.Stat_t) uint32 { return st.Mode & unix.S_IFMT }

// special reports a socket or a pipe, in which processes meet.
func special(st unix.Stat_t) bool { return kind(st) == unix.S_IFSOCK || kind(st) == unix.S_IFIFO }

// whiteout reports an upper entry that says that the name was removed.
func whiteout(st unix.Stat_t) bool { return kind(st) == unix.S_IFCHR && st.Rdev == 0 }

func attribute(dir int, name, of string) (value string, err error) {
	var buf [8]byte
	n, err := unix.Lgetxattr(fmt.Sprintf("/proc/self/fd/%d/%s", dir, name), ofOverlay+of, buf[:])
	return string(buf[:max(n, 0)]), err
}

// aclName is the attribute with the access control list of a file (acl(5)).
const aclName = "system.posix_acl_access"

// acl is the access control list of a file; empty if it has none, and no such list if it cannot be read.
func acl(dir int, name string) string {
	var buf [4 << 10]byte
	n, err := unix.Lgetxattr(fmt.Sprintf("/proc/self/fd/%d/%s", dir, name), aclName, buf[:])
	if err != nil && !errors.Is(err, unix.ENODATA) && !errors.Is(err, unix.EOPNOTSUPP) {
		return err.Error()
	}
	return string(buf[:max(n, 0)])
}

// opaque reports a directory of the upper one that hides what was below.
func opaque(dir int, name string) (bool, error) {
	value, err := attribute(dir, name, "opaque")
	if err != nil && !errors.Is(err, unix.ENODATA) {
		return false, fmt.Errorf("cannot find out whether the command replaced the folder %q: %w", name, err)
	}
	return value == "y", nil
}

// dir judges a directory of the upper one. If it hides the one below, so do the directories in it, marked or not.
func (j *judgement) dir(up, low int, rel string, p place, hides bool, depth int) error {
	if j.deep = j.deep || depth >= deepest || len(rel) > longest; j.deep {
		return nil
	}
	all, err := entries(up)
	if err != nil {
		return fmt.Errorf("list %q: %w", rel, err)
	}
	made := map[string]bool{}
	for _, d := range all {
		if err := j.count(p); err != nil {
			return err
		}
		made[d.name] = true
		if err := j.entry(up, low, d.name, join(rel, d.name), j.in(p, rel, d.name), hides, depth); err != nil {
			return err
		}
	}
	if hides && low >= 0 {
		hidden, err := entries(low)
		if err != nil {
			return fmt.Errorf("list %q: %w", rel, err)
		}
		for _, d := range hidden {
			if made[d.name] {
				continue
			}
			if err := j.gone(low, d.name, join(rel, d.name), j.in(p, rel, d.name), depth); err != nil {
				return err
			}
		}
	}
	if !p.Git {
		j.repository(up, low, rel, made, hides)
	}
	return nil
}

// takes notes that a socket or a pipe of the host is gone, by which a service is reached. Those of tests and builds come and go.
func (j *judgement) takes(rel string) {
	if j.took = true; !workspace.Passing(rel) {
		j.protected[rel] = true
	}
}

// count counts a name in a directory that is looked at as p.
func (j *judgement) count(p place) error {
	if p.Joins {
		j.names += len(p.Under) / 4
	}
	if j.names += 8 + len(p.Under)/64; j.names > mostNames {
		return errors.New("the call made, changed or removed too many names, or too long ones")
	}
	return nil
}

// countFolder counts a folder.
func (j *judgement) countFolder() error {
	if j.folders++; j.folders > mostFolders {
		return fmt.Errorf("the call made, changed or removed more than %d folders", mostFolders)
	}
	return nil
}

// repository finds a directory that git takes for a repository, and did not before.
func (j *judgement) repository(up, low int, rel string, made map[string]bool, hides bool) {
	names := map[string]bool{}
	for name := range made {
		if st, is := lstat(up, name); is && !whiteout(st) {
			names[workspace.FoldPath(name)] = true
		}
	}
	if len(names) == 0 {
		return
	}
	if low >= 0 && !hides {
		all, _ := entries(low) // it was listed before the call
		for _, d := range all {
			if !made[d.name] {
				names[workspace.FoldPath(d.name)] = true
			}
		}
	}
	if isRepository(func(name string) bool { return names[strings.ToLower(name)] }) {
		j.protected[join(rel, "HEAD")] = true
	}
}

func (j *judgement) entry(up, low int, name, rel string, p place, hides bool, depth int) error {
	u, is := lstat(up, name)
	if !is {
		return fmt.Errorf("%q cannot be looked at", rel)
	}
	if closed(u) {
		return fmt.Errorf("the call made the folder %q unreadable (chmod)", rel)
	}
	l, was := lstat(low, name)
	if whiteout(u) {
		if was {
			return j.gone(low, name, rel, p, depth)
		}
		return nil
	}
	isDir, wasDir := kind(u) == unix.S_IFDIR, was && kind(l) == unix.S_IFDIR
	if was && special(l) && kind(u) != kind(l) {
		j.takes(rel)
	}
	_, err := attribute(up, name, "origin")
	fresh := err != nil // not copied from what was there
	if !hides && (isDir && !wasDir || !was) && !fresh && j.lost(low, isDir) {
		j.meanwhile[rel] = true
	}
	p.Held = p.Held || kind(u) == unix.S_IFLNK || was && kind(l) == unix.S_IFLNK
	list := &j.puts
	if wasDir && !isDir {
		if err := j.gone(low, name, rel, p, depth); err != nil {
			return err
		}
		l, list = unix.Stat_t{}, &j.late
	} else if was && !wasDir && j.since(l) {
		j.meanwhile[rel] = true
	}
	switch kind(u) {
	case unix.S_IFDIR:
		if err := j.countFolder(); err != nil {
			return err
		}
		if !wasDir {
			j.made++
		}
		if j.watches > 0 && len(j.before.dirs)+j.made > j.watches {
			return fmt.Errorf("the workspace would have more folders than the kernel lets this user watch (%d), so no later call could be confined", j.watches)
		}
		hidden, err := opaque(up, name)
		if err != nil {
			return err
		}
		mode := j.folder(rel, u, l, fresh && !hidden && !hides, p.Held)
		if p.Held && !(wasDir && l.Mode&01777 == mode) {
			j.protected[rel] = true
		}
		return j.below(up, low, name, rel, p, wasDir, hides || hidden, depth)
	case unix.S_IFREG, unix.S_IFLNK:
		if p.Held && l.Mode != 0 && same(up, low, name, u, l) {
			return nil
		}
		if kind(l) == unix.S_IFREG && kind(u) == unix.S_IFREG &&
			(u.Mode&^l.Mode&0022 != 0 || u.Gid != l.Gid && u.Mode&0070 != 0 || acl(up, name) != acl(low, name)) {
			j.protected[rel] = true // others could write to it, or another group look into it
		}
		*list = append(*list, change{rel, u, l})
		j.changed++
	default: // a socket or a pipe, which lived in the call, or is the host's and had its mode or time changed
		j.left = true
		if l.Mode != 0 && kind(l) != kind(u) {
			j.removals = append(j.removals, change{rel, unix.Stat_t{}, l})
		}
	}
	if p.Held {
		j.protected[rel] = true
	}
	return nil
}

// folder plans a folder that the call left, which is there already or new. It gives the mode that it is to have: that of the
// call if the call changed it, else what it has now. A protected one that is there keeps its time.
func (j *judgement) folder(rel string, u, l unix.Stat_t, fresh, held bool) (mode uint32) {
	u.Mode &= unix.S_IFMT | 01777
	if kind(l) == unix.S_IFDIR {
		was, known := j.before.dirs[rel]
		own := l.Mode & (unix.S_IFMT | 01777)
		switch {
		case known && was.inode != inodeOf(l), !known && !fresh:
			j.meanwhile[rel] = true
		case !known, u.Mode&01777 == was.mode:
			u.Mode = own
		case own != u.Mode && own&01777 != was.mode:
			j.meanwhile[rel] = true
		}
		sticky := own&^u.Mode&unix.S_ISVTX != 0 && own&0022 != 0 // others could remove each other's files
		if u.Mode&^own&0077 != 0 || sticky {                     // others could write in it, or look into it
			j.protected[cmp.Or(rel, ".")] = true
		}
	}
	if !held || kind(l) != unix.S_IFDIR {
		j.puts = append(j.puts, change{rel, u, l})
	}
	return u.Mode & 01777
}

// since reports that something was changed since the call began, or may have been: some file systems tell the second alone
// (ext4 with small inodes).
func (j *judgement) since(st unix.Stat_t) bool {
	if st.Ctim.Nsec == 0 {
		return st.Ctim.Sec >= j.began/1e9
	}
	return st.Ctim.Nano() >= j.began
}

// lost reports that what the call had before it is there no more: a folder that it wrote in, or a file in a folder whose
// names were changed. A file that it moved there looks the same, but no folder's names were.
func (j *judgement) lost(low int, isDir bool) bool {
	var st unix.Stat_t
	return low >= 0 && (isDir || unix.Fstat(low, &st) != nil || j.since(st))
}

func (j *judgement) below(up, low int, name, rel string, p place, wasDir, hides bool, depth int) error {
	sub, put, err := openAnyway(up, name, unix.O_DIRECTORY)
	if err != nil {
		return fmt.Errorf("open %q: %w", rel, err)
	}
	defer unix.Close(sub)
	defer put()
	under := -1
	if wasDir {
		var put func()
		if under, put, err = openAnyway(low, name, unix.O_DIRECTORY); err != nil {
			return fmt.Errorf("open %q: %w", rel, err)
		}
		defer unix.Close(under)
		defer put()
	}
	return j.dir(sub, under, rel, p, hides, depth+1)
}

// gone judges what a call removed, with all that is in it.
func (j *judgement) gone(low int, name, rel string, p place, depth int) error {
	var l unix.Stat_t
	if err := unix.Fstatat(low, name, &l, unix.AT_SYMLINK_NOFOLLOW); errors.Is(err, unix.ENOENT) {
		return nil
	} else if err != nil {
		return fmt.Errorf("look at %q: %w", rel, err)
	}
	if p.Held || kind(l) == unix.S_IFLNK {
		j.protected[rel] = true
	}
	isDir := kind(l) == unix.S_IFDIR
	if special(l) {
		j.takes(rel)
	}
	if j.since(l) || isDir && j.before.dirs[rel].inode != inodeOf(l) {
		j.meanwhile[rel] = true
	}
	if isDir {
		if err := j.countFolder(); err != nil {
			return err
		}
		if err := j.goneBelow(low, name, rel, p, depth); err != nil {
			return err
		}
	} else {
		j.changed++
	}
	j.removals = append(j.removals, change{rel, unix.Stat_t{}, l})
	return nil
}

func (j *judgement) goneBelow(low int, name, rel string, p place, depth int) error {
	sub, put, err := openAnyway(low, name, unix.O_DIRECTORY)
	if err != nil {
		return fmt.Errorf("open %q: %w", rel, err)
	}
	defer unix.Close(sub)
	defer put()
	all, err := entries(sub)
	if j.deep = j.deep || depth >= deepest || len(rel) > longest; j.deep || err != nil {
		return err
	}
	for _, d := range all {
		if err := j.count(p); err != nil {
			return err
		}
		if err := j.gone(sub, d.name, join(rel, d.name), j.in(p, rel, d.name), depth+1); err != nil {
			return err
		}
	}
	return nil
}

// same reports that a file or a link is what it was, but for its times.
func same(up, low int, name string, u, l unix.Stat_t) bool {
	if u.Mode != l.Mode || u.Size != l.Size {
		return false
	}
	if kind(u) == unix.S_IFLNK {
		a, errA := readlink(up, name)
		b, errB := readlink(low, name)
		return a == b && errA == nil && errB == nil
	}
	var readers [2]*os.File
	for i, dir := range [2]int{up, low} {
		fd, put, err := openAnyway(dir, name, unix.O_NONBLOCK)
		if err != nil {
			return false
		}
		put()
		readers[i] = os.NewFile(uintptr(fd), name)
		defer readers[i].Close()
	}
	var a, b [32 << 10]byte
	for {
		n, errA := io.ReadFull(readers[0], a[:])
		m, errB := io.ReadFull(readers[1], b[:])
		if !bytes.Equal(a[:n], b[:m]) {
			return false
		}
		if errA != nil || errB != nil {
			return (errA == io.EOF || errA == io.ErrUnexpectedEOF) && (errB == io.EOF || errB == io.ErrUnexpectedEOF)
		}
	}
}
