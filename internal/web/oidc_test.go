package web

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// idp is an OpenID provider on the wire, written from OpenID Connect Core 1.0 and RFC 7636:
// it signs with RS256, takes each code once, and checks PKCE and the client's secret.
type idp struct {
	*httptest.Server
	t   *testing.T
	key *rsa.PrivateKey

	mu     sync.Mutex
	codes  map[string]url.Values // what was asked for with each code
	claims func(map[string]any)  // what it says otherwise than asked; nil: nothing
	more   string                // members that it says beside, as JSON
	signer *rsa.PrivateKey       // nil: key
	info   map[string]any        // what it says when it is asked besides; nil: it cannot be asked
}

func newIDP(t *testing.T) *idp {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	p := &idp{t: t, key: key, codes: map[string]url.Values{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		about := map[string]any{"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize",
			"token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys", "response_types_supported": []string{"code"},
			"subject_types_supported": []string{"public"}, "id_token_signing_alg_values_supported": []string{"RS256"}}
		if p.info != nil {
			about["userinfo_endpoint"] = p.URL + "/userinfo"
		}
		p.json(w, about)
	})
	mux.HandleFunc("GET /userinfo", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer a" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		p.json(w, p.info)
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		p.json(w, map[string]any{"keys": []any{map[string]any{"kty": "RSA", "use": "sig", "alg": "RS256", "kid": "1",
			"n": b64(p.key.N.Bytes()), "e": b64(big.NewInt(int64(p.key.E)).Bytes())}}})
	})
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("POST /token", p.token)
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func (p *idp) json(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// authorize is where alice says yes, at once.
func (p *idp) authorize(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	code := rand.Text()
	p.codes[code] = r.URL.Query()
	back, _ := url.Parse(r.URL.Query().Get("redirect_uri"))
	back.RawQuery = url.Values{"code": {code}, "state": {r.URL.Query().Get("state")}, "iss": {p.URL}}.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

func (p *idp) token(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	asked, ok := p.codes[r.PostFormValue("code")]
	delete(p.codes, r.PostFormValue("code"))
	id, secret, _ := r.BasicAuth()
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	pkce := asked.Get("code_challenge_method") == "S256" && asked.Get("code_challenge") == b64(sum[:])
	if !ok || !pkce || id != "desk" || secret != "desk-secret" || r.PostFormValue("redirect_uri") != asked.Get("redirect_uri") {
		w.WriteHeader(http.StatusBadRequest)
		p.json(w, map[string]string{"error": "invalid_grant"})
		return
	}
	now := time.Now().Unix()
	claims := map[string]any{"iss": p.URL, "sub": "1", "aud": "desk", "iat": now, "exp": now + 300, "nonce": asked.Get("nonce"),
		"email": "alice@EXAMPLE.org", "email_verified": true}
	if p.claims != nil {
		p.claims(claims)
	}
	p.json(w, map[string]any{"access_token": "a", "token_type": "Bearer", "expires_in": 300, "id_token": p.sign(claims)})
}

// sign makes a JWS in compact form.
func (p *idp) sign(claims map[string]any) string {
	body, _ := json.Marshal(claims)
	body = append(bytes.TrimSuffix(body, []byte("}")), p.more+"}"...)
	text := b64([]byte(`{"alg":"RS256","kid":"1","typ":"JWT"}`)) + "." + b64(body)
	sum := sha256.Sum256([]byte(text))
	key := p.key
	if p.signer != nil {
		key = p.signer
	}
	signature, _ := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	return text + "." + b64(signature)
}

// oidcSite is a site that asks this provider.
func oidcSite(t *testing.T, p *idp) *site {
	t.Helper()
	return newSite(t, func(c *Config) { c.OIDC = OIDC{Issuer: p.URL, ClientID: "desk", ClientSecret: "desk-secret"} })
}

// begin follows the link to the provider, and gives where that sends the browser back to.
func (v *visitor) begin(p *idp, path string) (back string) {
	v.t.Helper()
	to := v.leads(v.get(path))
	require.True(v.t, strings.HasPrefix(to, p.URL+"/authorize?"), to)
	plain := &http.Client{CheckRedirect: v.http.CheckRedirect}
	out, err := plain.Get(to)
	require.NoError(v.t, err)
	out.Body.Close()
	return strings.TrimPrefix(out.Header.Get("Location"), base)
}

// Whose verified address the configuration has, signs in by the organisation's account.
func TestOIDC(t *testing.T) {
	t.Parallel()
	p := newIDP(t)
	x := oidcSite(t, p)
	v := x.visitor()
	require.Contains(t, v.get("/signin?next=/me").text, `href="/signin/oidc?next=%2Fme"`)
	require.Equal(t, "/me", v.leads(v.get(v.begin(p, "/signin/oidc?next=/me"))))
	require.Contains(t, v.get("/me").text, "Signed in with: organisation")
	require.Len(t, x.events(approval.EventSignIn), 1)
	require.Contains(t, string(x.events(approval.EventSignIn)[0].Data), `"how":"oidc"`)
	require.NotContains(t, string(x.events(approval.EventSignIn)[0].Data), "EXAMPLE")
}

// Where the ID token has no address, the provider is asked, of the same subject.
func TestOIDCAsksForTheAddress(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		info map[string]any
		in   bool
	}{
		"alice":               {map[string]any{"sub": "1", "email": "alice@example.org", "email_verified": true}, true},
		"somebody else":       {map[string]any{"sub": "2", "email": "alice@example.org", "email_verified": true}, false},
		"nobody":              {map[string]any{"email": "alice@example.org", "email_verified": true}, false},
		"not verified":        {map[string]any{"sub": "1", "email": "alice@example.org"}, false},
		"it cannot be asked":  {nil, false},
		"it has none of hers": {map[string]any{"sub": "1"}, false},
	} {
		p := newIDP(t)
		p.claims = func(c map[string]any) { delete(c, "email"); delete(c, "email_verified") }
		p.info = c.info
		v := oidcSite(t, p).visitor()
		v.get(v.begin(p, "/signin/oidc"))
		require.Equal(t, c.in, v.in(), name)
	}
}

// What another provider says, or this one of somebody else, to somebody else, long ago or
// without having looked, signs nobody in, and is on record.
func TestAdversary_N3_OIDCSaysItOfSomebodyElse(t *testing.T) {
	t.Parallel()
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	set := func(name string, value any) func(map[string]any) {
		return func(c map[string]any) {
			if c[name] = value; value == nil {
				delete(c, name)
			}
		}
	}
	for _, c := range []struct {
		name   string
		claims func(map[string]any)
		signer *rsa.PrivateKey
		why    string
	}{
		{"another audience", set("aud", "other"), nil, "the provider's description of you cannot be used"},
		{"another issuer", set("iss", "https://evil.org"), nil, "the provider's description of you cannot be used"},
		{"another nonce", set("nonce", "x"), nil, "the answer is to a different question than the one this browser asked"},
		{"no nonce", set("nonce", nil), nil, "the answer is to a different question than the one this browser asked"},
		{"long ago", set("exp", time.Now().Add(-time.Hour).Unix()), nil, "the provider's description of you cannot be used"},
		{"another's key", nil, other, "the provider's description of you cannot be used"},
		{"an address that was not verified", set("email_verified", false), nil, "the provider has not verified an email address of yours"},
		{"an address of which it is not said", set("email_verified", nil), nil, "the provider has not verified an email address of yours"},
		{"an address verified in words", set("email_verified", "true"), nil, "the provider's description of you cannot be used"},
		{"no address", set("email", nil), nil, "the provider has not verified an email address of yours"},
		{"a stranger", set("email", "eve@example.org"), nil, "the desk knows no person with your address"},
		{"nobody's address", set("email", ""), nil, "the provider has not verified an email address of yours"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newIDP(t)
			p.claims, p.signer = c.claims, c.signer
			x := oidcSite(t, p)
			v := x.visitor()
			a := v.get(v.begin(p, "/signin/oidc"))
			require.Equal(t, http.StatusForbidden, a.StatusCode, a.text)
			require.False(t, v.in())
			require.Empty(t, x.events(approval.EventSignIn))
			record := x.events(approval.EventRefused)
			require.Len(t, record, 1)
			require.Contains(t, string(record[0].Data), c.why)
			require.NotContains(t, string(record[0].Data), "evil.org")
		})
	}
}

