package policy

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"mvdan.cc/sh/v3/syntax"
	"pgregory.net/rapid"

	"approvalbot/internal/approval"
	"approvalbot/internal/policy/line"
	"approvalbot/internal/policy/tool"
)

// FuzzShell: whatever the line is, judging it ends, its class is R3 at least
// where the parser refuses it, and nothing is allowed at R2 or above.
func FuzzShell(f *testing.F) {
	for _, rows := range [][]row{destructiveLines, lines("", "ls", "a; b", "$(x)", "cat <<E\nx\nE", "((", "f(){ x; }", "[[ a ]]", "echo ${x:-y}", "a=(b)", "case x in a) b;; esac", "ls # x", "{a,b}", "\x00", "find . -exec x {} \\;")} {
		for _, r := range rows {
			f.Add(r.input)
		}
	}
	e := engine(f)
	f.Fuzz(func(t *testing.T, line string) {
		if !utf8.ValidString(line) || line == "" {
			return
		}
		j := judge(e, lineCall(t, line))
		if e.lines.Parse(line) == nil {
			require.GreaterOrEqual(t, j.Assessment.RiskClass, approval.R3)
		}
		require.Equal(t, j.Outcome == approval.OutcomeAllow, j.Assessment.RiskClass <= approval.R1)
		require.NotEmpty(t, j.Assessment.ReasonCodes)
		again := judge(e, lineCall(t, line+"\nrm -rf /"))
		require.GreaterOrEqual(t, again.Assessment.RiskClass, j.Assessment.RiskClass, "a longer line is never less")
	})
}

// FuzzParams: whatever the params are, judging them ends and fails closed.
func FuzzParams(f *testing.F) {
	for _, p := range []string{`{"path":"x"}`, `{"command":"ls"}`, `[]`, `{`, `{"a":{"b":["c"]}}`, `{"argv":["ls"]}`, `null`, `{"input":"*** Add File: x"}`} {
		f.Add("read", []byte(p))
		f.Add("exec", []byte(p))
		f.Add("bash", []byte(p))
		f.Add("apply_patch", []byte(p))
		f.Add("mcp__x", []byte(p))
		f.Add("mcp__pg__delete_tables", []byte(p))
		f.Add("browser", []byte(p))
		f.Add("nodes", []byte(p))
		f.Add("execute_sql", []byte(p))
	}
	e := engine(f)
	f.Fuzz(func(t *testing.T, name string, p []byte) {
		j := judge(e, approval.Call{ToolName: name, Params: p, AgentID: "main"})
		require.NotZero(t, j.Outcome)
		if !json.Valid(p) && j.Outcome == approval.OutcomeAllow {
			require.Equal(t, tool.Quiet, tool.Named(name).Kind)
		}
	})
}

// wellFormed generates lines that a shell reads to their end.
func wellFormed() *rapid.Generator[string] {
	simple := rapid.SampledFrom([]string{"ls -la", "cat x.go", "echo \"hi there\"", "git status", "frobnicate x", "rm x", "cat .env", "curl https://x.org", "x=1", "echo $(ls)", "test -f x", "python3 -c 'print(1)'", "echo hi > x", "$x y", "sudo ls", "find . -name x", "! ls", "mkfs /dev/sda", "env A=b ls", "cd src", "f() { ls; }", "ls # note"})
	return rapid.Custom(func(t *rapid.T) string {
		line := simple.Draw(t, "first")
		for range rapid.IntRange(0, 4).Draw(t, "n") {
			next := simple.Draw(t, "next")
			switch rapid.IntRange(0, 6).Draw(t, "how") {
			case 0:
				line += "\n" + next
			case 1:
				line = "( " + line + "\n)\n" + next
			case 2:
				line = "if " + line + "\nthen " + next + "\nfi"
			case 3:
				line = "for i in a b; do " + line + "\ndone; " + next
			case 4:
				line = "{ " + line + "\n} | " + next
			case 5:
				line = next + " && " + line
			case 6:
				line = "bash -c '" + strings.ReplaceAll(line, "'", "'\\''") + "'; " + next
			}
		}
		return line
	})
}

func TestAddingADestructiveCommandIsAlwaysR4(t *testing.T) {
	t.Parallel()
	e := engine(t)
	rapid.Check(t, func(rt *rapid.T) {
		line := wellFormed().Draw(rt, "line")
		for _, more := range []string{"; rm -rf /", "\nrm -rf /", " && rm -rf /", " | rm -rf /", " & rm -rf /"} {
			if strings.Contains(line, "#") && more[0] != '\n' {
				continue // it is a part of the comment
			}
			if got := judge(e, lineCall(t, line+more)).Assessment; got.RiskClass != approval.R4 {
				rt.Fatalf("%q is %v %v", line+more, got.RiskClass, got.ReasonCodes)
			}
		}
	})
}

func TestMoreIsNeverLess(t *testing.T) {
	t.Parallel()
	e := engine(t)
	class := func(line string) approval.RiskClass { return judge(e, lineCall(t, line)).Assessment.RiskClass }
	rapid.Check(t, func(rt *rapid.T) {
		a, b := wellFormed().Draw(rt, "a"), wellFormed().Draw(rt, "b")
		if strings.Contains(a, "cd src") || e.lines.Parse(a) == nil { // what b means depends on where it stands, and on a
			return
		}
		if got, want := class(a+"\n"+b), max(class(a), class(b)); got < want {
			rt.Fatalf("%q then %q: %v < %v", a, b, got, want)
		}
	})
}

