package main

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/fakechat"
)

// A role counts as it is at the tap, not as it was when the card was posted.
func TestAdversary_I7_RolesCountAtTheTap(t *testing.T) {
	t.Parallel()
	r := newRig(t, withDiscord, onlyOps, func(r *rig) { r.byRole, r.inOps = true, []string{"bob"} })
	dc, carol := r.chatOn("discord"), r.accounts["carol"]
	r.guild.AddMember(carol, r.approvers)
	a := r.ask(`{"n":1}`)
	card := dc.card(a)
	require.Contains(t, r.told(carol.Slash(r.ops, "whoami", nil)), "You may approve.")
	r.guild.RemoveRole(carol, r.approvers)
	require.Equal(t, refusal, dc.tap("carol", card.id, "Allow once"))
	require.Equal(t, refusal, dc.say("carol", "/approve "+a.Code))
	require.Equal(t, refusal, r.told(carol.Slash(r.ops, "approve", fakechat.DiscordArgs{"code": a.Code})))
	require.EqualValues(t, "pending", r.get(a).Status)
	r.guild.AddMember(carol, r.approvers)
	require.Equal(t, "Allowed. It may run once, within 5 minutes.", dc.tap("carol", card.id, "Allow once"))
}

// In direct messages there are no roles, and a role of another server with the
// same name is another role.
func TestAdversary_I7_NoRolesElsewhere(t *testing.T) {
	t.Parallel()
	r := newRig(t, withDiscord, onlyOps, func(r *rig) { r.byRole, r.inOps = true, []string{"bob"} })
	carol, mallory := r.accounts["carol"], r.accounts["mallory"]
	r.guild.AddMember(carol, r.approvers)
	a := r.ask(`{"n":1}`)
	card := r.chatOn("discord").card(a)
	direct := dcChat{r, carol.DM()}
	require.Equal(t, refusal, direct.say("carol", "/approve "+a.Code))
	require.Equal(t, refusal, r.told(carol.Slash(carol.DM(), "approve", fakechat.DiscordArgs{"code": a.Code})))
	require.Contains(t, r.told(carol.Slash(carol.DM(), "whoami", nil)), "You may not approve")
	foreign := r.dc.AddGuild("elsewhere", mallory)
	own := foreign.AddRole("approvers", fakechat.PermissionAdministrator)
	foreign.AddMember(mallory, own)
	there := dcChat{r, foreign.AddChannel("ops")}
	require.Equal(t, refusal, there.say("mallory", "/approve "+a.Code))
	require.EqualValues(t, "pending", r.get(a).Status)
	require.Empty(t, r.get(a).Votes)
	require.Contains(t, r.chatOn("discord").tap("carol", card.id, "Allow once"), "Allowed. It may run once")
}

// An approver in the role needs a person only where more than one must approve.
func TestAdversary_I4_OnlyPeopleDecideOnDiscord(t *testing.T) {
	t.Parallel()
	r := newRig(t, withDiscord, onlyOps, func(r *rig) { r.byRole = true })
	dc := r.chatOn("discord")
	r.accounts["agent"] = r.dc.AddUser(fakechat.DiscordProfile{Username: "agent", Bot: true})
	r.guild.AddMember(r.accounts["agent"], r.approvers)
	a := r.ask(`{"n":1}`)
	card := dc.card(a)
	mention := "<@" + r.dc.BotUserID() + "> "
	r.ops.SayWebhook("alice", mention+"/approve "+a.Code)
	r.accounts["agent"].Say(r.ops, "/approve "+a.Code, fakechat.DiscordSay{MentionBot: true})
	require.Equal(t, refusal, dc.press("agent", card.id, "/approve "+a.Code))
	require.NotEmpty(t, dc.say("alice", "/whoami")) // whatever came before it has been stored
	require.EqualValues(t, "pending", r.get(a).Status)
	require.Empty(t, r.get(a).Votes)
	require.Len(t, dc.fromBot(), 2, "a bot is not answered")
}

