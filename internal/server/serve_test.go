package server

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/approval"
)

// serving runs Serve on a port of its own and gives its address, and a function
// that stops it and gives what Serve returned.
func (d *desk) serving(srv *Server) (addr string, stop func() error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(d.t, err)
	return d.servingOn(srv, l)
}

func (d *desk) servingOn(srv *Server, l net.Listener) (addr string, stop func() error) {
	srv.StopTime = time.Minute // a slow machine is nobody who hangs
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(ctx, l) }()
	stop = func() error { cancel(); err := <-ended; ended <- err; return err }
	d.t.Cleanup(func() { _ = stop() })
	return l.Addr().String(), stop
}

func TestServeAnswersWaitersWhenStopping(t *testing.T) {
	d := newDesk(t)
	addr, stop := d.serving(d.srv)
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer conn.Close()
	const body = `{"toolName":"ask","params":{}}`
	fmt.Fprintf(conn, "POST /v1/approvals?wait=60s HTTP/1.1\r\nHost: desk\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s",
		secretOf("agent"), len(body), body)
	d.untilWaiting()
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	defer res.Body.Close()
	require.Equal(t, http.StatusCreated, res.StatusCode)
	b, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Contains(t, string(b), `"status":"pending"`)
	require.NoError(t, <-stopped)
	_, err = net.Dial("tcp", addr)
	require.Error(t, err)
}

// untilWaiting returns when some request waits for an approval's end.
func (d *desk) untilWaiting() {
	d.untilMetrics("approvalbot_waiting_requests 1")
}

func (d *desk) untilMetrics(say string) {
	d.t.Helper()
	require.Eventually(d.t, func() bool {
		return strings.Contains(d.do("GET", "/metrics", "", "").text, say)
	}, time.Minute, time.Millisecond)
}

func TestServeHungUp(t *testing.T) {
	d := newDesk(t)
	addr, _ := d.serving(d.srv)
	ctx, hangUp := context.WithCancel(t.Context())
	client := &api.Client{Server: "http://" + addr, Token: secretOf("agent")}
	ended := make(chan error, 1)
	go func() {
		_, err := client.Create(ctx, request("ask", `{}`, func(r *api.CreateRequest) { r.ID = "w" }), api.CreateOptions{Wait: time.Minute, Claim: true})
		ended <- err
	}()
	d.untilWaiting()
	hangUp()
	require.ErrorIs(t, <-ended, context.Canceled)
	d.untilMetrics("approvalbot_waiting_requests 0")
	a, err := d.agent.Get(t.Context(), "w", 0)
	require.NoError(t, err)
	require.Equal(t, api.Pending, a.Status)
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

func TestServeTLS(t *testing.T) {
	cert, key := selfSigned(t)
	d := newDesk(t)
	_, err := New(Config{Gate: d.gate, CertFile: cert})
	require.ErrorContains(t, err, "keyFile")
	srv, err := New(Config{Gate: d.gate, Tokens: testTokens(), CertFile: cert, KeyFile: key})
	require.NoError(t, err)
	addr, stop := d.serving(srv)
	pem, err := os.ReadFile(cert)
	require.NoError(t, err)
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(pem))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	c := &api.Client{Server: "https://" + addr, Token: secretOf("agent"), HTTP: &http.Client{Transport: transport}}
	a, err := c.Create(t.Context(), request("read", `{}`), api.CreateOptions{})
	require.NoError(t, err)
	require.Equal(t, api.Approved, a.Status)
	require.NoError(t, stop())

	for want, files := range map[string][2]string{
		"server.tls: certFile cannot be read: no such file":                    {"gone.pem", key},
		"server.tls: keyFile cannot be read: no such file":                     {cert, "gone.pem"},
		"server.tls: certFile and keyFile do not belong together: tls: found ": {cert, cert},
	} {
		_, err = New(Config{Gate: d.gate, CertFile: files[0], KeyFile: files[1]})
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "gone.pem", "it may be a secret in a wrong place")
	}
}

