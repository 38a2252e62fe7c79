package server

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"approvalbot/internal/approval"
	"approvalbot/internal/server/events"
)

const (
	heartbeat   = 15 * time.Second // so that proxies keep a quiet stream open
	chunkTime   = 10 * time.Second // for a listener to take one chunk
	retryMillis = 1000             // how soon a listener should come back
)

// events streams what happens to approvals (text/event-stream) until the client
// disconnects, its token is removed, or the desk stops. A listener that is too
// slow for its connection's buffers is cut off after chunkTime and may resume
// from its last entry.
func (s *Server) events(c *call, w http.ResponseWriter, r *http.Request) error {
	if s.cfg.Feed == nil {
		return approval.Refuse(approval.CodeUnavailable, "This desk serves no events.")
	}
	at, err := s.resumeAt(c, r)
	if err != nil {
		return err
	}
	done, err := s.Tokens.Stream(c.token)
	if err != nil {
		return err
	}
	defer done()
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // proxies are not to hold it back
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		out := &stream{w: w, control: http.NewResponseController(w)}
		if err := s.follow(c, at, out); err != nil && c.ctx.Err() == nil {
			s.log.Warn("an event stream was closed after an error; its client should connect again",
				"token", c.who.Token, "reason", err)
		}
	}
	return nil
}

// resumeAt is the number after which the client wants what happens.
func (s *Server) resumeAt(c *call, r *http.Request) (int64, error) {
	head, err := s.cfg.Feed.Head(c.ctx)
	if err != nil {
		return 0, err
	}
	given, field := r.Header.Get("Last-Event-ID"), "Last-Event-ID"
	if given == "" {
		given, field = c.query.text("lastEventId"), "lastEventId"
	}
	if given == "" {
		return head, nil
	}
	at, err := strconv.ParseUint(given, 10, 63)
	if err != nil || int64(at) > head {
		return 0, approval.Invalid(approval.FieldError{Field: field, Problem: "must be the id of an event of this desk, or 0"})
	}
	return int64(at), nil
}

func (s *Server) follow(c *call, at int64, out *stream) error {
	defer s.cfg.Feed.Listen()()
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	if err := out.send(fmt.Appendf(nil, "retry: %d\n\n", retryMillis)); err != nil {
		return err
	}
	for {
		batch, news, err := s.cfg.Feed.After(c.ctx, at)
		if err != nil {
			return err
		}
		who, reloaded, ok := s.Tokens.Holder(c.token) // after the batch was read: it is for who that is now
		if !ok || !who.MayDecide && !who.MayRequest {
			return nil
		}
		if len(batch) > 0 {
			if err := out.send(events.Stream(batch, who)); err != nil {
				return err
			}
			at = batch[len(batch)-1].Seq
			news = ready
		}
		select {
		case <-c.ctx.Done():
			return nil
		case <-s.closing.Done():
			return nil
		case <-reloaded:
		case <-news:
		case <-beat.C:
			if err := out.send([]byte(": still here\n\n")); err != nil {
				return err
			}
		}
	}
}

// ready is a closed channel: receiving from it never waits.
var ready = func() <-chan struct{} { c := make(chan struct{}); close(c); return c }()

// stream is a response that is written in pieces.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

// send hands one piece over at once, within chunkTime. The deadline is cleared
// afterwards: over HTTP/2 it would end an idle stream.
func (o *stream) send(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	err := o.control.SetWriteDeadline(time.Now().Add(chunkTime))
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := o.w.Write(b); err != nil {
		return err
	}
	if err := o.control.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	_ = o.control.SetWriteDeadline(time.Time{})
	return nil
}
