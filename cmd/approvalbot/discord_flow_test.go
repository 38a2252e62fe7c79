package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/bot/bottest"
)

// The main job, whole, on Discord.
func TestDiscord_AskTapClaimReport(t *testing.T) {
	r := newRig(t, withDiscord, onlyOps)
	ops := r.chatOn("discord")
	waited := make(chan api.Approval, 1)
	go func() {
		a, err := r.agent().Create(r.ctx(), api.CreateRequest{
			ToolName: "exec", Params: []byte(`{"command":"terraform apply plan.out","workdir":"/srv/infra"}`),
			AgentID: "deployer", SessionKey: "nightly", Justification: "weekly patch run",
		}, api.CreateOptions{Wait: 50e9, Claim: true, ClaimID: "job-17"})
		if err != nil {
			t.Error(err)
		}
		waited <- a
	}()
	m, err := r.ops.WaitMessage(r.ctx(), func(m bottest.DiscordMessage) bool { return len(m.Rows) > 0 })
	require.NoError(t, err)
	card := dcShown(m)
	require.Contains(t, card.text, "terraform apply plan.out · in /srv/infra", "the notification says what runs and where")
	require.Equal(t, []string{"Allow once", "Deny", "More"}, card.labels)
	require.Contains(t, card.text, "R4")
	require.Contains(t, card.text, "weekly patch run")
	require.Empty(t, m.Pings)

	require.Equal(t, "Allowed once by alice.", ops.tap("alice", card.id, "Allow once"))
	a := <-waited
	require.EqualValues(t, "approved", a.Status)
	require.EqualValues(t, "allow-once", a.Decision)
	require.Equal(t, []string{"person:alice"}, a.DecidedBy)
	require.NotNil(t, a.Claim)
	require.JSONEq(t, `{"command":"terraform apply plan.out","workdir":"/srv/infra"}`, string(a.Claim.Params))
	ops.settled(card.id, "allowed once by alice")

	_, err = r.agent().Result(r.ctx(), a.ID, api.ResultRequest{Status: "succeeded", Summary: "2 added"})
	require.NoError(t, err)
	ops.settled(card.id, "allowed once by alice", "The agent says it succeeded: 2 added")
	require.Len(t, ops.fromBot(), 1, "one message in the chat, from the question to the result")
}

// onlyOps sends cards to the Discord channel and nowhere else.
func onlyOps(r *rig) { r.routing = "{mode: both, targets: [" + inOps + "]}" }

// denyWithAReason opens the row behind More and chooses the deny with a reason.
func (r *rig) denyWithAReason(who string, card shown) *bottest.DiscordInteraction {
	r.t.Helper()
	menu, err := r.accounts[who].Click(r.ops, card.id, "More").Ephemeral(r.ctx())
	require.NoError(r.t, err)
	require.Contains(r.t, menu.Labels(), "Deny with a reason")
	form := r.accounts[who].Click(r.ops, menu.ID, "Deny with a reason")
	response, err := form.Response(r.ctx())
	require.NoError(r.t, err)
	require.NotNil(r.t, response.Modal)
	require.Len(r.t, response.Modal.Inputs, 1)
	return form
}

// The deny counts at the tap; the reason of the form follows, or never comes.
func TestDiscord_DenyWithAReason(t *testing.T) {
	r := newRig(t, withDiscord, onlyOps)
	ops := r.chatOn("discord")
	a := r.ask(`{"n":1}`)
	card := ops.card(a)
	form := r.denyWithAReason("bob", card)
	require.EqualValues(t, "denied", r.final(a).Status, "the deny counts at the tap")
	ops.settled(card.id, "denied by bob")
	require.Contains(t, r.told(r.accounts["bob"].SubmitModal(form, map[string]string{"reason": "not on a Friday"})), "Noted.")
	require.Equal(t, "not on a Friday", r.get(a).Reason)
	ops.settled(card.id, "denied by bob: not on a Friday")

	b := r.ask(`{"n":2}`)
	card = ops.card(b)
	r.denyWithAReason("bob", card)
	require.EqualValues(t, "denied", r.final(b).Status)
	ops.settled(card.id, "denied by bob")
}

func TestDiscord_SlashCommands(t *testing.T) {
	r := newRig(t, withDiscord, onlyOps)
	ops, alice, bob, mallory := r.chatOn("discord"), r.accounts["alice"], r.accounts["bob"], r.accounts["mallory"]
	a := r.ask(`{"n":1}`)
	card := ops.card(a)
	require.Contains(t, r.told(alice.Slash(r.ops, "pending", nil)), a.Code)
	suggested, err := alice.Autocomplete(r.ops, "approve", bottest.DiscordArgs{"code": a.Code[:2]}, "code").Response(r.ctx())
	require.NoError(t, err)
	require.Len(t, suggested.Choices, 1)
	require.Contains(t, suggested.Choices[0], a.Code)
	suggested, err = mallory.Autocomplete(r.ops, "approve", bottest.DiscordArgs{"code": ""}, "code").Response(r.ctx())
	require.NoError(t, err)
	require.Empty(t, suggested.Choices)
	require.Equal(t, "Allowed once by alice: looks fine.", r.told(alice.Slash(r.ops, "approve", bottest.DiscordArgs{"code": a.Code, "reason": "looks fine"})))
	require.Equal(t, "looks fine", r.final(a).Votes[0].Reason)
	ops.settled(card.id)

	b := r.ask(`{"n":2}`)
	card = ops.card(b)
	require.NotEmpty(t, r.told(alice.Slash(r.ops, "show", bottest.DiscordArgs{"code": b.Code})))
	require.Contains(t, r.told(bob.Slash(r.ops, "deny", bottest.DiscordArgs{"code": b.Code, "reason": "not today"})), "Denied")
	require.Equal(t, "not today", r.final(b).Reason)
	ops.settled(card.id, "denied by bob: not today")

	require.Contains(t, r.told(alice.Slash(r.ops, "whoami", nil)), "(alice). You may approve.")
	require.Contains(t, r.told(mallory.Slash(r.ops, "whoami", nil)), "You may not approve")
	require.Contains(t, r.told(alice.Slash(r.ops, "help", nil)), "/approve CODE")
	require.Contains(t, r.told(alice.Slash(r.ops, "approve", bottest.DiscordArgs{"code": "ZZZZZZ"})), "There is no request ZZZZZZ")
	require.Contains(t, r.told(alice.Slash(r.ops, "approve", bottest.DiscordArgs{"code": b.Code})), "Already decided: denied by bob")
}
