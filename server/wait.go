package server

import (
	"context"
	"net/http"
	"time"

	"approvalbot/core"
)

// pause is the rest of a request that may have to wait for an approval's end.
type pause struct {
	gate  *core.Gate
	call  *call
	wait  time.Duration
	find  func() (key string, err error)
	then  func(core.Approval, error) (answer, error)
	watch *core.Watch // nil: it was not looked at yet
	timer *time.Timer // when the wait is over
	done  func()      // it waits no more
}

// await answers with then when the approval that find finds has ended, or after
// so long, when the caller has gone or the desk stops, as it then stands. Both
// run later, and find c's context in force.
func (s *Server) await(c *call, wait time.Duration, find func() (string, error), then func(core.Approval, error) (answer, error)) (answer, error) {
	c.query = query{} // it was read, and the wait may be long
	return answer{pause: &pause{gate: s.gate, call: c, wait: wait, find: find, then: then, done: s.metrics.waiting()}}, nil
}

// awaitNew is await for an approval that was just created, and is watched since.
func (s *Server) awaitNew(c *call, wait time.Duration, w *core.Watch, then func(core.Approval, error) (answer, error)) (answer, error) {
	c.query = query{}
	return answer{pause: &pause{gate: s.gate, call: c, wait: wait, then: then, watch: w, done: s.metrics.waiting()}}, nil
}

// try gives the answer, or the pause again if there is still something to wait
// for. over: the wait has ended, whatever is found.
func (p *pause) try(ctx context.Context, over bool) (answer, error) {
	p.call.ctx = ctx
	if p.watch == nil {
		key, err := p.find()
		if err != nil {
			return p.then(core.Approval{}, err)
		}
		p.watch = p.gate.Watch(key)
	}
	a, err := p.watch.Look(ctx, over)
	if err == nil && !a.Final() && !over {
		return answer{pause: p}, nil
	}
	return p.then(a, err)
}

// close ends the pause.
func (p *pause) close() {
	p.timer.Stop()
	if p.watch != nil {
		p.watch.Stop()
	}
	p.done()
}

// later answers a request that may have to wait: elsewhere, see lot, or over
// HTTP/2 and where there is no connection here.
func (t turn) later(w http.ResponseWriter, r *http.Request, p *pause) {
	if _, under := w.(*letter); under || t.park(w, r, p) {
		return
	}
	out := &letter{}
	t.sit(out, r, p, func(try func()) { try() })
	for name, values := range out.header {
		w.Header()[name] = values
	}
	w.WriteHeader(out.status)
	_, _ = w.Write(out.body)
}

// sit waits a pause out and writes the answer. What needs a stack is done by run;
// what is below it has 2 KB, in which it must just fit.
func (t *turn) sit(out *letter, r *http.Request, p *pause, run func(func())) {
	over := false
	p.timer = time.NewTimer(p.wait)
	try := t.trying(out, r, p, &over)
	if p.watch == nil {
		run(try)
	}
	for out.status == 0 {
		over = t.server.news(r.Context(), p)
		run(try)
	}
	p.close()
}

// trying gives what writes the answer, if it is there.
func (t *turn) trying(out *letter, r *http.Request, p *pause, over *bool) func() {
	return func() {
		defer t.server.stumbling(out, r)
		t.answer(out, r, func() (answer, error) { return p.try(r.Context(), *over) })
	}
}

// news blocks until what is waited for has changed, or the wait is over.
func (s *Server) news(ctx context.Context, p *pause) (over bool) {
	select {
	case <-p.watch.Changed():
		return false
	case <-p.timer.C:
	case <-ctx.Done():
	case <-s.closing.Done():
	}
	return true
}

// letter is an answer before it is sent, as an http.ResponseWriter.
type letter struct {
	header http.Header
	status int // 0: there is none yet
	body   []byte
}

// Header implements http.ResponseWriter.
func (l *letter) Header() http.Header {
	if l.header == nil {
		l.header = http.Header{}
		always(l.header)
	}
	return l.header
}

// WriteHeader implements http.ResponseWriter.
func (l *letter) WriteHeader(status int) { l.status = status }

// Write implements http.ResponseWriter.
func (l *letter) Write(b []byte) (int, error) {
	l.body = append(l.body, b...)
	return len(b), nil
}
