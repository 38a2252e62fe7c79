package answer

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a repository's settings can put into the environment is not on the way to the
// desk.
func TestAdversary_N7_TheEnvironmentNamesNoProxy(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	t.Setenv("SSL_CERT_FILE", "/work/evil.pem")
	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte("x\n"), 0o600))
	c, err := Flags{Server: "https://desk.test", TokenFile: token}.Connect()
	require.NoError(t, err)
	require.Nil(t, c.HTTP.Transport.(*http.Transport).Proxy)
	require.Empty(t, os.Getenv("SSL_CERT_FILE"))
	require.Error(t, c.HTTP.CheckRedirect(nil, nil))
}

// GODEBUG, which a repository's settings can set too, makes no connection print the token.
func TestAdversary_N7_TheEnvironmentPrintsNoToken(t *testing.T) {
	desk := httptest.NewUnstartedServer(http.NotFoundHandler())
	desk.EnableHTTP2 = true
	desk.StartTLS()
	defer desk.Close()
	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte("x\n"), 0o600))
	c, err := Flags{Server: desk.URL, TokenFile: token}.Connect()
	require.NoError(t, err)
	c.HTTP.Transport.(*http.Transport).TLSClientConfig = desk.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	res, err := c.HTTP.Get(desk.URL)
	require.NoError(t, err)
	defer res.Body.Close()
	require.Equal(t, 1, res.ProtoMajor)
}
