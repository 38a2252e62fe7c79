package answer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/workspace"
)

const (
	mostPrograms = 256     // as many as a desk accepts
	mostProgram  = 256     // bytes of a name that a desk accepts
	mostScript   = 1 << 20 // bytes of a script that are read
	mostNames    = 20_000  // of programs in folders of the project, and of links elsewhere
	mostEntries  = 1000    // of PATH
)

// starters are programs that start others by PATH though the line has no word for them, and which: as make obeys saw them
// (internal/policy/testdata/obeys.tsv), and by their documentation.
var starters = sync.OnceValue(func() map[string][]string {
	packers, scripted := packers(), []string{"dirname", "python3", "readlink", "tput", "uname"}
	return map[string][]string{
		"apt": {"dpkg"}, "apt-cache": {"dpkg"}, "bq": scripted, "bsdtar": packers, "cloc": {"pwd"}, "colordiff": {"diff"}, "dpkg": {"dpkg-query"},
		"egrep": {"grep"}, "fgrep": {"grep"}, "gcloud": scripted, "gem": {"ruby"}, "git": {"envsubst", "gettext", "sed", "uname", "basename", "less", "ssh", "gpg"},
		"go": {"gofmt"}, "gsutil": scripted, "gunzip": packers, "locale": {"gzip"}, "mtr": {"mtr-packet"}, "npm": {"node"}, "parted": {"dmidecode", "sh"},
		"pass": {"bash", "cat", "tty", "which"}, "rpm": {"bash", "sh"}, "service": {"basename"}, "tar": packers, "xargs": {"echo"}, "yq": {"jq"}, "zcat": packers,
	}
})

func packers() []string { return strings.Fields("gzip bzip2 xz lzma lzip lzop zstd compress") }

// ofSystem are the folders of PATH that belong to the system, in which no program is a link into a project.
var ofSystem = lazy.Words("/usr/bin /bin /usr/sbin /sbin /usr/games")

// ofMachine are folders that have what belongs to the machine, and the projects of all.
var ofMachine = lazy.Words("/usr /usr/local /opt /var /var/lib /srv /home /root /tmp /mnt /media /private /private/tmp /Users")

// Programs gives the words of a command that start code of the project by PATH, which an agent may have written
// (node_modules/.bin/which): the names of programs in the project, and of scripts that start one of these (npm, if the project has
// its own node). It also gives the folders of the project in PATH, in which the command may make one. It gives too many rather than
// too few: a name counts if the text of the command has its letters, and behind a relative entry of PATH each word that no place
// before it has. An error means that there are too many.
func Programs(dir, list string, texts ...string) (found []string, err error) {
	if len(texts) == 0 || list == "" {
		return nil, nil
	}
	as, err := filepath.Abs(dir) // the body of a hook that does not say it has an empty one; the hook runs there, too
	if err != nil {
		return nil, fmt.Errorf("it is not known where the command would run: %w", err)
	}
	dir = realPath(as)
	var words []string
	text := unquoted.Replace(strings.Join(texts, "\n"))
	for _, text := range append(texts, text) {
		words = append(append(words, text), shellWords(text)...)
	}
	over := len(words) > mostWords
	if over { // a text that is written to a file: it matters only if there are such programs
		words = nil
	}
	p := search{own: map[string]bool{}, links: map[string]bool{}, asked: map[string]bool{}}
	if home, err := os.UserHomeDir(); err == nil {
		p.home, _ = filepath.EvalSymlinks(home)
	}
	for at := range places(words, dir) {
		if len(p.dirs) == mostUntracked {
			over = true
			break
		}
		p.dirs = append(p.dirs, realPath(at))
	}
	entries := filepath.SplitList(list)
	if over = over || len(entries) > mostEntries; over {
		entries, p.relative = entries[:min(len(entries), mostEntries)], p.relative || len(entries) > mostEntries
	}
	for _, entry := range entries {
		from := func(dir string) string { return workspace.PathEntry(entry, dir, p.home, os.Getenv("USER")) }
		if !p.relative && from("/a") != from("/b") {
			p.relative, p.sure = true, len(p.places) // a line may change to any folder
		}
		var last string
		for _, dir := range p.dirs {
			if name := from(dir); name != last {
				p.add(name, as, p.dirs[0])
				last = name
			}
		}
	}
	if over && (p.relative || len(p.folders) > 0) || len(p.own)+len(p.links) > mostNames {
		return nil, errPrograms
	}
	for _, names := range []map[string]bool{p.own, p.links} {
		for name := range names {
			if strings.Contains(text, name) && !slices.Contains(found, name) && p.isOwn(name) {
				found = append(found, name)
			}
		}
	}
	if len(p.folders) == 0 && !p.relative {
		words = nil
	}
	for _, word := range words {
		if !named.MatchString(word) || slices.Contains(found, word) {
			continue
		}
		if p.starts(word) || p.blind && p.isOwn(word) || p.relative && firstOf(p.places[:p.sure], word) == "" {
			found = append(found, word)
		}
	}
	found = append(found, p.folders...)
	if len(found) > mostPrograms {
		return nil, errPrograms
	}
	slices.Sort(found)
	return found, nil
}

var errPrograms = errors.New("PATH has too many programs, or the command too many words, to tell which programs of the project it starts")

