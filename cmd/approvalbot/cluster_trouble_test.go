package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/fakechat"
)

// twoProcesses are two instances in processes of their own.
func twoProcesses(t *testing.T) *chaos {
	return newChaos(t, chaosPlan{chats: 2, desks: 2, seed: 1, settle: patient})
}

// askAt asks at an instance for a call that needs people.
func (c *chaos) askAt(p *process, id string, chat int) (a api.Approval) {
	c.t.Helper()
	c.persist(func() (err error) {
		a, err = p.client(agentSecret).Create(c.t.Context(), api.CreateRequest{ID: id, ToolName: "deploy", Params: fmt.Appendf(nil, `{"for":%q}`, id),
			Origin: &api.Target{Channel: "telegram", To: c.place(chat)}}, api.CreateOptions{})
		return err
	})
	require.Equal(c.t, api.Pending, a.Status)
	return a
}

// persist tries again while the desk says "unavailable", as programs are to: the database of a busy
// machine owes its answers for longer than the 1.5 s after which the desk stops waiting.
func (c *chaos) persist(try func() error) {
	c.t.Helper()
	var last error
	require.Eventually(c.t, func() bool {
		last = try()
		var p *api.Problem
		return !errors.As(last, &p) || p.Code != "unavailable"
	}, patient, 100*time.Millisecond)
	require.NoError(c.t, last)
}

func (c *chaos) place(chat int) string {
	return strconv.FormatInt(c.chats[chat].ID, 10)
}

// ends waits for the end of an approval at an instance, as a program does.
func (c *chaos) ends(p *process, a api.Approval) api.Approval {
	c.t.Helper()
	got, err := p.client(agentSecret).WaitFinal(c.t.Context(), a.ID)
	require.NoError(c.t, err)
	return got
}

// recorded waits until the desk knows where an approval's card is.
func (c *chaos) recorded(a api.Approval, p *process) (api.Approval, error) {
	for {
		got, err := p.client(operatorSecret).Get(c.t.Context(), a.Code, 0)
		if err != nil || len(got.Deliveries) > 0 && got.Deliveries[0].MessageID != "" {
			return got, err
		}
		time.Sleep(5 * time.Millisecond) // only paces the question
	}
}

// told waits for the answer to a tap.
func (c *chaos) told(tap *fakechat.TelegramTap) string {
	c.t.Helper()
	answer, err := tap.Answer(c.t.Context())
	require.NoError(c.t, err)
	return answer.Text
}

// The instance that takes updates in is killed: another has what was tapped
// meanwhile, and goes on with the chat. APPROVALBOT_TAKEOVERS=10 does it ten times and
// says how long each took.
func TestAdversary_P2_AnotherTakesOverFromTheDead(t *testing.T) {
	t.Parallel()
	c := twoProcesses(t)
	times, err := strconv.Atoi(cmp.Or(os.Getenv("APPROVALBOT_TAKEOVERS"), "1"))
	require.NoError(t, err)
	for i := range times {
		taker, others := receiver(t, t.Context(), c.desks)
		a := c.askAt(taker, fmt.Sprint("before-", i), 0)
		card, err := c.seen.card(t.Context(), a.Code)
		require.NoError(t, err)
		_, err = c.recorded(a, taker)
		require.NoError(t, err)
		taker.end(syscall.SIGKILL)
		killed := time.Now()
		c.people[0].TapData(c.chats[0], messageNumber(card.id), "/approve "+a.Code)
		require.Equal(t, []string{"person:alice"}, c.ends(others[0], a).DecidedBy)
		taps := time.Since(killed)
		_, err = c.settled(t.Context(), &asked{code: a.Code}, others[0])
		require.NoError(t, err)
		b := c.askAt(others[0], fmt.Sprint("after-", i), 0)
		card, err = c.seen.card(t.Context(), b.Code)
		require.NoError(t, err)
		t.Logf("after the kill: its updates are taken in after %v, its chat has the next card after %v", taps, time.Since(killed))
		require.Equal(t, denied, c.told(c.people[1].TapData(c.chats[0], messageNumber(card.id), "/deny "+b.Code)))
		taker.start()
		require.NoError(t, taker.await(t.Context()))
	}
	require.Empty(t, c.cardsTooMany(nil))
}

// An instance stands still while it posts a card and takes a tap in, for longer
// than its leases last, and wakes up. Another has done both by then: what the
// sleeper comes with counts for nothing, and nobody is answered twice.
func TestAdversary_P2_TheSleeperWakes(t *testing.T) {
	t.Parallel()
	c := twoProcesses(t)
	sleeper, others := receiver(t, t.Context(), c.desks)
	other := others[0]
	other.freeze() // so that the card is the sleeper's to post
	hang := c.tg.Fault(fakechat.TelegramFault{Method: "sendMessage", Kind: fakechat.Hang})
	a := c.askAt(sleeper, "job-1", 0)
	require.NoError(t, c.tg.WaitFor(t.Context(), func() bool { return hang.Hits() > 0 }))
	sleeper.freeze()
	other.thaw()

	card, err := c.seen.card(t.Context(), a.Code) // the other's
	require.NoError(t, err)
	tap := c.people[0].TapData(c.chats[0], messageNumber(card.id), "/approve "+a.Code)
	require.Equal(t, api.Approved, c.ends(other, a).Status)
	require.Equal(t, "Allowed. It may run once, within 5 minutes.", c.told(tap))
	got, err := c.settled(t.Context(), &asked{code: a.Code}, other)
	require.NoError(t, err)
	known := got.Deliveries

	hang.Release()
	sleeper.thaw()
	require.NoError(t, sleeper.await(t.Context()))
	require.Eventually(t, func() bool {
		return strings.Contains(sleeper.logs.String(), "Another instance has taken over this chat")
	}, patient, 10*time.Millisecond)
	b := c.askAt(sleeper, "job-2", 0)
	card, err = c.seen.card(t.Context(), b.Code)
	require.NoError(t, err)
	require.Equal(t, denied, c.told(c.people[1].TapData(c.chats[0], messageNumber(card.id), "/deny "+b.Code)))
	require.Equal(t, api.Denied, c.ends(sleeper, b).Status)

	got, err = sleeper.client(operatorSecret).Get(t.Context(), a.Code, 0)
	require.NoError(t, err)
	require.Equal(t, known, got.Deliveries, "what the sleeper posted is not recorded over what stands")
	require.Len(t, got.Votes, 1)
	answered := 0
	for _, call := range c.tg.Calls("answerCallbackQuery") {
		if call.Params["callback_query_id"] == tap.ID {
			answered++
		}
	}
	require.Equal(t, 1, answered)
	require.Len(t, c.cardsTooMany(nil), 1)
	c.load.all = []*asked{{id: a.ID, code: a.Code, status: api.Approved}, {id: b.ID, code: b.Code, status: api.Denied}}
	c.troubles = []spell{{"freeze long", time.Now().Add(-time.Minute), time.Now()}}
	c.check(t.Context())
}

// One instance after another stops and starts, as in an upgrade, while people and
// programs go on: nothing is asked twice.
func TestCluster_RollingRestart(t *testing.T) {
	t.Parallel()
	newChaos(t, chaosPlan{seed: 1, lasts: 6 * time.Second, rate: 8, chats: 10, gap: time.Second, settle: patient, desks: 2, kinds: []string{"stop"}}).run()
}
