package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/fakechat"
)

// asksAgain reports whether an answer asks for the second button of an R4 call.
func asksAgain(answer string) bool { return strings.Contains(answer, "Only “Yes, run” counts") }

// yesOn is the data of the second button on a message; empty: it has none.
func yesOn(rows [][]fakechat.TelegramButton) string {
	for _, b := range slices.Concat(rows...) {
		if strings.HasPrefix(b.Text, "Yes, run") {
			return b.CallbackData
		}
	}
	return ""
}

// yes waits for the second button on a message.
func (r *rig) yes(chat *fakechat.TelegramChat, id int) (data string) {
	r.t.Helper()
	_, err := chat.WaitMessage(r.ctx(), func(m fakechat.TelegramMessage) bool {
		if m.ID == id {
			data = yesOn(m.Buttons)
		}
		return data != ""
	})
	require.NoError(r.t, err)
	return data
}

func (c tgChat) once(who, id, code string) (string, string) {
	c.r.t.Helper()
	if m, _ := c.chat.Message(c.number(id)); yesOn(m.Buttons) != "" { // of whoever tapped before
		c.press(who, id, "/back "+code)
		_, err := c.chat.WaitMessage(c.r.ctx(), func(m fakechat.TelegramMessage) bool {
			return m.ID == c.number(id) && yesOn(m.Buttons) == ""
		})
		require.NoError(c.r.t, err)
	}
	require.True(c.r.t, asksAgain(c.press(who, id, "/approve "+code)))
	return id, c.r.yes(c.chat, c.number(id))
}

func (c tgChat) typed(who, text string) (string, string) {
	c.r.t.Helper()
	m := c.r.reply(c.chat, c.user(who).Say(c.chat, text))
	require.True(c.r.t, asksAgain(m.Text), m.Text)
	return tgShown(m).id, yesOn(m.Buttons)
}

func (c dcChat) once(who, id, code string) (string, string) {
	c.r.t.Helper()
	return c.asked(c.user(who).ClickData(c.chat, id, "/approve "+code))
}

// asked gives the second button that a click brought, for that person alone.
func (c dcChat) asked(click *fakechat.DiscordInteraction) (message, data string) {
	c.r.t.Helper()
	m, err := click.Ephemeral(c.r.ctx())
	require.NoError(c.r.t, err)
	require.True(c.r.t, asksAgain(dcText(m.Text())), m.Text())
	return m.ID, dcYes(m)
}

func dcYes(m fakechat.DiscordMessage) string {
	for _, b := range slices.Concat(m.Rows...) {
		if strings.HasPrefix(b.Label, "Yes, run") {
			return b.CustomID
		}
	}
	return ""
}

func (c dcChat) typed(who, text string) (string, string) {
	c.r.t.Helper()
	said := c.said(who, text)
	m, err := c.chat.WaitMessage(c.r.ctx(), func(m fakechat.DiscordMessage) bool { return m.ReplyTo == said.ID })
	require.NoError(c.r.t, err)
	return m.ID, dcYes(m)
}

func (r *rig) apply() api.Approval { r.t.Helper(); return r.exec("terraform apply plan.out") }

// An R4 call's Allow is answered by a second button, and only that counts: on the card, behind More,
// typed, in a reply; also after a restart, since the button's own data says all.
func TestConfirm_OnlyTheSecondButtonCounts(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]func(c chat, a api.Approval, card shown) (message, data string){
		"tapped": func(c chat, a api.Approval, card shown) (string, string) { return c.once("alice", card.id, a.Code) },
		"slash":  func(c chat, a api.Approval, _ shown) (string, string) { return c.typed("alice", "/approve "+a.Code) },
		"plain": func(c chat, a api.Approval, _ shown) (string, string) {
			return c.typed("alice", "approve "+a.Code+" fine")
		},
		"restarted": func(c chat, a api.Approval, card shown) (string, string) {
			message, data := c.once("alice", card.id, a.Code)
			return message, data
		},
	} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, r *rig, c chat) {
				a := r.apply()
				message, data := first(c, a, c.card(a))
				require.NotEmpty(t, data)
				require.EqualValues(t, "pending", r.get(a).Status)
				require.Empty(t, r.get(a).Votes, "the first step is no vote")
				if name == "restarted" {
					r.stop()
					r.start()
					r.discordReady()
				}
				require.Contains(t, c.press("alice", message, data), "Allowed. It may run once")
				require.EqualValues(t, "approved", r.final(a).Status)
			})
		})
	}
}

// The second button is one person's, for one decision on one state of one call.
func TestConfirm_TheButtonIsBound(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, r *rig, c chat) {
		a, other := r.apply(), r.exec("rm -rf ./cache")
		card, otherCard := c.card(a), c.card(other)
		_, data := c.once("alice", card.id, a.Code)
		cut := strings.Split(data, " ")
		proof, _, _ := strings.Cut(cut[3], "@")
		pending := func(a api.Approval, why string) {
			t.Helper()
			got := r.get(a)
			require.EqualValues(t, "pending", got.Status, why)
			require.Empty(t, got.Votes, why)
		}
		c.press("alice", otherCard.id, "/confirm "+other.Code+" allow-once "+proof)
		pending(other, "another call's")
		c.press("alice", otherCard.id, "/confirm "+a.Code+" allow-once "+proof)
		pending(a, "on another's card")
		for what, forged := range map[string]string{
			"none": "", "another": "AAAAAAAAAAAAAAAA", "scope": "allow-session " + proof,
		} {
			c.press("alice", card.id, strings.TrimRight("/confirm "+a.Code+" allow-once "+forged, " "))
			pending(a, what)
		}
		c.press("alice", card.id, "/confirm "+a.Code+" allow-session "+proof)
		pending(a, "a wider scope")
		c.press("bob", card.id, "/confirm "+a.Code+" allow-once "+proof)
		pending(a, "another person's")
		require.NotContains(t, c.press("mallory", card.id, "/confirm "+a.Code+" allow-once "+proof), "Yes, run")
		pending(a, "a stranger's")
		c.press("alice", card.id, "/approve "+a.Code)
		pending(a, "a double tap on the first button")
	}, withQuorumOfTwo)
}

func withQuorumOfTwo(r *rig) { r.quorum = map[string]int{"R4": 2} }

// Each of a quorum confirms, and a vote in between makes a button from before it void.
func TestConfirm_QuorumEachConfirms(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, r *rig, c chat) {
		a := r.apply()
		card := c.card(a)
		_, early := c.once("bob", card.id, a.Code)
		message, data := c.once("alice", card.id, a.Code)
		require.Contains(t, c.press("alice", message, data), "more approvals are needed")
		require.Len(t, r.get(a).Votes, 1)
		early, _, _ = strings.Cut(early, "@")
		c.press("bob", card.id, early)
		require.Len(t, r.get(a).Votes, 1, "made before alice's vote")
		_ = c.card(a)
		message, data = c.once("bob", card.id, a.Code)
		require.Contains(t, c.press("bob", message, data), "Allowed. It may run once")
	}, withQuorumOfTwo)
}

// A call below R4 is decided by one tap, as before.
func TestConfirm_BelowR4OneTapDecides(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, r *rig, c chat) {
		a := r.ask(`{"n":1}`)
		require.Contains(t, c.press("alice", c.card(a).id, "/approve "+a.Code), "Allowed.")
	})
}
