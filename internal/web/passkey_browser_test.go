package web

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/webauthn"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// withAuthenticator opens a tab of a Chromium that has an authenticator of its own: it
// keeps passkeys and verifies its user without asking anybody.
func withAuthenticator(t *testing.T) context.Context {
	t.Helper()
	ctx := chromium(t)
	ctx, over := context.WithTimeout(ctx, time.Minute)
	t.Cleanup(over)
	_, err := chromedp.Call(ctx, webauthn.Enable, webauthn.EnableParams{})
	require.NoError(t, err)
	_, err = chromedp.Call(ctx, webauthn.AddVirtualAuthenticator, webauthn.AddVirtualAuthenticatorParams{
		Options: &webauthn.VirtualAuthenticatorOptions{Protocol: "ctap2", Transport: "internal", HasResidentKey: true,
			HasUserVerification: true, IsUserVerified: true, AutomaticPresenceSimulation: true}})
	require.NoError(t, err)
	return ctx
}

// be has the tab be signed in so, or not at all.
func (d *passkeyDesk) be(t *testing.T, tab context.Context, session string) {
	t.Helper()
	_, err := chromedp.Call(tab, network.ClearBrowserCookies, cdp.Empty{})
	require.NoError(t, err)
	if session != "" {
		_, err = chromedp.Call(tab, network.SetCookie, network.SetCookieParams{Name: "session", Value: session, URL: d.at})
		require.NoError(t, err)
	}
}

// Chromium makes a passkey, signs in with it, and signs a yes; its pages break no rule of
// the Content-Security-Policy, and what it signed can be checked by whoever has it.
func TestBrowser_Passkeys(t *testing.T) {
	t.Parallel()
	d := newPasskeyDesk(t)
	tab := withAuthenticator(t)
	var trouble []string
	require.NoError(t, chromedp.Listen(tab, func(ev any) {
		if e, ok := ev.(*log.EventEntryAdded); ok && e.Entry.Level == "error" && !strings.Contains(e.Entry.URL, "favicon") {
			trouble = append(trouble, e.Entry.Text+" "+e.Entry.URL)
		}
	}))
	_, err := chromedp.Call(tab, log.Enable, cdp.Empty{})
	require.NoError(t, err)
	do := func(steps ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		require.NoError(t, chromedp.Do(tab, steps...))
	}
	d.be(t, tab, "alice.link.enrols")
	do(chromedp.Navigate(d.at+"/me/passkeys"), chromedp.WaitEnabled("#add-passkey"),
		chromedp.SendKeys("#passkey-name", "my phone"), chromedp.Click("#add-passkey"), chromedp.WaitVisible(".passkeys"))
	held, err := d.PasskeysOf(t.Context(), sessionIn("alice.link"))
	require.NoError(t, err)
	require.Len(t, held.Held, 1)
	require.Equal(t, "my phone", held.Held[0].Name)

	d.be(t, tab, "")
	do(chromedp.Navigate(d.at+"/signin"), chromedp.WaitEnabled("#passkey-signin"), chromedp.Click("#passkey-signin"),
		chromedp.WaitVisible("#rows"))
	do(chromedp.Navigate(d.at+"/me/passkeys"), chromedp.WaitEnabled("#add-passkey"))

	a := d.submit(t, `{"target":"prod"}`)
	do(chromedp.Navigate(d.at+"/a/"+a.Code+"/sign"), chromedp.WaitEnabled("[data-stepup] button"),
		chromedp.SendKeys("#reason", "from the phone"), chromedp.Click("[data-stepup] button"),
		chromedp.WaitVisible("[data-signed=approved]"))
	got, err := d.ByKey(t.Context(), a.Key)
	require.NoError(t, err)
	require.Equal(t, approval.Approved, got.Status)
	v := got.Votes[0]
	require.Equal(t, "from the phone", v.Reason)
	require.Equal(t, held.Held[0].ID, v.Signature.CredentialID)
	require.Empty(t, trouble)
}
