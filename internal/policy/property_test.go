package policy

import (
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
	"pgregory.net/rapid"

	"approvalbot/internal/approval"
	"approvalbot/internal/policy/line"
)

// plainLines are the shell lines of the corpus that are whole by themselves:
// what is added to one is not swallowed by a comment, a quote or a here-document,
// and it does not change the directory, which would change what the rest means.
func plainLines(t testing.TB, e *Engine) (lines []string) {
	for _, x := range corpus(t) {
		line := strings.ReplaceAll(x.text, "␤", "\n")
		if x.tool == "$" && e.lines.Parse(line) != nil && !strings.Contains(line, "<<") && !strings.Contains(line, "#") && !strings.Contains(line, "cd ") && !strings.HasSuffix(line, "&") {
			lines = append(lines, line)
		}
	}
	return lines
}

// simpleCommand reports a line of one command whose words are all written out,
// and gives the words.
func simpleCommand(e *Engine, text string) (words []string, ok bool) {
	f := e.lines.Parse(text)
	if f == nil || len(f.Stmts) != 1 || len(f.Stmts[0].Redirs) > 0 || f.Stmts[0].Negated || f.Stmts[0].Background {
		return nil, false
	}
	c, ok := f.Stmts[0].Cmd.(*syntax.CallExpr)
	if !ok || len(c.Assigns) > 0 {
		return nil, false
	}
	for _, w := range c.Args {
		if lit := w.Lit(); lit == "" || line.HasSpecial(lit) {
			return nil, false
		}
		words = append(words, w.Lit())
	}
	return words, true
}

// quotings write a word so that a shell reads the same word.
var quotings = []func(string) string{
	quote,
	func(w string) string {
		return `"` + strings.NewReplacer("\\", "\\\\", `"`, `\"`, "$", `\$`, "`", "\\`").Replace(w) + `"`
	},
	func(w string) string { return quote(w[:1]) + w[1:] },
	func(w string) string { return "''" + w },
	func(w string) string { return w + `""` },
	func(w string) string { return `\` + w },
	func(w string) string { return w[:1] + "\\\n" + w[1:] },
}

func TestAPartMoreNeverLowersTheClass(t *testing.T) {
	t.Parallel()
	e := engine(t)
	lines := plainLines(t, e)
	class := func(line string) approval.RiskClass { return judge(e, lineCall(t, line)).Assessment.RiskClass }
	rapid.Check(t, func(rt *rapid.T) {
		line := rapid.SampledFrom(lines).Draw(rt, "line")
		more := rapid.SampledFrom(lines).Draw(rt, "more")
		want := max(class(line), class(more))
		for _, op := range []string{"; ", " && ", " || ", " | ", "\n", " & ", " |& "} {
			want := want
			if strings.HasPrefix(op, " |") && op != " || " {
				want = max(class(line), class("ls"+op+more)) // what is given its input searches no files
			}
			if got := class(line + op + more); got < want {
				rt.Fatalf("%q is %v, its parts are up to %v", line+op+more, got, want)
			}
		}
		for _, around := range [][2]string{{"( ", "\n)"}, {"{ ", "\n}"}, {"if ", "\nthen :; fi"}, {"while ", "\ndo :; done"}, {"echo $(", "\n)"}, {"echo \"$(", "\n)\""}, {"cat <(", "\n)"}, {"f() { ", "\n}"}} {
			if got := class(around[0] + line + around[1]); got < class(line) {
				rt.Fatalf("%q is %v, %q alone is %v", around[0]+line+around[1], got, line, class(line))
			}
		}
	})
}

func TestAWrapperNeverLowersTheClass(t *testing.T) {
	t.Parallel()
	e := engine(t)
	lines := plainLines(t, e)
	class := func(line string) approval.RiskClass { return judge(e, lineCall(t, line)).Assessment.RiskClass }
	rapid.Check(t, func(rt *rapid.T) {
		line := rapid.SampledFrom(lines).Draw(rt, "line")
		wrapped := line
		if _, ok := simpleCommand(e, line); ok {
			for range rapid.IntRange(1, 4).Draw(rt, "depth") {
				wrapped = rapid.SampledFrom(wrap).Draw(rt, "wrap") + wrapped
			}
		}
		wrapped = strings.ReplaceAll(wrapped, "time ! ", "! time ") // mvdan.cc/sh does not read the first, which asks as what is not read does
		switch rapid.IntRange(0, 4).Draw(rt, "shell") {
		case 0:
			wrapped = "bash -c " + quote(wrapped)
		case 1:
			wrapped = "sh -lc " + quote(wrapped)
		case 2:
			wrapped = "eval " + quote(wrapped)
		case 3:
			wrapped = "sudo sh -c " + quote(wrapped)
		}
		alone := judge(e, lineCall(t, line)).Assessment
		if slices.Contains(alone.ReasonCodes, "touches-the-desk") && slices.Contains(alone.ReasonCodes, "unknown-command") {
			return // whose words are taken for files only where nothing else takes them
		}
		if got := class(wrapped); got < alone.RiskClass {
			rt.Fatalf("%q is %v, %q alone is %v", wrapped, got, line, alone.RiskClass)
		}
	})
}

func TestQuotesNeverLowerTheClass(t *testing.T) {
	t.Parallel()
	e := engine(t)
	class := func(line string) approval.RiskClass { return judge(e, lineCall(t, line)).Assessment.RiskClass }
	var simple [][]string
	for _, line := range plainLines(t, e) {
		if words, ok := simpleCommand(e, line); ok {
			simple = append(simple, words)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		words := rapid.SampledFrom(simple).Draw(rt, "words")
		quoted := make([]string, len(words))
		for i, w := range words {
			quoted[i] = w
			if n := rapid.IntRange(0, len(quotings)).Draw(rt, "quoting"); n < len(quotings) {
				quoted[i] = quotings[n](w)
			}
		}
		plain, line := strings.Join(words, " "), strings.Join(quoted, " ")
		if got := class(line); got < class(plain) {
			rt.Fatalf("%q is %v, %q is %v", line, got, plain, class(plain))
		}
		argv := judge(e, callOf(t, "exec", map[string]any{"argv": words})).Assessment.RiskClass
		if argv != class(plain) {
			rt.Fatalf("%q is %v as words and %v as a line", words, argv, class(plain))
		}
	})
}

// TestCorpusInEveryPlace puts each line that asks or is refused behind each
// harmless beginning: it is never taken for less.
func TestCorpusInEveryPlace(t *testing.T) {
	t.Parallel()
	e := engine(t)
	for _, line := range plainLines(t, e) {
		alone := judge(e, lineCall(t, line)).Assessment.RiskClass
		for _, before := range []string{"ls; ", "true && ", "false || ", "echo x | ", "ls &\n", "go test ./... && ", "git status && ", "npm test; "} {
			if before == "echo x | " && line == "rg --hidden token" {
				continue // it searches what the pipe gives
			}
			if got := judge(e, lineCall(t, before+line)).Assessment; got.RiskClass < alone {
				t.Errorf("%q is %v %v, alone it is %v", before+line, got.RiskClass, got.ReasonCodes, alone)
			}
		}
	}
}
