package connection

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"sync/atomic"
	"time"
)

// recordTLS is the first byte of a TLS handshake, and of no HTTP request.
const recordTLS = 0x16

// ownYears is how long an own certificate is valid: its clients check its key alone.
const ownYears = 20

// OwnCertificate makes the self-signed certificate of a desk's own key, for this machine
// and for host, which is a name or an address.
func OwnCertificate(key crypto.Signer, host string, now time.Time) (*tls.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	c := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "approvalbot"},
		NotBefore: now.AddDate(-1, 0, 0), NotAfter: now.AddDate(ownYears, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true, DNSNames: []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	switch ip := net.ParseIP(host); {
	case ip == nil && host != "" && host != "localhost":
		c.DNSNames = append(c.DNSNames, host)
	case ip != nil && !ip.IsUnspecified() && !ip.IsLoopback():
		c.IPAddresses = append(c.IPAddresses, ip)
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// WithTLS has a limiter's connections speak plain HTTP or TLS 1.3 with that certificate,
// whichever the client begins with. The deadlines and limits of a connection hold for its
// first byte and for its handshake as for everything else that it reads.
func WithTLS(l *Limiter, own *tls.Certificate) net.Listener {
	return &eitherListener{l, &tls.Config{
		Certificates: []tls.Certificate{*own}, MinVersion: tls.VersionTLS13, NextProtos: []string{"http/1.1"},
		SessionTicketsDisabled: true, // each connection proves the key
	}}
}

type eitherListener struct {
	*Limiter
	config *tls.Config
}

// Accept implements net.Listener.
func (l *eitherListener) Accept() (net.Conn, error) {
	c, err := l.Limiter.Accept()
	if err != nil {
		return nil, err
	}
	return &either{conn: c.(*conn), config: l.config}, nil
}

// either is a connection that speaks TLS if its client began so.
type either struct {
	*conn
	config *tls.Config
	begun  bool // of the one who reads
	secure atomic.Pointer[tls.Conn]
}

// Read implements net.Conn.
func (e *either) Read(p []byte) (int, error) {
	if t := e.secure.Load(); t != nil {
		return t.Read(p)
	}
	n, err := e.conn.Read(p)
	if e.begun || n == 0 {
		return n, err
	}
	e.begun = true
	if p[0] != recordTLS {
		return n, err
	}
	t := tls.Server(&replayed{e.conn, bytes.NewReader(bytes.Clone(p[:n]))}, e.config)
	e.secure.Store(t)
	return t.Read(p)
}

// Write implements net.Conn.
func (e *either) Write(p []byte) (int, error) {
	if t := e.secure.Load(); t != nil {
		return t.Write(p)
	}
	return e.conn.Write(p)
}

// CloseWrite is what net/http does before it closes a connection to a client that still
// sends.
func (e *either) CloseWrite() error {
	if t := e.secure.Load(); t != nil {
		return t.CloseWrite()
	}
	return e.conn.CloseWrite()
}

// Close implements net.Conn.
func (e *either) Close() error {
	if t := e.secure.Load(); t != nil {
		return t.Close()
	}
	return e.conn.Close()
}

// replayed gives what was read of a connection once more, and then the rest.
type replayed struct {
	*conn
	first *bytes.Reader
}

// Read implements net.Conn.
func (r *replayed) Read(p []byte) (int, error) {
	if r.first.Len() > 0 {
		return r.first.Read(p)
	}
	return r.conn.Read(p)
}
