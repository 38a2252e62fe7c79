//go:build linux

package policy

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"hash/crc32"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"approvalbot/internal/approval"
	"approvalbot/internal/policy/program"
)

// TestObeys runs the programs that policy allows unasked under strace, in a directory of
// which they are told nothing, and reports each file of it that they look for by name and
// that an agent may write unasked. `make obeys` sets APPROVALBOT_OBEYS: "all", or programs
// by name. What was proved is remembered in testdata/obeys.tsv.
func TestObeys(t *testing.T) {
	t.Parallel()
	chosen := os.Getenv("APPROVALBOT_OBEYS")
	if chosen == "" {
		t.Skip("not tested: which files programs obey, which make obeys finds")
	}
	probe := exec.Command("strace", "-qq", "-o", "/dev/null", "true")
	probe.SysProcAttr = confined()
	require.NoError(t, probe.Run(), "it needs strace, and namespaces for programs without a network")
	var o obeys
	o.stand(t)
	samples := o.samples(t)
	proofs := readProofs(t)
	maps.DeleteFunc(proofs, func(name string, _ proved) bool { return o.rows[name] == nil })
	var found []string
	var mu sync.Mutex
	var g errgroup.Group
	g.SetLimit(2)
	for _, name := range slices.Sorted(maps.Keys(o.rows)) {
		if chosen != "all" && !slices.Contains(strings.Fields(chosen), name) {
			continue
		}
		rows := digest(o.rows[name])
		mu.Lock()
		p := proofs[name]
		if p.version == "" || p.version == "-" { // the reason stays; that it holds for the rows of now is to be read
			p.rows, p.version = rows, "-"
			proofs[name] = p
		}
		mu.Unlock()
		if !installed(name) || len(samples[name]) == 0 {
			continue
		}
		g.Go(func() error {
			o := o // each program has a directory of its own
			o.stand(t)
			seen := o.runs(t, samples[name])
			if seen["!"+name] == nil {
				return nil // it may not be run by another user
			}
			delete(seen, "!"+name)
			p := proved{rows: rows, version: o.version(name), seen: strings.Join(slices.Sorted(maps.Keys(seen)), " ")}
			mu.Lock()
			defer mu.Unlock()
			obeyed := len(found)
			for what, call := range seen {
				if o.obeyed(name, what) {
					found = append(found, fmt.Sprintf("%s: %s (%s)", name, what, strings.Join(call, " ")))
				}
			}
			if len(found) == obeyed {
				proofs[name] = p
			}
			return nil
		})
	}
	require.NoError(t, g.Wait())
	writeProofs(t, proofs)
	slices.Sort(found)
	require.Empty(t, strings.Join(found, "\n"), "programs obey what an agent may write unasked")
}

// TestObeys_EachRowIsProved: a row of the table that may pass without a question was run
// under strace, or is noted with the reason why it was not.
func TestObeys_EachRowIsProved(t *testing.T) {
	t.Parallel()
	rows := program.Unasked()
	proofs := readProofs(t)
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		p := proofs[name]
		require.Equal(t, digest(rows[name]), p.rows, "the rows of %s have changed since they were proved: make obeys", name)
		require.False(t, p.version == "-" && p.seen == "", "%s is neither proved nor noted with a reason in testdata/obeys.tsv", name)
	}
	for name := range proofs {
		require.Contains(t, rows, name, "testdata/obeys.tsv")
	}
}

const proofsFile = "testdata/obeys.tsv"

// proved is what is remembered of a program.
type proved struct {
	rows    string // how many of its rows may pass unasked, and a hash of their names
	version string // of the program that was run; "-" for none
	seen    string // what it looked for in its directory, ran and connected to, or why it was not run
}

func digest(rows []string) string {
	return fmt.Sprintf("%d-%04x", len(rows), crc32.ChecksumIEEE([]byte(strings.Join(rows, "\n")))&0xffff)
}

func readProofs(t *testing.T) map[string]proved {
	t.Helper()
	text, err := os.ReadFile(proofsFile)
	require.NoError(t, err)
	all := map[string]proved{}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		cols := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		require.Len(t, cols, 4, line)
		all[cols[0]] = proved{cols[1], cols[2], cols[3]}
	}
	return all
}

func writeProofs(t *testing.T, all map[string]proved) {
	t.Helper()
	text := `# Programs whose rows may pass without a question, and the files of their directory that they look for by name.
# program, its rows, the version that make obeys ran, what it looked for, ran (!) and connected to (@ and the class of the call);
# with the version "-" the reason why it was not run.
`
	for _, name := range slices.Sorted(maps.Keys(all)) {
		text += strings.Join([]string{name, all[name].rows, all[name].version, all[name].seen}, "\t") + "\n"
	}
	require.NoError(t, os.WriteFile(proofsFile, []byte(text), 0o644))
}

