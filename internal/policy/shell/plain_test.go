package shell

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"mvdan.cc/sh/v3/syntax"

	"approvalbot/internal/policy/budget"
)

// parsed gives the form of a line as the parser sees it, "" where it cannot read it.
func parsed(line string) string {
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true)).Parse(strings.NewReader(line), "")
	if err != nil {
		return ""
	}
	return string(Parsed(nil, f))
}

// accepted are lines of the grammar. Both readers see the same in each.
var accepted = []string{
	"ls", "ls -la src", "  ls\t-l  ", "git status --porcelain", "a=1 b=2 make x", "a=1", "a= b='x y'", "go test ./... && go vet ./...", "a || b", "a; b;", "a\nb\n\nc",
	"! grep -q x y", "time go build", "! time a | b", "a | b | c", "a |\n b", "a &&\n\n b", "cat a 2>/dev/null", "make > out.log 2>&1", "echo x >> 'my file'", "sort < in > out", "a 2>&1 | b >&2",
	"(cd x && ls)", "{ a; }", "{ cd x && ls; } > f 2>&1", "a | { b; c; } | d", "{\n a\n} && b", "if { a; }; then { b; }; fi", "{ cat <<'E'\n}\nE\n}", "{ (a); { b; }; }", "while IFS= read -r l; do a \"$l\"; done < f", "IFS=  read l < f", "( a; b ) > f", "for f in a b *.go; do echo \"$f\"; done", "for i in 1 2\ndo a\ndone | sort", "if a; then b; elif c; then d; else e; fi", "while read -r l; do echo \"$l\"; done < f", "until a; do sleep 1; done",
	"cat <<'EOF'\nx $(rm) `y`\nEOF", "cat <<'E' > f\n a\nE\nls", "echo 'a'\"b\"c", `echo "a\"b\\c\$d\ne"`, `echo "cost: 5$" "$|" "$ "`, "echo $x ${y} \"$z\" \"${HOME}/x\" $?", "echo * a* a? [ab]*.c [!a-z]", "echo $(ls) \"$(git log -1)\"",
	"git commit -m \"$(cat <<'EOF'\nfix: it's (a) \"b\"\nEOF\n)\"", "ls ~ ~/x", "git show HEAD~1 HEAD^ HEAD@{1} stash@{0} HEAD^{tree}", "find . -name '*.go' -exec grep -l x {} \\;", "find . \\( -name a -o -name b \\) -print",
	"xargs -I{} echo {}", "--version && ls"[len("--version && "):], "ls # a comment", "# first\nls", "[ -f x ] && echo y", "[ \"$a\" = b ]", "[ $? -eq 0 ]", "test ! -d x", "printf '%s\\n' \"$x\"", "set -euo pipefail\nls",
	"docker run -v a:b \\\n  -p 1:2 x", "command -v go", "cd a && ls", "pip install foo==1.2", "echo a=b --x=y 50% a,b @x +x", "LC_ALL=C sort f", "curl -s http://localhost:8080/a?b=c"[:20], "~/bin/x", "echo ]", "x=$(ls) y=2; echo $x", "echo a#b",
	"ls a.*", "source .venv/bin/activate && ls", "cat > f << 'EOF'\nx\nEOF", "cat <<EOF\nit's \"$x\" ${y}z {a,b} * ~ é$y (b\nEOF", "cat > f <<E\n\nE\nls", "git commit -F - <<EOF && git push\nfix: $x\nEOF", "git commit -m \"$(cat <<EOF\nfix: $x (\"b\") ${y}\nEOF\n)\"", "stat f", "ls src/{a,b}.ts {cmd,internal}/ a{,.bak} ~/{a,b} src/**/*.{ts,tsx} [a]{b,c}", "grep -rn x --include=*.{ts,tsx} {a,b}/*.go", "for d in {a,b}; do ls $d; done", "diff -u <(ls a) <(cd b && ls | sort)", "comm -12 <(sort \"$x\") <( cut -f1 < f ) | wc -l", "cat <(a; b $(c)) - < f; ls", "a | b; echo \"x ${PIPESTATUS[0]}\" ${pipestatus[1]}", "a | b; exit ${PIPESTATUS[0]}", "a; exit $?", "a | b; [ ${PIPESTATUS[0]} -eq 0 ] && c; test \"${pipestatus[1]}\" -ne 1", "ls dist/*.js", "ls **/*.go src/** ~/x/**/y **", "for f in src/**/*.go; do wc \"$f\"; done", "sed -n '1,5p' f",
}

