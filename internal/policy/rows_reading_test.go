package policy

import "testing"

// TestRows_Reading: addresses of sed, patterns of grep and checks of scripts, and their
// twins.
func TestRows_Reading(t *testing.T) {
	t.Parallel()
	harmlessAndTwins(t, []string{
		`sed -n '/^## \[Unreleased\]/,/^## \[1/p' CHANGELOG.md`, `sed -n '/func (s \*Server)/,/^}/p' x.go`, `sed -n '/[0-9]\/[a-z]/p' x`, `sed '/^\s*$/d' x`, `grep -rhoE "process\.env\.[A-Z_]+" src`,
		`grep -rniE "create (unique )?index" db/migrate db/structure.sql`, "for f in scripts/*.sh; do bash -n \"$f\" || echo \"BAD: $f\"; done", "bash -n scripts/a.sh",
	}, []string{
		`sed -n '/a\/w x/w /etc/x' f`, `sed '/[/]/w x' f`, `sed '/[]/]x/w x' f`, `sed '/a/e id' f`, `sed '/\c/w x/' f`, `sed -n '/[[:alpha:]/]/w x' f`, `sed '/x\/;w y' f`, `grep -rE "AWS_[A-Z_]+" .`, `grep -rE "[A-Z_]+=" .`, `grep -rhoE "[A-Z_]+KEY" .`,
		`grep -rE "STRIPE[A-Z_]+" .`, `grep -rE "(abc)?" .`, `grep -rE "(abc )*x" .`, `grep -rE "(password)?" .`, `grep -rE "((abc )?def)?" .`, `grep -rE "DB_[A-Z_]*" .`, `grep -rE "process.[A-Z_]+_KEY" .`,
		`for f in scripts/*.sh; do bash "$f"; done`, "bash -n $x", "for f in *; do bash -n $f; done", "bash -c scripts/*.sh", "bash -n .env",
	})
}
