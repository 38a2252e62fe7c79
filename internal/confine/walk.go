//go:build linux

package confine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"approvalbot/internal/policy/workspace"
)

// deepest is how many directories below each other are looked into. In a workspace that goes deeper nothing is
// confined, and of a call that goes deeper nothing is kept.
const (
	deepest = 256
	longest = 3800 // bytes of a folder's name: the kernel opens none with more than 4096

	mostLinks = 64 << 20 // bytes of links and their names
	mostSteps = 1 << 18  // names on the ways of links: each is a system call, which takes some microseconds
)

// list is what the walk before a call found of a workspace, by paths relative to its root.
type list struct {
	Repos    map[string]bool   // git's own directories
	envs     map[string]bool   // environments of Python and conda, in which all is what programs load
	Links    map[string]string // symbolic links, and where they lead
	gitFiles []string          // what is called .git and is no directory
	secrets  []string
	beyond   map[string]string  // links by whose names something outside is a secret, with where they lead
	many     map[[2]uint64]bool // secrets that have more names than one
	size     int                // of links and their names, in bytes
	names    int                // that were looked at
	leaves   leaves
	dirs     map[string]folder
}

// folder tells a directory from another one of its name.
type folder struct {
	inode [2]uint64
	mode  uint32
}

func folderOf(st unix.Stat_t) folder { return folder{inodeOf(st), st.Mode & 01777} }

func newList() *list {
	return &list{Repos: map[string]bool{}, envs: map[string]bool{}, Links: map[string]string{}, many: map[[2]uint64]bool{}, leaves: leaves{},
		beyond: map[string]string{},
		dirs:   map[string]folder{}}
}

type walker struct {
	*guard
	out   *list
	twins bool // look for other names of secrets
	known leaves
	start int64
	exact bool // the file system's change times are true
	looks *lookout
}

// leaves are directories with nothing in them but files that mean nothing here, and their inode and time of change, which
// the kernel alone sets: they are not read again before they change.
type leaves map[string]leaf

type leaf struct{ Dev, Ino, Changed int64 }

func leafOf(st unix.Stat_t) leaf { return leaf{int64(st.Dev), int64(st.Ino), st.Ctim.Nano()} }

// settle is after what time a change surely has another time than the one before, on file systems that tell each
// change: ext4, xfs, btrfs, f2fs, overlayfs.
const settle = int64(2 * time.Second)

var trueTimes = map[int64]bool{0xef53: true, 0x58465342: true, 0x9123683e: true, 0xf2f52010: true, 0x794c7630: true}

// walk lists the workspace behind a descriptor.
func (g *guard) walk(root int, known leaves, looks *lookout) (*list, error) {
	w := walker{guard: g, known: known, start: time.Now().UnixNano(), out: newList(), looks: looks}
	var fs unix.Statfs_t
	w.exact = unix.Fstatfs(root, &fs) == nil && trueTimes[fs.Type]
	var st unix.Stat_t
	if err := unix.Fstat(root, &st); err != nil || closed(st) {
		return nil, fmt.Errorf("workspace %s cannot be looked into; allow it with chmod u+rx", g.root)
	}
	w.out.dirs[""] = folderOf(st)
	err := w.dir(root, "", g.top(), 0)
	if err == nil {
		err = (&renamer{walker: &w, base: root, links: sorted(w.out.Links), within: map[string]bool{}}).all()
	}
	if err == nil && len(w.out.many) > 0 {
		w.twins = true
		err = w.dir(root, "", g.top(), 0)
	}
	return w.out, err
}

func (w *walker) dir(fd int, rel string, p place, depth int) error {
	if depth >= deepest || len(rel) > longest {
		return fmt.Errorf("workspace %s has folders more than %d deep, or with longer names than %d bytes "+
			"(%.80q), so it cannot be listed", w.root, deepest, longest, rel)
	}
	if err := w.looks.add(fd, "", rel); err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	all, err := entries(fd)
	if errors.Is(err, unix.ENOENT) && rel != "" {
		return nil // removed meanwhile, as git gc does; one that gets its name is noticed
	}
	if err != nil {
		return fmt.Errorf("list %q: %w", rel, err)
	}
	_, own := splitPath(rel)
	w.out.names += len(all)
	has := func(name string) bool {
		return slices.ContainsFunc(all, func(d dirent) bool { return strings.EqualFold(d.name, name) })
	}
	logs := p.Git && !has("objects") && !has("commondir")
	if workspace.FoldPath(own) == ".git" || isRepository(has) && !logs {
		p.Held, p.Git = true, true
		w.out.Repos[rel] = true
	}
	switch isEnv := has("pyvenv.cfg") || has("conda-meta"); {
	case isEnv && rel != "":
		w.out.envs[rel] = true
	case isEnv: // the workspace itself, which also has what the agent works on
		for _, part := range envParts.List() {
			w.out.envs[part] = true
		}
	}
	found, isLeaf := w.out.found(), !p.Git
	for _, d := range all {
		isLeaf = isLeaf && d.kind == unix.DT_REG
		child, lower := join(rel, d.name), workspace.FoldPath(d.name)
		under := place{Git: p.Git, Under: join(p.Under, lower)}
		switch d.kind {
		case unix.DT_DIR:
			if err := w.below(fd, d.name, child, w.in(p, rel, d.name), depth); err != nil {
				return err
			}
			continue
		case unix.DT_REG:
			w.file(fd, d.name, child, under)
		case unix.DT_LNK:
			target, err := readlink(fd, d.name)
			if err != nil {
				continue // gone meanwhile
			}
			w.out.Links[child] = target
			if w.out.size += len(child) + len(target); w.out.size > mostLinks {
				return fmt.Errorf("workspace %s has too many links, or too long ones (%q); name a "+
					"smaller one", w.root, rel)
			}
		}
		if lower == ".git" {
			w.out.gitFiles = append(w.out.gitFiles, child)
		}
	}
	if isLeaf && w.out.found() == found && w.exact && !w.twins && w.start-st.Ctim.Nano() > settle && utf8.ValidString(rel) {
		w.out.leaves[rel] = leafOf(st)
	}
	return nil
}

