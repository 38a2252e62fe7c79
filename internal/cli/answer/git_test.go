//go:build unix

package answer

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
)

// git runs git itself in a directory.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=x", "-c", "user.email=x@example.com"}, args...)...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return strings.TrimSpace(string(out))
}

// A call's branch and worktree are those that git itself would name.
func TestPlace(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git: not tested, install it")
	}
	repo, side := t.TempDir(), filepath.Join(t.TempDir(), "side")
	git(t, repo, "init", "-q", "-b", "main")
	require.Equal(t, api.From{Branch: "main"}, place(t.Context(), repo, api.From{}), "without a commit, too")
	git(t, repo, "commit", "-q", "--allow-empty", "-m", "x")
	git(t, repo, "worktree", "add", "-q", "-b", "fix/login", side)
	below := filepath.Join(side, "a", "b")
	require.NoError(t, os.MkdirAll(below, 0o700))
	runtime := api.From{Runtime: "Claude Code"}
	require.Equal(t, api.From{Runtime: "Claude Code", Branch: "fix/login", Worktree: "side"}, place(t.Context(), below, runtime))
	git(t, repo, "checkout", "-q", "--detach")
	require.Equal(t, api.From{Branch: git(t, repo, "rev-parse", "HEAD")[:8]}, place(t.Context(), repo, api.From{}))
	require.Equal(t, runtime, place(t.Context(), t.TempDir(), runtime), "no repository")
	require.Equal(t, runtime, place(t.Context(), "relative", runtime))
}

// A repository's files cannot make a hook wait, or show what is in another file.
func TestAdversary_N7_ARepositoryThatLies(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "worktrees", "x")
	require.NoError(t, os.MkdirAll(secret, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(secret, "HEAD"), []byte("ref: refs/heads/s3cret\n"), 0o600))
	for name, put := range map[string]func(dir string) error{
		"another's folder": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, ".git"), []byte("gitdir: "+secret+"\n"), 0o600)
		},
		"a link as its folder": func(dir string) error { return os.Symlink(secret, filepath.Join(dir, ".git")) },
		"a pipe for its HEAD": func(dir string) error {
			_ = os.Mkdir(filepath.Join(dir, ".git"), 0o700)
			return syscall.Mkfifo(filepath.Join(dir, ".git", "HEAD"), 0o600)
		},
		"a link for its HEAD": func(dir string) error {
			_ = os.Mkdir(filepath.Join(dir, ".git"), 0o700)
			return os.Symlink(filepath.Join(secret, "HEAD"), filepath.Join(dir, ".git", "HEAD"))
		},
		"other words": func(dir string) error {
			_ = os.Mkdir(filepath.Join(dir, ".git"), 0o700)
			return os.WriteFile(filepath.Join(dir, ".git", "HEAD"), []byte("password: s3cret\n"), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, put(dir))
			require.Empty(t, place(t.Context(), dir, api.From{}))
		})
	}
}
