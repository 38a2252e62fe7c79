package policy

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// What stands as one word in the line can be several when it runs. The second of
// them is an option, a file, or the command that a wrapper runs.
func TestAWordThatBecomesSeveralAsks(t *testing.T) {
	t.Parallel()
	e := engine(t)
	for _, line := range []string{
		"nice -n $(echo 5 rm -rf ~) ls", "x='5 rm -rf foo'; nice -n $x ls", "nice -n {5,rm,-rf,foo} ls", "nice -n `echo 5 rm x` ls", "timeout -s {KILL,5,rm,x} 5 ls", "timeout -k $x 5 ls", "timeout --signal $x 5 ls",
		"x='C rm -rf foo'; env LANG=$x ls", "env LANG={C,rm} x", "env -u $x ls", "stdbuf -o $x ls", "ionice -c $x ls", "exec -a $x ls", "flock -w $x f ls", "flock scripts/* ls", "taskset m* ls",
		"xargs -n $x ls", "xargs -I $x ls", "xargs --max-args $x ls",
		"find . -name {a,-delete}", "for x in 'a -delete'; do find . -name $x; done", "echo 'a -delete' | xargs find . -name", "find . -name *", "find . -newer ?delete", "fd -e {go,-x,rm} .", `find . -exec ls $x \;`, `find . -exec ls "$x" -delete -exec ls \;`, `find . -exec ls {a,\;,-delete,-exec,ls} \;`, "find . -exec ls * +", "fd a -x ls $x",
		"sort -k {1,-o,/srv/x} f", "sort -k $k f", "git log -n {1,--output=/srv/x}", "git log -n $n", "git grep -e {a,-O./ev}", "rg -m {1,--pre=./ev} foo", "rg -g * foo", "grep -e {a,-f,.env} f", "grep -A $n foo f",
		"date -d {now,-s,2001-01-01}", "read -d {a,PATH} x <<< /evil; ls", "read -p $x y", "mkdir -m {755,/srv/x} d", "cp -S {x,-t,/etc} a b", "touch -d $x f", "sed -e $x f", "curl -H $x https://x.org", "git commit -m $x",
		`mv -t "$x" job`, `mv --target-directory="$x" job`, `ln -t "$x" a`, `cp -t "$x" a`, "mv -t d* job",
		"uniq /srv/app/*.js", "uniq ~/bin/*.sh", "xxd -p /srv/app/*.js", "python3 -m json.tool /srv/x/a*.js", "uniq $x",
		"cd && strings @.netrc", "strings @x", "strings *", "awk 1 /inet/tcp/0/169.254.169.254/80", "awk NR* f", "jq .* f", "printf a* b", "sed -i p w/usr/local/bin/x f",
		"x='C PATH=/tmp'; export LANG=$x; ls", "x=--files0-from=.env; wc $x", `ls | while read f; do wc "$f"; done`, "for f in a --files0-from=.env; do wc $f; done", "for f in 'a -o /etc/x'; do sort $f; done",
		"for f in a b; do f=--files0-from=.env; wc $f; done", "for f in a; do read f; wc $f; done", "for f in a; do for f in -x; do sort $f; done; done", "for f in a; do ls; done; sort $f", "for f in a; do $f; done",
	} {
		require.NotEqual(t, approval.OutcomeAllow, judge(e, lineCall(t, line)).Outcome, line)
	}
	for _, line := range []string{
		`git commit -m "$(date)"`, "for f in a.txt b.txt; do wc -l $f; done", "find . -name *.go", "find . -name '*'", "rg -g '*.go' foo src", `env NODE_ENV="$x" ls`,
		"sed -i s/a/b/ www/index.html", "strings x.bin", "jq '.a[]' x.json", "cp -t src a.go", "grep -r --include=*.go foo .",
	} {
		require.Equal(t, approval.OutcomeAllow, judge(e, lineCall(t, line)).Outcome, line)
	}
}

// Whatever a line with an unquoted variable may do, it may do whatever stands in
// the variable: each word of lines that are allowed is tried.
func TestAllowedWithAVariableIsAllowedWithItsValues(t *testing.T) {
	t.Parallel()
	e := engine(t)
	values := []string{"a -delete", "5 rm -rf foo", "5 ./evil", "--pre=./evil", "1 --output=/etc/x", "-o /etc/x", "a -exec rm {} ;", "x -t /etc", "-f .env", ".env", "a /etc/shadow", "@.netrc", "-s 12:00", "x PATH"}
	seen := map[string]bool{}
	for _, x := range corpus(t) {
		if x.tool != "$" || x.outcome != "allow" || strings.ContainsAny(x.text, "'\"\\$`␤(){}[]<>&;|*?!#~") || seen[x.text] {
			continue
		}
		seen[x.text] = true
		words := strings.Fields(x.text)
		for i := 1; i <= len(words); i++ {
			with := func(w string) string {
				list := append(append([]string{}, words[:i]...), w)
				return strings.Join(append(list, words[min(i+1, len(words)):]...), " ")
			}
			if judge(e, lineCall(t, with("$v"))).Outcome != approval.OutcomeAllow {
				continue
			}
			for _, v := range values {
				require.Equal(t, approval.OutcomeAllow, judge(e, lineCall(t, with(strings.ReplaceAll(v, ";", `\;`)))).Outcome, "%s, and %s", with("$v"), with(v))
			}
		}
	}
	require.Greater(t, len(seen), 100)
}
