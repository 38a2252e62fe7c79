package policy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
	grammar "approvalbot/internal/policy/shell"
	"approvalbot/internal/policy/words"
)

// provenShells are the shells that the grammar is about.
var provenShells = [][]string{{"bash"}, {"dash"}, {"zsh", "-f"}, {"mksh"}, {"busybox", "sh"}}

// TestAdversary_W11_AllowedLinesRunWhatTheySay gives lines to real shells that
// policy puts below R3. Programs are stand-ins that log their words. What is logged
// must be what the plain reader read: no other command, no other word, nothing left
// out, no file but the places of redirections.
//
// The lines are everyday ones, ones made from the grammar, and both with
// metacharacters thrown in. Each run has a seed of its own, printed;
// APPROVALBOT_SHELLPROOF_SEED repeats it, APPROVALBOT_SHELLPROOF sets how long the
// search goes on (make shellproof), and APPROVALBOT_SHELLPROOF_ONLY is an expression
// for the lines of which it tries no others.
func TestAdversary_W11_AllowedLinesRunWhatTheySay(t *testing.T) {
	t.Parallel()
	p := newProof(t)
	e := engine(t, func(c *Config) { c.Workspaces = map[string][]string{"main": {p.work}} })
	below := func(line string) bool {
		j := judge(e, lineCall(t, line))
		return j.Assessment.RiskClass < approval.R3 && j.Outcome != approval.OutcomeDeny
	}
	for _, line := range stored(t) {
		if below(line) {
			p.prove(line)
		}
	}
	until, lines := p.limits()
	only, err := regexp.Compile(os.Getenv("APPROVALBOT_SHELLPROOF_ONLY"))
	require.NoError(t, err)
	everyday := everydayLines(t)
	tried, proven := 0, 0
	for proven < lines && time.Now().Before(until) {
		line := p.invent(everyday)
		if tried++; only.MatchString(line) && utf8.ValidString(line) && below(line) {
			p.prove(line)
			proven++
		}
	}
	t.Logf("%d lines tried, %d below R3 and run in %d shells", tried, proven, len(p.shells))
}

// limits say until when the search goes on, and for how many lines.
func (p *proof) limits() (until time.Time, lines int) {
	if d, err := time.ParseDuration(os.Getenv("APPROVALBOT_SHELLPROOF")); err == nil {
		return time.Now().Add(d), 1 << 30
	} else if testing.Short() {
		return time.Now().Add(10 * time.Hour), 50
	}
	return time.Now().Add(10 * time.Hour), 300
}

// stored are the lines in which a reader and a shell once differed.
func stored(t testing.TB) (lines []string) {
	b, err := os.ReadFile("testdata/shellproof.txt")
	require.NoError(t, err)
	for line := range strings.Lines(string(b)) {
		if line = strings.TrimSuffix(line, "\n"); line != "" && line[0] != '%' {
			lines = append(lines, strings.ReplaceAll(line, "␤", "\n"))
		}
	}
	require.NotEmpty(t, lines)
	return lines
}

func everydayLines(t testing.TB) (lines []string) {
	for _, x := range corpus(t) {
		if x.tool == "$" && x.mark == "everyday" {
			lines = append(lines, strings.ReplaceAll(x.text, "␤", "\n"))
		}
	}
	return lines
}

// proof runs lines in shells.
type proof struct {
	t                 *testing.T
	random            *rand.Rand
	shells            [][]string
	bin, work, record string
	compiler          string
}

