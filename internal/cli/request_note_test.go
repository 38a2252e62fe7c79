package cli

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/cli/app"
)

// A script that waits for its approval reads what people say to it with their yes.
func TestWhoWaitsReadsTheNotes(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	a := api.Approval{ID: "a", Code: "K7QX2M", Status: api.Approved, Decision: api.AllowOnce,
		Notes: []api.Note{{By: "person:alice", Text: "only on staging"}}}
	require.NoError(t, printStanding(&app.App{Stdout: &out}, a))
	require.Regexp(t, `(?m)^Note: +From alice: only on staging$`, out.String())
}
