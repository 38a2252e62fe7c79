package policy

import (
	"context"
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

// scriptPieces make programs of sed and awk that may write a file and may run
// the canary.
var scriptPieces = map[string][]string{
	"sed": strings.Split("s|s|s|s/a/b/|/|/|/|#|,|a|b|e canary|e|w out|w|p|d|1|2|$|+|\\|[|]|;|;|\n|{|}|g|I|M|canary|r f|y|&|!| |i x|a x|c\\|\\n|.*|0|=|q|n|N", "|"),
	"awk": append(strings.Split("{|}|{|}|print|print|printf|$1|$0|>|>|>=|<|<=|\"out\"|\"out\"|%|%%|\"canary\"|\"canary\"|getline|==|/|/a/|NR|system(|(|)|BEGIN|END|x|=|1|;|\n|&&|!|~|,| | |\"|\\|#|function f(a)|close(|-|in|delete", "|"), "||", "|"),
}

// TestAllowedScriptsOnlyPrint gives programs of sed and awk that policy allows
// to the real ones: none runs the canary, and none writes a file.
func TestAllowedScriptsOnlyPrint(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts programs")
	}
	base := t.TempDir()
	bin, work := filepath.Join(base, "bin"), filepath.Join(base, "work")
	require.NoError(t, os.MkdirAll(bin, 0o755))
	require.NoError(t, os.MkdirAll(work, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(bin, "canary"), []byte("#!/bin/sh\necho x > '"+filepath.Join(work, "sign")+"'\n"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(work, "f"), []byte("a b c\n1 2 3\n"), 0o644))
	e := engine(t, func(c *Config) { c.Workspaces = map[string][]string{"main": {work}} })
	random := rand.New(rand.NewPCG(3, 4))
	for _, name := range []string{"sed", "awk", "gawk", "mawk"} {
		program, err := exec.LookPath(name)
		if err != nil {
			t.Run(name, func(t *testing.T) { t.Skipf("%s: not tested, install it", name) })
			continue
		}
		pieces := scriptPieces[strings.TrimLeft(name, "gm")]
		for tries, n := 0, 0; n < 150 && tries < 200_000; tries++ {
			script := ""
			for range 1 + random.IntN(9) {
				script += pieces[random.IntN(len(pieces))]
			}
			if !strings.ContainsAny(script, "ew>|<") || judge(e, callOf(t, "exec", map[string]any{"argv": []string{name, script, "f"}})).Outcome != approval.OutcomeAllow {
				continue
			}
			n++
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			c := exec.CommandContext(ctx, program, script, "f")
			c.Dir, c.Env, c.WaitDelay = work, []string{"PATH=" + bin + ":/usr/bin:/bin"}, time.Second
			_ = c.Run() // most of these programs are wrong
			cancel()
			left, err := os.ReadDir(work)
			require.NoError(t, err)
			require.Len(t, left, 1, "%s %q left %v", name, script, left)
		}
	}
}
