package workspace

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"approvalbot/internal/approval"
	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/words"
)

// Reader judges the paths and addresses that a call names.
type Reader struct {
	Own   *Own
	Found *finding.Set
	Place Place
	Paths *[]File // the paths that operators' rules ask about are added to it; may be nil
	globs int     // bytes of globs that were read; see alternatives

	// Untracked are files that usually hold secrets, and that git could take into a repository unnamed. Nil: that is not known.
	Untracked *approval.Untracked

	// Programs are folders of the project in which the asker's PATH looks for programs, PutNames are the names that were written in
	// them, and PutDirs counts writes to one of which that is not told, as a copy of many files.
	Programs []string
	PutNames []string
	PutDirs  int

	// Noted is told which findings come from a path, an address or a name; nil: that is not noted.
	Noted func(codes finding.Set, text string)
}

// Note reads with read, and notes for the text what that finds. It is called only if Noted is set.
func (r *Reader) Note(text string, read func()) {
	before := *r.Found
	*r.Found = finding.Set{}
	read()
	r.Noted(*r.Found, text)
	*r.Found = r.Found.Or(before)
}

// PathWord makes a word of a tool's param. Agents write paths in several ways; all text
// that could be a path to a runtime is a path here.
func PathWord(s string) Word {
	s, uri := strings.CutPrefix(s, "file://")
	s = strings.TrimPrefix(s, "@")
	// The tool may take it for another path than the one compared here.
	relative, quoted := uri && !strings.HasPrefix(s, "/"), strings.Trim(s, "\"'`") != s
	odd := relative || quoted || strings.Contains(s, ":/")
	if !odd && plainPath(s) {
		return Word{Text: s, Tilde: strings.HasPrefix(s, "~")}
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
	w := Word{Text: s, Tilde: strings.HasPrefix(s, "~")}
	expands := strings.ContainsAny(s, "$%") || WindowsPath(s)
	if odd || expands || strings.ContainsFunc(s, unicode.IsControl) {
		w.Kind = Computed
	}
	return w
}

// plainPath reports whether no byte of a path is any trouble to read.
func plainPath(s string) bool {
	for i := range len(s) {
		if !plainBytes[s[i]] {
			return false
		}
	}
	return !WindowsPath(s)
}

// plainBytes are those of ASCII's signs that mean themselves in a path.
var plainBytes = func() (table [256]bool) {
	for b := ' '; b <= '~'; b++ {
		table[b] = b != '\\' && b != '$' && b != '%'
	}
	return table
}()

// Name judges a path whose name or facts are told, not its contents.
func (r *Reader) Name(w Word) { r.DeskPath(w) }

// Read judges a path whose contents are told.
func (r *Reader) Read(w Word) {
	if r.Noted == nil {
		r.read(w)
		return
	}
	r.Note(w.known(), func() { r.read(w) })
}

func (r *Reader) read(w Word) {
	if w.Text == "-" || w.Text == "" && w.Kind == Literal {
		return
	}
	r.DeskPath(w)
	switch {
	case w.Kind == Computed:
		r.Found.Add(finding.MayReadSecret)
	case r.Found.Has(finding.MayReadSecret): // that is all the others could add
	case w.Kind == Pattern && (HitsSecret(w.Text, r.Local(w)) || r.deskOpen(w)):
		r.Found.Add(finding.MayReadSecret)
	}
	r.Place.Resolve(w, func(file string, open bool) {
		switch {
		case SecretPath(file):
			r.Found.Add(finding.ReadsSecret)
		case kernelSecret(file),
			open && r.Place.lost && !CodeEnds.Has(strings.TrimPrefix(path.Ext(strings.ToLower(file)), ".")),
			open && r.Place.moved && Hidden("/"+file),
			!open && !r.Place.Inside(file) && Hidden(file):
			r.Found.Add(finding.MayReadSecret)
		}
	})
}

// Search judges a directory whose files are all read.
func (r *Reader) Search(w Word) {
	if r.Noted == nil {
		r.search(w)
		return
	}
	r.Note(w.known(), func() { r.search(w) })
}

func (r *Reader) search(w Word) {
	r.Read(w)
	r.Place.Resolve(w, func(file string, open bool) {
		switch {
		case open || r.Place.RootPath(file): // the workspace itself is searched all day, also if the desk lies in it
		case r.Own.Below(file, w.Kind == Pattern):
			r.Found.Add(finding.TouchesDesk)
		case !r.Place.Inside(file):
			r.Found.Add(finding.MayReadSecret)
		}
	})
}

// Write judges a path that is created, changed or overwritten.
func (r *Reader) Write(w Word) {
	if r.Noted == nil {
		r.write(w)
		return
	}
	r.Note(w.known(), func() { r.write(w) })
}

func (r *Reader) write(w Word) {
	r.DeskPath(w)
	if w.Kind != Literal {
		r.Found.Add(finding.DynamicPath)
	}
	if Climbs(w.Text) {
		r.Found.Add(finding.PathClimbs)
	}
	if Misleads(w.Text) {
		r.Found.Add(finding.MisleadingName)
	}
	r.Place.Resolve(w, func(file string, open bool) {
		if Sink(file) {
			return
		}
		c := r.written1(file, open)
		r.Found.Add(c)
		r.put(file, open)
	})
}

// put notes a file that may be a program from then on, or that one starts.
func (r *Reader) put(file string, open bool) {
	file = path.Clean(file)
	for _, dir := range r.Programs {
		switch {
		case !path.IsAbs(file), open && (Under(file, dir) || Under(dir, file)), file == dir, Under(file, dir) && strings.ContainsAny(file, "*?["):
			r.PutDirs++
		case Under(file, dir):
			r.PutNames = append(r.PutNames, path.Base(file))
		}
	}
}

// written1 finds the worst that writing one file means.
func (r *Reader) written1(file string, open bool) finding.Code {
	lower := FoldPath(file)
	inside := r.Place.Inside(file)
	c, obeyed := r.Place.obeyed(file)
	plain := c == finding.WritesInstructions && inside && r.Own.Instructions // as the operator says
	switch {
	case c == finding.WritesAgentSettings && obeyed:
		return c
	case Under(lower, "/dev/tcp"), Under(lower, "/dev/udp"):
		return finding.SendsData
	case Under(lower, "/dev"), Under(lower, "/proc"), Under(lower, "/sys"):
		return finding.WritesDevice
	case AccessPath(lower):
		return finding.WritesAccess
	case !inside && systemPath(file):
		return finding.WritesSystem
	case SecretLower(lower):
		return finding.WritesSecret
	case obeyed && !plain:
		return c
	case inside && OwnProgram(lower):
		return finding.WritesStartup
	case inside:
		return finding.WorkspaceWrite
	case open || !r.Place.Known():
		return finding.NoWorkspace
	case r.Place.Scratch(file):
		return finding.ScratchWrite
	}
	return finding.WritesOutside
}

// OwnProgram reports a program of a project that is run by its name alone, or a file
// that a language runs before any program, by its folded path.
func OwnProgram(lower string) bool {
	base := path.Base(lower)
	if words.Any(base, "gradlew", "mvnw") || strings.HasSuffix(base, ".pth") || strings.HasSuffix(base, "._pth") {
		return true
	}
	dir := path.Dir(lower)
	library := words.Holds(dir+"/", "/lib/python3.", "/lib64/python3.", "/lib/pypy") && !words.Holds(dir, "/build/lib/", "/src/lib/")
	return library || anyBin(dir) || strings.HasSuffix(dir, "/gradle/wrapper") // what gradlew runs, and its settings
}

// Unasked reports whether a file tool may write a file of a workspace without asking, by its folded path alone: as
// [Reader.Write] judges it, but for what its words themselves may be taken for ([Odd]).
func Unasked(lower string) bool {
	_, obeyed := Obeyed(lower)
	return !obeyed && !OwnProgram(lower) && !AccessPath(lower) && !Private(lower)
}

// Private reports a file of a workspace that a file tool reads only after asking, by its folded path alone, as
// [Reader.Read] judges it, but for settings of repositories.
func Private(lower string) bool { return SecretLower(lower) || OfDesk(lower) }

// Odd reports a name or path of a file that may be taken for something else: for an option, for several words, for another
// path. A path is odd if a name in it is; else only one that has a name which [Joins] is.
func Odd(name string) bool {
	w := PathWord(name)
	return w.Kind != Literal || w.Tilde || Misleads(name)
}

// Joins reports a name that may be taken for something else together with those around it, as "x /etc/passwd",
// "http:/x" and "/-" are.
func Joins(name string) bool { return name == "-" || strings.ContainsAny(name, " \t\n:") }

// inFolders are names about which a file tool asks in some folders alone.
var inFolders = [...]string{"settings.json", "x.json", "client.yaml", "operator.yaml", "x", "bin/x", ".bin/x", "wrapper/x", "claude/settings.json"}

// Brings gives what it means that a folder is called to, and was called from: a file of a usual name in it may be one
// about which a file tool asks now, and did not before. Of a path that itself asks it gives nothing more. If it is no tree,
// there are no folders in it.
func (p *Place) Brings(from, to string, tree bool) (finding.Code, bool) {
	if _, asks := p.asks(to); asks {
		return 0, false
	}
	for _, name := range inFolders {
		if !tree && strings.Contains(name, "/") {
			continue
		}
		c, asks := p.asks(to + "/" + name)
		if _, before := p.asks(from + "/" + name); asks && !before {
			return c, true
		}
	}
	return 0, false
}

// Bares reports that a file of a usual name in a folder that is called to, and was called from, may be a secret that a file
// tool would read without asking now.
func Bares(from, to string) bool {
	from, to = FoldPath(from), FoldPath(to)
	return !Private(from) && slices.ContainsFunc(inFolders[:], func(name string) bool { return Private(from+"/"+name) && !Private(to+"/"+name) })
}

// asks gives what writing a file of the workspace means, if a file tool asks about it because of its path.
func (p *Place) asks(file string) (finding.Code, bool) {
	lower := FoldPath(file)
	c, obeyed := p.obeyed(file)
	switch {
	case obeyed:
		return c, true
	case OwnProgram(lower):
		return finding.WritesStartup, true
	case AccessPath(lower):
		return finding.WritesAccess, true
	case OfDesk(lower):
		return finding.TouchesDesk, true
	case SecretLower(lower):
		return finding.WritesSecret, true
	}
	return 0, false
}

func anyBin(dir string) bool {
	for _, bin := range ProjectBins.List() {
		if strings.HasSuffix(dir, "/"+bin) {
			return true
		}
	}
	programs := strings.HasSuffix(dir, "/bin") || strings.HasSuffix(dir, "/scripts")
	return programs && environmentBin.MatchString(dir)
}

// environmentBin finds the programs of an environment of Python or Ruby that a project has, as tools and people call it.
var environmentBin = lazy.Pattern(`/(?:\.?(?:virtual|v)env(?:[-_.\d][^/]*)?/bin|(?:\.venv[^/]*|venv)/scripts|\.(?:tox|nox|pixi|hatch)/.+/scripts|(?:\.?env|\.?conda|(?:\.(?:tox|nox|pixi|conda|devenv|hatch)|__pypackages__|vendor/bundle)/.+)/bin)$`)

// Remove judges a path that is deleted or moved away.
func (r *Reader) Remove(w Word) {
	r.Write(w)
	r.DeskTree(w)
}

// DeskPath notes a path that is one of the desk's own files.
func (r *Reader) DeskPath(w Word) {
	if r.Noted == nil {
		r.deskPath(w)
		return
	}
	r.Note(w.known(), func() { r.deskPath(w) })
}

func (r *Reader) deskPath(w Word) {
	r.Path(w)
	d := r.Own
	if w.Text == "" || w.Kind == Literal && !d.maybeFile(w.Text) {
		return
	}
	if w.Kind == Pattern && ascends(w.Text) && len(d.files) > 0 {
		r.Found.Add(finding.TouchesDesk)
	}
	r.Place.Resolve(w, func(file string, open bool) {
		switch {
		case d.isFile(file, w.Kind == Pattern):
			r.Found.Add(finding.TouchesDesk)
		case open && d.maybeFile(file):
			r.Found.Add(finding.MayReadSecret)
		}
	})
}

// deskOpen reports a glob whose directory is not known and whose end may be the
// name of one of the desk's own files.
func (r *Reader) deskOpen(w Word) bool {
	dirs := r.Place.Dirs
	known := len(dirs) > 0 && !slices.ContainsFunc(dirs, func(d string) bool { return d[0] == '~' })
	if known || w.Tilde || w.Text[0] == '/' {
		return false
	}
	base := strings.ToLower(path.Base(w.Text))
	return slices.ContainsFunc(r.Own.bases, func(own string) bool { return MatchesPath(base, own) })
}

// DeskTree notes a path that has one of the desk's own files below it.
func (r *Reader) DeskTree(w Word) {
	if r.Noted == nil {
		r.deskTree(w)
		return
	}
	r.Note(w.known(), func() { r.deskTree(w) })
}

func (r *Reader) deskTree(w Word) {
	r.Place.Resolve(w, func(file string, open bool) {
		if !open && r.Own.Below(file, w.Kind == Pattern) {
			r.Found.Add(finding.TouchesDesk)
		}
	})
}

func Under(file, dir string) bool {
	return strings.HasPrefix(file, dir) && (len(file) == len(dir) || file[len(dir)] == '/')
}

// PathEntry is where an entry of PATH leads, by names: from a directory, and for bash, which expands a tilde there, from the home of
// the user.
func PathEntry(entry, dir, home, user string) string {
	first, rest, _ := strings.Cut(entry, "/")
	switch {
	case first == "~", first == "~"+user:
		return path.Join(home, rest)
	case first == "~+":
		return path.Join(dir, rest)
	case path.IsAbs(entry):
		return path.Clean(entry)
	}
	return path.Join(dir, entry)
}

// Climbs reports a ".." in a path. A symbolic link before it would make the
// path mean something else than it says.
func Climbs(text string) bool {
	return strings.Contains(text, "..") && strings.Contains("/"+text+"/", "/../")
}

// ascends reports a glob in which ".." follows "**": how far up that leads is
// open.
func ascends(glob string) bool {
	_, rest, ok := strings.Cut(glob, "**")
	return ok && Climbs(rest)
}

// Misleads reports a name that becomes something else if a command gets it from a glob or,
// split at blanks and without its quotes, from xargs: an option, or a file in another
// directory.
func Misleads(text string) bool {
	option := strings.HasPrefix(text, "-") && text != "-"
	if option || strings.Contains(text, "/-") || strings.ContainsAny(text, "'\"\\") {
		return true
	}
	if !strings.ContainsAny(text, " \t\n") {
		return false
	}
	for i, part := range strings.Fields(text) {
		later := i > 0 || text[0] <= ' '
		if SecretPath(part) || later && elsewhere(part) {
			return true
		}
	}
	return false
}

// elsewhere reports a word that is an option, or that may name a file elsewhere.
func elsewhere(word string) bool {
	switch {
	case word[0] == '-':
		return len(word) > 1
	case word[0] == '/', word[0] == '~', strings.ContainsAny(word, "*?[{"):
		return true
	}
	return Climbs(word)
}

// Sink reports the files that take output and keep none of it.
func Sink(file string) bool {
	switch file {
	case "/dev/null", "/dev/stdout", "/dev/stderr":
		return true
	}
	fd, ok := strings.CutPrefix(file, "/dev/fd/")
	return ok && fd != "0" && strings.IndexByte(fd, '/') < 0 // 0 may be the terminal
}

// Hidden reports a path with a component that starts with a dot.
func Hidden(file string) bool { return strings.Contains(file, "/.") }

// kernelSecret reports what must not be read below /proc and /dev: the memory
// and environment of processes, and raw devices.
func kernelSecret(file string) bool {
	if Under(file, "/dev") {
		return !Sink(file) && !words.Any(file, "/dev/stdin", "/dev/tty", "/dev/zero", "/dev/urandom", "/dev/random")
	}
	if !Under(file, "/proc") {
		return false
	}
	switch path.Base(file) {
	case "cpuinfo", "meminfo", "version", "uptime", "loadavg", "stat", "mounts", "filesystems", "cgroup", "status", "limits":
		return false
	}
	return true
}

// File is one path that a call names, and how much of the path is known.
type File struct {
	Path  string // clean; absolute unless open
	Kind  Kind
	Open  bool // only the end of the path is known
	Climb bool // written with ".."
}

// Path remembers a path that a call names.
func (r *Reader) Path(w Word) {
	if r.Paths == nil || w.Text == "" && w.Kind == Literal {
		return
	}
	r.Place.Resolve(w, func(name string, open bool) {
		*r.Paths = append(*r.Paths, File{name, w.Kind, open, Climbs(w.Text)})
	})
}

// ProjectBins are the directories in which a project's tools are installed, relative to it.
var ProjectBins = lazy.Words("node_modules/.bin .venv/bin venv/bin vendor/bin")

// Local is [Place.Local] of the place in which the call runs.
func (r *Reader) Local(w Word) bool { return r.Place.Local(w) }
