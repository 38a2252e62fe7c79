//go:build linux

package confine

import (
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/workspace"
)

// guard knows which names of one workspace are protected.
type guard struct {
	root  string          // of the workspace, clean and absolute
	repos map[string]bool // git's own directories before, relative to root
	named map[string]bool // folded paths that protected links lead to, or go through
	above map[string]bool // and the directories above them, where a link would lead elsewhere
	trails
}

// trails is what was found out by following the links of one list.
type trails struct {
	steps  int               // a few microseconds each
	host   map[string]string // where links of the host lead; empty for what is none
	places map[string]place  // of paths of the workspace
	ends   map[string]ending // of links of the workspace
}

// ending is where a path leads: to one of the workspace, or outside to an absolute one, of which no link is followed. What
// goes through more links than the kernel follows is outside, and no absolute path. A circle ends where it closes, with the
// names that are left: each of its links may lead elsewhere later.
type ending struct {
	path    string
	outside bool
}

// long reports more steps than are gone. Of such a call nothing is kept, and such a workspace is refused.
func (t *trails) long() bool { return t.steps > mostSteps }

// place is how a directory is looked at.
type place struct {
	Held  bool   // it and all below it are protected
	Git   bool   // it is or lies in a directory of git's own
	Joins bool   // its path has a name that may be taken for something else together with others
	Under string // its folded path, from the folder .git that it lies in
}

// in gives the place of a name in a directory, and whether the name is protected.
func (g *guard) in(dir place, dirRel, name string) place {
	lower := workspace.FoldPath(name)
	p := place{Held: dir.Held, Git: dir.Git, Joins: dir.Joins || workspace.Joins(name), Under: join(dir.Under, lower)}
	if p.Git {
		return p
	}
	if lower == ".git" {
		return place{Held: true, Git: true}
	}
	p.Git = g.repos[join(dirRel, name)]
	p.Held = p.Held || p.Git || !workspace.Unasked(p.Under) || workspace.Odd(name) || alsoObeyed.Has(lower) || toolVersions.MatchString(lower) ||
		p.Joins && workspace.Odd(g.root+"/"+join(dirRel, name))
	if !p.Held && len(g.named) > 0 {
		_, p.Held = g.named[workspace.FoldPath(join(dirRel, name))]
	}
	return p
}

// top is how the root is looked at: what a name in it is to others depends on the folders above too.
func (g *guard) top() place {
	return place{Joins: workspace.Joins(g.root), Under: workspace.FoldPath(g.root)}
}

var (
	// alsoObeyed are files and folders that others obey and policy's names do not have: of editors, agents, CI, linters
	// that run what their settings say, and what an .envrc that is allowed reads again.
	alsoObeyed = lazy.Words(`.helix .agent .qoder .lingma iflow.md replit.md .replit .idx .gitpod.yml .taskcluster.yml .cirrus.star .drone.star
		.drone.jsonnet .packit.yaml .copr .azuredevops .theia .nova .vim .ycm_extra_conf.py .pylintrc .autoenv_leave.zsh prek.toml hk.pkl
		captainhook.json .claude-plugin .lsp.json .antigravity .codebuddy .iflow replit.nix .gitpod .ona .codesandbox
		.harness .evergreen.yml .prow.yaml .pipelines flake.nix devenv.nix .dir-locals-2.el .repo`)

	toolVersions = lazy.Pattern(`^\.?mise\..*toml$`)
)

// isRepository reports a directory that git takes for a repository, or that a name more would make one.
func isRepository(has func(name string) bool) bool {
	return has("HEAD") && (has("objects") || has("refs") || has("commondir"))
}

func absolute(dir, file string) string {
	if path.IsAbs(file) {
		return file
	}
	return dir + "/" + file
}

// shownOutside are folders to whose files a link may lead: an ordinary user writes nothing there ([guard.fixed]).
var shownOutside = []string{"/usr/", "/bin/", "/lib/", "/lib64/", "/sbin/", "/nix/store/"}

