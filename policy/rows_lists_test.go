package policy

import "testing"

// TestRows_Hashes: commands that are given hashes which git printed, and what only looks
// like them.
func TestRows_Hashes(t *testing.T) {
	harmlessAndTwins(t, []string{
		"git show $(git rev-list -1 HEAD -- src/a.ts) --stat", "git branch --contains $(git rev-parse HEAD~4)", `git diff "$(git rev-parse --short origin/main)"..HEAD -- src/a.go`, `git log --oneline "$(git log -1 --format=%H -- go.mod)"..HEAD`,
		"git log --format=%h -5 | xargs -I{} git show --stat --oneline {}", "git log --format=%H -n 5 -- src | xargs -I % git diff --stat %^ %", "git rev-list --max-count=5 HEAD | xargs -n1 git show --no-patch --oneline",
		"for c in $(git rev-list --reverse main..HEAD); do git show --stat --oneline $c; done", `git rev-list --no-merges main..HEAD | while read -r c; do git show --stat "$c"; done`, "git log --pretty=format:%h -3 | head -2 | xargs git show --stat",
		`git rev-list main..HEAD | xargs -I{} sh -c 'git show --stat {} | head -5'`,
	}, []string{
		"git show $(git rev-list -1 HEAD --objects) --stat", "git show $(git log -1 --format=%h HEAD -p)", "git show $(git log -1 --format=%s) --stat", "git show $(git rev-list -1 --boundary HEAD) --stat", `git show "$(git rev-parse x)"`, `cat "$(git rev-parse secrets.json)"`,
		"git log --format='%h %s' -5 | xargs -I{} git show --stat {}", "git log --format=%h -p -5 | xargs git show", "git log --format=%s -5 | xargs git show", "git rev-list --objects HEAD | xargs git show", "git rev-list --left-right a...b | xargs git show", "git log -5 | xargs git show",
		"git rev-list HEAD | xargs -I{} git show {}:.env", "git rev-list HEAD | xargs -I{} git reset --hard {}", "git rev-list HEAD | xargs -n1 git push origin", `git rev-list HEAD | xargs -I{} sh -c 'rm {}'`, "git rev-list HEAD | xargs -d e git show", "git rev-list HEAD 2>&1 | xargs git show",
		"git rev-list HEAD | cut -c1 | xargs git show", "git rev-list HEAD | sed s/^/-/ | xargs git show", "for c in $(git rev-list HEAD); do git show $c:.env; done", "for c in $(git rev-list HEAD --header); do git show $c; done", "for c in $(git rev-list HEAD); do git checkout $c; done",
		"git rev-list HEAD | xargs -a x git show", "git rev-list HEAD | xargs {} x", "git log --format=%h --output=x -5 | xargs git show", "for c in $(git rev-list $x); do git show --stat $c; done",
	})
}
