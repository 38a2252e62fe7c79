package policy

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
	"approvalbot/internal/policy/command"
	"approvalbot/internal/policy/words"
	"approvalbot/internal/policy/workspace"
)

// TestAdversary_W11_AllowedLinesRunWhereTheySay runs allowed lines in real shells, among
// files and with variables of hostile names, and compares every command that runs with
// what the wide reader gave the rules of programs: its words, and the directory where it
// runs. The other proof is of the plain reader, which follows neither values nor cd.
func TestAdversary_W11_AllowedLinesRunWhereTheySay(t *testing.T) {
	t.Parallel()
	p := newProof(t)
	for name, how := range map[string]string{"ls git find": "-DLIST", "grep": "-DEXITS=1", "wc head cut sort stat file du diff basename": "-DEXITS=0"} {
		for name := range strings.FieldsSeq(name) {
			p.compile(name, "-DPLACE", how)
		}
	}
	e := engine(t, func(c *Config) { c.Workspaces = map[string][]string{"main": {p.work}} })
	var said []placed
	rules := e.lines.Rules
	e.lines.Rules = func(name string) command.Rule {
		rule := rules(name)
		if rule == nil {
			return nil
		}
		return func(x *command.Call, name string, args []workspace.Word) {
			said = append(said, placed{slices.Clone(x.Place.Dirs), append([]workspace.Word{{Text: name}}, args...)})
			rule(x, name, args)
		}
	}
	kept := []string{"ls | while IFS= read -r f; do for n in *; do CI=1 stat ${n} ${n}; done; (cd pkg/a); done", "cd missing && cd src; wc a.go", "cd src || ls; wc c.go", "(cd pkg; ls) && wc *", "{ cd src; }; ls sub", "for f in *.go; do wc $f \"$f\"; done", "git ls-files '*.go' | while read -r f; do ls --x=$f / > dist/x; done", "for d in pkg/*/; do (cd \"$d\" && ls); done; wc a.go"}
	until, lines := p.limits()
	tried, proven := 0, 0
	for ; proven < lines && time.Now().Before(until); tried++ {
		line := p.moving(3)
		if tried < len(kept) {
			line = kept[tried]
		}
		said = said[:0]
		if j := judge(e, lineCall(t, line)); j.Assessment.RiskClass < approval.R3 && j.Outcome != approval.OutcomeDeny {
			p.follow(line, said)
			proven++
		}
	}
	t.Logf("%d lines tried, %d below R3 and run in %d shells", tried, proven, len(p.shells))
}

// placed is a command as its rule was given it.
type placed struct {
	dirs  []string // where it may run; none for anywhere
	words []workspace.Word
}

// follow runs a line in every shell; what runs must be among what was said.
func (p *proof) follow(line string, said []placed) {
	for _, shell := range p.shells {
		for _, ran := range p.among(shell, line) {
			where, words := ran[0], ran[1:]
			here := func(dir string) bool { return workspace.MatchesName(strings.Replace(dir, "~", p.bin, 1), where) }
			is := func(c placed) bool {
				return covers(c.words, words) && (len(c.dirs) == 0 || slices.ContainsFunc(c.dirs, here))
			}
			if !slices.ContainsFunc(said, is) {
				p.t.Errorf("%s: %q ran %q in %q, which is none of %+v", shell[0], line, words, where, said)
			}
		}
	}
}

