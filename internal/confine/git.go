//go:build linux

package confine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/workspace"
)

// gitTime is how long git may take to answer.
var gitTime = 10 * time.Second

// git asks the host's git far from any repository, with nothing of the caller's environment but the home: what
// a call could have written has no say in how it runs.
func git(ctx context.Context, input string, env []string, words ...string) (string, error) {
	file, err := program("git")
	if err != nil {
		return "", err
	}
	ctx, stop := context.WithTimeout(ctx, gitTime)
	defer stop()
	cmd := exec.CommandContext(ctx, file, words...)
	cmd.Dir, cmd.Stdin, cmd.WaitDelay = "/", strings.NewReader(input), time.Second
	cmd.Env = append(env, "PATH=/usr/bin:/bin", "LC_ALL=C", "GIT_NO_LAZY_FETCH=1", "HOME="+os.Getenv("HOME"))
	said, err := cmd.Output()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		err = fmt.Errorf("%w, %s", err, strings.TrimSpace(string(failed.Stderr)))
	}
	if err != nil {
		return "", fmt.Errorf("git %s does not answer (%w); mend that, or name a smaller workspace", words[0], err)
	}
	return string(said), nil
}

// homes are the user's home folders without links: that of the environment, which may be any, and that of the system.
func homes() (out []string) {
	all := []string{os.Getenv("HOME")}
	if u, err := user.Current(); err == nil {
		all = append(all, u.HomeDir)
	}
	for _, dir := range all {
		if dir, err := filepath.EvalSymlinks(dir); err == nil && filepath.IsAbs(dir) && !slices.Contains(out, dir) {
			out = append(out, dir)
		}
	}
	return out
}

// repositories are what git may obey in the workspace: files with settings, folders from which words in them count, and
// links of a repository around the workspace that others obey. Nothing of them is left to be a pipe that git waits for.
type repositories struct{ files, from, links []string }

func (r *repositories) add(gitDir, top string) error {
	if text, err := small(gitDir); err == nil {
		gitDir = absolute(top, strings.TrimSpace(strings.TrimPrefix(text, "gitdir:")))
	}
	if slices.Contains(r.from, gitDir) {
		return nil
	}
	r.from = append(r.from, gitDir, top)
	for _, name := range []string{"HEAD", "refs", "objects", "commondir", "gitdir", "config", "config.worktree"} {
		if err := r.file(path.Join(gitDir, name), strings.HasPrefix(name, "config")); err != nil {
			return err
		}
	}
	if text, err := small(path.Join(gitDir, "gitdir")); err == nil { // of a linked worktree
		r.from = append(r.from, path.Dir(strings.TrimSpace(text)))
	}
	if text, err := small(path.Join(gitDir, "commondir")); err == nil {
		return r.add(absolute(gitDir, strings.TrimSpace(text)), top)
	}
	return nil
}

// file takes a file with settings, if there is one.
func (r *repositories) file(name string, settings bool) error {
	info, err := os.Stat(name)
	switch {
	case err != nil: // an absence: what could make one is protected
	case !info.Mode().IsRegular() && !info.IsDir():
		return fmt.Errorf("%s is neither a file nor a folder, so git cannot be asked what it obeys here; remove it", name)
	case settings && info.Mode().IsRegular() && !slices.Contains(r.files, name):
		r.files = append(r.files, name)
	}
	return nil
}

// small gives the text of a regular file that has a line or a few.
func small(file string) (string, error) {
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() || info.Size() > 64<<10 {
		return "", fs.ErrNotExist
	}
	text, err := os.ReadFile(file)
	return string(text), err
}

// find looks in the list of a workspace, in the folders above it and in the homes.
func (r *repositories) find(root string, now *list) (err error) {
	r.from = []string{root}
	for _, home := range homes() {
		for _, name := range []string{".gitconfig", ".config/git/config"} {
			err = errors.Join(err, r.file(path.Join(home, name), true))
		}
	}
	if dir := os.Getenv("XDG_CONFIG_HOME"); dir != "" {
		err = errors.Join(err, r.file(path.Join(dir, "git/config"), true))
	}
	err = errors.Join(err, r.file("/etc/gitconfig", true))
	for _, dir := range sorted(now.Repos) {
		gitDir := path.Join(root, dir)
		has := func(name string) bool { _, err := os.Lstat(path.Join(gitDir, name)); return err == nil }
		// A folder that merely has a HEAD may have a config that is not git's.
		if workspace.FoldPath(path.Base(dir)) == ".git" || isRepository(func(n string) bool { return has(n) || n == "head" && has("HEAD") }) {
			err = errors.Join(err, r.add(gitDir, path.Dir(gitDir)))
		}
	}
	for _, rel := range now.gitFiles {
		dir, _ := splitPath(rel)
		err = errors.Join(err, r.add(path.Join(root, rel), path.Join(root, dir)))
	}
	for top := path.Dir(root); top != "/"; top = path.Dir(top) {
		gitDir := path.Join(top, ".git")
		if _, none := os.Lstat(gitDir); none == nil {
			err = errors.Join(err, r.add(gitDir, top))
		}
	}
	for _, top := range r.from { // hooks of a repository around it, and names beside them, may be links into it
		for _, dir := range []string{top, path.Join(top, "hooks")} {
			if workspace.Under(dir, root) {
				continue
			}
			all, _ := os.ReadDir(dir)
			for _, f := range all {
				_, obeyed := workspace.Obeyed(workspace.FoldPath(f.Name()))
				if f.Type()&fs.ModeSymlink != 0 && (obeyed || dir != top) {
					r.links = append(r.links, path.Join(dir, f.Name()))
				}
			}
		}
	}
	return err
}

