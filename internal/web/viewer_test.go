package web

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/card"
)

func (d *dialogDesk) watched(token, known string, headers ...string) (watched, answered) {
	d.t.Helper()
	got := d.do("GET", "/viewer/approvals?known="+url.QueryEscape(known), "", "", append(headers, "Authorization", "Bearer "+token)...)
	var list watched
	if got.StatusCode == http.StatusOK {
		require.NoError(d.t, json.Unmarshal([]byte(got.text), &list))
	}
	return list, got
}

func codes(list watched) []string {
	all := []string{}
	for _, item := range list.Items {
		all = append(all, item.Code)
	}
	return all
}

// A page lists what waits in its session, the riskiest first, in the short form of a card.
func TestWhatAPageLists(t *testing.T) {
	t.Parallel()
	d := newDialogDesk(t)
	low, high := d.ask("read", `{"path":"a"}`), d.ask("grave", `{"command":"rm -rf /srv TOKEN=hunter2hunter2hunter2"}`)
	d.ask("read", `{"path":"b"}`, func(c *approval.Call) { c.SessionKey = "chat-2" })

	list, got := d.watched(d.token(agentName, "chat-1", time.Now()), "", "Origin", embedder)
	require.Equal(t, []string{high.Code, low.Code}, codes(list))
	require.Equal(t, watchedItem{Code: high.Code, Title: card.Headline(high), Risk: "R4", CreatedAtMs: high.CreatedAtMs,
		ExpiresAtMs: high.ExpiresAtMs}, list.Items[0])
	require.NotContains(t, got.text, "hunter2")
	require.Equal(t, embedder, got.Header.Get("Access-Control-Allow-Origin"))
	require.Empty(t, got.Header.Get("Access-Control-Allow-Credentials"))
	require.Contains(t, got.Header.Values("Vary"), "Origin")
}

// waiters says when somebody begins to wait, or looks once more.
type waiters struct {
	Changes
	asked chan<- struct{}
}

func (w waiters) News() <-chan struct{} {
	w.asked <- struct{}{}
	return w.Changes.News()
}

// Who knows the list is answered when it changes, or when the desk stops.
func TestAListIsLive(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 99)
	d := newDialogDesk(t, func(c *Config) { c.Changes = waiters{c.Changes, asked} })
	token := d.token(agentName, "chat-1", time.Now())
	empty, _ := d.watched(token, "")
	require.Empty(t, empty.Items)
	<-asked

	next := func(known string) <-chan watched {
		done := make(chan watched, 1)
		go func() { list, _ := d.watched(token, known); done <- list }()
		<-asked
		require.Empty(t, done, "it waits")
		return done
	}
	waiting := next(empty.State)
	a := d.ask("read", `{"path":"a"}`)
	one := <-waiting
	require.Equal(t, []string{a.Code}, codes(one))

	waiting = next(one.State)
	_, err := d.gate.Withdraw(t.Context(), core.Caller{Token: agentName, MayRequest: true}, a.ID, "")
	require.NoError(t, err)
	require.Empty(t, (<-waiting).Items)

	waiting = next(empty.State)
	d.stop()
	require.Equal(t, empty.State, (<-waiting).State)
}

