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

// outside is what the host obeys of the workspaces of a call: what settings of git, its environment and its home lead to.
type outside struct {
	roots []string
	dirs  map[string]bool // git's own directories and files called .git, in the workspaces, by absolute paths
	named map[string]bool // what is obeyed in the workspaces, by absolute paths; false: links on the way
	found int             // how often one of these was new
	files []string        // with settings of git
	from  []string        // from where words in them count
	seen  map[string]bool // repositories
}

// look finds what the host obeys now of the workspaces that were listed.
func look(ctx context.Context, env []string, watches []*Watch, lists []*list) (*outside, error) {
	o := &outside{dirs: map[string]bool{}, named: map[string]bool{}, seen: map[string]bool{}}
	for _, w := range watches {
		o.roots = append(o.roots, w.Root)
	}
	err := o.environment(env)
	if err == nil {
		err = o.homeLinks()
	}
	for i := 0; i < len(watches) && err == nil; i++ {
		err = o.repositories(watches[i].Root, lists[i])
	}
	if err == nil {
		err = o.settings(ctx)
	}
	for found := -1; err == nil && found != o.found; { // protected links lead to more of them
		found = o.found
		for i, root := range o.roots {
			own := guard{root: root, repos: o.below(o.dirs, root), named: map[string]bool{}}
			for rel, obeyed := range o.below(o.named, root) {
				if obeyed {
					own.named[workspace.FoldPath(rel)] = true
				}
			}
			for rel := range lists[i].Links {
				if own.held(rel) {
					o.lead(path.Join(root, rel))
				}
			}
		}
	}
	return o, err
}

// below gives the paths of a workspace relative to it.
func (o *outside) below(paths map[string]bool, root string) map[string]bool {
	out := map[string]bool{}
	for file, is := range paths {
		if rel, ok := strings.CutPrefix(file, root+"/"); ok {
			out[rel] = is
		}
	}
	return out
}

// inside reports a path that lies in a workspace, and is none itself.
func (o *outside) inside(file string) bool {
	return slices.ContainsFunc(o.roots, func(root string) bool { return strings.HasPrefix(file, root+"/") })
}

// lead notes that the host obeys a path, and reports whether that is a workspace itself.
func (o *outside) lead(file string) (root bool) {
	end, through := trail(file)
	for _, link := range through {
		if _, is := o.named[link]; o.inside(link) && !is {
			o.named[link] = false
			o.found++
		}
	}
	if o.inside(end) && !o.named[end] {
		o.named[end] = true
		o.found++
	}
	return slices.Contains(o.roots, end)
}

// repositories notes those of a workspace, and those around it.
func (o *outside) repositories(root string, now *list) (err error) {
	o.from = append(o.from, root)
	for _, dir := range sorted(now.Repos) {
		gitDir := path.Join(root, dir)
		if dir == "" {
			return fmt.Errorf("workspace %s is a repository of git itself, of which a confined command can change "+
				"nothing; name another one", root)
		}
		err = errors.Join(err, o.repository(gitDir, path.Dir(gitDir)))
	}
	for _, rel := range now.gitFiles {
		file := path.Join(root, rel)
		if _, is := now.Links[rel]; is {
			return fmt.Errorf("%s is a symbolic link, so git's own directory cannot be kept from a confined "+
				"command; replace it by a folder, or by a file that names one", file)
		}
		err = errors.Join(err, o.repository(file, path.Dir(file)))
	}
	for top := path.Dir(root); top != "/"; top = path.Dir(top) {
		gitDir := path.Join(top, ".git")
		if _, none := os.Lstat(gitDir); none == nil {
			err = errors.Join(err, o.repository(gitDir, top))
		}
	}
	for _, top := range o.from { // hooks of a repository around it, and names beside them, may be links into it
		for _, dir := range []string{top, path.Join(top, "hooks")} {
			if !o.inside(dir) && !slices.Contains(o.roots, dir) {
				o.links(dir, func(name string) bool {
					_, obeyed := workspace.Obeyed(workspace.FoldPath(name))
					return obeyed || dir != top
				})
			}
		}
	}
	return err
}

// own notes a part of a repository. What lies in a workspace must be what its name says: a mount keeps it from the command.
func (o *outside) own(file string) (end string, err error) {
	end, through := trail(file)
	link := func(name string) bool { return o.inside(name) && !strings.HasSuffix(name, "/..") }
	if slices.Contains(o.roots, end) || slices.ContainsFunc(through, link) {
		return "", fmt.Errorf("%s, which git obeys, is a workspace or lies behind a symbolic link in one, so it "+
			"cannot be kept from a confined command; name another workspace", file)
	}
	if _, err := os.Lstat(end); err == nil && o.inside(end) {
		o.dirs[end] = true
	}
	return end, nil
}

