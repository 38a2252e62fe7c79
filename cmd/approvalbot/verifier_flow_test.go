package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/approval"
	"approvalbot/internal/config/effective"
	"approvalbot/internal/fakechat"
)

// verifierRoom is the verifier's own chat. Its people are vera, whom nobody mapped,
// victor, who is a person of the configuration, and alice, who is an approver too. The
// channel's bot asks there, or another one.
type verifierRoom struct {
	*fakechat.TelegramChat
	tg                  *fakechat.Telegram
	vera, victor, alice *fakechat.TelegramUser
	place               string // as the API names it
}

// withVerifier starts the desk anew with a verifier's chat.
func (r *rig) withVerifier(ownBot bool, more string) verifierRoom {
	r.t.Helper()
	v := verifierRoom{tg: r.tg, alice: r.alice}
	keys, channel := "", "telegram"
	if ownBot {
		v.tg = fakechat.NewTelegram(r.t, fakechat.TelegramOptions{Token: "777:VERIFIER", Username: "verifier_test_bot", AnswerWindow: patient})
		v.alice = v.tg.AddUser(fakechat.TelegramProfile{ID: r.alice.ID, FirstName: "Alice"})
		keys, channel = fmt.Sprintf(`, botToken: "777:VERIFIER", apiUrl: %q`, v.tg.URL()), "verifier"
		r.t.Cleanup(func() {
			if r.t.Failed() {
				r.t.Log(v.tg.Transcript())
			}
		})
	}
	v.vera = v.tg.AddUser(fakechat.TelegramProfile{ID: 4_700_000_001, FirstName: "Vera"})
	v.victor = v.tg.AddUser(fakechat.TelegramProfile{ID: 4_700_000_002, FirstName: "Victor"})
	v.TelegramChat = v.tg.AddSupergroup("verifiers", v.vera, v.victor, v.alice)
	v.place = fmt.Sprintf("%s:%d", channel, v.ID)
	r.stop()
	r.people = fmt.Sprintf("  - {name: alice, telegram: %d%s}\n  - {name: bob, telegram: %d%s}\n  - {name: victor, telegram: %d}\n",
		r.alice.ID, r.discordOf("alice"), r.bob.ID, r.discordOf("bob"), v.victor.ID)
	r.top = fmt.Sprintf("tools:\n  verifier: {enabled: true%s, telegram: {enabled: true, chatId: %d, allowedUserIds: [%d, %d, %d]%s}}\n",
		more, v.ID, v.vera.ID, v.victor.ID, v.alice.ID, keys)
	r.start()
	r.discordReady()
	return v
}

// bots are the two ways in which the verifier's chat is asked.
func bots(t *testing.T, test func(t *testing.T, ownBot bool)) {
	for name, own := range map[string]bool{"the channel's bot": false, "a bot of its own": true} {
		t.Run(name, func(t *testing.T) { test(t, own) })
	}
}

func places(a api.Approval) []string {
	var out []string
	for _, d := range a.Deliveries {
		out = append(out, d.Target)
	}
	slices.Sort(out)
	return out
}

