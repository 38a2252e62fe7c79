//go:build linux

package confine

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"approvalbot/internal/policy/workspace"
)

// deepest is how many directories below each other are looked into. What lies deeper is
// protected as one: in a workspace that goes deeper nothing is confined.
const deepest = 256

// Inode is what a file is known by. ctime is set by the kernel alone.
type Inode struct {
	Dev, Ino uint64
	Ctime    int64
	Size     int64
}

// entry is one protected name.
type entry struct {
	Inode
	Mode uint32 // type and permissions
	Many bool   // the file has more names than this one
	Racy bool   // it had changed so lately that its ctime does not tell the next change
	Link string // target of a symbolic link
	Sum  string // of a regular file's content
}

// same reports two entries that mean the same to those who obey them.
func (e entry) same(o entry) bool {
	other := e.Mode&unix.S_IFMT != unix.S_IFDIR && e.Sum == "" && e.Link == "" // a socket, a device
	return e.Mode == o.Mode && e.Link == o.Link && e.Sum == o.Sum && (!other || e.Ino == o.Ino)
}

// folder is a directory as it was read.
type folder struct {
	Inode
	As, At    place // how its own name made it be looked at, and how what is in it is
	Dirs      []string
	Held      []string // protected names that are no directories
	Links     []string
	Secrets   []string
	Many      []string // files that had more names than one
	Unsettled bool     // it changed so lately that its ctime does not tell the next change
	closed    bool     // its owner may not read it, so that to look into it changes it
}

// plain reports a directory with nothing in it that is looked at by itself.
func (f *folder) plain() bool {
	return len(f.Dirs)+len(f.Held)+len(f.Links)+len(f.Secrets)+len(f.Many) == 0
}

// list is what one walk found of a workspace, by paths relative to its root.
type list struct {
	Names map[string]entry  // protected ones
	Repos map[string]bool   // directories of repositories
	Links map[string]string // symbolic links of any name, and where they lead
	Twins map[string]uint64 // other names of protected files, and their inodes
	Named map[string]bool   // what settings of repositories name

	folders map[string]*folder
	at      int64              // when the walk began
	secrets []string           // usual names of secrets, for the mounts
	hidden  map[[2]uint64]bool // inodes of secrets that have more names
	many    map[[2]uint64]*linked
	vanish  bool // a name was gone before it was looked at
	size    int  // of links and their names
}

// linked is a file with several names.
type linked struct {
	names []string // those in the workspace
	all   uint64   // how many there are
}

// shared gives the files that have names outside the workspace, or the folders that have such files in them if there
// are more than that. It reports false if that would be the whole workspace.
func (l *list) shared(most int) ([]string, bool) {
	out := map[string]bool{}
	for _, file := range l.many {
		for _, rel := range file.names {
			if uint64(len(file.names)) < file.all {
				out[rel] = true
			}
		}
	}
	for len(out) > most {
		deepest := 0
		for rel := range out {
			deepest = max(deepest, strings.Count(rel, "/"))
		}
		for rel := range out {
			if dir, _ := splitPath(rel); strings.Count(rel, "/") == deepest {
				delete(out, rel)
				if out[dir] = true; dir == "" {
					return nil, false
				}
			}
		}
	}
	return sorted(out), true
}

type walker struct {
	*guard
	prev        *list                        // directories that did not change since are not read again
	known       map[string]entry             // files that did not change since are not read again
	masks       bool                         // list secrets too
	expect      map[string]entry             // when not nil: what differs in size from these is not read
	sums        func(fd int) (string, error) // keeps a file, or only sums it
	twins       map[[2]uint64]bool           // when not nil: look for other names of these files
	secretTwins map[[2]uint64]bool           // of twins, those whose other names are hidden too
	exact       bool                         // the file system's ctime is true
	again       int                          // how many files are read though their times are as they were
	start       int64
	out         *list
	buf         []byte
}

// settle is after what time a change of a file surely has another ctime than the one before.
var settle = 2 * time.Second

// trueCtime are file systems whose ctime tells each change: ext4, xfs, btrfs, f2fs, overlayfs.
var trueCtime = map[int64]bool{0xef53: true, 0x58465342: true, 0x9123683e: true, 0xf2f52010: true, 0x794c7630: true}