func TestAdversary_I8_HandMadeCustomIDs(t *testing.T) {
	t.Parallel()
	r := newRig(t, withDiscord, func(r *rig) {
		r.routing = "{mode: targets, targets: [" + inOps + "]}"
	})
	dc, alice := r.chatOn("discord"), r.accounts["alice"]
	other := r.guild.AddChannel("other")
	a, b := r.exec("python3 x.py"), r.exec("python3 y.py") // nothing to be granted for long
	cardA, cardB := dc.card(a), dc.card(b)
	for what, data := range map[string]string{
		"another approval in the menu":        "/approve " + b.Code + "@" + cardA.id,
		"a menu of no card":                   "/approve " + a.Code,
		"a scope that the menu did not offer": "/approve " + a.Code + " always@" + cardA.id,
	} {
		menu, err := alice.Click(r.ops, cardA.id, "More").Ephemeral(r.ctx())
		require.NoError(t, err)
		click := alice.ClickData(r.ops, menu.ID, data)
		require.NoError(t, r.dc.WaitFor(r.ctx(), func() bool {
			menu, _ = click.Original()
			return menu.ID != "" && len(menu.Rows) == 0
		}), what)
		require.NotContains(t, menu.Text(), "llowed", what)
	}
	hello := alice.Say(r.ops, "hello").ID
	for what, click := range map[string]*fakechat.DiscordInteraction{
		"another approval's code on this card":  alice.ClickData(r.ops, cardA.id, "/approve "+b.Code),
		"another card's mark on this card":      alice.ClickData(r.ops, cardA.id, "/approve "+b.Code+"@"+cardB.id),
		"an unknown payload":                    alice.ClickData(r.ops, cardA.id, "approve everything"),
		"an unknown code":                       alice.ClickData(r.ops, cardA.id, "/approve ZZZZZZ"),
		"a message of a person":                 alice.ClickData(r.ops, hello, "/approve "+a.Code),
		"a message of a person, marked":         alice.ClickData(r.ops, hello, "/approve "+a.Code+"@"+cardA.id),
		"a channel that got no card":            alice.ClickData(other, alice.Say(other, "hi").ID, "/approve "+a.Code),
		"the wrong scope":                       alice.ClickData(r.ops, cardA.id, "/approve "+a.Code+" always"),
		"a scope for a session":                 alice.ClickData(r.ops, cardA.id, "/approve "+a.Code+" session"),
		"a select instead of a button":          alice.Select(r.ops, hello, "/approve "+a.Code, "/approve "+a.Code),
		"installed by the person, in a foreign": alice.Installed().ClickData(other, alice.Say(other, "x").ID, "/approve "+a.Code),
	} {
		require.NotContains(t, r.told(click), "llowed", what)
	}
	require.EqualValues(t, "pending", r.get(a).Status)
	require.EqualValues(t, "pending", r.get(b).Status)
	require.Empty(t, r.get(a).Votes)
	require.Empty(t, r.get(b).Votes)
}

// A stranger who sends the form that an approver was shown gives no reason.
func TestAdversary_I8_SomebodyElsesForm(t *testing.T) {
	t.Parallel()
	r := newRig(t, withDiscord, onlyOps)
	dc := r.chatOn("discord")
	a := r.ask(`{"n":1}`)
	card := dc.card(a)
	form := r.denyWithAReason("bob", card)
	require.EqualValues(t, "denied", r.final(a).Status)
	for _, who := range []string{"mallory", "alice"} {
		require.NotContains(t, r.told(r.accounts[who].SubmitModal(form, map[string]string{"reason": "I was here"})), "Noted", who)
	}
	require.Empty(t, r.get(a).Reason)
	require.Contains(t, r.told(r.accounts["bob"].SubmitModal(form, map[string]string{"reason": "mine"})), "Noted.")
	dc.settled(card.id, "Denied by bob, ", ": mine")
}

func TestAdversary_I13_ForeignPlacesOnDiscord(t *testing.T) {
	t.Parallel()
	r := newRig(t, withDiscord, onlyOps)
	_, err := r.agent().Create(r.ctx(), api.CreateRequest{ToolName: "deploy", Params: []byte(`{}`), Origin: &api.Target{Channel: "discord", To: "777"}}, api.CreateOptions{})
	requireProblem(t, err, "origin_not_allowed")
	alice, mallory := r.accounts["alice"], r.accounts["mallory"]
	foreign := r.dc.AddGuild("elsewhere", alice, mallory).AddChannel("ops")
	there := dcChat{r, foreign}
	a := r.ask(`{"n":1}`)
	card := r.chatOn("discord").card(a)
	for _, text := range []string{"/pending", "/show " + a.Code, "/approve " + a.Code} {
		got := there.say("alice", text)
		require.NotContains(t, got, "deploy", text)
		require.Contains(t, got, "not one of the desk's", text)
	}
	for name, args := range map[string]fakechat.DiscordArgs{"pending": nil, "show": {"code": a.Code}, "approve": {"code": a.Code}} {
		got := r.told(alice.Slash(foreign, name, args))
		require.NotContains(t, got, "deploy", name)
		require.Contains(t, got, "not one of the desk's", name)
		require.Equal(t, refusal, r.told(mallory.Slash(r.ops, name, args)), name)
	}
	for _, who := range []*fakechat.DiscordUser{alice, mallory} {
		suggested, err := who.Autocomplete(foreign, "approve", fakechat.DiscordArgs{"code": ""}, "code").Response(r.ctx())
		require.NoError(t, err)
		require.Empty(t, suggested.Choices)
	}
	require.Equal(t, refusal, dcChat{r, mallory.DM()}.say("mallory", "/pending"))
	require.Contains(t, there.say("mallory", "/whoami"), "You may not approve")
	require.EqualValues(t, "pending", r.get(a).Status)
	require.Equal(t, []string{"Allow once", "Deny", "More"}, card.labels)
}