// I6: the verifier's people fill the verifier's need. They fill no quorum, are not the
// human that policy wants, give no wider scope, and leave no grant.
func TestAdversary_I6_TheVerifiersPeopleFillNoQuorum(t *testing.T) {
	t.Parallel()
	bots(t, func(t *testing.T, ownBot bool) {
		r := newRig(t, withDiscord, twoNeeded)
		room := r.withVerifier(ownBot, "")
		tg, dc := r.chatOn("telegram"), r.chatOn("discord")
		a := r.exec("git push origin main", inSessionS)
		require.True(t, a.Approvers.Verifier)
		require.Equal(t, 2, a.Approvers.MinApprovals)
		want := []string{fmt.Sprintf("telegram:%d", r.group.ID), "discord:" + r.ops.ID, room.place}
		slices.Sort(want)
		require.Equal(t, want, places(a), "a card that both want goes where both are")
		card, onTG, onDC := r.cardIn(room.TelegramChat, a), tg.card(a), dc.card(a)
		require.Contains(t, card.Text, "approvers: 0 of 2 yes; verifier's people: 0 of 1 yes")

		session := r.reply(room.TelegramChat, room.vera.Say(room.TelegramChat, "/approve@"+botName(ownBot)+" "+a.Code+" session"))
		require.Contains(t, session.Text, "cover only this call")
		require.Contains(t, r.tap(room.vera, room.TelegramChat, card.ID, "Allow once").Text, "approvers: 0 of 2 yes; verifier's people: 1 of 1 yes")
		require.Contains(t, r.tap(room.victor, room.TelegramChat, card.ID, "Allow once").Text, "approvers: 0 of 2 yes; verifier's people: 2 of 1 yes")
		got := r.get(a)
		require.EqualValues(t, "pending", got.Status)
		require.True(t, got.Votes[0].VerifierOnly && got.Votes[1].VerifierOnly)
		onDC = dc.waitText("verifier's people: 2 of 1")

		require.Contains(t, dc.tap("bob", onDC.id, "Allow once"), "approvers: 1 of 2 yes (bob)")
		require.EqualValues(t, "pending", r.get(a).Status)
		_, err := r.client(aliceSecret).Resolve(r.ctx(), a.Code, api.ResolveRequest{Decision: api.AllowSession})
		require.NoError(t, err)
		got = r.final(a)
		require.EqualValues(t, "approved", got.Status)
		require.EqualValues(t, "allow-once", got.Decision, "the narrowest of the approvers'")
		require.Equal(t, []string{"person:bob", "person:alice", fmt.Sprintf("telegram:%d", room.vera.ID), "person:victor"}, got.DecidedBy)
		tg.settled(onTG.id, "Allowed once by bob, alice")
		r.settled(room.TelegramChat, card.ID, "Allowed once by bob, alice")
	})
}

// I6: what only the verifier wants is asked in its chat alone, and only its people can
// allow it. Who is in both lists counts for both.
func TestAdversary_I6_OnlyTheVerifiersPeopleAllowWhatOnlyTheyAreAskedAbout(t *testing.T) {
	t.Parallel()
	bots(t, func(t *testing.T, ownBot bool) {
		r := newRig(t, withDiscord)
		room := r.withVerifier(ownBot, "")
		a := r.tryExec("ls")
		require.EqualValues(t, "pending", a.Status)
		require.Equal(t, []string{room.place}, places(a))
		require.Zero(t, a.Approvers.MinApprovals)
		require.False(t, a.Approvers.RequiresHuman)
		card := r.cardIn(room.TelegramChat, a)
		_, err := r.operator().Resolve(r.ctx(), a.Code, api.ResolveRequest{Decision: api.AllowOnce})
		requireProblem(t, err, "not_an_approver")
		require.Contains(t, r.chatOn("discord").say("alice", "/deny ZZZZZZ"), "no request")
		require.Contains(t, r.tap(room.vera, room.TelegramChat, card.ID, "Allow once").Text, "Allowed. It may run once")
		r.settled(room.TelegramChat, card.ID, "Allowed once")

		b := r.tryExec("ls -l")
		_, err = r.operator().Resolve(r.ctx(), b.Code, api.ResolveRequest{Decision: api.Deny, Reason: "no"})
		require.NoError(t, err, "any approver may say no")
		require.EqualValues(t, "denied", r.final(b).Status)

		c := r.exec("git push origin main")
		require.Contains(t, r.tap(room.alice, room.TelegramChat, r.cardIn(room.TelegramChat, c).ID, "Allow once").Text, "Allowed. It may run once")
		require.EqualValues(t, "approved", r.final(c).Status)
		require.Empty(t, r.group.FromBot()[:max(0, len(r.group.FromBot())-1)], "of these only the last concerned the approvers")
	})
}

// I6: in a chat of the verifier's own only its people tap and type; an approver who is none of them
// decides where approvers are asked.
func TestAdversary_I6_InTheVerifiersChatOnlyItsPeopleTap(t *testing.T) {
	t.Parallel()
	bots(t, func(t *testing.T, ownBot bool) {
		r := newRig(t)
		room := r.withVerifier(ownBot, "")
		bob := r.bob
		if ownBot {
			bob = room.tg.AddUser(fakechat.TelegramProfile{ID: r.bob.ID, FirstName: "Bob"})
		}
		a := r.exec("git push origin main")
		own, card := r.cardIn(room.TelegramChat, a), r.card(a)
		for _, label := range []string{"Allow once", "Deny"} {
			require.Equal(t, refusal, r.tap(bob, room.TelegramChat, own.ID, label).Text, label)
		}
		require.Equal(t, refusal, r.reply(room.TelegramChat, bob.Say(room.TelegramChat, "/approve@"+botName(ownBot)+" "+a.Code)).Text)
		require.Empty(t, r.get(a).Votes)
		require.Contains(t, r.tap(r.bob, r.group, card.ID, "Allow once").Text, "approvers: 1 of 1 yes (bob)")
		require.Contains(t, r.tap(room.vera, room.TelegramChat, own.ID, "Allow once").Text, "Allowed. It may run once")
	})
}

