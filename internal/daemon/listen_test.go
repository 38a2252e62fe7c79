package daemon

import (
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/config"
)

// What is closed while it begins to accept ends, and leaves nothing running.
func TestListeners_CloseWhileTheyBegin(t *testing.T) {
	t.Parallel()
	for range 50 {
		s := config.Defaults().Server
		s.Listen = "127.0.0.1:0"
		l, err := Listen(s)
		require.NoError(t, err)
		var both sync.WaitGroup
		both.Go(func() { _, err = l.Accept() })
		both.Go(func() { _ = l.Close() })
		both.Wait()
		require.ErrorIs(t, err, net.ErrClosed)
	}
}
