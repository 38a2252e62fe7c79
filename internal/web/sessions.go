package web

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"approvalbot/internal/approval"
	"approvalbot/internal/signin"
)

// cookieName begins with __Host-, so that no other host, and no path of this one, can
// set it. It is Secure: browsers take localhost for safe, also without TLS.
const cookieName = "__Host-approvalbot"

const eventStream = "text/event-stream"

// sessionLook is how often a session is looked up if this process has not ended it.
const sessionLook = 10 * time.Second

// sessions say whose browser it is.
type sessions struct {
	signin *signin.Door
	log    *slog.Logger
	who    func(*http.Request) (signin.Session, bool) // signedIn; tests have others
}

func newSessions(door *signin.Door, log *slog.Logger) *sessions {
	p := &sessions{signin: door, log: log}
	p.who = p.signedIn
	return p
}

// signedIn gives the session that a request belongs to. A stream of events, which goes
// on by itself, does not count as a use of the session.
func (p *sessions) signedIn(r *http.Request) (signin.Session, bool) {
	c, err := r.Cookie(cookieName)
	if err != nil {
		return signin.Session{}, false
	}
	look := p.signin.Session
	if strings.Contains(r.Header.Get("Accept"), eventStream) {
		look = p.signin.SessionStands
	}
	s, err := look(r.Context(), c.Value)
	if err != nil && approval.CodeOf(err) != approval.CodeNotFound && r.Context().Err() == nil {
		p.log.Error("could not check a browser's sign-in; the person appears signed out", "path", r.Pattern, "reason", err)
	}
	return s, err == nil
}

// lasting gives a context that ends with the request, and as soon as its session does:
// for answers that go on, such as streams of events. If this process ends the session,
// ctx ends at once; if another does, within ten seconds.
func (p *sessions) lasting(r *http.Request) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancel(r.Context())
	r = r.Clone(ctx)
	r.Header.Set("Accept", eventStream)
	go func() {
		defer stop()
		for {
			turn := p.signin.SessionsTurn()
			if _, ok := p.who(r); !ok {
				return
			}
			select {
			case <-turn:
			case <-time.After(sessionLook):
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx, stop
}
