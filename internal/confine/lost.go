//go:build linux

package confine

import (
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"approvalbot/internal/policy/workspace"
)

// A confined command may write files, as a file tool does. It may not take away what cannot be had back, as policy asks about
// each removal: these are found when the command has ended, whatever its words were.

// mostCut is how many files a call may cut to less than a tenth of what they were, or give the same content.
const mostCut = 5

// lost are the files, not empty, that a call removed or emptied, and of which nothing has the content: no other name, not the
// repository's index, and no program that makes it again. If it cut more than mostCut files, these are lost, too.
func (w *Watch) lost(upper int, p plan) []string {
	f := losses{up: upper, low: int(w.root.Fd()), fresh: map[int64][]change{}, sizes: map[int64][]change{}, has: map[int64]map[string]bool{}}
	for _, ch := range slices.Concat(p.puts, p.late, p.removals) {
		f.add(ch)
	}
	if len(f.cut) > mostCut {
		f.gone = append(f.gone, f.cut...)
	}
	for _, all := range f.sizes {
		same := map[string][]change{}
		for _, ch := range all {
			if len(all) > mostCut {
				sum := blob(f.up, ch.rel)
				same[sum] = append(same[sum], ch)
			}
		}
		for sum, list := range same {
			if sum != "" && len(list) > mostCut {
				f.gone = append(f.gone, list...)
			}
		}
	}
	if f.gone = slices.DeleteFunc(f.gone, f.moved); len(f.gone) == 0 {
		return nil
	}
	known, _ := w.tracked(context.Background(), nil) // without an answer all of them are lost
	var names []string
	for _, ch := range f.gone {
		if sum, is := known[ch.rel]; !is || sum != blob(f.low, ch.rel) {
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
	fresh     map[int64][]change        // new files, by their lengths
	sizes     map[int64][]change        // files that were there and have another content now, by its length
	has       map[int64]map[string]bool // what is in fresh, as far as it was asked for
}

func (f *losses) add(ch change) {
	file, was := kind(ch.up) == unix.S_IFREG, kind(ch.low) == unix.S_IFREG && ch.low.Size > 0 && !workspace.Passing(ch.rel)
	if file && kind(ch.low) == 0 && !workspace.Passing(ch.rel) {
		f.fresh[ch.up.Size] = append(f.fresh[ch.up.Size], ch)
	}
	switch {
	case !was:
	case !file || ch.up.Size == 0 || f.hole(ch):
		f.gone = append(f.gone, ch)
	case ch.up.Size <= ch.low.Size/10:
		f.cut = append(f.cut, ch)
	default:
		f.sizes[ch.up.Size] = append(f.sizes[ch.up.Size], ch)
	}
}

// hole reports that a file has a length and nothing in it.
func (f *losses) hole(ch change) bool {
	if ch.up.Blocks*512 >= ch.up.Size {
		return false
	}
	file, err := readable(f.up, ch.rel)
	if err != nil {
		return true
	}
	defer file.Close()
	_, err = file.Seek(0, unix.SEEK_DATA)
	return errors.Is(err, unix.ENXIO)
}

// moved reports that a new file has the content, under a name that nobody takes for a file to throw away.
func (f *losses) moved(ch change) bool {
	size := ch.low.Size
	if f.has[size] == nil {
		f.has[size] = map[string]bool{}
		for _, to := range f.fresh[size] {
			f.has[size][blob(f.up, to.rel)] = true
		}
	}
	sum := ""
	if len(f.fresh[size]) > 0 {
		sum = blob(f.low, ch.rel)
	}
	return sum != "" && f.has[size][sum]
}

// mostSummed is the size of the largest file that is compared with what git has.
const mostSummed = 64 << 20

// blob is git's name for the content of a file below a directory (gitformat-pack(5), SHA-1); empty if it cannot be read.
func blob(root int, rel string) string {
	file, err := readable(root, rel)
	if err != nil {
		return ""
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > mostSummed {
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

// tracked gives git's names for what the index of the workspace's own repository has under paths, or of all; an error if it has
// none that can be read.
func (w *Watch) tracked(ctx context.Context, paths []string) (map[string]string, error) {
	index := filepath.Join(w.Root, ".git/index")
	if info, err := os.Lstat(index); err != nil || !w.before.Repos[".git"] || !info.Mode().IsRegular() {
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
