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

	"approvalbot/internal/policy/workspace"
)

// gitTime is how long git may take to answer.
var gitTime = 10 * time.Second

// git asks the host's git in a folder, with nothing of the caller's environment but the home. env names a repository of our own:
// what a call could have written has no say in how it runs.
func git(ctx context.Context, dir string, env []string, words ...string) (string, error) {
	file, err := program("git")
	if err != nil {
		return "", err
	}
	ctx, stop := context.WithTimeout(ctx, gitTime)
	defer stop()
	cmd := exec.CommandContext(ctx, file, words...)
	cmd.Dir, cmd.WaitDelay = dir, time.Second
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

// outside is what confines a call beyond the names of its workspaces: their repositories, and where protected links lead.
type outside struct {
	roots []string
	dirs  map[string]bool // git's own directories and files called .git, in the workspaces, by absolute paths
	named map[string]bool // where protected links lead in the workspaces, by absolute paths
	found int             // how often one of these was new
	seen  map[string]bool // git's own directories that were looked at
}

// look finds the repositories of the workspaces that were listed, and where protected links lead.
func look(watches []*Watch, lists []*list) (*outside, error) {
	o := &outside{dirs: map[string]bool{}, named: map[string]bool{}, seen: map[string]bool{}}
	for _, w := range watches {
		o.roots = append(o.roots, w.Root)
	}
	for i, w := range watches {
		if err := o.repositories(w.Root, lists[i]); err != nil {
			return nil, err
		}
		for link, end := range lists[i].beyond {
			if o.inside(end) && !workspace.Under(end, w.Root) {
				return nil, fmt.Errorf("the link %q in workspace %s leads to %s in another workspace, which is a secret only because of "+
					"the link's name; give only one of the two workspaces", link, w.Root, end)
			}
		}
	}
	for found := -1; found != o.found; { // protected links lead to more of them
		found = o.found
		for i, root := range o.roots {
			own := guard{root: root, envs: watches[i].guard.envs, repos: o.below(o.dirs, root), named: map[string]bool{}}
			for rel := range o.below(o.named, root) {
				own.named[workspace.FoldPath(rel)] = true
			}
			for rel := range lists[i].Links {
				if own.held(rel) {
					o.lead(path.Join(root, rel))
				}
			}
		}
	}
	return o, nil
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

// lead notes where a protected link leads.
func (o *outside) lead(file string) {
	if end, _, _ := trail(file); o.inside(end) && !o.named[end] {
		o.named[end] = true
		o.found++
	}
}

// repositories notes those of a workspace.
func (o *outside) repositories(root string, now *list) (err error) {
	for _, dir := range sorted(now.Repos) {
		if dir == "" {
			return fmt.Errorf("workspace %s is a bare repository, in which a confined command can change nothing; name another one", root)
		}
		err = errors.Join(err, o.repository(path.Join(root, dir)))
	}
	for _, rel := range now.gitFiles {
		file := path.Join(root, rel)
		if _, is := now.Links[rel]; is {
			return fmt.Errorf("%s is a symbolic link, so git's own directory cannot be protected from a confined command; replace the link with a folder, or "+
				"with a file that contains that folder's path", file)
		}
		err = errors.Join(err, o.repository(file))
	}
	return err
}

// own notes a part of a repository, and gives where it is. What lies in a workspace must be what its name says, and there:
// a mount protects it from the command.
func (o *outside) own(file string) (end string, err error) {
	end, through, _ := trail(file)
	if slices.Contains(o.roots, end) || slices.ContainsFunc(through, o.inside) {
		return "", fmt.Errorf("git reads %s, which is a workspace or is reached through a symbolic link in one, so it "+
			"cannot be protected from a confined command; name another workspace", file)
	}
	if !o.inside(end) {
		return end, nil
	}
	if _, err := os.Lstat(end); err != nil {
		return "", fmt.Errorf("a repository refers to %s, which does not exist, so a confined command could create it; "+
			"fix that reference, or name another workspace", end)
	}
	o.dirs[end] = true
	return end, nil
}

// repository notes git's own directory, or a file that contains its path, with what it refers to in turn.
func (o *outside) repository(gitDir string) error {
	gitDir, err := o.own(gitDir)
	if text, none := small(gitDir); err == nil && none == nil {
		gitDir, err = o.own(absolute(path.Dir(gitDir), strings.TrimSpace(strings.TrimPrefix(text, "gitdir:"))))
	}
	if err != nil || o.seen[gitDir] {
		return err
	}
	o.seen[gitDir] = true
	text, _ := small(path.Join(gitDir, "objects/info/alternates"))
	for line := range strings.Lines(text) {
		if _, err := o.own(absolute(path.Join(gitDir, "objects"), strings.TrimSpace(line))); err != nil {
			return err
		}
	}
	if text, err := small(path.Join(gitDir, "commondir")); err == nil {
		return o.repository(absolute(gitDir, strings.TrimSpace(text)))
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

// mostThrough is how many links the kernel follows in one path (path_resolution(7)).
const mostThrough = 40

// trail gives an absolute path without links in what there is of it, each link on the way, and how many names there were.
func trail(file string) (end string, through []string, steps int) {
	end = "/"
	for rest := file; rest != ""; steps++ {
		name := ""
		name, rest, _ = strings.Cut(rest, "/")
		switch name {
		case "", ".":
			continue
		case "..":
			end = path.Dir(end)
			continue
		}
		next := path.Join(end, name)
		target, err := os.Readlink(next)
		if err != nil || len(through) > mostThrough {
			end = next
			continue
		}
		if through = append(through, next); path.IsAbs(target) {
			end = "/"
		}
		rest = target + "/" + rest
	}
	return end, through, steps
}
