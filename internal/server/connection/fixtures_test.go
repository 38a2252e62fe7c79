package connection

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// pipes is a listener without a network, for bubbles of synctest.
type pipes struct {
	net.Listener
	accept chan net.Conn
	open   atomic.Int64 // connections that the server has not closed
}

func newPipes() *pipes { return &pipes{accept: make(chan net.Conn)} }

// Accept implements net.Listener.
func (p *pipes) Accept() (net.Conn, error) { return <-p.accept, nil }

// dial connects from an address.
func (p *pipes) dial(from string) {
	here, _ := net.Pipe()
	p.open.Add(1)
	p.accept <- &pipe{Conn: here, from: &net.TCPAddr{IP: net.ParseIP(from), Port: 1}, of: p}
}

// pipe is the server's end.
type pipe struct {
	net.Conn
	from net.Addr
	of   *pipes
	once sync.Once
}

// RemoteAddr implements net.Conn.
func (p *pipe) RemoteAddr() net.Addr { return p.from }

// Close implements net.Conn.
func (p *pipe) Close() error {
	p.once.Do(func() { p.of.open.Add(-1) })
	return p.Conn.Close()
}

func selfSigned(t *testing.T) (cert, key string) {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}, &x509.Certificate{SerialNumber: big.NewInt(1)}, k.Public(), k)
	require.NoError(t, err)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(k)
	require.NoError(t, err)
	cert, key = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	require.NoError(t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	require.NoError(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}), 0o600))
	return cert, key
}
