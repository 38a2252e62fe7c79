package web

import (
	"net/http"

	"approvalbot/internal/approval"
	"approvalbot/internal/signin"
)

// signInPages are those by which people come in with a link.
type signInPages struct {
	admission
	oidc bool // there is a provider, too
}

func (p *signInPages) routes() []route {
	return []route{
		{pattern: "GET /signin", open: true, serve: p.ask},
		{pattern: "POST /signin", open: true, serve: p.spend},
	}
}

// signIn is what the page of that name shows.
type signIn struct {
	Person string // the person that its link signs in; empty without a link
	Enrols bool
	Link   string
	OIDC   bool
	Next   string // the address to go to then
}

// ask shows the ways to sign in, or asks for the click that spends a link:
// merely opening an address, as a chat's preview does, does not spend it.
func (p *signInPages) ask(out http.ResponseWriter, r *http.Request, s signin.Session) {
	secret := r.URL.Query().Get("link")
	if secret == "" && s.ID != "" {
		http.Redirect(out, r, next(r.URL.Query().Get("next")), http.StatusSeeOther)
		return
	}
	data := signIn{OIDC: p.oidc, Next: next(r.URL.Query().Get("next"))}
	if secret != "" {
		l, err := p.signin.Link(r.Context(), secret)
		switch {
		case approval.CodeOf(err) == approval.CodeNotFound:
			p.say(out, http.StatusGone, s, "Not signed in", err.Error()+" Ask for a new link.")
			return
		case err != nil:
			p.failed(out, r, s, err)
			return
		}
		data.Person, data.Enrols, data.Link = l.Person, l.Enrols, secret
	}
	p.show(out, http.StatusOK, signInPage(p.head(s, "Sign in"), data))
}

// spend signs in by a link, at a click.
func (p *signInPages) spend(out http.ResponseWriter, r *http.Request, _ signin.Session) {
	s, cookie, err := p.signin.SpendLink(r.Context(), r.PostFormValue("link"), browser(r))
	switch {
	case approval.CodeOf(err) == approval.CodeNotFound, approval.CodeOf(err) == approval.CodeForbidden:
		p.refused(out, r, http.StatusGone, signin.ByLink, "a link that cannot be used", err.Error()+" Ask for a new "+
			"link.")
	case err != nil:
		p.failed(out, r, signin.Session{}, err)
	default:
		p.enter(out, r, s, cookie, "/")
	}
}
