package main

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/assertion/softkey"
	"approvalbot/internal/signin"
)

// holdings is all that signs bob in, or speaks for him, before he is removed.
type holdings struct {
	cookie  string
	link    string
	session signin.Session
	asked   api.Approval
	yes     core.YesToSign
	signIn  signin.Challenge
	push    string // id of a subscription
	key     *softkey.Passkey
}

// pushed notifies browsers, and wants the yes to every deploy signed.
func pushed(r *rig) {
	r.web = fmt.Sprintf("{push: {vapidKeyFile: %q}}", filepath.Join(r.dir, "vapid.pem"))
	r.tools = "    rules: [{name: signed, match: {tool: deploy}, outcome: ask, stepUp: true}]\n"
}

func (r *rig) linkFor(who string) string {
	r.t.Helper()
	made, err := r.operator().LoginLink(r.ctx(), api.LoginRequest{Person: who})
	require.NoError(r.t, err)
	return made.URL
}

// sessionOf is the session of a cookie.
func (r *rig) sessionOf(cookie string) signin.Session {
	r.t.Helper()
	_, value, _ := strings.Cut(cookie, "=")
	s, err := r.desk.SignIn.Session(r.ctx(), value)
	require.NoError(r.t, err)
	return s
}

// bobs gives bob everything that a person can hold.
func (r *rig) bobs() (h holdings) {
	r.t.Helper()
	h.key = r.enrolled("bob")
	r.enrolled("alice")
	h.asked = r.ask(`{"n":1}`)
	h.cookie, h.link = r.click(r.linkFor("bob")), r.linkFor("bob")
	h.session = r.sessionOf(h.cookie)
	var err error
	h.yes, err = r.beginYes(h.session, h.asked)
	require.NoError(r.t, err)
	h.signIn, err = r.desk.SignIn.BeginCeremony(r.ctx(), signin.SignInChallenge, "a browser")
	require.NoError(r.t, err)
	require.NoError(r.t, r.desk.SignIn.Subscribe(r.ctx(), h.session, signin.PushSubscription{
		Endpoint: "https://push.invalid/bob", Auth: "tBHItJI5svbpez7KI4CCXg", P256dh: "BNcRdreALRFXTkOOUHK1EtK2wtaz5Ry4YfYCA_" +
			"0QTpQtUbVlUls0VJXg7A8u-Ts1XbjhazAkj7I99e8QcYP7DkM"}))
	all, err := r.desk.SignIn.Subscriptions(r.ctx(), h.session)
	require.NoError(r.t, err)
	h.push = all[0].ID
	return h
}

func (r *rig) beginYes(s signin.Session, a api.Approval) (core.YesToSign, error) {
	return r.desk.Gate.Pages().BeginYes(r.ctx(), s.WebUser(), a.Code,
		core.ShownCall{Fingerprint: a.ArgsFingerprint, PolicyHash: r.desk.Gate.PolicyHash()})
}

// named writes a configuration that names alice and whom the name says.
func (r *rig) named(name string) {
	r.t.Helper()
	r.people = fmt.Sprintf("  - {name: alice, telegram: %d}\n", r.alice.ID)
	if name != "" {
		r.people += fmt.Sprintf("  - {name: %s, telegram: %d}\n", name, r.bob.ID)
	}
	r.write(r.yaml())
}

func (r *rig) reloaded() api.Reloaded {
	r.t.Helper()
	got, err := r.desk.Reload(r.ctx(), "signal:SIGHUP")
	require.NoError(r.t, err)
	return got
}