// walk lists the workspace behind a descriptor.
func (w *walker) walk(root int) (*list, error) {
	w.out = &list{Names: map[string]entry{}, Repos: map[string]bool{}, Links: map[string]string{}, folders: map[string]*folder{}, Named: w.named}
	w.start, w.buf = time.Now().UnixNano(), make([]byte, 64<<10)
	w.out.at = w.start
	var fs unix.Statfs_t
	w.exact = unix.Fstatfs(root, &fs) == nil && trueCtime[int64(fs.Type)]
	if err := w.dir(root, "", w.top(), 0); err != nil {
		return nil, err
	}
	many := maps.Clone(w.out.hidden)
	if many == nil {
		many = map[[2]uint64]bool{}
	}
	for _, e := range w.out.Names {
		if e.Many {
			many[[2]uint64{e.Dev, e.Ino}] = true
		}
	}
	if len(many) == 0 || w.twins != nil {
		return w.out, nil
	}
	// Some protected file has another name, which may lie anywhere.
	first := w.out
	second := *w
	second.twins, second.secretTwins, second.prev, second.known = many, first.hidden, nil, first.Names
	out, err := second.walk(root)
	if err == nil {
		out.vanish = out.vanish || first.vanish
	}
	return out, err
}

// settled reports a time of change after which any other change has another time.
func (w *walker) settled(i Inode) bool { return w.exact && w.start-i.Ctime > int64(settle) }

func (w *walker) dir(fd int, rel string, p place, depth int) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	f := &folder{Inode: inodeOf(&st), As: p, At: p}
	f.Unsettled = !w.settled(f.Inode)
	var before *folder
	if w.prev != nil {
		before = w.prev.folders[rel]
	}
	if before.still(f.Inode, p) {
		f = before
	} else if err := w.read(fd, rel, f); err != nil {
		return err
	}
	w.note(rel, f, &st)
	if w.masks {
		for _, name := range f.Secrets {
			w.hide(fd, rel, name)
		}
		for _, name := range f.Many {
			w.links(fd, rel, name)
		}
	}
	for _, name := range f.Held {
		if err := w.name(fd, join(rel, name), name); err != nil {
			return err
		}
	}
	for _, name := range f.Links {
		target, err := readlink(fd, name)
		if err != nil {
			w.out.vanish = true
			continue
		}
		w.out.Links[join(rel, name)] = target
		if w.out.size += len(rel) + len(name) + len(target); w.out.size > mostLinks {
			return fmt.Errorf("the links of the workspace (%q) are too many or too long to be compared", rel)
		}
	}
	for _, name := range f.Dirs {
		child := join(rel, name)
		place := w.in(f.At, rel, name)
		if depth+1 >= deepest {
			var st unix.Stat_t
			_ = unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW)
			w.out.Names[child] = entry{Inode: Inode{Dev: st.Dev, Ino: st.Ino}, Mode: unix.S_IFDIR | unix.S_ISVTX, Link: "too deep"}
			continue
		}
		if w.asBefore(fd, name, child, place) {
			continue
		}
		sub, put, err := openAnyway(fd, name, unix.O_DIRECTORY)
		switch {
		case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENOTDIR):
			w.out.vanish = true
			continue
		case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
			// Another user's: a confined command can look into it as little as we can.
			if err := w.opaque(fd, name, child); err != nil {
				return err
			}
			continue
		case err != nil:
			return fmt.Errorf("open %q: %w", child, err)
		}
		err = w.dir(sub, child, place, depth+1)
		if put != nil && err == nil {
			put()
			w.out.folders[child].closed = true
		}
		_ = unix.Close(sub)
		if err != nil {
			return err
		}
	}
	return nil
}

// still reports a directory of which nothing was added, removed or renamed since it was read.
func (f *folder) still(now Inode, p place) bool {
	return f != nil && f.Inode == now && !f.Unsettled && f.As == p
}

// asBefore lists a directory without opening it, if it is plain and still as it was.
func (w *walker) asBefore(fd int, name, rel string, p place) bool {
	if w.prev == nil {
		return false
	}
	before := w.prev.folders[rel]
	if before == nil || !before.plain() {
		return false
	}
	var st unix.Stat_t
	err := unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if err != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR || st.Mode&0500 != 0500 || !before.still(inodeOf(&st), p) {
		return false
	}
	w.note(rel, before, &st)
	return true
}

// note lists a directory that was read, now or before.
func (w *walker) note(rel string, f *folder, st *unix.Stat_t) {
	w.out.folders[rel] = f
	if f.At.Repo && f.At.Under == "" {
		w.out.Repos[rel] = true
	} else if f.At.Held {
		w.out.Names[rel] = entry{Inode: Inode{Dev: st.Dev, Ino: st.Ino}, Mode: st.Mode}
	}
}

// opaque lists a directory that belongs to another user and cannot be read.
func (w *walker) opaque(fd int, name, rel string) error {
	var st unix.Stat_t
	if err := unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	if int(st.Uid) == os.Geteuid() {
		return fmt.Errorf("open %q: %w", rel, unix.EACCES)
	}
	w.out.Names[rel] = entry{Inode: Inode{Dev: st.Dev, Ino: st.Ino}, Mode: st.Mode, Link: "not readable"}
	return nil
}

