package answer

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/hook"
)

// A word of a skill's arguments asks if a file with secrets is called like it.
func TestMentionsSecret(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "credentials"), nil, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main"), nil, 0o600))
	for args, asks := range map[string]bool{
		"credentials please": true, "show (credentials), ok": true, "see credentials#L1": true, "a\u2003credentials.": true, "token please": false, "main please": false, "": false,
	} {
		require.Equal(t, asks, mentionsSecret(hook.Call{Tool: "Skill", Workdir: dir, Params: []byte(`{"skill": "see", "args": "` + args + `"}`)}), args)
	}
	require.False(t, mentionsSecret(hook.Call{Tool: "Bash", Workdir: dir, Params: []byte(`{"args": "credentials"}`)}))
	require.False(t, mentionsSecret(hook.Call{Tool: "Skill", Workdir: dir, Params: []byte(`{"args": ["credentials"]}`)}))
}
