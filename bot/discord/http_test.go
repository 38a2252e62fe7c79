package discord

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/bot/discord/gateway"
	"approvalbot/internal/fakechat"
)

// desk of HTTP interactions over real connections: Discord's side sends them.
func httpRig(t *testing.T) (*rig, string) {
	dc := fakechat.NewDiscord(t, fakechat.DiscordOptions{AckWindow: time.Minute})
	alice := dc.AddUser(fakechat.DiscordProfile{Username: "alice"})
	guild := dc.AddGuild("desk", alice)
	r := &rig{t: t, dc: dc, inbox: newMemory(), logs: &lockedBuffer{}, guild: guild, ops: guild.AddChannel("ops"), alice: alice}
	r.cfg = Config{Token: dc.Token(), APIURL: dc.URL(), Updates: Interactions, PublicKey: dc.PublicKey()}
	r.desk = &recorder{inbox: r.inbox}
	r.desk.reply(heard)
	r.bot = r.newBot()
	server := httptest.NewServer(r.bot.InteractionsHandler(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	r.run()
	t.Cleanup(func() { r.stop() })
	return r, server.URL
}

func TestHTTPInteractions(t *testing.T) {
	r, url := httpRig(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.NoError(t, r.dc.SetEndpoint(ctx, url))
	require.NoError(t, r.dc.Probe(ctx, url))
	card := r.card()
	tap := r.alice.Click(r.ops, card, "Allow once")
	require.Equal(t, "heard /approve 7KQ2AB", r.told(tap))
	require.Equal(t, http.StatusOK, tap.EndpointStatus())
	form := r.alice.ClickData(r.ops, card, "/denyreason 7KQ2AB")
	response, err := form.Response(ctx)
	require.NoError(t, err)
	require.NotNil(t, response.Modal)
	require.Equal(t, "Noted.", r.told(r.alice.SubmitModal(form, map[string]string{"reason": "no"})))

	seen := len(r.desk.messages())
	status, _, err := tap.Replay(ctx)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
	require.NoError(t, r.dc.WaitFor(ctx, func() bool { return true }))
	require.Len(t, r.desk.messages(), seen, "a replay counts once")
}

// I11: nothing is taken without a fresh, valid signature.
func TestAdversary_I11_Endpoint(t *testing.T) {
	r, url := httpRig(t)
	body := []byte(`{"type":1}`)
	send := func(req *http.Request) int {
		status, _, err := r.dc.Send(t.Context(), req)
		require.NoError(t, err)
		return status
	}
	now := time.Now()
	require.Equal(t, 200, send(r.dc.SignedRequest(url, body, now)))
	require.Equal(t, 401, send(r.dc.SignedRequest(url, body, now.Add(-6*time.Minute))))
	require.Equal(t, 401, send(r.dc.SignedRequest(url, body, now.Add(6*time.Minute))))
	for name, spoil := range map[string]func(*http.Request){
		"no signature":    func(q *http.Request) { q.Header.Del(signatureHeader) },
		"wrong signature": func(q *http.Request) { q.Header.Set(signatureHeader, strings.Repeat("ab", 64)) },
		"not hex":         func(q *http.Request) { q.Header.Set(signatureHeader, "zz") },
		"other time":      func(q *http.Request) { q.Header.Set(timestampHeader, fmt.Sprint(now.Unix()-1)) },
		"no time":         func(q *http.Request) { q.Header.Del(timestampHeader) },
		"other body":      func(q *http.Request) { q.Body = io.NopCloser(strings.NewReader(`{"type":2}`)) },
	} {
		q := r.dc.SignedRequest(url, body, now)
		spoil(q)
		require.Equal(t, 401, send(q), name)
	}
	get, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	require.Equal(t, 405, send(get))
	require.Equal(t, 413, send(r.dc.SignedRequest(url, make([]byte, 10<<20), now)))
	require.Equal(t, 400, send(r.dc.SignedRequest(url, []byte(`{"type":3}`), now)))
	require.Equal(t, 400, send(r.dc.SignedRequest(url, []byte(`[]`), now)))
	require.Empty(t, r.inbox.stored())
}

// Over the gateway there is no endpoint.
func TestNoEndpointWithGateway(t *testing.T) {
	b, err := New(Config{Token: "x.y.z"}, &recorder{}, newMemory(), nil, testLog())
	require.NoError(t, err)
	w := httptest.NewRecorder()
	b.InteractionsHandler(func(http.ResponseWriter, *http.Request) {}).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil))
	require.Equal(t, 404, w.Code)
}

func TestConfigMistakes(t *testing.T) {
	for name, cfg := range map[string]Config{
		"no token":   {},
		"two words":  {Token: "a b"},
		"bad url":    {Token: "a", APIURL: "ftp://x"},
		"bad mode":   {Token: "a", Updates: "polling"},
		"no key":     {Token: "a", Updates: Interactions},
		"short key":  {Token: "a", Updates: Interactions, PublicKey: "abcd"},
		"key no hex": {Token: "a", Updates: Interactions, PublicKey: strings.Repeat("zz", 32)},
	} {
		_, err := New(cfg, &recorder{}, newMemory(), nil, testLog())
		require.Error(t, err, name)
	}
}

var _ net.Conn = (*gateway.Socket)(nil)
