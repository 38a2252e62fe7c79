package answer

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"approvalbot/api"
	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/workspace"
)

// Limits of the look at what is not tracked. A call for which they do not suffice asks.
const (
	untrackedTime  = 3 * time.Second
	untrackedBytes = 32 << 20 // of names
	untrackedFiles = 50_000   // in a folder that is no repository yet
	mostUntracked  = 64       // files and folders, as many as a desk accepts
	mostWords      = 10_000   // of a command
	mostName       = 4096     // bytes of a path that a desk accepts
	gitConfig      = 64 << 10 // bytes that are read of a repository's settings
)

var (
	staging = lazy.Pattern(`(?i)git.*\b(?:add|stage|stash)\b`)
	begins  = lazy.Pattern(`\binit\b`)
	// ignores finds what may change, in the command itself, what is ignored or which file a secret lies in. If a line hides that
	// from it, the desk asks.
	ignores = lazy.Pattern(`(?i)ignore|exclude|\b(?:init|clone|switch|checkout|merge|pull|stash\b.*\b(?:add|stage|a|all)` +
		`|rebase|reset|restore|cherry-pick|apply|am|revert|worktree|submodule|rm|cp|mv|rsync|ln|install|tar|unzip|patch)\b`)

	// settingsOfGit are variables by which git finds its settings, and its programs.
	settingsOfGit = lazy.Words("PATH HOME XDG_CONFIG_HOME")
)

// Untracked gives what git could take into a repository although a command's words do not name it: files that usually hold
// secrets, in the repositories of its folder and of the folders that it names. It has no folders if nothing in the command looks
// as if it staged files: a desk that finds that it does asks. It is nil without a command. texts have all words of the command, dir
// is absolute. An error means that this is not known. What changes between the look and the command it does not see.
func Untracked(ctx context.Context, dir string, texts ...string) (*api.Untracked, error) {
	var words []string
	for _, text := range texts {
		words = append(words, shellWords(text)...)
	}
	text := strings.ReplaceAll(strings.Join(words, " "), "\n", " ")
	switch {
	case len(texts) == 0:
		return nil, nil
	case !staging.MatchString(text):
		return &api.Untracked{}, nil
	case len(words) > mostWords:
		return nil, errTooMany
	case !filepath.IsAbs(dir):
		return nil, errors.New("it is not known where the command would run")
	}
	ctx, stop := context.WithTimeout(ctx, untrackedTime)
	defer stop()
	return within(ctx, time.Now().Add(untrackedTime+time.Second), errTooMany, func() (*api.Untracked, error) { // a file system may hang
		return untracked(ctx, dir, text, append(words, texts...))
	})
}