func newProof(t *testing.T) *proof {
	compiler, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("shells: not tested, install a C compiler")
	}
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("APPROVALBOT_SHELLPROOF_SEED"); s != "" {
		_, err := fmt.Sscan(s, &seed)
		require.NoError(t, err)
	}
	t.Logf("APPROVALBOT_SHELLPROOF_SEED=%d", seed)
	base := t.TempDir()
	p := &proof{t: t, random: rand.New(rand.NewPCG(seed, 1)), bin: base + "/bin", work: base + "/work", record: base + "/record"}
	require.NoError(t, os.MkdirAll(p.bin, 0o755))
	for _, s := range provenShells {
		if name, err := exec.LookPath(s[0]); err == nil {
			p.shells = append(p.shells, append([]string{name}, s[1:]...))
		} else if os.Getenv("APPROVALBOT_REQUIRE_SHELLS") != "" {
			t.Fatalf("%s is not installed", s[0])
		} else {
			t.Run(s[0], func(t *testing.T) { t.Skipf("%s: not tested, install it", s[0]) })
		}
	}
	if len(p.shells) == 0 {
		t.Skip("shells: not tested, install bash, dash, zsh, mksh and busybox")
	}
	p.compiler = compiler
	p.compile("ls")
	require.NoError(t, os.Link(p.bin+"/ls", p.bin+"/time"))
	return p
}

// compile makes a stand-in for a program.
func (p *proof) compile(name string, defines ...string) {
	source := p.bin + ".c"
	require.NoError(p.t, os.WriteFile(source, []byte(standIn), 0o644))
	args := append([]string{"-O1", "-o", p.bin + "/" + name, fmt.Sprintf("-DRECORD=%q", p.record), source}, defines...)
	out, err := exec.Command(p.compiler, args...).CombinedOutput()
	require.NoError(p.t, err, "%s", out)
}

// standIn logs its name and words: each ends in a NUL byte, the record in two. With
// PLACE it logs before them where it runs, with LIST it prints names of files, and
// EXITS is its status.
const standIn = `#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#ifndef EXITS
#define EXITS 0
#endif
int main(int n, char **v) {
	const char *w0 = strrchr(v[0], '/') ? strrchr(v[0], '/') + 1 : v[0];
	static char b[1 << 16];
	size_t at = 0;
#ifdef PLACE
	b[at++] = 1;
	if (!getcwd(b + at, 4096)) return 3;
	at += strlen(b + at) + 1;
#endif
	for (int i = 0; i < n; i++) {
		const char *w = i ? v[i] : w0;
		size_t l = strlen(w) + 1;
		if (at + l + 2 > sizeof b) return 3;
		b[at++] = 1; /* a word begins, also an empty one */
		memcpy(b + at, w, l);
		at += l;
	}
	b[at++] = 2;
	if (n > 1 && !strcmp(w0, "time")) return execvp(v[1], v + 1); /* no keyword to dash and busybox */
	int f = open(RECORD, O_WRONLY | O_APPEND | O_CREAT, 0644);
	if (write(f, b, at) != (ssize_t)at) return 3;
#ifdef LIST
	const char *below = !strcmp(w0, "find") && n > 1 ? v[1] : 0;
	for (const char **l = (const char *[]){"a.go", "b c.go", "-x.go", "src/c.go", 0}; *l; l++) {
		if (below) dprintf(1, "%s/", below);
		dprintf(1, "%s\n", *l);
	}
#endif
	return EXITS;
}
`

// prove runs a line in every shell and compares.
func (p *proof) prove(line string) {
	p.t.Helper()
	form, why, ok := grammar.Plain(nil, line, nil)
	require.True(p.t, ok, "%q is below R3 and outside the grammar: %s", line, why)
	said := understand(string(form))
	for name := range said.programs {
		_ = os.Link(p.bin+"/ls", p.bin+"/"+name) // it may be there
	}
	for _, shell := range p.shells {
		if wrong := said.compare(p.run(shell, line)); wrong != "" {
			p.t.Errorf("%s: %q: %s", shell[0], line, wrong)
		}
	}
}

// ran is what a shell did.
type ran struct {
	commands [][]string
	files    []string
	stopped  bool // it was still going on after two seconds
	failed   bool // it refused the line, or a pattern in it
	stderr   string
}

