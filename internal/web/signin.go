package web

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"approvalbot/internal/approval"
	"approvalbot/internal/signin"
)

// cookieName begins with __Host-, so that no other host, and no path of this one, can
// set it. It is Secure: browsers take localhost for safe, also without TLS.
const cookieName = "__Host-approvalbot"

const eventStream = "text/event-stream"

// signInPages are those by which people come in and go.
func (w *Web) signInPages() []page {
	all := []page{
		{"GET /signin", true, w.signInPage},
		{"POST /signin", true, w.spend},
		{"POST /signout", false, w.signOut},
		{"GET /me", false, w.me},
		{"POST /me/end", false, w.endOne},
		{"POST /me/end-others", false, w.endOthers},
	}
	if w.provider != nil {
		all = append(all, page{"GET /signin/oidc", true, w.askProvider}, page{"GET " + callbackPath, true, w.fromProvider})
	}
	if w.cfg.BotToken != "" {
		all = append(all, page{"GET /telegram", true, w.miniApp}, page{"POST /telegram", true, w.fromMiniApp})
	}
	return all
}

// signedIn says whose session a request belongs to. What goes on by itself, a stream of
// events, does not count as a use of the session.
func (w *Web) signedIn(r *http.Request) (signin.Session, bool) {
	c, err := r.Cookie(cookieName)
	if err != nil {
		return signin.Session{}, false
	}
	look := w.signin.Session
	if strings.Contains(r.Header.Get("Accept"), eventStream) {
		look = w.signin.SessionStands
	}
	s, err := look(r.Context(), c.Value)
	if err != nil && approval.CodeOf(err) != approval.CodeNotFound && r.Context().Err() == nil {
		w.cfg.Log.Error("a session cannot be looked up", "reason", err)
	}
	return s, err == nil
}

// signIn is what the page of that name shows.
type signIn struct {
	Person string // whom its link signs in; empty: there is no link
	Enrols bool
	Link   string
	OIDC   bool
	Next   string // where to go then
}

// signInPage shows the ways to sign in, or asks for the click that spends a link: what
// merely opens an address, such as a chat's preview, spends nothing.
func (w *Web) signInPage(out http.ResponseWriter, r *http.Request, s signin.Session) {
	secret := r.URL.Query().Get("link")
	if secret == "" && s.ID != "" {
		http.Redirect(out, r, next(r.URL.Query().Get("next")), http.StatusSeeOther)
		return
	}
	data := signIn{OIDC: w.provider != nil, Next: next(r.URL.Query().Get("next"))}
	if secret != "" {
		l, err := w.signin.Link(r.Context(), secret)
		switch {
		case approval.CodeOf(err) == approval.CodeNotFound:
			w.say(out, http.StatusGone, s, "Not signed in", err.Error()+" Ask for another one.")
			return
		case err != nil:
			w.failed(out, s, err)
			return
		}
		data.Person, data.Enrols, data.Link = l.Person, l.Enrols, secret
	}
	w.show(out, http.StatusOK, signInPage(w.head(s, "Sign in"), data))
}

// spend signs in by a link, at a click.
func (w *Web) spend(out http.ResponseWriter, r *http.Request, _ signin.Session) {
	s, cookie, err := w.signin.SpendLink(r.Context(), r.PostFormValue("link"), browser(r))
	switch {
	case approval.CodeOf(err) == approval.CodeNotFound, approval.CodeOf(err) == approval.CodeForbidden:
		w.refused(out, r, http.StatusGone, signin.ByLink, "a link that cannot be used", err.Error()+" Ask for another one.")
	case err != nil:
		w.failed(out, signin.Session{}, err)
	default:
		w.enter(out, r, s, cookie, "/")
	}
}

// startAs signs the browser in as a person who has proven it in that way.
func (w *Web) startAs(out http.ResponseWriter, r *http.Request, person, how string) error {
	s, cookie, err := w.signin.SignIn(r.Context(), signin.SignIn{Person: person, How: how, Browser: browser(r)})
	if err == nil {
		w.keep(out, r, s, cookie)
	}
	return err
}