// read fills in what is in a directory.
func (w *walker) read(fd int, rel string, f *folder) error {
	if _, err := unix.Seek(fd, 0, io.SeekStart); err != nil {
		return err
	}
	type dirent struct {
		name string
		kind byte
	}
	var all []dirent
	var has map[string]bool
	for {
		n, err := unix.Getdents(fd, w.buf)
		if err != nil {
			return fmt.Errorf("list %q: %w", rel, err)
		}
		if n == 0 {
			break
		}
		for at := 0; at < n; {
			size := int(binary.NativeEndian.Uint16(w.buf[at+16:]))
			raw := w.buf[at+19 : at+size]
			end := 0
			for raw[end] != 0 {
				end++
			}
			kind, name := w.buf[at+18], string(raw[:end])
			at += size
			if name == "." || name == ".." {
				continue
			}
			all = append(all, dirent{name, kind})
			switch len(name) {
			case 4, 7, 9: // HEAD, refs, objects, commondir
				if has == nil {
					has = map[string]bool{}
				}
				has[workspace.FoldPath(name)] = true
			}
		}
	}
	// Inside what is protected as a whole there are no repositories, but for .git itself.
	_, own := splitPath(rel)
	wasHeld := f.At.Held && workspace.FoldPath(own) != ".git"
	// A folder with a HEAD can become a repository by folders alone.
	found := w.repos == nil && !wasHeld && has["head"]
	if found || w.repos[rel] {
		f.At = place{Repo: true}
	}
	fake := f.At.Repo && f.At.Under != "" && isRepository(func(n string) bool { return has[n] })
	for _, d := range all {
		if d.kind == unix.DT_UNKNOWN {
			var st unix.Stat_t
			if err := unix.Fstatat(fd, d.name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
				w.out.vanish = true
				continue
			}
			d.kind = byte(st.Mode & unix.S_IFMT >> 12)
		}
		switch p := w.in(f.At, rel, d.name); {
		case d.kind == unix.DT_DIR:
			f.Dirs = append(f.Dirs, d.name)
			continue
		case f.At.Repo && special(d.kind): // git would wait for it
			f.Held = append(f.Held, d.name)
		case d.kind == unix.DT_LNK && len(w.above) > 0 && w.above[workspace.FoldPath(join(rel, d.name))], p.Held, fake && workspace.FoldPath(d.name) == "head":
			f.Held = append(f.Held, d.name)
		case w.twins != nil && d.kind == unix.DT_REG:
			w.twin(fd, rel, d.name)
		}
		if d.kind == unix.DT_LNK {
			f.Links = append(f.Links, d.name)
		}
		if w.masks && secret(f.At, join(rel, d.name), d.kind) {
			f.Secrets = append(f.Secrets, d.name)
		}
		var st unix.Stat_t
		if w.masks && d.kind == unix.DT_REG && unix.Fstatat(fd, d.name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Nlink > 1 {
			f.Many = append(f.Many, d.name)
		}
	}
	return nil
}

// secret reports a name that the mounts hide: a usual secret, or what speaks to a process of the host. In a
// repository's own directory branches have any names.
func secret(in place, rel string, kind byte) bool {
	top, _, _ := strings.Cut(in.Under, "/")
	switch {
	case kind == unix.DT_SOCK || kind == unix.DT_FIFO:
		return true
	case kind != unix.DT_REG || in.Repo && (top == "refs" || top == "logs"):
		return false
	}
	return in.Repo && top == "git-crypt" || workspace.SecretLower(workspace.FoldPath(rel))
}

// special reports what is neither a file, a folder nor a link.
func special(kind byte) bool {
	return kind != unix.DT_REG && kind != unix.DT_DIR && kind != unix.DT_LNK
}

// links notes one of several names of a file.
func (w *walker) links(fd int, rel, name string) {
	var st unix.Stat_t
	if unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil || st.Nlink < 2 {
		return
	}
	if w.out.many == nil {
		w.out.many = map[[2]uint64]*linked{}
	}
	file := w.out.many[[2]uint64{st.Dev, st.Ino}]
	if file == nil {
		file = &linked{all: uint64(st.Nlink)}
		w.out.many[[2]uint64{st.Dev, st.Ino}] = file
	}
	file.names = append(file.names, join(rel, name))
}

// hide notes a name for the mounts, and whether the file has more names.
func (w *walker) hide(fd int, rel, name string) {
	w.out.secrets = append(w.out.secrets, join(rel, name))
	var st unix.Stat_t
	if unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Nlink > 1 {
		if w.out.hidden == nil {
			w.out.hidden = map[[2]uint64]bool{}
		}
		w.out.hidden[[2]uint64{st.Dev, st.Ino}] = true
	}
}

// twin notes another name of a protected file or of a secret.
func (w *walker) twin(fd int, rel, name string) {
	var st unix.Stat_t
	if unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && w.twins[[2]uint64{st.Dev, st.Ino}] {
		if w.secretTwins[[2]uint64{st.Dev, st.Ino}] && !slices.Contains(w.out.secrets, join(rel, name)) {
			w.out.secrets = append(w.out.secrets, join(rel, name))
		}
		if w.out.Twins == nil {
			w.out.Twins = map[string]uint64{}
		}
		w.out.Twins[join(rel, name)] = st.Ino
	}
}

// name lists one protected name that is no directory.
func (w *walker) name(fd int, rel, name string) error {
	var st unix.Stat_t
	if err := unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		w.out.vanish = true
		return nil
	}
	e := entry{Inode: inodeOf(&st), Mode: st.Mode, Many: st.Nlink > 1 && st.Mode&unix.S_IFMT == unix.S_IFREG}
	e.Racy = !w.settled(e.Inode)
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFLNK:
		e.Link, _ = readlink(fd, name)
	case unix.S_IFREG:
		w.again--
		believed := w.exact && (w.again < 0 || e.Size > 64<<10)
		if old, ok := w.known[rel]; ok && old.Inode == e.Inode && old.Sum != "" && !old.Racy && believed {
			e.Sum = old.Sum
			break
		}
		if old, ok := w.expect[rel]; w.expect != nil && (!ok || old.Size != e.Size) {
			e.Sum = "differs"
			break
		}
		file, put, err := openAnyway(fd, name, unix.O_NONBLOCK)
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ELOOP) {
			w.out.vanish = true
			return nil
		}
		if (errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM)) && int(st.Uid) != os.Geteuid() {
			e.Sum = "another user's " + strconv.FormatInt(e.Ctime, 10)
			break
		}
		if err != nil {
			return fmt.Errorf("open %q: %w", rel, err)
		}
		e.Sum, err = w.sums(file)
		if put != nil {
			put()
		}
		_ = unix.Close(file)
		if err != nil {
			return fmt.Errorf("read %q: %w", rel, err)
		}
	}
	w.out.Names[rel] = e
	return nil
}

