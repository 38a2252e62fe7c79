package server

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/core"
)

// An asker's backend fetches a token for one of its sessions; whoever has it is nobody to
// the API.
func TestViewerTokens(t *testing.T) {
	d := newDesk(t)
	require.Equal(t, http.StatusServiceUnavailable, d.do("POST", "/v1/viewer-tokens", "agent", `{"sessionKey":"s"}`).StatusCode,
		"a desk without a key gives none")
	key, err := core.NewViewerKey(d.store.Seed())
	require.NoError(t, err)
	d.srv.cfg.Viewers = key

	got, err := d.agent.ViewerToken(t.Context(), "chat-1")
	require.NoError(t, err)
	v, ok := key.Read(got.Token, time.Now().UnixMilli())
	require.True(t, ok)
	require.Equal(t, core.Viewer{Owner: "agent", SessionKey: "chat-1", EndsMs: got.ExpiresAtMs}, v)
	require.InDelta(t, time.Now().Add(core.ViewerLife).UnixMilli(), got.ExpiresAtMs, 60_000)

	stolen := *d.agent
	stolen.Token = got.Token
	_, err = stolen.List(t.Context(), api.Filter{})
	require.ErrorContains(t, err, "token")
	require.Equal(t, http.StatusForbidden, d.do("POST", "/v1/viewer-tokens", "alice", `{"sessionKey":"s"}`).StatusCode)
	for _, body := range []string{`{}`, `{"sessionKey":""}`, `{"sessionKey":"s","owner":"other"}`} {
		require.Equal(t, http.StatusUnprocessableEntity, d.do("POST", "/v1/viewer-tokens", "agent", body).StatusCode, body)
	}
}
