package discord

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/stretchr/testify/require"

	"approvalbot/bot/discord/render"
	"approvalbot/bot/textcmd"
	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/fakechat"
)

// A tap is stored, deferred, put before the desk in its words, and answered to
// that person alone.
func TestTap(t *testing.T) {
	scene(t, func(r *rig) {
		card := r.card()
		r.running()
		tap := r.alice.Click(r.ops, card, "Allow once")
		require.Equal(t, "heard /approve 7KQ2AB", r.told(tap))
		m := r.desk.messages()[0]
		require.Equal(t, approval.Voter{Channel: "discord", UserID: r.alice.ID, Roles: []string{}}, m.Voter)
		require.Equal(t, place(r.ops), m.Chat)
		require.True(t, m.Tap && m.OwnMessage && m.Prompts && !m.Direct)
		require.Equal(t, card, m.MessageID)
		response, err := tap.Response(r.ctx())
		require.NoError(t, err)
		require.Equal(t, int(discordgo.InteractionResponseDeferredChannelMessageWithSource), response.Type)
	})
}

// The row behind More is for one person; its buttons stand for the card's, and
// the answer takes their place.
func TestMore(t *testing.T) {
	scene(t, func(r *rig) {
		card := r.card()
		r.desk.reply(func(m textcmd.Message) (textcmd.Reply, error) {
			if m.Text == "/more 7KQ2AB" {
				return textcmd.Reply{Menu: textcmd.MenuMore, Card: pendingCard()}, nil
			}
			return textcmd.Reply{Text: "Allowed."}, nil
		})
		r.running()
		more := r.alice.Click(r.ops, card, "More")
		menu, err := more.Ephemeral(r.ctx())
		require.NoError(t, err)
		require.Equal(t, []string{"Allow once", "Deny", "Deny with a reason", "Details", "Allow session"}, menu.Labels())
		require.Contains(t, menu.Text(), "Allow session: “git push” without other options, on anything except files outside the workspace; by agent main in this session, up to risk R3 and for no other reason than here, for 12 hours at most.")
		require.Equal(t, r.alice.ID, menu.OnlyFor)
		before, _ := r.ops.Message(card)
		require.Equal(t, []string{"Allow once", "Deny", "More", "Details"}, before.Labels(), "the card stays as it is")

		r.alice.Click(r.ops, menu.ID, "Allow session")
		r.until("the menu is answered", func() bool { m, _ := r.ops.Message(menu.ID); return m.Text() == "Allowed." })
		m := r.desk.messages()[1]
		require.Equal(t, "/approve 7KQ2AB session", m.Text)
		require.Equal(t, card, m.MessageID)
		after, _ := r.ops.Message(menu.ID)
		require.Empty(t, after.Labels())
	})
}

// The deny counts at the tap; the form is its first answer, the reason follows.
func TestDenyWithAReason(t *testing.T) {
	scene(t, func(r *rig) {
		card := r.card()
		r.running()
		tap := r.alice.ClickData(r.ops, card, "/denyreason 7KQ2AB")
		response, err := tap.Response(r.ctx())
		require.NoError(t, err)
		require.NotNil(t, response.Modal)
		require.Equal(t, "Deny 7KQ2AB", response.Modal.Title)
		r.until("the desk has the deny", func() bool { return len(r.desk.messages()) == 1 })
		require.Equal(t, "heard /denyreason 7KQ2AB", escapeNothing(r.told(tap)))
		form := r.alice.SubmitModal(tap, map[string]string{"reason": "too risky"})
		require.Equal(t, "Noted.", r.told(form))
		require.Equal(t, []string{"7KQ2AB: too risky"}, r.desk.given())
	})
}

