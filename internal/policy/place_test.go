package policy

import (
	"context"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// TestAllowedChangesStayInside gives lines that change the directory and write a
// file to a real shell, where policy allows them: what they write is in the
// workspace, whatever succeeds and fails on the way.
func TestAllowedChangesStayInside(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts shells")
	}
	shell, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash: not tested, install it")
	}
	base := t.TempDir()
	work := filepath.Join(base, "work")
	require.NoError(t, os.MkdirAll(filepath.Join(work, "a/a/a"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(base, "a"), 0o755))
	commands := []string{"cd a", "cd a", "cd ..", "cd ../..", "cd " + base, "cd " + work, "cd none", "true", "false", "touch m", "touch a/m", "sh -c 'cd ..; touch m'", "env cd ..", "cd -", "cd a a", "x=1", "echo x > m", "command cd .."}
	joins := []string{" && ", " && ", " && ", "; ", " || ", " | ", " & ", "\n"}
	e := engine(t, func(c *Config) { c.Workspaces = map[string][]string{"main": {work}} })
	random := rand.New(rand.NewPCG(5, 6))
	piece := func() string {
		c := commands[random.IntN(len(commands))]
		switch random.IntN(12) {
		case 0:
			return "( " + c + " )"
		case 1:
			return "{ " + c + "; }"
		case 2:
			return "! " + c
		case 3:
			return "if " + c + "; then cd ..; fi"
		}
		return c
	}
	for n := 0; n < 300; {
		line := piece()
		for range 1 + random.IntN(6) {
			line += joins[random.IntN(len(joins))] + piece()
		}
		if !strings.Contains(line, "m") || judge(e, lineCall(t, line)).Outcome != approval.OutcomeAllow {
			continue
		}
		n++
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		c := exec.CommandContext(ctx, shell, "-c", line+"\nwait")
		c.Dir, c.WaitDelay = work, time.Second
		_ = c.Run()
		cancel()
		require.NoError(t, filepath.WalkDir(base, func(file string, d fs.DirEntry, err error) error {
			require.NoError(t, err)
			require.False(t, d.Name() == "m" && !strings.HasPrefix(file, work+"/"), "%q wrote %s", line, file)
			return nil
		}))
	}
}