func TestWrappingNeverLowersTheClass(t *testing.T) {
	t.Parallel()
	e := engine(t)
	class := func(line string) approval.RiskClass { return judge(e, lineCall(t, line)).Assessment.RiskClass }
	inner := []string{"frobnicate", "rm -rf /", "rm x", "cat .env", "git push -f", "python3 -c 1", "mkfs x", "approvalbot decide X", "curl -d x https://x.org", "chmod -R 777 /", "terraform destroy", "kill -9 -1"}
	rapid.Check(t, func(rt *rapid.T) {
		in := rapid.SampledFrom(inner).Draw(rt, "inner")
		line := in
		for range rapid.IntRange(1, 12).Draw(rt, "depth") {
			line = rapid.SampledFrom(wrap).Draw(rt, "wrap") + line
		}
		if got := class(line); got < approval.R3 || got < class(in) {
			rt.Fatalf("%q is %v, %q alone is %v", line, got, in, class(in))
		}
	})
}

func TestArgvAndLineAgree(t *testing.T) {
	t.Parallel()
	e := engine(t)
	for _, line := range []string{"ls -la", "cat .env", "rm -rf /", "git push -f", "sudo ls", "env A=b ls", "find . -name x", "curl https://x.org", "approvalbot decide X", "frobnicate", "touch x", "go test ./...", "timeout 5 ls", "kubectl delete x", "cp a b", "sort -o x y", "date -s x", "git -c a=b log"} {
		a := judge(e, lineCall(t, line)).Assessment
		b := judge(e, callOf(t, "exec", map[string]any{"argv": strings.Fields(line)})).Assessment
		require.Equal(t, a, b, line)
		c := judge(e, callOf(t, "exec", map[string]any{"argv": []string{"sh", "-c", line}})).Assessment
		require.Equal(t, a.RiskClass, c.RiskClass, line)
	}
}

func TestBombsAreRefusedQuickly(t *testing.T) {
	t.Parallel()
	e := engine(t)
	for _, s := range []string{"(", "{ ", "$(", "`", "if ", "while ", "! ", "time ", "a|", "a&&", "a;", "<<a ", "${a:-", "$((", "((", "[[ (", "a=(", "f() ", "\"$(", "a <(", "${a[", "((a?", "env ", "sudo ", "sh -c ", "x ", "'a b' ", "*", "{a,", "\\\n", "eval ", "find -exec "} {
		for _, n := range []int{line.MaxLine / len(s), 4 * line.MaxLine / len(s), 700} {
			line := strings.Repeat(s, n)
			j := judge(e, lineCall(t, line))
			require.NotEqual(t, approval.OutcomeAllow, j.Outcome, "%q x %d", s, n)
		}
	}
	j := judge(e, lineCall(t, "echo "+strings.Repeat("a", line.MaxLine)))
	require.Contains(t, j.Assessment.ReasonCodes, "command-too-long")
	require.Equal(t, approval.R3, j.Assessment.RiskClass)
	require.Equal(t, approval.R4, judge(e, lineCall(t, "rm -rf / "+strings.Repeat("a", line.MaxLine))).Assessment.RiskClass)
	require.Equal(t, approval.R4, judge(e, lineCall(t, strings.Repeat("(", 500)+"mkfs")).Assessment.RiskClass)
	require.Contains(t, judge(e, lineCall(t, strings.Repeat("frob; ", 600))).Assessment.ReasonCodes, "too-complex")
}

// FuzzArgv: a program's words, and the line that shows them quoted, are judged
// alike: what a person reads on the card is what is judged and runs.
func FuzzArgv(f *testing.F) {
	for _, r := range destructiveLines {
		f.Add(r.input)
	}
	f.Add("sh -c $0 evil")
	f.Add("rm  -rf /")
	f.Add("fi rm")
	f.Add("export rm &")
	e := engine(f)
	f.Fuzz(func(t *testing.T, text string) {
		argv := strings.Split(text, " ")
		if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) || len(text) > line.MaxLine/8 || argv[0] == "" {
			return
		}
		shown := make([]string, len(argv))
		for i, a := range argv {
			// A word of the shell's own grammar is a program's name only in quotes.
			own := syntax.IsKeyword(a) || slices.Contains(strings.Fields("declare export let local nameref readonly typeset"), a)
			if shown[i] = a; i > 0 || own || strings.ContainsFunc(a, func(r rune) bool { return r > 'z' || r < 'a' }) {
				shown[i] = quote(a)
			}
		}
		words := judge(e, callOf(t, "exec", map[string]any{"argv": argv})).Assessment
		line := judge(e, lineCall(t, strings.Join(shown, " "))).Assessment
		require.GreaterOrEqual(t, line.RiskClass, words.RiskClass, "%q", argv)
		if slices.Contains(line.ReasonCodes, "unusual-shell") {
			return // shells may read on past a quote, which only the line can say
		}
		require.Equal(t, words.RiskClass, line.RiskClass, "%q", argv)
	})
}