func escapeNothing(s string) string { return strings.ReplaceAll(s, `\`, "") }

// A stranger gets no form, only the desk's word.
func TestStrangersGetNoForm(t *testing.T) {
	scene(t, func(r *rig) {
		r.desk.strangers[r.alice.ID] = true
		card := r.card()
		r.running()
		tap := r.alice.ClickData(r.ops, card, "/denyreason 7KQ2AB")
		require.NotEmpty(t, r.told(tap))
		response, err := tap.Response(r.ctx())
		require.NoError(t, err)
		require.Nil(t, response.Modal)
	})
}

// In direct messages there are no roles, and the chat has the configured name.
func TestTapInADirectMessage(t *testing.T) {
	scene(t, func(r *rig) {
		to := approval.Target{Channel: "discord", To: "dm:" + r.alice.ID}
		posted, err := r.bot.Post(r.ctx(), to, core.Posting{Card: pendingCard()})
		require.NoError(t, err)
		r.running()
		r.told(r.alice.Click(r.alice.DM(), posted.MessageID, "Deny"))
		m := r.desk.messages()[0]
		require.Equal(t, to, m.Chat)
		require.True(t, m.Direct)
		require.Nil(t, m.Voter.Roles)
		opened := len(r.dc.Calls(http.MethodPost, fakechat.RouteOpenDM))
		require.Equal(t, 1, opened)
	})
}

// I7: roles are those of the tap.
func TestAdversary_I7_RolesAtTapTime(t *testing.T) {
	scene(t, func(r *rig) {
		role := r.guild.AddRole("approvers", 0)
		r.guild.AddMember(r.alice, role)
		card := r.card()
		r.running()
		r.told(r.alice.Click(r.ops, card, "Allow once"))
		r.guild.RemoveRole(r.alice, role)
		r.told(r.alice.Click(r.ops, card, "Allow once"))
		all := r.desk.messages()
		require.Len(t, all[0].Voter.Roles, 1)
		require.Empty(t, all[1].Voter.Roles)
	})
}

// I8: what a button carries is handed on as it is, so that the desk refuses it;
// a menu's mark on a card is no mark.
func TestAdversary_I8_ForgedData(t *testing.T) {
	scene(t, func(r *rig) {
		card := r.card()
		r.running()
		for _, data := range []string{"x", "/approve 7KQ2AB@123456", "/approve 7KQ2AB always: because", "@1"} {
			r.told(r.alice.ClickData(r.ops, card, data))
			all := r.desk.messages()
			last := all[len(all)-1]
			require.Equal(t, data, last.Text)
			require.Equal(t, card, last.MessageID)
		}
	})
}

// A store that is away costs no tap: nobody is told that it counted, and it is
// tried again.
func TestTapWhileTheDeskCannotWork(t *testing.T) {
	scene(t, func(r *rig) {
		card := r.card()
		r.running()
		fail := true
		r.desk.reply(func(textcmd.Message) (textcmd.Reply, error) {
			if fail {
				fail = false
				return textcmd.Reply{}, errDown
			}
			return textcmd.Reply{Text: "Counted."}, nil
		})
		tap := r.alice.Click(r.ops, card, "Allow once")
		require.Equal(t, render.Plain(textcmd.LaterText, render.MaxText, nil), r.told(tap))
		r.until("the answer is replaced", func() bool { m, _ := tap.Original(); return m.Text() == "Counted." })
		r.inbox.setFail(errDown)
		require.Equal(t, render.Plain(notStoredText, render.MaxText, nil), r.told(r.alice.Click(r.ops, card, "Deny")))
		r.inbox.setFail(nil)
	})
}

// P10: fifty taps at once, all are answered in time.
func TestAdversary_P10_FiftyTaps(t *testing.T) {
	scene(t, func(r *rig) {
		card := r.card()
		r.running()
		r.desk.reply(func(m textcmd.Message) (textcmd.Reply, error) {
			time.Sleep(200 * time.Millisecond)
			return textcmd.Reply{Text: "ok"}, nil
		})
		var taps []*fakechat.DiscordInteraction
		for i := range 50 {
			u := r.dc.AddUser(fakechat.DiscordProfile{Username: fmt.Sprint("u", i)})
			r.guild.AddMember(u)
			taps = append(taps, u.Click(r.ops, card, "Allow once"), u.Click(r.ops, card, "Deny"))
		}
		for _, tap := range taps {
			require.Equal(t, "ok", r.told(tap))
		}
		require.Len(t, r.desk.messages(), 100)
	})
}

// A tap that got no first answer in time counts, and nobody can be told: that is
// seen at once, and holds up nothing else that the person has tapped.
func TestATapThatDiscordGaveUpHoldsUpNoOther(t *testing.T) {
	scene(t, func(r *rig) {
		card := r.card()
		r.running()
		fault := r.dc.Fault(fakechat.DiscordFault{Route: fakechat.RouteCallback, Kind: fakechat.Reset, Times: -1})
		tap := r.alice.Click(r.ops, card, "Allow once")
		r.until("it failed", tap.Failed)
		fault.Remove()
		require.Equal(t, "heard /deny 7KQ2AB", r.told(r.alice.Click(r.ops, card, "Deny")))
		require.Equal(t, []string{"/approve 7KQ2AB", "/deny 7KQ2AB"}, r.texts())
		require.Equal(t, 2, len(r.dc.Calls(http.MethodPatch, fakechat.RouteFollowup)), "one for each tap")
	})
}

// A thousand interactions leave nothing behind.
func TestInteractionsLeaveNothingBehind(t *testing.T) {
	scene(t, func(r *rig) {
		card := r.card()
		r.running()
		for range 1000 {
			r.told(r.alice.Click(r.ops, card, "Deny"))
		}
		r.until("the queue is empty", func() bool { return r.bot.intake.Len() <= 1 })
		r.bot.pace.mu.Lock()
		defer r.bot.pace.mu.Unlock()
		require.LessOrEqual(t, len(r.bot.pace.until), 3)
		require.Empty(t, r.bot.acks.m)
	})
}

// What a crash left is put before the desk at start; whoever tapped can no longer
// be told, which is harmless.
func TestLeftoversAreHandledAtStart(t *testing.T) {
	scene(t, func(r *rig) {
		card := r.card()
		r.running()
		r.desk.reply(func(textcmd.Message) (textcmd.Reply, error) { return textcmd.Reply{}, errDown })
		tap := r.alice.Click(r.ops, card, "Allow once")
		r.told(tap)
		r.crash()
		time.Sleep(20 * time.Minute)
		r.desk.reply(func(textcmd.Message) (textcmd.Reply, error) { return textcmd.Reply{Text: "counted"}, nil })
		n := len(r.desk.messages())
		r.run()
		<-r.bot.CaughtUp()
		require.Len(t, r.desk.messages(), n+1)
	})
}

// A tap on a message with components that are newer than the desk is read all the same.
func TestUnknownComponentsLoseNoTap(t *testing.T) {
	const newer = `[{"type":99,"components":[{"type":98,"x":{}}]}]`
	i, err := readInteraction([]byte(`{"id":"1","application_id":"2","type":3,"token":"t","data":{"custom_id":"/deny 7KQ2AB",
		"components":` + newer + `},"message":{"id":"4","components":` + newer + `}}`))
	require.NoError(t, err)
	require.Equal(t, "/deny 7KQ2AB", i.Data.CustomID)
	require.Error(t, json.Unmarshal([]byte(`{"id":"4","components":`+newer+`}`), new(discordgo.Message)),
		"once the library can read it, its types may do")
}
