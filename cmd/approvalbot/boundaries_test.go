package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/fakechat"
)

// What a decision is tied to: one call, one card, the people and the rules of now.

// unshowable is a call that neither a card nor messages can show: where a chat takes no
// files, its card can only be denied.
var unshowable = `{"n":"` + strings.Repeat("x ", 4000) + `"}`

// whoami makes the bot post a message that is no card and has no buttons.
func (r *rig) whoami() fakechat.TelegramMessage {
	r.t.Helper()
	return r.reply(r.group, r.mallory.Say(r.group, "/whoami"))
}

// menu taps More or Back and waits until the card shows that label.
func (r *rig) menu(id int, tapped, shows string) fakechat.TelegramMessage {
	r.t.Helper()
	r.tap(r.alice, r.group, id, tapped)
	m, err := r.group.WaitMessage(r.ctx(), func(m fakechat.TelegramMessage) bool {
		return m.ID == id && slices.Contains(m.Labels(), shows)
	})
	require.NoError(r.t, err)
	return m
}

// An asker may choose an id, and none that a person could take for another approval:
// who watches sees that one and can decide it.
func TestAdversary_B3_AnIDThatIsAnothersNameIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	good := r.ask(`{"n":"good"}`)
	for _, id := range []string{good.ID[:8], good.Code, strings.ToLower(good.Code), good.ID} {
		_, err := r.client(secondSecret).Create(r.ctx(), api.CreateRequest{
			ID: id, ToolName: "deploy", Params: []byte(`{"n":"evil"}`)}, api.CreateOptions{})
		requireProblem(t, err, "id_conflict")
	}
	s := r.watching(operatorSecret)
	s.says(t, good.Code)
	s.types(t, "y")
	require.EqualValues(t, "approved", r.final(good).Status)
	s.cancel()
	require.Zero(t, s.ends(t))
}

// Where a call is bound to run is part of what runs: on the card, or whole in the
// file that comes before it.
func TestAdversary_S1_B4_TheBoundDirectoryIsShownWhole(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, r *rig, c chat) {
		a := r.exec("rm -rf ./cache", func(q *api.CreateRequest) {
			q.Bind = &api.Bind{Workdir: new("/srv/app"), Host: new("web-1"), EnvHash: new("e5e5")}
		})
		card := c.card(a)
		for _, bound := range []string{"/srv/app", "web-1", "e5e5"} {
			require.Contains(t, card.text, bound)
		}
		long := "/srv/" + strings.Repeat("safe/", 700) + "../../the-end"
		b := r.exec("rm -rf ./cache", func(q *api.CreateRequest) { q.Bind = &api.Bind{Workdir: new(long)} })
		require.Contains(t, c.card(b).labels, "Allow once")
		file := ""
		for _, m := range c.fromBot() {
			file += m.file
		}
		require.Contains(t, file, long)
	})
}

// A chat that becomes a supergroup counts its messages anew: the cards are posted
// again, and an old card's id names nothing there.
func TestAdversary_P4_MigratedChatForgetsTheOldMessageIDs(t *testing.T) {
	t.Parallel()
	r := newRig(t, hearsEverything)
	old := r.tg.AddGroup("small", r.alice, r.bob)
	r.stop()
	r.routing = fmt.Sprintf(`{mode: targets, targets: [{channel: telegram, to: "%d"}]}`, old.ID)
	r.start()
	a := r.ask(`{"n":1}`)
	stale := r.cardIn(old, a)
	super := old.Migrate()
	r.cardIn(super, r.ask(`{"n":2}`)) // from this the desk learns of the move
	card := r.cardIn(super, a)
	require.NotEqual(t, stale.ID, card.ID)

	chatter := r.bob.Say(super, "shall we have lunch?")
	for chatter.ID < stale.ID {
		chatter = r.bob.Say(super, "shall we have lunch?")
	}
	require.Equal(t, stale.ID, chatter.ID)
	r.alice.Say(super, "approve of that, fine", fakechat.TelegramSay{ReplyTo: chatter.ID})
	r.reply(super, r.alice.Say(super, "/whoami")) // what came before it has been handled
	require.EqualValues(t, "pending", r.get(a).Status)
	require.Empty(t, r.get(a).Votes)
	require.Contains(t, r.tap(r.alice, super, card.ID, "Allow once").Text, "Allowed. It may run once")
	r.settled(super, card.ID)
}

