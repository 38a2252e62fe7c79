package main

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/fakechat"
	"approvalbot/internal/platform"
)

// One desk over both platforms: cards stand on both, and a decision on either
// ends both.

func TestBoth_DecidedOnOneShownOnBoth(t *testing.T) {
	t.Parallel()
	for i, name := range platform.Names() {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, withDiscord)
			here, there := r.chatOn(name), r.chatOn(platform.Names()[1-i])
			a := r.ask(`{"n":1}`)
			card, other := here.card(a), there.card(a)
			require.Equal(t, "Allowed. It may run once, within 5 minutes.", here.tap("alice", card.id, "Allow once"))
			here.settled(card.id, "Allowed once by alice")
			there.settled(other.id, "Allowed once by alice")
			_, err := r.agent().Claim(r.ctx(), a.ID, api.ClaimRequest{})
			require.NoError(t, err)
			_, err = r.agent().Result(r.ctx(), a.ID, api.ResultRequest{Status: "succeeded", Summary: "2 added"})
			require.NoError(t, err)
			here.settled(card.id, "reported: succeeded", "reported: “2 added”")
			there.settled(other.id, "reported: succeeded", "reported: “2 added”")

			b := r.ask(`{"n":2}`)
			card, other = here.card(b), there.card(b)
			require.Contains(t, here.say("bob", "/deny "+b.Code+" not today"), "Denied")
			here.settled(card.id, "Denied by bob, ", ": not today")
			there.settled(other.id, "Denied by bob, ", ": not today")
			require.Contains(t, there.press("alice", other.id, "/approve "+b.Code), "Already decided: denied by bob")
			require.Len(t, here.fromBot(), 3, "two cards and a reply")
			require.Len(t, there.fromBot(), 2)
		})
	}
}

// twoNeeded asks for two approvers.
func twoNeeded(r *rig) { r.quorum = map[string]int{"R3": 2, "R4": 2} }

func TestBoth_QuorumOfTwoMetAcrossPlatforms(t *testing.T) {
	t.Parallel()
	r := newRig(t, withDiscord, twoNeeded)
	tg, dc := r.chatOn("telegram"), r.chatOn("discord")
	a := r.ask(`{"n":1}`)
	onTG, onDC := tg.card(a), dc.card(a)
	for _, c := range []shown{onTG, onDC} {
		require.Contains(t, c.text, "0 of 2")
	}
	require.Contains(t, tg.tap("alice", onTG.id, "Allow once"), "1 of 2 yes (alice)")
	for _, c := range []chat{tg, dc} {
		require.Equal(t, []string{"Allow once", "Deny", "More"}, c.waitText("1 of 2 yes (alice)").labels)
	}
	require.EqualValues(t, "pending", r.get(a).Status)
	require.Contains(t, dc.tap("bob", onDC.id, "Allow once"), "Allowed. It may run once")
	require.Equal(t, []string{"person:alice", "person:bob"}, r.final(a).DecidedBy)
	tg.settled(onTG.id, "Allowed once by alice, bob")
	dc.settled(onDC.id, "Allowed once by alice, bob")
}

// One person is one vote, whatever account or token it comes by.
func TestAdversary_I6_OnePersonOneVote(t *testing.T) {
	t.Parallel()
	r := newRig(t, withDiscord, twoNeeded)
	tg, dc := r.chatOn("telegram"), r.chatOn("discord")
	a := r.ask(`{"n":1}`)
	onTG, onDC := tg.card(a), dc.card(a)
	require.Contains(t, tg.tap("alice", onTG.id, "Allow once"), "1 of 2 yes (alice)")
	require.Contains(t, dc.tap("alice", onDC.id, "Allow once"), "1 of 2 yes (alice)")
	require.Contains(t, dc.say("alice", "/approve "+a.Code), "1 of 2 yes (alice)")
	require.Contains(t, r.told(r.accounts["alice"].Slash(r.ops, "approve", fakechat.DiscordArgs{"code": a.Code})), "1 of 2 yes (alice)")
	_, err := r.client(aliceSecret).Resolve(r.ctx(), a.Code, api.ResolveRequest{Decision: "allow-once"})
	require.NoError(t, err)
	got := r.get(a)
	require.EqualValues(t, "pending", got.Status)
	for _, v := range got.Votes {
		require.Equal(t, "alice", v.Voter.Person)
	}
	require.Contains(t, dc.tap("bob", onDC.id, "Allow once"), "Allowed. It may run once")
	tg.settled(onTG.id, "Allowed once by alice, bob")
}

