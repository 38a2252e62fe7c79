package cli

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/cli/app"
)

// The time left is shown on one line, which is gone at the end.
func TestProgress_CountsDownOnOneLine(t *testing.T) {
	var out bytes.Buffer
	countDown(&out, time.Now().Add(90*time.Second).UnixMilli())()
	require.Regexp(t, "^(\r\x1b\\[Kapprovalbot: 1m(30|[12]?[0-9])s left )+\r\x1b\\[K$", out.String())
	out.Reset()
	countdown(&app.App{Stderr: &out}, time.Now().UnixMilli())()
	require.Empty(t, out.String(), "not on what is no terminal")
}