// requireGone holds that nothing of bob's from before works, though he is configured, and
// that a new enrolment does.
func (r *rig) requireGone(h holdings) {
	t := r.t
	t.Helper()
	require.Empty(t, r.in(h.cookie), "the old cookie")
	at, err := url.Parse(h.link)
	require.NoError(t, err)
	out, _ := r.page(http.MethodPost, "/signin", "", url.Values{"link": {at.Query().Get("link")}})
	require.Equal(t, http.StatusGone, out.StatusCode, "the old link")

	_, err = r.desk.Store.Challenge(r.ctx(), h.yes.Nonce)
	require.Equal(t, approval.CodeNotFound, approval.CodeOf(err), "the old ceremony")
	sign := func(s signin.Session, y core.YesToSign) error {
		_, err := r.desk.Gate.Pages().VoteSigned(r.ctx(), s.WebUser(), h.asked.Code,
			core.SignedYes{Nonce: y.Nonce, Response: h.key.Sign(t, y.Site, y.Challenge)}, "")
		return err
	}
	require.Equal(t, approval.CodeStepUpRequired, approval.CodeOf(sign(h.session, h.yes)))
	for _, begun := range []func() signin.Challenge{
		func() signin.Challenge { return h.signIn },
		func() signin.Challenge {
			c, err := r.desk.SignIn.BeginCeremony(r.ctx(), signin.SignInChallenge, "a browser")
			require.NoError(t, err)
			return c
		},
	} {
		c := begun()
		_, err = r.desk.SignIn.SignInByPasskey(r.ctx(), "a browser", c.ID, h.key.Sign(t, h.yes.Site, decoded(t, c.ID)))
		require.Equal(t, approval.CodeForbidden, approval.CodeOf(err), "the old passkey, to sign in: %v", err)
	}
	fresh := r.sessionOf(r.click(r.linkFor("bob")))
	_, err = r.beginYes(fresh, h.asked)
	require.ErrorContains(t, err, "login --enrol bob", "the old passkey, for a yes")

	_, err = r.desk.Store.Push(r.ctx(), h.push)
	require.Equal(t, approval.CodeNotFound, approval.CodeOf(err), "the old subscription")
	b := r.ask(`{"n":2}`)
	now, err := r.desk.Gate.ByCode(r.ctx(), b.Code)
	require.NoError(t, err)
	for _, d := range now.Deliveries {
		require.NotEqual(t, approval.PushDelivery, d.Kind)
	}

	ended, suspended := 0, 0
	entries, err := r.desk.Store.Log(r.ctx(), 0, 1000)
	require.NoError(t, err)
	for _, e := range entries {
		switch {
		case e.Type == approval.EventSignedOut && strings.Contains(string(e.Data), h.session.ID):
			require.Contains(t, string(e.Data), `"by":"configuration"`)
			ended++
		case e.Type == "passkey.suspended" && strings.Contains(string(e.Data), h.key.ID):
			suspended++
		}
	}
	require.Equal(t, [2]int{1, 1}, [2]int{ended, suspended}, "on record, once")

	old := h.key
	h.key = r.enrolled("bob")
	y, err := r.beginYes(fresh, h.asked)
	require.NoError(t, err)
	require.Len(t, y.Passkeys, 1)
	h.key, old = old, h.key
	require.Equal(t, approval.CodeStepUpRequired, approval.CodeOf(sign(fresh, y)), "the old passkey beside the new one")
	h.key = old
	y, err = r.beginYes(fresh, h.asked)
	require.NoError(t, err)
	require.NoError(t, sign(fresh, y))
	require.EqualValues(t, "approved", r.final(h.asked).Status)
}

// A person who was removed and is named again has nothing left of before.
func TestAdversary_T8_RemovedAndNamedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, pushed)
	h := r.bobs()
	require.Equal(t, "bob", r.in(h.cookie))
	r.named("")
	r.reloaded()
	require.Empty(t, r.in(h.cookie))
	r.named("bob")
	r.reloaded()
	r.requireGone(h)
}

// A person of another name is another person, and the old name another one again.
func TestAdversary_T8_Renamed(t *testing.T) {
	t.Parallel()
	r := newRig(t, pushed)
	h := r.bobs()
	r.named("robert")
	r.reloaded()
	require.Empty(t, r.in(h.cookie))
	r.named("bob")
	r.reloaded()
	r.requireGone(h)
}

// A removal while the desk was down counts from its start on.
func TestAdversary_T8_RemovedWhileTheDeskWasDown(t *testing.T) {
	t.Parallel()
	r := newRig(t, pushed)
	h := r.bobs()
	r.stop()
	r.named("")
	r.start()
	require.Empty(t, r.in(h.cookie))
	r.named("bob")
	r.stop()
	r.start()
	r.requireGone(h)
}

func decoded(t *testing.T, challenge string) []byte {
	t.Helper()
	b, err := base64.RawURLEncoding.DecodeString(challenge)
	require.NoError(t, err)
	return b
}

// With several instances it ends when the last one has the configuration, whichever that is,
// and not before.
func TestAdversary_T8_SeveralInstances(t *testing.T) {
	t.Parallel()
	a := newRig(t, onPostgres(t), pushed)
	b := a.another()
	a.becomes(true)
	b.becomes(true)
	h := a.bobs()
	b.keepsFile()
	a.named("")
	got := a.reloaded()
	require.True(t, got.EndsLater)
	require.Equal(t, []string{"bob: 1 session, 1 login link, 1 push subscription, 1 passkey"}, got.Ended)
	require.Empty(t, a.in(h.cookie))
	_, err := a.desk.Store.Push(a.ctx(), h.push)
	require.NoError(t, err, "an instance still has the configuration that names bob")

	b.reads.Store(a.load) // its file arrives
	b.becomes(true)
	require.Eventually(t, func() bool {
		_, err := a.desk.Store.Push(a.ctx(), h.push)
		return approval.CodeOf(err) == approval.CodeNotFound
	}, patient, 5*time.Millisecond)
	a.named("bob")
	b.reloaded()
	a.becomes(true)
	a.requireGone(h)
	require.Empty(t, b.in(h.cookie))
}
