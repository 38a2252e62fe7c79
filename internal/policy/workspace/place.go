package workspace

import (
	"path"
	"slices"
	"strings"
	"sync"

	"approvalbot/internal/approval"
	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/words"
)

// Place says in which directory a call runs: what is local, and what relative paths mean.
type Place struct {
	Roots   []string // the workspaces; empty if none is known
	Own     bool     // the call itself names it: the operator configured none
	Dirs    []string // the directories in which the call may run, absolute; empty if they are not known
	Sure    []string // those it is in if all commands so far succeeded; set by shell
	Also    []string // directories from which paths may count besides, as members of the call say
	Went    Went     // how commands changed the directory, for people
	moved   bool     // a command changed the directory
	lost    bool     // it did so to a directory that cannot be read, or through the home directory
	Windows bool
	Away    bool // on another machine
}

// At finds out in which place a call runs, from its agent's workspaces, the working
// directory that the call names, and what it is bound to. If the call names no directory,
// or a relative one, and there are several workspaces, it may run in any of them. A
// directory that contains files of the desk is no workspace that a call can name.
func At(roots []string, desk *Own, bind *approval.Bind, workdir, host string) Place {
	p := Place{Roots: roots}
	dirs := [2]string{workdir}
	hosts := [2]string{host}
	dirs[1], hosts[1], _ = bind.Fields()
	for _, h := range hosts {
		p.Away = p.Away || h != "" && !LocalHosts()[h]
	}
	for _, d := range dirs {
		p.Windows = p.Windows || WindowsPath(d)
	}
	if p.Away {
		p.Roots = nil
		return p
	}
	if root := ownRoot(dirs[0], dirs[1]); len(roots) == 0 && root != "" && !desk.Below(root, false) {
		p.Roots, p.Own = []string{root}, true
	}
	for _, d := range dirs {
		switch {
		case d == "":
		case path.IsAbs(d):
			p.Dirs = append(p.Dirs, path.Clean(d))
		case !p.Known() || !plainDir(d):
			return Place{Roots: p.Roots, Own: p.Own, Windows: p.Windows, moved: true}
		default:
			for _, root := range p.Roots {
				p.Dirs = append(p.Dirs, path.Join(root, d))
			}
		}
	}
	if len(p.Dirs) == 0 {
		p.Dirs = p.Roots
	}
	return p
}

// plainDir reports a relative directory that every program reads in the same way.
func plainDir(d string) bool {
	expands := d[0] == '~' || strings.Contains(d, "$")
	return !expands && !strings.Contains(d, ":/") && d == strings.TrimSpace(d)
}

// LocalHosts are the words of agent runtimes for the machine they run on.
var LocalHosts = sync.OnceValue(func() map[string]bool {
	return map[string]bool{"": true, "local": true, "localhost": true, "auto": true, "sandbox": true, "gateway": true}
})

// ownRoot takes the call's working directory as the workspace if none is configured. Only a
// plain project directory counts. A directory of the system, one of all users, a whole
// home, a hidden one, one that holds programs or settings, or one that the two sources
// disagree about does not. Letter case does not count.
func ownRoot(a, b string) string {
	if a == "" || b == "" {
		a += b
	} else if path.Clean(a) != path.Clean(b) {
		return ""
	}
	if !path.IsAbs(a) {
		return ""
	}
	a = path.Clean(a)
	folded := FoldPath(a)
	if home := homeDirs.Has(path.Dir(folded)); home || sharedDirs.Has(folded) || systemPath(folded) {
		return ""
	}
	if AnyPart(folded[1:], settingDir) {
		return ""
	}
	return a
}

// PlainDirectory reports whether a directory could be the workspace by its path alone:
// whether policy would take it from a call whose agent has no workspace configured.
func PlainDirectory(dir string) bool { return ownRoot(dir, "") != "" }

// homeDirs hold the homes of users.
var homeDirs = lazy.Words("/home /users")

