package web

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
	"approvalbot/internal/assertion"
	"approvalbot/internal/assertion/softkey"
	"approvalbot/internal/signin"
)

// A person who sends forms without end is told to wait; others are not.
func TestAdversary_N10_FormsOfOnePerson(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	now := time.Now()
	d.web.guard.forms.now = func() time.Time { return now }
	a := d.run("make it")
	for range formsAtOnce {
		require.Equal(t, http.StatusNotFound, d.votes("dave", a.Code, approval.AllowOnce).Code)
	}
	for _, path := range []string{"/a/" + a.Code + "/vote", "/dialog/" + a.Code, "/me/end"} {
		out := d.asks("dave", http.MethodPost, path, nil)
		require.Equal(t, http.StatusTooManyRequests, out.Code, path)
		require.Equal(t, "1", out.Header().Get("Retry-After"))
		require.Contains(t, out.Body.String(), "wait a moment")
	}
	out := d.asks("dave", http.MethodPost, "/a/"+a.Code+"/stepup/finish", nil,
		func(r *http.Request) { r.Header.Set("Accept", "application/json") })
	require.Equal(t, http.StatusTooManyRequests, out.Code)
	require.JSONEq(t, `{"code":"rate_limited","detail":"You send more than 10 forms a second: wait a moment, and try again."}`,
		out.Body.String())
	require.Equal(t, http.StatusSeeOther, d.votes("bob", a.Code, approval.Deny).Code)
	now = now.Add(time.Second)
	for range formsPerSecond {
		require.Equal(t, http.StatusNotFound, d.votes("dave", a.Code, approval.AllowOnce).Code)
	}
	require.Equal(t, http.StatusTooManyRequests, d.votes("dave", a.Code, approval.AllowOnce).Code)
}

// A person who keeps pages open without end takes no place of those who decide.
func TestAdversary_N11_PagesOfOnePerson(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	address := d.serve("")
	open := func(person string) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/live", nil)
		require.NoError(t, err)
		r.AddCookie(&http.Cookie{Name: "person", Value: person})
		out, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		t.Cleanup(func() { _ = out.Body.Close() })
		return out.StatusCode
	}
	for range streamsOfASession {
		require.Equal(t, http.StatusOK, open("carol"))
	}
	require.Equal(t, http.StatusTooManyRequests, open("carol"))

	for range maxStreams - reservedStreams - streamsOfASession {
		_, status := d.web.streams.enter(false)
		require.Zero(t, status)
	}
	require.Equal(t, http.StatusServiceUnavailable, open("dave"))
	require.Equal(t, http.StatusOK, open("bob"), "places are kept for who decides")
	for range reservedStreams - 1 {
		_, status := d.web.streams.enter(true)
		require.Zero(t, status)
	}
	require.Equal(t, http.StatusServiceUnavailable, open("bob"))
}

// Sessions have shares, and their person one of all of them; what ends gives its places back.
func TestStreams_Shares(t *testing.T) {
	t.Parallel()
	var c streams
	session := func(id string) []share {
		return []share{{"session", "", id, streamsOfASession}, {"person", "", "alice", streamsOfAPerson}}
	}
	var leave []func()
	for _, id := range []string{"1", "2"} {
		for range streamsOfASession {
			out, status := c.enter(true, session(id)...)
			require.Zero(t, status)
			leave = append(leave, out)
		}
	}
	_, status := c.enter(true, session("3")...)
	require.Equal(t, http.StatusTooManyRequests, status)
	_, status = c.enter(false, share{"viewer", "alice", "1", streamsOfAViewer})
	require.Zero(t, status)
	for _, out := range leave {
		out()
	}
	require.Len(t, c.by, 1)
	require.Equal(t, 1, c.total)
}

