package setup

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/config"
)

// The doctor says where the pages are, where browsers would keep no session, and whether the
// provider answers.
func TestDoctor_SaysWhetherPeopleCanSignIn(t *testing.T) {
	t.Parallel()
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"issuer":"http://` + r.Host + `"}`))
	}))
	t.Cleanup(provider.Close)
	look := func(change func(*config.Server)) (out []string) {
		cfg := config.Defaults()
		change(&cfg.Server)
		for _, f := range webFindings(t.Context(), cfg, true) {
			out = append(out, f.What+": "+f.Text)
			require.Equal(t, f.Level == core.LevelOK, f.Fix == "", f.Text)
		}
		return out
	}
	require.Equal(t, []string{"web: the pages are at http://localhost:8787"}, look(func(*config.Server) {}))
	require.Empty(t, look(func(s *config.Server) { s.Web.Enabled = "false" }))
	require.Empty(t, look(func(s *config.Server) { s.BehindProxy = true }))
	require.Equal(t, []string{"web: people cannot stay signed in at " +
		"http://desk.lan"}, look(func(s *config.Server) { s.PublicURL = "http://desk.lan/" }))
	require.Equal(t, []string{"web: the pages are at https://desk.example.org", "oidc: " + provider.URL + " answers"},
		look(func(s *config.Server) { s.PublicURL, s.Web.OIDC.Issuer = "https://desk.example.org/x", provider.URL }))
	require.Contains(t, look(func(s *config.Server) { s.Web.OIDC.Issuer = provider.URL + "/other" })[1], "oidc: the provider cannot be read")
}

// TestAdversary_T5_DoctorLooksAtBothAddresses: the doctor says if the two addresses of
// localhost are not the same desk.
func TestAdversary_T5_DoctorLooksAtBothAddresses(t *testing.T) {
	t.Parallel()
	answers := func(ln net.Listener, keys string) {
		s := &httptest.Server{Listener: ln, Config: &http.Server{Handler: http.HandlerFunc(
			func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(keys)) })}}
		s.Start()
		t.Cleanup(s.Close)
	}
	for name, c := range map[string]struct{ four, six, says string }{
		"the same desk":     {"ours", "ours", ""},
		"another one":       {"ours", "theirs", "127.0.0.1 and ::1 do not lead to the same desk"},
		"none at [::1]":     {"ours", "", "the desk does not answer there"},
		"none on 127.0.0.1": {"", "ours", "the desk does not answer there"},
		"no desk at all":    {"", "", ""},
	} {
		six, err := net.Listen("tcp", "[::1]:0")
		require.NoError(t, err)
		_, port, err := net.SplitHostPort(six.Addr().String())
		require.NoError(t, err)
		four, err := net.Listen("tcp", "127.0.0.1:"+port)
		require.NoError(t, err)
		for ln, keys := range map[net.Listener]string{four: c.four, six: c.six} {
			if keys == "" {
				require.NoError(t, ln.Close())
			} else {
				answers(ln, keys)
			}
		}
		found := localhostFindings(t.Context(), "http://localhost:"+port)
		if c.says == "" {
			require.Empty(t, found, name)
			continue
		}
		require.Len(t, found, 1, name)
		require.Equal(t, core.LevelFail, found[0].Level)
		require.Contains(t, found[0].Text, c.says, name)
	}
}
