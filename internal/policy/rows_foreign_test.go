package policy

import "testing"

// TestForeignCodeAsks: what git brings is written by others, and a line that runs the
// project's code then runs it. A change between one's own branches is none of that.
func TestForeignCodeAsks(t *testing.T) {
	t.Parallel()
	e := engine(t)
	checkLines(t, e, lines("R3 writes-and-runs",
		"git pull && ./scripts/test.sh", "git pull && make test", "git pull; npm test", "git pull --rebase origin main && go test ./...", "git fetch && git checkout origin/x && npm test",
		"git fetch origin && git merge origin/main && cargo test", "git fetch origin && git rebase origin/main && pytest", "git pull --ff-only\nnpm ci\nnpm test", "for i in 1 2; do git pull; make test; done", "git stash pop && go test ./...",
	))
	checkLines(t, e, lines("R1", "git checkout -b x && npm test", "git checkout main && go test ./..."))
	checkLines(t, e, lines("R2", "git pull && git log -3", "git fetch && git status && make test", "git pull && go build ./...", "npm ci && npm test", "npm test && git pull"))
}

// TestProductionAsks: tests and builds that are run against production are a deployment.
func TestProductionAsks(t *testing.T) {
	t.Parallel()
	e := engine(t)
	checkLines(t, e, lines("R3 remote-system",
		"mvn -P prod test", "mvn test -P dev,prod", "mvn --activate-profiles live-eu package", "./mvnw -P Production verify", "dbt compile --target prod", "dbt compile --target=production", "dbt ls -t prd", "dbt compile -t \"$t\"",
	))
	checkLines(t, e, lines("R3", "gradle test -Pprofile=prod", "./gradlew check -Pprofile=production"))
	checkLines(t, e, lines("R1", "mvn -P dev test", "mvn -P !prod test", "mvn -P product-tests,it verify", "gradle test -Pprofile=dev", "dbt ls -t dev"))
}

// TestSettingsThatRunCodeAsk: later commands obey these files, also ones that only look.
func TestSettingsThatRunCodeAsk(t *testing.T) {
	t.Parallel()
	e := engine(t)
	for _, file := range []string{".tool-versions", ".gitattributes", "bunfig.toml", ".bundle/config", ".npmrc", ".envrc", ".mise.toml", "mise.local.toml", "rust-toolchain.toml", "rust-toolchain", ".yarn/releases/yarn.cjs", ".pnp.cjs", "web/.pnpmfile.cjs", ".bazelrc", ".jvmopts", ".pdbrc", "devbox.json"} {
		checkLines(t, e, []row{{"echo x > " + file, "R3"}, {"cp a.txt " + file, "R3"}, {"sed -i s/a/b/ " + file, "R3"}})
	}
	checkLines(t, e, lines("R0", "cat .tool-versions", "ls .yarn", "cat bunfig.toml", "grep channel rust-toolchain.toml"))
	checkLines(t, e, lines("R1", "git add .tool-versions .yarn", "echo x > .gitignore", "echo x > yarn.txt"))
}