// obeys is a place where programs are run.
type obeys struct {
	rows map[string][]string // what may pass unasked
	top  string
	e    *Engine
}

func (o *obeys) stand(t *testing.T) {
	t.Helper()
	o.rows = program.Unasked()
	o.top = t.TempDir()
	o.e = engine(t, func(c *Config) {
		c.ExecSecurity, c.Workspaces = "full", map[string][]string{"main": {o.work()}}
	})
	for dir := o.top; dir != "/" && dir != os.TempDir(); dir = filepath.Dir(dir) {
		require.NoError(t, os.Chmod(dir, 0o755))
	}
	lay(t, filepath.Join(o.top, "home"), o.work())
	o.plant(t)
}

func (o *obeys) work() string { return filepath.Join(o.top, "work") }

// samples gives the commands of each program that are run: of each row with each of its
// options, and of the stored judgements those that a shell would hand on as they are.
func (o *obeys) samples(t *testing.T) map[string][][]string {
	t.Helper()
	list := program.Samples()
	stored, err := os.ReadFile(judgements)
	require.NoError(t, err)
	for line := range strings.Lines(string(stored)) {
		cols := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 5)
		if len(cols) == 5 && cols[3] == "$" && !strings.ContainsAny(cols[4], "|&;<>$`(){}*?[~\\\"'#␤!") {
			list = append(list, strings.Fields(cols[4]))
		}
	}
	for _, line := range more {
		list = append(list, strings.Fields(line))
	}
	per := map[string][][]string{}
	of := map[string]int{} // commands by their row
	nth := map[string]int{}
	for _, args := range list {
		name := args[0]
		if o.rows[name] == nil || slices.Contains(sleeps, name) || o.class(t, args) > approval.R2 {
			continue
		}
		verbs := len(args)
		for verbs > 1 && !slices.Contains(o.rows[name], strings.Join(args[1:verbs], " ")) {
			verbs--
		}
		row := strings.Join(args[:verbs], " ")
		of[row]++
		nth[strings.Join(args, " ")] = of[row]
		per[name] = append(per[name], args)
	}
	for name, all := range per { // one of each row, then another one
		slices.SortStableFunc(all, func(a, b []string) int {
			return nth[strings.Join(a, " ")] - nth[strings.Join(b, " ")]
		})
		per[name] = all[:min(len(all), max(mostRuns, min(len(o.rows[name]), mostRows)))]
	}
	return per
}

// class gives the class of a command, and R3 for what runs the project's code.
func (o *obeys) class(t *testing.T, args []string) approval.RiskClass {
	t.Helper()
	j := judge(o.e, callOf(t, "exec", map[string]any{"argv": args, "workdir": o.work()})).Assessment
	if slices.ContainsFunc(j.ReasonCodes, ofTheProject) {
		return approval.R3
	}
	return j.RiskClass
}

// more are commands that the table's samples do not have, since a language of their own reads them.
var more = []string{
	"getent hosts a.example", "getent ahosts a.example", "getent passwd root", "docker compose config -q", "helm lint .",
	"helm template .", "split -l 1 in.txt part-", "find . -name x", "rg a .", "rg --files", "grep -r a dir", "sed -n 1p in.txt",
	"awk 1 in.txt", "jq . data.json", "yq . data.json", "fd x", "fdfind x", "wc -l in.txt", "go doc fmt", "go env GOPATH",
	"sqlite3 -readonly app.db .tables", "php -l zz.php", "node --check zz-control.js", "gofmt -l dir", "tar tf x.tar", "unzip -l x.zip",
}

// sleeps are programs that only wait, and mount, which looks for what is mounted under its name.
var sleeps = []string{"sleep", "wait", "mount"}

// mostRuns is how many commands of a program are run, or one of each of its rows, up to mostRows: the
// clients of clouds have thousands.
const mostRuns, mostRows = 60, 150

