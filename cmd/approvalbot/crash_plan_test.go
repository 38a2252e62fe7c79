package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/fakechat"
)

// TestAdversary_P2_KilledAtEveryStepOfThePlan: after a kill at each point of a reminder or
// an escalation and a restart, everybody who is to hear of it has, and at most one
// message too many stands in the chats, on each platform.
func TestAdversary_P2_KilledAtEveryStepOfThePlan(t *testing.T) {
	t.Parallel()
	bin, err := faultyBinary()
	require.NoError(t, err)
	points := []string{
		"before-step-committed", "after-step-committed", "before-step-committed:2", "after-step-committed:2", // the reminder, the escalation
		"before-reminder-sent", "after-reminder-sent", "before-id-recorded:2", "after-id-recorded:2", // the first is the group's card
		"before-card-sent:2", "after-card-sent:2", "before-id-recorded:3", "after-id-recorded:3",
	}
	for platform, plan := range map[string]func(*crashRig) planned{"telegram": onTelegram, "discord": onlyDiscord} {
		for _, point := range points {
			t.Run(platform+"/"+point, func(t *testing.T) {
				c := newCrashRig(t, bin)
				where := plan(c)
				c.routing = fmt.Sprintf(`{mode: targets, targets: [%s], remindAfter: [1s], escalate: [{after: 2s, to: "role:leads"}]}`, where.target)
				c.run(point)
				c.planScenario(where)
				c.mustHaveDied(point)
			})
		}
	}
}

// planned is where a plan's messages go on a platform.
type planned struct {
	target  string // of the group, in the configuration
	mention string // how a reminder in the group begins
	group   func() []planMessage
	bob     func() []planMessage // his direct messages
	wait    func(ctx context.Context, pred func() bool) error
}

// planMessage is a message of the bot's, on whichever platform.
type planMessage struct {
	text           string
	card, reminder bool
}

func onTelegram(c *crashRig) planned {
	c.bob.Start("")
	c.people = fmt.Sprintf("  - {name: alice, telegram: %d}\n  - {name: bob, telegram: %d, roles: [leads]}\n", c.alice.ID, c.bob.ID)
	read := func(of func() []fakechat.TelegramMessage) func() []planMessage {
		return func() (out []planMessage) {
			for _, m := range of() {
				out = append(out, planMessage{m.Text, len(m.Buttons) > 0, m.ReplyTo != 0})
			}
			return out
		}
	}
	return planned{inGroup, "alice bob ", read(c.group.FromBot), read(c.bob.Chat().FromBot), c.tg.WaitFor}
}

func onlyDiscord(c *crashRig) planned {
	c.addDiscord()
	alice, bob := c.accounts["alice"], c.accounts["bob"]
	c.people = fmt.Sprintf("  - {name: alice, discord: %q}\n  - {name: bob, discord: %q, roles: [leads]}\n", alice.ID, bob.ID)
	read := func(of func() []fakechat.DiscordMessage) func() []planMessage {
		return func() (out []planMessage) {
			for _, m := range of() {
				out = append(out, planMessage{strings.Join(append(m.Texts, m.Content), "\n"), len(m.Rows) > 0, m.ReplyTo != ""})
			}
			return out
		}
	}
	return planned{inOps, fmt.Sprintf("<@%s> <@%s>", alice.ID, bob.ID), read(c.ops.FromBot), read(bob.DM().FromBot), c.dc.WaitFor}
}

// planScenario asks once, and lets the plan go on until everybody has heard of it.
func (c *crashRig) planScenario(where planned) {
	t := c.t
	var a api.Approval
	c.until("create", func(ctx context.Context) (err error) {
		a, err = c.agent().Create(ctx, api.CreateRequest{ID: "job-1", ToolName: "deploy", Params: []byte(`{"n":1}`)}, api.CreateOptions{})
		return err
	})
	ours := func(m planMessage) bool { return strings.Contains(m.text, a.Code) }
	card := func(m planMessage) bool { return ours(m) && m.card }
	stands := func(what string, in func() []planMessage, pred func(planMessage) bool) {
		t.Helper()
		c.until(what, func(ctx context.Context) error {
			return where.wait(ctx, func() bool { return slices.ContainsFunc(in(), pred) })
		})
	}
	stands("card", where.group, card)
	stands("reminder", where.group, func(m planMessage) bool {
		return ours(m) && m.reminder && strings.HasPrefix(strings.TrimSpace(m.text), where.mention)
	})
	stands("escalation", where.bob, card)
	c.until("what was sent is on record", func(ctx context.Context) error {
		now, err := c.operator().Get(ctx, a.Code, 0)
		if err != nil {
			return err
		}
		a = now
		queued := slices.ContainsFunc(a.Deliveries, func(d api.Delivery) bool { return d.State != "sent" })
		if queued || a.NextStepAtMs != 0 {
			time.Sleep(5 * time.Millisecond)
			return errors.New("not yet")
		}
		return nil
	})
	require.Equal(t, []string{"bob"}, a.AlsoAsked)
	stands("the state on the card", where.group, func(m planMessage) bool { return card(m) && strings.Contains(m.text, "also asked: bob") })
	all := slices.DeleteFunc(append(where.group(), where.bob()...), func(m planMessage) bool { return !ours(m) })
	require.LessOrEqual(t, len(all), 4, "two cards and a reminder, and at most one message too many")
	types := map[string]int{}
	c.until("log", func(ctx context.Context) error {
		page, err := c.operator().Audit(ctx, api.AuditOptions{Limit: 200})
		clear(types)
		if err == nil {
			for _, r := range page.Items {
				types[r.Type]++
			}
		}
		return err
	})
	require.Equal(t, 1, types["tool.approval.reminded"], "a step is taken once")
	require.Equal(t, 1, types["tool.approval.escalated"])
}
