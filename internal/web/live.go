package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"approvalbot/internal/approval"
	"approvalbot/internal/signin"
)

// Changes tells when any instance has committed a change.
type Changes interface {
	// Listen keeps the log followed until done is called.
	Listen() (done func())
	// News is closed when something is committed after the call.
	News() <-chan struct{}
}

const (
	lookAgain   = 5 * time.Second       // how often the session is looked up, even if there is no news
	redraw      = 30 * time.Second      // how often the page is redrawn: it shows the time left
	settle      = 80 * time.Millisecond // changes within it are shown at once
	chunkTime   = 10 * time.Second      // for a browser to take one piece
	signedOut   = "event: signedout\ndata: .\n\n"
	stillHere   = ": still here\n\n"
	streamRetry = "retry: 1000\n\n"
)

// livePages keep open pages as they are.
type livePages struct {
	page
	sessions  *sessions
	inbox     *inboxPages
	approvals *approvalPages
	shown     *shown
	streams   *streams
	changes   Changes // nil: pages show what was when they were opened
	closing   <-chan struct{}
}

func (p *livePages) routes() []route {
	return []route{{pattern: "GET /live", open: true, serve: p.live}}
}

// live keeps a list, or with a=CODE an approval, current while its page is open. Each
// message has the whole content, so that a page that reconnects is correct at once. It
// ends when the session ends.
func (p *livePages) live(out http.ResponseWriter, r *http.Request, s signin.Session) {
	leave, status := p.streams.enter(p.reader(s).caller.MayDecide,
		share{"session", "", s.ID, streamsOfASession}, share{"person", "", s.Person, streamsOfAPerson})
	if status != 0 {
		http.Error(out, "Too many pages update by themselves now. Close some, or reload this page later.", status)
		return
	}
	defer leave()
	if p.changes == nil {
		http.Error(out, "Pages do not update by themselves at this desk. Reload this "+
			"page later.", http.StatusServiceUnavailable)
		return
	}
	h := out.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // proxies are not to hold it back
	defer p.changes.Listen()()
	to := &stream{w: out, control: http.NewResponseController(out)}
	if err := p.follow(r, to); err != nil && r.Context().Err() == nil {
		p.log.Debug("the live updates of a page were stopped", "reason", err)
	}
}

// follow sends what the page shows whenever that is something else than before.
func (p *livePages) follow(r *http.Request, to *stream) error {
	again := time.NewTicker(lookAgain)
	defer again.Stop()
	if err := to.send([]byte(streamRetry)); err != nil {
		return err
	}
	var last []byte
	var mark string
	var drawn time.Time
	for due := true; ; {
		// Before the look, so that no change between the two is missed.
		news, shown := p.changes.News(), p.shown.news()
		s, ok := p.sessions.who(r)
		if !ok {
			return to.send([]byte(signedOut))
		}
		v, piece := p.reader(s), []byte(stillHere)
		before := mark
		if due {
			mark = p.mark(r, v)
		}
		changed := due && (mark == "" || mark != before)
		if changed || time.Since(drawn) >= redraw {
			drawn = time.Now()
			now, err := p.current(r, v)
			if err != nil {
				return err
			}
			if !bytes.Equal(now, last) {
				last, piece = now, message(now)
			}
		}
		if err := to.send(piece); err != nil {
			return err
		}
		due = true
		select {
		case <-r.Context().Done():
			return nil
		case <-p.closing:
			return nil
		case <-news:
			p.pause(r.Context())
		case <-shown:
		case <-again.C:
			due = false
		}
	}
}

// mark is a short form of the state of a page's approval, so that on a busy desk the page
// is drawn anew only if that has changed. It is empty if the page shows more than one
// approval.
func (p *livePages) mark(r *http.Request, v reader) string {
	code := r.URL.Query().Get("a")
	if code == "" {
		return ""
	}
	a, err := p.find(r.Context(), v, code)
	if err != nil {
		return ""
	}
	return fmt.Sprint(a.Version, p.shown.to(v.session, a), v.caller.MayDecide, p.gate.PolicyHash(), a.Deliveries)
}

// pause lets what happens together be shown together.
func (p *livePages) pause(ctx context.Context) {
	select {
	case <-time.After(settle):
	case <-ctx.Done():
	case <-p.closing:
	}
}

// current is what the page shows now.
func (p *livePages) current(r *http.Request, v reader) ([]byte, error) {
	if code := r.URL.Query().Get("a"); code != "" {
		a, err := p.approvals.view(r.Context(), v, code)
		if approval.CodeOf(err) == approval.CodeNotFound { // forgotten meanwhile, or no longer theirs to see
			return []byte(`<p class="empty">There is no such request any more.</p>`), nil
		}
		if err != nil {
			return nil, err
		}
		return fragment(approvalBody(a))
	}
	l, err := p.inbox.pending(r.Context(), v, r.URL.Query())
	if err != nil {
		return nil, err
	}
	return fragment(rows(l))
}

// message is a server-sent event without a name, which htmx puts into the page.
func message(html []byte) []byte {
	var out bytes.Buffer
	for line := range bytes.Lines(bytes.ReplaceAll(html, []byte("\r"), []byte("\n"))) { // either ends a line there
		out.WriteString("data: ")
		out.Write(bytes.TrimRight(line, "\n"))
		out.WriteByte('\n')
	}
	out.WriteByte('\n')
	return out.Bytes()
}

// stream is a response that is written in pieces.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

// send hands one piece over at once, within chunkTime.
func (o *stream) send(b []byte) error {
	if err := o.control.SetWriteDeadline(time.Now().Add(chunkTime)); err != nil && !errors.Is(err, http.ErrNotSupported) {
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
