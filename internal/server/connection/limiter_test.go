package connection

import (
	"fmt"
	"log/slog"
	"net"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/server/metrics"
)

// However young they are, and of however many addresses, there are never more than
// fit beside what the desk itself needs.
func TestAnonymousConnectionsInAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipes()
		limiter := NewLimiter(l, metrics.New(), slog.New(slog.DiscardHandler))
		limiter.limit = 100
		var all []net.Conn
		come := func(from string) {
			go l.dial(from)
			c, err := limiter.Accept()
			require.NoError(t, err)
			all = append(all, c)
		}
		for i := range 50 {
			come(fmt.Sprintf("2001:db8:0:%x::1", i))
		}
		for range 200 {
			come("192.0.2.1")
		}
		require.EqualValues(t, 100, l.open.Load())
		for i := range 50 {
			require.NotNil(t, all[i].(*conn).all, "who has few keeps them")
		}
		for i := range 30 {
			come(fmt.Sprintf("2001:db8:1:0::%x", i))
		}
		require.EqualValues(t, 100, l.open.Load())
		require.Equal(t, 25, limiter.byAddr[addressOf(all[len(all)-1])].Len(), "a network of IPv6 is one address, and shares with the other")
		for _, c := range all {
			c.Close()
		}
		require.Empty(t, limiter.byAddr)
		require.Zero(t, limiter.oldest.Len())
	})
}

// Where the file descriptors have run out, the oldest anonymous connection gives its own.
func TestOutOfFiles_AnAnonymousConnectionGivesItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		limiter := NewLimiter(p, metrics.New(), slog.New(slog.DiscardHandler))
		go p.dial("192.0.2.1")
		_, err := limiter.Accept()
		require.NoError(t, err)
		limiter.failed(&net.OpError{Op: "accept", Err: syscall.EMFILE})
		require.Zero(t, p.open.Load())
	})
}
