// Package web serves the desk's pages to people: what waits for them, what
// happened, and how they sign in. Everything a page shows comes from core and
// display; pages decide nothing.
package web

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"sync/atomic"

	"github.com/a-h/templ"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/signin"
)

//go:embed static
var static embed.FS

// Config is what a Web is made of.
type Config struct {
	Gate      *core.Gate
	SignIn    *signin.Door
	PublicURL *url.URL // how people reach the desk; links begin with it; see [Web.ReachedAt]
	Log       *slog.Logger
	// Authenticated notes that a connection is somebody's; nil: nobody wants to know.
	Authenticated func(http.ResponseWriter, *http.Request)
	OIDC          OIDC
	BotToken      string // of Telegram's bot, which signs what its Mini App is given; empty: there is none

	Changes Changes                                   // nil: pages show what was when they were opened
	Rights  func(person string) Rights                // what a person's tokens may; nil: nothing beside deciding
	Policy  func(context.Context) (api.Policy, error) // the effective policy
	OnDisk  func(context.Context) OnDisk              // how the configuration file differs; nil: there is none
	Audit   *Audit                                    // nil: no log to look at
	Receipt func(approval.Approval) (string, error)   // of a claimed approval; nil: none is signed
	Health  func(context.Context) []core.Diagnostic   // how the desk is

	EmbedOrigins []string                // of pages that may list what waits, and open the dialog
	Viewers      core.ViewerKey          // reads the tokens of who looks at such a list
	Asks         func(owner string) bool // whether an API token of that name still may ask
	PushKey      string                  // the desk's public key at push services; empty: no browser is notified
}

// Web is the desk's pages. Safe for concurrent use.
type Web struct {
	cfg      Config
	gate     *core.Gate
	signin   *signin.Door
	who      func(*http.Request) (signin.Session, bool) // whose browser it is
	crossing *http.CrossOriginProtection
	provider *provider // nil: nobody signs in by OIDC

	shown     shown
	streams   streams       // pages and lists that are open and live
	forms     pace          // at which people send them
	counting  chan struct{} // one count of numbers at a time
	verifying atomic.Bool   // a check of the log is under way
	castVote  castVote      // counts what a dialog decides
	closing   chan struct{} // closed when the desk stops
}

// page is one route.
type page struct {
	pattern string // of ServeMux: "GET /a/{code}"
	open    bool   // for people who are not signed in, too; the session is empty then
	serve   func(http.ResponseWriter, *http.Request, signin.Session)
}

// New makes the pages.
func New(cfg Config) (*Web, error) {
	if cfg.PublicURL == nil {
		return nil, errors.New("the pages need the address at which people reach them")
	}
	w := &Web{cfg: cfg, gate: cfg.Gate, signin: cfg.SignIn, crossing: http.NewCrossOriginProtection(), counting: make(chan struct{}, 1),
		closing: make(chan struct{})}
	w.castVote = w.voteOn
	w.who = w.signedIn
	if cfg.OIDC.Issuer != "" {
		w.provider = newProvider(cfg.OIDC)
	}
	// A proxy in front may pass on another port, or none, than the pages' origin has.
	err := w.crossing.AddTrustedOrigin((&url.URL{Scheme: cfg.PublicURL.Scheme, Host: cfg.PublicURL.Host}).String())
	return w, err
}

// ReachedAt says how people reach the desk where that is known only once it listens. It
// is for before anything is served.
func (w *Web) ReachedAt(base *url.URL) { w.cfg.PublicURL = base }

// pages are all routes.
func (w *Web) pages() []page {
	return slices.Concat(w.signInPages(), w.inboxPages(), w.stepUpPages(), w.dialogPages())
}

// Handlers gives all routes as ServeMux patterns.
func (w *Web) Handlers() map[string]http.Handler {
	out := map[string]http.Handler{"GET /static/": w.outer(http.FileServerFS(static))}
	for _, p := range w.pages() {
		out[p.pattern] = w.guard(p)
	}
	return out
}

// NoSuchPage answers for a path that no route has.
func (w *Web) NoSuchPage() http.Handler {
	return w.guard(page{open: true, serve: func(out http.ResponseWriter, _ *http.Request, s signin.Session) {
		w.say(out, http.StatusNotFound, s, "There is no such page", "Look whether the address is whole.")
	}})
}

// head is what a page says above its own part.
type head struct {
	Title   string
	Tab     string         // what the browser's tab says, if it is more
	Session signin.Session // whose browser it is; empty when nobody is signed in
	Links   []link
}

// head is that of a page for a session.
func (w *Web) head(s signin.Session, title string) head {
	return head{Title: title, Session: s, Links: w.nav(s)}
}

// show answers with a page, whole or not at all.
func (w *Web) show(out http.ResponseWriter, status int, page templ.Component) {
	b, err := fragment(page)
	if err != nil {
		w.cfg.Log.Error("page not made", "error", err)
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
func (w *Web) say(out http.ResponseWriter, status int, s signin.Session, title, sentence string) {
	w.show(out, status, sentencePage(w.head(s, title), sentence, "To the first page"))
}

// failed answers where the desk itself could not work.
func (w *Web) failed(out http.ResponseWriter, s signin.Session, err error) {
	w.cfg.Log.Error("a page could not be served", "reason", err)
	w.say(out, http.StatusServiceUnavailable, s, "Not now", "The desk cannot do that right now. Try again in a moment.")
}
