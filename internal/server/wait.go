package server

import (
	"context"
	"time"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// wait is what a request waits for, and how it is answered then. The waiting is done high up in the stack, since
// ten thousand waiting requests keep theirs.
type wait struct {
	call   *call
	watch  *core.Watch
	atMost time.Duration
	then   func(*approval.Approval, error) (answer, error)
}

// await gives the watched approval when it has ended, or in its present state after so long, or when the caller has
// gone or the desk stops. A caller whose token is removed meanwhile is refused at once. It ends the watch. The stack
// of its callers stays in memory for as long as it waits.
func (s *Server) await(w *wait) (*approval.Approval, error) {
	defer w.watch.Stop()
	defer s.metrics.Waiting()()
	ctx, cancel := context.WithTimeout(w.call.ctx, w.atMost)
	defer cancel()
	defer context.AfterFunc(s.closing, cancel)()
	return w.watch.Wait(ctx, w.call.still)
}

// after is the answer of a request that waited, from what await gave.
func (s *Server) after(rt *route, w *wait, got *approval.Approval, failed error) (answer, error) {
	a, err := w.then(got, failed)
	s.gate.Forbidden(w.call.ctx, w.call.who, rt.pattern(), err)
	return a, err
}
