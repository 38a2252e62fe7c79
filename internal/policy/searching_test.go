package policy

import "testing"

// Where an option gives the pattern, the first operand is a file.
func TestFirstOperandOfASearchIsAFile(t *testing.T) {
	t.Parallel()
	e := engine(t)
	checkLines(t, e, lines("R3 reads-secret", "grep .env -e .", "grep .env --regexp=.", "grep .env -f pat", "grep -n .env -eAPI", "egrep .env -e ''", "zgrep .env -e .", "rg .env -e .", "rg .env -e foobar", "git grep -e . -- .env", "git grep -e . .env", "git grep -n .env -e x"))
	checkLines(t, e, lines("R3 may-read-secret", "grep -r /root/x -e foobar"))
	checkLines(t, e, lines("R0", "grep -e foobar src/a.go", "grep -n foobar src/a.go", "grep src/a.go -e .", "rg -e foobar src", "rg foobar src", "rg --files src", "git grep -n foobar", "git grep -e foobar -- src", "git grep .env src", "grep .env README.md"))
}

// Names of files narrow a search only where all that it looks at has them.
func TestWhatDoesNotNarrowASearch(t *testing.T) {
	t.Parallel()
	e := engine(t)
	checkLines(t, e, lines("R3 may-read-secret", "grep -r --exclude=zzz --include='*.go' '' .", "grep -r --exclude-from=/dev/null --include='*.go' '' .", "grep -rh --include='*.md' --exclude='*.zzz' . .", "rg '' -g '{*.go,.env}'", "rg '' -g '{x.go,secrets.json}'", "rg . -g '*.{go,env}'", "rg '' -t go -t json", "rg '' -g ''"))
	checkLines(t, e, lines("R0", "grep -r --include='*.go' '' .", "grep -rn foobar --exclude='*_test.go' .", "grep -rn foobar --include='*.go' --exclude='*_test.go' .", "rg '' -g '*.go'", "rg '' -g '*.{ts,tsx}'", "rg '' -t go -t py", "rg foobar -t json", "rg --files", "rg --files -g '*.proto'"))
}

// A pattern whose letters stand for anything, or for nothing, finds every line.
func TestPatternsWithoutAWordOfTheirOwn(t *testing.T) {
	t.Parallel()
	e := engine(t)
	checkLines(t, e, lines("R3 may-read-secret", "grep -rE 'a{0,999}' .", "grep -r 'handler\n' .", "grep -rF 'handler\n' .", "grep 'handler\n' src/*", "grep -rP '(?!zzz)' .", "grep -rP '^(?!zzz)' .", "grep -rP '(?<abc>.)' .", "grep -rP '\\p{Alphabetic}' .", "grep -rP '(?#abc).' .", "rg 'a{0,999}'", "rg '(?P<abc>.)'",
		"rg '(?x). #abc'", "rg '\\p{Alphabetic}'", "rg 'a{0,999}' src/*", "rg '\\b{start}'", "rg '\\u0065'", "grep -rP '\\x65a' .", "grep -r '[]abc]' .", "grep -r '[^]abc]' .", "rg '[x[y]abc]'", "rg '[\\]abc]'", "grep -rP '(*ACCEPT)abc' .", "grep -rP '\\Qa\\Ebcd?' .", "grep -r '[abc' ."))
	checkLines(t, e, lines("R3 may-read-secret", "grep -ri assw .", "grep -r oken .", "grep -ri ecre .", "grep -rh API .", "grep -rh eyJ .", "rg -i edentia", "rg assw", "rg 'ass.*rd'", "rg 's.cret'", "grep -rn 'oke[n]' ."))
	checkLines(t, e, lines("R0", "grep -rnE 'class \\w+Controller' app", "grep -rn 'func main() {' .", "rg 'useState\\('", "rg '(?i)todo'", "rg '(?:foo|bar)baz[0-9]+' src || true", "grep -rn '[[:space:]]handler' src", "rg 'foo{2,3}bar'", "rg 'handler[\\w.-]+x'", "grep -rn 'import { foo }' src", "rg 'api/v1'", "rg handler", "grep -rn 'export default' src", "rg '^import'"))
}
