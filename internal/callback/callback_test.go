package callback

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

var local = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

// owner makes a channel whose one approval is called back at that address.
func owner(address string, change ...func(*Config, *Owner)) *Channel {
	o := Owner{Secret: "secret-0123456789", Allow: local}
	cfg := Config{
		Approval: func(context.Context, string) (approval.Approval, error) {
			return approval.Approval{
				Names: approval.Names{Key: "k1", Owner: "agent"},
				Asked: approval.Asked{CallbackURL: address},
			}, nil
		},
		Body: func(context.Context, approval.Approval) ([]byte, error) {
			return []byte(`{"id":"k1","status":"approved"}`), nil
		},
	}
	for _, f := range change {
		f(&cfg, &o)
	}
	cfg.Owner = func(name string) (Owner, bool) { return o, name == "agent" }
	return New(cfg)
}

func post(t *testing.T, c *Channel, since time.Time) *core.DeliveryError {
	t.Helper()
	_, err := c.Post(t.Context(), approval.Target{Channel: approval.CallbackChannel, To: "k1"}, core.Posting{Nonce: "n1", SinceMs: since.UnixMilli()})
	if err == nil {
		return nil
	}
	var told *core.DeliveryError
	require.True(t, errors.As(err, &told), "%v", err)
	return told
}

func TestTheOwnerGetsTheApprovalSigned(t *testing.T) {
	var got *http.Request
	var body []byte
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		w.WriteHeader(http.StatusAccepted)
	}))
	defer srv.Close()
	require.Nil(t, post(t, owner(srv.URL+"/done?job=7"), time.Now()))
	require.Equal(t, "/done?job=7", got.URL.String())
	require.JSONEq(t, `{"id":"k1","status":"approved"}`, string(body))
	require.Equal(t, "n1", got.Header.Get("X-Approvalbot-Delivery"))

	stamp, _, ok := strings.Cut(strings.TrimPrefix(got.Header.Get(SignatureHeader), "t="), ",")
	require.True(t, ok)
	require.NotEmpty(t, stamp)
	require.NotEqual(t, Sign("x", time.Unix(1790000000, 0), body), Sign("y", time.Unix(1790000000, 0), body))
	require.NotEqual(t, Sign("x", time.Unix(1790000000, 0), body), Sign("x", time.Unix(1790000001, 0), body))
}

// The signature is plain HMAC-SHA-256 of "t.body", checked against a value that
// another implementation computed.
func TestTheSignatureIsTheDocumentedOne(t *testing.T) {
	require.Equal(t, "t=1790000000,v1="+independent, Sign("callback-secret", time.Unix(1790000000, 0), []byte(`{"id":"a"}`)))
}

func TestWhatFailsIsTriedAgainLaterAndLater(t *testing.T) {
	answer := http.StatusInternalServerError
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(answer) }))
	defer srv.Close()
	c := owner(srv.URL)
	pause := func(age time.Duration) time.Duration { return post(t, c, time.Now().Add(-age)).RetryAfter }
	require.GreaterOrEqual(t, pause(0), firstPause)
	require.Less(t, pause(0), 2*firstPause)
	require.GreaterOrEqual(t, pause(time.Minute), 30*time.Second)
	require.LessOrEqual(t, pause(20*time.Hour), maxPause*5/4)
	last := post(t, c, time.Now().Add(-giveUp))
	require.True(t, last.Gone)
	require.Equal(t, "the owner answered 500", last.Message)
	for _, answer = range []int{301, 302, 307, 400, 404, 429} {
		told := post(t, c, time.Now())
		require.False(t, told.Gone)
		require.Positive(t, told.RetryAfter)
	}
	srv.Close()
	told := post(t, c, time.Now())
	require.Equal(t, "the owner could not be reached", told.Message, "nothing of the address is told")
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	reached := false
	inner := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer inner.Close()
	srv := httptest.NewServer(http.RedirectHandler(inner.URL, http.StatusTemporaryRedirect))
	defer srv.Close()
	require.NotNil(t, post(t, owner(srv.URL), time.Now()))
	require.False(t, reached)
}

// An address of the asker's choice never leads into the operator's network.
func TestPrivateAddressesAreRefused(t *testing.T) {
	reached := false
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer srv.Close()
	_, port, _ := strings.Cut(strings.TrimPrefix(srv.URL, "http://"), ":")
	closed := func(_ *Config, o *Owner) { o.Allow = nil }
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "127.1", "2130706433", "0x7f.1", "0.0.0.0", "[::]"} {
		told := post(t, owner("http://"+host+":"+port, closed), time.Now())
		require.NotNil(t, told, host)
		require.False(t, reached, host)
	}
	told := post(t, owner("http://127.0.0.1:"+port, closed), time.Now())
	require.True(t, told.Gone, "it is no passing failure")
	require.Contains(t, told.Message, "callbackAllow")
	for _, at := range []string{"10.0.0.1", "172.16.9.9", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.1.2.3", "198.18.0.1", "224.0.0.1", "255.255.255.255",
		"fe80::1", "fd00::1", "ff02::1", "::", "64:ff9b::a00:1", "2002:a00:1::", "::ffff:10.0.0.1", "2001:db8::1", "fec0::1", "::7f00:1", "3fff::1", "192.88.99.1"} {
		require.False(t, Reachable(netip.MustParseAddr(at), nil), at)
	}
	for _, at := range []string{"1.1.1.1", "93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c"} {
		require.True(t, Reachable(netip.MustParseAddr(at), nil), at)
	}
	require.True(t, Reachable(netip.MustParseAddr("10.1.2.3"), []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}))
	require.False(t, Reachable(netip.MustParseAddr("10.2.2.3"), []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}))
}

// However an IPv4 address is dressed up, it counts as itself.
func TestMappedAddressesCountAsTheirOwn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := netip.AddrFrom4([4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "address")))
		require.Equal(t, Reachable(at, nil), Reachable(netip.AddrFrom16(at.As16()), nil))
	})
}

func TestATokenWithoutASecretIsNotCalled(t *testing.T) {
	told := post(t, owner("http://127.0.0.1:1", func(_ *Config, o *Owner) { o.Secret = "" }), time.Now())
	require.True(t, told.Gone)
	told = post(t, owner("http://127.0.0.1:1", func(_ *Config, o *Owner) { o.Secure = true }), time.Now())
	require.True(t, told.Gone, "http in production")
}

// independent was computed with: printf '1790000000.{"id":"a"}' | openssl dgst -sha256 -hmac callback-secret
const independent = "7890e9ef8d76399e88232af730836081f2f01c7f9d55189a092a417ed3a2ee70"
