// Package web serves the desk's pages to people: what waits for them, what
// happened, and how they sign in. Everything a page shows comes from core and
// display; pages make no decisions.
//
// Each page has a handler type with what it needs, and a .templ file that says what it looks
// like. Below them are page (how people are answered), readers (who looks, and what they may
// see), sessions and admission (whose browser it is); guard is around all of them. A text of
// others goes through safe in the handler, never in the .templ file. What a page needs of the
// desk is a field of [Config], which package daemon fills in webpages.go.
package web

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/display"
	"approvalbot/internal/signin"
)

// Config is what a Web is made of.
type Config struct {
	Gate      *core.Gate
	SignIn    *signin.Door
	PublicURL *url.URL // how people reach the desk; links begin with it; see [Web.ReachedAt]
	Log       *slog.Logger
	// Authenticated is called when a connection is known to belong to a person; nil: ignored.
	Authenticated func(http.ResponseWriter, *http.Request)
	OIDC          OIDC
	BotToken      string // of Telegram's bot, which signs what its Mini App is given; empty if there is no bot

	Changes Changes                                   // nil: pages show what was when they were opened
	Rights  func(person string) Rights                // what a person's tokens may do; nil: deciding only
	Policy  func(context.Context) (api.Policy, error) // the effective policy
	OnDisk  func(context.Context) OnDisk              // how the configuration file differs; nil if there is no file
	Audit   *Audit                                    // nil: no log to look at
	Receipt func(approval.Approval) (string, error)   // of a claimed approval; nil if receipts are not signed
	Health  func(context.Context) []core.Diagnostic   // how the desk is

	EmbedOrigins []string                // of pages that may list what waits, and open the dialog
	Viewers      core.ViewerKey          // reads the tokens of who looks at such a list
	Asks         func(owner string) bool // whether an API token of that name still may ask
	PushKey      string                  // the desk's public key at push services; empty if browsers are not notified
}

// Web is the desk's pages. Safe for concurrent use.
type Web struct {
	page
	address  *address
	botToken string
	guard    *guard
	sessions *sessions
	streams  *streams      // pages and lists that are open and live
	shown    *shown        // calls that people have seen
	closing  chan struct{} // closed when the desk stops

	approvals *approvalPages
	live      *livePages
	dialogs   *dialogPages
	viewers   *viewerPages
	routes    []route
}

// New makes the pages.
func New(cfg Config) (*Web, error) {
	if cfg.PublicURL == nil {
		return nil, errors.New("the pages need the address at which people reach them")
	}
	p := page{readers{cfg.Gate, cfg.Rights}, cfg.Log, cfg.Audit != nil}
	w := &Web{page: p, address: &address{cfg.PublicURL}, botToken: cfg.BotToken,
		sessions: newSessions(cfg.SignIn, cfg.Log), streams: &streams{}, shown: &shown{}, closing: make(chan struct{})}
	var err error
	if w.guard, err = newGuard(p, w.sessions, w.address, cfg.Authenticated); err != nil {
		return nil, err
	}
	w.routes = slices.Concat(w.signInRoutes(cfg), w.approvalRoutes(cfg), w.deskRoutes(cfg))
	return w, nil
}

// signInRoutes are those by which people come in, and keep what they come in with.
func (w *Web) signInRoutes(cfg Config) []route {
	in := admission{w.page, w.sessions, cfg.SignIn}
	out := slices.Concat(
		(&signInPages{in, cfg.OIDC.Issuer != ""}).routes(),
		(&mePages{w.page, cfg.SignIn}).routes(),
		(&passkeyPages{in}).routes(),
		(&enrolPages{w.page, cfg.SignIn}).routes(),
		(&pushPages{w.page, cfg.SignIn, cfg.PushKey}).routes(),
	)
	if cfg.OIDC.Issuer != "" {
		out = append(out, (&oidcPages{in, newProvider(cfg.OIDC), w.address}).routes()...)
	}
	if cfg.BotToken != "" {
		out = append(out, (&miniAppPages{in, cfg.BotToken}).routes()...)
	}
	return out
}

// approvalRoutes show approvals, and count what people decide of them.
func (w *Web) approvalRoutes(cfg Config) []route {
	count := ballots{cfg.Gate, w.shown}
	inbox := &inboxPages{w.page}
	w.approvals = &approvalPages{page: w.page, shown: w.shown, receipt: cfg.Receipt}
	if cfg.Audit != nil {
		w.approvals.entries = cfg.Audit.Entries
	}
	w.live = &livePages{w.page, w.sessions, inbox, w.approvals, w.shown, w.streams, cfg.Changes, w.closing}
	w.dialogs = &dialogPages{w.page, w.shown, count.voteOn, cfg.EmbedOrigins}
	w.viewers = &viewerPages{page: w.page, authenticated: cfg.Authenticated, streams: w.streams, changes: cfg.Changes,
		closing: w.closing, key: cfg.Viewers, asks: cfg.Asks, origins: cfg.EmbedOrigins}
	return slices.Concat(inbox.routes(), w.approvals.routes(), (&votePages{w.page, count, w.approvals}).routes(),
		w.live.routes(), (&stepUpPages{w.page, cfg.SignIn}).routes(), w.dialogs.routes(), w.viewers.routes())
}

// deskRoutes show what the desk knows beside what waits.
func (w *Web) deskRoutes(cfg Config) []route {
	return slices.Concat(
		(&historyPages{w.page}).routes(),
		(&grantPages{w.page}).routes(),
		(&policyPages{w.page, cfg.Policy, cfg.OnDisk}).routes(),
		(&peoplePages{w.page, cfg.SignIn}).routes(),
		(&numberPages{w.page, make(chan struct{}, 1)}).routes(),
		(&auditPages{page: w.page, audit: cfg.Audit}).routes(),
		(&healthPages{w.page, cfg.Health}).routes(),
	)
}

// ReachedAt sets the address of the desk for people, if it is known only once the desk
// listens. Call it before the first request is served.
func (w *Web) ReachedAt(base *url.URL) { w.address.url = base }

// Run lets go of open pages when ctx ends, so that the desk can stop.
func (w *Web) Run(ctx context.Context) error {
	<-ctx.Done()
	close(w.closing)
	return nil
}

// Handlers gives all routes as ServeMux patterns.
func (w *Web) Handlers() map[string]http.Handler {
	out := map[string]http.Handler{"GET /static/": w.guard.outer(http.FileServerFS(static))}
	for _, r := range w.routes {
		out[r.pattern] = w.guard.around(r)
	}
	return out
}

// NoSuchPage answers for a path that no route has.
func (w *Web) NoSuchPage() http.Handler {
	return w.guard.around(route{open: true, serve: func(out http.ResponseWriter, r *http.Request, s signin.Session) {
		path, _ := display.Clip(safe(r.URL.Path), 100)
		w.say(out, http.StatusNotFound, s, "There is no such page", "The desk has no page at "+path+". Check that the address is complete.")
	}})
}
