package answer

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
	mostUntracked  = 64       // as many as a desk accepts
	mostPlaces     = 32       // repositories that a command may go to
	mostWords      = 10_000   // of a command
	mostName       = 4096     // bytes of a file's path that a desk accepts
)

var (
	staging = lazy.Pattern(`\bgit\b.*\b(?:add|stage|stash)\b`)
	// settingsOfGit are variables by which git finds its settings, and its programs.
	settingsOfGit = lazy.Words("PATH HOME XDG_CONFIG_HOME")

	begins = lazy.Pattern(`\binit\b`)
	// ignores finds what may change, in the command itself, what is ignored or which file a secret lies in.
	ignores = lazy.Pattern(`(?i)ignore|exclude` +
		`|\b(?:switch|checkout|merge|pull|stash\b.*\b(?:add|stage)|rebase|reset|restore|cherry-pick|apply|am|revert|cp|mv|rsync|ln|install|tar|unzip|dd|tee|sleep|wait)\b`)
)

// Untracked gives the files that usually hold secrets, by absolute paths, and that a command could take into a repository
// although its words do not name them: those that are neither tracked nor ignored in the repositories of its folder and of the
// folders that it names. texts have all words of the command, dir is absolute. An error means that this is not known. What
// changes between the look and the command it does not see.
func Untracked(ctx context.Context, dir string, texts ...string) (files []string, err error) {
	var words []string
	for _, text := range texts {
		words = append(words, shellWords(text)...)
	}
	text := strings.ReplaceAll(strings.Join(words, " "), "\n", " ")
	switch {
	case !strings.Contains(text, "git"), !staging.MatchString(text):
		return nil, nil
	case len(words) > mostWords:
		return nil, errTooMany
	case !filepath.IsAbs(dir):
		return nil, errors.New("it is not known where the command would run")
	}
	ctx, stop := context.WithTimeout(ctx, untrackedTime)
	defer stop()
	seen := map[string]bool{}
	for at := range places(append(words, texts...), dir) {
		top := repository(at)
		if top != "" && begins.MatchString(text) {
			top = at
		}
		if seen[top] {
			continue
		}
		seen[top] = true
		if len(seen) > mostPlaces || ctx.Err() != nil {
			return nil, errTooMany
		}
		var names []string
		switch {
		case top != "":
			names, err = unlisted(ctx, at, !ignores.MatchString(text))
		}
		if err == nil && begins.MatchString(text) { // also in a folder that the repository around it ignores
			names, err = secretsBelow(ctx, at)
		}
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			file := filepath.Join(at, name)
			switch {
			case !workspace.SecretPath(file), slices.Contains(files, file):
			case len(files) == mostUntracked: // the command may take just the others
				return nil, errTooMany
			case !utf8.ValidString(file) || len(file) > mostName:
				return nil, errors.New("a file that is not tracked has a name that cannot be told")
			default:
				files = append(files, file)
			}
		}
	}
	return files, nil
}

// places are a command's folder, and those that it may go to: each that one of its words names, from there or from the one
// before.
func places(words []string, dir string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if !yield(dir) {
			return
		}
		at := dir
		for _, word := range words {
			for _, from := range [2]string{at, dir} {
				next := filepath.Join(from, word)
				if filepath.IsAbs(word) {
					next = filepath.Clean(word)
				}
				if info, err := os.Stat(next); err == nil && info.IsDir() {
					if at = next; !yield(next) {
						return
					}
					break
				}
			}
		}
	}
}

// shellWords gives the words of a line without their quotes, and those of words that are lines themselves (sh -c '…').
func shellWords(text string) (words []string) {
	var word strings.Builder
	blank := false
	flush := func() {
		if word.Len() > 0 {
			words = append(words, word.String())
			if blank {
				words = append(words, strings.FieldsFunc(word.String(), func(c rune) bool { return strings.ContainsRune(signs, c) })...)
			}
		}
		blank = false
		word.Reset()
	}
	var quote rune
	escaped := false
	for _, c := range text {
		switch {
		case escaped:
			word.WriteRune(c)
			escaped, blank = false, blank || c == ' '
		case c == '\\' && quote != '\'':
			escaped = true
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case quote == 0 && strings.ContainsRune(signs, c):
			flush()
		default:
			word.WriteRune(c)
			blank = blank || strings.ContainsRune(signs, c)
		}
	}
	flush()
	return words
}

// signs part words.
const signs = " \t\r\n`;|&()<>={}\"'"

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
	cmd.Env = []string{"GIT_OPTIONAL_LOCKS=0", "LC_ALL=C"}
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		if settingsOfGit.Has(name) || strings.HasPrefix(name, "GIT_CONFIG") {
			cmd.Env = append(cmd.Env, pair)
		}
	}
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
		if err == nil && e.IsDir() && e.Name() == ".git" {
			return fs.SkipDir
		}
		if rel, relErr := filepath.Rel(dir, path); err == nil && relErr == nil && !e.IsDir() {
			names = append(names, rel)
		}
		return nil // what cannot be read git cannot read either
	})
	return names, err
}
