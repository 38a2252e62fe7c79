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

// passkeyPages are those by which people keep passkeys, and sign in with one.
func (w *Web) passkeyPages() []page {
	return []page{
		{"GET /me/passkeys", false, w.passkeys},
		{"POST /me/passkeys/begin", false, w.script(w.beginEnrolment)},
		{"POST /me/passkeys/finish", false, w.script(w.finishEnrolment)},
		{"POST /me/passkeys/confirm/begin", false, w.script(w.beginConfirmation)},
		{"POST /me/passkeys/confirm/finish", false, w.script(w.finishConfirmation)},
		{"POST /me/passkeys/remove", false, w.removePasskey},
		{"POST /signin/passkey/begin", true, w.script(w.beginSignIn)},
		{"POST /signin/passkey/finish", true, w.script(w.finishSignIn)},
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

func (w *Web) passkeys(out http.ResponseWriter, r *http.Request, s signin.Session) {
	w.showPasskeys(out, r, s, nil)
}

func (w *Web) showPasskeys(out http.ResponseWriter, r *http.Request, s signin.Session, problem error) {
	all, err := w.signin.PasskeysOf(r.Context(), s)
	if err != nil {
		w.notThere(out, r, err)
		return
	}
	v := passkeysView{Passkeys: all, zone: w.zoneOf(s)}
	status := http.StatusOK
	if problem != nil {
		v.Problem, status = inWords(problem), scriptStatus(problem)
	}
	w.show(out, status, passkeysPage(w.head(s, "Your passkeys"), v))
}

// zoneOf is the one in which a person is told times.
func (w *Web) zoneOf(s signin.Session) *time.Location {
	if zone := w.gate.Rules().People.Zone(s.Person); zone != nil {
		return zone
	}
	return time.UTC
}

func (w *Web) removePasskey(out http.ResponseWriter, r *http.Request, s signin.Session) {
	r.Body = http.MaxBytesReader(out, r.Body, maxScript)
	if err := w.signin.RemovePasskey(r.Context(), s, r.PostFormValue("id")); err != nil {
		w.showPasskeys(out, r, s, err)
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
	AllowCredentials []allowedKey `json:"allowCredentials"` // none: whichever the person has
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

func (w *Web) beginConfirmation(_ http.ResponseWriter, r *http.Request, s signin.Session) (any, error) {
	all, err := w.signin.PasskeysOf(r.Context(), s)
	if err != nil {
		return nil, err
	}
	c, err := w.signin.BeginCeremony(r.Context(), signin.ConfirmChallenge, s.ID)
	return optionsOf(w.gate.Rules().Site, c.ID, all.IDs()), err
}

func (w *Web) finishConfirmation(_ http.ResponseWriter, r *http.Request, s signin.Session) (any, error) {
	var in signAnswer
	if err := readScript(r, &in); err != nil {
		return nil, err
	}
	return scriptDone{}, w.signin.Confirm(r.Context(), s, in.Challenge, in.Response)
}

// scriptDone says that there is nothing more to say.
type scriptDone struct {
	Next string `json:"next,omitempty"` // the page to go to
}

// ceremonyCookie stands for a browser that has no session yet. It is Secure: browsers
// take localhost for safe.
const ceremonyCookie = "__Host-approvalbot-ceremony"

func (w *Web) beginSignIn(out http.ResponseWriter, r *http.Request, _ signin.Session) (any, error) {
	random := make([]byte, 32)
	_, _ = rand.Read(random) // never fails (crypto/rand)
	value := base64.RawURLEncoding.EncodeToString(random)
	c, err := w.signin.BeginCeremony(r.Context(), signin.SignInChallenge, browserOf(value))
	if err != nil {
		return nil, err
	}
	http.SetCookie(out, &http.Cookie{Name: ceremonyCookie, Value: value, Path: "/", Secure: true, HttpOnly: true,
		SameSite: http.SameSiteStrictMode, MaxAge: int(signin.CeremonyLife.Seconds())})
	return optionsOf(w.gate.Rules().Site, c.ID, nil), nil
}

// browserOf names a browser by its cookie, which is kept nowhere.
func browserOf(cookie string) string {
	sum := sha256.Sum256([]byte(cookie))
	return "cookie " + hex.EncodeToString(sum[:])
}

func (w *Web) finishSignIn(out http.ResponseWriter, r *http.Request, _ signin.Session) (any, error) {
	var in signAnswer
	if err := readScript(r, &in); err != nil {
		return nil, err
	}
	cookie, err := r.Cookie(ceremonyCookie)
	if err != nil {
		return nil, approval.Refuse(approval.CodeForbidden, "This browser keeps no cookies, or the five minutes are over: try again.")
	}
	person, err := w.signin.SignInByPasskey(r.Context(), browserOf(cookie.Value), in.Challenge, in.Response)
	if err != nil {
		return nil, err
	}
	http.SetCookie(out, &http.Cookie{Name: ceremonyCookie, Path: "/", Secure: true, HttpOnly: true,
		SameSite: http.SameSiteStrictMode, MaxAge: -1})
	return scriptDone{Next: "/"}, w.startAs(out, r, person, signin.ByPasskey)
}
