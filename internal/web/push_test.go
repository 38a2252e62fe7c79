package web

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/signin"
)

const browserSubscription = `{"endpoint":"https://push.example/abc","expirationTime":null,"keys":{
"p256dh":"BNcRdreALRFXTkOOUHK1EtK2wtaz5Ry4YfYCA_0QTpQtUbVlUls0VJXg7A8u-Ts1XbjhazAkj7I99e8QcYP7DkM","auth":"tBHItJI5svbpez7KI4CCXg"}}`

// People subscribe their browsers, see them, and end them: their own, and no other's.
func TestNotificationsPage(t *testing.T) {
	t.Parallel()
	d := newDialogDesk(t)
	json := []string{"Content-Type", "application/json", "User-Agent", "Firefox <b>\u202e"}
	require.Equal(t, http.StatusNoContent, d.do("POST", "/me/push", "alice", browserSubscription, json...).StatusCode)
	page := d.do("GET", "/me/push", "alice", "").text
	require.Contains(t, page, "Firefox &lt;b&gt;")
	require.NotContains(t, page, "\u202e")
	require.NotContains(t, page, "push.example", "an endpoint is the browser's secret")
	require.Contains(t, page, `data-key="BKey"`)
	require.NotContains(t, d.do("GET", "/me/push", "bob", "").text, "Firefox")

	mine, err := d.signin.Subscriptions(t.Context(), signin.Session{Person: "alice"})
	require.NoError(t, err)
	end := url.Values{"id": {mine[0].ID}}.Encode()
	d.do("POST", "/me/push/end", "bob", end)
	require.Contains(t, d.do("GET", "/me/push", "alice", "").text, "Firefox")
	require.Equal(t, http.StatusSeeOther, d.do("POST", "/me/push/end", "alice", end).StatusCode)
	require.NotContains(t, d.do("GET", "/me/push", "alice", "").text, "Firefox")

	for body, status := range map[string]int{
		"": http.StatusBadRequest, "[]": http.StatusBadRequest, "{}": http.StatusUnprocessableEntity,
		`{"endpoint":"http://10.0.0.1/"}`: http.StatusUnprocessableEntity,
	} {
		require.Equal(t, status, d.do("POST", "/me/push", "alice", body, json...).StatusCode, body)
	}
	for _, path := range []string{"/me/push", "/me/push/end"} {
		require.Equal(t, http.StatusSeeOther, d.do("POST", path, "", browserSubscription).StatusCode, "nobody is signed in")
	}
	off := newDialogDesk(t, func(c *Config) { c.PushKey = "" })
	require.Contains(t, off.do("GET", "/me/push", "alice", "").text, "vapidKeyFile")
	require.Equal(t, http.StatusNotFound, off.do("POST", "/me/push", "alice", browserSubscription, json...).StatusCode)
}

// What a browser needs to install the pages is there, and of the right kind.
func TestThePagesCanBeInstalled(t *testing.T) {
	t.Parallel()
	d := newDialogDesk(t)
	for path, kind := range map[string]string{
		"manifest.json": "application/json", "sw.js": "text/javascript", "icon.svg": "image/svg+xml",
		"icon-192.png": "image/png", "icon-512.png": "image/png", "badge.png": "image/png",
	} {
		got := d.do("GET", "/static/"+path, "", "")
		require.Equal(t, http.StatusOK, got.StatusCode, path)
		require.Contains(t, got.Header.Get("Content-Type"), kind, path)
	}
	require.Contains(t, d.do("GET", "/me/push", "alice", "").text, `rel="manifest" href="/static/manifest.json"`)
}