// run gives a line to a shell in an empty directory, and ends all that it started.
func (p *proof) run(shell []string, line string) ran {
	require.NoError(p.t, os.RemoveAll(p.work))
	require.NoError(p.t, os.MkdirAll(p.work+"/src/sub", 0o755))
	for _, f := range []string{"a.go", "b.go", "src/c.go", "src/sub/d.go"} {
		require.NoError(p.t, os.WriteFile(p.work+"/"+f, []byte("one\ntwo\n"), 0o644))
	}
	require.NoError(p.t, os.WriteFile(p.record, nil, 0o644))
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	var stderr strings.Builder
	c := exec.Command(shell[0], append(slices.Clone(shell[1:]), "-c", line)...)
	c.Dir, c.Env, c.Stderr = p.work, []string{"PATH=" + p.bin, "HOME=" + p.work}, &stderr
	c.Stdout = &stderr // where a line redirects its errors
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(p.t, c.Start())
	kill := func() { _ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	stop := context.AfterFunc(ctx, kill)
	err := c.Wait()
	stop()
	kill()
	r := ran{stopped: ctx.Err() != nil, stderr: stderr.String()}
	var exit *exec.ExitError
	r.failed = errors.As(err, &exit) || gaveUp.MatchString(r.stderr) || withoutArrays(shell) && statuses.MatchString(line)
	r.commands = p.recorded()
	_ = filepath.WalkDir(p.work, func(name string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, _ = filepath.Rel(p.work, name)
			r.files = append(r.files, name)
		}
		return nil
	})
	return r
}

// gaveUp is what shells say where a command does not run because a file is not
// there: zsh, where a pattern matches none.
var gaveUp = regexp.MustCompile(`no matches found|[Bb]ad substitution|[Nn]o such file|(?:[Cc]an.?t|cannot) (?:open|create)|nonexistent|[Ii]s a directory|not a directory`)

// statuses is what a shell without arrays refuses. It says so among the errors of the
// command, which a line may hide: CI=1${PIPESTATUS[0]} npm test 2>&1 | tail.
var statuses = regexp.MustCompile(`(?i)\$\{pipestatus\[`)

func withoutArrays(shell []string) bool {
	return strings.HasSuffix(shell[0], "dash") || strings.HasSuffix(shell[0], "busybox")
}

func (p *proof) recorded() (commands [][]string) {
	f, err := os.Open(p.record)
	require.NoError(p.t, err)
	defer f.Close()
	in := bufio.NewReader(f)
	for {
		one, err := in.ReadString(2)
		if err != nil {
			return commands
		}
		var words []string
		for w := range strings.SplitSeq(strings.TrimSuffix(one, "\x02"), "\x01") {
			words = append(words, strings.TrimSuffix(w, "\x00"))
		}
		commands = append(commands, words[1:])
	}
}

// understanding is what the form of a line says that shells do.
type understanding struct {
	commands []expected
	programs map[string]bool // names of external programs
	files    []*regexp.Regexp
}

// expected is one command that the line holds.
type expected struct {
	words  []*regexp.Regexp // of which each must match whole
	split  []bool           // it may become several words, or none
	apart  []*regexp.Regexp // the same with brace lists as several words
	parted []bool
	sure   bool // it runs whatever the commands before say
	often  bool // it may run more than once
	report string
}

// matches reports whether the words are these.
func (x expected) matches(words []string) bool {
	return matchWords(x.words, x.split, words) || matchWords(x.apart, x.parted, words)
}

func matchWords(want []*regexp.Regexp, split []bool, words []string) bool {
	switch {
	case len(want) == 0:
		return len(words) == 0
	case split[0]:
		for n := 0; n <= len(words); n++ {
			if matchWords(want[1:], split[1:], words[n:]) {
				return true
			}
		}
		return false
	}
	return len(words) > 0 && want[0].MatchString(words[0]) && matchWords(want[1:], split[1:], words[1:])
}

