package web

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"approvalbot/internal/signin"
)

// headers of every answer. Nothing comes from elsewhere, no script or style stands in a
// page, no page stands in a frame, and no address is told to others. A page that is to
// speak with whoever opened it takes Cross-Origin-Opener-Policy away.
var headers = map[string]string{
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

const (
	maxForm     = 256 << 10 // bytes of a request's body
	sessionLook = 10 * time.Second
)

// guard lets a page be reached by whom it is for, from where it may be asked for.
func (w *Web) guard(p page) http.Handler {
	return w.outer(w.crossing.Handler(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead { // it would look as if the page had been seen
			out.Header().Set("Allow", http.MethodGet)
			http.Error(out, "Pages are for reading: GET them.", http.StatusMethodNotAllowed)
			return
		}
		out.Header().Set("Cache-Control", "no-store")
		r.Body = http.MaxBytesReader(out, r.Body, maxForm)
		s, ok := w.who(r)
		if !ok && !p.open {
			http.Redirect(out, r, "/signin"+nextQuery(r), http.StatusSeeOther)
			return
		}
		if ok && w.cfg.Authenticated != nil {
			w.cfg.Authenticated(out, r)
		}
		if ok && r.Method == http.MethodPost && !w.forms.take(s.Person) {
			w.tooFast(out, r, s)
			return
		}
		p.serve(out, r, s)
	})))
}

// outer sets the headers, and refuses names that are not the desk's: a page of another
// site whose name was made to lead here would be of one origin with the desk's own.
func (w *Web) outer(next http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		for name, value := range headers {
			out.Header().Set(name, value)
		}
		host := hostname(r.Host)
		switch local := w.local(); {
		case local && numeric(host) && (r.Method == http.MethodGet || r.Method == http.MethodHead):
			// Passkeys know names alone, and a cookie of localhost is not one of 127.0.0.1.
			to := url.URL{Scheme: w.cfg.PublicURL.Scheme, Host: w.cfg.PublicURL.Host, Path: r.URL.Path, RawQuery: r.URL.RawQuery}
			http.Redirect(out, r, to.String(), http.StatusTemporaryRedirect)
		case host == hostname(w.cfg.PublicURL.Host), host == "localhost", numeric(host):
			next.ServeHTTP(out, r)
		default:
			http.Error(out, "The desk's pages are at "+w.cfg.PublicURL.String()+", and under no other name.",
				http.StatusMisdirectedRequest)
		}
	})
}

// local reports whether people reach the desk by localhost.
func (w *Web) local() bool { return hostname(w.cfg.PublicURL.Host) == "localhost" }

// numeric reports whether a host is an address of this machine's own.
func numeric(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// hostname is a Host without its port, in small letters.
func hostname(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

// lasting gives a context that ends with the request, and as soon as its session does:
// for answers that go on, such as streams of events. Whatever ends a session in this
// process counts at once, and in another within ten seconds.
func (w *Web) lasting(r *http.Request) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancel(r.Context())
	r = r.Clone(ctx)
	r.Header.Set("Accept", eventStream)
	go func() {
		defer stop()
		for {
			turn := w.signin.SessionsTurn()
			if _, ok := w.who(r); !ok {
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

// nextQuery remembers which page was asked for.
func nextQuery(r *http.Request) string {
	if r.Method != http.MethodGet || r.URL.Path == "/" {
		return ""
	}
	return "?" + url.Values{"next": {r.URL.RequestURI()}}.Encode()
}

// next is the page that was asked for before signing in: one of the desk's own, or the
// first.
func next(asked string) string {
	u, err := url.Parse(asked)
	ours := err == nil && u.Scheme == "" && u.Host == "" && u.User == nil && strings.HasPrefix(u.Path, "/") &&
		!strings.HasPrefix(u.Path, "//") && !strings.ContainsAny(asked, "\\\t\r\n")
	if !ours {
		return "/"
	}
	return u.RequestURI()
}

// refused puts an attempt to sign in on record that failed, and answers it.
func (w *Web) refused(out http.ResponseWriter, r *http.Request, status int, how, why, sentence string) {
	if err := w.signin.SignInRefused(r.Context(), remote(r), how, why); err != nil {
		w.cfg.Log.Error("a refused sign-in is not on record", "reason", err)
	}
	w.say(out, status, signin.Session{}, "Not signed in", sentence)
}

// remote is the address that a request comes from, of IPv6 the network that one
// subscriber has.
func remote(r *http.Request) string {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return "unknown"
	}
	ip := at.Addr().Unmap().WithZone("")
	if net, err := ip.Prefix(64); err == nil && ip.Is6() {
		return net.String()
	}
	return ip.String()
}
