package answer

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"approvalbot/api"
	"approvalbot/internal/lazy"
)

// Limits of the look at a call's repository: its result is a claim on a card, and no call waits for it.
const (
	gitTime  = 200 * time.Millisecond // a file system may hang
	gitFile  = 4 << 10                // bytes that are read of a file
	gitDepth = 32                     // directories above the call's
)

// place says which branch and worktree a directory belongs to, as far as git's own files tell that quickly. git is not
// started: a repository's configuration can name programs that it runs.
func place(ctx context.Context, dir string, from api.From) api.From {
	if !filepath.IsAbs(dir) {
		return from
	}
	looked, err := within(ctx, time.Now().Add(gitTime), errLate, func() (api.From, error) { return checkedOut(dir), nil })
	if err == nil {
		from.Branch, from.Worktree = looked.Branch, looked.Worktree
	}
	return from
}

var errLate = errors.New("the repository could not be read in time")

// checkedOut reads what is checked out in the repository around a directory.
func checkedOut(dir string) api.From {
	dir = filepath.Clean(dir)
	for range gitDepth {
		at := filepath.Join(dir, ".git")
		info, err := os.Lstat(at)
		switch {
		case err == nil && info.IsDir():
			return api.From{Branch: branch(at)}
		case err == nil && info.Mode().IsRegular():
			return linked(at)
		case err == nil || dir == filepath.Dir(dir):
			return api.From{}
		}
		dir = filepath.Dir(dir)
	}
	return api.From{}
}

// linked reads the branch of a worktree. The worktree's .git names git's folder for it, which must name the
// worktree in turn, since a repository can write any path into that file.
func linked(file string) api.From {
	folder, ok := strings.CutPrefix(firstLine(file), "gitdir: ")
	if !ok {
		return api.From{}
	}
	if !filepath.IsAbs(folder) {
		folder = filepath.Join(filepath.Dir(file), folder)
	}
	folder = filepath.Clean(folder)
	back := firstLine(filepath.Join(folder, "gitdir"))
	if back != "" && !filepath.IsAbs(back) {
		back = filepath.Join(folder, back)
	}
	if filepath.Base(filepath.Dir(folder)) != "worktrees" || filepath.Clean(back) != file {
		return api.From{}
	}
	return api.From{Branch: branch(folder), Worktree: filepath.Base(folder)}
}

var commitHash = lazy.Pattern(`^[0-9a-f]{40}(?:[0-9a-f]{24})?$`)

// branch is what HEAD in one of git's folders names: a branch, or the short hash of a commit.
func branch(folder string) string {
	head := firstLine(filepath.Join(folder, "HEAD"))
	if name, ok := strings.CutPrefix(head, "ref: refs/heads/"); ok {
		return name
	}
	if commitHash.MatchString(head) {
		return head[:8]
	}
	return ""
}

// firstLine is the first line of an ordinary file; empty if it is no such file, or cannot be read.
func firstLine(path string) string {
	line, _, _ := strings.Cut(beginning(path, gitFile), "\n")
	return strings.TrimRight(line, "\r")
}

// beginning is so many bytes of an ordinary file at most; empty if it is no such file, or cannot be read.
func beginning(path string, most int64) string {
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be a pipe by now
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return ""
	}
	return string(text)
}
