package server

import (
	"bufio"
	"crypto/ed25519"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/server/connection"
)

// withOwn makes a server that answers TLS with a key of its own on the port of plain
// HTTP.
func (d *desk) withOwn() (*Server, ed25519.PublicKey) {
	public, key, err := ed25519.GenerateKey(nil)
	require.NoError(d.t, err)
	own, err := connection.OwnCertificate(key, "desk.example", time.Now())
	require.NoError(d.t, err)
	srv, err := New(Config{Gate: d.gate, Feed: d.feed, Tokens: testTokens(), Own: own})
	require.NoError(d.t, err)
	return srv, public
}

// pinning is a client's TLS that takes that key and no other.
func pinning(key ed25519.PublicKey) *tls.Config {
	return &tls.Config{InsecureSkipVerify: true, VerifyConnection: func(s tls.ConnectionState) error {
		if got, ok := s.PeerCertificates[0].PublicKey.(ed25519.PublicKey); !ok || !got.Equal(key) {
			return errors.New("not the pinned key")
		}
		return nil
	}}
}

func TestAdversary_T6_TLSAndPlainHTTPOnOnePort(t *testing.T) {
	d := newDesk(t)
	srv, key := d.withOwn()
	addr, stop := d.serving(srv)
	for _, scheme := range []string{"http", "https"} {
		transport := &http.Transport{TLSClientConfig: pinning(key), ForceAttemptHTTP2: true}
		c := &api.Client{Server: scheme + "://" + addr, Token: secretOf("agent"), HTTP: &http.Client{Transport: transport}}
		a, err := c.Create(t.Context(), request("read", `{}`), api.CreateOptions{Claim: true, ClaimID: scheme})
		require.NoError(t, err)
		require.Equal(t, scheme, a.Claim.ClaimID)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, scheme+"://"+addr+"/v1/events", nil)
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer "+secretOf("agent"))
		res, err := transport.RoundTrip(req)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, res.StatusCode)
		require.NoError(t, res.Body.Close())
		transport.CloseIdleConnections()
	}
	for name, config := range map[string]*tls.Config{
		"TLS 1.2": {InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12}, "another key": pinning(make([]byte, 32)), "no trust": {ServerName: "localhost"},
	} {
		_, err := tls.Dial("tcp", addr, config)
		require.Error(t, err, name)
	}
	require.NoError(t, stop())
}

// A relay has the desk's certificate, which is public, and not its key.
func TestAdversary_T6_ARelayCannotPresentThePinnedKey(t *testing.T) {
	d := newDesk(t)
	srv, key := d.withOwn()
	addr, _ := d.serving(srv)
	real, err := tls.Dial("tcp", addr, pinning(key))
	require.NoError(t, err)
	stolen := real.ConnectionState().PeerCertificates[0].Raw
	require.NoError(t, real.Close())
	_, relays, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	own, err := connection.OwnCertificate(relays, "localhost", time.Now())
	require.NoError(t, err)
	for name, cert := range map[string]tls.Certificate{
		"a certificate of its own": *own,
		"the desk's certificate":   {Certificate: [][]byte{stolen}, PrivateKey: relays},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}})
			require.NoError(t, err)
			heard := make(chan int, 1)
			go func() {
				c, err := l.Accept()
				n := 0
				if err == nil {
					n, _ = c.Read(make([]byte, 100)) // what the client sends after the handshake
					_ = c.Close()
				}
				heard <- n
			}()
			transport := &http.Transport{TLSClientConfig: pinning(key)}
			c := &api.Client{Server: "https://" + l.Addr().String(), Token: secretOf("agent"), HTTP: &http.Client{Transport: transport}}
			_, err = c.Create(t.Context(), request("read", `{}`), api.CreateOptions{})
			require.Error(t, err)
			require.Zero(t, <-heard, "it gets no token")
			require.NoError(t, l.Close())
		})
	}
}

// What looks like TLS, and then nothing, holds a connection no longer than silence does.
func TestAdversary_T6_LookingAtTheFirstByteHoldsNoConnection(t *testing.T) {
	const head = "POST /v1/approvals HTTP/1.1\r\nHost: desk\r\nContent-Length: 9\r\n\r\n"
	raw := func(text string) func(net.Conn) {
		return func(c net.Conn) {
			go func() { _, _ = io.WriteString(c, text) }()
			_, _ = io.Copy(io.Discard, c)
		}
	}
	secure := func(text string) func(net.Conn) {
		return func(c net.Conn) { raw(text)(tls.Client(c, &tls.Config{InsecureSkipVerify: true})) }
	}
	for name, hold := range map[string]struct {
		with  func(net.Conn)
		until time.Duration
	}{
		"nothing":                {raw(""), headerTime},
		"one byte":               {raw("\x16"), headerTime},
		"half a record":          {raw("\x16\x03\x01\x02\x00\x01"), headerTime},
		"a record and no end":    {raw("\x16\x03\x01\x00\x05\x01\x00\x40\x00\x03"), headerTime},
		"no record":              {raw("\x16POST / HTTP/1.1\r\n\r\n"), headerTime},
		"a handshake":            {secure(""), headerTime},
		"half a head":            {secure(head[:20]), headerTime},
		"no body":                {secure(head), connection.AnonymousTime},
		"a hello, and deaf":      {func(c net.Conn) { _ = tls.Client(&deaf{c}, &tls.Config{InsecureSkipVerify: true}).Handshake() }, connection.AnonymousTime},
		"health, and nothing":    {secure(healthRequest), connection.AnonymousTime},
		"plain, and half a head": {raw(head[:20]), headerTime},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t)
				srv, _ := d.withOwn()
				l := d.piped(srv)
				for i := range 2 * connection.MaxPerAddress {
					c := l.dial(fmt.Sprintf("10.0.0.%d", i%3))
					go hold.with(c)
				}
				res, _ := l.ask(t, "10.0.0.1", healthRequest)
				require.Equal(t, http.StatusOK, res.StatusCode)
				time.Sleep(hold.until + time.Second) // on the bubble's clock
				synctest.Wait()
				require.Zero(t, l.open.Load())
				time.Sleep(2 * connection.AnonymousTime) // the deaf ones end
			})
		})
	}
}

// deaf sends, and reads nothing.
type deaf struct{ net.Conn }

// Read implements net.Conn.
func (d *deaf) Read([]byte) (int, error) {
	time.Sleep(2 * connection.AnonymousTime) // on the bubble's clock
	return 0, io.EOF
}

// One who has authenticated over TLS is no anonymous connection, and is noticed when they go.
func TestTLSBesideHTTP_WaitsAndHangsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		srv, key := d.withOwn()
		l := d.piped(srv)
		c := tls.Client(l.dial("192.0.2.1"), pinning(key))
		answered := atomic.Bool{}
		go func() {
			go func() { _, _ = io.WriteString(c, creation("wait=60s", "w")) }()
			if res, err := http.ReadResponse(bufio.NewReader(c), nil); err == nil {
				answered.Store(res.StatusCode == http.StatusCreated)
			}
		}()
		time.Sleep(maxWait - time.Second)
		require.EqualValues(t, 1, l.open.Load())
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.True(t, answered.Load())
		go c.Close()
		synctest.Wait()
		require.Zero(t, l.open.Load())
	})
}
