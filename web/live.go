package web

import "context"

// Changes says when something was committed, by whatever instance.
type Changes interface {
	// Listen keeps the log followed until done is called.
	Listen() (done func())
	// News is closed when something is committed after the call.
	News() <-chan struct{}
}

// Run lets go of open pages when ctx ends, so that the desk can stop.
func (w *Web) Run(ctx context.Context) error {
	<-ctx.Done()
	close(w.closing)
	return nil
}
