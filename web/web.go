// Package web serves the desk's pages to people: what waits for them, what
// happened, and how they sign in. Everything a page shows comes from core and
// display; pages decide nothing.
package web

import (
	"bytes"
	"embed"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"slices"

	"approvalbot/core"
)

// policyHeader is the Content-Security-Policy of every answer: nothing from
// elsewhere, no inline script or style, no frame around it.
const policyHeader = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"manifest-src 'self'; worker-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

//go:embed static
var static embed.FS

//go:embed templates
var texts embed.FS

// Config is what a Web is made of.
type Config struct {
	Gate      *core.Gate
	PublicURL *url.URL // how people reach the desk; links begin with it
	Log       *slog.Logger
}

// Web is the desk's pages. Safe for concurrent use.
type Web struct {
	cfg       Config
	gate      *core.Gate
	templates *template.Template
	who       func(*http.Request) (core.Session, bool) // whose browser it is
	// start signs the browser in as a person: it starts a session and sets its cookie.
	start func(out http.ResponseWriter, r *http.Request, person, how string) error
}

// page is one route.
type page struct {
	pattern string // of ServeMux: "GET /a/{code}"
	open    bool   // for people who are not signed in, too; the session is empty then
	serve   func(http.ResponseWriter, *http.Request, core.Session)
}

// New makes the pages.
func New(cfg Config) (*Web, error) {
	w := &Web{cfg: cfg, gate: cfg.Gate}
	w.who = w.signedIn
	var err error
	w.templates, err = template.New("").Funcs(functions).ParseFS(texts, "templates/*.html")
	return w, err
}

// functions are what templates may call.
var functions = template.FuncMap{}

// pages are all routes.
func (w *Web) pages() []page {
	return slices.Concat(w.signInPages(), w.inboxPages(), w.stepUpPages(), w.dialogPages())
}

// Handlers gives all routes as ServeMux patterns.
func (w *Web) Handlers() map[string]http.Handler {
	out := map[string]http.Handler{"GET /static/": http.FileServerFS(static)}
	for _, p := range w.pages() {
		out[p.pattern] = w.guard(p)
	}
	return out
}

// guard lets a page be reached by whom it is for, from where it may be asked for.
func (w *Web) guard(p page) http.Handler {
	return http.NewCrossOriginProtection().Handler(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		out.Header().Set("Content-Security-Policy", policyHeader)
		s, ok := w.who(r)
		if !ok && !p.open {
			http.Redirect(out, r, "/signin", http.StatusSeeOther)
			return
		}
		p.serve(out, r, s)
	}))
}

// show answers with a page made of that template, whole or not at all. Every
// template is given a [view].
func (w *Web) show(out http.ResponseWriter, status int, name string, v view) {
	var b bytes.Buffer
	if err := w.templates.ExecuteTemplate(&b, name, v); err != nil {
		w.cfg.Log.Error("page not made", "page", name, "error", err)
		http.Error(out, "This page could not be made; the desk's log says why.", http.StatusInternalServerError)
		return
	}
	out.Header().Set("Content-Type", "text/html; charset=utf-8")
	out.WriteHeader(status)
	_, _ = b.WriteTo(out)
}

// view is what a template is given.
type view struct {
	Title   string
	Session core.Session // whose browser it is; empty when nobody is signed in
	Data    any
}