// Button data is a claim: it counts only where the message shows that button.
func TestAdversary_I8_AMessageWithoutThatButtonIsNoCard(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.ask(`{"n":1}`)
	r.card(a)
	said := r.whoami()
	for _, data := range []string{"/approve ", "/deny ", "/more ", "/details "} {
		require.Equal(t, "The desk does not know this button.", r.answer(r.alice.TapData(r.group, said.ID, data+a.Code)).Text)
	}
	got := r.get(a)
	require.EqualValues(t, "pending", got.Status)
	require.Empty(t, got.Votes)
	require.Len(t, got.Deliveries, 1, "nothing was adopted")
}

// A card that could not show the call takes no allow by any way of tapping: not
// from its own menu, not from a hand-made button, not from another copy of it.
func TestAdversary_S1_ADenyOnlyCardStaysDenyOnly(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.tg.Fault(fakechat.TelegramFault{Method: "sendDocument", Times: -1, Kind: fakechat.Custom, Code: 400,
		Description: "Bad Request: not enough rights to send documents to the chat"})
	r.tg.Fault(fakechat.TelegramFault{Method: "sendMessage", Kind: fakechat.Reset, When: fakechat.After}) // leaves a copy with an unknown id
	a := r.ask(unshowable)
	copies, err := r.group.WaitMessages(r.ctx(), func(m []fakechat.TelegramMessage) bool { return len(m) == 2 })
	require.NoError(t, err)
	r.until(a, "the second copy is known", func(a api.Approval) bool { return a.Deliveries[0].State == "sent" })
	for _, m := range copies {
		require.NotContains(t, m.Labels(), "Allow once")
		require.NotContains(t, r.answer(r.alice.TapData(r.group, m.ID, "/approve "+a.Code)).Text, "llowed")
	}
	card := copies[1].ID
	require.NotContains(t, r.menu(card, "More", "Back").Labels(), "Allow once")
	require.NotContains(t, r.menu(card, "Back", "More").Labels(), "Allow once")
	require.NotContains(t, r.answer(r.alice.TapData(r.group, card, "/approve "+a.Code)).Text, "llowed")
	require.EqualValues(t, "pending", r.get(a).Status)
	require.Empty(t, r.get(a).Votes)
	require.Contains(t, r.tap(r.alice, r.group, card, "Deny").Text, "Denied")
}

// Rules that a restart tightened hold for what was asked before it.

func TestAdversary_I5_SelfApprovalEndsForWhatWaitsToo(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(r *rig) { r.solo = true })
	a := r.ask(`{"n":1}`, func(c *api.CreateRequest) { c.Requester = &api.Requester{Person: "alice"} })
	card := r.card(a)
	r.stop()
	r.solo = false
	r.start()
	require.Equal(t, "You cannot approve your own request.", r.tap(r.alice, r.group, card.ID, "Allow once").Text)
	require.EqualValues(t, "pending", r.get(a).Status)
	require.Contains(t, r.tap(r.bob, r.group, card.ID, "Allow once").Text, "Allowed. It may run once")
}

func TestAdversary_B5_ARaisedQuorumCountsForWhatWaitsAndVoidsItsVotes(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(r *rig) { r.quorum = map[string]int{"R3": 2} })
	a := r.ask(`{"n":1}`)
	card := r.card(a)
	require.Contains(t, r.tap(r.alice, r.group, card.ID, "Allow once").Text, "1 of 2 yes (alice)")
	r.stop()
	r.quorum = map[string]int{"R3": 3}
	r.allowed = []*fakechat.TelegramUser{r.alice, r.bob, r.carol}
	r.start()
	require.Contains(t, r.tap(r.bob, r.group, card.ID, "Allow once").Text, "1 of 3 yes (bob)")
	require.Contains(t, r.tap(r.carol, r.group, card.ID, "Allow once").Text, "2 of 3 yes (bob, carol)")
	require.EqualValues(t, "pending", r.get(a).Status)
	require.Contains(t, r.tap(r.alice, r.group, card.ID, "Allow once").Text, "Allowed. It may run once")
	require.Len(t, r.final(a).Votes, 3)
}

