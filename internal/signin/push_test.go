package signin_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
	"approvalbot/internal/signin"
)

// goodKey is a point on P-256, and goodAuth sixteen bytes, in base64url.
const (
	goodKey  = "BNcRdreALRFXTkOOUHK1EtK2wtaz5Ry4YfYCA_0QTpQtUbVlUls0VJXg7A8u-Ts1XbjhazAkj7I99e8QcYP7DkM"
	goodAuth = "tBHItJI5svbpez7KI4CCXg"
)

func subscription(endpoint string) signin.PushSubscription {
	return signin.PushSubscription{Endpoint: endpoint, P256dh: goodKey, Auth: goodAuth, Browser: "Firefox"}
}

// What no browser says is no subscription.
func TestSubscriptionsAreChecked(t *testing.T) {
	t.Parallel()
	d := newRig(t)
	who := signin.Session{Person: "alice"}
	for name, c := range map[string]struct {
		who    signin.Session
		change func(*signin.PushSubscription)
		want   approval.Code
	}{
		"nobody":           {signin.Session{}, func(*signin.PushSubscription) {}, approval.CodeForbidden},
		"a removed person": {signin.Session{Person: "carol"}, func(*signin.PushSubscription) {}, approval.CodeForbidden},
		"not https":        {who, func(s *signin.PushSubscription) { s.Endpoint = "http://p.example/1" }, approval.CodeInvalidRequest},
		"no host":          {who, func(s *signin.PushSubscription) { s.Endpoint = "https:///1" }, approval.CodeInvalidRequest},
		"a password":       {who, func(s *signin.PushSubscription) { s.Endpoint = "https://a:b@p.example/1" }, approval.CodeInvalidRequest},
		"no point":         {who, func(s *signin.PushSubscription) { s.P256dh = goodAuth }, approval.CodeInvalidRequest},
		"a short secret":   {who, func(s *signin.PushSubscription) { s.Auth = "AAAA" }, approval.CodeInvalidRequest},
	} {
		s := subscription("https://p.example/1")
		c.change(&s)
		require.Equal(t, c.want, approval.CodeOf(d.Subscribe(t.Context(), c.who, s)), name)
	}
	require.Equal(t, approval.CodeForbidden, approval.CodeOf(d.Unsubscribe(t.Context(), signin.Session{}, "1")))
}
