package policy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// A secret that git would take unnamed is read as if it were named. Otherwise git diff --cached, which runs unasked, would
// print it.
func TestUntrackedSecrets(t *testing.T) {
	t.Parallel()
	e := engine(t, shipped)
	of := func(line string, files ...string) approval.Judgement {
		c := lineCall(t, line)
		c.Context.Untracked = files
		return judge(e, c)
	}
	const env = "/workspace/app/.env"
	for _, asks := range []string{
		"git add .", "git add -A", "git add --all", "git add app", "git add app/", "git add ./app/.", "git add APP", "git add :/", "git add -N .", "git add -v -- .",
		"git add 'app/*'", "cd app && git add .", "git -C app add -A", "git stash -u", "git stash push --include-untracked -m x", "git stash -qu", "git add . && git commit -m x",
		"sh -c 'git add .'", "git add main.go app", "timeout 5 git add .", "for d in app; do git add $d; done", "git add ..", "git -C deep add er", "git -C sub add ../cfg", "cp -r top src/ && git add src", "ls | xargs git add",
	} {
		j := of(asks, env)
		require.Equal(t, approval.OutcomeAsk, j.Outcome, asks)
		if j.Assessment.ReasonCodes[0] != "unknown-command" && asks != "ls | xargs git add" {
			require.Contains(t, j.Assessment.ReasonCodes, "reads-secret", asks)
		}
	}
	c := lineCall(t, "git add . && git status")
	c.Context.Untracked, c.Points = []string{env}, true
	point := judge(e, c).Points[0]
	require.Equal(t, []any{"reads-secret", "git add .", "reads %s, which usually holds secrets", []string{env}}, []any{point.Code, point.Text, point.Does, point.Of})
	for _, allowed := range []string{
		"git add main.go", "git add app/main.go", "git add application", "git add -u", "git add -u .", "git add --update app", "git stash", "git stash push -m u",
		"git status", "git commit -am x", "git log --grep add", "cd other && git add .", "echo git add .",
	} {
		require.Equal(t, approval.OutcomeAllow, of(allowed, env).Outcome, allowed)
	}
	require.Equal(t, approval.OutcomeAllow, of("git add .", "/workspace/app/main.go").Outcome, "the desk itself knows what is secret")
	confined := confinable(t, "git add . && ./frob")
	confined.Context.Untracked = []string{env}
	require.Nil(t, judge(engine(t, shipped, unsure), confined).Confined)
}