// What is replaced ends, also where a pending approval answers the replacement.
func TestAdversary_B7_WhatIsSupersededEndsWhenItsReplacementIsJoined(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	session := func(c *api.CreateRequest) { c.SessionKey = "s" }
	old := r.ask(`{"n":1}`, session)
	card := r.card(old)
	other := r.ask(`{"n":2}`, session)
	joined := r.ask(`{"n":2}`, session, func(c *api.CreateRequest) { c.Supersedes = old.ID })
	require.Equal(t, other.Code, joined.Code)
	got := r.get(old)
	require.EqualValues(t, "withdrawn", got.Status)
	require.Equal(t, other.Code, got.SupersededBy)
	r.settled(r.group, card.ID, "Withdrawn")
}

// An account id in another spelling is the same account.
func TestAdversary_I5_TheRequestersIDIsKnownInAnySpelling(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.ask(`{"n":1}`, func(c *api.CreateRequest) {
		c.Requester = &api.Requester{Channel: "telegram", UserID: fmt.Sprintf("00%d", r.alice.ID)}
	})
	require.Equal(t, "You cannot approve your own request.", r.tap(r.alice, r.group, r.card(a).ID, "Allow once").Text)
	require.EqualValues(t, "pending", r.get(a).Status)
}

// A stranger learns nothing from the answers: a code that exists reads like one
// that does not.
func TestAdversary_I1_AStrangerCannotProbeForCodes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.ask(`{"n":1}`)
	r.card(a)
	r.mallory.Start("")
	direct := r.mallory.Chat()
	said := r.reply(direct, r.mallory.Say(direct, "/whoami"))
	for _, verb := range []string{"/approve ", "/more ", "/details "} {
		require.Equal(t, r.answer(r.mallory.TapData(direct, said.ID, verb+"AAAAAA")).Text,
			r.answer(r.mallory.TapData(direct, said.ID, verb+a.Code)).Text, verb)
	}
	require.Equal(t, r.reply(direct, r.mallory.Say(direct, "/approve AAAAAA")).Text,
		r.reply(direct, r.mallory.Say(direct, "/approve "+a.Code)).Text)
}

// Names.

// An owner's own id is the owner's, whatever others call theirs, also with a
// token that may see everybody's.
func TestOwnIDIsReadFirstByWhoMaySeeAll(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	sameID := func(secret, params string) api.Approval {
		a, err := r.client(secret).Create(r.ctx(), api.CreateRequest{ID: "call-1", ToolName: "deploy", Params: []byte(params)}, api.CreateOptions{})
		require.NoError(t, err)
		return a
	}
	mine, theirs := sameID(aliceSecret, `{"n":1}`), sameID(agentSecret, `{"n":2}`)
	got, err := r.client(aliceSecret).Get(r.ctx(), "call-1", 0)
	require.NoError(t, err)
	require.Equal(t, mine.Code, got.Code)
	_, err = r.client(aliceSecret).Resolve(r.ctx(), "call-1", api.ResolveRequest{Decision: "deny"})
	requireProblem(t, err, "ambiguous_id") // deciding takes no guess
	require.EqualValues(t, "pending", r.get(mine).Status)
	require.EqualValues(t, "pending", r.get(theirs).Status)
}

