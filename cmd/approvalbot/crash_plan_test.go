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
	"approvalbot/bot/bottest"
)

// TestAdversary_P2_KilledAtEveryStepOfThePlan: after a kill at each point of a reminder or
// an escalation and a restart, everybody who is to hear of it has, and at most one
// message too many stands in the chats.
func TestAdversary_P2_KilledAtEveryStepOfThePlan(t *testing.T) {
	bin, err := faultyBinary()
	require.NoError(t, err)
	for _, point := range []string{
		"before-step-committed", "after-step-committed", "before-step-committed:2", "after-step-committed:2", // the reminder, the escalation
		"before-reminder-sent", "after-reminder-sent", "before-id-recorded:2", "after-id-recorded:2", // the first is the group's card
		"before-card-sent:2", "after-card-sent:2", "before-id-recorded:3", "after-id-recorded:3",
	} {
		t.Run(point, func(t *testing.T) {
			c := newCrashRig(t, bin)
			c.bob.Start("")
			c.people = fmt.Sprintf("  - {name: alice, telegram: %d}\n  - {name: bob, telegram: %d, roles: [leads]}\n", c.alice.ID, c.bob.ID)
			c.routing = `{mode: targets, targets: [{channel: telegram, to: "GROUP"}], remindAfter: [1s], escalate: [{after: 2s, to: "role:leads"}]}`
			c.run(point)
			c.planScenario()
			c.mustHaveDied(point)
		})
	}
}

// planScenario asks once, and lets the plan go on until everybody has heard of it.
func (c *crashRig) planScenario() {
	t := c.t
	var a api.Approval
	c.until("create", func(ctx context.Context) (err error) {
		a, err = c.agent().Create(ctx, api.CreateRequest{ID: "job-1", ToolName: "deploy", Params: []byte(`{"n":1}`)}, api.CreateOptions{})
		return err
	})
	ours := func(m bottest.TelegramMessage) bool { return strings.Contains(m.Text, a.Code) }
	card := func(m bottest.TelegramMessage) bool { return ours(m) && len(m.Buttons) > 0 }
	reminder := func(m bottest.TelegramMessage) bool { return ours(m) && m.ReplyTo != 0 }
	c.until("card", func(ctx context.Context) error { _, err := c.group.WaitMessage(ctx, card); return err })
	c.until("reminder", func(ctx context.Context) error {
		m, err := c.group.WaitMessage(ctx, reminder)
		if err == nil {
			require.True(t, strings.HasPrefix(m.Text, "alice bob "), m.Text)
		}
		return err
	})
	c.until("escalation", func(ctx context.Context) error { _, err := c.bob.Chat().WaitMessage(ctx, card); return err })
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
	c.until("the state on the card", func(ctx context.Context) error {
		_, err := c.group.WaitMessage(ctx, func(m bottest.TelegramMessage) bool { return card(m) && strings.Contains(m.Text, "also asked: bob") })
		return err
	})
	all := c.group.FromBot()
	all = append(all, c.bob.Chat().FromBot()...)
	all = slices.DeleteFunc(all, func(m bottest.TelegramMessage) bool { return !ours(m) })
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
