//go:build linux

package confine

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/workspace"
)

// guard knows which names of one workspace are protected.
type guard struct {
	root  string          // of the workspace, clean and absolute
	repos map[string]bool // directories, relative to root, that were repositories before; nil: find them
	named map[string]bool // folded paths that settings of these repositories, or protected links, lead to
	above map[string]bool // and the directories above them, where a link would lead elsewhere
	steps int             // that were gone through links since the last list
}

// place is how a directory is looked at.
type place struct {
	Held  bool   // it and all below it are protected
	Repo  bool   // it lies in a repository's own directory, and Under counts from there
	Under string // its folded path
}

// in gives the place of a name in a directory, and whether the name is protected.
func (g *guard) in(dir place, dirRel, name string) place {
	lower := workspace.FoldPath(name)
	p := place{Held: dir.Held, Repo: dir.Repo, Under: join(dir.Under, lower)}
	switch {
	case p.Held:
	case dir.Repo:
		p.Held = inRepository(p.Under, lower)
	default:
		_, p.Held = workspace.Obeyed(p.Under)
		// commondir beside a HEAD makes a directory a repository, and says which config it obeys.
		p.Held = p.Held || lower == "commondir" || strings.HasPrefix(path.Base(g.root), ".") &&
			workspace.SettingsPath(workspace.FoldPath(path.Base(g.root))+"/"+p.Under)
	}
	p.Held = p.Held || len(g.named) > 0 && g.named[workspace.FoldPath(join(dirRel, name))]
	return p
}

// inRepository reports what git obeys of a repository's own directory. Commits, branches and
// the index are no such thing: a confined command may write them.
func inRepository(under, name string) bool {
	top, _, _ := strings.Cut(under, "/")
	switch top {
	case "refs", "logs", "objects": // branches have any names
		_, obeyed := workspace.Obeyed(under)
		return obeyed && strings.HasPrefix(name, ".") || name == ".git" || name == "commondir"
	case "hooks":
		return true
	}
	switch name {
	case "config", "config.worktree", "commondir", "gitdir", "rebase-merge", "rebase-apply", "opts":
		return true // a rebase in progress runs lines of its list, and programs by the name of its strategy
	case "head":
		return false
	}
	_, obeyed := workspace.Obeyed(under)
	return obeyed
}

// isRepository reports a directory that git takes for a repository, by the names in it.
func isRepository(has func(name string) bool) bool {
	return has("head") && (has("objects") && has("refs") || has("commondir"))
}

var (
	wordOf = lazy.Pattern(`[^\s"';|&()!=]+`)
	// plain are settings that name no program and no file, though their values have words.
	plain = lazy.Pattern(`^(user|author|committer|branch|init|url|submodule|color|advice|safe|credential\.https?:)\.|^remote\..*\.(url|pushurl|fetch|push)$`)
)

// namedBy gives what the settings name below root as programs, hooks or more settings, that git has in a
// folder: a change of such a file has git run something else. Git is asked, for it knows what is included.
func (g *guard) namedBy(folder, gitDir string) (files []string) {
	ask := func(words ...string) string {
		git := exec.Command("git", words...)
		git.Dir, git.Env = folder, slices.DeleteFunc(os.Environ(), func(pair string) bool { return strings.HasPrefix(pair, "GIT_") })
		if gitDir != "" {
			git.Env = append(git.Env, "GIT_DIR="+gitDir)
		}
		said, _ := git.Output() // a repository that git does not read names nothing
		return string(said)
	}
	from := []string{folder}
	if gitDir == "" {
		if top := strings.TrimSuffix(ask("rev-parse", "--show-toplevel"), "\n"); top != "" {
			from = append(from, top)
		}
	} else {
		from = append(from, gitDir)
		if text, err := os.ReadFile(path.Join(gitDir, "gitdir")); err == nil { // of a linked worktree
			from = append(from, path.Dir(strings.TrimSpace(string(text))))
		}
	}
	parts := strings.Split(ask("config", "--list", "--show-origin", "--includes", "-z"), "\x00")
	for i := 0; i+1 < len(parts); i += 2 {
		if key, value, _ := strings.Cut(parts[i+1], "\n"); key == "core.worktree" {
			from = append(from, absolute(gitDir, value))
		}
	}
	home, _ := os.UserHomeDir()
	add := func(from, w string) {
		if rest, ok := strings.CutPrefix(w, "~/"); ok {
			w = path.Join(home, rest)
		}
		w = absolute(from, w)
		for _, file := range []string{w, resolved(w)} {
			if rel, ok := strings.CutPrefix(file, g.root+"/"); ok {
				files = append(files, rel)
			}
		}
	}
	for i := 0; i+1 < len(parts); i += 2 {
		origin := absolute(folder, strings.TrimPrefix(parts[i], "file:"))
		key, value, _ := strings.Cut(parts[i+1], "\n")
		add("", origin)
		if plain.MatchString(key) || key == "core.worktree" {
			continue
		}
		if strings.HasPrefix(key, "include") {
			add(path.Dir(origin), value)
			continue
		}
		words := wordOf.FindAllString(value, -1)
		bases := slices.Clone(from)
		for _, dir := range from { // cd there && ./program
			for _, w := range words {
				if info, err := os.Stat(absolute(dir, w)); err == nil && info.IsDir() {
					bases = append(bases, absolute(dir, w))
				}
			}
		}
		for _, dir := range bases {
			if key == "core.hookspath" {
				add(dir, value)
			}
			for _, w := range append(words, value) {
				info, err := os.Stat(absolute(dir, w))
				if strings.Contains(w, "/") || err == nil && !info.IsDir() {
					add(dir, w)
				}
			}
		}
	}
	return files
}

