package web

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"approvalbot/core"
)

const (
	callbackPath = "/signin/oidc/callback"

	stateCookie = "__Host-approvalbot-oidc"
	stateLife   = 10 * time.Minute
	oidcTime    = 10 * time.Second // for an answer of the provider
)

// OIDC is a provider that says who somebody is. Without an issuer there is none.
type OIDC struct {
	Issuer, ClientID, ClientSecret string
	Transport                      http.RoundTripper // nil: the usual one
}

// provider is an OIDC provider, whose description is read when it is first needed: a
// desk starts without it. Safe for concurrent use.
type provider struct {
	cfg    OIDC
	client *http.Client

	mu   sync.Mutex
	read *oidc.Provider // nil: not yet
}

func newProvider(cfg OIDC) *provider {
	return &provider{cfg: cfg, client: &http.Client{Timeout: oidcTime, Transport: cfg.Transport}}
}

// Check says what keeps people from signing in by the provider, or nil.
func (c OIDC) Check(ctx context.Context) error {
	_, _, _, err := newProvider(c).use(ctx, "")
	return err
}

// use gives the client of the provider, and a context to call it with.
func (p *provider) use(ctx context.Context, back string) (context.Context, *oidc.Provider, oauth2.Config, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	ctx = oidc.ClientContext(ctx, p.client)
	if p.read == nil {
		read, err := oidc.NewProvider(ctx, p.cfg.Issuer)
		if err != nil {
			return ctx, nil, oauth2.Config{}, err
		}
		p.read = read
	}
	return ctx, p.read, oauth2.Config{
		ClientID: p.cfg.ClientID, ClientSecret: p.cfg.ClientSecret, Endpoint: p.read.Endpoint(),
		RedirectURL: back, Scopes: []string{oidc.ScopeOpenID, "email"},
	}, nil
}

// asked is what a browser keeps of a sign-in that it began, in a cookie: what comes back
// counts in that browser only.
type asked struct {
	State, Nonce, Verifier string
	Next                   string
}

// askProvider sends the browser to the provider. It is a link's GET: a form may not lead
// elsewhere (Content-Security-Policy, form-action).
func (w *Web) askProvider(out http.ResponseWriter, r *http.Request, _ core.Session) {
	_, _, client, err := w.provider.use(r.Context(), w.callback())
	if err != nil {
		w.failed(out, core.Session{}, err)
		return
	}
	a := asked{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(),
		Next: next(r.URL.Query().Get("next"))}
	text, _ := json.Marshal(a) // plain values always marshal
	http.SetCookie(out, &http.Cookie{Name: stateCookie, Value: base64.RawURLEncoding.EncodeToString(text), Path: "/",
		MaxAge: int(stateLife.Seconds()), Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode})
	to := client.AuthCodeURL(a.State, oidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier))
	http.Redirect(out, r, to, http.StatusSeeOther)
}

// callback is where the provider sends the browser back to.
func (w *Web) callback() string { return w.cfg.PublicURL.JoinPath(callbackPath).String() }

// fromProvider signs in whom the provider names.
func (w *Web) fromProvider(out http.ResponseWriter, r *http.Request, _ core.Session) {
	a, err := begun(r)
	http.SetCookie(out, &http.Cookie{Name: stateCookie, Path: "/", MaxAge: -1, Secure: true, HttpOnly: true,
		SameSite: http.SameSiteLaxMode})
	var email string
	if err == nil {
		email, err = w.provider.identify(r, w.callback(), a)
	}
	var person string
	if known := false; err == nil {
		if person, known = w.gate.Rules().People.WithEmail(email); !known {
			err = refusal("your address is nobody's whom the desk knows")
		}
	}
	if err != nil {
		w.cfg.Log.Warn("a sign-in by OIDC was refused", "reason", err)
		w.refused(out, r, http.StatusForbidden, core.ByOIDC, why(err),
			"The desk did not sign you in: "+why(err)+". Your operator finds the whole reason in the desk's log.")
		return
	}
	if err := w.startAs(out, r, person, core.ByOIDC); err != nil {
		w.failed(out, core.Session{}, err)
		return
	}
	http.Redirect(out, r, next(a.Next), http.StatusSeeOther)
}

// refusal is why somebody is not signed in, in words of the desk's own.
type refusal string

func (e refusal) Error() string { return string(e) }

// why is a reason that may be shown and put on record: what a provider says is not.
func why(err error) string {
	var own refusal
	if errors.As(err, &own) {
		return string(own)
	}
	return "what the provider says of you cannot be used"
}

// begun is the sign-in that this browser began, if what came back is its answer.
func begun(r *http.Request) (a asked, err error) {
	c, err := r.Cookie(stateCookie)
	if err != nil {
		return a, refusal("it was not begun in this browser, or more than ten minutes ago")
	}
	text, err := base64.RawURLEncoding.DecodeString(c.Value)
	if err == nil {
		err = json.Unmarshal(text, &a)
	}
	if err != nil || a.State == "" || r.URL.Query().Get("state") != a.State {
		return a, refusal("the answer is to another question than this browser asked")
	}
	return a, nil
}

// identify gives the verified address of whom the provider names.
func (p *provider) identify(r *http.Request, back string, a asked) (email string, err error) {
	q := r.URL.Query()
	if q.Get("error") != "" {
		return "", refusal("the provider signed nobody in")
	}
	if iss := q.Get("iss"); iss != "" && iss != p.cfg.Issuer { // RFC 9207
		return "", refusal("the answer is another provider's")
	}
	ctx, read, client, err := p.use(r.Context(), back)
	if err != nil {
		return "", err
	}
	tokens, err := client.Exchange(ctx, q.Get("code"), oauth2.VerifierOption(a.Verifier))
	if err != nil {
		return "", err
	}
	raw, _ := tokens.Extra("id_token").(string)
	verifier := read.Verifier(&oidc.Config{ClientID: p.cfg.ClientID})
	token, err := verifier.Verify(ctx, raw) // issuer, audience, times, signature
	if err != nil {
		return "", err
	}
	if token.Nonce != a.Nonce {
		return "", refusal("the answer is to another question than this browser asked")
	}
	var said address
	if err := token.Claims(&said); err != nil {
		return "", err
	}
	if said.Email == "" && read.UserInfoEndpoint() != "" {
		if said, err = ask(ctx, read, client.TokenSource(ctx, tokens), token.Subject); err != nil {
			return "", err
		}
	}
	if said.Email == "" || !said.Verified {
		return "", refusal("the provider has not verified an email address of yours")
	}
	return said.Email, nil
}

// address is an email address as a provider says it.
type address struct {
	Email    string `json:"email"`
	Verified bool   `json:"email_verified"`
}

// ask asks the provider for the address of that subject, where its ID token has none
// (OpenID Connect Core 1.0, 5.4: many say it there alone).
func ask(ctx context.Context, read *oidc.Provider, token oauth2.TokenSource, subject string) (said address, err error) {
	info, err := read.UserInfo(ctx, token)
	if err != nil {
		return said, err
	}
	if info.Subject != subject { // 5.3.2: it must be the ID token's
		return said, refusal("the provider speaks of two different people")
	}
	return said, info.Claims(&said)
}
