package push

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/people"
	"approvalbot/internal/signin"
	"approvalbot/internal/store"
	"approvalbot/routing"
)

// browser is one with a subscription: it can read what is sealed for it.
type browser struct {
	private *ecdh.PrivateKey
	auth    []byte
}

func newBrowser(t *testing.T) browser {
	t.Helper()
	private, err := ecdh.P256().GenerateKey(rand.Reader)
	require.NoError(t, err)
	auth := make([]byte, 16)
	_, _ = rand.Read(auth)
	return browser{private, auth}
}

func (b browser) subscription(endpoint string) signin.PushSubscription {
	return signin.PushSubscription{Endpoint: endpoint, P256dh: base64.RawURLEncoding.EncodeToString(b.private.PublicKey().Bytes()),
		Auth: base64.RawURLEncoding.EncodeToString(b.auth), Browser: "Firefox"}
}

// open reads a message as RFC 8291 and RFC 8188 say, from the standard library alone.
func (b browser) open(t *testing.T, body []byte) string {
	t.Helper()
	salt, idLength := body[:16], int(body[20])
	theirs, sealed := body[21:21+idLength], body[21+idLength:]
	key, err := ecdh.P256().NewPublicKey(theirs)
	require.NoError(t, err)
	secret, err := b.private.ECDH(key)
	require.NoError(t, err)
	derive := func(secret, salt []byte, info string, n int) []byte {
		out, err := hkdf.Key(sha256.New, secret, salt, info, n)
		require.NoError(t, err)
		return out
	}
	ikm := derive(secret, b.auth, "WebPush: info\x00"+string(b.private.PublicKey().Bytes())+string(theirs), 32)
	block, err := aes.NewCipher(derive(ikm, salt, "Content-Encoding: aes128gcm\x00", 16))
	require.NoError(t, err)
	box, err := cipher.NewGCM(block)
	require.NoError(t, err)
	text, err := box.Open(nil, derive(ikm, salt, "Content-Encoding: nonce\x00", 12), sealed, nil)
	require.NoError(t, err)
	message, ended := strings.CutSuffix(strings.TrimRight(string(text), "\x00"), "\x02")
	require.True(t, ended, "the last record ends with 2")
	return message
}

// verified gives the claims of a VAPID header (RFC 8292) and the key that signed them.
func verified(t *testing.T, header string) (claims map[string]any, public string) {
	t.Helper()
	token, key, ok := strings.Cut(strings.TrimPrefix(header, "vapid t="), ", k=")
	require.True(t, ok, header)
	point, err := base64.RawURLEncoding.DecodeString(key)
	require.NoError(t, err)
	signed, signature, _ := cutLast(token, ".")
	raw, err := base64.RawURLEncoding.DecodeString(signature)
	require.NoError(t, err)
	require.Len(t, raw, 64)
	digest := sha256.Sum256([]byte(signed))
	signer, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	require.NoError(t, err)
	require.True(t, ecdsa.Verify(signer, digest[:], new(big.Int).SetBytes(raw[:32]), new(big.Int).SetBytes(raw[32:])))
	_, payload, _ := strings.Cut(signed, ".")
	text, err := base64.RawURLEncoding.DecodeString(payload)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &claims))
	return claims, key
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	return s[:max(i, 0)], s[i+1:], i >= 0
}

// service is a push service on this machine.
type service struct {
	*httptest.Server
	answers chan int // of the next requests; 201 when there are none
	got     chan received
}

type received struct {
	header http.Header
	path   string
	body   []byte
}

func newService(t *testing.T) *service {
	s := &service{answers: make(chan int, 9), got: make(chan received, 9)}
	s.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		status := http.StatusCreated
		select {
		case status = <-s.answers:
		default:
		}
		w.Header().Set("Retry-After", "7")
		w.Header().Set("Location", s.URL+"/elsewhere")
		w.WriteHeader(status)
		s.got <- received{r.Header, r.URL.Path, body}
	}))
	t.Cleanup(s.Close)
	return s
}

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

// config is that of a channel that may reach the service, with one subscription.
func (s *service) config(t *testing.T, sub signin.PushSubscription) Config {
	t.Helper()
	key, _, err := OpenKey(filepath.Join(t.TempDir(), "vapid.key"))
	require.NoError(t, err)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return Config{Key: key, Subject: "https://desk.example", Allow: loopback, Trust: &tls.Config{RootCAs: roots},
		Subscription: func(context.Context, string) (signin.PushSubscription, error) { return sub, nil },
		Drop:         func(context.Context, string, string) error { return errors.New("nothing is to be removed") }}
}