// closed reports a folder of the user that its names are not looked up in: what is there would be taken for missing. A
// workspace with one is refused, and so is what a call did that leaves one.
func closed(st unix.Stat_t) bool {
	return kind(st) == unix.S_IFDIR && st.Mode&0500 != 0500 && int(st.Uid) == os.Geteuid()
}

func (l *list) found() int { return len(l.secrets) + len(l.gitFiles) }

func (w *walker) below(fd int, name, child string, p place, depth int) error {
	_, leaf := w.known[child]
	if leaf { // it may not be opened, so its time of change is compared after this
		if err := w.looks.add(fd, name, child); err != nil {
			return err
		}
	}
	st, is := lstat(fd, name)
	if is && closed(st) {
		return fmt.Errorf("workspace %s has a folder %q that cannot be looked into; allow it with chmod u+rx", w.root, child)
	}
	if is {
		w.out.dirs[child] = folderOf(st)
	}
	if leaf && is && !w.twins && leafOf(st) == w.known[child] {
		w.out.leaves[child] = w.known[child]
		return nil
	}
	sub, put, err := openAnyway(fd, name, unix.O_DIRECTORY)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENOTDIR):
		return nil
	case errors.Is(err, unix.EXDEV):
		return fmt.Errorf("workspace %s has another mount in it (%q), and the kernel cannot make an overlay of such "+
			"a folder; name a smaller one", w.root, child)
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		if !is {
			return nil // the folder above is another user's, and neither we nor the command can look names up in it
		}
		if int(st.Uid) != os.Geteuid() {
			if unix.Faccessat(fd, name, unix.X_OK, 0) == nil { // the command opens what it can name
				return fmt.Errorf("workspace %s has a folder of another user (%q) that you can enter but not list, so secrets in it "+
					"are not found; name a smaller one", w.root, child)
			}
			return nil // a confined command can look into it as little as we can
		}
	}
	if err != nil {
		return fmt.Errorf("open %q: %w", child, err)
	}
	defer unix.Close(sub)
	defer put()
	return w.dir(sub, child, p, depth+1)
}

// private reports a usual secret. In a folder .git branches have any names.
func (p place) private() bool {
	top, _, _ := strings.Cut(p.Under, "/")
	dir, name := splitPath(p.Under)
	branch := p.Git && (top == "refs" || top == "logs" || top == "objects") && !strings.HasPrefix(name, ".") // as a branch does
	key := p.Git && workspace.AnyPart(p.Under, func(c string) bool { return c == "git-crypt" })
	_, last := splitPath(dir)
	key = key || p.Git && name == "config" && (last == "svn" || last == "lfs") // of programs that git does without
	return key || !branch && workspace.Private(p.Under)
}

// file notes a usual secret, or another name of one.
func (w *walker) file(fd int, name, rel string, p place) {
	is := p.private()
	if !is && !w.twins || is && w.twins {
		return
	}
	if st, there := lstat(fd, name); there && (is || w.out.many[inodeOf(st)]) {
		w.secret(rel, st)
	}
}

func inodeOf(st unix.Stat_t) [2]uint64 { return [2]uint64{uint64(st.Dev), st.Ino} }

func (w *walker) secret(rel string, st unix.Stat_t) {
	if st.Nlink > 1 {
		w.out.many[inodeOf(st)] = true
	}
	if kind(st) == unix.S_IFREG && !slices.Contains(w.out.secrets, rel) {
		w.out.secrets = append(w.out.secrets, rel)
	}
}

// mostLooked bounds how many links are looked at in folders to which links lead by names of secrets, and how many such
// folders; a hundred names in them count as one.
const mostLooked = 2000

// renamer finds secrets by the names that links give them: to files, and to what is in folders, where the links have such
// names too.
type renamer struct {
	*walker
	base   int // descriptor of the workspace
	links  []string
	within map[string]bool // folders that the way leads through
	steps  int             // names on the ways of links so far
	looked int
}