// repository notes git's own directory of a folder, or a file that names it, with what it names in turn.
func (o *outside) repository(gitDir, top string) error {
	gitDir, err := o.own(gitDir)
	if text, none := small(gitDir); err == nil && none == nil {
		gitDir, err = o.own(absolute(top, strings.TrimSpace(strings.TrimPrefix(text, "gitdir:"))))
	}
	if err != nil || o.seen[gitDir] {
		return err
	}
	o.seen[gitDir] = true
	o.from = append(o.from, gitDir, top)
	for _, name := range []string{"HEAD", "refs", "objects", "commondir", "gitdir", "config", "config.worktree"} {
		if err := o.file(path.Join(gitDir, name), strings.HasPrefix(name, "config")); err != nil {
			return err
		}
	}
	text, _ := small(path.Join(gitDir, "objects/info/alternates"))
	for line := range strings.Lines(text) {
		if _, err := o.own(absolute(path.Join(gitDir, "objects"), strings.TrimSpace(line))); err != nil {
			return err
		}
	}
	if text, err := small(path.Join(gitDir, "gitdir")); err == nil { // of a linked worktree
		o.from = append(o.from, path.Dir(absolute(gitDir, strings.TrimSpace(text))))
	}
	if text, err := small(path.Join(gitDir, "commondir")); err == nil {
		return o.repository(absolute(gitDir, strings.TrimSpace(text)), top)
	}
	return nil
}

