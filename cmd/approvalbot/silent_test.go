package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/config"
	"approvalbot/internal/config/effective"
	"approvalbot/internal/daemon"
	"approvalbot/internal/platform"
)

// pipes is a listener without a network, for bubbles of synctest.
type pipes struct {
	accept chan net.Conn
	closed chan struct{}
	once   sync.Once
	open   atomic.Int64 // connections that the desk has not closed
}

// Accept implements net.Listener.
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.accept:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Addr implements net.Listener.
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// Close implements net.Listener.
func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// hold sends a text, and reads until the desk closes the connection.
func (p *pipes) hold(text string) {
	here, there := net.Pipe()
	p.open.Add(1)
	p.accept <- &pipe{Conn: here, of: p}
	go func() {
		go func() { _, _ = io.WriteString(there, text) }()
		_, _ = io.Copy(io.Discard, there)
	}()
}

// pipe is the desk's end.
type pipe struct {
	net.Conn
	of   *pipes
	once sync.Once
}

// Close implements net.Conn.
func (p *pipe) Close() error {
	p.once.Do(func() { p.of.open.Add(-1) })
	return p.Conn.Close()
}

// Who posts to the chats' own addresses without a body holds no connection either,
// before its secret or signature is looked at, and with a right secret.
func TestAdversary_P12_SilentWebhooks(t *testing.T) {
	t.Parallel()
	const webhookSecret = "webhook-secret-0123456789"
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o700))
	file := filepath.Join(dir, "approvalbot.yaml")
	require.NoError(t, os.WriteFile(file, []byte(fmt.Sprintf(`server:
  tokens: [{name: agent, token: %s, scopes: [approvals.request]}]
store: {url: "sqlite:%s", keyFile: "%s"}
channels:
  telegram:
    botToken: "123:abc"
    allowedUserIds: [1]
    updates: {webhook: {url: "https://desk.example.org%s", secret: %s}}
  discord:
    botToken: abc
    allowedUserIds: ["1"]
    updates: {interactions: {publicKey: "%s"}}
approvals:
  tools: {enabled: true, routing: {targets: [{channel: telegram, to: "-1001"}]}}
`, agentSecret, filepath.Join(dir, "desk.db"), filepath.Join(dir, "key"), platform.ByName("telegram").Path(), webhookSecret, strings.Repeat("ab", 32))), 0o600))
	load := func() (config.Config, []config.Warning, error) { return effective.Load(file, nil, nil) }
	cfg, _, err := load()
	require.NoError(t, err)

	const length = "Content-Length: 100\r\n"
	secret := "X-Telegram-Bot-Api-Secret-Token: " + webhookSecret + "\r\n"
	synctest.Test(t, func(t *testing.T) {
		signature := fmt.Sprintf("X-Signature-Ed25519: %s\r\nX-Signature-Timestamp: %d\r\n", strings.Repeat("ab", 64), time.Now().Unix())
		for path, shapes := range map[string][]string{
			platform.ByName("telegram").Path(): {length, "Transfer-Encoding: chunked\r\n", secret + length, secret + "Transfer-Encoding: chunked\r\n"},
			platform.ByName("discord").Path():  {length, "Transfer-Encoding: chunked\r\n", signature + length, signature + "Transfer-Encoding: chunked\r\n"},
		} {
			for _, shape := range shapes {
				d, err := daemon.New(t.Context(), cfg, daemon.Options{Version: version, Load: load, Log: slog.New(slog.DiscardHandler)})
				require.NoError(t, err)
				l := &pipes{accept: make(chan net.Conn), closed: make(chan struct{})}
				ctx, stop := context.WithCancel(t.Context())
				var running sync.WaitGroup
				running.Go(func() { _ = d.Store.Run(context.WithoutCancel(ctx)) })
				running.Go(func() { _ = d.Server.Serve(ctx, l) })
				for range 500 {
					l.hold("POST " + path + " HTTP/1.1\r\nHost: desk\r\n" + shape + "\r\n")
				}
				synctest.Wait()
				require.Positive(t, l.open.Load())
				time.Sleep(40 * time.Second) // on the bubble's clock
				synctest.Wait()
				require.Zero(t, l.open.Load(), "%s %q", path, shape)
				stop()
				require.NoError(t, d.Store.Close())
				running.Wait()
			}
		}
	})
}
