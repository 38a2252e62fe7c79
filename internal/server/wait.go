package server

import (
	"context"
	"time"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// wait is what a request waits for, and how it is answered then. It is waited for where little is on the stack: ten
// thousand that wait keep theirs.
type wait struct {
	call   *call
	watch  *core.Watch
	atMost time.Duration
	then   func(*approval.Approval, error) (answer, error)
}

// await gives the watched approval when it has ended, or as it stands after so
// long, or when the caller has gone or the desk stops. A caller whose token is taken
// away meanwhile is refused at once. It ends the watch. What is on the stack of its callers stays there for as long.
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