// enter gives the browser its session and goes on to a page of the desk's own.
func (w *Web) enter(out http.ResponseWriter, r *http.Request, s signin.Session, cookie, to string) {
	w.keep(out, r, s, cookie)
	http.Redirect(out, r, next(to), http.StatusSeeOther)
}

// keep gives the browser its session, in place of the one that it had.
func (w *Web) keep(out http.ResponseWriter, r *http.Request, s signin.Session, cookie string) {
	if old, ok := w.who(r); ok {
		if err := w.signin.ReplaceSession(r.Context(), old, s); err != nil {
			w.cfg.Log.Warn("a browser's earlier session was not ended", "person", old.Person, "reason", err)
		}
	}
	http.SetCookie(out, &http.Cookie{Name: cookieName, Value: cookie, Path: "/", MaxAge: int(signin.SessionLife.Seconds()),
		Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode})
}

// signOut ends the browser's session.
func (w *Web) signOut(out http.ResponseWriter, r *http.Request, s signin.Session) {
	if err := w.signin.EndSession(r.Context(), s.Person, s.ID); err != nil && approval.CodeOf(err) != approval.CodeNotFound {
		w.failed(out, s, err)
		return
	}
	http.SetCookie(out, &http.Cookie{Name: cookieName, Path: "/", MaxAge: -1, Secure: true, HttpOnly: true,
		SameSite: http.SameSiteLaxMode})
	http.Redirect(out, r, "/signin", http.StatusSeeOther)
}

// shownSession is a session as its person sees it.
type shownSession struct {
	ID, How, Browser, Since, Used, Ends string
	This, Enrols                        bool
}

// hows are the ways to sign in, in words.
var hows = map[string]string{signin.ByLink: "one-time link", signin.ByPasskey: "passkey", signin.ByOIDC: "organisation",
	signin.ByTelegram: "Telegram"}

// me shows a person's sessions.
func (w *Web) me(out http.ResponseWriter, r *http.Request, s signin.Session) {
	all, err := w.signin.Sessions(r.Context(), s.Person)
	if err != nil {
		w.failed(out, s, err)
		return
	}
	zone := time.UTC
	if person, _ := w.gate.Rules().People.Person(s.Person); person.Zone != nil {
		zone = person.Zone
	}
	at := func(ms int64) string { return time.UnixMilli(ms).In(zone).Format("2 Jan 15:04 MST") }
	var shown []shownSession
	for _, x := range all {
		shown = append(shown, shownSession{ID: x.ID, How: hows[x.How], Browser: x.Browser, Since: at(x.CreatedMs),
			Used: at(x.UsedMs), Ends: at(x.EndsMs), This: x.ID == s.ID, Enrols: x.Enrols})
	}
	slices.SortStableFunc(shown, func(a, b shownSession) int {
		switch {
		case a.This == b.This:
			return 0
		case a.This:
			return -1
		}
		return 1
	})
	w.show(out, http.StatusOK, mePage(w.head(s, "Your sessions"), shown))
}

func (w *Web) endOne(out http.ResponseWriter, r *http.Request, s signin.Session) {
	err := w.signin.EndSession(r.Context(), s.Person, r.PostFormValue("id"))
	w.ended(out, r, s, err)
}

func (w *Web) endOthers(out http.ResponseWriter, r *http.Request, s signin.Session) {
	_, err := w.signin.EndOtherSessions(r.Context(), s)
	w.ended(out, r, s, err)
}

// ended shows what is left. That a session had ended before is as good.
func (w *Web) ended(out http.ResponseWriter, r *http.Request, s signin.Session, err error) {
	if err != nil && approval.CodeOf(err) != approval.CodeNotFound {
		w.failed(out, s, err)
		return
	}
	http.Redirect(out, r, "/me", http.StatusSeeOther)
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