func TestPlainAccepts(t *testing.T) {
	for _, line := range accepted {
		form, why, ok := Plain(nil, line, nil)
		if !ok {
			t.Errorf("%q is refused at %d for %s", line, why.At, why.What)
			continue
		}
		if want := parsed(line); string(form) != want {
			t.Errorf("%q reads\n %q, the parser\n %q", line, form, want)
		}
	}
}

// refused are lines outside the grammar, with what is named.
var refused = []struct{ line, what string }{
	{"", "a missing command"}, {"# x", "a missing command"}, {"-x", "beginning"}, {"+x", "beginning"}, {"#!/bin/sh\nls", "beginning"}, {"a\x00", "control"}, {"a\r", "control"}, {"a\x7f", "control"}, {"\xff", "broken"}, {strings.Repeat("a", maxText+1), "length"},
	{"echo \"${x:-'$(rm -rf ~)'}\"", "operator"}, {"echo \"$\\\n(rm -rf ~)\"", "use of"}, {"cat <<E\n\\\nE\nrm -rf ~\nE", "here-document"}, {"cat <<E\n${x:-\nE\n}\nE", "operator"}, {"cat <<E\n\\$x\nE", "in a here-document"}, {"cat <<E\n`a`\nE", "in a here-document"}, {"cat <<E\n$(a)\nE", "in a here-document"}, {"cat <<E\n$((1))\nE", "in a here-document"}, {"cat <<E\n$?\nE", "in a here-document"}, {"cat <<E\n$5\nE", "use of"}, {"cat <<E\na$\nE", "use of"}, {"cat <<E\n$'a'\nE", "use of"}, {"cat <<E\n${x\n}\nE", "operator"}, {"cat <<E\n${x:-a}\nE", "operator"}, {"cat <<E\n$x[1]\nE", "behind a variable"}, {"cat <<E\n$x:h\nE", "behind a variable"}, {"cat <<E\n$xé\nE", "behind a variable"}, {"cat <<E\n$path\nE", "variable"},
	{"cat <<E\na\\\nE\nE", "in a here-document"}, {"cat <<E\n${x}${\nE\n}\nE", "use of"}, {"cat <<E\n EX\nE", "different lines"}, {"cat <<E'F'\nEF", "delimiter"}, {"cat <<\\E\nE", "plain name"}, {"cat <<\"E\"\nE", "plain name"}, {"cat <<$x\n$x", "plain name"}, {"cat <<E\n$x", "different lines"}, {"x \"$(cat <<E\n\"${x}\"\nE\n)\"", "bash 3.2"}, {"x \"$(cat <<E\n$(y)\nE\n)\"", "in a here-document"}, {"x \"$(cat <<E\nE)\"\nls\nE\n)\"", "different lines"},
	{"cat <<-'E'\n\tE\nE", "here-document"},
	{"x \"$(cat <<'EOF'\nfix\nEOF)\"\nrm -rf ~\nEOF\n)\"", "different lines"}, {"cat <<'E'\nEX\nE", "different lines"}, {"cat <<'E'\n E\nE", "different lines"}, {"cat <<'E'", "without a body"}, {"cat <<'E'\nx", "different lines"}, {"cat <<'A' <<'B'\nA\nB", "twice"},
	{"cat <<'A'; cat <<'B'\nA\nB", "two here-documents"}, {"cat <<'E' 'x\ny'\nE", "newline in quotes"}, {"cat <<'E' # x\nE", "comment before"}, {"cat <<'E' \\\n x\nE", "continued"}, {"cat <<'E'x\nEx", "delimiter"}, {"cat <<'1'\n1", "here-document"},
	{"a `b`", "\"`\""}, {"a \"`b`\"", "backtick"}, {"a &", "\"&\""}, {"a & b", "\"&\""}, {"a &> f", "\"&\""}, {"a |& b", "|&"}, {"f() { a; }", "\"(\""}, {"f () a", "\"(\""}, {"{a; }", "name"}, {"{ a }", "\"}\""}, {"{ a; }b", "behind a group"}, {"{ a; } b", "\"b\""}, {"{ }", "a missing command"}, {"{ a;", "no \"}\""}, {"{ a; )", "no \"}\""}, {"( a; }", "no \")\""}, {"a; }", "\"}\""}, {"if a; }; then b; fi", "then"}, {"{ a; } always { b; }", "\"a\""}, {"x=1 { a; }", "name"}, {"time { a; }", "time"}, {"a | { cd b; }", "assignment, cd or read"}, {"x $({ a; })", "group"}, {"{ a; }}", "\"}\""}, {"{ { a; } }", "\"}\""}, {"{ { { { a; }; }; }; }", "deeper"}, {"IFS= a", "setting"}, {"IFS=, read x", "setting"}, {"IFS=", "setting"}, {"IFS= x=1 read y", "setting"}, {"IFS= read path", "words of"}, {"IFS= readx a", "setting"}, {"x=1 IFS= read y", "setting"}, {"IFS='' read x", "setting"}, {"IFS= read", "setting"}, {"((x))", "(("}, {"( (a) )x", "x"}, {"[[ a ]]", "command's name"},
	{"a $((1))", "$(("}, {"a $'x'", "use of"}, {"a $\"x\"", "use of"}, {"a $1", "use of"}, {"a $@", "use of"}, {"a $$", "use of"}, {"a ${x:-y}", "operator"}, {"a ${#x}", "use of"}, {"a \"$x[1]\"", "behind a variable"}, {"a $x:h", "behind a variable"}, {"a \"$xé\"", "behind a variable"}, {"a \"$x:&\"", "behind a variable"},
	{"a ${PIPESTATUS[@]}", "operator"}, {"a ${PIPESTATUS[10]}", "operator"}, {"a ${PIPESTATUS[x]}", "operator"}, {"a ${PIPESTATUS[0]:-1}", "operator"}, {"a $PIPESTATUS[0]", "behind a variable"}, {"a ${PIPESTATUS[0]}[0]", "behind a variable"}, {"a $pipestatus", "variable"}, {"a -f\"$IFS= read\" b", "variable"}, {"a $IFS", "variable"}, {"a ${IFS}x", "variable"}, {"a ${x[0]}", "operator"}, {"a ${PIPESTATUS[$x]}", "operator"}, {"a ${PIPESTATUS[-1]}", "operator"}, {"break ${PIPESTATUS[0]}", "words of"}, {"umask $?", "words of"}, {"exit $?1", "words of"}, {"exit $?$x", "words of"}, {"exit $x$?", "words of"}, {"exit a", "words of"}, {"PIPESTATUS=1 a", "setting"}, {"pipestatus=1", "setting"}, {"[ ${PIPESTATUS[0]}$x -eq 0 ]", "words of"}, {"[ $x${PIPESTATUS[0]} -eq 0 ]", "words of"}, {"[ ${PIPESTATUS[0]} = 0 ]", "words of"}, {"a $path", "variable"}, {"a $argv", "variable"}, {"path=x", "setting"}, {"PATH=x ls", "setting"}, {"IFS=x", "setting"}, {"LC_ALL=zh_CN.GBK ls", "value"}, {"LC_ALL=$x ls", "value"}, {"a=1 b=$a ls", "same prefix"}, {"a=1 b=$(x; y $a) ls", "same prefix"}, {"a+=1", "name"}, {"a[0]=1", "name"}, {"a=(b)", "\"(\""},
	{"x=1 cd y", "before the builtin"}, {"eval ls", "builtin"}, {". f", "words of"}, {"source f", "words of"}, {". -x/y", "words of"}, {". $x/y", "words of"}, {"trap x EXIT", "builtin"}, {"export x=1", "export"}, {"exec ls", "builtin"}, {"command ls", "words of"}, {"command -p ls", "words of"}, {"unset x", "builtin"}, {"shift $x", "builtin"}, {"exit $x", "words of"}, {"noglob ls", "noglob"}, {"- ls", "beginning"}, {"a; - ls", "begins"}, {"time time ls", "time"}, {"a | then", "a missing command"},
	{"[ -v x ]", "words of"}, {"test -v x", "words of"}, {"[ \"$x\" -eq 1 ]", "words of"}, {"[ $x = a ]", "words of"}, {"[ a == b ]", "\"=\""}, {"[ a -o b ]", "words of"}, {"[ a", "words of"}, {"printf -v x y", "words of"}, {"printf \"$x\" y", "words of"}, {"printf %d \"$x\"", "words of"}, {"read 'a[$(x)]'", "words of"}, {"read -r path", "words of"}, {"set -k", "words of"}, {"set -- x", "words of"},
	{"a \\x", "backslash"}, {"a\\\nb", "command's name"}, {"a \\\nb", "continued"}, {"a \"x\\\ny\"", "backslash before"}, {"a \"é\\\"; rm x\"", "backslash behind"}, {"a é", "\"é\""}, {"a {-b,c}", "brace"}, {"a {b,-c}", "brace"}, {"a {,b}", "brace"}, {"a {+b,c}", "brace"}, {"a {~,b}", "brace"}, {"a -{b,c}", "brace"}, {"a -x{b,c}", "brace"}, {"a {b,c}{d,e}", "brace"}, {"a {b,c}{}", "brace"}, {"a {{b,c}}", "brace"}, {"a {b,{c,d}}", "brace"}, {"a {b}", "brace"}, {"a {1..3}", "brace"}, {"a {b..c,d}", "brace"}, {"a {b,$x}", "brace"}, {"a $x{b,c}", "brace"}, {"a {b,c}$x", "brace"}, {"a 'x'{b,c}", "brace"}, {"a {b,c}'x'", "brace"}, {"a {b,c}\\;", "brace"}, {"a {b,'c'}", "brace"}, {"a {b, c}", "brace"},
	{"a {b,.}*", "behind a brace"}, {"a .{,b}*", "behind a brace"}, {"a %{,b}?", "behind a brace"}, {"a *{,b}*", "behind a brace"}, {"a {b,*}", "brace"}, {"a {=b,c}", "brace"}, {"x={a,b}", "brace"}, {"a > {b,c}", "brace"}, {"a @{b,c}", "brace"}, {"a x^{b,c}", "brace"}, {"{a,b}", "name"}, {"a{b,c} d", "command's name"}, {"cd {a,b}", "words of"}, {"cd a{,b}", "words of"}, {"[ -f {a,b} ]", "words of"}, {"[ {a,b} ]", "words of"}, {"source {a,b}/c", "words of"}, {"a {b,c}~", "\"~\""}, {"a " + "{" + strings.Repeat("b,", 40) + "c}", "brace"}, {"a }", "\"}\""}, {"a @{x,y}", "brace"}, {"a =ls", "\"=\""}, {"a ''=x", "\"=\""}, {"a x:~", "\"~\""}, {"a --x=~/y", "\"~\""}, {"a ***", "**"}, {"a **/x/**", "**"}, {"a ***/x", "**"}, {"a **x", "**"}, {"a x**/y", "**"}, {"a **'x'", "**"}, {"a ''**", "**"}, {"a $x**", "**"}, {"a **$x", "**"}, {"a **?", "**"}, {"a ?**", "**"}, {"a **[a]", "**"}, {"a .**/x", "**"}, {"a **>f", "**"}, {"a > **/x", "pattern"}, {"a .*", "pattern"}, {"a x/.?", "pattern"}, {"a '.'*", "pattern"}, {"a %?", "%?"}, {"a [^x]", "bracket"}, {"a [$x]", "bracket"}, {"a *(.)", "\"(\""}, {"a (b)", "\"(\""},
	{"a > $x", "place"}, {"a > *", "place"}, {"a > \"$(x)\"", "place"}, {"a >| f", "\"|\""}, {"a >! f", "before a place"}, {"a >& f", "before a place"}, {"a > x > y", "twice"}, {"a 2>x 2>&1", "twice"}, {"a 3> f", "\">\""}, {"a b2>f", "\">\""}, {"a <&1", "\"&\""}, {"a <1-5>", "before"}, {"a <(b)", "\"(\""}, {"diff <(a {b,c})", "brace"}, {"diff <(a $(b x{,y}))", "brace"}, {"diff <(a)<(b)", "behind <( )"}, {"diff <(a)b", "behind <( )"}, {"diff x<(a)", "\"(\""}, {"diff '' <(a)'b'", "behind <( )"}, {"diff <(a)>f", "behind <( )"}, {"diff < <(a)", "\"<\""}, {"diff >(a)", "\"(\""}, {"diff < (a)", "\"(\""}, {"diff <((a))", "<(("}, {"diff <(a\nb)", "newline inside"}, {"diff <(a #b\n)", "comment inside"}, {"diff <()", "a missing command"}, {"diff <(a", "no \")\""}, {"diff <( (a) )", "group"}, {"diff <(a <<E\nE\n)", "inside $( )"}, {"diff <(b <(a))", "\"(\""}, {"diff \"<(a)\" =(b)", "\"=\""}, {"diff $(diff <(diff <(a $(b))))", "deeper"}, {"for f in <(a); do b; done", "\"<\""}, {"source <(a)", "\"(\""}, {"python3 <(a)", "\"(\""}, {"tee >(a)", "\"(\""}, {"a <<< b", "here-document"}, {"a 2>&1x", "without a blank"}, {"> f", "name"}, {"x=1 > f", "name"}, {"a < x | b < y", "input"}, {"a > x | b", "output"}, {"a | cd b", "assignment, cd or read"}, {"x=1 | a", "assignment, cd or read"}, {"a | read x", "assignment, cd or read"}, {"ls | while read -r d; do cd \"$d\"; done", "assignment, cd or read"},
	{"$(a\nb)", "name"}, {"x $(a\nb)", "newline inside"}, {"x $(a #b\n)", "comment inside"}, {"x $( (a) )", "group"}, {"x $(for a in b; do c; done)", "group"}, {"x $(", "a missing command"}, {"x $(a", "no \")\""}, {"x $(a <<'E'\nE\n)", "here-document inside"}, {"x \"$(cat <<'E'\n)\nE\n)\"", "bash 3.2"}, {"x \"$(cat <<'E'\n'\nE\n)\" '", "bash 3.2"}, {"x \"$(cat <<'E'\n\"$(y)\"\nE\n)\"", "bash 3.2"}, {"x $(a $(b $(c $(d))))", "deeper"},
	{"((((a))))", "(("}, {"( ( ( (a) ) ) )", "deeper"}, {"a ;; b", ";;"}, {"; a", "name"}, {"a && ", "a missing command"}, {"a && && b", "name"}, {"| a", "name"}, {"a | | b", "name"}, {"if a; then; fi", "name"}, {"if a; fi", "then"}, {"for x in; do a; done", "a loop without words"}, {"for x; do a; done", "no \"in\""}, {"for path in a; do b; done", "variable"}, {"case x in y) z;; esac", "case"}, {"done", "a missing command"}, {"a )", "\")\""}, {"(a)b", "behind a group"}, {"(a) b", "\"b\""}, {"if a; then b; fi > f", "\">\""}, {"function f { a; }", "function"}, {"ls # x\\\nrm -rf ~", "comment that ends"}, {"'ls'", "name"}, {"$x", "name"}, {"l\\s", "command's name"}, {"a 'b", "quote"}, {"a \"b", "quote"},
}