// A token of another session, owner or time opens nothing, nor does one of the API's, nor
// anything but the list.
func TestAdversary_N1_ViewerTokens(t *testing.T) {
	t.Parallel()
	d := newDialogDesk(t)
	a := d.ask("read", `{"path":"a"}`)
	now := time.Now()
	list, _ := d.watched(d.token("other", "chat-1", now), "")
	require.Empty(t, list.Items, "another owner's session of the same name")
	list, _ = d.watched(d.token(agentName, "chat-2", now), "")
	require.Empty(t, list.Items)

	good := d.token(agentName, "chat-1", now)
	for name, token := range map[string]string{
		"expired": d.token(agentName, "chat-1", now.Add(-core.ViewerLife)), "of a token that is gone": d.token("removed", "chat-1", now),
		"the API's": "agent-s3cret-s3cret", "none": "", "cut": good[1:],
	} {
		_, got := d.watched(token, "", "Origin", embedder)
		require.Equal(t, http.StatusUnauthorized, got.StatusCode, name)
		require.Equal(t, embedder, got.Header.Get("Access-Control-Allow-Origin"), "the page can see that it needs another")
	}
	require.Equal(t, http.StatusUnauthorized, d.do("GET", "/viewer/approvals", "alice", "").StatusCode, "a session is no token")
	require.Equal(t, http.StatusUnauthorized,
		d.do("GET", "/viewer/approvals?token="+good, "", "", "Authorization", good).StatusCode)

	bearer := []string{"Authorization", "Bearer " + good}
	for _, path := range []string{"/v1/approvals", "/v1/approvals/" + a.ID, "/v1/events", "/v1/grants", "/v1/policy"} {
		require.Equal(t, http.StatusUnauthorized, d.do("GET", path, "", "", bearer...).StatusCode, path)
	}
	resolve := d.do("POST", "/v1/approvals/"+a.ID+"/resolve", "", `{"decision":"allow-once"}`, bearer...)
	require.Equal(t, http.StatusUnauthorized, resolve.StatusCode)
	require.Equal(t, http.StatusSeeOther, d.do("GET", "/dialog/"+a.Code, "", "", bearer...).StatusCode)
	require.Equal(t, http.StatusMethodNotAllowed, d.do("POST", "/viewer/approvals", "", "", bearer...).StatusCode)
	require.Equal(t, approval.Pending, d.now(a.Code).Status)
}

// Pages of other origins cannot read the list, whatever token they have, and are told of no
// headers that they may send.
func TestAdversary_N1_OtherOriginsReadNothing(t *testing.T) {
	t.Parallel()
	d := newDialogDesk(t)
	d.ask("read", `{"path":"a"}`)
	token := d.token(agentName, "chat-1", time.Now())
	for _, origin := range []string{"https://evil.example", "https://chat.example.evil.example", "http://chat.example",
		"https://chat.example:8443", "null", "https://CHAT.example", "*"} {
		for _, method := range []string{"GET", "OPTIONS"} {
			got := d.do(method, "/viewer/approvals", "", "", "Origin", origin, "Authorization", "Bearer "+token)
			require.Equal(t, http.StatusForbidden, got.StatusCode, origin)
			require.Empty(t, got.Header.Get("Access-Control-Allow-Origin"), origin)
			require.Empty(t, got.Header.Get("Access-Control-Allow-Headers"), origin)
		}
	}
	got := d.do("OPTIONS", "/viewer/approvals", "", "", "Origin", embedder, "Access-Control-Request-Method", "GET",
		"Access-Control-Request-Headers", "authorization")
	require.Equal(t, http.StatusNoContent, got.StatusCode)
	require.Equal(t, embedder, got.Header.Get("Access-Control-Allow-Origin"))
	require.Equal(t, "Authorization", got.Header.Get("Access-Control-Allow-Headers"))
	require.Equal(t, "GET", got.Header.Get("Access-Control-Allow-Methods"))

	none := newDialogDesk(t, func(c *Config) { c.EmbedOrigins = nil })
	require.Equal(t, http.StatusForbidden, none.do("GET", "/viewer/approvals", "", "", "Origin", embedder).StatusCode)
}

// The element is for any page; it says so to browsers, and has no word of this desk in it.
func TestTheElementIsForAnyPage(t *testing.T) {
	t.Parallel()
	d := newDialogDesk(t)
	got := d.do("GET", "/static/approvalbot.js", "", "")
	require.Equal(t, http.StatusOK, got.StatusCode)
	require.Contains(t, got.Header.Get("Content-Type"), "javascript")
	require.Equal(t, "*", got.Header.Get("Access-Control-Allow-Origin"))
	require.Equal(t, "cross-origin", got.Header.Get("Cross-Origin-Resource-Policy"))
	for _, word := range []string{"innerHTML", "eval(", "document.write", "localStorage", "style=", "desk.example\")"} {
		require.False(t, strings.Contains(got.text, word), word)
	}
}
