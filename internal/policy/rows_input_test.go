package policy

import "testing"

// TestRows_Input: what is changed in place, entered, asked of a forge or a database, and
// their twins.
func TestRows_Input(t *testing.T) {
	t.Parallel()
	harmlessAndTwins(t, []string{
		`yq -i '.log.level = "debug" | .server.port = 0' internal/config/app.yaml`, "yq e -i 'del(.a)' x.yml", "for d in modules/*/; do echo \"=== $d\"; (cd \"$d\" && terraform fmt -check -no-color) || true; done",
		"for d in packages/*/; do (cd \"$d\" && npm test); done", "for d in a b; do (cd \"$d\" && go test ./...); done", "for d in */; do (cd \"$d\" && git status --short && cat README.md); done",
		"gh api graphql -f query='\nquery { viewer { login } }' --jq .data", "gh api graphql -f query='query($o: String!) { repository(owner: $o, name: \"x\") { id } }' -f o=acme",
		"psql -d app_dev <<'SQL'\nEXPLAIN SELECT o.id FROM orders o WHERE a > now() - interval '7 days';\n\\d orders\nSQL", "psql app_dev <<'SQL'\n\\timing on\n\\x\nselect 1;\n-- what it is\n\\dt\nSQL", "timeout 5 psql -d x <<'SQL'\nselect 1;\nSQL",
		"git apply --recount <<'EOF'\n--- a/src/math.c\n+++ b/src/math.c\n@@ -10,3 +10,3 @@ int clamp(int v)\n {\n-    a;\n+    b;\nEOF", "git apply <<'EOF'\ndiff --git a/x.md b/x.md\nnew file mode 100644\nindex 000..1ab\n--- /dev/null\n+++ b/x.md\n@@ -0,0 +1 @@\n+x\nEOF",
	}, []string{
		"yq -i '.a = load(\"/etc/x\")' a.yml", "yq -i '.a = 1' .github/workflows/ci.yml", "yq -i '.a = 1' /srv/x.yml", "yq -i .github/workflows/ci.yml a.yml", "yq -i '.a = 1'", "yq '.a = 1' -i x.yml", "yq -i \"$x\" a.yml", "yq -i '.a = 1' .env", "yq -i '.a=1' $f",
		"jq -i '.a = 1' x.json", "for d in modules/*/; do (cd $d && terraform fmt -check); done", "for d in modules/*/; do cd \"$d\" && npm test; done", "for d in /tmp/*/; do (cd \"$d\" && npm test); done", "for d in .*/; do (cd \"$d\" && cat config); done",
		"for d in .git/*/; do (cd \"$d\" && echo x > y); done", "for d in ../*/; do (cd \"$d\" && npm test); done", "for d in modules/*/; do (cd \"$d\" && cat .env); done", "for d in modules/*/; do (cd \"$d\" && rm x); done", "for d in modules/*/; do (cd \"$d/../..\" && npm test); done",
		"for d in modules/*/; do (cd \"$d\" && npm run deploy); done", "for d in modules/*/; do (cd \"$d\" && echo x > .git/hooks/y); done",
		"gh api graphql -f query='mutation { deleteIssue(input: {issueId: 1}) { id } }'", "gh api graphql -f query='query { a } mutation { b }'", "gh api graphql -f query='{ a }' -f query='mutation { b }'", "gh api graphql -f query='{ a }' -f query='{ b }' -f query='{ c }'",
		"gh api graphql -f query=\"$q\"", "gh api graphql -f query='{ a }' -f \"$x\"", "gh api graphql -F query=@x.graphql", "gh api graphql --input x.json", "gh api graphql -X GET -f query='mutation { b }'", "gh api graphql -X POST", "gh api graphql", "gh api graphql -f query='fragment x on Y { a } mutation { b }'",
		"psql -d x <<'SQL'\ndelete from orders;\nSQL", "psql -d x <<'SQL'\n\\! id\nSQL", "psql -d x <<'SQL'\nselect 1 \\gexec\nSQL", "psql -d x <<'SQL'\n\\copy t to program 'id'\nSQL", "psql -d x <<'SQL'\n\\i x.sql\nSQL", "psql -d x <<'SQL'\n\\d x \\! id\nSQL", "psql -d x <<SQL\nselect $x;\nSQL",
		"psql -h db.prod <<'SQL'\nselect 1;\nSQL", "psql -d x <<'SQL'\nselect password from users;\nSQL", "psql -d x <<'SQL'\n\\o |sh\nselect 1;\nSQL", "psql -d x -f y.sql <<'SQL'\nselect 1;\nSQL", "psql -d x < y.sql", "frob <<'SQL'\nselect 1;\nSQL\npsql -d x", "cat <<'SQL' > y\nselect 1;\nSQL\npsql -d x < y",
		"psql -d x <<'SQL'\n-- ' \ndelete from x;\n-- '\nSQL", "psql -d x <<'SQL'\n\\set a `id`\nSQL", "psql -d x <<'SQL'\n\\echo `id`\nSQL", "psql -d x <<'SQL'\nselect 1;\nSQL\npsql -d x", "sh <<'SQL'\nselect 1;\nSQL",
		"git apply x.diff", "git apply <<'EOF'\n--- a/.git/hooks/x\n+++ b/.git/hooks/x\n@@ -1 +1 @@\n-a\n+b\nEOF", "git apply <<'EOF'\n--- a/x\n+++ b/.github/workflows/x.yml\n@@ -1 +1 @@\n-a\n+b\nEOF", "git apply <<'EOF'\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\nEOF",
		"git apply -R <<'EOF'\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\nEOF", "git apply -p0 <<'EOF'\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\nEOF", "git apply <<'EOF'\n--- a/../x\n+++ b/../x\n@@ -1 +1 @@\n-a\n+b\nEOF", "git apply <<'EOF'\n--- a//etc/x\n+++ b//etc/x\n@@ -1 +1 @@\n-a\n+b\nEOF",
		"git apply <<'EOF'\ndiff --git a/x b/x\nnew file mode 120000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+/etc\nEOF", "git apply <<'EOF'\ndiff --git a/x b/.husky/y\nsimilarity index 100%\nrename from x\nrename to .husky/y\nEOF", "git apply <<'EOF'\n--- a/.env\n+++ b/.env\n@@ -1 +1 @@\n-a\n+b\nEOF",
		"git apply --unsafe-paths <<'EOF'\n--- a/x\n+++ b/x\nEOF", "git apply --directory=.git <<'EOF'\n--- a/x\n+++ b/x\nEOF", "cd /tmp && git apply <<'EOF'\n--- a/x\n+++ b/x\nEOF", "git apply <<'EOF'\n--- a/x_test.go\n+++ b/x_test.go\n@@ -1 +1 @@\n-a\n+b\nEOF\ngo test ./...",
		"git apply x.diff <<'EOF'\n--- a/x\n+++ b/x\nEOF", "git apply <<'EOF'\n--- \"a/.git/x\"\n+++ \"b/.git/x\"\nEOF",
	})
}
