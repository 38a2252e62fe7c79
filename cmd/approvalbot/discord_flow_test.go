package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/fakechat"
)

// The main job, whole, on Discord.
func TestDiscord_AskTapClaimReport(t *testing.T) {
	t.Parallel()
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
	m, err := r.ops.WaitMessage(r.ctx(), func(m fakechat.DiscordMessage) bool { return len(m.Rows) > 0 })
	require.NoError(t, err)
	card := dcShown(m)
	require.Contains(t, card.text, "agent asks to run\n```sh\nterraform apply plan.out\n```\nin `/srv/infra`", "the notification says who runs what and where")
	require.Equal(t, []string{"Allow once", "Deny", "More"}, card.labels)
	require.Contains(t, card.text, "R4")
	require.Contains(t, card.text, "weekly patch run")
	require.Empty(t, m.Pings)

	r.remembers("discord", card.id)
	require.Equal(t, "Allowed. It may run once, within 5 minutes.", ops.tap("alice", card.id, "Allow once"))
	a := <-waited
	require.EqualValues(t, "approved", a.Status)
	require.EqualValues(t, "allow-once", a.Decision)
	require.Equal(t, []string{"person:alice"}, a.DecidedBy)
	require.NotNil(t, a.Claim)
	require.JSONEq(t, `{"command":"terraform apply plan.out","workdir":"/srv/infra"}`, string(a.Claim.Params))
	ops.settled(card.id, "Allowed once by alice")

	_, err = r.agent().Result(r.ctx(), a.ID, api.ResultRequest{Status: "succeeded", Summary: "2 added"})
	require.NoError(t, err)
	ops.settled(card.id, "Allowed once by alice", "reported: succeeded", "reported: “2 added”")
	require.Len(t, ops.fromBot(), 1, "one message in the chat, from the question to the result")
}

// onlyOps sends cards to the Discord channel and nowhere else.
func onlyOps(r *rig) { r.routing = "{mode: both, targets: [" + inOps + "]}" }

// denyWithAReason opens the row behind More and chooses the deny with a reason.
func (r *rig) denyWithAReason(who string, card shown) *fakechat.DiscordInteraction {
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
	t.Parallel()
	r := newRig(t, withDiscord, onlyOps)
	ops := r.chatOn("discord")
	a := r.ask(`{"n":1}`)
	card := ops.card(a)
	form := r.denyWithAReason("bob", card)
	require.EqualValues(t, "denied", r.final(a).Status, "the deny counts at the tap")
	ops.settled(card.id, "Denied by bob")
	require.Contains(t, r.told(r.accounts["bob"].SubmitModal(form, map[string]string{"reason": "not on a Friday"})), "Noted.")
	require.Equal(t, "not on a Friday", r.get(a).Reason)
	ops.settled(card.id, "Denied by bob, ", ": not on a Friday")

	b := r.ask(`{"n":2}`)
	card = ops.card(b)
	r.denyWithAReason("bob", card)
	require.EqualValues(t, "denied", r.final(b).Status)
	ops.settled(card.id, "Denied by bob")
}

func TestDiscord_SlashCommands(t *testing.T) {
	t.Parallel()
	r := newRig(t, withDiscord, onlyOps)
	ops, alice, bob, mallory := r.chatOn("discord"), r.accounts["alice"], r.accounts["bob"], r.accounts["mallory"]
	a := r.ask(`{"n":1}`)
	card := ops.card(a)
	require.Contains(t, r.told(alice.Slash(r.ops, "pending", nil)), a.Code)
	suggested, err := alice.Autocomplete(r.ops, "approve", fakechat.DiscordArgs{"code": a.Code[:2]}, "code").Response(r.ctx())
	require.NoError(t, err)
	require.Len(t, suggested.Choices, 1)
	require.Contains(t, suggested.Choices[0], a.Code)
	suggested, err = mallory.Autocomplete(r.ops, "approve", fakechat.DiscordArgs{"code": ""}, "code").Response(r.ctx())
	require.NoError(t, err)
	require.Empty(t, suggested.Choices)
	require.Equal(t, "Allowed. It may run once, within 5 minutes.", r.told(alice.Slash(r.ops, "approve", fakechat.DiscordArgs{"code": a.Code, "reason": "looks fine"})))
	require.Equal(t, "looks fine", r.final(a).Votes[0].Reason)
	ops.settled(card.id)

	b := r.ask(`{"n":2}`)
	card = ops.card(b)
	require.NotEmpty(t, r.told(alice.Slash(r.ops, "show", fakechat.DiscordArgs{"code": b.Code})))
	require.Contains(t, r.told(bob.Slash(r.ops, "deny", fakechat.DiscordArgs{"code": b.Code, "reason": "not today"})), "Denied")
	require.Equal(t, "not today", r.final(b).Reason)
	ops.settled(card.id, "Denied by bob, ", ": not today")

	require.Contains(t, r.told(alice.Slash(r.ops, "whoami", nil)), "(alice). You may approve.")
	require.Contains(t, r.told(mallory.Slash(r.ops, "whoami", nil)), "You may not approve")
	require.Contains(t, r.told(alice.Slash(r.ops, "help", nil)), "/approve CODE")
	require.Contains(t, r.told(alice.Slash(r.ops, "approve", fakechat.DiscordArgs{"code": "ZZZZZZ"})), "There is no request ZZZZZZ")
	require.Contains(t, r.told(alice.Slash(r.ops, "approve", fakechat.DiscordArgs{"code": b.Code})), "Already decided: denied by bob")
}