// among gives a line to a shell in a directory of hostile files.
func (p *proof) among(shell []string, line string) [][]string {
	require.NoError(p.t, os.RemoveAll(p.work))
	for _, f := range []string{"a.go", "b c.go", "-x.go", "src/c.go", "src/sub/d.go", "src/sub/..x", "pkg/a/x.go", "pkg/b/dist/y.go", "pkg/-n/z.go", "dist/k", ".env", "src/.env",
		"pkg/.hid/s.go", "new\nline.go", "*.go", "$(ls).go", "dist/a/b/c"} {
		require.NoError(p.t, os.MkdirAll(filepath.Dir(p.work+"/"+f), 0o755))
		require.NoError(p.t, os.WriteFile(p.work+"/"+f, []byte("one\n-two x\n../up\n*\n"), 0o644))
	}
	require.NoError(p.t, os.WriteFile(p.record, nil, 0o644))
	c := exec.Command(shell[0], append(slices.Clone(shell[1:]), "-c", line)...)
	c.Dir, c.Env = p.work, []string{"PATH=" + p.bin, "HOME=" + p.bin, "x=-r /etc", "y=*", "v=.."}
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(p.t, c.Start())
	kill := func() { _ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	stop := time.AfterFunc(2*time.Second, kill)
	_ = c.Wait() // a line may fail
	stop.Stop()
	kill()
	return p.recorded()
}

// covers reports that the words as they were read may become those that ran.
func covers(want []workspace.Word, ran []string) bool {
	if len(want) == 0 {
		return len(ran) == 0
	}
	w := want[0]
	several := w.Several() || w.Listed || w.Status
	for n := 0; n <= len(ran) && (n < 2 || several); n++ {
		if n > 0 && !becomes(w, ran[n-1]) {
			return false
		}
		if (n == 1 || several) && covers(want[1:], ran[n:]) {
			return true
		}
	}
	return false
}

// torn are the parts of names with blanks, into which a shell splits them. Whoever makes
// a file whose name misleads then was asked about that.
var torn = words.Set("b c.go new line.go")

// withDot finds a glob to which the reader may have added its directory.
var withDot = regexp.MustCompile(`^\./[*?[]`)

// becomes reports that a word may be, or be split into, this one.
func becomes(w workspace.Word, text string) bool {
	if w.Kind == workspace.Pattern && withDot.MatchString(w.Text) && !strings.HasPrefix(text, "./") {
		text = "./" + text // printed by a program, before one that no name can mislead (language.ForTellers)
	}
	switch {
	case w.Text == "/dev/fd/63":
		return strings.Contains(text, "/fd/")
	case w.Tilde:
		return strings.HasSuffix(text, strings.TrimPrefix(w.Text, "~"))
	case w.Kind == workspace.Literal:
		return text == w.Text
	case w.Status:
		return strings.Trim(text, "0123456789") == ""
	case strings.HasPrefix(text, "-") && !w.MayBeOption():
		return false
	case w.Listed || w.Sample != "":
		return true
	case w.Kind == workspace.Pattern:
		part := strings.TrimPrefix(text, w.Text[:max(0, strings.IndexAny(w.Text, "*?["))])                    // of --x=$f that is --x=b, too
		ofTorn := slices.ContainsFunc(strings.Split(part, "/"), func(name string) bool { return torn[name] }) // also in "$d"/*.go
		return text == w.Text || ofTorn || workspace.MatchesName(strings.ReplaceAll(w.Text, "**/", "*"), text)
	}
	return w.Split || strings.ContainsAny(w.Text, "*?[") || strings.HasPrefix(text, w.Text)
}

// moving makes lines that go to directories, and loop over names.
func (p *proof) moving(depth int) string {
	line := p.part(depth)
	for p.random.IntN(2) == 0 {
		line += p.pick([]string{"; ", " && ", " || ", "\n", "; "}) + p.part(depth)
	}
	return line
}

func (p *proof) part(depth int) string {
	if depth == 0 || p.random.IntN(3) == 0 {
		return p.step()
	}
	in, name := p.moving(depth-1), p.pick([]string{"f", "d", "n"})
	switch p.random.IntN(10) {
	case 0, 1, 2:
		return fmt.Sprintf("for %s in %s; do %s; done", name, p.several(), in)
	case 3:
		return fmt.Sprintf("%s | while %s %s; do %s; done", p.pick(listers), p.pick([]string{"read", "read -r", "IFS= read -r"}), name, in)
	case 4:
		return p.pick([]string{"(" + in + ")", "{ " + in + "; }"})
	case 5:
		return fmt.Sprintf("if %s; then %s; else %s; fi", p.part(depth-1), in, p.step())
	case 6:
		return fmt.Sprintf("while read -r %s; do %s; done < a.go", name, in)
	case 7:
		return fmt.Sprintf("diff <(%s) <(%s)", in, p.step())
	case 8:
		return name + "=" + p.value()
	}
	return p.step() + p.pick([]string{" | ", " || ", " && "}) + p.step()
}

var listers = strings.Split("ls|ls *.go|git ls-files|git ls-files '*.go'|find . -name '*.go'|find src -type f|git diff --name-only|grep -rl x src|ls -d */|ls pkg|find . -name '*.go' 2>/dev/null", "|")

func (p *proof) several() string {
	list := p.pick(listers)
	return p.pick([]string{"a", "a.go src", "dist", "*.go", "*/ a", "pkg/*/", "pkg/*", "src/**/*.go", "{a,b}", "src/{c,d}.go b", "*", "'a'", "\"a b\" c", "$(" + list + ")", "$(" + list + ") a*", "$x", "\"$x\"", "$(seq 3)",
		"../x", "..", "src/sub", "-n", "~", "''", "[a-c]*", "$f", "\"$d\"", "\"$d\"/*"})
}

func (p *proof) value() string {
	return p.pick([]string{"a.go", "src", "$f", "\"$f\"", "$d", "\"$d\"", "${n}", "\"${f}\"", "$x", "\"$x\"", "*", "*.go", "dist", "/", "..", "-n", "'x y'", "$(wc -l < a.go)", "\"$(nproc)\"", "{a,b}", "src/$f", "${PIPESTATUS[0]}", "$?",
		"**/", "\"a $f\"", "./$n", "--x=$f", "*/", "\"$d\"/*.go"})
}

func (p *proof) step() string {
	if p.random.IntN(2) == 0 {
		return p.pick([]string{"", "", "! "}) + "cd " + p.pick([]string{"src", "pkg/a", "\"$d\"", "..", "/", "src/sub", "missing", "./src", "\"$d\"/sub", "-", "", "sub", "../pkg", "src/", "../src"})
	}
	line := p.pick([]string{"", "", "! ", "CI=1 ", "f=1 "}) + p.pick([]string{"ls", "wc", "head", "sort", "stat", "grep", "cut -d, -f1", "file", "du", "basename"})
	for range p.random.IntN(3) {
		line += " " + p.value()
	}
	return line + p.pick([]string{"", "", "", "", "", " 2>&1", " > dist/x", " < a.go", " | wc -l", " > /dev/null"})
}
