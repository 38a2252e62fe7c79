package policy

import (
	"path"
	"strings"

	"approvalbot/core"
)

// place says where a call runs: what is local, and what relative paths mean.
type place struct {
	root    string   // the workspace; empty when none is known
	dirs    []string // where the call may stand, absolute; empty when that is open
	sure    []string // where it stands if all commands so far succeeded; set by shell
	also    []string // where paths may count from besides, as members of the call say
	moved   bool     // a command changed the directory
	lost    bool     // it did so to where cannot be read, or through the home directory
	windows bool
	away    bool // on another machine
}

// place finds out where a call runs, from its agent's workspace, what the call
// says of its working directory, and what it is bound to.
func (a *agent) place(call *core.Call, workdir, host string) place {
	p := place{root: a.root}
	dirs := [2]string{workdir}
	hosts := [2]string{host}
	dirs[1], hosts[1], _ = call.Bind.Says()
	for _, h := range hosts {
		p.away = p.away || h != "" && !localHosts[h]
	}
	for _, d := range dirs {
		p.windows = p.windows || windowsPath(d)
	}
	if p.away {
		p.root = ""
		return p
	}
	if p.root == "" {
		p.root = ownRoot(dirs[0], dirs[1])
	}
	for _, d := range dirs {
		switch {
		case d == "":
		case path.IsAbs(d):
			p.dirs = append(p.dirs, path.Clean(d))
		case p.root == "" || d[0] == '~' || strings.Contains(d, "$"):
			return place{root: p.root, windows: p.windows, moved: true}
		default:
			p.dirs = append(p.dirs, path.Join(p.root, d))
		}
	}
	if len(p.dirs) == 0 && p.root != "" { // the call says nothing, so this is the configured one
		p.dirs = a.dirs
	}
	return p
}

// localHosts are the words of agent runtimes for the machine they run on.
var localHosts = map[string]bool{"": true, "local": true, "localhost": true, "auto": true, "sandbox": true, "gateway": true}

// ownRoot takes the call's working directory as the workspace where none is
// configured. Only a plain project directory is one: none of the system, of all
// users, a whole home, nor one that is hidden, holds programs or settings, or that
// the two sources disagree about.
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
	if up := path.Dir(a); up == "/home" || up == "/Users" || sharedDirs[a] || systemPath(a) || anyPart(foldPath(a)[1:], settingDir) {
		return ""
	}
	return a
}

// settingDir reports a component of a path that no project directory has.
func settingDir(c string) bool {
	return c != "" && c[0] == '.' || c == "library" || c == "bin" || c == "sbin" || c == "appdata" || startupName(c) || secretName(c)
}

var sharedDirs = set("/ /home /Users /root /tmp /opt /srv /mnt /media /Volumes /data")

// inside reports whether the clean absolute path lies in the workspace.
func (p *place) inside(file string) bool {
	return p.root != "" && strings.HasPrefix(file, p.root) && len(file) > len(p.root) && file[len(p.root)] == '/'
}

// resolve calls fn with every file that the word may mean. open is true where
// only the end of the path is known.
func (p *place) resolve(w word, fn func(file string, open bool)) {
	switch {
	case w.tilde || strings.HasPrefix(w.text, "/"):
		fn(path.Clean(w.text), false)
		return
	case len(p.dirs) == 0:
		fn(path.Clean(w.text), true)
	default:
		for _, d := range p.dirs {
			fn(path.Join(d, w.text), d[0] == '~') // where that is, is open
		}
	}
	for _, d := range p.also {
		fn(path.Join(d, w.text), d[0] != '/' && d[0] != '~')
	}
}

// maxDirs bounds how many directories a line may stand in.
const maxDirs = 8

// move notes that a command may have changed the directory to w: from now on
// the line stands in any of the directories before or after it.
func (p *place) move(w word, ok bool) {
	p.moved = true
	p.sure = nil
	p.lost = p.lost || w.kind != literal || w.text == "-" || w.text == ""
	if !ok || w.kind != literal || w.text == "-" || w.text == "" || w.tilde && climbs(w.text) {
		p.lost = p.lost || w.tilde
		p.dirs = nil
		return
	}
	if len(p.dirs) == 0 && !path.IsAbs(w.text) && !w.tilde {
		return
	}
	p.resolve(w, func(d string, _ bool) { p.sure = append(p.sure, d) })
	for _, d := range p.sure {
		if d[0] != '/' && d[0] != '~' { // out of the home directory
			p.lost, p.dirs, p.sure = true, nil, nil
			return
		}
	}
	p.dirs = both(p.dirs, p.sure)
}

// both joins two lists of directories in which a line may stand. An empty one
// says that this is open, and then it still is.
func both(a, b []string) []string {
	if len(a) == 0 || len(b) == 0 {
		return nil
	}
	next := append([]string{}, a...)
	for _, d := range b {
		if !contains(next, d) {
			next = append(next, d)
		}
	}
	if len(next) > maxDirs {
		return nil
	}
	return next
}

// atRoot reports whether the call stands in its workspace and nowhere else.
func (p *place) atRoot() bool {
	if p.root == "" {
		return !p.moved && len(p.dirs) == 0
	}
	for _, d := range p.dirs {
		if d != p.root {
			return false
		}
	}
	return len(p.dirs) > 0
}

var systemDirs = [...]string{"/etc", "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/boot", "/dev", "/proc", "/sys", "/var",
	"/run", "/root/.ssh", "/System", "/Library", "/Applications", "/private"}

// systemPath reports whether the clean path belongs to the operating system.
func systemPath(file string) bool {
	for _, d := range systemDirs {
		if strings.HasPrefix(file, d) && (len(file) == len(d) || file[len(d)] == '/') {
			return true
		}
	}
	return false
}

// windowsPath reports a path as Windows writes it.
func windowsPath(s string) bool {
	return strings.HasPrefix(s, `\\`) || len(s) > 1 && s[1] == ':' && (s[0]|0x20) >= 'a' && (s[0]|0x20) <= 'z'
}