// TestAdversary_T7_ClaimsByTheirExactNames: a claim of another case is another claim, one
// that is there twice is none, and the token is said to this desk, just now.
func TestAdversary_T7_ClaimsByTheirExactNames(t *testing.T) {
	t.Parallel()
	now := time.Now().Unix()
	for name, c := range map[string]struct {
		claims map[string]any // nil: without
		more   string
		info   map[string]any
		in     bool
	}{
		"an address in capitals, too":    {map[string]any{"email": "eve@example.org"}, `,"EMAIL":"alice@example.org"`, nil, false},
		"an address in capitals alone":   {map[string]any{"email": nil}, `,"Email":"alice@example.org"`, nil, false},
		"verified in capitals alone":     {map[string]any{"email_verified": nil}, `,"Email_Verified":true`, nil, false},
		"an address twice":               {map[string]any{"email": "eve@example.org"}, `,"email":"alice@example.org"`, nil, false},
		"a nonce in capitals":            {map[string]any{"nonce": "x"}, `,"NONCE":"x"`, nil, false},
		"a subject in capitals":          {map[string]any{"email": nil}, `,"SUB":"2"`, map[string]any{"sub": "2", "email": "alice@example.org", "email_verified": true}, false},
		"UserInfo's subject in capitals": {map[string]any{"email": nil}, "", map[string]any{"sub": "2", "SUB": "1", "email": "alice@example.org", "email_verified": true}, false},
		"UserInfo's address in capitals": {map[string]any{"email": nil}, "", map[string]any{"sub": "1", "EMAIL": "alice@example.org", "email_verified": true}, false},
		"said to another program":        {map[string]any{"aud": []string{"other", "desk"}, "azp": "other"}, "", nil, false},
		"said to two programs":           {map[string]any{"aud": []string{"other", "desk"}}, "", nil, false},
		"an audience in capitals":        {map[string]any{"aud": "other"}, `,"AUD":"desk"`, nil, false},
		"an hour ahead":                  {map[string]any{"iat": now + 3600}, "", nil, false},
		"an hour ago":                    {map[string]any{"iat": now - 3600}, "", nil, false},
		"without a time":                 {map[string]any{"iat": nil}, "", nil, false},
		"said to this one among others":  {map[string]any{"aud": []string{"other", "desk"}, "azp": "desk"}, "", nil, true},
		"capitals that change nothing":   {nil, `,"EMAIL":"eve@example.org"`, nil, true},
		"half a minute ahead":            {map[string]any{"iat": now + 30}, "", nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newIDP(t)
			p.more, p.info = c.more, c.info
			p.claims = func(said map[string]any) {
				for k, v := range c.claims {
					if said[k] = v; v == nil {
						delete(said, k)
					}
				}
			}
			x := oidcSite(t, p)
			v := x.visitor()
			v.get(v.begin(p, "/signin/oidc"))
			require.Equal(t, c.in, v.in())
			require.Equal(t, c.in, len(x.events(approval.EventRefused)) == 0)
		})
	}
}

