package policy

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
	"approvalbot/internal/policy/line"
)

// maxBody is the largest call that the desk takes.
const maxBody = 256 << 10

// bombs are calls that are built to be slow to read. Each is as large as the
// desk takes, or as large as is read at all.
func bombs(t testing.TB) map[string]approval.Call {
	calls := map[string]approval.Call{}
	bomb := func(name, text string) { calls[name] = lineCall(t, text) }
	for _, unit := range []string{"(", "$(", "{ ", "`", "a|", "a;", "a&&", "sh -c ", "x ", "'a b' ", "rm a;", "a=b ", "eval 'eval \"a b\"';", "sudo ", "find . -exec ", "xargs ", "\"$(", "<<a ", "#;\n",
		"cat .env;", "cat *;", "cp a b;", "cd a;", "cd a&&", "aaaaaaaa", "cm0gLXJmIC8K ", "$x ", "https://x ", "frob 'a=b=c=d e' ", "sh -c 'sh -c \"a b\"';", "/a", "git x;", "go test ./..;", "x 'sh -c a' ", "grep -r '" + "[a" + "' .;", "sed s/a/b/;", "{a,b}", "~/x ", "a..b/../"} {
		for _, size := range []int{line.MaxLine - 1, maxBody - 64} {
			bomb(fmt.Sprintf("%q to %d", unit, size), strings.Repeat(unit, size/len(unit)))
		}
		bomb(fmt.Sprintf("%q in quotes", unit), "frob "+quote(strings.Repeat(unit, (line.MaxLine-64)/len(unit)/2))+" && $x")
	}
	bomb("500 KB of (", strings.Repeat("(", 500<<10))
	bomb("500 KB of $(", strings.Repeat("$(", 250<<10))
	bomb("words in words", nestedWords(line.MaxLine-64))
	many := map[string]any{}
	for i := range 4000 {
		many[fmt.Sprint("k", i)] = map[string]any{"command": "sh -c 'frob a b'", "u": "http://x.y/z"}
	}
	calls["many commands"] = callOf(t, "frob", many)
	calls["many commands of mcp"] = callOf(t, "mcp__x__run", map[string]any{"args": strings.Split(strings.Repeat("sh -c 'a b';", 20000), ";")})
	calls["long command of mcp"] = callOf(t, "mcp__x__run", map[string]any{"command": strings.Repeat("frob 'a b' ", 1400), "script": strings.Repeat("x 'c d' ", 1900)})
	calls["many paths"] = callOf(t, "read", map[string]any{"paths": strings.Split(strings.Repeat("a/../.e*,", 25000), ",")})
	calls["long path"] = callOf(t, "read", map[string]any{"path": strings.Repeat("a/../", 50000)})
	calls["glob path"] = callOf(t, "read", map[string]any{"path": strings.Repeat("*a", 100000)})
	calls["patch"] = callOf(t, "apply_patch", map[string]any{"input": strings.Repeat("+++ b/a/../x\n", 18000)})
	calls["addresses"] = callOf(t, "web_fetch", map[string]any{"prompt": strings.Repeat("http://1.1 ", 20000)})
	calls["deep json"] = approval.Call{ToolName: "mcp__x__y", AgentID: "main", Params: json.RawMessage(strings.Repeat(`{"a":`, maxBody/6) + "1" + strings.Repeat("}", maxBody/6))}
	calls["deep list"] = approval.Call{ToolName: "exec", AgentID: "main", Params: json.RawMessage(`{"argv":` + strings.Repeat("[", maxBody) + strings.Repeat("]", maxBody) + "}")}
	argv := strings.Split(strings.Repeat("sh,-c,frob 'a b',", line.MaxLine/18), ",")
	calls["argv"] = callOf(t, "exec", map[string]any{"argv": argv})
	calls["argv of lines"] = callOf(t, "exec", map[string]any{"argv": append([]string{"frob"}, strings.Split(strings.Repeat("sh -c \"x 'a b'\"|", 900), "|")...)})
	calls["database"] = callOf(t, "execute_sql", map[string]any{"query": strings.Repeat("update a ", 25000)})
	return calls
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "'\\''") + "'" }

// nestedWords gives a command of which every word is a line of such words.
func nestedWords(size int) string {
	s := "frob x"
	for len(s)*3 < size {
		s = "frob " + quote(s) + " " + quote(s)
	}
	return s
}

func TestBombsAreNeverAllowed(t *testing.T) {
	t.Parallel()
	e := engine(t)
	for name, c := range bombs(t) {
		require.NotEqual(t, approval.R4+1, judge(e, c).Assessment.RiskClass, name)
		if j := judge(e, c); j.Outcome == approval.OutcomeAllow {
			require.LessOrEqual(t, j.Assessment.RiskClass, approval.R2, name)
			require.LessOrEqual(t, len(c.Params), maxBody, name)
		}
	}
}

// BenchmarkBombs names the call that takes longest to judge.
func BenchmarkBombs(b *testing.B) {
	e := engine(b)
	for name, c := range bombs(b) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				judge(e, c)
			}
		})
	}
}

// TestBombsAreCounted: how much is read of a line is limited by counts, not by
// how long it takes.
func TestBombsAreCounted(t *testing.T) {
	t.Parallel()
	e := engine(t)
	for name, c := range bombs(t) {
		x, bad := approval.ParseExec(c.Params)
		if c.ToolName != "exec" || len(bad) > 0 || x.Command == nil {
			continue
		}
		s := e.lines.Read(nil, e.agent(c.AgentID).place(&c, "", ""), nil, nil)
		s.Line(*x.Command)
		s.Finish(*x.Command)
		require.LessOrEqual(t, s.Commands, line.MaxLine, name)
		require.LessOrEqual(t, s.Parsed, 8*line.MaxParsed+maxBody, name)
	}
}
