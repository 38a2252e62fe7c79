package core_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/schedule"
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

func (d *fixture) subscribe(t *testing.T, person, endpoint string) signin.PushSubscription {
	t.Helper()
	who := signin.Session{Person: person}
	require.NoError(t, d.door.Subscribe(t.Context(), who, subscription(endpoint)))
	all, err := d.door.Subscriptions(t.Context(), who)
	require.NoError(t, err)
	i := slices.IndexFunc(all, func(s signin.PushSubscription) bool { return s.Endpoint == endpoint })
	require.GreaterOrEqual(t, i, 0)
	return all[i]
}

// notified are the subscriptions that an approval's notifications go to.
func (d *fixture) notified(t *testing.T, a approval.Approval) (ids []string) {
	t.Helper()
	a, err := d.ByKey(t.Context(), a.Key)
	require.NoError(t, err)
	for _, m := range a.Deliveries {
		if m.Kind == approval.PushDelivery {
			ids = append(ids, m.Target.To)
		}
	}
	return ids
}

// Every subscribed browser of who could decide is told once, when it is asked: of an asker
// who may not, none, and none where notifications are off or nobody is asked.
func TestWhoIsNotified(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	one, two := d.subscribe(t, "alice", "https://p.example/1"), d.subscribe(t, "alice", "https://p.example/2")
	other := d.subscribe(t, "bob", "https://p.example/3")
	require.Empty(t, d.notified(t, d.submit(t, "ask")), "off")

	d.use(func(r *core.Rules) { r.Push = true })
	a := d.submit(t, "grave")
	require.ElementsMatch(t, []string{one.ID, two.ID, other.ID}, d.notified(t, a))
	require.Equal(t, a.Key, d.submit(t, "grave").Key)
	require.Len(t, d.notified(t, a), 3, "the same again tells nobody twice")
	require.Empty(t, d.notified(t, d.submit(t, "deny")))
	require.Empty(t, d.notified(t, d.submit(t, "allow")))

	own := d.submit(t, "ask", func(c *approval.Call) {
		c.SessionKey, c.Requester = "mine", &approval.Requester{Channel: "telegram", UserID: "1"}
	})
	require.Equal(t, []string{other.ID}, d.notified(t, own))
	require.NoError(t, d.door.Unsubscribe(t.Context(), signin.Session{Person: "alice"}, other.ID))
	require.NoError(t, d.door.Unsubscribe(t.Context(), signin.Session{Person: "alice"}, one.ID))
	require.ElementsMatch(t, []string{two.ID, other.ID}, d.notified(t, d.submit(t, "serious")))
}

// In a person's quiet hours a notification waits for their end, unless the class breaks them.
func TestNotificationsInQuietHours(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.subscribe(t, "alice", "https://p.example/1")
	start := time.Now().UTC().Add(-time.Hour)
	until := start.Add(8 * time.Hour)
	night, err := schedule.Once(start.Format(time.RFC3339), until.Format(time.RFC3339), "UTC")
	require.NoError(t, err)
	d.use(func(r *core.Rules) {
		r.Push, r.BreaksQuiet = true, approval.R4
		r.Contact.Quiet = map[string]schedule.Window{"alice": night}
	})
	due := func(tool string) int64 {
		a, err := d.ByKey(t.Context(), d.submit(t, tool).Key)
		require.NoError(t, err)
		require.Len(t, d.notified(t, a), 1)
		for _, m := range a.Deliveries {
			if m.Kind == approval.PushDelivery {
				return m.DueMs - a.CreatedAtMs
			}
		}
		return 0
	}
	require.Greater(t, due("serious"), int64(6*time.Hour/time.Millisecond))
	require.Less(t, due("grave"), int64(time.Hour/time.Millisecond))
}

// A flood of one owner's notifies nobody but of what is worst.
func TestNotificationsUnderAFlood(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.subscribe(t, "alice", "https://p.example/1")
	d.use(func(r *core.Rules) { r.Push, r.DigestAbove = true, 2 })
	next := func(tool, path string) int {
		return len(d.notified(t, d.submit(t, tool, func(c *approval.Call) { c.Params = json.RawMessage(`{"path":"` + path + `"}`) })))
	}
	require.Equal(t, 1, next("ask", "1"))
	require.Equal(t, 1, next("ask", "2"))
	require.Equal(t, 0, next("ask", "3"))
	require.Equal(t, 1, next("grave", "4"))
}

// A notification says the code, the class and the tool, and nothing once nobody is asked.
func TestWhatANotificationSays(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.subscribe(t, "alice", "https://p.example/1")
	d.use(func(r *core.Rules) { r.Push = true })
	a := d.submit(t, "ask", func(c *approval.Call) {
		c.Params = json.RawMessage(`{"path":"/etc/shadow"}`)
	})
	m := approval.Delivery{Key: a.Key, Kind: approval.PushDelivery}
	drawing, err := d.Draw(t.Context(), m)
	require.NoError(t, err)
	require.True(t, drawing.Done)
	require.JSONEq(t, `{"code":"`+a.Code+`","risk":"R2","tool":"ask"}`, drawing.Text)
	_, err = d.VoteAs(t.Context(), alice, a.Code, approval.Deny, "", "")
	require.NoError(t, err)
	drawing, err = d.Draw(t.Context(), m)
	require.NoError(t, err)
	require.NotEmpty(t, drawing.Skip)
}
