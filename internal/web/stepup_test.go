package web

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
	"approvalbot/internal/assertion"
	"approvalbot/internal/assertion/softkey"
	"approvalbot/internal/signin"
)

// told is any answer to a script.
type told struct {
	Code, Detail, URL, Text, Nonce, Challenge, RPID, Next string
	Status                                                approval.Status
	AllowCredentials                                      []allowedKey
}

func shownOf(a approval.Approval) map[string]string {
	return map[string]string{"fingerprint": a.Fingerprint, "policyHash": "policy"}
}

func challengeOf(t *testing.T, in told) []byte {
	t.Helper()
	b, err := base64.RawURLEncoding.DecodeString(in.Challenge)
	require.NoError(t, err)
	return b
}

// A yes is signed on the page that shows the whole call.
func TestSignAYes(t *testing.T) {
	t.Parallel()
	d := newPasskeyDesk(t)
	key := d.enrol(t, "alice")
	a := d.submit(t, `{"target":"prod","note":"<script>alert(1)</script>"}`)
	v := d.visit(t, "alice.link")
	status, page := v.get("/a/" + a.Code + "/sign")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, page, "Sign with passkey and allow once")
	require.Contains(t, page, "&lt;script&gt;alert(1)&lt;/script&gt;")
	require.NotContains(t, page, "<script>alert")
	require.Contains(t, page, a.Fingerprint)

	var asked, said told
	require.Equal(t, http.StatusOK, v.post("/a/"+a.Code+"/stepup/begin", shownOf(a), &asked))
	require.Equal(t, "localhost", asked.RPID)
	require.Equal(t, []allowedKey{{"public-key", key.ID}}, asked.AllowCredentials)
	yes := map[string]any{"nonce": asked.Nonce, "reason": "looks <fine>", "response": key.Sign(t, d.site, challengeOf(t, asked))}
	require.Equal(t, http.StatusOK, v.post("/a/"+a.Code+"/stepup/finish", yes, &said))
	require.Equal(t, approval.Approved, said.Status)
	got, err := d.ByKey(t.Context(), a.Key)
	require.NoError(t, err)
	require.Equal(t, []string{"person:alice"}, got.DecidedBy)
	require.Equal(t, "web", got.Votes[0].Voter.Channel)
	_, page = v.get("/a/" + a.Code + "/sign")
	require.NotContains(t, page, "data-stepup", "there is nothing to sign any more")
	require.Equal(t, http.StatusConflict, v.post("/a/"+a.Code+"/stepup/begin", shownOf(a), &told{}))
}

// Where a yes must be signed, no page has a button that is only clicked: each leads to the
// one on which it is signed. A deny is as anywhere.
func TestPagesLeadToTheSignature(t *testing.T) {
	t.Parallel()
	d := newPasskeyDesk(t)
	d.enrol(t, "alice")
	a := d.submit(t, `{"target":"prod"}`)
	v := d.visit(t, "alice.link")
	for path, sign := range map[string]string{"/": "/a/" + a.Code, "/a/" + a.Code: "/a/" + a.Code + "/sign", "/dialog/" + a.Code: "/a/" + a.Code} {
		_, page := v.get(path)
		require.NotContains(t, page, `value="allow-once"`, path)
		require.Contains(t, page, `value="deny"`, path)
		require.Contains(t, page, `href="`+sign+`"`, path)
	}
}