// What is typed counts with a mention of the bot, or as a reply to a card.
func TestDiscord_TypedCommands(t *testing.T) {
	t.Parallel()
	r := newRig(t, withDiscord, onlyOps)
	ops := r.chatOn("discord")
	a := r.ask(`{"n":1}`)
	card := ops.card(a)
	require.Contains(t, ops.say("alice", "/pending"), a.Code)
	r.accounts["alice"].Say(r.ops, "/approve "+a.Code) // is not for the bot
	require.Contains(t, ops.say("alice", "/help"), "/approve CODE")
	require.EqualValues(t, "pending", r.get(a).Status)
	require.Equal(t, "Allowed. It may run once, within 5 minutes.", ops.say("alice", "approve "+strings.ToLower(a.Code)+" looks fine"))
	ops.settled(card.id)

	b := r.ask(`{"n":2}`)
	card = ops.card(b)
	require.Contains(t, ops.say("bob", "deny not today", card.id), "Denied")
	require.Equal(t, "not today", r.final(b).Reason)
	require.Contains(t, ops.say("alice", "/approve "+b.Code), "Already decided: denied by bob")
	require.Contains(t, ops.say("alice", "/approve"), "Which one?")
}

// A card's place may be a thread or a post, by itself or below its channel, and
// somebody's direct messages.
func TestDiscord_OtherPlaces(t *testing.T) {
	t.Parallel()
	for name, where := range map[string]func(*rig) (target string, c *fakechat.DiscordChannel){
		"a thread of the channel": func(r *rig) (string, *fakechat.DiscordChannel) {
			thread := r.ops.AddThread("approvals")
			return `{channel: discord, to: "OPS", threadId: "` + thread.ID + `"}`, thread
		},
		"a thread by its own id": func(r *rig) (string, *fakechat.DiscordChannel) {
			thread := r.ops.AddThread("approvals")
			return `{channel: discord, to: "` + thread.ID + `"}`, thread
		},
		"a post in a forum": func(r *rig) (string, *fakechat.DiscordChannel) {
			forum := r.guild.AddForum("asks")
			return `{channel: discord, to: "` + forum.ID + `"}`, forum
		},
		"direct messages": func(r *rig) (string, *fakechat.DiscordChannel) {
			return `{channel: discord, to: "dm:` + r.accounts["alice"].ID + `"}`, r.accounts["alice"].DM()
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, withDiscord)
			r.stop()
			target, at := where(r)
			r.routing = "{mode: targets, targets: [" + target + "]}"
			r.start()
			r.discordReady()
			place := func(a api.Approval) dcChat {
				if at.Type != fakechat.DiscordForum {
					return dcChat{r, at}
				}
				var post *fakechat.DiscordChannel
				require.NoError(t, r.dc.WaitFor(r.ctx(), func() bool {
					for _, c := range at.Threads() {
						if strings.Contains(c.Name(), a.Code) {
							post = c
						}
					}
					return post != nil
				}))
				return dcChat{r, post}
			}
			a := r.ask(`{"n":1}`)
			c := place(a)
			card := c.card(a)
			require.Equal(t, "Allowed. It may run once, within 5 minutes.", c.tap("alice", card.id, "Allow once"))
			c.settled(card.id, "Allowed once by alice")

			b := r.ask(`{"n":2}`)
			c = place(b)
			card = c.card(b)
			require.Contains(t, c.say("alice", "/pending"), b.Code)
			require.Contains(t, c.say("alice", "/deny "+b.Code+" no"), "Denied")
			c.settled(card.id, "Denied by alice, ", ": no")

			d := r.ask(`{"n":3}`)
			c = place(d)
			card = c.card(d)
			require.Equal(t, "Allowed. It may run once, within 5 minutes.", r.told(r.accounts["alice"].Slash(c.chat, "approve", fakechat.DiscordArgs{"code": d.Code})))
			c.settled(card.id, "Allowed once by alice")
			require.Empty(t, r.chatOn("telegram").fromBot())
		})
	}
}

func TestDiscord_QuorumAndRevoke(t *testing.T) {
	t.Parallel()
	r := newRig(t, withDiscord, onlyOps, twoNeeded)
	ops := r.chatOn("discord")
	a := r.ask(`{"n":1}`)
	card := ops.card(a)
	require.Contains(t, ops.tap("alice", card.id, "Allow once"), "1 of 2 yes (alice)")
	require.Equal(t, card.id, ops.waitText("1 of 2 yes (alice)").id)
	ops.tap("bob", card.id, "Allow once")
	ops.settled(card.id, "Allowed once by alice, bob")
	got, err := r.operator().Revoke(r.ctx(), a.Code, api.RevokeRequest{Reason: "wrong host"})
	require.NoError(t, err)
	ops.settled(card.id, saysRevoked(got, "allowed once by alice, bob", moment))
}