// From the ask to the browser: through the gate, the store, the dispatcher and a push service.
func TestABrowserIsNotified(t *testing.T) {
	t.Parallel()
	s, b := newService(t), newBrowser(t)
	d := newDesk(t)
	who := signin.Session{Person: "alice"}
	require.NoError(t, d.signin.Subscribe(t.Context(), who, b.subscription(s.URL+"/sub/1")))
	cfg := s.config(t, signin.PushSubscription{})
	cfg.Subscription, cfg.Drop = d.store.Push, d.store.DropPush
	d.dispatch(t, New(cfg))

	a := d.ask(t, "deploy")
	got := <-s.got
	require.Equal(t, "/sub/1", got.path)
	require.Equal(t, "aes128gcm", got.header.Get("Content-Encoding"))
	require.NotEmpty(t, got.header.Get("TTL"))
	require.JSONEq(t, `{"code":"`+a.Code+`","risk":"R2","tool":"deploy"}`, b.open(t, got.body))
	require.NotContains(t, string(got.body), a.Code)
	claims, public := verified(t, got.header.Get("Authorization"))
	require.Equal(t, cfg.Key.Public, public)
	require.Equal(t, s.URL, claims["aud"])
	require.Equal(t, "https://desk.example", claims["sub"])
	require.LessOrEqual(t, claims["exp"], float64(time.Now().Add(24*time.Hour).Unix()))

	// The browser has thrown its subscription away: it is removed, and asked no more.
	s.answers <- http.StatusGone
	d.ask(t, "destroy")
	<-s.got
	require.Eventually(t, func() bool {
		left, err := d.signin.Subscriptions(t.Context(), who)
		return err == nil && len(left) == 0
	}, time.Minute, time.Millisecond)
}

// What each answer of a push service means.
func TestAnswersOfAPushService(t *testing.T) {
	t.Parallel()
	s := newService(t)
	cfg := s.config(t, newBrowser(t).subscription(s.URL+"/sub"))
	var dropped []string
	cfg.Drop = func(_ context.Context, person, id string) error { dropped = append(dropped, person+id); return nil }
	post := func() (*core.DeliveryError, error) {
		_, err := New(cfg).Post(t.Context(), approval.Target{Channel: core.PushChannel, To: "1"}, core.Posting{Text: "{}", Nonce: "n"})
		<-s.got
		var refusal *core.DeliveryError
		errors.As(err, &refusal)
		return refusal, err
	}
	for status, check := range map[int]func(*core.DeliveryError, error){
		201: func(_ *core.DeliveryError, err error) { require.NoError(t, err) },
		202: func(_ *core.DeliveryError, err error) { require.NoError(t, err) },
		404: func(d *core.DeliveryError, _ error) { require.True(t, d.Gone) },
		410: func(d *core.DeliveryError, _ error) { require.True(t, d.Gone) },
		429: func(d *core.DeliveryError, _ error) { require.Equal(t, 7*time.Second, d.RetryAfter) },
		403: func(d *core.DeliveryError, _ error) { require.True(t, d.Refused) },
		307: func(d *core.DeliveryError, _ error) { require.True(t, d.Refused, "it is not followed") },
		503: func(d *core.DeliveryError, err error) { require.Nil(t, d); require.ErrorIs(t, err, core.ErrPlatform) },
	} {
		dropped = nil
		s.answers <- status
		check(post())
		require.Equal(t, status == 404 || status == 410, len(dropped) == 1, status)
	}
}

// An endpoint of a browser's choice never leads into the operator's network, nor over http,
// and no error says where it leads.
func TestAdversary_N1_PushIntoTheOwnNetwork(t *testing.T) {
	t.Parallel()
	s := newService(t)
	_, port, _ := strings.Cut(strings.TrimPrefix(s.URL, "https://"), ":")
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0"} {
		cfg := s.config(t, newBrowser(t).subscription("https://"+host+":"+port+"/s3cret"))
		cfg.Allow = nil
		_, err := New(cfg).Post(t.Context(), approval.Target{To: "1"}, core.Posting{Text: "{}"})
		var refusal *core.DeliveryError
		require.ErrorAs(t, err, &refusal, host)
		require.True(t, refusal.Gone, host)
		require.NotContains(t, err.Error(), "s3cret")
	}
	plainHTTP := s.config(t, newBrowser(t).subscription("http://127.0.0.1:"+port+"/"))
	_, err := New(plainHTTP).Post(t.Context(), approval.Target{To: "1"}, core.Posting{Text: "{}"})
	require.ErrorContains(t, err, "https")
	require.Empty(t, s.got)
	s.Close()
	_, err = New(s.config(t, newBrowser(t).subscription(s.URL+"/s3cret"))).Post(t.Context(), approval.Target{To: "1"}, core.Posting{Text: "{}"})
	require.EqualError(t, err, "the push service could not be reached")
}

func TestTheKeyFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "vapid.key")
	first, made, err := OpenKey(file)
	require.NoError(t, err)
	require.True(t, made)
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	again, made, err := OpenKey(file)
	require.NoError(t, err)
	require.False(t, made)
	require.Equal(t, first, again)
	point, err := base64.RawURLEncoding.DecodeString(first.Public)
	require.NoError(t, err)
	require.Len(t, point, 65)
	require.NotContains(t, fmt.Sprintf("%v %+v %#v", first, Config{Key: first}, first), first.private)

	require.NoError(t, os.Chmod(file, 0o640))
	_, _, err = OpenKey(file)
	require.ErrorContains(t, err, "chmod 600")
	for _, text := range []string{"", "not a key", base64.RawURLEncoding.EncodeToString(make([]byte, 32))} {
		bad := filepath.Join(t.TempDir(), "bad")
		require.NoError(t, os.WriteFile(bad, []byte(text), 0o600))
		_, _, err = OpenKey(bad)
		require.ErrorContains(t, err, "remove it")
	}
	_, _, err = OpenKey(filepath.Join(t.TempDir(), "nowhere", "k"))
	require.ErrorContains(t, err, "cannot be made")
}

// desk is a gate on a store in memory, where alice decides everything.
type desk struct {
	gate   *core.Gate
	signin *signin.Door
	store  *store.Store
	wake   func(core.Change)
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{URL: "sqlite::memory:"})
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- s.Run(context.Background()) }()
	t.Cleanup(func() { require.NoError(t, s.Close()); require.NoError(t, <-ended) })
	people, err := people.NewDirectory(people.Rights{People: []people.Person{{Name: "alice"}}, Tokens: map[string]string{"laptop": "alice"}})
	require.NoError(t, err)
	d := &desk{store: s}
	d.gate = core.NewGate(s.CoreStores(), core.Rules{Enabled: true, Push: true, Policy: askAll{}, People: people, Router: &routing.Table{},
		TimeoutMs: 900_000, MaxTimeoutMs: 900_000}, slog.New(slog.DiscardHandler), func(c core.Change) { d.wake(c) })
	d.signin = signin.New(s.SignInStores(), d.gate)
	return d
}

func (d *desk) dispatch(t *testing.T, c core.Channel) {
	out := routing.NewDispatcher(core.PushChannel, c, d.store, d.gate, func() *routing.Table { return &routing.Table{} }, func() {}, slog.New(slog.DiscardHandler))
	d.wake = func(c core.Change) { out.WakeFor(c.Approval.Deliveries) }
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- out.Run(ctx) }()
	t.Cleanup(func() { stop(); require.NoError(t, <-ended) })
}

func (d *desk) ask(t *testing.T, tool string) approval.Approval {
	t.Helper()
	a, _, err := d.gate.Submit(t.Context(), core.Caller{Token: "agent", MayRequest: true}, approval.Call{ToolName: tool, Params: []byte(`{}`)})
	require.NoError(t, err)
	require.Equal(t, approval.Pending, a.Status)
	return a
}

// askAll is a policy that asks for everything.
type askAll struct{ core.Policy }

func (askAll) Judge(context.Context, approval.Call) approval.Judgement {
	return approval.Judgement{Outcome: approval.OutcomeAsk, Assessment: approval.Assessment{RiskClass: approval.R2, Source: "static"},
		Rule:   approval.Rule{Allowed: []approval.Factor{approval.UserRequest}, Effective: []approval.Factor{approval.UserRequest}, MinApprovals: 1},
		Offers: []approval.Decision{approval.AllowOnce, approval.Deny}}
}

func (p askAll) JudgeWith(ctx context.Context, c approval.Call, _ approval.Opinion) approval.Judgement {
	return p.Judge(ctx, c)
}

func (askAll) Permits(approval.Call) (string, bool) { return "", true }

func (askAll) Hash() string { return "1" }