var (
	wordOf = lazy.Pattern(`[^\s"';|&()!=]+`)
	// plain are settings that name no program and no file, though their values have words.
	plain = lazy.Pattern(`^(user\.(name|email)|author\..*|committer\..*|init\.defaultbranch|` +
		`branch\..*\.(remote|merge|rebase|description|pushremote)|url\..*|submodule\..*\.(url|active|branch)|color\..*|advice\..*|safe\..*|remote\..*\.(url|pushurl|fetch|push))$`)
	// fileLike is a word that is the name of a file before there is one.
	fileLike = lazy.Pattern(`^\w[\w+-]*(\.[\w+-]+)*\.[A-Za-z]\w*$`)
	// readers take the next word for a file with a program, whatever it is called.
	readers = lazy.Words(`sh bash zsh dash ksh python python3 node perl ruby source . exec`)
)

type setting struct{ key, value string }

// settings gives what git's settings name below the root as programs, hooks or more settings, those of includes whose
// condition does not hold too, and whether it is there or not: a change of it has git run something else.
func (w *Watch) settings(ctx context.Context, now *list) (named []string, err error) {
	var r repositories
	if err := r.find(w.Root, now); err != nil {
		return nil, err
	}
	for _, link := range r.links {
		named = append(named, w.below("", link)...)
	}
	asked, values := map[string]bool{}, map[setting]bool{}
	for next := r.files; len(next) > 0; {
		parts, err := ask(ctx, next)
		if err != nil {
			return nil, err
		}
		for i := 0; i+1 < len(parts); i += 2 { // active includes are read already
			asked[path.Clean(strings.TrimPrefix(parts[i], "file:"))] = true
		}
		next = nil
		for i := 0; i+1 < len(parts); i += 2 {
			origin, ok := strings.CutPrefix(parts[i], "file:")
			key, value, _ := strings.Cut(parts[i+1], "\n")
			named = append(named, w.below("", origin)...)
			switch {
			case !ok || plain.MatchString(key):
			case key == "core.worktree":
				r.from = append(r.from, absolute(path.Dir(origin), value))
			case strings.HasPrefix(key, "include"):
				named = append(named, w.below(path.Dir(origin), value)...)
				file, had := path.Clean(expanded(path.Dir(origin), value)), len(r.files)
				if err := r.file(file, true); err != nil {
					return nil, err
				}
				if len(r.files) > had && !asked[file] {
					next = append(next, file)
				}
			default:
				values[setting{key, value}] = true
			}
		}
	}
	slices.Sort(r.from)
	r.from = slices.Compact(r.from)
	for s := range values {
		named = append(named, w.programs(s, r.from)...)
	}
	return named, nil
}

// ask has git list the settings of some files and of what they include, each after the file that it is from.
func ask(ctx context.Context, files []string) ([]string, error) {
	var all strings.Builder
	quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	for _, file := range files {
		fmt.Fprintf(&all, "[include]\npath = \"%s\"\n", quoted.Replace(file))
	}
	said, err := git(ctx, all.String(), []string{"GIT_DIR=/dev/null"},
		"config", "--file", "-", "--includes", "--list", "--show-origin", "-z")
	return strings.Split(said, "\x00"), err
}

// programs gives what the words of one setting name, from each folder that they may count from.
func (w *Watch) programs(s setting, from []string) (named []string) {
	words := wordOf.FindAllString(s.value, -1)
	bases := slices.Clone(from)
	for _, dir := range from { // cd there && ./program
		for _, word := range words {
			if info, err := os.Stat(absolute(dir, word)); err == nil && info.IsDir() {
				bases = append(bases, absolute(dir, word))
			}
		}
	}
	for _, dir := range bases {
		if s.key == "core.hookspath" || s.key == "init.templatedir" {
			named = append(named, w.below(dir, s.value)...)
		}
		before := ""
		for _, word := range append(words, s.value) {
			info, err := os.Stat(absolute(dir, word))
			absent := err != nil && (fileLike.MatchString(word) || readers.Has(before) && !strings.HasPrefix(word, "-"))
			if strings.Contains(word, "/") || absent || err == nil && !info.IsDir() {
				named = append(named, w.below(dir, word)...)
			}
			before = word
		}
	}
	return named
}

// below gives what a path is called below the root, by its name and without links.
func (w *Watch) below(from, file string) (out []string) {
	file = expanded(from, file)
	for _, f := range []string{path.Clean(file), resolved(file)} {
		if rel, ok := strings.CutPrefix(f, w.Root+"/"); ok {
			out = append(out, rel)
		}
	}
	return out
}

// expanded is a path of a setting from the root of the machine.
func expanded(from, file string) string {
	if rest, ok := strings.CutPrefix(file, "~/"); ok {
		return path.Join(os.Getenv("HOME"), rest)
	}
	if path.IsAbs(file) {
		return file
	}
	return from + "/" + file
}