// kernel are folders in which a name can lead each process elsewhere. A link there leads out, even if it ends inside here.
var kernel = []string{"/proc/", "/dev/", "/sys/", "/run/"}

// mostSteps and mostLinks bound how long links are followed. Of a call that goes beyond it nothing is kept.
const (
	mostSteps = 1 << 20
	mostLinks = 64 << 20 // bytes of links and their names

	longestOutside = 1024 // bytes of a path out of the workspace: what is longer takes long to look at
)

// mostThrough is how many links the kernel follows in one path (path_resolution(7)).
const mostThrough = 40

// endOf follows a link of the workspace.
func (g *guard) endOf(links map[string]string, link string) ending {
	end, known := g.ends[link]
	if !known {
		if g.ends == nil {
			g.ends = map[string]ending{}
		}
		dir, _ := splitPath(link)
		end = g.follow(links, dir, links[link])
		g.ends[link] = end
	}
	return end
}

// follow follows a path from a directory of the workspace: in it through its links, outside through those of the host, which
// may lead back, and no further than to folders of the system.
func (g *guard) follow(links map[string]string, at, rest string) ending {
	type part struct {
		link string
		rest int // length of what comes after it
	}
	var of []part           // links that lead to what is followed now
	outside, left := "", "" // a folder outside that the way is in, without links, and the path by which it came there
	for through := 1; rest != "" && !g.long(); {
		for len(of) > 0 && len(rest) <= of[len(of)-1].rest {
			of = of[:len(of)-1]
		}
		g.steps += 1 + (len(at)+len(outside))/256
		if inside, ok := strings.CutPrefix(rest, g.root+"/"); ok {
			outside, at, rest = "", "", inside
		} else if strings.HasPrefix(rest, "/") {
			if outside == "" {
				left = rest
			}
			outside = "/"
		}
		var name, link, target string
		name, rest, _ = strings.Cut(strings.TrimLeft(rest, "/"), "/")
		rest = strings.TrimLeft(rest, "/")
		switch {
		case name == "" || name == ".":
			continue
		case name == ".." && outside != "":
			outside = path.Dir(outside)
			continue
		case name == ".." && at == "":
			outside = path.Dir(g.root)
			left = outside + "/" + rest
			continue
		case name == "..":
			at, _ = splitPath(at)
			continue
		case outside == "":
			link = join(at, name)
			target = links[link]
		case path.Join(outside, name) == g.root:
			outside, at = "", ""
			continue
		default:
			link = path.Join(outside, name)
			if ofSystem(link) || ofKernel(link) {
				return ending{left, true}
			}
			target = g.hosts(link)
		}
		if target == "" {
			if outside == "" {
				at = link
			} else {
				outside = link
			}
			continue
		}
		if slices.ContainsFunc(of, func(p part) bool { return p.link == link }) {
			return ending{strings.TrimSuffix(link+"/"+rest, "/"), outside != ""}
		}
		if through++; through > mostThrough {
			return ending{"", true}
		}
		of = append(of, part{link, len(rest)})
		rest = target + "/" + rest
		g.steps += len(rest) / 1024
	}
	if outside != "" {
		return ending{left, true}
	}
	return ending{at, false}
}

// hosts gives where a link of the host leads; empty if there is none.
func (g *guard) hosts(file string) string {
	target, known := g.host[file]
	if !known {
		g.steps += 4 + len(file)/64 // a question to the kernel takes longer with a longer path
		target, _ = os.Readlink(file)
		if g.host == nil {
			g.host = map[string]string{}
		}
		g.host[file] = target
	}
	return target
}

// ofKernel reports a path in which a name can lead each process elsewhere.
func ofKernel(file string) bool {
	return slices.ContainsFunc(kernel, func(dir string) bool { return strings.HasPrefix(file+"/", dir) })
}

