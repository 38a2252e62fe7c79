package web

import (
	"net/http"
	"net/netip"
	"strings"

	"approvalbot/internal/signin"
)

// admission lets people in, by any way in which they prove who they are.
type admission struct {
	page
	sessions *sessions
	signin   *signin.Door // sessions, links, passkeys
}

// refused puts an attempt to sign in on record that failed, and answers it.
func (p admission) refused(out http.ResponseWriter, r *http.Request, status int, how, why, sentence string) {
	if err := p.signin.SignInRefused(r.Context(), remote(r), how, why); err != nil {
		p.log.Error("could not record a refused sign-in; the audit log lacks it",
			"remote", remote(r), "how", how, "reason", err)
	}
	p.say(out, status, signin.Session{}, "Not signed in", sentence)
}

// startAs signs the browser in as a person who has proven it in that way.
func (p admission) startAs(out http.ResponseWriter, r *http.Request, person, how string) error {
	s, cookie, err := p.signin.SignIn(r.Context(), signin.SignIn{Person: person, How: how, Browser: browser(r)})
	if err == nil {
		p.keep(out, r, s, cookie)
	}
	return err
}

// enter gives the browser its session and goes on to a page of the desk's own.
func (p admission) enter(out http.ResponseWriter, r *http.Request, s signin.Session, cookie, to string) {
	p.keep(out, r, s, cookie)
	http.Redirect(out, r, next(to), http.StatusSeeOther)
}

// keep gives the browser its session, in place of the one that it had.
func (p admission) keep(out http.ResponseWriter, r *http.Request, s signin.Session, cookie string) {
	if old, ok := p.sessions.who(r); ok {
		if err := p.signin.ReplaceSession(r.Context(), old, s); err != nil {
			p.log.Warn("could not end a browser's earlier session; it lasts until it expires",
				"person", old.Person, "reason", err)
		}
	}
	http.SetCookie(out, &http.Cookie{Name: cookieName, Value: cookie, Path: "/", MaxAge: int(signin.SessionLife.Seconds()),
		Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode})
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

// browser is what a browser calls itself, in a few words.
func browser(r *http.Request) string {
	agent := r.UserAgent()
	find := func(words ...string) string {
		for _, w := range words {
			if strings.Contains(agent, w) {
				return w
			}
		}
		return ""
	}
	names := map[string]string{"Edg": "Edge", "OPR": "Opera"}
	name := find("Edg", "OPR", "Firefox", "Chrome", "Safari")
	if short, ok := names[name]; ok {
		name = short
	}
	system := find("Android", "iPhone", "iPad", "Windows", "Mac OS X", "Linux")
	if name == "" || system == "" {
		return agent
	}
	return name + " on " + system
}
