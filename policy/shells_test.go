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

	"approvalbot/core"
)

// pieces make lines in which "canary" is a command to some shell and data to
// another.
var pieces = strings.Split("canary|canary|canary|ls|echo|cat|;|&&|&|$(canary)|`canary`|$(|)|`|'|\"|\\|{|}|[[|]]|((|))|$'|$x|${x:-canary}|${x:-<(canary)}|"+
	"x='a[$(canary)]'|[|]|<|>|<<E|\nE\n|\n|<<<|<(|>(|#|!|if|then|fi|test|-v|printf|%d|time|f()|*|?|~|\\x63anary|-eq|=|sh -c|env|((x))|$[x]|$x[x]|=(canary)|*(e:canary:)|and|&!|>!|>&|&>|>?|'\\'|a=(canary)|{a,b}|${x@P}|:|true", "|")

// TestAllowedLinesRunNothingElse gives lines that policy allows to real shells,
// with a PATH that holds only harmless programs and a canary. It must not run.
func TestAllowedLinesRunNothingElse(t *testing.T) {
	if testing.Short() {
		t.Skip("starts shells")
	}
	base := t.TempDir()
	bin, work, sign := filepath.Join(base, "bin"), filepath.Join(base, "work"), filepath.Join(base, "sign")
	require.NoError(t, os.MkdirAll(bin, 0o755))
	require.NoError(t, os.MkdirAll(work, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(bin, "canary"), []byte("#!/bin/sh\necho x >> '"+sign+"'\n"), 0o755))
	for _, name := range []string{"ls", "cat", "env", "sh"} {
		if p, err := exec.LookPath(name); err == nil {
			require.NoError(t, os.Symlink(p, filepath.Join(bin, name)))
		}
	}
	run := func(shell, line string) bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		c := exec.CommandContext(ctx, shell, "-c", line)
		c.Dir, c.Env, c.WaitDelay = work, []string{"PATH=" + bin, "HOME=" + work}, time.Second
		_ = c.Run() // most of these lines fail
		_, err := os.Stat(sign)
		return err == nil
	}
	e := engine(t, func(c *Config) { c.Workspaces = map[string]string{"main": work} })
	for _, name := range []string{"sh", "bash", "dash", "zsh", "mksh", "fish"} {
		shell, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		require.True(t, run(shell, "canary"), "the canary can run in %s", name)
		require.NoError(t, os.Remove(sign))
		random := rand.New(rand.NewPCG(1, 2))
		for n := 0; n < 150; {
			line := "echo"
			for range 2 + random.IntN(6) {
				line += strings.Repeat(" ", random.IntN(2)) + pieces[random.IntN(len(pieces))]
			}
			if !strings.Contains(line, "canary") || judge(e, lineCall(t, line)).Outcome != core.OutcomeAllow {
				continue
			}
			n++
			require.False(t, run(shell, line), "%s ran the canary in %q", name, line)
		}
	}
}