// runs runs commands of a program, and gives what they looked for, ran and connected to,
// with the first command of each.
func (o *obeys) runs(t *testing.T, list [][]string) map[string][]string {
	seen := map[string][]string{}
	for _, args := range list {
		ctx, end := context.WithTimeout(t.Context(), 20*time.Second)
		log := filepath.Join(t.TempDir(), "trace")
		require.NoError(t, os.Chmod(filepath.Dir(log), 0o777))
		require.NoError(t, os.Chmod(filepath.Dir(filepath.Dir(log)), 0o755))
		words := slices.Concat([]string{"strace", "-f", "-qq", "-y", "-s", "400", "-o", log,
			"-e", "trace=file,connect,sendto,sendmsg,sendmmsg", "timeout", "-k", "1", "3"}, args)
		cmd := exec.CommandContext(ctx, words[0], words[1:]...)
		cmd.Dir, cmd.Env, cmd.SysProcAttr = o.work(), o.environment(), confined()
		_ = cmd.Run() // whether it likes its words is not the question
		end()
		for what := range o.read(log, args, o.class(t, args)) {
			if seen[what] == nil {
				seen[what] = args
			}
		}
		require.NoError(t, os.Remove(log))
	}
	return seen
}

func runPath() string {
	return "/usr/local/bin:/usr/local/go/bin:/usr/sbin:/usr/bin:/sbin:/bin:" + os.Getenv("PATH")
}

func (o *obeys) environment() []string {
	return []string{"PATH=" + runPath(), "HOME=" + o.top + "/home", "LANG=C.UTF-8"}
}

func installed(name string) bool {
	return slices.ContainsFunc(filepath.SplitList(runPath()), func(dir string) bool {
		info, err := os.Stat(filepath.Join(dir, name))
		return err == nil && info.Mode().IsRegular()
	})
}

var (
	traced   = regexp.MustCompile(`^\d+ +(\w+)\((?:(?:AT_FDCWD|\d+)<([^>]*)>, |AT_FDCWD, )?"((?:[^"\\]|\\.)*)"`)
	inet     = regexp.MustCompile(`sa_family=AF_INET6?,.*(?:inet_addr\(|inet_pton\(AF_INET6, )"([^"]+)"`)
	succeeds = regexp.MustCompile(`\) += 0$`)
)

// read reads a trace.
func (o *obeys) read(log string, args []string, class approval.RiskClass) map[string]bool {
	seen, own, walks := map[string]bool{}, map[string]bool{}, false // each with whether it was missing
	f, err := os.Open(log)
	if err != nil {
		return seen
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if a := inet.FindStringSubmatch(lines.Text()); a != nil {
			if !strings.HasPrefix(a[1], "127.") && a[1] != "::1" {
				seen["@"+class.String()] = true
			}
			continue
		}
		m := traced.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		name, err := strconv.Unquote(`"` + m[3] + `"`)
		if err != nil || name == "" {
			continue
		}
		if !filepath.IsAbs(name) {
			name = filepath.Join(cmp.Or(m[2], o.work()), name)
		}
		name = filepath.Clean(name)
		if m[1] == "execve" && succeeds.MatchString(lines.Text()) {
			if base := filepath.Base(name); base != "timeout" && !strings.HasPrefix(name, o.top+"/work/") {
				seen["!"+base] = true
			}
		}
		what := o.inside(name)
		walks = walks || what == control+".txt"
		own[what] = own[what] || strings.Contains(lines.Text(), "O_EXCL") // a temporary file
		if what == "" || own[what] || named(what, args) {
			continue
		}
		if m[1] == "execve" {
			what = "!./" + what
		}
		seen[what] = seen[what] || strings.Contains(lines.Text(), " ENOENT ")
	}
	if walks { // it lists the directory and looks at all that is there, as data
		maps.DeleteFunc(seen, func(what string, missing bool) bool { return !missing && what[0] != '!' && what[0] != '@' })
	}
	return seen
}

// control is the name of files that no program knows, beside the endings that some know.
const control = "zz-control"

// plant puts into the directory what programs go on to look for more from, and files of
// which they know the ending alone.
func (o *obeys) plant(t *testing.T) {
	t.Helper()
	files := map[string]string{
		"package.json": `{"name":"x","version":"1.0.0"}`, "go.mod": "module x\n\ngo 1.22\n",
		"Cargo.toml":     "[package]\nname = \"x\"\nversion = \"0.1.0\"\n",
		"pyproject.toml": "[project]\nname = \"x\"\nversion = \"1\"\n",
		"Chart.yaml":     "apiVersion: v2\nname: x\nversion: 0.1.0\n", "values.yaml": "a: 1\n",
		"docker-compose.yml": "services: {a: {image: a}}\n", "kustomization.yaml": "{}",
		"WORKSPACE": "", "Gemfile": "", "composer.json": "{}", "angular.json": "{}",
	}
	for ext := range strings.FieldsSeq("txt tf hcl yaml yml json toml ini cfg conf rc js py rb lua rules ctags") {
		files[control+"."+ext] = ""
	}
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(o.work(), name), []byte(text), 0o644))
	}
}

