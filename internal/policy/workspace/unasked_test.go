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

// What Unasked and Odd say of a path's names is what Write finds for the path in a workspace: a confined call goes by
// the ones, a file tool is asked by the other.
func TestUnasked_IsWhatWriteAsksNothingAbout(t *testing.T) {
	t.Parallel()
	names := []string{"a", "src", "main.go", ".env", ".env.example", "secrets", "x.json", ".git", "HEAD", "config", ".claude", "settings.json", "hooks", "node_modules",
		".bin", ".venv", "bin", "python", "gradle", "wrapper", "gradlew", "sudoers", "sudoers.d", "id_rsa", "k.pem", "token.txt", "AGENTS.md", ".github", ".zencoder", "-rf", "a b",
		"a -x", "it's", "$HOME", "~x", "a\\b", "x\ny", "site-packages", "x.pth", ".vscode", "shadow", "Makefile", "flake.nix", "etc", "claude", "mcp.json", ".ENV", "ſecrets.json"}
	own := NewOwn(Protected{})
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom(names), 1, 4).Draw(t, "names")
		file := "/w/" + strings.Join(parts, "/")
		r := Reader{Own: &own, Found: &finding.Set{}, Place: At([]string{"/w"}, &own, nil, "/w", "")}
		r.Write(PathWord(file))
		asks := r.Found.Class() > approval.R1
		odd := false
		for _, name := range parts {
			odd = odd || Odd(name)
		}
		asks = asks || slices.Contains(parts, "~x") // which is a home where its folder is left out
		require.Equal(t, asks, odd || !Unasked(FoldPath(file[1:])), "%q: %v", file, r.Found)
	})
}
