package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/fakechat"
	"approvalbot/internal/platform"
)

// Telegram sends its updates to an instance that does not look after the webhook:
// it stores them, and whoever does has them handled; also after a hand-over.
func TestCluster_AWebhookReachesAnyInstance(t *testing.T) {
	t.Parallel()
	at := ownAddr(t)
	a := newRig(t, onPostgres(t), func(r *rig) {
		r.options.AnyWebhook = true
		r.updates = fmt.Sprintf("{webhook: {url: %q, secret: s3cret}}", "http://"+at+platform.ByName("telegram").Path())
	})
	require.NoError(t, a.tg.WaitFor(a.ctx(), func() bool { return len(a.tg.Calls("setWebhook")) > 0 }))
	b := a.another(at)
	x := a.exec("git push origin main")
	require.Equal(t, "Allowed. It may run once, within 5 minutes.", a.tap(a.alice, a.group, a.card(x).ID, "Allow once").Text)
	require.EqualValues(t, "approved", a.final(x).Status)
	a.stop()
	y := b.exec("git push origin other")
	require.Equal(t, denied, b.tap(b.bob, b.group, b.card(y).ID, "Deny").Text)
	require.EqualValues(t, "denied", b.final(y).Status)
}

// Discord posts interactions to an instance that does not handle them.
func TestCluster_AnInteractionReachesAnyInstance(t *testing.T) {
	t.Parallel()
	a := newRig(t, onPostgres(t), withDiscord, onlyOps, byHTTP)
	b := a.another()
	require.NoError(t, a.dc.SetEndpoint(a.ctx(), b.url+platform.ByName("discord").Path()))
	dc := a.chatOn("discord")
	x := a.ask(`{"n":1}`)
	require.Equal(t, "Allowed. It may run once, within 5 minutes.", dc.tap("alice", dc.card(x).id, "Allow once"))
	require.EqualValues(t, "approved", b.final(x).Status)
	a.stop()
	y := b.ask(`{"n":2}`)
	dc = b.chatOn("discord")
	require.Equal(t, denied, dc.tap("bob", dc.card(y).id, "Deny"))
	require.EqualValues(t, "denied", b.final(y).Status)
}

// Who waits at one instance hears of a decision at another, though the connection
// on which that is told was just lost.
func TestCluster_ABrokenNotificationLosesNobody(t *testing.T) {
	t.Parallel()
	a := newRig(t, onPostgres(t))
	b := a.another()
	for i := range 3 {
		x := a.exec(fmt.Sprintf("git push origin b%d", i))
		waited := make(chan api.Approval, 2)
		for _, at := range []*rig{a, b} {
			go func() {
				got, err := at.agent().Get(at.ctx(), x.ID, time.Minute)
				if err != nil {
					t.Error(err)
				}
				waited <- got
			}()
		}
		a.card(x)
		cutSessions(t, a.database, "LISTEN")
		_, err := []*rig{a, b}[i%2].operator().Resolve(a.ctx(), x.Code, api.ResolveRequest{Decision: api.Deny})
		require.NoError(t, err)
		require.Equal(t, api.Denied, (<-waited).Status)
		require.Equal(t, api.Denied, (<-waited).Status)
	}
}

// Cards of one chat stand in the order in which they were asked for, wherever that
// was, and a pause that the platform asks for is everybody's.
func TestCluster_AChatHasOneOrderAndOnePace(t *testing.T) {
	t.Parallel()
	a := newRig(t, onPostgres(t))
	desks := []*rig{a, a.another(), a.another()}
	pause := a.tg.Fault(fakechat.TelegramFault{Method: "sendMessage", Kind: fakechat.TooManyRequests, RetryAfter: 2})
	const n = 24
	var codes []string
	for i := range n {
		x := desks[i%3].exec(fmt.Sprintf("git push origin b%d", i))
		codes = append(codes, x.Code)
	}
	require.NoError(t, a.tg.WaitFor(a.ctx(), func() bool { return len(a.group.FromBot()) >= n }))
	for i, m := range a.group.FromBot() {
		require.True(t, strings.Contains(m.Text, codes[i]), "card %d is not %s: %s", i, codes[i], m.Text)
	}
	require.Equal(t, 1, pause.Hits())
	calls := a.tg.Calls("sendMessage")
	require.Len(t, calls, n+1)
	require.False(t, calls[1].At.Before(calls[0].At.Add(2*time.Second)), "somebody posted during the pause")
}
