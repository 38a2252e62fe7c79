package policy

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"approvalbot/policy/finding"
)

// reader judges paths and addresses, wherever a call names them.
type reader struct {
	eng   *Engine
	found *finding.Set
	place place
	seen  *seen // what rules and grants look at; may be nil
	globs int   // bytes of globs that were read; see alternatives
}

// pathWord makes a word of a tool's param. Agents write paths in several ways;
// whatever could be a path to a runtime is one here.
func pathWord(s string) word {
	s, uri := strings.CutPrefix(s, "file://")
	s = strings.TrimPrefix(s, "@")
	// The tool may take it for another path than the one compared here.
	odd := uri && !strings.HasPrefix(s, "/") || strings.Contains(s, ":/") || s != "" && (strings.IndexByte("\"'`", s[0]) >= 0 || strings.IndexByte("\"'`", s[len(s)-1]) >= 0)
	if !odd && plainPath(s) {
		return word{text: s, tilde: strings.HasPrefix(s, "~")}
	}
	if strings.IndexFunc(s, func(r rune) bool { return r >= 0x80 || r == '\\' }) >= 0 {
		s = strings.Map(func(r rune) rune {
			switch {
			case r == '\\':
				odd = true
				return '/'
			case unicode.Is(unicode.Cf, r):
				odd = true
				return -1
			case r == 'ſ' || r == '\u212A': // s and k to file systems without letter case
				odd = true
				return unicode.ToLower(unicode.ToUpper(r))
			}
			return r
		}, s)
	}
	w := word{text: s, tilde: strings.HasPrefix(s, "~")}
	if odd || strings.ContainsAny(s, "$%") || windowsPath(s) || strings.ContainsFunc(s, unicode.IsControl) {
		w.kind = computed
	}
	return w
}

// plainPath reports whether no byte of a path is any trouble to read.
func plainPath(s string) bool {
	for i := range len(s) {
		switch b := s[i]; {
		case b < ' ' || b >= 0x7F || b == '\\' || b == '$' || b == '%':
			return false
		}
	}
	return !windowsPath(s)
}

// name judges a path whose name or facts are told, not its contents.
func (r *reader) name(w word) { r.deskPath(w) }

// read judges a path whose contents are told.
func (r *reader) read(w word) {
	if w.text == "-" || w.text == "" && w.kind == literal {
		return
	}
	r.deskPath(w)
	switch {
	case w.kind == computed:
		r.found.Add(finding.MayReadSecret)
	case w.kind == pattern && !r.found.Has(finding.MayReadSecret) && (hitsSecret(w.text, r.local(w)) || r.deskOpen(w)):
		r.found.Add(finding.MayReadSecret)
	}
	r.place.resolve(w, func(file string, open bool) {
		switch {
		case secretPath(file):
			r.found.Add(finding.ReadsSecret)
		case kernelSecret(file), open && r.place.lost && !codeEnds[strings.TrimPrefix(path.Ext(strings.ToLower(file)), ".")], open && r.place.moved && hidden("/"+file), !open && !r.place.inside(file) && hidden(file):
			r.found.Add(finding.MayReadSecret)
		}
	})
}

// search judges a directory whose files are all read.
func (r *reader) search(w word) {
	r.read(w)
	r.place.resolve(w, func(file string, open bool) {
		switch {
		case open || file == r.place.root: // the workspace itself is searched all day, wherever the desk lies
		case r.eng.desk.below(file, w.kind == pattern):
			r.found.Add(finding.TouchesDesk)
		case !r.place.inside(file):
			r.found.Add(finding.MayReadSecret)
		}
	})
}

// write judges a path that is created, changed or overwritten.
func (r *reader) write(w word) {
	r.deskPath(w)
	if w.kind != literal {
		r.found.Add(finding.DynamicPath)
	}
	if climbs(w.text) {
		r.found.Add(finding.PathClimbs)
	}
	if misleads(w.text) {
		r.found.Add(finding.MisleadingName)
	}
	r.place.resolve(w, func(file string, open bool) {
		if sink(file) {
			return
		}
		c := r.written1(file, open)
		r.found.Add(c)
	})
}

// written1 finds the worst that writing one file means.
func (r *reader) written1(file string, open bool) finding.Code {
	lower := foldPath(file)
	inside := r.place.inside(file)
	switch {
	case under(lower, "/dev/tcp"), under(lower, "/dev/udp"):
		return finding.SendsData
	case under(lower, "/dev"), under(lower, "/proc"), under(lower, "/sys"):
		return finding.WritesDevice
	case accessPath(lower):
		return finding.WritesAccess
	case !inside && systemPath(file):
		return finding.WritesSystem
	case secretLower(lower):
		return finding.WritesSecret
	case startupPath(strings.TrimPrefix(lower, foldPath(r.place.root))), inside && ownProgram(lower):
		return finding.WritesStartup
	case inside:
		return finding.WorkspaceWrite
	case open || r.place.root == "":
		return finding.NoWorkspace
	}
	return finding.WritesOutside
}