// N4 at the door: another browser's ceremony, another call's, one that was answered.
func TestAdversary_N4_AtThePage(t *testing.T) {
	t.Parallel()
	d := newPasskeyDesk(t)
	key := d.enrol(t, "alice")
	a, b := d.submit(t, `{"target":"prod"}`), d.submit(t, `{"target":"test"}`)
	v := d.visit(t, "alice.link")
	finish := func(by *passkeyVisitor, at approval.Approval, nonce string, r assertion.Response) told {
		var out told
		status := by.post("/a/"+at.Code+"/stepup/finish", map[string]any{"nonce": nonce, "response": r}, &out)
		require.Equal(t, http.StatusForbidden, status)
		require.Equal(t, "step_up_required", out.Code)
		require.Equal(t, d.at+"/a/"+at.Code, out.URL)
		return out
	}
	begin := func() (in told) {
		require.Equal(t, http.StatusOK, v.post("/a/"+b.Code+"/stepup/begin", shownOf(b), &in))
		return in
	}
	in := begin()
	finish(v, a, in.Nonce, key.Sign(t, d.site, challengeOf(t, in)))
	in = begin()
	finish(d.visit(t, "alice.passkey"), b, in.Nonce, key.Sign(t, d.site, challengeOf(t, in)))
	in = begin()
	finish(v, b, in.Nonce, assertion.Response{})
	said := finish(v, b, in.Nonce, key.Sign(t, d.site, challengeOf(t, in)))
	require.Contains(t, said.Detail, "already used")

	require.Equal(t, http.StatusConflict, v.post("/a/"+a.Code+"/stepup/begin", shownOf(b), &told{}), "a page of another call")
	require.Equal(t, http.StatusNotFound, v.post("/a/ZZZZZZ/stepup/begin", shownOf(a), &told{}))
	require.Equal(t, http.StatusBadRequest, v.post("/a/"+a.Code+"/stepup/begin", map[string]int{"more": 1}, &told{}))
	r, err := http.NewRequest(http.MethodPost, d.at+"/a/"+a.Code+"/stepup/begin", nil)
	require.NoError(t, err)
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	r.AddCookie(&http.Cookie{Name: "session", Value: "alice.link"})
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusForbidden, answer.StatusCode, "another site's page")
	for _, x := range []approval.Approval{a, b} {
		got, err := d.ByKey(t.Context(), x.Key)
		require.NoError(t, err)
		require.Equal(t, approval.Pending, got.Status)
	}
}

// Who may not decide is shown no button, and who neither decides nor asked is shown nothing.
func TestSignPage_OfOthers(t *testing.T) {
	t.Parallel()
	d := newPasskeyDesk(t)
	d.enrol(t, "alice")
	a := d.submit(t, `{"target":"prod"}`)
	status, _ := d.visit(t, "carol.link").get("/a/" + a.Code + "/sign")
	require.Equal(t, http.StatusNotFound, status)
	status, page := d.visit(t, "bob.link").get("/a/" + a.Code + "/sign")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, page, "login --enrol bob")
	require.NotContains(t, page, "data-stepup")
	var out told
	require.Equal(t, http.StatusForbidden, d.visit(t, "bob.link").post("/a/"+a.Code+"/stepup/begin", shownOf(a), &out))
	require.Equal(t, http.StatusNotFound, d.visit(t, "carol.link").post("/a/"+a.Code+"/stepup/begin", shownOf(a), &out))
	status, _ = d.visit(t, "alice.link").get("/a/ZZZZZZ/sign")
	require.Equal(t, http.StatusNotFound, status)
}

// A passkey signs in, once for each challenge and in the browser that asked.
func TestSignInWithAPasskey(t *testing.T) {
	t.Parallel()
	d := newPasskeyDesk(t)
	key := d.enrol(t, "alice")
	v, other := d.visit(t, ""), d.visit(t, "")
	var asked, said told
	require.Equal(t, http.StatusOK, v.post("/signin/passkey/begin", struct{}{}, &asked))
	require.Empty(t, asked.AllowCredentials, "nobody is told whose passkeys there are")
	answer := map[string]any{"challenge": asked.Challenge, "response": key.Sign(t, d.site, challengeOf(t, asked))}
	require.Equal(t, http.StatusForbidden, other.post("/signin/passkey/finish", answer, &said))
	require.Equal(t, http.StatusOK, v.post("/signin/passkey/finish", answer, &said))
	require.Equal(t, "/", said.Next)
	status, page := v.get("/me/passkeys")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, page, "signed in as alice")
	require.Equal(t, http.StatusForbidden, v.post("/signin/passkey/finish", answer, &said))
}

