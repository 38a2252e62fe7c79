package setup

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/config"
	"approvalbot/core"
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
		for _, f := range webFindings(t.Context(), cfg) {
			out = append(out, f.What+": "+f.Text)
			require.Equal(t, f.Level == core.LevelOK, f.Fix == "", f.Text)
		}
		return out
	}
	require.Equal(t, []string{"web: the pages are at http://localhost:8787"}, look(func(*config.Server) {}))
	require.Empty(t, look(func(s *config.Server) { s.Web.Enabled = "false" }))
	require.Empty(t, look(func(s *config.Server) { s.BehindProxy = true }))
	require.Equal(t, []string{"web: browsers keep no session at http://desk.lan"}, look(func(s *config.Server) { s.PublicURL = "http://desk.lan/" }))
	require.Equal(t, []string{"web: the pages are at https://desk.example.org", "oidc: " + provider.URL + " answers"},
		look(func(s *config.Server) { s.PublicURL, s.Web.OIDC.Issuer = "https://desk.example.org/x", provider.URL }))
	require.Contains(t, look(func(s *config.Server) { s.Web.OIDC.Issuer = provider.URL + "/other" })[1], "oidc: the provider cannot be read")
}
