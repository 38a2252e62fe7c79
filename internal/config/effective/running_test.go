package effective

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/config"
)

// Where the pages are, and who may sign in there by a provider, waits for a restart: what
// runs was made with it.
func TestPagesStayUntilARestart(t *testing.T) {
	t.Parallel()
	running := config.Defaults()
	next := config.Defaults()
	require.Empty(t, KeepRunning(&next, running))
	next.Server.PublicURL, next.Server.Web.Enabled = "https://desk.example.org", "false"
	next.Server.Web.EmbedOrigins = []string{"https://chat.example.org"}
	require.Equal(t, []string{"server.publicUrl", "server.web"}, KeepRunning(&next, running))
	require.Equal(t, running.Server, next.Server)
}