// The page of passkeys offers what the session may do, and removes by a form.
func TestPasskeysPage(t *testing.T) {
	t.Parallel()
	d := newPasskeyDesk(t)
	_, page := d.visit(t, "alice.link").get("/me/passkeys")
	require.Contains(t, page, "login --enrol alice")
	require.NotContains(t, page, "add-passkey")
	require.Equal(t, http.StatusForbidden, d.visit(t, "alice.link").post("/me/passkeys/begin", struct{}{}, &told{}))
	_, page = d.visit(t, "alice.link.enrols").get("/me/passkeys")
	require.Contains(t, page, `id="add-passkey"`)
	key := d.enrol(t, "alice")
	v := d.visit(t, "alice.link")
	_, page = v.get("/me/passkeys")
	require.Contains(t, page, "confirm-passkey")
	require.NotContains(t, page, "/me/passkeys/remove")
	remove := func(v *passkeyVisitor) int {
		r, err := v.client.PostForm(v.url("/me/passkeys/remove").String(), url.Values{"id": {key.ID}})
		require.NoError(t, err)
		require.NoError(t, r.Body.Close())
		return r.StatusCode
	}
	require.Equal(t, http.StatusForbidden, remove(v))
	var asked told
	require.Equal(t, http.StatusOK, v.post("/me/passkeys/confirm/begin", struct{}{}, &asked))
	require.Equal(t, http.StatusOK, v.post("/me/passkeys/confirm/finish", map[string]any{"challenge": asked.Challenge,
		"response": key.Sign(t, d.site, challengeOf(t, asked))}, &told{}))
	require.Equal(t, http.StatusNotFound, remove(d.visit(t, "bob.passkey")), "it is another's")
	require.Equal(t, http.StatusOK, remove(v))
	_, page = v.get("/me/passkeys")
	require.Contains(t, page, "You have no passkey yet")
}

// A browser's answer makes a passkey, of each algorithm, and nothing else does.
func TestEnrol(t *testing.T) {
	t.Parallel()
	for name, algorithm := range map[string]int{"ES256": assertion.ES256, "EdDSA": assertion.EdDSA, "RS256": assertion.RS256} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newPasskeyDesk(t)
			key := softkey.New(t, algorithm)
			v := d.visit(t, "alice.link.enrols")
			type creation struct {
				told
				User struct{ ID, Name string }
			}
			begin := func() (out creation) {
				require.Equal(t, http.StatusOK, v.post("/me/passkeys/begin", struct{}{}, &out))
				return out
			}
			finish := func(v *passkeyVisitor, challenge string, made json.RawMessage) int {
				return v.post("/me/passkeys/finish", map[string]any{"challenge": challenge, "name": "phone", "credential": made}, &told{})
			}
			asked := begin()
			require.Equal(t, base64.RawURLEncoding.EncodeToString(signin.UserHandle("alice")), asked.User.ID)
			made := key.Make(t, d.site, asked.Challenge)
			require.Equal(t, http.StatusForbidden, finish(d.visit(t, "alice.oidc"), asked.Challenge, made), "another browser")
			require.Equal(t, http.StatusOK, finish(v, asked.Challenge, made))
			require.Equal(t, http.StatusForbidden, finish(v, asked.Challenge, made), "replayed")
			held, err := d.PasskeysOf(t.Context(), sessionIn("alice.link"))
			require.NoError(t, err)
			require.Equal(t, "phone", held.Held[0].Name)
			require.Equal(t, key.Key(t), held.Held[0].Key())

			require.NoError(t, d.RemovePasskey(t.Context(), sessionIn("alice.link.enrols"), key.ID))
			evil, err := assertion.SiteOf("https://evil.example.org")
			require.NoError(t, err)
			asked = begin()
			require.Equal(t, http.StatusUnprocessableEntity, finish(v, asked.Challenge, key.Make(t, evil, asked.Challenge)), "another site")
			asked = begin()
			require.Equal(t, http.StatusUnprocessableEntity, finish(v, asked.Challenge, key.Make(t, d.site, begin().Challenge)), "another challenge")
			key.Flags = softkey.Present
			asked = begin()
			require.Equal(t, http.StatusUnprocessableEntity, finish(v, asked.Challenge, key.Make(t, d.site, asked.Challenge)), "nobody verified")
			asked = begin()
			require.Equal(t, http.StatusUnprocessableEntity, finish(v, asked.Challenge, json.RawMessage(`{"id":"x"}`)), "nothing")
		})
	}
}