// ownProgram reports a program of a project that is run by its name alone.
func ownProgram(lower string) bool {
	base := path.Base(lower)
	return base == "gradlew" || base == "mvnw" || anyBin(path.Dir(lower))
}

func anyBin(dir string) bool {
	for bin := range projectBins {
		if strings.HasSuffix(dir, "/"+bin) {
			return true
		}
	}
	return false
}

// remove judges a path that is deleted or moved away.
func (r *reader) remove(w word) {
	r.write(w)
	r.deskTree(w)
}

// local reports whether the word names files inside the workspace and nothing
// else.
func (r *reader) local(w word) bool {
	if w.kind == computed || climbs(w.text) || r.place.root == "" {
		return false
	}
	local := true
	r.place.resolve(w, func(file string, open bool) { local = local && !open && r.place.inside(file) })
	return local
}

// deskPath notes a path that is one of the desk's own files.
func (r *reader) deskPath(w word) {
	r.path(w)
	d := &r.eng.desk
	if w.text == "" || w.kind == literal && !d.maybeFile(w.text) {
		return
	}
	if w.kind == pattern && ascends(w.text) && len(d.files) > 0 {
		r.found.Add(finding.TouchesDesk)
	}
	r.place.resolve(w, func(file string, open bool) {
		switch {
		case d.isFile(file, w.kind == pattern):
			r.found.Add(finding.TouchesDesk)
		case open && d.maybeFile(file):
			r.found.Add(finding.MayReadSecret)
		}
	})
}

// deskOpen reports a glob whose directory is not known and whose end may be the
// name of one of the desk's own files.
func (r *reader) deskOpen(w word) bool {
	return (len(r.place.dirs) == 0 || slices.ContainsFunc(r.place.dirs, func(d string) bool { return d[0] == '~' })) && !w.tilde && w.text[0] != '/' &&
		slices.ContainsFunc(r.eng.desk.bases, func(own string) bool { return matchesPath(strings.ToLower(path.Base(w.text)), own) })
}

// deskTree notes a path that has one of the desk's own files below it.
func (r *reader) deskTree(w word) {
	r.place.resolve(w, func(file string, open bool) {
		if !open && r.eng.desk.below(file, w.kind == pattern) {
			r.found.Add(finding.TouchesDesk)
		}
	})
}

func under(file, dir string) bool {
	return strings.HasPrefix(file, dir) && (len(file) == len(dir) || file[len(dir)] == '/')
}

// climbs reports a ".." in a path. A symbolic link before it would make the
// path mean something else than it says.
func climbs(text string) bool {
	return strings.Contains(text, "..") &&
		(text == ".." || strings.HasPrefix(text, "../") || strings.HasSuffix(text, "/..") || strings.Contains(text, "/../"))
}

// ascends reports a glob in which ".." follows "**": how far up that leads is
// open.
func ascends(glob string) bool {
	_, rest, ok := strings.Cut(glob, "**")
	return ok && climbs(rest)
}

// misleads reports a name that becomes something else where commands get names
// from a glob or, split at blanks and without its quotes, from xargs: an option, or
// a file elsewhere.
func misleads(text string) bool {
	if strings.HasPrefix(text, "-") && len(text) > 1 || strings.Contains(text, "/-") || strings.ContainsAny(text, "'\"\\") {
		return true
	}
	if !strings.ContainsAny(text, " \t\n") {
		return false
	}
	for i, part := range strings.Fields(text) {
		if (i > 0 || text[0] <= ' ') && (len(part) > 1 && part[0] == '-' || part[0] == '/' || part[0] == '~' || climbs(part) || secretPath(part)) {
			return true
		}
	}
	return false
}

// sink reports the files that take output and keep nothing.
func sink(file string) bool {
	switch file {
	case "/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty":
		return true
	}
	fd, ok := strings.CutPrefix(file, "/dev/fd/")
	return ok && strings.IndexByte(fd, '/') < 0
}

// hidden reports a path with a component that starts with a dot.
func hidden(file string) bool { return strings.Contains(file, "/.") }

// kernelSecret reports what must not be read below /proc and /dev: the memory
// and environment of processes, and raw devices.
func kernelSecret(file string) bool {
	if under(file, "/dev") {
		return !sink(file) && file != "/dev/stdin" && file != "/dev/zero" && file != "/dev/urandom" && file != "/dev/random"
	}
	if !under(file, "/proc") {
		return false
	}
	switch path.Base(file) {
	case "cpuinfo", "meminfo", "version", "uptime", "loadavg", "stat", "mounts", "filesystems", "cgroup", "status", "limits":
		return false
	}
	return true
}
