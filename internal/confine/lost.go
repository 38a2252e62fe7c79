//go:build linux

package confine

import (
	"bytes"
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"approvalbot/internal/policy/workspace"
)

// A confined command may write files, as a file tool does. It may not take away what cannot be had back, as policy asks about
// each removal: these are found when the command has ended, by any words.

// mostCut is how many files a call may cut to less than a tenth of what they were, or give the same content.
const mostCut = 5

// mostSummed bounds how many bytes are compared with what git or another file has, of one call: some seconds of work. What is
// not compared is lost, also if it is only changed.
var mostSummed int64 = 1 << 30

// lost are the files, not empty, that a call removed or emptied, and of which nothing has the content: no other file that it
// left, not the repository's index, and no program that makes it again. If it cut more than mostCut files, these are lost, too.
func (w *Watch) lost(upper int, p plan) []string {
	f := losses{up: upper, low: int(w.root.Fd()), left: mostSummed,
		puts: map[int64][]change{}, wrote: map[string]bool{}, has: map[int64]map[string]bool{}}
	for _, ch := range slices.Concat(p.puts, p.late, p.removals) {
		f.add(ch)
	}
	if len(f.cut) > mostCut {
		f.gone = append(f.gone, f.cut...)
	}
	f.alike()
	if f.gone = slices.DeleteFunc(f.gone, f.kept); len(f.gone) == 0 && len(f.changed) <= mostCut {
		return nil
	}
	known, _ := w.tracked(context.Background(), w.index(), nil) // without an answer none of them is
	var names []string
	for _, ch := range append(f.gone, slices.DeleteFunc(f.reverted(known), f.kept)...) {
		sum, is := known[ch.rel]
		if is && sum != f.blob(f.low, ch.rel, ch.low.Size) || !is && !workspace.Passing(ch.rel) {
			names = append(names, ch.rel)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// losses sorts what a call changed by what became of the content.
type losses struct {
	up, low   int
	gone, cut []change
	changed   []change                  // files that were there and have another content now
	puts      map[int64][]change        // files that are new or have another content, by its length
	wrote     map[string]bool           // their names
	has       map[int64]map[string]bool // what is in puts, as far as it was asked for
	left      int64                     // bytes that may still be compared
}

func (f *losses) add(ch change) {
	file, was := kind(ch.up) == unix.S_IFREG, kind(ch.low) == unix.S_IFREG && ch.low.Size > 1 && !workspace.Installed(ch.rel)
	empty := was && (!file || ch.up.Size == 0 || f.blank(f.up, ch.rel) && !f.blank(f.low, ch.rel) || f.left <= 0)
	if file && !empty {
		f.puts[ch.up.Size] = append(f.puts[ch.up.Size], ch)
		f.wrote[ch.rel] = true
	}
	switch {
	case !was:
	case empty:
		f.gone = append(f.gone, ch)
	case ch.up.Size <= ch.low.Size/10 && !workspace.Passing(ch.rel):
		f.cut = append(f.cut, ch)
	default:
		f.changed = append(f.changed, ch)
	}
}

// reverted are the files that are what the index has again and were not, if they are more than mostCut: what was not committed is
// gone.
func (f *losses) reverted(known map[string]string) (list []change) {
	if len(f.changed) <= mostCut {
		return nil
	}
	for _, ch := range f.changed {
		sum := known[ch.rel]
		if sum == "" || workspace.Passing(ch.rel) {
			continue
		}
		if sum == f.blob(f.up, ch.rel, ch.up.Size) && sum != f.blob(f.low, ch.rel, ch.low.Size) || f.left < 0 {
			list = append(list, ch)
		}
	}
	if len(list) <= mostCut {
		return nil
	}
	return list
}

// alike takes files for lost that were there and all got the same content.
func (f *losses) alike() {
	for _, size := range slices.Sorted(maps.Keys(f.puts)) {
		all := f.puts[size]
		was := slices.DeleteFunc(slices.Clone(all), func(ch change) bool { return kind(ch.low) != unix.S_IFREG || workspace.Installed(ch.rel) })
		if len(was) <= mostCut {
			continue
		}
		same := map[string][]change{}
		for _, ch := range was {
			sum := f.blob(f.up, ch.rel, size)
			same[sum] = append(same[sum], ch)
		}
		for sum, list := range same {
			if sum != "" && len(list) > mostCut {
				f.gone = append(f.gone, list...)
			}
		}
		if f.left < 0 {
			f.gone = append(f.gone, was...)
		}
	}
}

// blank reports that a file has a length and nothing in it but zeros and white space.
func (f *losses) blank(root int, rel string) bool {
	file, err := readable(root, rel)
	if err != nil {
		return true
	}
	defer file.Close()
	if _, err := file.Seek(0, unix.SEEK_DATA); errors.Is(err, unix.ENXIO) {
		return true
	}
	var buf [4 << 10]byte
	for f.left > 0 {
		n, err := file.Read(buf[:])
		if len(bytes.TrimFunc(buf[:n], isBlank)) > 0 {
			return false
		}
		if f.left -= int64(n); err != nil {
			return true
		}
	}
	return true
}

// isBlank reports what is no text: also marks of the order of bytes, and what is no character (0xff).
func isBlank(r rune) bool {
	return r == 0 || r == 0xfeff || r == utf8.RuneError || unicode.IsSpace(r)
}

// kept reports that another file has the content now, under a name that is not [workspace.Passing], or that a journal is in its
// database.
func (f *losses) kept(ch change) bool {
	for _, end := range []string{"-wal", "-journal"} {
		database, is := strings.CutSuffix(ch.rel, end)
		if is && f.wrote[database] && f.begins(f.up, database, databases) && f.begins(f.low, ch.rel, journals) {
			return true
		}
	}
	size := ch.low.Size
	if len(f.puts[size]) == 0 {
		return false
	}
	if f.has[size] == nil {
		f.has[size] = map[string]bool{}
		for _, to := range f.puts[size] {
			if !workspace.Passing(to.rel) {
				f.has[size][f.blob(f.up, to.rel, size)] = true
			}
		}
	}
	sum := f.blob(f.low, ch.rel, size)
	return sum != "" && f.has[size][sum]
}

// How a database of SQLite begins, and its journals of both kinds (sqlite.org/fileformat.html).
var (
	databases = []string{"SQLite format 3\x00"}
	journals  = []string{"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", "\x37\x7f\x06\x82", "\x37\x7f\x06\x83"}
)

// begins reports a file that begins with one of some texts.
func (f *losses) begins(root int, rel string, with []string) bool {
	file, err := readable(root, rel)
	if err != nil {
		return false
	}
	defer file.Close()
	var head [16]byte
	n, _ := io.ReadFull(file, head[:])
	return slices.ContainsFunc(with, func(text string) bool { return strings.HasPrefix(string(head[:n]), text) })
}

// blob is [blob] as long as there is something left to be compared.
func (f *losses) blob(root int, rel string, size int64) string {
	if f.left -= size; f.left < 0 {
		return ""
	}
	return blob(root, rel, mostSummed)
}

// blob is git's name for the content of a file below a directory (gitformat-pack(5), SHA-1); empty if it cannot be read, or has more
// bytes than most.
func blob(root int, rel string, most int64) string {
	file, err := readable(root, rel)
	if err != nil {
		return ""
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > most {
		return ""
	}
	sum := sha1.New()
	_, _ = fmt.Fprintf(sum, "blob %d\x00", info.Size())
	if n, err := io.Copy(sum, file); err != nil || n != info.Size() {
		return ""
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}

// readable opens a file below a directory that is reached through no link and no mount.
func readable(root int, rel string) (*os.File, error) {
	how := unix.OpenHow{Flags: unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_CLOEXEC | unix.O_NOCTTY | unix.O_NONBLOCK,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_XDEV}
	fd, err := unix.Openat2(root, rel, &how)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), rel), nil
}

// index is the file with git's index of the workspace, also if that is a linked worktree.
func (w *Watch) index() string {
	dir := filepath.Join(w.Root, ".git")
	if text, err := small(dir); err == nil {
		dir = absolute(w.Root, strings.TrimSpace(strings.TrimPrefix(text, "gitdir:")))
	}
	return filepath.Join(dir, "index")
}

// tracked gives git's names for what an index has under paths, or of all; an error if it cannot be read.
func (w *Watch) tracked(ctx context.Context, index string, paths []string) (map[string]string, error) {
	if info, err := os.Lstat(index); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, os.ErrNotExist)
	}
	// A repository of our own, so that only the index is the workspace's: no setting, no HEAD.
	own := w.path("git")
	err := errors.Join(os.MkdirAll(filepath.Join(own, "refs"), 0700), os.MkdirAll(filepath.Join(own, "objects"), 0700),
		os.WriteFile(filepath.Join(own, "HEAD"), []byte("ref: refs/heads/main\n"), 0600))
	if err != nil {
		return nil, err
	}
	env := []string{"GIT_DIR=" + own, "GIT_WORK_TREE=" + w.Root, "GIT_INDEX_FILE=" + index, "GIT_LITERAL_PATHSPECS=1", "GIT_OPTIONAL_LOCKS=0",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null"}
	said, err := git(ctx, w.Root, env, append([]string{"ls-files", "-s", "-z", "--"}, paths...)...)
	sums := map[string]string{}
	for entry := range strings.SplitSeq(said, "\x00") {
		about, rel, _ := strings.Cut(entry, "\t")
		if fields := strings.Fields(about); len(fields) == 3 && fields[2] == "0" { // mode, name, stage
			sums[rel] = fields[1]
		}
	}
	return sums, err
}