// W6: a grant stands for the approvers' yes and for nobody else's, and does so no
// longer than it lives.
func TestAdversary_W6_AGrantDoesNotStandForTheVerifiersPeople(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	room := r.withVerifier(true, "")
	a := r.exec("git push origin main", inSessionS)
	r.tap(room.vera, room.TelegramChat, r.cardIn(room.TelegramChat, a).ID, "Allow once")
	require.Contains(t, r.reply(r.group, r.bob.Say(r.group, "/approve "+a.Code+" session")).Text, "Allowed for the session. It may run once")
	grants, err := r.operator().Grants(r.ctx(), api.GrantFilter{})
	require.NoError(t, err)
	require.Equal(t, []string{"person:bob"}, grants.Items[0].By)

	again := func() api.Approval {
		b := r.tryExec("git push origin main", inSessionS)
		require.EqualValues(t, "pending", b.Status, "the verifier's people are asked about each call")
		require.Equal(t, []string{room.place}, places(b))
		r.tap(room.vera, room.TelegramChat, r.cardIn(room.TelegramChat, b).ID, "Allow once")
		b = r.final(b)
		require.Equal(t, []string{"grant:" + grants.Items[0].ID, fmt.Sprintf("telegram:%d", room.vera.ID)}, b.DecidedBy)
		return b
	}
	_, err = r.agent().Claim(r.ctx(), again().ID, api.ClaimRequest{})
	require.NoError(t, err)

	// Who gave the grant does not get their own call through by joining another's.
	c := r.tryExec("git push origin main", inSessionS, func(c *api.CreateRequest) { c.ID = "third" })
	r.tryExec("git push origin main", inSessionS, func(c *api.CreateRequest) {
		c.ID, c.Requester = "third", &api.Requester{Person: "bob"}
	})
	r.tap(room.vera, room.TelegramChat, r.cardIn(room.TelegramChat, c).ID, "Allow once")
	r.final(c)
	_, err = r.agent().Claim(r.ctx(), c.ID, api.ClaimRequest{})
	requireProblem(t, err, "not_claimable", "policy")

	b := again()
	require.NoError(t, r.operator().EndGrant(r.ctx(), grants.Items[0].ID))
	_, err = r.agent().Claim(r.ctx(), b.ID, api.ClaimRequest{})
	requireProblem(t, err, "not_claimable", "policy")
}

// B5: where approvers must say yes from now on, they get cards, and what the
// verifier's people said before is void. Whom the verifier lists no more has no say.
func TestAdversary_B5_ApproversAreAskedBesideTheVerifier(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	room := r.withVerifier(true, "")
	a := r.tryExec("ls")
	r.cardIn(room.TelegramChat, a)
	reload := func() {
		require.NoError(t, os.WriteFile(filepath.Join(r.dir, "approvalbot.yaml"), []byte(r.yaml()), 0o600))
		_, err := r.operator().Reload(r.ctx())
		require.NoError(t, err)
	}
	r.tools = "    mode: always\n"
	reload()
	card := r.card(a)
	require.Contains(t, card.Text, "approvers: 0 of 1 yes; verifier's people: 0 of 1 yes")
	require.Contains(t, r.tap(r.bob, r.group, card.ID, "Allow once").Text, "approvers: 1 of 1 yes (bob)")
	require.EqualValues(t, "pending", r.get(a).Status)

	r.top = strings.Replace(r.top, fmt.Sprint(room.vera.ID), "12345", 1)
	reload()
	onOwn := r.cardIn(room.TelegramChat, a)
	require.Equal(t, refusal, r.tap(room.vera, room.TelegramChat, onOwn.ID, "Allow once").Text)
	require.Equal(t, refusal, r.tap(room.vera, room.TelegramChat, onOwn.ID, "Deny").Text)
	require.Contains(t, r.tap(room.alice, room.TelegramChat, onOwn.ID, "Allow once").Text, "Allowed. It may run once")
}

