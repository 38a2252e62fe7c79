package policy

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// People are told of each command of a line by itself; of one command alone the card says
// all that there is.
func TestCommandsOfALine(t *testing.T) {
	t.Parallel()
	e, err := New(Config{Enabled: true})
	require.NoError(t, err)
	list := func(line string) approval.CommandList {
		params, err := json.Marshal(map[string]string{"command": line})
		require.NoError(t, err)
		return e.Commands(approval.Call{ToolName: "exec", Params: params})
	}
	read := func(line string) []approval.CommandRead { return list(line).Commands }
	require.Empty(t, read("git status"))
	got := read(`git status && sh -c 'rm -rf /srv' | tee "$X"`)
	require.Len(t, got, 4)
	require.Equal(t, "git status", got[0].Text)
	require.Equal(t, approval.R0, got[0].Class)
	require.Equal(t, "rm -rf /srv", got[2].Text)
	require.Equal(t, approval.R4, got[2].Class)
	require.NotEmpty(t, got[2].Why)
	require.Equal(t, "tee …", got[3].Text)
	require.Empty(t, got[3].Why, "what is computed nobody knows before")
	require.Empty(t, e.Commands(approval.Call{ToolName: "read", Params: json.RawMessage(`{"path":"a"}`)}))

	many := list(strings.Repeat("ls\n", 50) + "touch x\nrm -rf /srv\n")
	require.Len(t, many.Commands, 40)
	require.Equal(t, "rm -rf /srv", many.Commands[0].Text, "of too many the riskiest come first")
	require.Equal(t, 12, many.More, "and what is left out is said")
	require.Equal(t, approval.R0, many.Worst)
}
