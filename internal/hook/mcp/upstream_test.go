package mcp

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/require"
)

// sent is what comes of one message to a remote server.
func sent(t *testing.T, address string) error {
	t.Helper()
	to, err := url.Parse(address)
	require.NoError(t, err)
	r := &Remote{URL: to, Header: http.Header{"X-Key": {"k3y"}}}
	c := r.Connect(t.Context())
	id, err := jsonrpc.MakeID("1")
	require.NoError(t, err)
	err = c.Write(t.Context(), &jsonrpc.Request{ID: id, Method: initialize})
	_ = c.Close() // it never began
	return err
}

// A server gets the whole address and the headers that it was named with.
func TestRemote_SendsTheWholeAddress(t *testing.T) {
	got := make(chan *http.Request, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got <- r
		w.WriteHeader(http.StatusAccepted)
	}))
	defer s.Close()
	to, _ := url.Parse(s.URL)
	_ = sent(t, "http://user:pass@"+to.Host+"/mcp/a%2Fb?key=1")
	r := <-got
	require.Equal(t, "/mcp/a%2Fb?key=1", r.RequestURI)
	require.Equal(t, "k3y", r.Header.Get("X-Key"))
	user, password, ok := r.BasicAuth()
	require.True(t, ok)
	require.Equal(t, "user:pass", user+":"+password)
}

// An address may be a secret, and what goes wrong is read by a model. What is sent goes
// to the named server alone, and by no proxy that could read it.
func TestAdversary_N7_ARemotesAddressIsInNoError(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Path+"/s3cret", http.StatusTemporaryRedirect)
	}))
	defer s.Close()
	for _, address := range []string{"http://127.0.0.1:1/s3cret?key=s3cret", "http://s3cret:s3cret@127.0.0.1:1", s.URL + "/s3cret"} {
		err := sent(t, address)
		require.Error(t, err)
		require.NotContains(t, err.Error(), "s3cret")
	}
	require.ErrorContains(t, sent(t, s.URL), "it redirects to another address")

	plain, err := http.NewRequest("POST", "http://mcp.test/", nil)
	require.NoError(t, err)
	t.Setenv("HTTP_PROXY", "http://evil.test:1")
	proxy, err := outward().Proxy(plain)
	require.NoError(t, err)
	require.Nil(t, proxy)
}