// compare gives what a shell did otherwise than the line says, "" for nothing.
func (u understanding) compare(r ran) string {
	runs := make([][]int, len(r.commands)) // for each command that ran, which of the line it may be
	said := make([][]int, len(u.commands)) // for each of the line that must run, which it may be that ran
	sure := !r.failed && !r.stopped
	for k, words := range r.commands {
		for i, x := range u.commands {
			if x.matches(words) {
				runs[k] = append(runs[k], i)
				if x.sure && sure {
					said[i] = append(said[i], k)
				}
			}
		}
		if len(runs[k]) == 0 {
			return fmt.Sprintf("ran %q, which is none of %s", words, u)
		}
	}
	if k := pair(runs, func(i int) bool { return u.commands[i].often }); k >= 0 {
		return fmt.Sprintf("ran %q more often than the line says: %s", r.commands[k], u)
	}
	for i, x := range u.commands {
		if !x.sure || !sure {
			said[i] = nil
		} else if len(said[i]) == 0 {
			return fmt.Sprintf("did not run %s: %s", x.report, r.stderr)
		}
	}
	if i := pair(said, func(int) bool { return false }); sure && i >= 0 && u.commands[i].sure {
		return fmt.Sprintf("did not run %s: %s", u.commands[i].report, r.stderr)
	}
	for _, f := range r.files {
		known := slices.Contains([]string{"a.go", "b.go", "src/c.go", "src/sub/d.go"}, f)
		if !known && !slices.ContainsFunc(u.files, func(p *regexp.Regexp) bool { return namesFile(p, f) }) {
			return fmt.Sprintf("wrote %q", f)
		}
	}
	return ""
}

// pair gives to each that may have some of the others one of its own, unless that may
// be given to many. It gives the first that is left without, -1 for none.
func pair(may [][]int, many func(int) bool) int {
	owner := map[int]int{}
	var give func(k int, tried map[int]bool) bool
	give = func(k int, tried map[int]bool) bool {
		for _, i := range may[k] {
			if many(i) {
				return true
			}
			if tried[i] {
				continue
			}
			tried[i] = true
			if before, taken := owner[i]; !taken || give(before, tried) {
				owner[i] = k
				return true
			}
		}
		return false
	}
	for k := range may {
		if len(may[k]) > 0 && !give(k, map[int]bool{}) {
			return k
		}
	}
	return -1
}

// namesFile reports whether a place names the file, from whatever directory.
func namesFile(place *regexp.Regexp, file string) bool {
	for at := 0; ; {
		if place.MatchString(file[at:]) || place.MatchString("./"+file[at:]) {
			return true
		}
		next := strings.IndexByte(file[at:], '/')
		if next < 0 {
			return false
		}
		at += next + 1
	}
}

func (u understanding) String() string {
	var list []string
	for _, x := range u.commands {
		list = append(list, x.report)
	}
	return strings.Join(list, "; ")
}

// internal are commands that shells run themselves, which leave no record.
var internal = words.Set(`. : [ cd command echo exit break continue false hash jobs kill printf pwd read set source test times true type umask wait which realpath
	cat rm rmdir mkdir sleep rename mknod`)

// understand reads a form. It is written against the description of forms alone.
func understand(form string) understanding {
	u := understanding{programs: map[string]bool{}}
	f := &formReader{form: form, u: &u}
	f.list(true, false)
	return u
}

type formReader struct {
	form   string
	at     int
	braces []*regexp.Regexp // the words of the brace list that was read last, nil in a word without
	u      *understanding
	left   bool // an exit was there: what follows need not run
}

const (
	fEnd, fWord, fAnd, fOr, fPipe, fNot, fTime, fOpen, fPart, fClose      = 0x1e, 0x1f, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18
	fAssign, fRedirect, fName, fQuotedName, fNameEnd, fGlob               = 0x0e, 0x0f, 0x01, 0x02, 0x03, 0x04
	fSubst, fQuotedSubst, fSubstEnd, fFile                           byte = 0x05, 0x06, 0x07, 0x0b
)

func (f *formReader) peek() byte {
	if f.at < len(f.form) {
		return f.form[f.at]
	}
	return 0
}