// openAnyway opens a name of a directory that is no symbolic link. An owner who may not read it is
// let in until put is called, which is nil if there was no need.
func openAnyway(fd int, name string, flags int) (got int, put func(), err error) {
	flags |= unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_CLOEXEC | unix.O_NOCTTY
	got, err = unix.Openat(fd, name, flags, 0)
	if !errors.Is(err, unix.EACCES) {
		return got, nil, err
	}
	handle, err := unix.Openat(fd, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, nil, err
	}
	defer unix.Close(handle)
	var st unix.Stat_t
	if err := unix.Fstat(handle, &st); err != nil {
		return -1, nil, err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFLNK {
		return -1, nil, unix.ELOOP
	}
	self := "/proc/self/fd/" + strconv.Itoa(handle)
	if err := unix.Chmod(self, st.Mode&07777|0700); err != nil {
		return -1, nil, unix.EACCES
	}
	if got, err = unix.Open(self, flags&^unix.O_NOFOLLOW, 0); err != nil {
		return -1, nil, err
	}
	return got, func() { _ = unix.Fchmod(got, st.Mode&07777) }, nil
}

func inodeOf(st *unix.Stat_t) Inode {
	return Inode{st.Dev, st.Ino, st.Ctim.Nano(), st.Size}
}

func readlink(fd int, name string) (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(fd, name, buf)
	return string(buf[:max(n, 0)]), err
}

// sum is the hash of a file's content.
func sum(fd int) (string, error) {
	h := sha256.New()
	_, err := io.Copy(h, reader(fd))
	return string(h.Sum(nil)), err
}

// reader reads a descriptor that somebody else closes.
type reader int

func (r reader) Read(p []byte) (int, error) {
	n, err := unix.Read(int(r), p)
	if n == 0 && err == nil && len(p) > 0 {
		return 0, io.EOF
	}
	return max(n, 0), err
}

// astray gives the links that lead outside or to what is protected, and where they end.
func (l *list) astray(g *guard) map[string]string {
	out := map[string]string{}
	for rel := range maps.Keys(l.Links) {
		if end, is := g.leadsAstray(l.Links, rel); is {
			out[rel] = end
		}
	}
	return out
}