// The verifier's own bot has the whole life of a bot: it asks, hears taps and typed
// commands, shows how it ended, also after a restart, and is looked at.
func TestFlow_TheVerifiersOwnBot(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	room := r.withVerifier(true, "")
	ready := func() api.Ready { s, err := r.agent().Ready(r.ctx()); require.NoError(t, err); return s }
	require.Eventually(t, func() bool { return ready().Channels["verifier"].Up }, patient, 5*time.Millisecond)

	waits := r.tryExec("ls")
	card := r.cardIn(room.TelegramChat, waits)
	require.Empty(t, r.group.FromBot(), "the approvers are not asked")
	typed := r.tryExec("ls -a")
	r.cardIn(room.TelegramChat, typed)
	answer := r.reply(room.TelegramChat, room.vera.Say(room.TelegramChat, "/deny@verifier_test_bot "+typed.Code+" not today"))
	require.Contains(t, answer.Text, "Denied")
	require.EqualValues(t, "denied", r.final(typed).Status)

	r.stop()
	tap := room.vera.Tap(room.TelegramChat, card.ID, "Allow once") // waits on Telegram
	r.start()
	require.EqualValues(t, "approved", r.final(waits).Status)
	require.Contains(t, r.answer(tap).Text, "Allowed. It may run once")
	r.settled(room.TelegramChat, card.ID, "Allowed once by telegram user")
	require.Contains(t, r.answer(room.vera.TapData(room.TelegramChat, card.ID, "/deny "+waits.Code)).Text, "Already decided")

	require.Eventually(t, func() bool { s := ready(); return s.Channels["verifier"].Up && s.Channels["telegram"].Up }, patient, 5*time.Millisecond)
	found := r.doctor()
	require.Zero(t, found.code, found.out)
	for _, line := range []string{
		"ok    verifier: the token is good, the bot is @verifier_test_bot", "ok    verifier: taps come by polling",
		fmt.Sprintf("ok    verifier chat verifier:%d: supergroup \"verifiers\": the bot is in it", room.ID),
		fmt.Sprintf("telegram user %d: Vera is in verifier:%d", room.vera.ID, room.ID),
	} {
		require.Contains(t, found.out, line)
	}
	require.NotContains(t, found.out+r.logs.String(), "777:VERIFIER")

	// A group that becomes a supergroup, or a bot that is taken away, concern that bot
	// alone.
	room.Kick()
	gone := r.tryExec("ls -l")
	r.until(gone, "it reached nobody", func(a api.Approval) bool { return !a.Reached })
	require.Equal(t, []string{room.place}, places(r.get(gone)), "nor do the approvers' chats get it instead")
	lost := r.doctor()
	require.Contains(t, lost.out, fmt.Sprintf("verifier chat verifier:%d", room.ID))
	require.Contains(t, lost.out, "was removed from this chat")
}

// Without another chat the verifier's own bot is enough.
func TestFlow_TheVerifiersBotAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	room := r.withVerifier(true, ", scope: {include: [exec]}")
	r.stop()
	text := strings.Replace(r.yaml(), `botToken: "123456:TEST"`, `botToken: ""`, 1)
	file := filepath.Join(r.dir, "approvalbot.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	cfg, _, err := effective.Load(file, nil, nil)
	require.NoError(t, err)
	require.False(t, cfg.Channels.Bots["telegram"].On())
	require.True(t, effective.VerifierBot(cfg).On())
	require.Equal(t, []approval.Target{{Channel: "verifier", To: fmt.Sprint(room.ID)}}, effective.VerifierChats(cfg))
}

func botName(own bool) string {
	if own {
		return "verifier_test_bot"
	}
	return "approval_test_bot"
}

func inSessionS(c *api.CreateRequest) { c.SessionKey = "s" }