// failing is a listener whose Accept fails in turn.
type failing struct {
	net.Listener
	errs []error
}

// Accept implements net.Listener.
func (f *failing) Accept() (net.Conn, error) {
	err := f.errs[0]
	f.errs = f.errs[1:]
	return nil, err
}

func TestServeFails(t *testing.T) {
	d := newDesk(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.ErrorContains(t, d.srv.Serve(t.Context(), &failing{Listener: l, errs: []error{errors.New("broken")}}), "broken")
	_, err = net.Dial("tcp", l.Addr().String())
	require.Error(t, err)
}

// Whoever hangs leaves the others their time to end well.
func TestStoppingHoldsNobodyBack(t *testing.T) {
	d := newDesk(t)
	rules, v := d.rules, hesitant{make(chan struct{}), make(chan struct{})}
	rules.Verifier = v
	d.gate.Use(rules)
	addr, stop := d.serving(d.srv)
	idle, slow := d.dial(addr), d.dial(addr)
	idle.say("GET", "/healthz", "")
	idle.hear("GET")
	slow.send(creation("wait=0s", "w"))
	<-v.asked
	go func() { _ = stop() }()
	_, err := idle.r.ReadByte()
	require.ErrorIs(t, err, io.EOF)
	close(v.free)
	res, _ := slow.hear("POST")
	require.Equal(t, http.StatusCreated, res.StatusCode)
	require.True(t, res.Close)
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

func TestHealth(t *testing.T) {
	d := newDesk(t)
	require.Equal(t, "ok\n", d.do("GET", "/healthz", "", "").text)
	require.Equal(t, 200, d.do("HEAD", "/healthz", "", "").StatusCode)
	require.Equal(t, 200, d.do("HEAD", "/v1/approvals", "agent", "").StatusCode)
	ready, err := d.nobody.Ready(t.Context())
	require.NoError(t, err)
	require.Equal(t, api.Ready{Ready: true, Store: "ok", Policy: "ok", Channels: map[string]api.Channel{}}, ready)

	state := api.Ready{Ready: true, Store: "ok", Policy: "ok", Channels: map[string]api.Channel{"telegram": {Detail: "409: another poller"}}}
	srv, err := New(Config{Gate: d.gate, Ready: func(context.Context) api.Ready { return state }})
	require.NoError(t, err)
	c := &api.Client{Server: "http://desk.test", HTTP: &http.Client{Transport: &inProcess{t: t, h: srv.Handler(), contract: contractOf(srv)}}}
	ready, err = c.Ready(t.Context())
	require.NoError(t, err)
	require.True(t, ready.Ready, "a chat that is down does not take the desk down")
	require.Equal(t, "409: another poller", ready.Channels["telegram"].Detail)
	state.Ready, state.Store = false, "the store does not answer"
	ready, err = c.Ready(t.Context())
	require.NoError(t, err)
	require.False(t, ready.Ready)
}

func TestFaults(t *testing.T) {
	d := newDesk(t)
	for _, path := range []string{"/", "/v1", "/v2/approvals", "/v1//approvals", "/v1/approvals/", "/v1/../v1/approvals", "/.well-known/other.json"} {
		require.Equal(t, "not_found", d.do("GET", path, "agent", "").problem(t).Code, path)
	}
	require.Equal(t, "GET, HEAD", d.do("POST", "/healthz", "", "").Header.Get("Allow"))
	require.Equal(t, "GET, HEAD, POST", d.do("DELETE", "/v1/approvals", "agent", "").Header.Get("Allow"))

	off := d.rules
	off.Enabled = false
	d.gate.Use(off)
	r := d.do("POST", "/v1/approvals", "agent", `{"toolName":"read","params":{}}`)
	require.Equal(t, http.StatusServiceUnavailable, r.StatusCode)
	require.Equal(t, "approvals_disabled", r.problem(t).Code)
	d.gate.Use(d.rules)

	require.NoError(t, d.store.Close())
	r = d.do("POST", "/v1/approvals", "agent", `{"toolName":"read","params":{"k":"v4lue"}}`)
	require.Equal(t, "unavailable", r.problem(t).Code)
	require.NotContains(t, r.text, "store")
	require.Contains(t, d.logs.String(), "could not answer a request")
	require.NotContains(t, d.logs.String(), "v4lue")
}

func TestMountAndPanic(t *testing.T) {
	d := newDesk(t)
	srv, err := New(Config{Gate: d.gate, Log: d.srv.log, Mount: map[string]http.Handler{
		"POST /telegram/webhook": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }),
		"/ui/":                   http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }),
		"/boom":                  http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(errors.New("boom")) }),
	}})
	require.NoError(t, err)
	d.agent.HTTP = &http.Client{Transport: &inProcess{t: t, h: srv.Handler(), contract: contractOf(srv)}}
	require.Equal(t, http.StatusTeapot, d.do("POST", "/telegram/webhook", "", "{}").StatusCode)
	require.Equal(t, http.StatusTeapot, d.do("GET", "/ui/", "", "").StatusCode)
	require.Equal(t, http.StatusNotFound, d.do("GET", "/ui//x", "", "").StatusCode)
	r := d.do("GET", "/boom", "", "")
	require.Equal(t, "unavailable", r.problem(t).Code)
	require.NotContains(t, r.text, "boom")
	require.Contains(t, d.logs.String(), `"panic":"boom"`)
}

