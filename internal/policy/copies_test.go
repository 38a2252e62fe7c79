package policy

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
	"approvalbot/internal/policy/workspace"
)

// What file managers call the copy of a secret is one to a file tool, to a command, and to a confined call, which hides by names.
func TestCopiesOfSecrets(t *testing.T) {
	t.Parallel()
	e := engine(t, shipped)
	for _, name := range strings.Fields("id_ed25519 .npmrc key.pem password.txt secrets.yaml .env credentials auth.json terraform.tfstate .netrc main.go notes.md") {
		for _, as := range []string{"@ (copy)", "@ (1)", "@ [1]", "@ {1}", "@.bak (1)", "copy of @", "@ - copy", "@ copy 2", "@ (conflicted copy)"} {
			file := "docs/" + strings.ReplaceAll(as, "@", name)
			params, err := json.Marshal(map[string]string{"file_path": file})
			require.NoError(t, err)
			read := lineCall(t, "x")
			read.ToolName, read.Params = "Read", params
			hidden := workspace.Private(file)
			require.Equal(t, !strings.Contains("main.go notes.md", name), hidden, file)
			for _, c := range []approval.Call{read, lineCall(t, "cat '"+file+"'")} {
				require.Equal(t, hidden, judge(e, c).Outcome == approval.OutcomeAsk, "%s %s", c.ToolName, file)
			}
		}
	}
	require.True(t, workspace.Private("secrets (copy)/db.yaml"))
	require.True(t, workspace.Private("secrets/db.yaml (1)"))
	require.False(t, workspace.Private("secrets (copy)/main.go"))
}