// A person who may not know of a request reads the same whether there is one or not.
func TestAdversary_T16_SigningForAnotherCode(t *testing.T) {
	t.Parallel()
	d := newPasskeyDesk(t)
	a := d.submit(t, `{"target":"prod"}`)
	yes := map[string]any{"nonce": "x", "response": softkey.New(t, assertion.ES256).Sign(t, d.site, []byte("x"))}
	var here, nowhere told
	v := d.visit(t, "carol.link")
	require.Equal(t, http.StatusNotFound, v.post("/a/"+a.Code+"/stepup/finish", yes, &here))
	require.Equal(t, http.StatusNotFound, v.post("/a/ZZZZZZ/stepup/finish", yes, &nowhere))
	require.Equal(t, approval.CodeNotFound, approval.Code(here.Code))
	require.Equal(t, nowhere.Detail, here.Detail)
	require.NotEqual(t, http.StatusNotFound, d.visit(t, "bob.link").post("/a/"+a.Code+"/stepup/finish", yes, &here))
	for _, path := range []string{"/a/%s", "/a/%s/sign"} {
		_, one := v.get(fmt.Sprintf(path, a.Code))
		_, other := v.get(fmt.Sprintf(path, "ZZZZZZ"))
		require.Equal(t, other, one, path)
	}
}

// However many sign-ins strangers begin, a person's goes on; it is good for one answer, in one
// spelling, at every instance that shares the store.
func TestAdversary_N9_SignInsBegunByStrangers(t *testing.T) {
	t.Parallel()
	d := newPasskeyDesk(t)
	require.NoError(t, d.Door.ShareSeed(d.store.Seed()))
	key := d.enrol(t, "alice")
	v := d.visit(t, "")
	var asked, said told
	require.Equal(t, http.StatusOK, v.post("/signin/passkey/begin", struct{}{}, &asked))
	before := asked.Challenge
	_, err := d.store.Challenge(t.Context(), before)
	require.Equal(t, approval.CodeNotFound, approval.CodeOf(err), "it is kept nowhere")
	for range 2001 {
		_, err := d.BeginCeremony(t.Context(), signin.SignInChallenge, "another browser")
		require.NoError(t, err)
	}
	answer := map[string]any{"challenge": before, "response": key.Sign(t, d.site, challengeOf(t, asked))}
	wrong := map[string]any{"challenge": before, "response": softkey.New(t, assertion.ES256).Sign(t, d.site, challengeOf(t, asked))}
	require.Equal(t, http.StatusForbidden, v.post("/signin/passkey/finish", wrong, &said))
	cookie := v.client.Jar.Cookies(v.url("/"))
	require.Equal(t, http.StatusOK, v.post("/signin/passkey/finish", answer, &said))

	for _, c := range cookie {
		c.Path, c.Secure = "/", true
	}
	v.client.Jar.SetCookies(v.url("/"), cookie)
	for _, spelling := range []string{before, before + "\n", "\r" + before} {
		answer["challenge"] = spelling
		answer["response"] = key.Sign(t, d.site, challengeOf(t, asked))
		require.Equal(t, http.StatusForbidden, v.post("/signin/passkey/finish", answer, &said), "%q", spelling)
		require.Contains(t, said.Detail, "answer was already used")
	}

	second := signin.New(d.store.SignInStores(), d.Gate)
	c, err := d.BeginCeremony(t.Context(), signin.SignInChallenge, "browser")
	require.NoError(t, err)
	raw, err := base64.RawURLEncoding.DecodeString(c.ID)
	require.NoError(t, err)
	at := func(g *signin.Door, browser string) error {
		_, err := g.SignInByPasskey(t.Context(), browser, c.ID, key.Sign(t, d.site, raw))
		return err
	}
	require.Error(t, at(second, "browser"), "its key is another")
	require.NoError(t, second.ShareSeed(d.store.Seed()))
	require.Error(t, at(second, "another browser"))
	require.NoError(t, at(second, "browser"))
	require.Error(t, at(d.Door, "browser"), "spent at one, spent at all")
	raw[nonceSize+7]++ // a later expiry
	c.ID = base64.RawURLEncoding.EncodeToString(raw)
	require.Error(t, at(d.Door, "browser"))
}

// nonceSize is how many bytes of a challenge come before its expiry.
const nonceSize = 16
