package policy

import "testing"

// Where an option gives the pattern, the first operand is a file.
func TestFirstOperandOfASearchIsAFile(t *testing.T) {
	e := engine(t)
	checkLines(t, e, lines("R3 reads-secret", "grep .env -e .", "grep .env --regexp=.", "grep .env -f pat", "grep -n .env -eAPI", "egrep .env -e ''", "zgrep .env -e .", "rg .env -e .", "rg .env -e foobar", "git grep -e . -- .env", "git grep -e . .env", "git grep -n .env -e x"))
	checkLines(t, e, lines("R3 may-read-secret", "grep -r /root/x -e foobar"))
	checkLines(t, e, lines("R0", "grep -e foobar src/a.go", "grep -n foobar src/a.go", "grep src/a.go -e .", "rg -e foobar src", "rg foobar src", "rg --files src", "git grep -n foobar", "git grep -e foobar -- src", "git grep .env src", "grep .env README.md"))
}

// Names of files narrow a search only where all that it looks at has them.
func TestWhatDoesNotNarrowASearch(t *testing.T) {
	e := engine(t)
	checkLines(t, e, lines("R3 may-read-secret", "grep -r --exclude=zzz --include='*.go' '' .", "grep -r --exclude-from=/dev/null --include='*.go' '' .", "grep -rh --include='*.md' --exclude='*.zzz' . .", "rg '' -g '{*.go,.env}'", "rg '' -g '{x.go,secrets.json}'", "rg . -g '*.{go,env}'", "rg '' -t go -t json", "rg '' -g ''"))
	checkLines(t, e, lines("R0", "grep -r --include='*.go' '' .", "grep -rn foobar --exclude='*_test.go' .", "grep -rn foobar --include='*.go' --exclude='*_test.go' .", "rg '' -g '*.go'", "rg '' -g '*.{ts,tsx}'", "rg '' -t go -t py", "rg foobar -t json", "rg --files", "rg --files -g '*.proto'"))
}