// inside gives the name by which a file is looked for in a directory of the project, or
// the hidden directory there in which it lies.
func (o *obeys) inside(file string) string {
	rel, ok := strings.CutPrefix(file, o.work()+"/")
	if !ok {
		rel, ok = strings.CutPrefix(file, o.top+"/") // above it
	}
	rel = strings.TrimPrefix(rel, "dir/")
	name, _, _ := strings.Cut(rel, "/")
	switch {
	case !ok, name == "work", name == "home":
		return ""
	case name[0] == '.':
		return name
	}
	return rel
}

// named reports a file that a command names, or one of those that lie in every directory here.
func named(file string, args []string) bool {
	laid := []string{"in.txt", "other.txt", "new.txt", "out.txt", "dir", "x.go", "data.json", "Makefile"}
	return slices.Contains(laid, file) || slices.ContainsFunc(args[1:], func(w string) bool {
		if strings.HasPrefix(w, "-") && strings.Contains(w, "=") {
			_, w, _ = strings.Cut(w, "=")
		}
		name := path.Clean(w)
		class := strings.ReplaceAll(name, ".", "/") // in/txt.class
		return slices.Contains(strings.Split(name, "/"), file) || strings.HasPrefix(name, file+"/") || strings.HasPrefix(file, name+"/") ||
			name[0] != '-' && len(name) > 3 &&
				(strings.HasPrefix(file, name) || strings.HasPrefix(strings.ReplaceAll(file, "$", "/"), class))
	})
}

// obeyed reports what a program may do for whoever writes a file: the file may be written
// unasked, and what stands in it is more than data to the program.
func (o *obeys) obeyed(name, what string) bool {
	first, _, _ := strings.Cut(what, "/")
	switch {
	case harmlessToObey[first] != "", slices.Contains(strings.Fields(onlyTold[name]), first):
		return false
	case what == "@R0", what == "@R1", strings.HasPrefix(what, "!./"):
		return true
	case what[0] == '!', what[0] == '@':
		return false
	}
	params := fmt.Appendf(nil, `{"path":%q,"content":"x"}`, filepath.Join(o.work(), what))
	return judge(o.e, approval.Call{ToolName: "write", AgentID: "main", Params: params}).Assessment.RiskClass < approval.R3
}

// harmlessToObey are files that programs look for, and what they take from them.
var harmlessToObey = map[string]string{
	".gitignore": "which files are left out", ".ignore": "the same", ".rgignore": "the same", ".fdignore": "the same",
	".gitattributes": "which of the drivers of git's own configuration apply", ".mailmap": "how people are called",
	"go.mod": "which of Go's own releases runs, whose sum it checks", "go.work": "the same", "vendor": "what is documented there",
	"package.json": "of which kind a module is, and what the package says of itself",
}

// onlyTold are files of which a program tells at most whether they are there, or what stands in them.
var onlyTold = map[string]string{
	"bat":       "cache",
	"batcat":    "cache",
	"wget":      "index.html",
	"nm":        "a.out",
	"pip":       "https:",
	"pip3":      "https:",
	"ruby":      "enumerator.so fiber.so thread.rb", // which it has built in
	"gem":       "enumerator.so fiber.so thread.rb Gemfile Gemfile.lock gem.deps.rb gems.rb",
	"ctags":     "ctags",
	"go":        "gofmt",                                          // it runs that of PATH all the same
	"rg":        "angular.json composer.json zz-control.json",     // with -t json it searches them
	"terraform": ".terraform .terraform.lock.hcl terraform.d @R0", // it asks its maker for news of itself
	"tofu":      ".terraform .terraform.lock.hcl terraform.d",
}

// version gives the version of a program: that of its package, else what it says itself.
func (o *obeys) version(name string) string {
	const ofPackage = `p=$(readlink -f "$(command -v "$1")")
		dpkg -S "$p" "${p#/usr}" | head -1 | cut -d: -f1 | xargs -r dpkg-query -W -f '${Version}'`
	out, _ := exec.Command("sh", "-c", ofPackage, "sh", name).Output()
	if len(out) > 0 {
		return string(out)
	}
	for _, word := range []string{"--version", "-V", "version"} {
		cmd := exec.Command("timeout", "-k", "1", "5", name, word)
		cmd.Dir, cmd.Env, cmd.SysProcAttr = o.work(), o.environment(), confined()
		out, _ := cmd.CombinedOutput()
		if v := versioned.FindString(string(out)); v != "" {
			return v
		}
	}
	return "?"
}

var versioned = regexp.MustCompile(`\d+(?:\.\d+)+[0-9A-Za-z.+~-]*`)