// Several instances have one poller of the verifier's own bot; any takes the request, and
// what waits on one that ends is heard by the next.
func TestCluster_TheVerifiersBotHasOnePoller(t *testing.T) {
	t.Parallel()
	a := newRig(t, onPostgres(t))
	room := a.withVerifier(true, "")
	b := a.another()
	x := b.tryExec("ls")
	card := b.cardIn(room.TelegramChat, x)
	b.tap(room.vera, room.TelegramChat, card.ID, "Allow once")
	require.EqualValues(t, "approved", b.final(x).Status)
	a.stop()
	y := b.tryExec("ls -l")
	b.tap(room.vera, room.TelegramChat, b.cardIn(room.TelegramChat, y).ID, "Deny")
	require.EqualValues(t, "denied", b.final(y).Status)
	for _, call := range room.tg.Calls("getUpdates") {
		require.NotEqual(t, http.StatusConflict, call.Status, "two pollers on one token")
	}
}

// failMode is about the verifier's chat, too: where it cannot be reached, allow lets a call run that policy allows,
// loudly, and deny refuses it at once. That its people say nothing allows nothing.
func TestFlow_TheVerifiersChatCannotBeReached(t *testing.T) {
	t.Parallel()
	bots(t, func(t *testing.T, ownBot bool) {
		r := newRig(t, func(r *rig) {
			r.routing = `{mode: targets, targets: [{channel: telegram, to: "GROUP"}], fallbackAfter: 500ms}`
		})
		room := r.withVerifier(ownBot, ", failMode: allow")
		asked := r.tryExec("ls")
		r.cardIn(room.TelegramChat, asked)
		room.Kick()

		passed := r.final(r.tryExec("ls -la"))
		require.EqualValues(t, "approved", passed.Status)
		require.Equal(t, []string{"policy"}, passed.DecidedBy)
		require.Contains(t, passed.Reason, "tools.verifier.failMode lets the call pass")
		require.Contains(t, passed.ReasonCodes, "verifier-unreachable")
		_, err := r.agent().Claim(r.ctx(), passed.ID, api.ClaimRequest{})
		require.NoError(t, err)
		require.Contains(t, r.good("audit", "list", "--type", "audit.failed_open", "--json"), "tools.verifier.failMode")
		require.Contains(t, r.logs.String(), "a call was allowed without the verifier's people, as failMode says")
		require.EqualValues(t, "pending", r.get(asked).Status, "its card is in the chat, and is silent")

		both := r.tryExec("git push origin main")
		card := r.card(both)
		r.until(both, "only approvers are asked", func(a api.Approval) bool { return !a.Approvers.Verifier })
		require.EqualValues(t, "pending", r.get(both).Status, "policy asks approvers, whose yes nothing stands for")
		r.tap(r.bob, r.group, card.ID, "Allow once")
		require.EqualValues(t, "approved", r.final(both).Status)

		late := r.final(r.tryExec("ls -l"))
		r.top = strings.Replace(r.top, "failMode: allow", "failMode: deny", 1)
		r.reload()
		_, err = r.agent().Claim(r.ctx(), late.ID, api.ClaimRequest{})
		require.ErrorContains(t, err, "the verifier's people must now say yes to the call")

		denied := r.final(r.tryExec("ls -a"))
		require.EqualValues(t, "denied", denied.Status)
		require.Contains(t, denied.Reason, "the verifier's people could not be asked")
	})
}

// A platform that answers nothing is a chat that cannot be reached; one that limits the desk is only late, whatever
// an agent asks meanwhile.
func TestFlow_TheVerifiersPlatformIsAway(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(r *rig) {
		r.routing = `{mode: targets, targets: [{channel: telegram, to: "GROUP"}], fallbackAfter: 500ms}`
	})
	room := r.withVerifier(true, ", failMode: allow")
	limited := room.tg.Fault(fakechat.TelegramFault{Method: "sendMessage", Times: -1, Kind: fakechat.TooManyRequests, RetryAfter: 1})
	a := r.tryExec("ls")
	r.looked(a, time.Now())
	require.EqualValues(t, "pending", r.get(a).Status, "its card waits behind a limit")
	limited.Remove()
	r.cardIn(room.TelegramChat, a)

	room.tg.Fault(fakechat.TelegramFault{Method: "sendMessage", Times: -1, Kind: fakechat.Reset})
	b := r.final(r.tryExec("ls -la"))
	require.EqualValues(t, "approved", b.Status)
	require.Equal(t, []string{"policy"}, b.DecidedBy)
	require.EqualValues(t, "pending", r.get(a).Status)
}