// list reads pipelines up to the end of the part that they stand in.
func (f *formReader) list(sure, often bool) {
	first := sure
	for {
		switch f.peek() {
		case 0, fPart, fClose, fSubstEnd:
			return
		case fEnd:
			f.at++
			first = sure
		case fAnd, fOr:
			f.at++
			first = false
		case fNot, fTime, fPipe:
			f.at++
		case fOpen:
			f.compound(first, often)
		case fRedirect:
			f.redirect()
		default:
			f.command(first, often)
		}
	}
}

func (f *formReader) compound(sure, often bool) {
	kind := f.form[f.at+1]
	f.at += 2
	if kind == 'f' {
		f.skipTo(fWord)
		for f.peek() != fPart {
			f.word(sure, often)
		}
	}
	for {
		f.list(sure && (kind == '(' || kind == '{'), often || strings.IndexByte("fwu", kind) >= 0)
		if f.at++; f.form[f.at-1] == fClose {
			return
		}
	}
}

func (f *formReader) skipTo(mark byte) string {
	start := f.at
	f.at += strings.IndexByte(f.form[f.at:], mark) + 1
	return f.form[start : f.at-1]
}

func (f *formReader) redirect() {
	f.at++
	op := f.skipTo(fWord)
	switch {
	case op == "<<":
		f.skipTo(fWord)
	case !strings.Contains(op, "&"):
		if place, _, _ := f.word(false, false); op != "<" {
			one := emptyParts.ReplaceAllString(place.String(), "/") // src//f and src/./f are src/f
			f.u.files = append(f.u.files, regexp.MustCompile(one))
		}
	}
}

var emptyParts = regexp.MustCompile(`/(?:(?:\\\.)?/)+`)

// command reads assignments, words and redirections of one command.
func (f *formReader) command(sure, often bool) {
	x := expected{sure: sure && !f.left, often: often}
	name := ""
	for {
		switch f.peek() {
		case fAssign:
			f.at++
			f.word(sure, often)
			continue
		case fRedirect:
			f.redirect()
			continue
		case 0, fEnd, fAnd, fOr, fPipe, fClose, fPart, fSubstEnd:
			f.left = f.left || name == "exit"
			if base := path.Base(name); len(x.words) > 0 && !internal[name] {
				x.words[0] = regexp.MustCompile("^" + regexp.QuoteMeta(base) + "$")
				x.apart[0] = x.words[0]
				x.sure = x.sure && base == name // no stand-in lies at a path
				f.u.programs[base] = true
				f.u.commands = append(f.u.commands, x)
			}
			return
		}
		start := f.at
		word, split, text := f.word(sure, often)
		if len(x.words) == 0 {
			name = text
		}
		x.words, x.split = append(x.words, word), append(x.split, split)
		if f.braces == nil {
			f.braces = []*regexp.Regexp{word}
		}
		for _, one := range f.braces {
			x.apart, x.parted = append(x.apart, one), append(x.parted, split)
		}
		x.report += fmt.Sprintf("%q ", f.form[start:f.at-1])
	}
}

