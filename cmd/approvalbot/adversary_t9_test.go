package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/store"
)

// Who can write to the database sets a request that waits to approved, with the votes of
// another: it is not handed out, and the check of the log names it.
func TestAdversary_T9_ApprovedByHand(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	donor, victim := r.ask(`{"n":1}`), r.ask(`{"n":2}`)
	_, err := r.operator().Resolve(r.ctx(), donor.Code, api.ResolveRequest{Decision: api.AllowOnce})
	require.NoError(t, err)
	r.stop()
	r.meddle(fmt.Sprintf(`UPDATE approvals SET status = 'approved', timer_ms = NULL,
 resolved_ms = (SELECT resolved_ms FROM approvals WHERE key = '%[1]s'),
 body = (SELECT body FROM approvals WHERE key = '%[1]s') WHERE key = '%[2]s'`, donor.ID, victim.ID))
	r.start()
	_, err = r.agent().Claim(r.ctx(), victim.ID, api.ClaimRequest{})
	require.ErrorContains(t, err, "A program other than the desk changed this record")
	report, err := r.operator().VerifyAudit(r.ctx())
	require.NoError(t, err)
	require.False(t, report.OK)
	require.Contains(t, report.Problem, victim.ID)
	require.NotContains(t, report.Problem, donor.ID)
	_, err = r.agent().Claim(r.ctx(), donor.ID, api.ClaimRequest{})
	require.NoError(t, err)
}

// A backup that is put back hands out nothing that may have been handed out since.
func TestAdversary_T9_PutBackFromABackup(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	waits, allowed := r.ask(`{"n":1}`), r.ask(`{"n":2}`)
	_, err := r.operator().Resolve(r.ctx(), allowed.Code, api.ResolveRequest{Decision: api.AllowOnce})
	require.NoError(t, err)
	file, backup := filepath.Join(r.dir, "desk.db"), filepath.Join(r.dir, "backup.db")
	_, err = store.Backup(r.ctx(), "sqlite:"+file, backup)
	require.NoError(t, err)
	_, err = r.agent().Claim(r.ctx(), allowed.ID, api.ClaimRequest{})
	require.NoError(t, err)
	r.stop()
	for _, side := range []string{"-wal", "-shm"} {
		_ = os.Remove(file + side)
	}
	require.NoError(t, os.Rename(backup, file))
	ctx, end := context.WithCancel(r.ctx()) // a desk that cannot take back what it must serves nothing, and leaves nothing open
	d := r.open(ctx)
	ln, err := net.Listen("tcp", r.addr)
	require.NoError(t, err)
	end()
	require.ErrorContains(t, d.Run(ctx, ln), "cannot revoke")
	require.NoFileExists(t, d.Config().SocketFile())
	r.start()
	_, err = r.agent().Claim(r.ctx(), allowed.ID, api.ClaimRequest{})
	require.ErrorContains(t, err, "taken back")
	require.EqualValues(t, "pending", r.get(waits).Status)
	report, err := r.operator().VerifyAudit(r.ctx())
	require.NoError(t, err)
	require.True(t, report.OK, report.Problem)
}

// A kill while the rows of an older release get their MACs: the next start goes on.
func TestAdversary_T9_KilledAtTheFirstStart(t *testing.T) {
	t.Parallel()
	bin, err := faultyBinary()
	require.NoError(t, err)
	for _, point := range []string{"before-store-identified", "before-store-marked", "after-store-marked"} {
		t.Run(point, func(t *testing.T) {
			r := newRig(t)
			a := r.ask(`{"n":1}`)
			r.stop()
			r.believe()
			require.True(t, r.killedAt(bin, point, "serve", "--config", r.configFile()))
			r.start()
			require.EqualValues(t, "pending", r.get(a).Status)
			report, err := r.operator().VerifyAudit(r.ctx())
			require.NoError(t, err)
			require.True(t, report.OK, report.Problem)
		})
	}
}
