package workspace

import (
	"path"
	"slices"
	"strings"
	"sync"

	"approvalbot/internal/policy/words"
)

// Own recognises the approval desk itself in calls: its files, its programs and its port.
// All of it is kept in lower case, because letter case does not count on every file system
// and never in host names.
type Own struct {
	files    []string
	bases    []string // of files and clients
	clients  []string // how the paths of client files end, in any directory
	programs []string
	settings []string // how the variables that configure programs begin
	port     string

	Instructions bool // what tells agents what to do is a file of the workspace like any other
}

// Protected names the desk itself. A call that touches any of it is R4.
type Protected struct {
	Files    []string // absolute paths: configuration, key, database
	Port     string   // the API's port, also as "host:port"
	Programs []string // the desk's programs; default: approvalbot
}

// Programs are the desk's programs where no others are named.
var Programs = [...]string{"approvalbot", "approvalbot-hook"}

// usual is a desk of which only its programs are known.
var usual = sync.OnceValue(func() Own { return NewOwn(Protected{Programs: Programs[:]}) })

// OfDesk reports a file that is some desk's own by its folded path alone: its configuration, key, store and tokens, as they
// are called where nothing else was configured, or a client's file.
func OfDesk(lower string) bool {
	own := usual()
	return own.IsClient(lower) || strings.HasPrefix(path.Base(lower), "approvalbot.")
}

// OfConfined reports a directory with the state and the private caches of confined calls: a program that runs there takes settings
// that such a call left.
func OfConfined(dir string) bool { return strings.Contains(FoldPath(dir)+"/", "/approvalbot/confine/") }

func NewOwn(p Protected) Own {
	d := Own{port: strings.TrimLeft(p.Port[strings.LastIndexByte(p.Port, ':')+1:], "0")}
	for _, f := range p.Files {
		f = strings.ToLower(f)
		d.files, d.bases = append(d.files, f), append(d.bases, path.Base(f))
	}
	for _, name := range p.Programs {
		d.programs = append(d.programs, strings.ToLower(name))
		d.protectClients(strings.ToLower(name))
		d.settings = append(d.settings, strings.ToUpper(strings.ReplaceAll(name, "-", "_"))+"_")
	}
	return d
}

// configHomes are the directories of users' configuration, on each operating system.
var configHomes = [...]string{"~/.config/", "~/library/application support/", "~/appdata/roaming/"}

// protectClients adds the files in which a program looks for the desk that it asks and for
// its token. A call that writes one could name another desk, which then decides.
func (d *Own) protectClients(program string) {
	for _, who := range [...]string{"client.yaml", "operator.yaml"} {
		d.clients = append(d.clients, program+"/"+who, program+"."+who)
		d.bases = append(d.bases, who, program+"."+who)
		for _, home := range configHomes {
			d.files = append(d.files, home+program+"/"+who)
		}
	}
}

// IsClient reports whether the lower-case path is a client file by its name.
func (d *Own) IsClient(file string) bool {
	for _, own := range d.clients {
		if before, ok := strings.CutSuffix(file, own); ok && (before == "" || before[len(before)-1] == '/') {
			return true
		}
	}
	return false
}

// sidecars are what SQLite writes beside a database.
var sidecars = [...]string{"", "-wal", "-shm", "-journal"}

// isFile reports whether the clean path, or glob, is one of the desk's files.
func (d *Own) isFile(file string, glob bool) bool {
	file = strings.ToLower(file)
	if d.IsClient(file) {
		return true
	}
	for _, own := range d.files {
		if glob && slices.ContainsFunc(sidecars[:], func(end string) bool { return MatchesPath(file, own+end) }) {
			return true
		}
		if rest, ok := strings.CutPrefix(file, own); ok && slices.Contains(sidecars[:], rest) {
			return true
		}
	}
	return false
}

// maybeFile reports whether a path of which only the end is known may be one of the desk's
// files.
func (d *Own) maybeFile(file string) bool {
	base := file[strings.LastIndexByte(file, '/')+1:]
	if base == "" || base == "." || base == ".." {
		return len(d.bases) > 0
	}
	for _, own := range d.bases {
		if len(base) >= len(own) && strings.EqualFold(base[:len(own)], own) {
			return true
		}
	}
	return false
}

// Below reports whether one of the desk's files lies under the directory, or
// under one that the glob matches.
func (d *Own) Below(dir string, glob bool) bool {
	dir = strings.TrimSuffix(strings.ToLower(dir), "/")
	if dir == "~" { // it contains every user's client file, and much else
		return false
	}
	for _, own := range d.files {
		if glob {
			for up := path.Dir(own); up != "/" && up != "."; up = path.Dir(up) {
				if MatchesPath(dir, up) {
					return true
				}
			}
			continue
		}
		if strings.HasPrefix(own, dir) && len(own) > len(dir) && own[len(dir)] == '/' {
			return true
		}
	}
	return false
}

