package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/note"
)

// The line of docs/audit.md that keeps a checkpoint makes a signed note to the byte:
// other tools, which forgive no line break more, read it too.
func TestAudit_TheKeptCheckpointIsANote(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("jq"); err != nil {
		t.Skip("jq: not tested, install it")
	}
	page, err := os.ReadFile("../../docs/audit.md")
	require.NoError(t, err)
	line := regexp.MustCompile(`(?m)^jq .*> checkpoint\.txt$`).FindString(string(page))
	require.NotEmpty(t, line)

	r := newRig(t)
	r.claimed(`{"to":"prod"}`)
	r.checkpoint()
	export := r.file("audit.jsonl", r.good("audit", "export"))
	keep := exec.Command("sh", "-c", line)
	keep.Dir = filepath.Dir(export)
	out, err := keep.CombinedOutput()
	require.NoError(t, err, string(out))
	kept := filepath.Join(keep.Dir, "checkpoint.txt")
	text, err := os.ReadFile(kept)
	require.NoError(t, err)
	key := strings.Fields(r.good("audit", "keys"))[2]
	verifier, err := note.NewVerifier(key)
	require.NoError(t, err)
	_, err = note.Open(text, note.VerifierList(verifier))
	require.NoError(t, err)
	require.Contains(t, r.good("audit", "verify", "--file", export, "--expect", kept, "--key", key), "The log fits the expected checkpoint")
}
