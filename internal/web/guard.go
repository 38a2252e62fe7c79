package web

import (
	"net/http"
	"net/url"
	"sync"

	"approvalbot/internal/approval"
	"approvalbot/internal/signin"
)

// headers of every answer. A page loads from this desk only, has no inline script or
// style, cannot be framed, and does not send its address to others. A page that speaks
// with the window that opened it removes Cross-Origin-Opener-Policy.
var headers = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
			"connect-src 'self'; manifest-src 'self'; worker-src 'self'; form-action 'self'; frame-ancestors 'none'; " +
			"base-uri 'none'",
		"X-Content-Type-Options":     "nosniff",
		"Referrer-Policy":            "no-referrer",
		"Cross-Origin-Opener-Policy": "same-origin",
		"X-Frame-Options":            "DENY",
		"Permissions-Policy": "publickey-credentials-get=(self), publickey-credentials-create=(self), camera=(), " +
			"microphone=(), geolocation=(), payment=(), usb=()",
	}
})

const maxForm = 256 << 10 // bytes of a request's body

// guard surrounds every page.
type guard struct {
	page
	sessions      *sessions
	address       *address
	crossing      *http.CrossOriginProtection
	authenticated func(http.ResponseWriter, *http.Request) // nil: ignored
	forms         pace                                     // at which people send them
}

func newGuard(p page, s *sessions, at *address,
	authenticated func(http.ResponseWriter, *http.Request)) (*guard, error) {
	g := &guard{page: p, sessions: s, address: at, crossing: http.NewCrossOriginProtection(), authenticated: authenticated}
	// A proxy in front may pass on another port than the pages' origin has, or no
	// port.
	return g, g.crossing.AddTrustedOrigin((&url.URL{Scheme: at.url.Scheme, Host: at.url.Host}).String())
}

// around serves a page only to the people that it is for, and only to requests from
// an allowed origin.
func (g *guard) around(to route) http.Handler {
	return g.outer(g.crossing.Handler(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead { // it would look as if the page had been seen
			out.Header().Set("Allow", http.MethodGet)
			http.Error(out, "Pages can only be read. Use GET.", http.StatusMethodNotAllowed)
			return
		}
		out.Header().Set("Cache-Control", "no-store")
		r.Body = http.MaxBytesReader(out, r.Body, maxForm)
		s, ok := g.sessions.who(r)
		if !ok && !to.open {
			http.Redirect(out, r, "/signin"+nextQuery(r), http.StatusSeeOther)
			return
		}
		if ok && g.authenticated != nil {
			g.authenticated(out, r)
		}
		if ok && r.Method == http.MethodPost && !g.forms.take(s.Person) {
			g.tooFast(out, r, s)
			return
		}
		to.serve(out, r, s)
	})))
}

// outer sets the headers, and refuses names that are not the desk's: a page of another
// site whose name was made to lead here would be of one origin with the desk's own.
func (g *guard) outer(next http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		for name, value := range headers() {
			out.Header().Set(name, value)
		}
		host := hostname(r.Host)
		switch local := g.address.local(); {
		case local && numeric(host) && (r.Method == http.MethodGet || r.Method == http.MethodHead):
			// Passkeys know names alone, and a cookie of localhost is not one of 127.0.0.1.
			to := url.URL{Scheme: g.address.url.Scheme, Host: g.address.url.Host, Path: r.URL.Path, RawQuery: r.URL.RawQuery}
			http.Redirect(out, r, to.String(), http.StatusTemporaryRedirect)
		case host == hostname(g.address.url.Host), host == "localhost", numeric(host):
			next.ServeHTTP(out, r)
		default:
			http.Error(out, "The desk's pages are at "+g.address.url.String()+", and under no other name.",
				http.StatusMisdirectedRequest)
		}
	})
}

// tooFast answers a person who sends more than they may, in the form that was asked for.
func (g *guard) tooFast(out http.ResponseWriter, r *http.Request, s signin.Session) {
	no := approval.Refuse(approval.CodeRateLimited, "You send more than %d forms a second: wait a moment, and try again.",
		formsPerSecond)
	out.Header().Set("Retry-After", "1")
	switch {
	case r.Header.Get("HX-Request") != "":
		g.notice(out, http.StatusTooManyRequests, no.Message)
	case r.Header.Get("Accept") == "application/json":
		g.script(func(http.ResponseWriter, *http.Request, signin.Session) (any, error) { return nil, no })(out, r, s)
	default:
		g.refuse(out, r, s, no)
	}
}
