package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/cli/app"
)

// certificateUntil writes a TLS pair whose certificate ends then.
func certificateUntil(t *testing.T, dir string, until time.Time) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: until, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, k.Public(), k)
	require.NoError(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(k)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "desk.crt"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "desk.pem"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
}

// verb runs a command line of its own.
func verb(t *testing.T, args ...string) cliRun {
	t.Helper()
	var out, errs bytes.Buffer
	code := run(t.Context(), args, nil, nil, &out, &errs)
	return cliRun{code, out.String(), errs.String()}
}

// opening is the log of a desk that is stopped once it is open.
type opening struct {
	bytes.Buffer
	open func()
}

func (o *opening) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("the desk is open")) {
		o.open()
	}
	return o.Buffer.Write(p)
}

// What clients will not take of a certificate is said before they say it; only a pair
// that cannot be used is a mistake, since a renewed one is taken without a restart.
func TestCertificate_IsLookedAt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "desk.yaml")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, `server:
  listen: 127.0.0.1:0
  tls: {certFile: %[1]s/desk.crt, keyFile: %[1]s/desk.pem}
  tokens: [{name: laptop, token: abcdef0123456789, scopes: [operator.approvals], person: alice}]
people: [{name: alice}]
store: {url: "sqlite:%[1]s/desk.db", keyFile: "%[1]s/desk.key"}
approvals: {tools: {enabled: true}}
`, dir), 0o600))
	check := func() cliRun { return verb(t, "config", "check", "--config", file) }
	doctor := func() cliRun { return verb(t, "doctor", "--offline", "--config", file) }
	serve := func() cliRun { return verb(t, "serve", "--config", file) }

	const missing = "server.tls: certFile cannot be read: no such file or directory"
	got := check()
	require.Equal(t, app.ExitError, got.code)
	require.Equal(t, file+":3: "+missing+"\n", got.errors)
	got = doctor()
	require.Equal(t, app.ExitError, got.code)
	require.Contains(t, got.out, "FAIL  "+missing+" — the desk does not start with this\n")
	got = serve()
	require.Equal(t, app.ExitError, got.code)
	require.Contains(t, got.errors, "approvalbot: "+missing+"\n")
	require.NotContains(t, got.errors, "the desk is open")

	ended := time.Now().Add(-24 * time.Hour)
	certificateUntil(t, dir, ended)
	text := "server.tls: the certificate ended at " + ended.UTC().Format("2006-01-02 15:04 MST") + ", so clients refuse it"
	got = check()
	require.Zero(t, got.code, got.errors)
	require.Contains(t, got.out, "warning: "+file+":3: "+text+"; renew it; the desk takes the new one without a restart\n")
	got = doctor()
	require.Equal(t, app.ExitError, got.code)
	require.Contains(t, got.out, "FAIL  "+text+" — renew it; the desk takes the new one without a restart\n")

	ctx, stop := context.WithCancel(t.Context())
	var log opening
	log.open = stop
	require.Zero(t, run(ctx, []string{"serve", "--config", file}, nil, nil, io.Discard, &log), log.String())
	require.Contains(t, log.String(), `"level":"WARN","msg":"`+text)

	certificateUntil(t, dir, time.Now().Add(5*24*time.Hour))
	require.Contains(t, check().out, "server.tls: the certificate ends at ")
	got = doctor()
	require.Zero(t, got.code, got.out)
	require.Contains(t, got.out, "warn  server.tls: the certificate ends at ")
	certificateUntil(t, dir, time.Now().Add(90*24*time.Hour))
	require.NotContains(t, check().out, "server.tls")
	require.Contains(t, doctor().out, "ok    server.tls: the certificate is valid until ")
}
