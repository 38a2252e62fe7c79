package server

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/approval"
)

// A check of the chain costs a processor for as long as the log is long: there is
// one at a time, and none for a client that has gone.
func TestVerifyAudit_OneAtATimeAndNoneForTheGone(t *testing.T) {
	d := newDesk(t)
	begun, calls := make(chan struct{}), atomic.Int32{}
	d.srv.cfg.Audit = &Audit{Verify: func(ctx context.Context) (api.AuditReport, error) {
		if calls.Add(1) > 1 {
			return api.AuditReport{OK: true}, nil
		}
		close(begun)
		<-ctx.Done()
		return api.AuditReport{}, ctx.Err()
	}}
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		_, err := d.alice.VerifyAudit(ctx)
		left <- err
	}()
	<-begun
	_, err := d.alice.VerifyAudit(t.Context())
	refusal(t, err, approval.CodeRateLimited)
	require.EqualValues(t, 1, calls.Load())
	leave()
	require.Error(t, <-left)
	report, err := d.alice.VerifyAudit(t.Context())
	for err != nil { // the handler of the first may have some lines to go
		refusal(t, err, approval.CodeRateLimited)
		report, err = d.alice.VerifyAudit(t.Context())
	}
	require.True(t, report.OK)
}
