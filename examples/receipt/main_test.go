package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
	"approvalbot/proof"
)

// desk signs a receipt for the call of these words and writes its key set.
func desk(t *testing.T, until time.Time, argv ...string) (receipt, jwks string) {
	s, err := proof.NewSigner([32]byte{}, proof.Receipts)
	require.NoError(t, err)
	params, err := json.Marshal(map[string]any{"argv": argv})
	require.NoError(t, err)
	print, err := proof.Fingerprint("exec", params, nil)
	require.NoError(t, err)
	r, err := proof.ReceiptFor(approval.Approval{
		Names:  approval.Names{Key: "k", ID: "k", Code: "K7QX2M", Owner: "agent"},
		Ended:  approval.Ended{Status: approval.Approved, Decision: approval.AllowOnce, DecidedBy: []string{"person:alice"}, ResolvedAtMs: until.Add(-2 * time.Hour).UnixMilli(), ClaimUntilMs: until.UnixMilli()},
		Asked:  approval.Asked{ToolName: "exec", Fingerprint: print},
		Judged: approval.Judged{PolicyHash: "7e57"},
	}, "desk")
	require.NoError(t, err)
	receipt, err = s.Sign(r)
	require.NoError(t, err)
	set, err := proof.JWKS(s.Public())
	require.NoError(t, err)
	jwks = filepath.Join(t.TempDir(), "jwks.json")
	require.NoError(t, os.WriteFile(jwks, set, 0o600))
	return receipt, jwks
}

func TestTheProgramRunsOnlyWithAReceipt(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "receipt")
	out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput()
	require.NoError(t, err, string(out))
	source, err := os.ReadFile("main.go")
	require.NoError(t, err)
	require.LessOrEqual(t, strings.Count(string(source), "\n"), 30, "it is to stay short")
	run := func(args ...string) (string, error) {
		out, err := exec.Command(bin, args...).CombinedOutput()
		return string(out), err
	}

	receipt, jwks := desk(t, time.Now().Add(time.Hour), "echo", "it ran")
	text, err := run(jwks, receipt, "echo", "it ran")
	require.NoError(t, err, text)
	require.Equal(t, "it ran\n", text)

	late, _ := desk(t, time.Now().Add(-time.Second), "echo", "it ran")
	for name, args := range map[string][]string{
		"another call": {jwks, receipt, "echo", "it ran", "away"}, "joined words": {jwks, receipt, "echo it", "ran"}, "expired": {jwks, late, "echo", "it ran"},
		"none": {jwks, "", "echo", "it ran"}, "no keys": {os.DevNull, receipt, "echo", "it ran"},
	} {
		text, err := run(args...)
		require.Error(t, err, name)
		require.Contains(t, text, "not run: ", name)
		require.NotContains(t, text, "it ran", name)
	}
}

// The script is held to what it does with the verifier's answer; the verifier
// here is a stand-in that accepts one receipt and writes down what it was asked.
func TestTheScriptRunsOnlyWhatWasVerified(t *testing.T) {
	if _, err := exec.LookPath("jq"); err != nil {
		t.Skip("jq: not tested, install it")
	}
	dir := t.TempDir()
	verifier := "#!/bin/sh\n[ \"$1 $2 $3 $4 $5 $6 $7\" = 'admin receipt verify good --jwks keys --params' ] && cat \"$8\" >" + dir + "/asked\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "approvalbot"), []byte(verifier), 0o700))
	run := func(call, receipt string) (string, error) {
		file := filepath.Join(dir, "call.json")
		require.NoError(t, os.WriteFile(file, []byte(call), 0o600))
		c := exec.Command("./run-with-receipt.sh", file, receipt, "keys")
		c.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
		out, err := c.CombinedOutput()
		return string(out), err
	}

	const call = `{"toolName":"exec","params":{"argv":["printf","[%s]","a b","$HOME","'; echo x","new\nline",""]},"decision":"allow-once"}`
	text, err := run(call, "good")
	require.NoError(t, err, text)
	require.Equal(t, "[a b][$HOME]['; echo x][new\nline][]", text)
	asked, err := os.ReadFile(filepath.Join(dir, "asked"))
	require.NoError(t, err)
	require.Equal(t, call, string(asked))

	for name, c := range map[string]struct{ call, receipt string }{
		"bad receipt": {call, "bad"}, "no receipt": {call, ""}, "another tool": {strings.Replace(call, "exec", "write", 1), "good"},
		"a shell line": {`{"toolName":"exec","params":{"command":"printf x"}}`, "good"}, "more params": {strings.Replace(call, `"argv"`, `"env":{},"argv"`, 1), "good"},
		"no words": {`{"toolName":"exec","params":{"argv":7}}`, "good"}, "no JSON": {"printf", "good"},
		"a number": {strings.Replace(call, `"a b"`, `7,"a b"`, 1), "good"}, "a NUL": {strings.Replace(call, "$HOME", `\u0000`, 1), "good"},
		"empty": {`{"toolName":"exec","params":{"argv":[]}}`, "good"}, "bound": {strings.Replace(call, `"params"`, `"bind":{"host":"x"},"params"`, 1), "good"},
	} {
		text, err := run(c.call, c.receipt)
		require.Error(t, err, name)
		require.Contains(t, text, "not run: ", name)
		require.NotContains(t, text, "[a b]", name)
	}
}
