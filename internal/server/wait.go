package server

import (
	"context"
	"time"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// await gives the watched approval when it has ended, or as it stands after so
// long, or when the caller has gone or the desk stops. A caller whose token is taken
// away meanwhile is refused at once. It ends the watch. What is on the stack of its callers stays there for as long.
func (s *Server) await(c *call, wait time.Duration, w *core.Watch) (*approval.Approval, error) {
	defer w.Stop()
	defer s.metrics.Waiting()()
	ctx, cancel := context.WithTimeout(c.ctx, wait)
	defer cancel()
	defer context.AfterFunc(s.closing, cancel)()
	return w.Wait(ctx, c.still)
}