// named is a word that may be the name of a program elsewhere.
var named = lazy.Pattern(`^[A-Za-z0-9._+@-]{1,128}$`)

// unquoted takes away by what shells part a word that they join.
var unquoted = strings.NewReplacer("\\\n", "", `\`, "", `"`, "", "'", "")

// search looks for programs by PATH.
type search struct {
	home   string          // of the user, a real path
	dirs   []string        // where the command runs, and folders to which it may change
	places []string        // folders of PATH
	own    map[string]bool // names of files there that are the project's
	links  map[string]bool // names of links there, which may lead to such
	asked  map[string]bool // by words, see starts

	folders  []string // of places those that are in the project, as a path may name them
	blind    bool     // one of them cannot be listed
	relative bool     // PATH has an entry that is another place in another folder,
	sure     int      // behind so many places
}

// add looks at a folder of PATH. The command runs in a folder that is called as, in truth dir.
func (p *search) add(name, as, dir string) {
	at := realPath(name)
	if slices.Contains(p.places, at) {
		return
	}
	p.places = append(p.places, at)
	if ofSystem.Has(at) {
		return
	}
	ours := p.inProject(at)
	if rel, err := filepath.Rel(dir, at); ours && err == nil {
		for _, folder := range []string{at, name, filepath.Join(as, rel)} {
			if !slices.Contains(p.folders, folder) {
				p.folders = append(p.folders, folder)
			}
		}
	}
	all, err := os.ReadDir(at)
	p.blind = p.blind || ours && errors.Is(err, fs.ErrPermission)
	for _, e := range all {
		switch {
		case len(e.Name()) > mostProgram:
		case ours:
			p.own[e.Name()] = true
		case e.Type()&fs.ModeSymlink != 0:
			p.links[e.Name()] = true
		}
	}
}

// realPath follows the links of an absolute path as far as it is there.
func realPath(name string) string {
	if at, err := filepath.EvalSymlinks(name); err == nil || name == filepath.Dir(name) {
		return at
	}
	return filepath.Join(realPath(filepath.Dir(name)), filepath.Base(name))
}

// inProject reports a place that an agent in one of the folders may write to, as far as can be told: both are in one folder that is
// neither the home of the user nor above it, nor one of the machine's. A repository may lie in another, and a project in none.
func (p *search) inProject(at string) bool {
	return slices.ContainsFunc(p.dirs, func(dir string) bool {
		above := dir
		for above != "/" && !isIn(at, above) {
			above = filepath.Dir(above)
		}
		return above != "/" && (above == dir || !ofMachine.Has(above)) && (p.home == "" || !isIn(p.home, above))
	})
}

func (p *search) first(name string) string { return firstOf(p.places, name) }

// firstOf is the file that a shell starts by a name, of some places; empty if there is none.
func firstOf(places []string, name string) string {
	for _, at := range places {
		if file := filepath.Join(at, name); isProgram(file) {
			return file
		}
	}
	return ""
}

// isOwn reports a name by which a shell starts a program of the project.
func (p *search) isOwn(name string) bool {
	file := p.first(name)
	if file == "" {
		return false
	}
	real, err := filepath.EvalSymlinks(file)
	return err == nil && (p.inProject(real) || p.inProject(file))
}

// starts reports a word by which a shell starts a program elsewhere that starts one of the project by its name: it is known for
// that, or a script.
func (p *search) starts(word string) bool {
	if is, known := p.asked[word]; known {
		return is
	}
	is := slices.ContainsFunc(starters()[word], func(name string) bool { return p.own[name] && p.isOwn(name) })
	if file := p.first(word); !is && file != "" {
		is = p.script(file)
	}
	p.asked[word] = is
	return is
}

// script reports a script whose interpreter env finds in the project, or one of a shell that has the name of a program of the
// project.
func (p *search) script(file string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 256)
	n, _ := io.ReadFull(f, head)
	line, _, _ := bytes.Cut(head[:n], []byte("\n"))
	if !bytes.HasPrefix(line, []byte("#!")) {
		return false
	}
	words := strings.Fields(string(line[2:]))
	if len(words) == 0 {
		return false
	}
	text := line[2:]
	interpreter := filepath.Base(words[0])
	if ofShell.Has(interpreter) || interpreter == "env" && slices.ContainsFunc(words[1:], ofShell.Has) {
		rest, _ := io.ReadAll(io.LimitReader(f, mostScript))
		text = slices.Concat(head[:n], rest)
	} else if interpreter != "env" {
		return false
	}
	has := map[string]bool{}
	for _, word := range bytes.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(signs+"\\/$:,[]!", r) }) {
		has[string(word)] = true
	}
	for name := range p.own {
		if has[name] && p.isOwn(name) {
			return true
		}
	}
	return false
}

var ofShell = lazy.Words("sh bash dash zsh ksh ash busybox")

// isIn reports whether an absolute path is a folder or below it, by their names.
func isIn(name, dir string) bool {
	rel, err := filepath.Rel(dir, name)
	return err == nil && filepath.IsLocal(rel)
}

// isProgram reports a file that a shell would start.
func isProgram(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// PathOf is the PATH of an environment.
func PathOf(environ []string) (list string) {
	for _, pair := range environ {
		if value, is := strings.CutPrefix(pair, "PATH="); is {
			list = value
		}
	}
	return list
}