// word reads a word: a pattern for its text, and whether it may become several.
func (f *formReader) word(sure, often bool) (*regexp.Regexp, bool, string) {
	var p, text strings.Builder
	split, before, list := false, "", []string(nil)
	whole := func(p string) *regexp.Regexp { return regexp.MustCompile("(?s)^(?:" + p + ")$") }
	for {
		c := f.form[f.at]
		f.at++
		switch c {
		case fWord:
			f.braces = nil
			for _, one := range list {
				f.braces = append(f.braces, whole(before+regexp.QuoteMeta(one)+strings.TrimPrefix(p.String(), before+regexp.QuoteMeta("{"+strings.Join(list, ",")+"}"))))
			}
			return whole(p.String()), split, text.String()
		case fName, fQuotedName:
			f.skipTo(fNameEnd)
			p.WriteString(".*")
			split = split || c == fName
		case fSubst, fQuotedSubst:
			f.list(sure, often)
			f.at++
			p.WriteString(".*")
			split = split || c == fSubst
		case fFile:
			f.list(false, often) // nobody waits for it
			f.at++
			p.WriteString(`/(?:dev|proc/self)/fd/[0-9]+`)
		case fGlob:
			g := f.form[f.at]
			f.at++
			if g == '{' {
				inside := f.skipTo('}')
				before, list = p.String(), strings.Split(inside, ",")
				p.WriteString(regexp.QuoteMeta("{" + inside + "}"))
				continue
			}
			text.WriteByte(g)
			split = split || g != '~'
			if end := strings.IndexByte(f.form[f.at:], ']'); g == '[' && end >= 0 && end < strings.IndexByte(f.form[f.at:], fWord) {
				f.at += end + 1
			}
			if g == '[' && f.peek() == fWord {
				p.WriteString(`\[|`)
			}
			p.WriteString(".*")
		default:
			p.WriteString(regexp.QuoteMeta(f.form[f.at-1 : f.at]))
			text.WriteByte(c)
		}
	}
}

// invent makes a line: an everyday one or one from the grammar, often with
// something thrown in.
func (p *proof) invent(everyday []string) string {
	line := p.pick(everyday)
	if p.random.IntN(2) == 0 {
		line = p.list(3)
	}
	for range p.random.IntN(4) {
		switch at := p.random.IntN(len(line) + 1); p.random.IntN(8) {
		case 0:
			line = line[:at]
		case 1:
			other := p.pick(everyday)
			line = line[:at] + other[p.random.IntN(len(other)):]
		case 2:
			if at < len(line) {
				line = line[:at] + line[at+1:]
			}
		default:
			line = line[:at] + p.pick(thrownIn) + line[at:]
		}
	}
	return line
}

func (p *proof) pick(list []string) string { return list[p.random.IntN(len(list))] }

// thrownIn is what turns data into commands in some shell.
var thrownIn = strings.Split("\n|\\\n| \\\n |'|\"|\\|`|$|$(|)|(|${|}|{|;|&|&&|<|>|>>|2>&1|2>|<<'E'\n|\nE\n|<<E\n|#| # |!|! |~|=|==|*|?|[|]|[!|%|^|@|@{|+|-|:|,|é|\u00a0|中|\t| |$x|\"$x\"|${x}|x=1 |$?|"+
	"$(ls)|\"$(ls)\"|`ls`|;ls;|\nls\n|{ls,x}|=ls|<(ls)|>(ls)|$((ls))|$'ls'|$\"ls\"|'$(ls)'|[ls]|\\'|\\\"|''|\"\"|if |then |fi|do |done|for x in a; do |time |EOF|E|x[$(ls)]|-v|-eq|/|.|..|.*|**|**/|/**|***|{a,b}|{,x}|{-l,x}|,|..|{a|{ |; }|{ ls; }|}|IFS= |IFS= read -r x; |${PIPESTATUS[0]}|[0]|${pipestatus[|PIPESTATUS| <(ls) | <(| )", "|")

// list makes commands from the grammar.
func (p *proof) list(depth int) string {
	line := p.pipeline(depth)
	for p.random.IntN(3) == 0 {
		line += p.pick([]string{"; ", " && ", " || ", "\n", " &&\n", ";"}) + p.pipeline(depth)
	}
	return line
}

func (p *proof) pipeline(depth int) string {
	line := p.pick([]string{"", "", "", "", "! ", "time "}) + p.simple(depth)
	for p.random.IntN(4) == 0 {
		line += p.pick([]string{" | ", "|", " |\n"}) + p.simple(depth)
	}
	if depth == 0 || p.random.IntN(5) > 0 {
		return line
	}
	in := p.list(depth - 1)
	return p.pick([]string{"( " + in + " )", "(" + in + ") 2>&1", "{ " + in + "; }", "{\n" + in + "\n} 2>&1", line + " | { " + in + "; }", "while IFS= read -r x; do " + in + "; done < a.go", "for x in a 'b c' *; do " + in + "; done", "if " + in + "; then " + line + "; else ls; fi", "if ls; then " + in + "; elif pwd; then ls; fi",
		"while read -r x; do " + in + "; done < a.go", "for f in a\ndo " + in + "\ndone | sort"})
}

