package web

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	strict "github.com/go-json-experiment/json"
	"golang.org/x/oauth2"

	"approvalbot/internal/signin"
)

const (
	callbackPath = "/signin/oidc/callback"

	stateCookie = "__Host-approvalbot-oidc"
	stateLife   = 10 * time.Minute
	oidcTime    = 10 * time.Second // for an answer of the provider
)

// OIDC is a provider that tells who a person is. Without an issuer it is switched
// off.
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

// Check returns the reason why people cannot sign in by the provider, or nil.
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

// oidcPages sign people in by a provider.
type oidcPages struct {
	admission
	provider *provider
	address  *address
}

func (p *oidcPages) routes() []route {
	return []route{
		{pattern: "GET /signin/oidc", open: true, serve: p.askProvider},
		{pattern: "GET " + callbackPath, open: true, serve: p.fromProvider},
	}
}

// asked is what a browser keeps of a sign-in that it began, in a cookie: the provider's
// answer counts in that browser only.
type asked struct {
	State, Nonce, Verifier string
	Next                   string
}

// askProvider sends the browser to the provider. It is a link's GET: a form may not lead
// elsewhere (Content-Security-Policy, form-action).
func (p *oidcPages) askProvider(out http.ResponseWriter, r *http.Request, _ signin.Session) {
	_, _, client, err := p.provider.use(r.Context(), p.callback())
	if err != nil {
		p.failed(out, r, signin.Session{}, err)
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

// callback is the address to which the provider sends the browser back.
func (p *oidcPages) callback() string { return p.address.url.JoinPath(callbackPath).String() }

// fromProvider signs in the person that the provider names.
func (p *oidcPages) fromProvider(out http.ResponseWriter, r *http.Request, _ signin.Session) {
	a, err := begun(r)
	http.SetCookie(out, &http.Cookie{Name: stateCookie, Path: "/", MaxAge: -1, Secure: true, HttpOnly: true,
		SameSite: http.SameSiteLaxMode})
	var email string
	if err == nil {
		email, err = p.provider.identify(r, p.callback(), a)
	}
	var person string
	if known := false; err == nil {
		if person, known = p.gate.Rules().People.WithEmail(email); !known {
			err = refusal("the desk knows no person with your address")
		}
	}
	if err != nil {
		p.log.Warn("a sign-in by OIDC was refused", "remote", remote(r), "reason", err)
		p.refused(out, r, http.StatusForbidden, signin.ByOIDC, why(err),
			"The desk did not sign you in: "+why(err)+". Your operator finds the whole reason in the desk's log.")
		return
	}
	if err := p.startAs(out, r, person, signin.ByOIDC); err != nil {
		p.failed(out, r, signin.Session{}, err)
		return
	}
	http.Redirect(out, r, next(a.Next), http.StatusSeeOther)
}

// refusal is the reason why a person is not signed in, in the desk's own words.
type refusal string

func (e refusal) Error() string { return string(e) }

// why is a reason that may be shown and logged; a provider's text must not be.
func why(err error) string {
	var own refusal
	if errors.As(err, &own) {
		return string(own)
	}
	return "the provider's description of you cannot be used"
}

// begun is the sign-in that this browser began, if what came back is its answer.
func begun(r *http.Request) (a asked, err error) {
	c, err := r.Cookie(stateCookie)
	if err != nil {
		return a, refusal("the sign-in was not begun in this browser, or was begun more than ten minutes ago")
	}
	text, err := base64.RawURLEncoding.DecodeString(c.Value)
	if err == nil {
		err = json.Unmarshal(text, &a)
	}
	if err != nil || a.State == "" || r.URL.Query().Get("state") != a.State {
		return a, refusal("the answer is to a different question than the one this browser asked")
	}
	return a, nil
}

// identify gives the verified address of the person that the provider names.
func (p *provider) identify(r *http.Request, back string, a asked) (email string, err error) {
	q := r.URL.Query()
	if q.Get("error") != "" {
		return "", refusal("the provider did not sign you in")
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
	said, err := readClaims(token)
	if err != nil {
		return "", err
	}
	if err := said.check(token, p.cfg.ClientID, a.Nonce, time.Now()); err != nil {
		return "", err
	}
	if said.Email == "" && read.UserInfoEndpoint() != "" {
		subject := said.Subject
		if said, err = ask(ctx, read, client.TokenSource(ctx, tokens), subject); err != nil {
			return "", err
		}
	}
	if said.Email == "" || !said.Verified {
		return "", refusal("the provider has not verified an email address of yours")
	}
	return said.Email, nil
}

// claims are the provider's statements about a person, each by its exact name.
type claims struct {
	Issuer   string  `json:"iss"`
	Subject  string  `json:"sub"`
	Audience any     `json:"aud"` // a string, or a list of them
	Nonce    string  `json:"nonce"`
	For      string  `json:"azp"`
	IssuedAt float64 `json:"iat"` // Unix seconds
	Email    string  `json:"email"`
	Verified bool    `json:"email_verified"`
}

// readClaims reads a provider's statements. A name in another case is another claim,
// which a person may have set themselves; a repeated name is an error.
func readClaims(from interface{ Claims(any) error }) (said claims, err error) {
	var raw json.RawMessage
	if err := from.Claims(&raw); err != nil {
		return said, err
	}
	return said, strict.Unmarshal(raw, &said)
}

const (
	tokenAge   = stateLife   // how old an ID token may be: it is made once the browser has come back
	tokenAhead = time.Minute // by how much a provider's clock may be ahead
)

// check refuses claims that are not of this very sign-in (OpenID Connect Core 1.0,
// 3.1.3.7), and those that the token's verifier took from claims of other names.
func (c claims) check(token *oidc.IDToken, clientID, nonce string, now time.Time) error {
	age := now.Sub(time.UnixMilli(int64(c.IssuedAt * 1000)))
	list, several := c.Audience.([]any)
	switch {
	case c.Audience != any(clientID) && !slices.Contains(list, any(clientID)):
		return refusal("the provider's answer is for another program than this desk")
	case c.Nonce == "" || c.Nonce != nonce || token.Nonce != nonce:
		return refusal("the answer is to a different question than the one this browser asked")
	case c.Issuer != token.Issuer || c.Subject == "" || c.Subject != token.Subject:
		return refusal("the provider names two different people")
	case c.For != "" && c.For != clientID, c.For == "" && several && len(list) > 1:
		return refusal("the provider's answer is for another program than this desk")
	case age > tokenAge || age < -tokenAhead:
		return refusal("the provider's answer is too old, or the provider's clock is wrong")
	}
	return nil
}

// ask asks the provider for the address of that subject, if its ID token has no
// address (OpenID Connect Core 1.0, 5.4: many providers give it only here).
func ask(ctx context.Context, read *oidc.Provider, token oauth2.TokenSource, subject string) (said claims, err error) {
	info, err := read.UserInfo(ctx, token)
	if err != nil {
		return said, err
	}
	if said, err = readClaims(info); err == nil && said.Subject != subject { // 5.3.2: it must be the ID token's
		err = refusal("the provider names two different people")
	}
	return said, err
}