func TestPlainRefuses(t *testing.T) {
	for _, x := range refused {
		_, why, ok := Plain(nil, x.line, nil)
		if ok || !strings.Contains(why.What, x.what) {
			t.Errorf("%q: accepted %v, refused for %q at %d, want %q", x.line, ok, why.What, why.At, x.what)
		}
	}
}

// FuzzPlain looks for lines in which the two readers differ although the plain one
// accepts, and for lines that break either.
func FuzzPlain(f *testing.F) {
	for _, line := range accepted {
		f.Add(line)
	}
	for _, x := range refused {
		f.Add(x.line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		steps := budget.New(nil)
		form, why, ok := Plain(nil, line, &steps)
		require.Less(t, steps.Taken(), 64*(len(line)+64), "each byte takes a few steps")
		if !ok {
			require.NotEmpty(t, why.What)
			require.LessOrEqual(t, why.At, len(line))
			return
		}
		again, _, _ := Plain([]byte("x"), line, nil)
		require.Equal(t, "x"+string(form), string(again), "what is before stays")
	})
}

func BenchmarkPlain(b *testing.B) {
	line := `cd web && npm test 2>&1 | grep -v "^ok" | sed -n '1,40p' > out.log; git diff --stat HEAD~1 -- "src/$name" | sort -k2 | head -20 && ls`
	buf := make([]byte, 0, 1024)
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		if _, _, ok := Plain(buf, line, nil); !ok {
			b.Fatal("refused")
		}
	}
}
