package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Who is about to start hears where the key cannot be.
func TestKeyInAMissingFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "approvalbot.yaml")
	text := "store:\n  url: sqlite:" + dir + "/desk.db\n  keyFile: " + dir + "/keys/desk.key\n"
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	const want = ":3: store.keyFile: lies in a folder that does not exist: make it before the first start"
	for _, args := range [][]string{{"config", "check", file}, {"serve", "--config", file}} {
		var out, errs safeBuffer
		run(t.Context(), args, nil, nil, &out, &errs)
		require.Contains(t, out.String()+errs.String(), file+want, args)
	}
}
