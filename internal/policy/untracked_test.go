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
	folders := []string{"/workspace", "/workspace/app", "/workspace/src", "/workspace/deep", "/workspace/sub", "/workspace/other"}
	of := func(line string, files ...string) approval.Judgement {
		c := lineCall(t, line)
		c.Context.Untracked = &approval.Untracked{Folders: folders, Files: files, Ignored: []string{}}
		return judge(e, c)
	}
	const env = "/workspace/app/.env"
	for _, asks := range []string{
		"git add .", "git add app.d/../app", "git add -- -u/../.", "git add -- app -u/../src", "git add -- . -u", "git add -- -u/..", "git add -A", "git add --all", "git add app", "git add app/", "git add ./app/.", "git add APP", "git add :/", "git add -N .", "git add -v -- .",
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
	c.Context.Untracked, c.Points = &approval.Untracked{Folders: folders, Files: []string{env}}, true
	point := judge(e, c).Points[0]
	require.Equal(t, []any{"reads-secret", "git add .", "reads %s, which usually holds secrets", []string{env}}, []any{point.Code, point.Text, point.Does, point.Of})
	for _, allowed := range []string{
		"git add main.go", "git add -", "echo x >> Makefile && git add Makefile .gitignore", "git add app/main.go", "git add application", "git add -u", "git add -u .", "git add --update app", "git stash", "git stash push -m u",
		"git status", "git commit -am x", "git log --grep add", "cd other && git add .", "echo git add .",
	} {
		require.Equal(t, approval.OutcomeAllow, of(allowed, env).Outcome, allowed)
	}
	require.Equal(t, approval.OutcomeAllow, of("git add .", "/workspace/app/main.go").Outcome, "the desk itself knows what is secret")
	// What the asker did not look at may hold any secret; a line's own words decide that here, as only policy reads them all.
	for _, asks := range []string{
		"cd away && git add .", "git -C away add .", "for d in aw; do git -C ${d}ay add .; done", `for d in */; do (cd "$d" && git add .); done`, "for s in d; do git ad$s away; done; cd away; git stash -u",
		"git -C app/.. add .", "git -C l/../x add .", "find . -name .git -execdir git add . ';'", "git --git-dir=away/.git add .", "cd $(git rev-parse --show-toplevel) && git add -A",
	} {
		require.Contains(t, of(asks).Assessment.ReasonCodes, "may-read-secret", asks)
	}
	for line, file := range map[string]string{"git add x.d": "/workspace/x.d/server.key", "git add example.com": "/workspace/example.com/k.pem", "git add main.go": "/workspace/main.go/.env"} {
		require.Equal(t, approval.OutcomeAsk, of(line, file).Outcome, line)
	}
	// What git ignores counts after a command that may change what it ignores.
	ignored := func(line string, files []string) approval.Judgement {
		c := lineCall(t, line)
		c.Context.Untracked = &approval.Untracked{Folders: folders, Ignored: files}
		return judge(e, c)
	}
	for _, asks := range []string{
		"echo > .gitignore; git add .", "for f in gnore; do sed -i 's/env/x/' .giti$f; done; git add .", "for c in witch; do git s$c -q other; done; git add .", "cp -r app x && git add x", "mv certs.d y.d && git add y.d", "git stash && git add -A", "git stash push -k && git add .", "cp -r app x.json && git add x.json", "mv app x.go && git add x.go",
		"mv app readme && git add readme", "git mv app x.json && git add x.json", "mkdir x.json && cp -r app x.json/ && git add x.json", "mv app x && git add -A", "git init && git add .",
		"rsync -a app/ x/; git add .", "tar xf a.tar && git add .", "git stash -a", "git stash --all", "git stash pop && git add -A", "cd app && git init -q && git add .", "git rm -q --cached .gitignore && git add .",
	} {
		require.Equal(t, approval.OutcomeAsk, ignored(asks, []string{env}).Outcome, asks)
		require.Equal(t, approval.OutcomeAsk, ignored(asks, nil).Outcome, "%s: it did not look at what is ignored", asks)
	}
	for _, allowed := range []string{"git add -A && git commit -m x", "go test ./... && git add .", "cp a.go b.go && git add .", "sed -i s/a/b/ main.go && git add .", "echo x > a.txt; git add -A", "mkdir x && git add ."} {
		require.Equal(t, approval.OutcomeAllow, ignored(allowed, nil).Outcome, allowed)
		require.Equal(t, approval.OutcomeAllow, ignored(allowed, []string{env}).Outcome, allowed)
	}
	require.Equal(t, approval.OutcomeAsk, ignored("mv x.json y && git add y", []string{"/workspace/x.json/.env"}).Outcome, "a folder that is called like a file")
	require.Equal(t, approval.OutcomeAllow, ignored("git init -q && git add .", []string{}).Outcome)
	require.Equal(t, approval.OutcomeAllow, judge(e, lineCall(t, "cd away && git add .")).Outcome, "other askers do not look")
	for _, unseen := range []string{"# don't\ntimeout 5 \"gi\"t add .", `bash -c 'timeout 5 "gi"t add .'`} {
		c := lineCall(t, unseen)
		c.Context.Untracked = &approval.Untracked{}
		require.Equal(t, approval.OutcomeAsk, judge(e, c).Outcome, unseen)
	}
	confined := confinable(t, "git add . && ./frob")
	confined.Context.Untracked = &approval.Untracked{Folders: folders, Files: []string{env}}
	require.Nil(t, judge(engine(t, shipped, unsure), confined).Confined)
}
