package web

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
)

// A person who sends forms without end is told to wait; others are not.
func TestAdversary_N10_FormsOfOnePerson(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	now := time.Now()
	d.web.forms.now = func() time.Time { return now }
	a := d.run("make it")
	for range formsAtOnce {
		require.Equal(t, http.StatusNotFound, d.votes("dave", a.Code, core.AllowOnce).Code)
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
	require.Equal(t, http.StatusSeeOther, d.votes("bob", a.Code, core.Deny).Code)
	now = now.Add(time.Second)
	for range formsPerSecond {
		require.Equal(t, http.StatusNotFound, d.votes("dave", a.Code, core.AllowOnce).Code)
	}
	require.Equal(t, http.StatusTooManyRequests, d.votes("dave", a.Code, core.AllowOnce).Code)
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
