package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/fakechat"
)

const briefFallback = 500 * time.Millisecond

// failsOpen lets commands run that nobody could be asked about.
func failsOpen(r *rig) {
	r.after = "  exec: {askFallback: full}\n"
	r.routing = `{mode: targets, targets: [{channel: telegram, to: "GROUP"}], fallback: [{channel: telegram, to: "-1009999"}], fallbackAfter: 500ms}`
	r.agentHas = `, sessionChats: ["telegram:-1007777"]`
}

// looked waits until the desk has looked several times whether a card has arrived.
func (r *rig) looked(a api.Approval, since time.Time) {
	waitPast(r.t, max(a.CreatedAtMs, since.UnixMilli())+(2*briefFallback+3*time.Second).Milliseconds())
}

// spare adds the fallback chat, and one where sessions live.
func (r *rig) spare() (spare, session *fakechat.TelegramChat) {
	return r.tg.AddChat(fakechat.TelegramChatSpec{Type: fakechat.TelegramSupergroup, ID: -1009999, Title: "spare"}),
		r.tg.AddChat(fakechat.TelegramChatSpec{Type: fakechat.TelegramSupergroup, ID: -1007777, Title: "session"})
}

// givenUp counts those that are taken for such as nobody could be asked about.
func (r *rig) givenUp(all []api.Approval) (n int) {
	r.t.Helper()
	for _, a := range all {
		if got := r.get(a); got.Status != api.Pending || !got.Reached || strings.Contains(fmt.Sprint(got.ReasonCodes), "no-approver-reachable") {
			n++
		}
	}
	return n
}

// An agent that floods the approvers' chats is told to wait like everybody: a chat
// that is only limited is no chat where nobody could be asked, whatever lets a
// command run then, nor after a restart.
func TestAdversary_P9_AFloodOpensNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, failsOpen, func(r *rig) { r.options.Limits = &fakechat.TelegramLimits{GroupPerMinute: 3} })
	r.spare()
	all := make([]api.Approval, 16)
	for i := range all {
		all[i] = r.exec(fmt.Sprintf("git push origin w%d", i))
	}
	r.looked(all[len(all)-1], time.Now())
	require.Zero(t, r.givenUp(all), "their cards wait behind a limit")

	r.stop()
	since := time.Now()
	r.start()
	r.looked(all[0], since)
	require.Zero(t, r.givenUp(all), "nor after a restart")

	r.tg.SetLimits(nil)
	card := r.card(all[0])
	require.Contains(t, r.tap(r.alice, r.group, card.ID, "Allow once").Text, "Allowed. It may run once")
}

// The same rule still opens where no chat answers, and says so.
func TestAdversary_P4_NobodyAnswersAndItIsLetRun(t *testing.T) {
	t.Parallel()
	r := newRig(t, failsOpen)
	r.spare()
	r.tg.Fault(fakechat.TelegramFault{Method: "sendMessage", Times: -1, Kind: fakechat.Reset})
	var all []api.Approval
	for i := range 6 {
		all = append(all, r.exec(fmt.Sprintf("git push origin w%d", i)))
	}
	for _, a := range all {
		got := r.final(a)
		require.Equal(t, []string{"policy"}, got.DecidedBy)
		require.Contains(t, got.ReasonCodes, "no-approver-reachable")
		require.False(t, got.Reached)
	}
}

// Where every chat is limited nobody is told that nobody could be asked: the cards
// come later.
func TestAdversary_P3_ALimitIsNotNobody(t *testing.T) {
	t.Parallel()
	r := newRig(t, failsOpen, func(r *rig) { r.after = "" })
	spare, session := r.spare()
	limit := r.tg.Fault(fakechat.TelegramFault{Method: "sendMessage", Chat: r.group.ID, Times: 1, Kind: fakechat.TooManyRequests, RetryAfter: 5})
	r.tg.Fault(fakechat.TelegramFault{Method: "sendMessage", Chat: spare.ID, Times: 1, Kind: fakechat.TooManyRequests, RetryAfter: 5})
	a := r.exec("git push origin main", func(c *api.CreateRequest) { c.Origin = &api.Target{Channel: "telegram", To: "-1007777"} })
	card := r.card(a)
	require.Equal(t, 1, limit.Hits())
	got := r.get(a)
	require.True(t, got.Reached)
	require.NotContains(t, got.ReasonCodes, "no-approver-reachable")
	require.Contains(t, r.tap(r.alice, r.group, card.ID, "Allow once").Text, "Allowed. It may run once")
	messages, err := session.WaitMessages(r.ctx(), func(m []fakechat.TelegramMessage) bool { return len(m) > 0 })
	require.NoError(t, err)
	require.Contains(t, messages[0].Text, "allowed once by alice")
}

// A card that arrives after all corrects what was said of it.
func TestAdversary_P4_ACardArrivesAfterAll(t *testing.T) {
	t.Parallel()
	r := newRig(t, failsOpen, func(r *rig) { r.after = "" })
	_, session := r.spare()
	var faults []*fakechat.FaultHandle
	for _, chat := range []int64{r.group.ID, -1009999} {
		faults = append(faults, r.tg.Fault(fakechat.TelegramFault{Method: "sendMessage", Chat: chat, Times: -1, Kind: fakechat.HTML502}))
	}
	a := r.exec("git push origin main", func(c *api.CreateRequest) { c.Origin = &api.Target{Channel: "telegram", To: "-1007777"} })
	_, err := session.WaitMessage(r.ctx(), func(m fakechat.TelegramMessage) bool { return strings.Contains(m.Text, "No approver could be asked") })
	require.NoError(t, err)
	require.Contains(t, r.get(a).ReasonCodes, "no-approver-reachable")
	for _, f := range faults {
		f.Remove()
	}
	card := r.card(a)
	got := r.get(a)
	require.True(t, got.Reached)
	require.NotContains(t, got.ReasonCodes, "no-approver-reachable")
	require.Contains(t, r.tap(r.alice, r.group, card.ID, "Allow once").Text, "Allowed. It may run once")
	got = r.get(a)
	require.True(t, got.Reached)
	require.NotContains(t, got.ReasonCodes, "no-approver-reachable", "nor once it has ended")
}

// Without any target nobody is told of a call: it waits for a terminal, and nothing runs for that.
func TestWithoutTargetsNobodyIsReached(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(r *rig) {
		r.routing, r.after = "{mode: targets, targets: []}", "  exec: {askFallback: full}\n"
	})
	a := r.exec("git push origin main")
	require.False(t, a.Reached)
	require.Contains(t, a.ReasonCodes, "no-approver-reachable")
	require.Equal(t, api.Pending, a.Status)
	require.Contains(t, r.good("view", a.Code), "no approver yet")
	got, err := r.operator().Resolve(r.ctx(), a.Code, api.ResolveRequest{Decision: api.AllowOnce})
	require.NoError(t, err)
	require.Equal(t, api.Approved, got.Status)
}