// file takes a file with settings, if there is one. Nothing of a repository is left to be a pipe that git waits for.
func (o *outside) file(name string, settings bool) error {
	info, err := os.Stat(name)
	switch {
	case err != nil: // an absence: what could make one is protected
	case !info.Mode().IsRegular() && !info.IsDir():
		return fmt.Errorf("%s is neither a file nor a folder, so git cannot be asked what it obeys here; remove it", name)
	case settings && info.Mode().IsRegular() && !slices.Contains(o.files, name):
		o.files = append(o.files, name)
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

var (
	// freeSettings are settings that name no program and no file of a workspace that somebody obeys.
	freeSettings = lazy.Pattern(`^(user\.(name|email)|(author|committer|url|color|advice)\..*|` +
		`branch\..*\.(remote|merge|rebase|description|pushremote)|submodule\..*\.(url|path|active|branch)|` +
		`remote\..*\.(url|pushurl|fetch|push)|safe\.directory|maintenance\.repo|gui\.recentrepo|scalar\.repo)$`)
	// fileSettings are settings whose value is the name of a file or folder as it is.
	fileSettings = lazy.Pattern(`^(commit\.template|.*\.(.*file|.*skiplist|.*templatedir|.*hookspath))$`)
	// programSettings are settings whose value the shell runs, or git itself.
	programSettings = lazy.Pattern(`^(pager\..*|core\.(fsmonitor|gitproxy)|submodule\..*\.update|` +
		`sendemail\..*(cmd|server)|imap\.tunnel|.*\.(.*command|.*cmd|.*helper|.*hook|.*program|.*editor|.*pager|askpass|external|` +
		`textconv|driver|clean|smudge|process|difffilter|uploadpack|receivepack|vcs|path))$`)
	// plainWords are a line that the shell reads as words alone.
	plainWords = lazy.Pattern(`^[\w./~@%+,:= -]*$`)
	// compared is what git calls the files that a tool compares.
	compared = lazy.Pattern(`"?\$(LOCAL|REMOTE|BASE|MERGED)\b"?`)
	// helpers are programs whose next words are no names of files.
	helpers = lazy.Words(`gh glab git-lfs`)
	between = lazy.Pattern(`[^\s"';|&()!=:,]+`)
)

type setting struct{ origin, key, value string }

// settings notes what git's settings name as programs, hooks or more settings, those of includes whose condition does not
// hold too, and whether it is there or not: a change of it has git run something else.
func (o *outside) settings(ctx context.Context) error {
	names := []string{"/etc/gitconfig"}
	for _, home := range homes() {
		names = append(names, path.Join(home, ".gitconfig"), path.Join(home, ".config/git/config"))
	}
	if dir := os.Getenv("XDG_CONFIG_HOME"); dir != "" {
		names = append(names, path.Join(dir, "git/config"))
	}
	for _, name := range names {
		if err := o.file(name, true); err != nil {
			return err
		}
	}
	asked, values := map[string]bool{}, map[setting]bool{}
	for next := o.files; len(next) > 0; {
		parts, err := ask(ctx, next)
		if err != nil {
			return err
		}
		for i := 0; i+1 < len(parts); i += 2 { // active includes are read already
			end, _ := trail(strings.TrimPrefix(parts[i], "file:"))
			asked[end] = true
		}
		next = nil
		for i := 0; i+1 < len(parts); i += 2 {
			origin, ok := strings.CutPrefix(parts[i], "file:")
			key, value, _ := strings.Cut(parts[i+1], "\n")
			if !ok {
				continue
			}
			o.lead(origin)
			s := setting{origin, key, value}
			values[s] = true
			if !strings.HasPrefix(key, "include") && key != "core.worktree" {
				continue
			}
			file, err := expanded(path.Dir(origin), value)
			if err != nil {
				return s.unclear()
			}
			if key == "core.worktree" {
				o.from = append(o.from, file)
				continue
			}
			end, _ := trail(file)
			had := len(o.files)
			if err := o.file(end, true); err != nil {
				return err
			}
			if len(o.files) > had && !asked[end] {
				next = append(next, end)
			}
		}
	}
	slices.Sort(o.from)
	o.from = slices.Compact(o.from)
	for s := range values {
		if err := o.setting(s); err != nil {
			return err
		}
	}
	return nil
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

// setting notes what one setting names, from each folder that it may count from. A program that is not named plainly
// could be any, so nothing is confined then.
func (o *outside) setting(s setting) error {
	line, shell := strings.CutPrefix(s.value, "!")
	alias := strings.HasPrefix(s.key, "alias.")
	switch {
	case s.value == "", s.key == "core.worktree", freeSettings.MatchString(s.key):
	case strings.HasPrefix(s.key, "include"):
		return o.obeyed(s, path.Dir(s.origin), s.value)
	case alias && !shell && !strings.HasPrefix(line, "-"):
		o.words(s.value)
	case shell, alias, programSettings.MatchString(s.key):
		line = compared.ReplaceAllString(line, "%")
		if !plainWords.MatchString(line) {
			return s.unclear()
		}
		return o.program(s, strings.Fields(line))
	case fileSettings.MatchString(s.key):
		return o.obeyed(s, "", s.value)
	default: // unknown ones too
		o.words(s.value)
	}
	return nil
}

// words notes what the words of a line name that have a slash.
func (o *outside) words(line string) {
	for _, word := range between.FindAllString(line, -1) {
		for _, dir := range o.from {
			if file, err := expanded(dir, word); err == nil && strings.Contains(word, "/") {
				o.lead(file)
			}
		}
	}
}

// program notes what the words of a line name: the first alone is looked up in PATH.
func (o *outside) program(s setting, words []string) error {
	name := ""
	for _, word := range words {
		for i, part := range strings.FieldsFunc(word, func(r rune) bool { return strings.ContainsRune("=:,", r) }) {
			first := name == "" && !strings.Contains(word, "=")
			bare := !strings.Contains(part, "/") && !strings.HasPrefix(part, "~") && part != "." && part != ".."
			if first {
				name = path.Base(part)
			}
			option := strings.HasPrefix(part, "-") || strings.HasPrefix(part, "%") || i == 0 && word != part
			if bare && (first || option || helpers.Has(name)) {
				continue
			}
			if err := o.obeyed(s, "", part); err != nil {
				return err
			}
		}
	}
	return nil
}

// obeyed notes the file that a setting names, from a folder or from each.
func (o *outside) obeyed(s setting, from, file string) error {
	bases := []string{from}
	if from == "" {
		bases = o.from
	}
	for _, dir := range bases {
		name, err := expanded(dir, file)
		if err != nil {
			return s.unclear()
		}
		if s.key == "core.hookspath" {
			o.links(name, func(string) bool { return true })
		}
		if o.lead(name) {
			return fmt.Errorf("a workspace is the folder that git's setting %s names (%s); name another one, or "+
				"change the setting", s.key, s.origin)
		}
	}
	return nil
}

func (s setting) unclear() error {
	return fmt.Errorf("git's setting %s (%s) does not name its program or file plainly, so what it obeys of "+
		"a workspace is not known; "+
		"write a path without quotes, variables and other signs of the shell, or name another workspace", s.key, s.origin)
}

// expanded is a path of a setting from the root of the machine.
func expanded(from, file string) (string, error) {
	rest, home := strings.CutPrefix(file, "~/")
	switch {
	case home:
		return path.Join(os.Getenv("HOME"), rest), nil
	case strings.HasPrefix(file, "~"), strings.HasPrefix(file, "%("), strings.HasPrefix(file, ":("):
		return "", fs.ErrInvalid
	case path.IsAbs(file):
		return file, nil
	}
	return from + "/" + file, nil
}
