package main

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/bot/bottest"
	"approvalbot/core"
)

// drilling runs a drill in the background.
func (r *rig) drilling(args ...string) chan cliRun {
	done := make(chan cliRun, 1)
	go func() { done <- r.cli(agentSecret, nil, append([]string{"drill"}, args...)...) }()
	return done
}

// A drill goes to every chat, a tap on it comes back, and an approved one is never
// handed out to run.
func TestDrill_ThereAndBackAndNeverRuns(t *testing.T) {
	r := newRig(t, withDiscord)
	done := r.drilling("--wait", "1m")
	card, err := r.group.WaitMessage(r.ctx(), func(m bottest.TelegramMessage) bool { return len(m.Buttons) > 0 })
	require.NoError(t, err)
	require.Contains(t, card.Text, core.DrillTool)
	require.Contains(t, card.Text, "Nothing will run, whatever you decide.")
	_, err = r.ops.WaitMessage(r.ctx(), func(bottest.DiscordMessage) bool { return true })
	require.NoError(t, err)
	a := r.drilled()
	r.until(a, "both cards", func(a api.Approval) bool {
		return len(a.Deliveries) == 2 && a.Deliveries[0].State != "queued" && a.Deliveries[1].State != "queued"
	})
	r.tap(r.alice, r.group, card.ID, "Allow once")
	got := <-done
	require.Zero(t, got.code, got.out+got.errors)
	require.Regexp(t, fmt.Sprintf(`(?m)^  telegram:%d: card after \d+\.\ds$`, r.group.ID), got.out)
	require.Regexp(t, `(?m)^  discord:`+r.ops.ID+`: card after \d+\.\ds$`, got.out)
	require.Regexp(t, `(?m)^The way back works: approved \(allow-once\) by alice after \d+\.\ds\.$`, got.out)
	_, err = r.agent().Claim(r.ctx(), a.ID, api.ClaimRequest{})
	requireProblem(t, err, "not_claimable", "policy")
	_, err = r.operator().Retry(r.ctx(), a.Code)
	require.NoError(t, err)
	_, err = r.agent().Claim(r.ctx(), a.ID, api.ClaimRequest{ClaimID: "again"})
	requireProblem(t, err, "not_claimable", "policy")
}

// drilled waits for the drill's approval.
func (r *rig) drilled() api.Approval {
	r.t.Helper()
	var a api.Approval
	require.NoError(r.t, r.tg.WaitFor(r.ctx(), func() bool {
		l, err := r.operator().List(r.ctx(), api.Filter{ToolName: core.DrillTool})
		if err != nil || len(l.Items) == 0 {
			return false
		}
		a = l.Items[0]
		return true
	}))
	return a
}

// Nobody taps: the drill is withdrawn. An earlier always or deny of a drill leaves
// nothing that would keep the next one from people.
func TestDrill_IsWithdrawnAndAsksEachTime(t *testing.T) {
	r := newRig(t)
	for range 2 {
		got := <-r.drilling("--wait", "1s", "--json")
		require.Zero(t, got.code, got.out+got.errors)
		var out struct {
			Status string
			Cards  []drilled
		}
		require.NoError(t, json.Unmarshal([]byte(got.out), &out))
		require.Equal(t, "withdrawn", out.Status)
		require.Len(t, out.Cards, 1)
		require.Equal(t, "sent", out.Cards[0].State)
	}
	cards := r.group.FromBot()
	require.Len(t, cards, 2)
	r.settled(r.group, cards[1].ID, "withdrawn")
}

// A chat that gets no card makes it fail, and so does a desk that asks nobody.
func TestDrill_FailsWhereACardIsMissing(t *testing.T) {
	r := newRig(t, withDiscord)
	r.group.Kick()
	got := <-r.drilling("--wait", "2s")
	require.Equal(t, exitError, got.code)
	require.Contains(t, got.out, fmt.Sprintf("  telegram:%d: no card: The bot was removed from this chat", r.group.ID))
	require.Contains(t, got.out, "  discord:"+r.ops.ID+": card after ")

	denied := newRig(t, func(r *rig) { r.top = "tools: {deny: [\"approvalbot.*\"]}\n" })
	got = <-denied.drilling("--wait", "3s")
	require.Equal(t, exitError, got.code)
	require.Contains(t, got.out, "Nobody was asked: denied")
}

// Ctrl-C ends it and withdraws.
func TestDrill_InterruptedIsWithdrawn(t *testing.T) {
	d := deskFor(t)
	d.create = "pending"
	s := start(t, d, "drill")
	s.says(t, "drill 7KQ2M5: nothing of it can run")
	s.cancel()
	require.Equal(t, exitError, s.ends(t), "no chat got a card")
	require.Contains(t, s.out.String(), "No chat got a card")
	require.Contains(t, d.requests(), `/withdraw {"reason":"the drill is over"}`)
}