// The requester is one person on both platforms.
func TestAdversary_I5_RequesterIsKnownAcrossPlatforms(t *testing.T) {
	t.Parallel()
	const own = "You cannot approve your own request."
	for i, name := range platform.Names() {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, withDiscord)
			asked, other := r.chatOn(name), r.chatOn(platform.Names()[1-i])
			a := r.ask(`{"n":1}`, func(c *api.CreateRequest) {
				c.Requester = &api.Requester{Channel: name, UserID: asked.account("alice")}
			})
			require.Equal(t, own, asked.tap("alice", asked.card(a).id, "Allow once"))
			card := other.card(a)
			require.Equal(t, own, other.tap("alice", card.id, "Allow once"))
			require.Contains(t, other.say("alice", "/approve "+a.Code), "cannot approve your own")
			_, err := r.client(aliceSecret).Resolve(r.ctx(), a.Code, api.ResolveRequest{Decision: "allow-once"})
			requireProblem(t, err, "self_approval")
			require.EqualValues(t, "pending", r.get(a).Status)
			require.Empty(t, r.get(a).Votes)
			require.Contains(t, other.tap("alice", card.id, "Deny"), "withdrew it")
			asked.settled(asked.waitText(a.Code).id, "Withdrawn")
		})
	}
}

// Twenty taps at once from both platforms, mixed: one outcome, everyone answered.
func TestAdversary_P10_TapsAtOnceFromBothPlatforms(t *testing.T) {
	t.Parallel()
	r := newRig(t, withDiscord)
	r.stop()
	r.allowed, r.inOps = []*fakechat.TelegramUser{r.alice, r.bob}, []string{"alice", "bob"}
	for i := range 8 {
		name := fmt.Sprint("p", i)
		r.allowed = append(r.allowed, r.tg.AddUser(fakechat.TelegramProfile{FirstName: name}))
		r.accounts[name] = r.dc.AddUser(fakechat.DiscordProfile{Username: name})
		r.guild.AddMember(r.accounts[name])
		r.inOps = append(r.inOps, name)
	}
	r.start()
	r.discordReady()
	tg, dc := r.chatOn("telegram"), r.chatOn("discord")
	a := r.ask(`{"n":1}`)
	onTG, onDC := r.card(a), dc.card(a)
	clickable, _ := r.ops.Message(onDC.id)
	answers := make([]string, 20)
	var all sync.WaitGroup
	for i := range 10 {
		label := []string{"Allow once", "Deny"}[i%2]
		// Nobody's app has seen the outcome yet, whatever has come of the first taps.
		button, _ := onTG.Button(label)
		tap := r.allowed[i].TapData(r.group, onTG.ID, button.CallbackData)
		all.Go(func() {
			answer, err := tap.Answer(r.ctx())
			if err != nil {
				t.Errorf("tap %d on Telegram: %v", i, err)
			}
			answers[i] = answer.Text
		})
		component, _ := clickable.Button(label)
		click := r.accounts[r.inOps[i]].ClickData(r.ops, onDC.id, component.CustomID)
		all.Go(func() {
			text, err := click.EphemeralText(r.ctx())
			if err != nil {
				t.Errorf("tap %d on Discord: %v", i, err)
			}
			answers[10+i] = text
		})
	}
	all.Wait()
	got := r.final(a)
	require.Len(t, got.DecidedBy, 1, "exactly one outcome")
	require.Len(t, got.Votes, 1)
	outcome := map[bool]string{true: "llowed", false: "enied"}[got.Status == "approved"]
	for _, text := range answers {
		require.Contains(t, text, outcome, "everyone reads the one outcome")
	}
	tg.settled(fmt.Sprint(onTG.ID))
	dc.settled(onDC.id)
}
