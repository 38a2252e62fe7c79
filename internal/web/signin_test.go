package web

import (
	"bufio"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// The desk answers under its own names alone, from its own pages alone, and in nobody's
// frame.
func TestAdversary_N1_OnlyTheDesksOwnPagesAreServed(t *testing.T) {
	t.Parallel()
	x := newSite(t)
	v, stranger := x.signedInAs("alice"), x.visitor()
	hostOf := func(host string) func(*http.Request) { return func(r *http.Request) { r.Host = host } }
	for host, want := range map[string]int{
		"example.com": 200, "EXAMPLE.com.": 200, "example.com:8787": 200, "localhost:8787": 200, "127.0.0.1:8787": 200,
		"[::1]:8787": 200, "rebound.evil.org": 421, "example.com.evil.org": 421, "0.0.0.0:8787": 421, "192.168.0.7": 421,
		"xn--example.com": 421,
	} {
		a := stranger.do(http.MethodGet, "/signin", nil, hostOf(host))
		require.Equal(t, want, a.StatusCode, host)
		if want == 421 {
			require.Equal(t, "The desk's pages are at https://example.com, and under no other name.\n", a.text)
		}
		require.Contains(t, a.Header.Get("Content-Security-Policy"), "frame-ancestors 'none'")
		require.Equal(t, want, v.do(http.MethodGet, "/static/style.css", nil, hostOf(host)).StatusCode, host)
	}

	a := v.get("/me")
	for name, want := range map[string]string{
		"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin",
		"X-Frame-Options": "DENY",
	} {
		require.Equal(t, want, a.Header.Get(name))
	}
	require.Contains(t, a.Header.Get("Permissions-Policy"), "publickey-credentials-get=(self)")
	require.NotContains(t, a.text, "<style")
	require.Empty(t, regexp.MustCompile(`<script>|<script[^>]*>[^<]|style=| on[a-z]+=`).FindString(a.text))

	from := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Del("Sec-Fetch-Site"); r.Header.Set(name, value) }
	}
	for _, foreign := range []func(*http.Request){
		from("Sec-Fetch-Site", "cross-site"), from("Sec-Fetch-Site", "same-site"), from("Origin", "https://evil.org"),
		from("Origin", "null"), from("Origin", "http://localhost:3000"),
	} {
		require.Equal(t, http.StatusForbidden, v.do(http.MethodPost, "/signout", nil, foreign).StatusCode)
		require.True(t, v.in())
	}
	require.Equal(t, http.StatusSeeOther, v.do(http.MethodPost, "/signout", nil, from("Origin", base)).StatusCode)
	require.False(t, v.in())
}

// On this machine the desk's pages have one name: a passkey knows names alone, and a cookie
// of localhost is not one of 127.0.0.1.
func TestLocalPagesHaveOneName(t *testing.T) {
	t.Parallel()
	x := newSite(t, func(c *Config) { c.PublicURL = &url.URL{Scheme: "http", Host: "localhost:8787"} })
	v := x.visitor()
	a := v.do(http.MethodGet, "/signin?link=x", nil, func(r *http.Request) { r.Host = "127.0.0.1:8787" })
	require.Equal(t, http.StatusTemporaryRedirect, a.StatusCode)
	require.Equal(t, "http://localhost:8787/signin?link=x", a.Header.Get("Location"))
	a = v.do(http.MethodGet, "/signin", nil, func(r *http.Request) { r.Host = "localhost:8787" })
	require.Equal(t, http.StatusOK, a.StatusCode)
	a = v.do(http.MethodGet, "/signin", nil, func(r *http.Request) { r.Host = "example.com" })
	require.Equal(t, http.StatusMisdirectedRequest, a.StatusCode)
}

// A link is spent by a click of its page, once: not by whatever opens it.
func TestAdversary_N2_OnlyAClickSpendsALink(t *testing.T) {
	t.Parallel()
	x := newSite(t)
	link := x.link("alice")
	preview := x.visitor()
	for range 3 {
		a := preview.get(link)
		require.Equal(t, http.StatusOK, a.StatusCode)
		require.Contains(t, a.text, "Sign in as alice</button>")
		require.Empty(t, a.Header.Values("Set-Cookie"))
		require.Equal(t, http.StatusMethodNotAllowed, preview.do(http.MethodHead, link, nil).StatusCode)
		require.Empty(t, x.events(approval.EventSignIn))
	}

	v := x.visitor()
	a := v.click(link)
	require.Equal(t, "/", v.leads(a))
	require.Regexp(t, `^__Host-approvalbot=[A-Za-z0-9_-]{43}; Path=/; Max-Age=604800; HttpOnly; Secure; SameSite=Lax$`,
		a.Header.Get("Set-Cookie"))
	require.True(t, v.in())
	require.Len(t, x.events(approval.EventSignIn), 1)

	second := x.visitor()
	a = second.click(link)
	require.Equal(t, http.StatusGone, a.StatusCode)
	require.Contains(t, a.text, "This link was used already")
	require.Equal(t, http.StatusGone, second.get(link).StatusCode)
	require.False(t, second.in())
	require.Len(t, x.events(approval.EventRefused), 1)

	for _, wrong := range []string{"/signin?link=" + strings.Repeat("A", 43), "/signin?link=", "/signin?link=%00"} {
		require.Equal(t, http.StatusGone, second.click(wrong).StatusCode, wrong)
	}
	require.Equal(t, http.StatusMethodNotAllowed, second.do(http.MethodPut, link, nil).StatusCode)
}

