package web

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"time"

	"approvalbot/internal/approval"
	"approvalbot/internal/assertion"
	"approvalbot/internal/signin"
)

// passkeyPages are a person's passkeys, and signing in with one.
type passkeyPages struct {
	admission
}

func (p *passkeyPages) routes() []route {
	return []route{
		{pattern: "GET /me/passkeys", serve: p.passkeys},
		{pattern: "POST /me/passkeys/confirm/begin", serve: p.script(p.beginConfirmation)},
		{pattern: "POST /me/passkeys/confirm/finish", serve: p.script(p.finishConfirmation)},
		{pattern: "POST /me/passkeys/remove", serve: p.removePasskey},
		{pattern: "POST /signin/passkey/begin", open: true, serve: p.script(p.beginSignIn)},
		{pattern: "POST /signin/passkey/finish", open: true, serve: p.script(p.finishSignIn)},
	}
}

// passkeysView is what the page of a person's passkeys shows.
type passkeysView struct {
	signin.Passkeys
	Problem string // of what was just tried
	zone    *time.Location
}

// When says a time of the page; 0 is never.
func (v passkeysView) When(ms int64) string {
	if ms == 0 {
		return "never"
	}
	return time.UnixMilli(ms).In(v.zone).Format("2 Jan 2006 15:04 MST")
}

func (p *passkeyPages) passkeys(out http.ResponseWriter, r *http.Request, s signin.Session) {
	p.showPasskeys(out, r, s, nil)
}

func (p *passkeyPages) showPasskeys(out http.ResponseWriter, r *http.Request, s signin.Session, problem error) {
	all, err := p.signin.PasskeysOf(r.Context(), s)
	if err != nil {
		p.notThere(out, r, s, err)
		return
	}
	v := passkeysView{Passkeys: all, zone: p.zoneOf(s)}
	status := http.StatusOK
	if problem != nil {
		v.Problem, status = inWords(problem), scriptStatus(problem)
	}
	p.show(out, status, passkeysPage(p.head(s, "Your passkeys"), v))
}

func (p *passkeyPages) removePasskey(out http.ResponseWriter, r *http.Request, s signin.Session) {
	r.Body = http.MaxBytesReader(out, r.Body, maxScript)
	if err := p.signin.RemovePasskey(r.Context(), s, r.PostFormValue("id")); err != nil {
		p.showPasskeys(out, r, s, err)
		return
	}
	http.Redirect(out, r, "/me/passkeys", http.StatusSeeOther)
}

// signOptions is what a browser is given to have a passkey sign: the members of WebAuthn's
// PublicKeyCredentialRequestOptionsJSON that matter here.
type signOptions struct {
	Challenge        string       `json:"challenge"`
	RPID             string       `json:"rpId"`
	Timeout          int64        `json:"timeout"`
	UserVerification string       `json:"userVerification"`
	AllowCredentials []allowedKey `json:"allowCredentials"` // empty: any of the person's
}

type allowedKey struct {
	Type string `json:"type"`
	ID   string `json:"id"`
}

func optionsOf(site assertion.Site, challenge string, passkeys []string) signOptions {
	a := signOptions{Challenge: challenge, RPID: site.ID, Timeout: signin.CeremonyLife.Milliseconds(),
		UserVerification: "required", AllowCredentials: []allowedKey{}}
	for _, id := range passkeys {
		a.AllowCredentials = append(a.AllowCredentials, allowedKey{"public-key", id})
	}
	return a
}

// signAnswer is what the browser brings back.
type signAnswer struct {
	Challenge string             `json:"challenge"`
	Response  assertion.Response `json:"response"`
}

func (p *passkeyPages) beginConfirmation(_ http.ResponseWriter, r *http.Request, s signin.Session) (any, error) {
	all, err := p.signin.PasskeysOf(r.Context(), s)
	if err != nil {
		return nil, err
	}
	c, err := p.signin.BeginCeremony(r.Context(), signin.ConfirmChallenge, s.ID)
	return optionsOf(p.gate.Rules().Site, c.ID, all.IDs()), err
}

func (p *passkeyPages) finishConfirmation(_ http.ResponseWriter, r *http.Request, s signin.Session) (any, error) {
	var in signAnswer
	if err := readScript(r, &in); err != nil {
		return nil, err
	}
	return scriptDone{}, p.signin.Confirm(r.Context(), s, in.Challenge, in.Response)
}

// ceremonyCookie identifies a browser that has no session yet. It is Secure: browsers
// take localhost for safe.
const ceremonyCookie = "__Host-approvalbot-ceremony"

func (p *passkeyPages) beginSignIn(out http.ResponseWriter, r *http.Request, _ signin.Session) (any, error) {
	random := make([]byte, 32)
	_, _ = rand.Read(random) // never fails (crypto/rand)
	value := base64.RawURLEncoding.EncodeToString(random)
	c, err := p.signin.BeginCeremony(r.Context(), signin.SignInChallenge, browserOf(value))
	if err != nil {
		return nil, err
	}
	http.SetCookie(out, &http.Cookie{Name: ceremonyCookie, Value: value, Path: "/", Secure: true, HttpOnly: true,
		SameSite: http.SameSiteStrictMode, MaxAge: int(signin.CeremonyLife.Seconds())})
	return optionsOf(p.gate.Rules().Site, c.ID, nil), nil
}

// browserOf names a browser by its cookie, which is not stored.
func browserOf(cookie string) string {
	sum := sha256.Sum256([]byte(cookie))
	return "cookie " + hex.EncodeToString(sum[:])
}

func (p *passkeyPages) finishSignIn(out http.ResponseWriter, r *http.Request, _ signin.Session) (any, error) {
	var in signAnswer
	if err := readScript(r, &in); err != nil {
		return nil, err
	}
	cookie, err := r.Cookie(ceremonyCookie)
	if err != nil {
		return nil, approval.Refuse(approval.CodeForbidden, "This browser keeps no cookies, or the five minutes are over: try again.")
	}
	person, err := p.signin.SignInByPasskey(r.Context(), browserOf(cookie.Value), in.Challenge, in.Response)
	if err != nil {
		return nil, err
	}
	http.SetCookie(out, &http.Cookie{Name: ceremonyCookie, Path: "/", Secure: true, HttpOnly: true,
		SameSite: http.SameSiteStrictMode, MaxAge: -1})
	return scriptDone{Next: "/"}, p.startAs(out, r, person, signin.ByPasskey)
}