func (r *renamer) all() error {
	for _, rel := range r.links {
		if err := r.link(rel, rel, rel); err != nil {
			return err
		}
	}
	slices.Sort(r.out.secrets)
	r.out.secrets = slices.Compact(r.out.secrets)
	return nil
}

// link looks at a link that is called by another name, because of the first link of a way.
func (r *renamer) link(first, rel, called string) error {
	name := join(r.top().Under, workspace.FoldPath(called))
	secret, mayHide := workspace.Private(name), hides(called)
	if !secret && !mayHide {
		return nil
	}
	end, _, steps := trail(path.Join(r.root, rel))
	if r.steps += steps; r.steps > mostSteps {
		return fmt.Errorf("the links of workspace %s lead through too many folders; remove links, or name a smaller workspace", r.root)
	}
	folder, inside := strings.CutPrefix(end, r.root+"/")
	if !inside {
		if secret && !workspace.Private(workspace.FoldPath(end)) {
			r.out.beyond[first] = end
		}
		return nil
	}
	if st, is := lstat(r.base, folder); is && secret {
		r.secret(folder, st)
	}
	if _, isDir := r.out.dirs[folder]; !isDir || !mayHide || r.within[folder] {
		return nil
	}
	return r.folder(first, folder, called, name)
}

// folder looks at what is in a folder that is called by another name.
func (r *renamer) folder(first, rel, called, name string) error {
	from, _ := slices.BinarySearch(r.links, rel+"/")
	others := r.links[from:]
	if end := slices.IndexFunc(others, func(link string) bool { return !strings.HasPrefix(link, rel+"/") }); end >= 0 {
		others = others[:end]
	}
	fd, put, err := openAnyway(r.base, rel, unix.O_DIRECTORY)
	if err != nil {
		return nil // gone meanwhile
	}
	sub := walker{guard: r.guard, out: newList()}
	err = sub.dir(fd, rel, place{Under: name}, 0)
	put()
	_ = unix.Close(fd)
	if err != nil {
		return err
	}
	r.out.secrets = append(r.out.secrets, sub.out.secrets...)
	maps.Copy(r.out.many, sub.out.many)
	if r.looked += 1 + len(others) + sub.out.names/100; r.looked > mostLooked || len(called) > longest {
		return fmt.Errorf("workspace %s has too many links to and in folders of secrets (%q); remove some", r.root, first)
	}
	r.within[rel] = true
	defer delete(r.within, rel)
	for _, other := range others {
		if err := r.link(first, other, called+strings.TrimPrefix(other, rel)); err != nil {
			return err
		}
	}
	return nil
}

// inFolders are names that are secrets in some folders alone.
var inFolders = []string{"x.json", "client.yaml", "operator.yaml", "x"}

// hides reports a folder's path in which names may be secrets that are none elsewhere.
func hides(dir string) bool {
	lower := workspace.FoldPath(dir)
	parent, own := splitPath(lower)
	_, parent = splitPath(parent)
	return strings.HasPrefix(own, ".") || strings.HasPrefix(parent, ".") ||
		slices.ContainsFunc(inFolders, func(name string) bool { return workspace.Private(lower + "/" + name) })
}

type dirent struct {
	name string
	kind byte
}

// entries gives what is in a directory.
func entries(fd int) (all []dirent, err error) {
	if _, err := unix.Seek(fd, 0, io.SeekStart); err != nil {
		return nil, err
	}
	var buf [16 << 10]byte
	for {
		n, err := unix.Getdents(fd, buf[:])
		if err != nil || n == 0 {
			return all, err
		}
		for at := 0; at < n; {
			size := int(binary.NativeEndian.Uint16(buf[at+16:]))
			raw := buf[at+19 : at+size]
			d := dirent{unix.ByteSliceToString(raw), buf[at+18]}
			if at += size; d.name == "." || d.name == ".." {
				continue
			}
			if d.kind == unix.DT_UNKNOWN {
				var st unix.Stat_t
				if unix.Fstatat(fd, d.name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
					continue
				}
				d.kind = byte(st.Mode & unix.S_IFMT >> 12)
			}
			all = append(all, d)
		}
	}
}

// openAnyway opens a name of a directory that is no symbolic link and no mount. An owner who may not read it is let in
// until put is called.
func openAnyway(fd int, name string, flags int) (got int, put func(), err error) {
	how := unix.OpenHow{Flags: uint64(flags | unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_CLOEXEC | unix.O_NOCTTY),
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_XDEV}
	got, err = unix.Openat2(fd, name, &how)
	if !errors.Is(err, unix.EACCES) {
		return got, func() {}, err
	}
	how.Flags = unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC
	handle, err := unix.Openat2(fd, name, &how)
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
	if got, err = unix.Open(self, flags|unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOCTTY, 0); err != nil {
		return -1, nil, err
	}
	return got, func() { _ = unix.Fchmod(got, st.Mode&07777) }, nil
}

func readlink(fd int, name string) (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(fd, name, buf)
	return string(buf[:max(n, 0)]), err
}