// settingDir reports a component of a path that no project directory has.
func settingDir(c string) bool {
	if strings.HasPrefix(c, ".") || words.Any(c, "library", "bin", "sbin", "appdata") {
		return true
	}
	return startupName(c) || secretName(c)
}

var sharedDirs = lazy.Words("/ /home /users /root /tmp /opt /srv /mnt /media /volumes /data")

// Known reports whether there is a workspace.
func (p *Place) Known() bool { return len(p.Roots) > 0 }

// RootPath reports whether the clean absolute path is a workspace.
func (p *Place) RootPath(file string) bool { return slices.Contains(p.Roots, file) }

// Inside reports whether the clean absolute path lies in a workspace.
func (p *Place) Inside(file string) bool {
	for _, root := range p.Roots {
		if len(file) > len(root) && Under(file, root) {
			return true
		}
	}
	return false
}

// LocalPath reports whether the clean absolute path is a workspace or lies in one.
func (p *Place) LocalPath(file string) bool { return p.RootPath(file) || p.Inside(file) }

// Below gives the part of a path below the workspace that it lies in, the innermost
// one; of any other path all of it.
func (p *Place) Below(file string) string {
	rest := file
	for _, root := range p.Roots {
		if Under(file, root) && len(file)-len(root) < len(rest) {
			rest = file[len(root):]
		}
	}
	return rest
}

// Resolve calls fn with every file that the word may mean. open is true if only the end of
// the path is known.
func (p *Place) Resolve(w Word, fn func(file string, open bool)) {
	switch {
	case w.Tilde || strings.HasPrefix(w.Text, "/"):
		fn(clean(w.Text), false)
		return
	case len(p.Dirs) == 0:
		fn(path.Clean(w.Text), true)
	default:
		for _, d := range p.Dirs {
			fn(path.Join(d, w.Text), d[0] == '~') // it is not known which directory that is
		}
	}
	for _, d := range p.Also {
		fn(path.Join(d, w.Text), d[0] != '/' && d[0] != '~')
	}
}

// clean is [path.Clean], which is spared a path that is clean: an absolute one in which
// no component is empty or begins with a dot.
func clean(file string) string {
	slash := false
	for i := range len(file) {
		before := slash || i == 0
		if slash = file[i] == '/'; before && (slash != (i == 0) || file[i] == '.') {
			return path.Clean(file)
		}
	}
	if slash || file == "" {
		return path.Clean(file)
	}
	return file
}

// MaxDirs bounds in how many directories a line may be at once.
const MaxDirs = 8

// Move notes that a command may have changed the directory to w: from now on the line may
// be in any of the directories before or after it.
func (p *Place) Move(w Word, ok bool) {
	p.moved = true
	p.Sure = nil
	named := w.Kind == Literal && !words.Any(w.Text, "-", "")
	p.Went.to(w, named)
	p.lost = p.lost || !named
	aboveHome := w.Tilde && Climbs(w.Text)
	if !ok || !named || aboveHome {
		p.lost = p.lost || w.Tilde
		p.Dirs = nil
		return
	}
	if len(p.Dirs) == 0 && !path.IsAbs(w.Text) && !w.Tilde {
		return
	}
	p.Resolve(w, func(d string, _ bool) { p.Sure = append(p.Sure, d) })
	for _, d := range p.Sure {
		if d[0] != '/' && d[0] != '~' { // out of the home directory
			p.lost, p.Dirs, p.Sure = true, nil, nil
			return
		}
	}
	p.Dirs = Both(p.Dirs, p.Sure)
}

// Went is how the commands so far changed the directory. It is for people: it decides no
// call.
type Went struct {
	To   []string // the directories one after the other, as they are written
	Open bool     // it is open which: one is computed, or only some of the commands ran
	Sure bool     // what comes next runs only if all of them succeeded
}