// ofSystem reports a path in a folder to whose files links may lead.
func ofSystem(file string) bool {
	return slices.ContainsFunc(shownOutside, func(dir string) bool { return strings.HasPrefix(file+"/", dir) })
}

// leadsAstray reports where a link ends, if that is outside the workspace or protected: a later call
// that writes to the link's harmless name would write there.
func (g *guard) leadsAstray(links map[string]string, rel string) (end string, astray bool) {
	e := g.endOf(links, rel)
	return e.path, g.isAstray(rel, e)
}

// isAstray is leadsAstray for a link of which it is known where it ends.
func (g *guard) isAstray(rel string, e ending) bool {
	if !e.outside { // where no folder can be, nothing is looked at: it would take long
		return strings.Count(e.path, "/") >= deepest || g.held(e.path) || g.renames(rel, e.path)
	}
	return e.path != "/dev/null" && !g.fixed(e.path)
}

// fixed reports a file of the system that this user cannot change, by a path that is the same for each process and whose
// links are the system's. Folders are none: links below them, such as those of npm link, may lead to places of the user.
func (g *guard) fixed(file string) bool {
	if !ofSystem(file) || strings.Contains(file+"/", "/../") || len(file) > longestOutside {
		return false
	}
	end, through, steps := trailFrom("/", file)
	if g.steps += steps; g.long() {
		return false
	}
	foreign := func(link string) bool { return !ofSystem(link) && !strings.HasPrefix(link, "/etc/alternatives/") }
	if !ofSystem(end) || slices.ContainsFunc(through, foreign) {
		return false
	}
	info, err := os.Lstat(end)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	for name := end; name != "/"; name = path.Dir(name) {
		var st unix.Stat_t
		if unix.Lstat(name, &st) != nil || int(st.Uid) == os.Geteuid() || unix.Access(name, unix.W_OK) == nil {
			return false
		}
	}
	return true
}

// inFolders are names that are protected in some folders alone.
var inFolders = []string{"x.json", "client.yaml", "operator.yaml", "settings.json", "claude/settings.json", "x", "bin/x", ".bin/x", "wrapper/x"}

// renames reports a link behind which a name is protected that is not behind the link's end, or the other way round: a
// later call would write or read a protected file by a harmless name, or have made one.
func (g *guard) renames(rel, end string) bool {
	// A name that ends in a word such as "x .git" or "x " begins another path together with what is behind it.
	_, name := splitPath(rel)
	last := name[strings.LastIndexAny(name, " \t\n:")+1:]
	if workspace.Joins(name) && (last == "" || last[0] == '.' || last[0] == '~') {
		return true
	}
	for _, start := range []string{rel, end} {
		from := g.placeOf(start)
		if slices.ContainsFunc(inFolders, func(name string) bool { return g.below(from, start, name).Held }) {
			return true
		}
	}
	return false
}

// below gives the place of a path in a directory.
func (g *guard) below(p place, dir, rel string) place {
	for name := range strings.SplitSeq(rel, "/") {
		if p.Held {
			break
		}
		if g.steps += 2 + len(p.Under)/64; p.Joins { // a long path takes long to judge, word by word
			g.steps += len(p.Under) / 4
		}
		p, dir = g.in(p, dir, name), join(dir, name)
	}
	return p
}

// placeOf gives the place of a path of the workspace; of one that is protected, that of its first part that is.
func (g *guard) placeOf(rel string) place {
	if rel == "" {
		return g.top()
	}
	p, known := g.places[rel]
	if !known {
		dir, name := splitPath(rel)
		p = g.below(g.placeOf(dir), dir, name)
		if g.places == nil {
			g.places = map[string]place{}
		}
		g.places[rel] = p
	}
	return p
}

// held reports a path that is protected by its names alone, or lies in a repository's own directory.
func (g *guard) held(rel string) bool { return g.placeOf(rel).Held }

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

// sorted gives the keys of a map, each directory before what is in it.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