func TestEveryCodeHasItsStatus(t *testing.T) {
	want := map[int][]approval.Code{
		400: {"malformed"}, 401: {"unauthorized"}, 403: {"forbidden", "not_an_approver", "self_approval", "step_up_required", "origin_not_allowed"},
		404: {"not_found"}, 405: {"method_not_allowed"},
		409: {"already_resolved", "not_claimable", "id_conflict", "ambiguous_id", "fingerprint_mismatch", "already_used", "decision_not_offered", "unseen_payload"},
		410: {"retry_data_gone"}, 413: {"payload_too_large"}, 422: {"invalid_request"}, 426: {"upgrade_required"}, 429: {"rate_limited"}, 503: {"unavailable", "approvals_disabled"},
	}
	n := 0
	for status, codes := range want {
		for _, c := range codes {
			require.Equal(t, status, problem(approval.Refuse(c, "x")).Status, c)
			n++
		}
	}
	require.Len(t, statusOf(), n)
}

// hesitant is a verifier that has an opinion only when it is let go.
type hesitant struct {
	asked chan struct{}
	free  chan struct{}
}

func (hesitant) Wants(approval.Call) approval.Verification { return approval.Verification{Asked: true} }

func (hesitant) Chats() []approval.VerifierPeople { return nil }

func (h hesitant) Verify(ctx context.Context, _ approval.Call, _ approval.RiskClass) approval.Verification {
	h.asked <- struct{}{}
	select {
	case <-ctx.Done():
	case <-h.free:
	}
	return approval.Verification{Asked: true}
}

// A caller that hangs up while others are asked gets nothing, and leaves nothing.
func TestGoneWhileOthersAreAsked(t *testing.T) {
	d := newDesk(t)
	rules, v := d.rules, hesitant{make(chan struct{}), make(chan struct{})}
	rules.Verifier = v
	d.gate.Use(rules)
	addr, _ := d.serving(d.srv)
	l := d.dial(addr)
	const body = `{"id":"w","toolName":"read","params":{}}`
	l.send(fmt.Sprintf("POST /v1/approvals?claim=1 HTTP/1.1\r\nHost: desk\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", secretOf("agent"), len(body), body))
	<-v.asked
	require.NoError(t, l.Close())
	time.AfterFunc(time.Minute, func() { close(v.free) }) // so that it fails, and does not hang
	const gone = `approvalbot_http_requests_total{method="POST",route="/v1/approvals",status="503"} 1`
	for !strings.Contains(d.do("GET", "/metrics", "", "").text, gone) {
		_, err := d.agent.Get(t.Context(), "w", 0)
		refusal(t, err, approval.CodeNotFound)
	}
}