// An answer counts once, in the browser that asked, for the question that it asked.
func TestAdversary_N3_OIDCAnswersOfOthers(t *testing.T) {
	t.Parallel()
	p := newIDP(t)
	x := oidcSite(t, p)
	mine, victim := x.visitor(), x.visitor()
	back := mine.begin(p, "/signin/oidc")
	require.Equal(t, http.StatusForbidden, victim.get(back).StatusCode, "a browser that asked nothing")
	victim.begin(p, "/signin/oidc")
	require.Equal(t, http.StatusForbidden, victim.get(back).StatusCode, "a browser that asked something else")
	require.False(t, victim.in())

	require.Equal(t, http.StatusSeeOther, mine.get(back).StatusCode)
	require.True(t, mine.in())
	require.Equal(t, http.StatusForbidden, mine.get(back).StatusCode, "a second time")

	mine = x.visitor()
	back = mine.begin(p, "/signin/oidc")
	require.Equal(t, http.StatusForbidden, mine.get(strings.Replace(back, "iss=", "iss=x", 1)).StatusCode)
	back = mine.begin(p, "/signin/oidc")
	require.Equal(t, http.StatusForbidden, mine.get(strings.Replace(back, "code=", "code=x", 1)).StatusCode)
	back = mine.begin(p, "/signin/oidc")
	require.Equal(t, http.StatusForbidden, mine.get(back+"&error=access_denied").StatusCode)
	require.False(t, mine.in())
}

// A provider that does not answer keeps nobody's desk from starting, nor other ways to sign
// in.
func TestOIDCProviderIsAway(t *testing.T) {
	t.Parallel()
	p := newIDP(t)
	x := oidcSite(t, p)
	p.Close()
	v := x.visitor()
	require.Equal(t, http.StatusServiceUnavailable, v.get("/signin/oidc").StatusCode)
	v.click(x.link("bob"))
	require.True(t, v.in())
}