func untracked(ctx context.Context, dir, text string, words []string) (*api.Untracked, error) {
	own, err := os.MkdirTemp("", "approvalbot-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(own)
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	made := begins.MatchString(text)
	l := look{own: filepath.Join(own, "git"), dir: dir, real: real, ignored: ignores.MatchString(text), seen: map[string]bool{}}
	for at := range places(words, dir) {
		if len(l.folders) == mostUntracked || len(at) > mostName || !utf8.ValidString(at) {
			continue
		}
		l.folders = append(l.folders, at)
		if err := l.at(ctx, at, made); err != nil {
			return nil, err
		}
	}
	if l.over {
		l.ignoredFiles = nil
	} else if l.ignored && l.ignoredFiles == nil {
		l.ignoredFiles = []string{}
	}
	return &api.Untracked{Folders: l.folders, Files: l.files, Ignored: l.ignoredFiles}, nil
}

// look is one look at what is not tracked.
type look struct {
	own                 string // a folder in place of each repository's
	dir, real           string // the command's, and without links
	ignored             bool   // also at what git ignores
	over                bool   // there is more of that than a desk accepts, or it is not known
	seen                map[string]bool
	folders             []string
	files, ignoredFiles []string
}

// at looks in the repository of a folder. made: the command may make the folder a repository, with all that is in it.
func (l *look) at(ctx context.Context, dir string, made bool) error {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	top := repository(real)
	key := top
	rel, relErr := filepath.Rel(l.dir, dir)
	if linked := relErr != nil || real != filepath.Join(l.real, rel); made || linked { // by a link its files have other names
		key = dir
	}
	if l.seen[key] {
		return nil
	}
	l.seen[key] = true
	var names, ignored, below []string
	if top == "" {
		l.over = l.over || !made
	} else {
		names, err = l.unlisted(ctx, top, real, true)
	}
	if err == nil && top != "" && l.ignored && !l.over {
		if ignored, err = l.unlisted(ctx, top, real, false); err != nil {
			l.over, err = true, ctx.Err()
		}
	}
	if err == nil && made {
		below, err = secretsBelow(ctx, dir)
	}
	if err != nil {
		return err
	}
	if top == "" {
		names = below
	}
	ignored = append(ignored, below...)
	for _, name := range names {
		file := filepath.Join(dir, name)
		switch {
		case !workspace.SecretPath(file), slices.Contains(l.files, file):
		case len(l.files) == mostUntracked: // the command may take just the others
			return errTooMany
		case !tellable(file):
			return errors.New("a file that is not tracked has a name that cannot be told")
		default:
			l.files = append(l.files, file)
		}
	}
	for _, name := range ignored {
		file := filepath.Join(dir, name)
		if !workspace.SecretPath(file) || slices.Contains(l.files, file) || slices.Contains(l.ignoredFiles, file) {
			continue
		}
		if l.over = l.over || len(l.ignoredFiles) == mostUntracked || !tellable(file); !l.over {
			l.ignoredFiles = append(l.ignoredFiles, file)
		}
	}
	return nil
}

func tellable(path string) bool { return utf8.ValidString(path) && len(path) <= mostName }

// places are a command's folder, and those that it may go to: each that one of its words names, from there or from the one
// before.
func places(words []string, dir string) iter.Seq[string] {
	return func(yield func(string) bool) {
		seen := map[string]bool{dir: true}
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
					if at = next; !seen[next] && !yield(next) {
						return
					}
					seen[next] = true
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
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
		dir = filepath.Dir(dir)
	}
}

// unlisted gives the files of a repository that are not tracked, relative to a folder in it; if that is wanted, without the
// ignored ones. A repository's settings can name programs that git runs, so it gets settings of our own, and of the
// repository the index, the objects and what is excluded.
func (l *look) unlisted(ctx context.Context, top, dir string, unignored bool) ([]string, error) {
	args := []string{"-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false", "-c", "core.hooksPath=/dev/null",
		"ls-files", "--others", "-z"}
	if unignored {
		args = append(args, "--exclude-standard")
	}
	index, objects, err := borrow(l.own, top)
	if err != nil {
		return nil, err
	}
	program, err := gitOutside(append(append(slices.Collect(maps.Keys(l.seen)), l.dir, l.real, top), around(l.real)...))
	if err != nil || program == "" { // without git the command does not run either
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program, append(args, "--", ":/")...)
	cmd.Dir = dir
	cmd.Env = []string{"GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=", "LC_ALL=C",
		"GIT_DIR=" + l.own, "GIT_WORK_TREE=" + top, "GIT_INDEX_FILE=" + index, "GIT_OBJECT_DIRECTORY=" + objects}
	for _, pair := range os.Environ() {
		if name, _, _ := strings.Cut(pair, "="); settingsOfGit.Has(name) || strings.HasPrefix(name, "GIT_CONFIG") {
			cmd.Env = append(cmd.Env, pair)
		}
	}
	cmd.WaitDelay = time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
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

// around gives the repositories that a folder lies in, each in the next.
func around(dir string) (all []string) {
	for top := repository(dir); top != ""; top = repository(filepath.Dir(top)) {
		if all = append(all, top); filepath.Dir(top) == top {
			break
		}
	}
	return all
}

// fixedPlaces are where git is looked for before the PATH, in which agents may write (node_modules/.bin).
var fixedPlaces = []string{"/usr/bin", "/usr/local/bin", "/run/current-system/sw/bin", "/opt/homebrew/bin"}

// gitOutside finds git, and not in one of the folders; empty if it is missing.
func gitOutside(folders []string) (file string, err error) {
	for _, dir := range append(slices.Clip(fixedPlaces), filepath.SplitList(os.Getenv("PATH"))...) {
		file, missing := exec.LookPath(filepath.Join(dir, "git"))
		real, linkErr := filepath.EvalSymlinks(file)
		if missing != nil || linkErr != nil || !filepath.IsAbs(dir) {
			continue
		}
		inside := func(folder string) bool {
			folder = filepath.ToSlash(folder)
			under := workspace.Under(filepath.ToSlash(file), folder) || workspace.Under(filepath.ToSlash(real), folder)
			return folder != "" && folder != "/" && under
		}
		if !slices.ContainsFunc(folders, inside) {
			return file, nil
		}
		err = errors.New("the only git on the PATH lies in the folder of the command")
	}
	return "", err
}

// borrow makes a folder the repository of the files below top, without its settings, and gives the paths of its index and its
// objects.
func borrow(own, top string) (index, objects string, err error) {
	folder, err := filepath.EvalSymlinks(filepath.Join(top, ".git"))
	if err != nil {
		return "", "", err
	}
	at := func(from, to string) string {
		if filepath.IsAbs(to) {
			return to
		}
		return filepath.Join(from, to)
	}
	if to, ok := strings.CutPrefix(firstLine(folder), "gitdir: "); ok { // of a worktree, or of a submodule
		folder = at(filepath.Dir(folder), to)
	}
	common := folder
	if to := firstLine(filepath.Join(folder, "commondir")); to != "" {
		common = at(folder, to)
	}
	settings := "[core]\n\trepositoryFormatVersion = 0\n"
	text := beginning(filepath.Join(common, "config"), gitConfig) + beginning(filepath.Join(folder, "config.worktree"), gitConfig)
	text = strings.ToLower(text)
	if strings.Contains(text, "sha256") {
		settings = "[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tobjectFormat = sha256\n"
	}
	if strings.Contains(text, "excludesfile") || strings.Contains(text, "[include") || len(text) >= gitConfig { // in place of the user's
		settings += "[core]\n\texcludesFile = /dev/null\n"
	}
	err = errors.Join(os.RemoveAll(own), os.MkdirAll(filepath.Join(own, "refs"), 0o700), os.Mkdir(filepath.Join(own, "info"), 0o700),
		os.WriteFile(filepath.Join(own, "HEAD"), []byte("ref: refs/heads/main\n"), 0o600),
		os.WriteFile(filepath.Join(own, "config"), []byte(settings), 0o600),
		os.Symlink(filepath.Join(common, "info", "exclude"), filepath.Join(own, "info", "exclude")))
	shared, globErr := filepath.Glob(filepath.Join(folder, "sharedindex.*"))
	err = errors.Join(err, globErr)
	for _, file := range shared {
		err = errors.Join(err, os.Symlink(file, filepath.Join(own, filepath.Base(file))))
	}
	return filepath.Join(folder, "index"), filepath.Join(common, "objects"), err
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
