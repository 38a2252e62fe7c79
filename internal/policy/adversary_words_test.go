package policy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// TestAdversary_W14_WordsThatProgramsReadOtherwise: what a program takes for another
// command, an option or a file than it looks like asks.
func TestAdversary_W14_WordsThatProgramsReadOtherwise(t *testing.T) {
	t.Parallel()
	e := engine(t, shipped)
	for _, lines := range [][]string{
		{ // "+" ends find's command behind {} only, ";" ends fd's
			`echo x | find . -maxdepth 0 -exec xargs -E + -iname bash -ctime 'touch x' -name ';'`,
			`find . -exec xargs -E + -regex bash -name ';'`, `find . -ok ls + -name \;`,
			`find . -exec echo {} +"$x" -delete -name ';'`, `fd . -x echo ';' -x rm`, `fd ';' -X echo \; -H`,
		},
		{ // -m of rebase, --format and others take no value where the next word is an option
			`git rebase -m -x 'touch x' HEAD~1`, `git rebase -mx 'touch x' HEAD~1`, `git rebase -m --exec='touch x' HEAD~1`,
			`git log --format --output=/home/u/x`, `git stash list --format --output=x`, `git log --format "$x"`, `grep --context -r . .`, `lsof -i -Db/tmp/x`,
		},
		{ // letters that programs join in ways of their own
			`xxd -ps .env`, `xxd -ps README.md /srv/x`, `xxd -uc README.md /srv/x`, `xxd -len 5 x y`, `tree -Po x /srv/x`, `tree -Lo 1 x`, `tree -LPo 1 x y`,
		},
		{ // options with which cd goes home or back
			`cd -LP && echo x > notes`, `cd -e && mkdir x`, `cd -q && cp a bin/a`, `cd -PL; git status`, `cd +1 && mkdir x`, `cd -- -LP && mkdir x`,
		},
		{ // -w of npm takes a workspace, which may be called like a script
			`npm -w test publish`, `npm -w test run deploy`, `npm -w lint exec evil`, `npm -w build install evil`, `npm -sw test publish`,
		},
		{ // files that tools write
			`clang-tidy -export-fixes=.husky/pre-commit x.c`, `clang-tidy -load=x.so x.c`, `mvn -l .github/workflows/x.yml test`, `mvn --log-file=.husky/x test`,
		},
	} {
		for _, line := range lines {
			j := judge(e, lineCall(t, line))
			require.NotEqual(t, approval.OutcomeAllow, j.Outcome, "%s: %v", line, j.Assessment.ReasonCodes)
		}
	}
	for _, line := range []string{
		`find . -name '*.go' -exec grep -l foo {} +`, `find . -name '*.go' -exec wc -l {} \;`, `fd -e go -x echo {} ';'`,
		`git rebase -m main`, `git commit -m '- a'`, `grep -e -x f`, `go build -ldflags '-s -w' .`, `npm -w packages/a test`, `npm -s -w a run lint`, `npm test -w a`, `pnpm -w test`, `clang-tidy -p build x.c`, `clang-format -i x.c`, `mvn -q -l build.log test`, `lsof -i -P -n`, `xxd -ps f`, `xxd -c16 -l 4 f`, `tree -L 2`, `tree -aL 2 src`, `tree -aI 'node_modules|dist' -L2`, `lsof -i :80`, `sort -k 2 f`, `git log --format %H -1`,
	} {
		j := judge(e, lineCall(t, line))
		require.Equal(t, approval.OutcomeAllow, j.Outcome, "%s: %v", line, j.Assessment.ReasonCodes)
	}
}

// Names that stand for private addresses are such addresses.
func TestAdversary_W15_NamesOfPrivateAddresses(t *testing.T) {
	t.Parallel()
	e := engine(t, shipped)
	for _, host := range []string{"10.0.0.1.nip.io", "169-254-169-254.sslip.io:80", "A.LOCALTEST.ME", "lvh.me."} {
		j := judge(e, callOf(t, "web_fetch", map[string]any{"url": "http://" + host + "/x"}))
		require.Equal(t, approval.OutcomeAsk, j.Outcome, host)
		require.Contains(t, j.Assessment.ReasonCodes, "private-address", host)
	}
	require.Equal(t, approval.OutcomeAllow, judge(e, callOf(t, "web_fetch", map[string]any{"url": "https://anip.io/"})).Outcome)
}