// Of two who click at once one is signed in.
func TestAdversary_N2_TwoClicksAtOnce(t *testing.T) {
	t.Parallel()
	x := newSite(t)
	link := x.link("alice")
	var wg sync.WaitGroup
	var in atomic.Int32
	for range 8 {
		v := x.visitor()
		wg.Go(func() {
			if v.click(link).StatusCode == http.StatusSeeOther {
				in.Add(1)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 1, in.Load())
	require.Len(t, x.events(approval.EventSignIn), 1)
}

// Late, and once its person is gone, a link leads nowhere.
func TestAdversary_N2_ALinkIsOver(t *testing.T) {
	t.Parallel()
	x := newSite(t)
	link := x.link("bob")
	x.configured("alice")
	v := x.visitor()
	require.Equal(t, http.StatusGone, v.get(link).StatusCode)
	require.Equal(t, http.StatusGone, v.click(link).StatusCode)
	x.configured("alice", "bob")
	require.Equal(t, http.StatusSeeOther, v.click(link).StatusCode, "it was not spent")

	l, secret, err := x.signin.MakeLink(t.Context(), core.Caller{Token: "ops", MayAdmin: true}, "bob", true)
	require.NoError(t, err)
	require.LessOrEqual(t, time.Until(time.UnixMilli(l.EndsMs)), 5*time.Minute)
	require.True(t, l.Enrols)
	_, err = x.store.Sweep(t.Context(), l.EndsMs+2*time.Minute.Milliseconds(), storeKeep) // as if time had passed
	require.NoError(t, err)
	require.Equal(t, http.StatusGone, v.click("/signin?link="+secret).StatusCode)
}

// Whoever is signed in as a person, all of that person's own chats are told by the same
// commit, with a button that ends it; a group never is.
func TestAdversary_N2_ThePersonsChatsAreTold(t *testing.T) {
	t.Parallel()
	x := newSite(t)
	v := x.signedInAs("alice")
	notices, err := x.store.Notices(t.Context(), 10)
	require.NoError(t, err)
	require.Len(t, notices, 2)
	sessions, err := x.signin.Sessions(t.Context(), "alice")
	require.NoError(t, err)
	require.Len(t, sessions, 1)
	require.False(t, sessions[0].Enrols)
	var chats []approval.Target
	for _, n := range notices {
		chats = append(chats, n.Target)
		require.Equal(t, sessions[0].ID, n.Session)
		require.Regexp(t, `^🔑 Somebody signed in to the desk's pages as alice with a one-time link, at .* UTC\.
The browser calls itself: Firefox on Linux
If that was not you, end it here, and tell your operator\.$`, n.Text)
	}
	require.ElementsMatch(t, []approval.Target{{Channel: "telegram", To: "111"}, {Channel: "discord", To: "dm:222"}}, chats)

	stranger := approval.Voter{Channel: "telegram", UserID: "333"} // bob's
	err = x.signin.EndSessionFrom(t.Context(), stranger, sessions[0].ID, nil)
	require.Equal(t, approval.CodeNotFound, approval.CodeOf(err))
	require.True(t, v.in())
	require.NoError(t, x.signin.EndSessionFrom(t.Context(), approval.Voter{Channel: "discord", UserID: "222"}, sessions[0].ID, nil))
	require.False(t, v.in())
}

// A person who is no longer configured is out at once, on pages that are open too.
func TestAdversary_N6_WhoIsRemovedIsOut(t *testing.T) {
	t.Parallel()
	x := newSite(t)
	alice, bob := x.signedInAs("alice"), x.signedInAs("bob")
	ended := bob.open("/test/stream")
	x.configured("alice")
	require.NoError(t, ended(), "the stream has ended by itself")
	require.Equal(t, "/signin?next=%2Fme", bob.leads(bob.get("/me")))
	require.True(t, alice.in())
}

// A page that is open ends with its session, whoever ends it.
func TestAdversary_N6_AnOpenPageEndsWithItsSession(t *testing.T) {
	t.Parallel()
	x := newSite(t)
	v := x.signedInAs("alice")
	ended := v.open("/test/stream")
	sessions, err := x.signin.Sessions(t.Context(), "alice")
	require.NoError(t, err)
	require.NoError(t, x.signin.EndSession(t.Context(), "alice", sessions[0].ID))
	require.NoError(t, ended())
}

// open begins to read a page that goes on; what it gives waits for the page's end.
func (v *visitor) open(path string) (ended func() error) {
	v.t.Helper()
	out, err := v.http.Get(base + path)
	require.NoError(v.t, err)
	in := bufio.NewReader(out.Body)
	line, err := in.ReadString('\n')
	require.NoError(v.t, err)
	require.Equal(v.t, "open\n", line)
	return func() error {
		defer out.Body.Close()
		_, err := io.ReadAll(in)
		return err
	}
}

// A person sees their own sessions, and ends one, all others, or this one.
func TestSessionsPage(t *testing.T) {
	t.Parallel()
	x := newSite(t)
	one, two, three, bob := x.signedInAs("alice"), x.signedInAs("alice"), x.signedInAs("alice"), x.signedInAs("bob")
	a := one.get("/me")
	require.Equal(t, 3, strings.Count(a.text, "Firefox on Linux</h2>")+strings.Count(a.text, "Firefox on Linux (this one)</h2>"))
	require.Equal(t, 1, strings.Count(a.text, "(this one)"))
	require.Equal(t, 1, strings.Count(bob.get("/me").text, "Firefox on Linux"))

	ids := regexp.MustCompile(`name="id" value="([^"]+)"`).FindAllStringSubmatch(a.text, -1)
	require.Len(t, ids, 2)
	require.Equal(t, "/me", bob.leads(bob.post("/me/end", url.Values{"id": {ids[0][1]}})))
	require.True(t, two.in() && three.in(), "bob ends nothing of alice's")
	require.Equal(t, "/me", one.leads(one.post("/me/end", url.Values{"id": {ids[0][1]}})))
	require.Equal(t, "/me", one.leads(one.post("/me/end", url.Values{"id": {ids[0][1]}})), "twice is as good")
	require.NotEqual(t, two.in(), three.in(), "one of them is out")
	require.Equal(t, "/me", one.leads(one.post("/me/end-others", nil)))
	require.False(t, two.in() || three.in())
	require.Equal(t, "/signin", one.leads(one.post("/signout", nil)))
	require.False(t, one.in())
	require.True(t, bob.in())
	require.Len(t, x.events(approval.EventSignedOut), 3)
}

// Signing in anew, as whomever, ends the browser's session before.
func TestSigningInAnewEndsTheOldSession(t *testing.T) {
	t.Parallel()
	x := newSite(t)
	v := x.signedInAs("alice")
	require.Contains(t, v.get(x.link("bob")).text, "You are signed in as alice here. That session ends with this.")
	v.click(x.link("bob"))
	require.Contains(t, v.get("/me").text, "You are signed in as bob.")
	sessions, err := x.signin.Sessions(t.Context(), "alice")
	require.NoError(t, err)
	require.Empty(t, sessions)
}

// The way to sign in says which ways there are, and leads back to the page that was asked
// for, if that is the desk's.
func TestSignInPage(t *testing.T) {
	t.Parallel()
	x := newSite(t)
	v := x.visitor()
	a := v.get("/signin")
	require.Contains(t, a.text, "<code>/web</code>")
	require.Contains(t, a.text, "<code>approvalbot --client FILE login</code>")
	require.NotContains(t, a.text, "/signin/oidc")
	require.Equal(t, http.StatusNotFound, v.get("/signin/oidc").StatusCode)
	in := x.signedInAs("alice")
	require.Equal(t, "/me", in.leads(in.get("/signin?next=/me")))
	for _, elsewhere := range []string{"https://evil.org/", "//evil.org", `/\evil.org`, "javascript:alert(1)", "me", "",
		"/%0d%0aX", "/\t/evil.org", "https:///x", "/a//b"} {
		to := next(elsewhere)
		u, err := url.Parse(to)
		require.NoError(t, err)
		require.True(t, u.Host == "" && u.Scheme == "" && strings.HasPrefix(to, "/") && !strings.HasPrefix(to, "//"), "%q: %q", elsewhere, to)
	}
	require.Equal(t, "/a/K7QX2M?x=1", next("/a/K7QX2M?x=1"))
}

// A body that is too long is not read.
func TestBodiesAreBounded(t *testing.T) {
	t.Parallel()
	x := newSite(t)
	a := x.visitor().post("/signin", url.Values{"link": {strings.Repeat("x", 1<<20)}})
	require.Equal(t, http.StatusGone, a.StatusCode)
}
