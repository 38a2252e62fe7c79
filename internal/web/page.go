package web

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"html"
	"log/slog"
	"net/http"
	"sync"

	"github.com/a-h/templ"

	"approvalbot/internal/approval"
	"approvalbot/internal/display"
	"approvalbot/internal/signin"
)

// route is one address of the desk, and what answers there.
type route struct {
	pattern string // of ServeMux: "GET /a/{code}"
	open    bool   // for people who are not signed in, too; the session is empty then
	serve   serve
}

// serve answers a request from the browser of that session.
type serve func(http.ResponseWriter, *http.Request, signin.Session)

// page is embedded in every handler of pages: it identifies the reader and answers
// them.
type page struct {
	readers
	log     *slog.Logger
	audited bool // there is a log to look at
}

// maxFields bounds the body of a form, in bytes.
const maxFields = 64 << 10

// statuses are how pages answer refusals; any other is a conflict with the present
// state.
var statuses = sync.OnceValue(func() map[approval.Code]int {
	return map[approval.Code]int{
		approval.CodeNotFound: http.StatusNotFound, approval.CodeForbidden: http.StatusForbidden,
		approval.CodeNotAnApprover: http.StatusForbidden, approval.CodeSelfApproval: http.StatusForbidden,
		approval.CodeStepUpRequired: http.StatusForbidden,
		approval.CodeInvalidRequest: http.StatusBadRequest, approval.CodeMalformed: http.StatusBadRequest,
		approval.CodePayloadTooLarge: http.StatusRequestEntityTooLarge, approval.CodeRateLimited: http.StatusTooManyRequests,
		approval.CodeUnavailable: http.StatusServiceUnavailable, "": http.StatusServiceUnavailable,
	}
})

func statusOf(err error) int { return cmp.Or(statuses()[approval.CodeOf(err)], http.StatusConflict) }

// head is that of a page for a session.
func (p page) head(s signin.Session, title string) head {
	h := head{Title: title, Session: s}
	if s.Person == "" {
		return h
	}
	v := p.reader(s)
	h.Zone, h.OwnZone = v.zoneName(), p.gate.Rules().People.Zone(s.Person) != nil
	h.Links = []link{{"/", "Inbox"}, {"/history", "History"}}
	if v.caller.MayDecide {
		h.Links = append(h.Links, link{"/grants", "Grants"})
		h.Desk = append(h.Desk, link{"/policy", "Policy"}, link{"/people", "People"}, link{"/numbers", "Numbers"})
	}
	if v.caller.MayAudit && p.audited {
		h.Desk = append(h.Desk, link{"/audit", "Audit"})
	}
	if v.operates() || v.caller.MayAudit {
		h.Desk = append(h.Desk, link{"/health", "Health"})
	}
	return h
}

// dayHead is head of a page whose days are those of its zone: no script writes its times in another one.
func (p page) dayHead(s signin.Session, title string) head {
	h := p.head(s, title)
	h.OwnZone = true
	return h
}

// show answers with a page, whole or not at all.
func (p page) show(out http.ResponseWriter, status int, page templ.Component) {
	b, err := fragment(page)
	if err != nil {
		p.log.Error("could not draw a page; the person was told to look at this log", "error", err)
		http.Error(out, "This page could not be made; the desk's log says why.", http.StatusInternalServerError)
		return
	}
	out.Header().Set("Content-Type", "text/html; charset=utf-8")
	out.WriteHeader(status)
	_, _ = out.Write(b)
}

// fragment makes a page, or a part of one.
func fragment(part templ.Component) ([]byte, error) {
	var b bytes.Buffer
	err := part.Render(context.Background(), &b)
	return b.Bytes(), err
}

// say answers with a page of one sentence.
func (p page) say(out http.ResponseWriter, status int, s signin.Session, title, sentence string) {
	p.show(out, status, sentencePage(p.head(s, title), sentence, "To the inbox"))
}

// noPage is logged if the desk itself could not work.
const noPage = "could not show a page; the person was told to try again"

// failed answers if the desk itself could not work.
func (p page) failed(out http.ResponseWriter, r *http.Request, s signin.Session, err error) {
	p.log.Error(noPage, "path", r.Pattern, "person", s.Person, "reason", err)
	p.say(out, http.StatusServiceUnavailable, s, "Not now", "The desk cannot do that right now. Try again in a moment.")
}

// refuse answers with a page that says why the page asked for is not shown.
func (p page) refuse(out http.ResponseWriter, r *http.Request, s signin.Session, err error) {
	text, status, title := textOf(err), statusOf(err), "Not now"
	if approval.CodeOf(err) == "" {
		p.log.Error(noPage, "path", r.Pattern, "person", s.Person, "reason", err)
	}
	if status == http.StatusNotFound {
		title = "Not found"
	}
	p.show(out, status, sentencePage(p.head(s, title), text, "To the inbox"))
}

// textOf is what a person reads of a refusal.
func textOf(err error) string {
	if no, known := errors.AsType[*approval.Error](err); known {
		return no.Message
	}
	return "The desk could not do this now; try again."
}

// notice answers a script with a sentence alone.
func (p page) notice(out http.ResponseWriter, status int, text string) {
	out.Header().Set("Content-Type", "text/html; charset=utf-8")
	out.WriteHeader(status)
	_, _ = out.Write([]byte(html.EscapeString(text)))
}

// operator reports whether the reader may decide; if not, it answers so.
func (p page) operator(out http.ResponseWriter, r *http.Request, v reader) bool {
	if !v.caller.MayDecide {
		p.refuse(out, r, v.session, approval.Refuse(approval.CodeForbidden,
			"This page is for people who may decide requests."))
	}
	return v.caller.MayDecide
}

func safe(s string) string { return display.Safe(s) }