// to notes a directory that a command changes to. An absolute one takes the place of those before.
func (g *Went) to(w Word, named bool) {
	g.Sure = g.Sure || len(g.To) == 0 && !g.Open
	switch {
	case !named:
		g.To, g.Open = nil, true
	case path.IsAbs(w.Text) || w.Tilde:
		g.To, g.Open = []string{w.Text}, false
	default:
		g.To = append(slices.Clip(g.To), w.Text)
	}
}

// Else is what is known of the directory if the commands ran that changed it to g, or not.
func (g Went) Else(before Went) Went {
	if g.Open == before.Open && slices.Equal(g.To, before.To) {
		return g
	}
	return Went{Open: true}
}

// Both joins two lists of directories in which a line may be. If one is empty, the
// directory is not known, and the result is empty too.
func Both(a, b []string) []string {
	if len(a) == 0 || len(b) == 0 {
		return nil
	}
	next := slices.Clip(a)
	for _, d := range b {
		if !slices.Contains(next, d) {
			next = append(next, d)
		}
	}
	if len(next) > MaxDirs {
		return nil
	}
	return next
}

// Here gives the absolute directories in one of which the line is; none if that is not known.
func (p *Place) Here() []string {
	if p.lost || p.Away {
		return nil
	}
	return p.Dirs
}

// AtRoot reports whether the call can only be in a workspace itself, not in a directory
// below it.
func (p *Place) AtRoot() bool {
	if !p.Known() {
		return !p.moved && len(p.Dirs) == 0
	}
	for _, d := range p.Dirs {
		if !p.RootPath(d) {
			return false
		}
	}
	return len(p.Dirs) > 0
}

var systemDirs = [...]string{"/etc", "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/boot", "/dev", "/proc", "/sys", "/var",
	"/run", "/root/.ssh", "/System", "/Library", "/Applications", "/private"}

// systemPath reports whether the clean path belongs to the operating system, in any letter
// case.
func systemPath(file string) bool {
	for _, d := range systemDirs {
		if len(file) >= len(d) && Under(file, file[:len(d)]) && strings.EqualFold(file[:len(d)], d) {
			return true
		}
	}
	return false
}

// WindowsPath reports a path as Windows writes it.
func WindowsPath(s string) bool {
	drive := len(s) > 1 && s[1] == ':' && words.Lower(s[0]|0x20)
	return drive || strings.HasPrefix(s, `\\`)
}

// Stays reports whether the place is the workspace or a directory in it; if no workspace is
// known, whether the call names no directory.
func (p *Place) Stays() bool {
	if p.Away || p.Windows {
		return false
	}
	if !p.Known() {
		return !p.moved && len(p.Dirs) == 0
	}
	for _, d := range p.Dirs {
		if !p.LocalPath(d) {
			return false
		}
	}
	return len(p.Dirs) > 0
}

// Local reports whether the word names only files inside the workspace.
func (p *Place) Local(w Word) bool {
	if w.Kind == Computed || Climbs(w.Text) || !p.Known() {
		return false
	}
	local := true
	p.Resolve(w, func(file string, open bool) { local = local && !open && p.Inside(file) })
	return local
}

// LocalDir reports whether a word is the workspace or a directory in it.
func (p *Place) LocalDir(w Word) bool {
	return w.Kind == Literal && !Climbs(w.Text) && p.ends(w)
}

// EndsInside reports a path that ends up in the workspace from each directory that the call
// may be in.
func (p *Place) EndsInside(file string) bool { return p.ends(Word{Text: file}) }

func (p *Place) ends(w Word) bool {
	ok := p.Known()
	p.Resolve(w, func(file string, open bool) { ok = ok && !open && p.LocalPath(file) })
	return ok
}

// IsRoot reports a word that is a workspace itself.
func (p *Place) IsRoot(w Word) bool {
	ok := w.Kind == Literal && !Climbs(w.Text)
	p.Resolve(w, func(d string, open bool) { ok = ok && !open && p.RootPath(d) })
	return ok
}