// P7: drops, op 7 and op 9 lose no tap; between them the session goes on.
func TestAdversary_P7_TheGatewayComesAndGoes(t *testing.T) {
	for name, cut := range map[string]func(*fakechat.DiscordGateway){
		"a drop":           (*fakechat.DiscordGateway).Drop,
		"op 7":             (*fakechat.DiscordGateway).Reconnect,
		"op 9, resumable":  func(g *fakechat.DiscordGateway) { g.InvalidSession(true) },
		"op 9":             func(g *fakechat.DiscordGateway) { g.InvalidSession(false) },
		"close code 4000":  func(g *fakechat.DiscordGateway) { g.CloseWith(4000) },
		"a refused resume": func(g *fakechat.DiscordGateway) { g.EndSessions(); g.Drop() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, withDiscord, onlyOps)
			dc, g := r.chatOn("discord"), r.dc.Gateway()
			a := r.ask(`{"n":1}`)
			card := dc.card(a)
			again := g.Identifies() + g.Resumes() + 1
			cut(g)
			require.NoError(t, r.dc.WaitFor(r.ctx(), func() bool { return g.Identifies()+g.Resumes() >= again }))
			require.NoError(t, g.WaitReady(r.ctx()))
			require.Equal(t, "Allowed. It may run once, within 5 minutes.", dc.tap("alice", card.id, "Allow once"))
			dc.settled(card.id, "Allowed once by alice")
		})
	}
}

// What is done while the connection is away is heard once it resumes.
func TestAdversary_P7_ATapDuringADropCounts(t *testing.T) {
	t.Parallel()
	r := newRig(t, withDiscord, onlyOps)
	dc, g := r.chatOn("discord"), r.dc.Gateway()
	a := r.ask(`{"n":1}`)
	card := dc.card(a)
	g.HoldHello(true)
	g.Drop()
	tap := r.accounts["alice"].Click(r.ops, card.id, "Allow once")
	g.HoldHello(false)
	require.EqualValues(t, "approved", r.final(a).Status)
	dc.settled(card.id, "Allowed once by alice")
	require.Contains(t, r.told(tap), "Allowed. It may run once")
	require.Equal(t, 1, g.Identifies())
}

// Fatal close codes stop the adapter with a clear word; the desk stays ready and
// Telegram goes on.
func TestAdversary_P7_FatalCodesAreSaid(t *testing.T) {
	for name, c := range map[string]struct {
		code int
		says string
	}{
		"4004": {4004, "Discord does not accept the bot token"},
		"4014": {4014, "close code 4014"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, withDiscord)
			tg, g := r.chatOn("telegram"), r.dc.Gateway()
			r.connected() // the fake knows that it is connected before the desk does
			g.RefuseWith(c.code, -1)
			g.CloseWith(c.code)
			a := r.ask(`{"n":1}`)
			onTG := tg.card(a)
			r.until(a, "the close code is shown", func(api.Approval) bool { return !r.readyz().Channels["discord"].Up })
			ready := r.readyz()
			require.True(t, ready.Ready)
			require.True(t, ready.Channels["telegram"].Up)
			require.Contains(t, ready.Channels["discord"].Detail, c.says)
			require.NotContains(t, ready.Channels["discord"].Detail, r.dc.Token())
			require.Equal(t, "Allowed. It may run once, within 5 minutes.", tg.tap("alice", onTG.id, "Allow once"))
			require.Equal(t, 1, g.Identifies(), "it is not tried again")
			r.stopInTime()
		})
	}
}

// readyz asks whether the desk is ready; it must say yes.
func (r *rig) readyz() (got api.Ready) {
	r.t.Helper()
	resp, err := http.Get(r.url + "/readyz")
	require.NoError(r.t, err)
	defer resp.Body.Close()
	require.Equal(r.t, http.StatusOK, resp.StatusCode)
	require.NoError(r.t, json.NewDecoder(resp.Body).Decode(&got))
	return got
}
