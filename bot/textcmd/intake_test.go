package textcmd

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// shelf is an inbox in memory.
type shelf struct {
	mu   sync.Mutex
	rows []approval.Inbound
}

// SaveInbound implements Inbox.
func (s *shelf) SaveInbound(_ context.Context, in []approval.Inbound) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows = append(s.rows, in...)
	return nil
}

// Inbound implements Inbox.
func (s *shelf) Inbound(context.Context, string, int) ([]approval.Inbound, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.rows), nil
}

func (s *shelf) handled(_ context.Context, ref approval.InboundRef) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows = slices.DeleteFunc(s.rows, func(in approval.Inbound) bool { return in.InboundRef == ref })
	return nil
}

// Whoever had an update waiting when the desk started is heard later too, also
// when catching up, which has a patience of its own, has long ended.
func TestIntakeAfterCatchingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inbox := &shelf{}
		said := func(id int64) []approval.Inbound {
			return []approval.Inbound{{InboundRef: approval.InboundRef{Source: "s", ID: id}}}
		}
		var q *Intake[int64]
		var heard []int64
		patience, enough := context.WithCancel(t.Context())
		q = NewIntake("s", inbox, Handlers[int64]{
			Read:    func(in approval.Inbound) (int64, string) { return in.ID, "alice" },
			Handled: inbox.handled,
			Attempt: func(_, work context.Context, j *Job[int64]) bool {
				heard = append(heard, j.Update)
				q.Mark(work, j)
				j.Tried()
				if j.Update == 1 {
					<-patience.Done() // it takes longer to tell the person
				}
				return true
			},
		}, slog.New(slog.DiscardHandler))
		ctx, stop := context.WithCancel(t.Context())
		require.NoError(t, inbox.SaveInbound(ctx, said(1)))
		require.NoError(t, q.CatchUp(patience, ctx, ctx))
		enough()
		synctest.Wait()
		go q.Run(ctx, ctx)
		require.NoError(t, inbox.SaveInbound(ctx, said(2)))
		q.Poke()
		synctest.Wait()
		require.Equal(t, []int64{1, 2}, heard)
		stop()
		q.Wait()
	})
}