func (p *proof) simple(depth int) string {
	line := p.pick([]string{"", "", "", "", "x=" + p.word(depth) + " ", "CI=1 ", "x=1; ", "x='$(ls) `ls` \\ a\"' ; ", "LC_ALL=C "}) + p.pick([]string{"ls", "echo", "cat", "grep", "wc", "git status", "head", "sort", "diff a.go", "comm <(ls)", "join -a1", "printf '%s\\n'", "test", "[", "true", "false", "find .", "cd src", "ls | wc; exit $?", "ls | wc; exit ${PIPESTATUS[0]} #", "[ ${PIPESTATUS[0]} -eq 0 ] && ls", "test \"${pipestatus[1]}\" -ne 1 || ls"})
	for range p.random.IntN(4) {
		line += p.pick([]string{" ", " ", " ", "  ", "\t", " \\\n  "}) + p.word(depth)
	}
	if strings.HasSuffix(line, "[") || strings.Contains(line, "[ ") {
		line += " ]"
	}
	return line + p.pick([]string{"", "", "", "", " 2>&1", " > out.txt", " >> 'out 2'", " 2>/dev/null", " < a.go", " <<'E'\n$(ls) `ls`\n E1 'x\nE\n", " <<E\n" + p.filled() + "\nE\n", "<<E >out.txt\n" + p.filled() + "\nE\n", " # note", " >&2"})
}

// filled makes lines of a here-document into which shells put values.
func (p *proof) filled() string {
	text := ""
	for range p.random.IntN(6) {
		text += p.pick([]string{"$x", "${x}", "$y", "a", " ", "\n", "'", "\"", "(", ")", "()", "it's", "\"a $x\"", "{ls,x}", "*", "~", "!", "# ", ";ls;", "é", "中", "=ls", "[a]", ":h", "/", "|ls", "<(ls)", "\nls\n", "%", "$", "\nEX", "E", " E"})
	}
	return text
}

func (p *proof) word(depth int) string {
	word := ""
	for range 1 + p.random.IntN(3) {
		if depth > 0 && p.random.IntN(10) == 0 {
			word += p.pick([]string{"$(" + p.list(0) + ")", "\"$(" + p.list(0) + ")\"", "\"$(cat <<'E'\n" + p.pick([]string{"it's", "(a)", "\"b\"", "$(ls)"}) + "\nE\n)\"",
				"<(" + p.list(0) + ")", " <(" + p.list(0) + ")", " <( " + p.list(0) + " ) -", " <(cat <(" + p.list(0) + "))",
				"\"$(cat <<E\n" + p.filled() + "\nE\n)\"", "$(cat <<E\n" + p.filled() + "\nE\n)"})
			continue
		}
		word += p.pick([]string{"a", "b.go", "src/", "-l", "--x=y", "'a b'", "'$(ls)'", "\"a $x\"", "\"\\$(ls)\"", "\"\\\\\"", "\"é\"", "'中\\'", "$x", "${x}", "$?", "${PIPESTATUS[0]}", "${pipestatus[1]}", "\"a${PIPESTATUS[1]} $x\"", "*", "?", "[a-c]", "[!a]", "*.go", "**/", "/**/", "**", "**/*.go", "src/**", "{a,b}", "src/{c,x}.go", "{cmd,src}/", "a{,.bak}", "*.{go,ts}", "--x={a,b}", "{a,b}/*.go", "{1,2}", "~", "~/x", "HEAD~1", "@{u}", "{}", "\\;", "\\(", "\\$", "%", "+", ",", ":", "=", "!", "^", "#", "''", "\"\"", "\"'\"", "'\"'", "x=y", "1", "=", "!="})
	}
	return word
}
