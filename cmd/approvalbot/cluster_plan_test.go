package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/fakechat"
)

// Of three instances one takes each step of each plan, wherever it was asked, also where
// the one that looks after the timers stops in the middle.
func TestCluster_EachStepOfThePlanOnce(t *testing.T) {
	t.Parallel()
	a := newRig(t, onPostgres(t), func(r *rig) {
		r.routing = `{mode: targets, targets: [{channel: telegram, to: "GROUP"}], remindAfter: [4s, 10s], escalate: [{after: 7s, to: onDuty}, {after: 12s, to: "telegram:-1009999"}]}`
		r.tools = "    onDuty: [{name: ops, among: [bob], timezone: UTC, rotation: [bob], handoff: \"09:00\"}]\n"
	})
	lobby := a.tg.AddChat(fakechat.TelegramChatSpec{Type: fakechat.TelegramSupergroup, ID: -1009999, Title: "lobby"})
	a.bob.Start("")
	b, c := a.another(), a.another()
	var asked []api.Approval
	for _, at := range []*rig{a, b, c, a, b, c} {
		asked = append(asked, at.ask(`{"n":`+string(rune('1'+len(asked)))+`}`))
	}
	count := func(chat *fakechat.TelegramChat, of api.Approval, reply bool) (n int) {
		for _, m := range chat.FromBot() {
			if strings.Contains(m.Text, of.Code) && (m.ReplyTo != 0) == reply {
				n++
			}
		}
		return n
	}
	seen := func(chat *fakechat.TelegramChat, n int, reply bool) func() bool {
		return func() bool {
			for _, x := range asked {
				if count(chat, x, reply) < n {
					return false
				}
			}
			return true
		}
	}
	require.NoError(t, a.tg.WaitFor(a.ctx(), seen(a.group, 1, true)))
	a.stop() // it has the timers
	require.NoError(t, b.tg.WaitFor(b.ctx(), seen(a.bob.Chat(), 1, false)), "the escalation")
	require.NoError(t, b.tg.WaitFor(b.ctx(), seen(lobby, 1, false)))
	require.NoError(t, b.tg.WaitFor(b.ctx(), seen(a.group, 2, true)))
	for _, x := range asked {
		got, err := c.operator().Get(c.ctx(), x.Code, 0)
		require.NoError(t, err)
		require.Equal(t, []string{"bob", "telegram:-1009999"}, got.AlsoAsked)
		require.Zero(t, got.NextStepAtMs)
		require.Equal(t, []int{1, 2, 1, 1}, []int{count(a.group, x, false), count(a.group, x, true), count(a.bob.Chat(), x, false), count(lobby, x, false)})
	}
	log, err := b.operator().Audit(b.ctx(), api.AuditOptions{Limit: 200})
	require.NoError(t, err)
	types := map[string]int{}
	for _, r := range log.Items {
		types[r.Type]++
	}
	require.Equal(t, 12, types["tool.approval.reminded"])
	require.Equal(t, 12, types["tool.approval.escalated"])
}