func absolute(dir, file string) string {
	if path.IsAbs(file) {
		return path.Clean(file)
	}
	return path.Join(dir, file)
}

// resolved is a path without links in what there is of it.
func resolved(file string) string {
	if real, err := filepath.EvalSymlinks(file); err == nil || file == "/" || file == "." {
		return real
	}
	return path.Join(resolved(path.Dir(file)), path.Base(file))
}

// name protects more paths, and gives a guard's way to them.
func (g *guard) name(paths map[string]bool) {
	g.named, g.above = paths, map[string]bool{}
	for rel := range paths {
		for dir, _ := splitPath(rel); dir != ""; dir, _ = splitPath(dir) {
			g.above[dir] = true
		}
	}
}

// shownOutside are folders that a link may lead to: an ordinary user writes nothing there.
var shownOutside = []string{"/usr/", "/bin/", "/lib/", "/lib64/", "/sbin/", "/nix/store/"}

// mostSteps and mostLinks bound what a call can have a comparison do. Beyond it nothing is compared.
const (
	mostSteps = 4 << 20
	mostLinks = 64 << 20 // bytes of links and their names
)

// follow follows a path from a directory of the workspace through the links in it. It gives where the
// path ends, the links that it went through, and whether it ends outside; end is then what is left.
func (g *guard) follow(links map[string]string, at, rest string) (end string, through []string, outside bool) {
	for rest != "" && g.steps <= mostSteps {
		g.steps += 1 + len(at)/256
		if inside, ok := strings.CutPrefix(rest, g.root+"/"); ok {
			at, rest = "", inside
		} else if strings.HasPrefix(rest, "/") {
			return rest, through, true
		}
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		rest = strings.TrimLeft(rest, "/")
		switch {
		case name == "" || name == ".":
		case name == ".." && at == "":
			return "../" + rest, through, true
		case name == "..":
			at, _ = splitPath(at)
		case len(through) > 40: // as the kernel
			return "", through, false
		default:
			at = join(at, name)
			if target, ok := links[at]; ok {
				through = append(through, at)
				at, _ = splitPath(at)
				rest = target + "/" + rest
			}
		}
	}
	return at, through, false
}

// leadsAstray reports where a link ends, if that is outside the workspace or protected: a later call
// that writes to the link's harmless name would write there.
func (g *guard) leadsAstray(links map[string]string, rel string) (end string, astray bool) {
	dir, _ := splitPath(rel)
	end, _, outside := g.follow(links, dir, links[rel])
	if !outside {
		return end, g.held(end)
	}
	for _, dir := range shownOutside {
		if strings.HasPrefix(end, dir) && !strings.Contains(end, "/..") {
			return end, false
		}
	}
	return end, end != "/dev/null"
}

// hides gives the secrets of a list, and the files that links with a secret's name lead to.
func (g *guard) hides(l *list) []string {
	for rel := range l.Links {
		if workspace.SecretLower(workspace.FoldPath(rel)) {
			end, _, outside := g.follow(l.Links, "", rel)
			info, err := os.Lstat(path.Join(g.root, end))
			if !outside && err == nil && info.Mode().IsRegular() && !slices.Contains(l.secrets, end) {
				l.secrets = append(l.secrets, end)
			}
		}
	}
	return l.secrets
}

// leadsTo gives the folded paths that a path of the workspace leads to and goes through.
func (g *guard) leadsTo(links map[string]string, path string) []string {
	end, through, outside := g.follow(links, "", path)
	if !outside && end != "" {
		through = append(through, end)
	}
	for i, rel := range through {
		through[i] = workspace.FoldPath(rel)
	}
	return through
}

// held reports a path that is protected by its names alone, or lies in a repository's own directory.
func (g *guard) held(rel string) bool {
	p, dir := place{}, ""
	for name := range strings.SplitSeq(rel, "/") {
		p = g.in(p, dir, name)
		if dir = join(dir, name); p.Held || g.repos[dir] {
			return rel != ""
		}
	}
	return false
}

// beneath reports a path that lies in one of these directories.
func beneath(rel string, dirs map[string]bool) bool {
	for dir, _ := splitPath(rel); dir != ""; dir, _ = splitPath(dir) {
		if dirs[dir] {
			return true
		}
	}
	return false
}

// splitPath gives the directory and the name of a relative path.
func splitPath(rel string) (dir, name string) {
	if at := strings.LastIndexByte(rel, '/'); at >= 0 {
		return rel[:at], rel[at+1:]
	}
	return "", rel
}

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}
