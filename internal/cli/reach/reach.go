// Package reach is the way to the desk that a client file names, and to no other program that
// answers in its place: by its socket, its keys or its certificate.
package reach

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"approvalbot/api"
	"approvalbot/internal/approval"
	"approvalbot/internal/config"
	"approvalbot/internal/display"
	"approvalbot/proof"
)

// dialTime bounds one connection to a desk, its handshake included.
const dialTime = 10 * time.Second

// Connect makes the client of the client file at path, as every program of ours speaks to
// its desk. If the file says how to recognize its desk, the token is sent to that desk
// only: over its Unix socket, else by TLS with one of its keys, or as a public https
// name. A claim that it answers is checked by those keys, too. base is the transport that
// is used; nil means [http.DefaultTransport].
func Connect(file config.ClientFile, path string, base *http.Transport) (*api.Client, error) {
	d, err := newDesk(file, path, base)
	if err != nil {
		return nil, err
	}
	c := &api.Client{Server: d.server.String(), Token: string(file.Token), HTTP: httpClient(d.transport(d.dialTCP))}
	if len(d.keys) > 0 {
		c.Believe = d.believe
	}
	return c, nil
}

// httpClient follows no redirects: the token is for the server that was named.
func httpClient(t *http.Transport) *http.Client {
	return &http.Client{Transport: t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// desk is one client file's way to its desk.
type desk struct {
	file   config.ClientFile
	path   string // of the file
	server *url.URL
	base   *http.Transport

	mu   sync.Mutex
	keys []proof.DeskKey // the file's, or those that they led to
}

func newDesk(file config.ClientFile, path string, base *http.Transport) (*desk, error) {
	if base == nil {
		base = http.DefaultTransport.(*http.Transport)
	}
	d := &desk{file: file, path: path, base: base}
	var err error
	d.server, err = url.Parse(strings.TrimRight(cmp.Or(file.Server, config.DefaultServer), "/"))
	if err != nil || d.server.Host == "" || d.server.Scheme != "http" && d.server.Scheme != "https" {
		return nil, fmt.Errorf("%s: server must be an http or https URL, such as %s", path, config.DefaultServer)
	}
	for _, k := range file.DeskKeys {
		d.keys = append(d.keys, proof.DeskKey(k))
	}
	if len(d.keys) > 0 {
		if _, err := proof.Pins(d.keys); err != nil {
			return nil, fmt.Errorf("%s: deskKeys: %w; %s", path, err, d.renew())
		}
	}
	return d, nil
}

// renew is the remedy if the file's data about the desk is wrong.
func (d *desk) renew() string {
	return "if the desk was given other keys, or the token another name, write them with: " + TrustLine(d.path)
}

// TrustLine is the command that writes the desk's keys into the client file at path.
func TrustLine(path string) string {
	return "approvalbot admin keys trust --client " + display.ShellPath(path)
}

// transport reaches the desk by its socket, else by dial.
func (d *desk) transport(dial func(ctx context.Context, network, addr string) (net.Conn, error)) *http.Transport {
	t := d.base.Clone()
	if !d.file.KnowsDesk() || d.file.Socket == "" && d.ordinary() {
		return t
	}
	way := func(ctx context.Context, network, addr string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, dialTime)
		defer cancel()
		conn, missing := DialSocket(ctx, d.file.Socket)
		if missing == nil {
			return conn, nil
		}
		if len(d.file.DeskKeys) == 0 {
			return nil, fmt.Errorf("%w, and %s has no deskKeys, by which the desk could be recognised without the "+
				"socket; start the desk, then run: %s", missing, d.path, TrustLine(d.path))
		}
		return dial(ctx, network, addr)
	}
	t.Proxy, t.DialContext, t.DialTLSContext = nil, way, way
	return t
}

// ordinary reports whether the server is known by its name's certificate alone.
func (d *desk) ordinary() bool {
	host := d.server.Hostname()
	return d.server.Scheme == "https" && strings.Contains(host, ".") && net.ParseIP(host) == nil &&
		!strings.HasSuffix(host, ".localhost")
}

// dialTCP connects to the server, and only to the desk: by a pinned key, or for an https
// server by its name's certificate.
func (d *desk) dialTCP(ctx context.Context, network, addr string) (net.Conn, error) {
	if d.server.Scheme == "http" && d.file.PlainTCP {
		return d.base.DialContext(ctx, network, addr)
	}
	var leaf []byte
	named := errors.New("its key is not one of the deskKeys of " + d.path)
	conn, err := d.dialTLS(ctx, network, addr, func(s tls.ConnectionState) error {
		leaf = keyOf(s.PeerCertificates[0])
		if d.server.Scheme == "https" {
			named = ordinaryCertificate(s.PeerCertificates, d.server.Hostname())
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if named == nil || d.pinned(leaf) || d.follow(ctx) && d.pinned(leaf) {
		return conn, nil
	}
	return nil, errors.Join(fmt.Errorf("the program at %s is %w as the desk: %w; no request was sent to it; %s",
		d.server.Host, api.ErrNotBelieved, named, d.renew()), conn.Close())
}

// dialTLS connects by TLS, and leaves the check of the key to look.
func (d *desk) dialTLS(
	ctx context.Context, network, addr string, look func(tls.ConnectionState) error,
) (net.Conn, error) {
	raw, err := d.base.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	conn := tls.Client(raw, &tls.Config{ServerName: d.server.Hostname(), MinVersion: tls.VersionTLS12,
		InsecureSkipVerify: true, VerifyConnection: look})
	if err := conn.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		if brokeOff(err) {
			return nil, fmt.Errorf("the TLS handshake broke off: %w", err)
		}
		return nil, fmt.Errorf("the program at %s is %w as the desk: it does not have the "+
			"desk's keys (%w); no request was sent "+
			"to it; a desk behind a proxy on this machine needs plainTCP: true in %s", d.server.Host,
			api.ErrNotBelieved, err, d.path)
	}
	return conn, nil
}

// brokeOff reports whether a handshake failed as any connection may, as while a desk
// stops: the next one may succeed.
func brokeOff(err error) bool {
	var at *net.OpError
	network := errors.As(err, &at) && (at.Op == "read" || at.Op == "write")
	return network || errors.Is(err, io.EOF) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, context.Canceled)
}

// keyOf is the Ed25519 key of a certificate; nil if it has another kind. TLS has proved
// that the other side has the key.
func keyOf(c *x509.Certificate) []byte {
	key, _ := c.PublicKey.(ed25519.PublicKey)
	return key
}

func ordinaryCertificate(chain []*x509.Certificate, host string) error {
	between := x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	_, err := chain[0].Verify(x509.VerifyOptions{DNSName: host, Intermediates: between})
	return err
}

func (d *desk) pinned(key []byte) bool {
	for _, pin := range d.pins() {
		if len(key) > 0 && bytes.Equal(pin, key) {
			return true
		}
	}
	return false
}

func (d *desk) pins() []ed25519.PublicKey {
	d.mu.Lock()
	defer d.mu.Unlock()
	pins, err := proof.Pins(d.keys)
	if err != nil {
		return nil
	}
	return pins
}

// follow asks what answers, without the token, for the keys that have followed the pinned
// ones, and reports whether there are any. Each is signed by the one before it, so that it
// does not matter who says so.
func (d *desk) follow(ctx context.Context) bool {
	told, err := d.published(ctx)
	if err != nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	next, err := proof.Follow(d.keys, told.Successions)
	if err != nil || sameKeys(next, d.keys) {
		return false
	}
	d.keys = next
	return true
}

func sameKeys(a, b []proof.DeskKey) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// published asks what answers for its keys, without the token. By TLS anything may answer;
// a public https name is known by its certificate.
func (d *desk) published(ctx context.Context) (api.DeskKeys, error) {
	unknown := d.transport(func(ctx context.Context, network, addr string) (net.Conn, error) {
		if d.server.Scheme == "http" && d.file.PlainTCP {
			return d.base.DialContext(ctx, network, addr)
		}
		return d.dialTLS(ctx, network, addr, nil)
	})
	defer unknown.CloseIdleConnections()
	return (&api.Client{Server: d.server.String(), HTTP: httpClient(unknown)}).DeskKeys(ctx)
}

// believe checks that a claim is the desk's allow of exactly that call: the receipt is for
// what was asked, and what was handed out is the same.
func (d *desk) believe(ctx context.Context, asked api.Asked, claim api.Claim) error {
	want := proof.Asked{ToolName: asked.ToolName, Params: asked.Params, Bind: (*approval.Bind)(asked.Bind),
		ClaimID: asked.ClaimID, Owner: d.file.Owner, Confined: (*approval.Confined)(claim.Confined)}
	for _, n := range claim.Notes {
		want.Notes = append(want.Notes, approval.Note(n))
	}
	err := proof.Believe(claim.Receipt, d.pins(), want, time.Now())
	if err != nil && d.follow(ctx) {
		err = proof.Believe(claim.Receipt, d.pins(), want, time.Now())
	}
	if err != nil {
		return fmt.Errorf("%w; %s", err, d.renew())
	}
	is, err := proof.Fingerprint(claim.ToolName, claim.Params, (*approval.Bind)(claim.Bind))
	if err != nil {
		return err
	}
	should, err := proof.Fingerprint(want.ToolName, want.Params, want.Bind)
	if err == nil && (is != should || claim.Fingerprint != is) {
		err = errors.New("the desk handed out a different call from the one that was asked for")
	}
	return err
}

// DialSocket connects to a desk's Unix socket, if only this user and root could have put
// it there.
func DialSocket(ctx context.Context, path string) (net.Conn, error) {
	if err := safeSocket(path); err != nil {
		return nil, err
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("no desk answers at the socket %s: %w", path, err)
	}
	if uid, known := peerOf(conn); known && !mine(uid) {
		return nil, errors.Join(fmt.Errorf("another user answers at the socket %s", path), conn.Close())
	}
	return conn, nil
}

func safeSocket(path string) error {
	if path == "" {
		return errors.New("there is no socket")
	}
	info, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("there is no socket: %w", err)
	}
	dir, err := os.Stat(filepath.Dir(path))
	const others = fs.FileMode(0o022)
	switch {
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s is not a socket", path)
	case !mine(config.OwnerOf(info)) || !mine(config.OwnerOf(dir)):
		return fmt.Errorf("the socket %s, or its directory, belongs to another user", path)
	case dir.Mode()&others != 0 && dir.Mode()&fs.ModeSticky == 0:
		return fmt.Errorf("other users can write into the directory of the socket %s, and "+
			"could put a socket of their own there", path)
	}
	return nil
}

// mine reports whether a user is this one or root. It is true if files have no owner.
func mine(uid int) bool { return uid == os.Geteuid() || uid == 0 || uid == -1 }
