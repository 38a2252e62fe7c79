package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/store/pgtest"
)

// rotationPoints are the named moments of a key's rotation, in their order; from
// the commit on the store is sealed with the new key.
var rotationPoints = []string{
	"after-key-written", "after-key-linked", "after-key-drafted", "after-old-key-kept", "before-rekey-committed",
	"after-rekey-committed", "after-key-replaced",
}

// TestAdversary_P2_KilledAtEveryStepOfARotation: the program is killed at each
// step of keys rotate. The desk then starts with whichever key the store is sealed
// with, every call opens, the log's chain is whole, and another rotation works.
func TestAdversary_P2_KilledAtEveryStepOfARotation(t *testing.T) {
	t.Parallel()
	bin, err := faultyBinary()
	require.NoError(t, err)
	for _, engine := range []string{"SQLite", "PostgreSQL"} {
		for i, point := range rotationPoints {
			t.Run(engine+" "+point, func(t *testing.T) {
				r := newRig(t, func(r *rig) {
					if engine == "PostgreSQL" {
						r.database = pgtest.New(t)
					}
				})
				var calls []api.Approval
				for n := range 3 {
					calls = append(calls, r.ask(fmt.Sprintf(`{"n":%d}`, n)))
				}
				rekeyed := i >= len(rotationPoints)-2
				r.stop()
				before := r.keyFile()
				require.True(t, r.killedAt(bin, point, "keys", "rotate", "--config", r.configFile()), "it never came by %s", point)
				if point == "after-rekey-committed" { // the start puts the new key in its place, and dies of that
					require.Equal(t, before, r.keyFile())
					require.True(t, r.killedAt(bin, "after-key-replaced", "serve", "--config", r.configFile()))
				}
				if rekeyed {
					require.NotEqual(t, before, r.keyFile())
				}

				r.start()
				require.Equal(t, rekeyed, strings.Contains(r.good("audit", "list", "--type", "rekeyed"), "rekeyed"))
				require.Contains(t, r.good("audit", "verify"), "OK: ")
				for n := range 2 {
					r.opens(calls[n], n)
				}
				if !rekeyed {
					require.Equal(t, before, r.keyFile())
				}
				r.stop()
				if engine == "SQLite" { // on PostgreSQL the dead counts as an instance for ten seconds
					require.False(t, r.killedAt(bin, "", "keys", "rotate", "--config", r.configFile()))
					require.NoFileExists(t, filepath.Join(r.dir, "desk.key.next"))
				}
				r.start()
				r.opens(calls[2], 2)
				require.Contains(t, r.good("audit", "verify"), "OK: ")
			})
		}
	}
}

// keyFile is what the desk's key file holds.
func (r *rig) keyFile() string {
	r.t.Helper()
	b, err := os.ReadFile(filepath.Join(r.dir, "desk.key"))
	require.NoError(r.t, err)
	return string(b)
}

// opens requires that what was asked as the n-th call is what is handed out.
func (r *rig) opens(a api.Approval, n int) {
	r.t.Helper()
	_, err := r.operator().Resolve(r.ctx(), a.Code, api.ResolveRequest{Decision: api.AllowOnce})
	require.NoError(r.t, err)
	claim, err := r.agent().Claim(r.ctx(), a.ID, api.ClaimRequest{})
	require.NoError(r.t, err)
	require.JSONEq(r.t, fmt.Sprintf(`{"n":%d}`, n), string(claim.Params))
}

// killedAt runs the program and says whether it was killed at the point; if not, it
// must have succeeded.
func (r *rig) killedAt(bin, point string, args ...string) bool {
	r.t.Helper()
	cmd := exec.CommandContext(r.ctx(), bin, args...)
	cmd.Env = append(os.Environ(), "APPROVALBOT_FAULT="+point)
	out, err := cmd.CombinedOutput()
	require.NoError(r.t, r.t.Context().Err())
	status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !status.Signaled() {
		require.NoError(r.t, err, "%s", out)
	}
	return status.Signaled()
}
