package web

import (
	"net/http"
	"slices"
	"sync"
	"time"

	"approvalbot/internal/approval"
	"approvalbot/internal/signin"
)

// shownSession is a session as its person sees it.
type shownSession struct {
	ID, How, Browser, Since, Used, Ends string
	This, Enrols                        bool
}

// hows are the ways to sign in, in words.
var hows = sync.OnceValue(func() map[string]string {
	return map[string]string{signin.ByLink: "one-time link", signin.ByPasskey: "passkey", signin.ByOIDC: "organisation",
		signin.ByTelegram: "Telegram"}
})

// mePages are a person's own sessions.
type mePages struct {
	page
	signin *signin.Door // sessions
}

func (p *mePages) routes() []route {
	return []route{
		{pattern: "GET /me", serve: p.me},
		{pattern: "POST /signout", serve: p.signOut},
		{pattern: "POST /me/end", serve: p.endOne},
		{pattern: "POST /me/end-others", serve: p.endOthers},
	}
}

// me shows a person's sessions.
func (p *mePages) me(out http.ResponseWriter, r *http.Request, s signin.Session) {
	all, err := p.signin.Sessions(r.Context(), s.Person)
	if err != nil {
		p.failed(out, r, s, err)
		return
	}
	zone := p.zoneOf(s)
	at := func(ms int64) string { return time.UnixMilli(ms).In(zone).Format("2 Jan 15:04 MST") }
	var shown []shownSession
	for _, x := range all {
		shown = append(shown, shownSession{ID: x.ID, How: hows()[x.How], Browser: x.Browser, Since: at(x.CreatedMs),
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
	p.show(out, http.StatusOK, mePage(p.head(s, "Your sessions"), shown))
}

// signOut ends the browser's session.
func (p *mePages) signOut(out http.ResponseWriter, r *http.Request, s signin.Session) {
	if err := p.signin.EndSession(r.Context(), s.Person, s.ID); err != nil && approval.CodeOf(err) != approval.CodeNotFound {
		p.failed(out, r, s, err)
		return
	}
	http.SetCookie(out, &http.Cookie{Name: cookieName, Path: "/", MaxAge: -1, Secure: true, HttpOnly: true,
		SameSite: http.SameSiteLaxMode})
	http.Redirect(out, r, "/signin", http.StatusSeeOther)
}

func (p *mePages) endOne(out http.ResponseWriter, r *http.Request, s signin.Session) {
	err := p.signin.EndSession(r.Context(), s.Person, r.PostFormValue("id"))
	p.ended(out, r, s, err)
}

func (p *mePages) endOthers(out http.ResponseWriter, r *http.Request, s signin.Session) {
	_, err := p.signin.EndOtherSessions(r.Context(), s)
	p.ended(out, r, s, err)
}

// ended shows what is left. That a session had ended before is as good.
func (p *mePages) ended(out http.ResponseWriter, r *http.Request, s signin.Session, err error) {
	if err != nil && approval.CodeOf(err) != approval.CodeNotFound {
		p.failed(out, r, s, err)
		return
	}
	http.Redirect(out, r, "/me", http.StatusSeeOther)
}
