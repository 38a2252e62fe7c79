package rest_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/bot/discord/rest"
	"approvalbot/core"
)

const (
	botToken = "bot-token-of-the-test"
	callback = "/interactions/1/interaction-token/callback"
)

// wire answers calls in the place of a network.
type wire func(*http.Request) (*http.Response, error)

func (w wire) RoundTrip(r *http.Request) (*http.Response, error) { return w(r) }

// says is a wire that gives the same answer to each call, and counts them.
func says(status int, body string, header http.Header) (wire, *int) {
	calls := new(int)
	return func(r *http.Request) (*http.Response, error) {
		*calls++
		return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
	}, calls
}

// Discord was asked once, for each of its answers: a repeat is the outbox's, which has the nonce.
func TestAnswers(t *testing.T) {
	const page = "<html>" + botToken + "</html>"
	limited := http.Header{"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset-After": {"3600"}}
	cases := map[string]struct {
		status int
		body   string
		header http.Header
		want   rest.Error // its status is 0 if the call has a result
	}{
		"created":                    {status: 201, body: `{"id":"7"}`},
		"accepted":                   {status: 202, body: `{"id":"7"}`},
		"limit that cannot be read":  {status: 200, body: `{"id":"7"}`, header: http.Header{"X-Ratelimit-Remaining": {"many"}}},
		"global limit, yet a result": {status: 200, body: `{"id":"7"}`, header: http.Header{"X-Ratelimit-Global": {"true"}, "X-Ratelimit-Reset-After": {"1"}}},
		"last call before a rest":    {status: 200, body: `{"id":"7"}`, header: limited},
		"redirect":                   {status: 302, header: http.Header{"Location": {"https://evil.example/"}}, want: rest.Error{Status: 302}},
		"redirect of a post":         {status: 307, header: http.Header{"Location": {"https://evil.example/"}}, want: rest.Error{Status: 307}},
		"refused":                    {status: 403, body: `{"code":50001,"message":"Missing Access"}`, want: rest.Error{Status: 403, Code: 50001}},
		"limited": {status: 429, body: `{"message":"wait","retry_after":2.5,"global":true}`,
			want: rest.Error{Status: 429, RetryAfter: 2500 * time.Millisecond, Global: true}},
		"a proxy's limit":   {status: 429, body: page, want: rest.Error{Status: 429, RetryAfter: rest.ProxyPause, Global: true}},
		"a proxy's refusal": {status: 403, body: page, want: rest.Error{Status: 429, RetryAfter: rest.ProxyPause, Global: true}},
		"bad gateway":       {status: 502, body: page, want: rest.Error{Status: 502}},
		"token revoked":     {status: 401, body: `{"code":0,"message":"401: Unauthorized ` + botToken + `"}`, want: rest.Error{Status: 401}},
	}
	for name, c := range cases {
		for _, path := range []string{"/channels/1/messages", callback} {
			t.Run(name+path, func(t *testing.T) {
				w, calls := says(c.status, c.body, c.header)
				var sent struct{ ID string }
				client := rest.New("http://discord.invalid", botToken, w)
				header, err := client.Send(t.Context(), http.MethodPost, path, map[string]string{"content": "x"}, &sent)
				require.Equal(t, 1, *calls)
				require.Equal(t, c.header, header)
				if c.want.Status == 0 {
					require.NoError(t, err)
					require.Equal(t, "7", sent.ID)
					return
				}
				var e *rest.Error
				require.ErrorAs(t, err, &e)
				got := *e
				got.Message = ""
				require.Equal(t, c.want, got)
				require.Equal(t, c.status >= 500, errors.Is(err, core.ErrPlatform))
				require.NotContains(t, err.Error(), botToken)
				require.NotContains(t, err.Error(), "interaction-token")
			})
		}
	}
}

// An answer that did not come whole may have been a success, so it is no refusal.
func TestUnanswered(t *testing.T) {
	broken := func(r *http.Request) (*http.Response, error) {
		body := io.MultiReader(strings.NewReader(`{"code":50001`), failing{})
		return &http.Response{StatusCode: 403, Body: io.NopCloser(body), Request: r}, nil
	}
	away := func(r *http.Request) (*http.Response, error) { return nil, errors.New("no route for " + botToken) }
	cut, _ := says(200, `{"id":"7`, nil)
	long, _ := says(200, strings.Repeat(" ", 8<<20)+`{}`, nil)
	for name, w := range map[string]wire{"broken": broken, "away": away, "cut": cut, "too long": long} {
		for _, base := range []string{"http://discord.invalid", "http://discord.invalid:port"} {
			client := rest.New(base, botToken, w)
			err := client.Call(t.Context(), http.MethodPost, callback, nil, new(any))
			require.ErrorContains(t, err, "Discord gave no answer", name)
			require.False(t, errors.As(err, new(*rest.Error)), name)
			require.NotContains(t, err.Error(), botToken)
			require.NotContains(t, err.Error(), "interaction-token")
		}
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("connection reset") }

// Interactions have a token of their own in their path, and the bot's stays at home.
func TestOnlyTheBotsCallsHaveItsToken(t *testing.T) {
	for path, want := range map[string]string{
		"/channels/1": "Bot " + botToken, callback: "", "/webhooks/1/interaction-token/messages/@original": "",
	} {
		var got http.Header
		client := rest.New("http://discord.invalid", botToken, wire(func(r *http.Request) (*http.Response, error) {
			got = r.Header
			return &http.Response{StatusCode: 204, Body: http.NoBody, Request: r}, nil
		}))
		require.NoError(t, client.Call(t.Context(), http.MethodGet, path, nil, nil))
		require.Equal(t, want, got.Get("Authorization"), path)
		require.Contains(t, got.Get("User-Agent"), "DiscordBot (")
		require.Empty(t, got.Get("Content-Type"), "a call without a body has no kind of it")
	}
}
