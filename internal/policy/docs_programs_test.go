package policy

import (
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/policy/program"
)

const programsPage = "../../docs/programs.md"

const programsHead = `# Programs

What the desk holds of each program, generated from its table (` + "`internal/policy/program/data`" + `; ` + "`go test ./internal/policy -run ProgramsPage -update`" + `).
A program, a subcommand or an option that is not listed asks. "-abc" are three options of one letter. Classes are those of the codes in
[policy.md](policy.md); whatever the words name (a secret, a file outside the workspace) counts besides.

`

// docs/programs.md is what the table says.
func TestProgramsPage(t *testing.T) {
	t.Parallel()
	page := program.Describe()
	page = programsHead + page
	if flag.Lookup("update").Value.String() == "true" {
		require.NoError(t, os.WriteFile(programsPage, []byte(page), 0o644))
	}
	stored, err := os.ReadFile(programsPage)
	require.NoError(t, err)
	require.Equal(t, page, string(stored), "docs/programs.md is not what the table says: go test ./internal/policy -run ProgramsPage -update")
}