// Ids are only unique to their owners, so a person's session goes by codes.
func TestWatchGoesByCodes(t *testing.T) {
	t.Parallel()
	d := deskFor(t)
	s := start(t, d, "watch")
	s.says(t, "Approve?")
	s.types(t, "y")
	s.says(t, "7KQ2M5: approved")
	require.Contains(t, d.requests(), "/v1/approvals/7KQ2M5/resolve")
	require.NotContains(t, d.requests(), deskID)
	s.cancel()
	require.Equal(t, 0, s.ends(t))
}

// The end shows.

// A chat that refused an edit while the approval waited is tried again at the end.
func TestARefusedEditIsTriedAgainAtTheEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(r *rig) { r.quorum = map[string]int{"R3": 2} })
	a := r.ask(`{"n":1}`)
	card := r.card(a)
	r.tg.Fault(fakechat.TelegramFault{Method: "editMessageText", Kind: fakechat.Custom, Code: 403,
		Description: "Forbidden: bot was kicked from the supergroup chat"})
	r.tap(r.alice, r.group, card.ID, "Allow once")
	r.until(a, "the refused edit is visible", func(a api.Approval) bool { return a.Deliveries[0].Error != "" })
	r.tap(r.bob, r.group, card.ID, "Allow once")
	r.settled(r.group, card.ID, "Allowed once by alice, bob")
}

// A copy whose id was lost comes back at its first tap after the end, whatever
// button that is.
func TestALostCopyShowsTheEndAfterAnyTap(t *testing.T) {
	t.Parallel()
	for _, label := range []string{"Allow once", "Deny", "More"} {
		t.Run(label, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.tg.Fault(fakechat.TelegramFault{Method: "sendMessage", Kind: fakechat.Reset, When: fakechat.After})
			a := r.ask(`{"n":1}`)
			copies, err := r.group.WaitMessages(r.ctx(), func(m []fakechat.TelegramMessage) bool { return len(m) == 2 })
			require.NoError(t, err)
			r.until(a, "the second copy is known", func(a api.Approval) bool { return a.Deliveries[0].State == "sent" })
			r.tap(r.bob, r.group, copies[1].ID, "Deny")
			r.settled(r.group, copies[1].ID, "Denied by bob")
			require.Contains(t, r.tap(r.alice, r.group, copies[0].ID, label).Text, "Already decided: denied by bob")
			r.settled(r.group, copies[0].ID, "Denied by bob")
		})
	}
}

// A menu that opens late does not bring back what its card showed before: neither
// the buttons of one that has ended, nor a tally without a vote that counted.
func TestALateMenuBringsNothingBack(t *testing.T) {
	t.Parallel()
	for name, quorum := range map[string]int{"Denied": 1, "1 of 2 yes (olga)": 2} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(r *rig) { r.quorum = map[string]int{"R3": quorum, "R4": quorum} })
			a := r.ask(`{"n":1}`)
			card := r.card(a)
			menu := r.tg.Fault(fakechat.TelegramFault{Method: "editMessageText", Kind: fakechat.Hang})
			r.tap(r.alice, r.group, card.ID, "More")
			require.NoError(t, r.tg.WaitFor(r.ctx(), func() bool { return r.began("editMessageText") > 0 }))
			decision := map[int]api.Decision{1: api.Deny, 2: api.AllowOnce}[quorum]
			_, err := r.operator().Resolve(r.ctx(), a.Code, api.ResolveRequest{Decision: decision})
			require.NoError(t, err)
			shown := func() bool {
				m, _ := r.group.Message(card.ID)
				return strings.Contains(m.Text, name) && !strings.Contains(m.Text, "choices grant") && decides(m.Labels()) == (quorum == 2)
			}
			require.NoError(t, r.tg.WaitFor(r.ctx(), shown))
			before := r.began("editMessageText")
			menu.Release()
			require.NoError(t, r.tg.WaitFor(r.ctx(), func() bool { return r.began("editMessageText") > before }), "it is drawn once more")
			require.NoError(t, r.tg.WaitFor(r.ctx(), shown))
		})
	}
}

// began counts the calls of a method so far.
func (r *rig) began(method string) (n int) {
	for _, call := range r.tg.Journal() {
		if call.Method == method {
			n++
		}
	}
	return n
}