// InText reports whether free text names the desk: one of its files with its
// path, its port after a host, or one of its programs or variables as a word.
func (d *Own) InText(text string) bool {
	if d.Reads(text) {
		return true
	}
	text = strings.ToLower(text)
	return d.Mentions(text) || d.Names(text) || d.address(text)
}

// address reports text that contains an address of the desk: its port after a host, or a
// path of its API.
func (d *Own) address(text string) bool { return d.HasPort(text, true) || d.ApiPath(text) }

// Mentions reports whether text contains the path of one of the desk's files.
func (d *Own) Mentions(text string) bool {
	for _, own := range d.files {
		if len(text) >= len(own) && strings.Contains(strings.ToLower(text), own) {
			return true
		}
	}
	return false
}

// ApiPath reports the paths of the desk's API, on any host.
func (d *Own) ApiPath(text string) bool {
	return slices.ContainsFunc([]string{"/v1/approvals", "/hooks/approvals", "/v1/gateway", "/v1/policy/reload", "/v1/pairing"}, func(own string) bool {
		return strings.Contains(text, own)
	})
}

// HasPort reports whether the text contains the port as a number of its own, or, with
// afterHost, behind a colon.
func (d *Own) HasPort(text string, afterHost bool) bool {
	if d.port == "" {
		return false
	}
	for i := 0; ; {
		at := strings.Index(text[i:], d.port)
		if at < 0 {
			return false
		}
		start, end := i+at, i+at+len(d.port)
		i = end
		for start > 0 && text[start-1] == '0' {
			start--
		}
		if !words.Digit(words.At(text, end)) && portBegins(text, start, afterHost) {
			return true
		}
	}
}

// portBegins reports whether a port may begin at a position of text: behind a colon or,
// unless a host must precede it, at the beginning of a word.
func portBegins(text string, at int, afterHost bool) bool {
	if at > 0 && text[at-1] == ':' {
		return true
	}
	return !afterHost && (at == 0 || !words.WordByte(text[at-1]))
}

// Names reports whether a word of a command names one of the desk's programs,
// as a whole or as a component of a path.
func (d *Own) Names(text string) bool {
	for _, p := range d.programs {
		if len(text) >= len(p) && hasWord(strings.ToLower(text), p) {
			return true
		}
	}
	return false
}

// Reads reports whether text names a variable that configures one of the desk's
// programs.
func (d *Own) Reads(text string) bool {
	for _, begin := range d.settings {
		if strings.Contains(text, begin) {
			return true
		}
	}
	return false
}

// hasWord reports whether the lower-case text contains w between bytes that do not belong
// to words.
func hasWord(text, w string) bool {
	for i := 0; ; {
		at := strings.Index(text[i:], w)
		if at < 0 {
			return false
		}
		start, end := i+at, i+at+len(w)
		begins := start == 0 || !words.WordByte(text[start-1])
		if ends := end == len(text) || !words.WordByte(text[end]); begins && ends {
			return true
		}
		i = start + 1
	}
}

// MatchesPath reports whether a glob may match a path, component by component. "**" matches
// any number of them, hidden ones included; beside other text some shells let it go on for
// the rest of the path. Only the last "**" is tried with more and more components: the part
// before it matches as early as it can, which leaves the most to the part after it. So a
// glob of any length is read in a time that its length and the path's bound.
func MatchesPath(glob, file string) bool {
	var after, from string // the glob behind the last "**", and the path that it was tried on
	tried := false
	for {
		g, restG, moreG := strings.Cut(glob, "/")
		if strings.Contains(g, "**") {
			if strings.Trim(g, "*") != "" || !moreG {
				return true
			}
			glob, after, from, tried = restG, restG, file, true
			continue
		}
		f, restF, moreF := strings.Cut(file, "/")
		if moreG == moreF && Matches(g, f) {
			if !moreG {
				return true
			}
			glob, file = restG, restF
			continue
		}
		_, below, more := strings.Cut(from, "/")
		if !tried || !more {
			return false
		}
		glob, file, from = after, below, below
	}
}

// Setting reports a variable that configures one of the desk's programs.
func (d *Own) Setting(name string) bool {
	for _, begin := range d.settings {
		if len(name) >= len(begin) && strings.EqualFold(name[:len(begin)], begin) {
			return true
		}
	}
	return false
}

// IsProgram reports one of the desk's programs by its base name.
func (d *Own) IsProgram(base string) bool {
	base = strings.TrimSuffix(strings.ToLower(base), ".exe")
	return base != "" && slices.Contains(d.programs, base)
}
