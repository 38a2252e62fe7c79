package answer

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/workspace"
)

// Limits of the look at what is not tracked. A call for which they do not suffice asks.
const (
	untrackedTime  = 3 * time.Second
	untrackedBytes = 32 << 20 // of names
	untrackedFiles = 50_000   // in a folder that is no repository yet
	mostUntracked  = 64       // as many as a desk accepts: one is enough to ask
	mostPlaces     = 16       // folders that a command names
	mostName       = 4096     // bytes of a file's path that a desk accepts
)

var (
	staging = lazy.Pattern(`(?s)\bgit\b.*\b(?:add|stage|stash)\b`)
	begins  = lazy.Pattern(`\binit\b`)
	ignores = lazy.Pattern(`(?i)ignore|exclude`) // the command itself may change what is ignored
)

// Untracked gives the files that usually hold secrets, by absolute paths, and that a command could take into a repository
// although its words do not name them: those that are neither tracked nor ignored in the repositories of its folder and of the
// folders that it names. text has all words of the command, dir is absolute. An error means that this is not known.
func Untracked(ctx context.Context, text, dir string) (files []string, err error) {
	switch {
	case !strings.Contains(text, "git"), !staging.MatchString(text):
		return nil, nil
	case !filepath.IsAbs(dir):
		return nil, errors.New("it is not known where the command would run")
	}
	ctx, stop := context.WithTimeout(ctx, untrackedTime)
	defer stop()
	seen := map[string]bool{}
	for _, at := range places(text, dir) {
		top := repository(at)
		if seen[top] {
			continue
		}
		seen[top] = true
		var names []string
		switch {
		case top != "":
			names, err = unlisted(ctx, at, !ignores.MatchString(text))
		case begins.MatchString(text):
			names, err = secretsBelow(ctx, at)
		}
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			file := filepath.Join(at, name)
			switch {
			case !workspace.SecretPath(file), len(files) == mostUntracked:
			case !utf8.ValidString(file) || len(file) > mostName:
				return nil, errors.New("a file that is not tracked has a name that cannot be told")
			default:
				files = append(files, file)
			}
		}
	}
	return files, nil
}

// places are a command's folder, and those that it may go to: each that its words name, from there or from the one before.
func places(text, dir string) []string {
	all, at := []string{dir}, dir
	for word := range strings.FieldsFuncSeq(text, func(c rune) bool { return strings.ContainsRune(" \t\r\n\"'`\\;|&()<>={}", c) }) {
		for _, from := range [2]string{at, dir} {
			next := filepath.Join(from, word)
			if filepath.IsAbs(word) {
				next = filepath.Clean(word)
			}
			info, err := os.Stat(next)
			if err == nil && info.IsDir() && len(all) < mostPlaces {
				all, at = append(all, next), next
				break
			}
		}
	}
	return all
}

// repository is the folder with a .git that a folder is in; empty if it is in none.
func repository(dir string) string {
	for range gitDepth {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	return ""
}

// unlisted gives the files of a repository that are not tracked, relative to a folder in it; if that is wanted, without the
// ignored ones. git starts no program of the repository's for it.
func unlisted(ctx context.Context, dir string, unignored bool) ([]string, error) {
	args := []string{"-C", dir, "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "ls-files", "--others", "-z"}
	if unignored {
		args = append(args, "--exclude-standard")
	}
	cmd := exec.CommandContext(ctx, "git", append(args, "--", ":/")...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C"}
	cmd.WaitDelay = time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); errors.Is(err, exec.ErrNotFound) {
		return nil, nil // nor does the command run
	} else if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(out, untrackedBytes+1))
	if len(text) > untrackedBytes {
		err = errors.Join(err, errTooMany, cmd.Process.Kill())
	}
	if err = errors.Join(err, cmd.Wait()); err != nil {
		return nil, err
	}
	var names []string
	for name := range bytes.SplitSeq(text, []byte{0}) {
		names = append(names, string(name))
	}
	return names, nil
}

var errTooMany = errors.New("there are too many files that are not tracked")

// secretsBelow gives the files below a folder, relative to it.
func secretsBelow(ctx context.Context, dir string) (names []string, err error) {
	left := untrackedFiles
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if left--; left < 0 || ctx.Err() != nil {
			return errTooMany
		}
		if rel, relErr := filepath.Rel(dir, path); err == nil && relErr == nil && !e.IsDir() {
			names = append(names, rel)
		}
		return nil // what cannot be read git cannot read either
	})
	return names, err
}
