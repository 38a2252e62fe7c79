package workspace

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"approvalbot/internal/approval"
	"approvalbot/internal/policy/finding"
)

// What Unasked, Private and Odd say of a path's names is what Write and Read find for the path in a workspace: a confined
// call goes by the ones, a file tool is asked by the others.
func TestUnasked_IsWhatWriteAsksNothingAbout(t *testing.T) {
	t.Parallel()
	names := []string{"a", "src", "main.go", ".env", ".env.example", "secrets", "x.json", ".git", "HEAD", "config", ".claude", "settings.json", "hooks", "node_modules",
		".bin", ".venv", "bin", "python", "gradle", "wrapper", "gradlew", "sudoers", "sudoers.d", "id_rsa", "k.pem", "token.txt", "AGENTS.md", ".github", ".zencoder", "-rf", "a b",
		"a -x", "it's", "$HOME", "~x", "a\\b", "x\ny", "site-packages", "x.pth", ".vscode", "shadow", "Makefile", "flake.nix", "etc", "claude", "mcp.json", ".ENV", "ſecrets.json",
		"approvalbot.client.yaml", "approvalbot.operator.yaml", "approvalbot", "approvalbot-hook", "client.yaml", "operator.yaml",
		"foo ", " a", "x*", "-", "b c", "x .git", "http:", "passwd", "a\tb", ".. x", "\u00a0-x", "backups", "@x", "[a]", "run",
		"id_rsa (copy)", "k.pem~", ".x.json.swp", "#token.txt#", "k.pem_old", "k.pem (1)", "token.txt [1]", "copy of .npmrc", "secrets (1)", "x.json (2)"}
	own := NewOwn(Protected{Programs: Programs[:]})
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom(names), 1, 4).Draw(t, "names")
		root := rapid.SampledFrom([]string{"/w", "/srv/my work", "/var/backups", "/x: /y"}).Draw(t, "root")
		file := root + "/" + strings.Join(parts, "/")
		found := func(judge func(*Reader, Word)) finding.Set {
			r := Reader{Own: &own, Found: &finding.Set{}, Place: At([]string{root}, &own, nil, root, "")}
			judge(&r, PathWord(file))
			return *r.Found
		}
		wrote, read := found((*Reader).Write), found((*Reader).Read)
		odd := slices.ContainsFunc(parts, Odd) || (slices.ContainsFunc(parts, Joins) || Joins(root)) && Odd(file)
		asks := wrote.Class() > approval.R1 || slices.Contains(parts, "~x") // which is a home where its folder is left out
		require.Equal(t, asks, odd || !Unasked(FoldPath(file)), "%q: %v", file, wrote)
		settings := slices.Contains(parts, ".git") && slices.Contains(parts, "config") // which git reads in a confined call
		if !odd && !settings {
			require.Equal(t, read.Class() > approval.R1, Private(FoldPath(file)), "%q: %v", file, read)
		}
	})
}
