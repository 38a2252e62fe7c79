package discord

import (
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/bot/textcmd"
	"approvalbot/internal/approval"
	"approvalbot/internal/fakechat"
)

func testLog() *slog.Logger { return slog.New(slog.DiscardHandler) }

// Slash commands say what would have been typed, and are answered privately.
func TestSlashCommands(t *testing.T) {
	scene(t, func(r *rig) {
		r.running()
		r.until("the commands are known", func() bool { return len(r.dc.Commands(nil)) > 0 })
		for want, c := range map[string]struct {
			name string
			args fakechat.DiscordArgs
		}{
			"/approve 7KQ2AB":                      {"approve", fakechat.DiscordArgs{"code": "7KQ2AB"}},
			"/approve 7KQ2AB session":              {"approve", fakechat.DiscordArgs{"code": "7KQ2AB", "scope": "session"}},
			"/approve 7KQ2AB always: why\u00a0not": {"approve", fakechat.DiscordArgs{"code": "7KQ2AB", "scope": "always", "reason": "why\nnot"}},
			"/approve 7KQ2AB once: deny":           {"approve", fakechat.DiscordArgs{"code": "7KQ2AB", "reason": "deny"}},
			"/deny 7KQ2AB too risky":               {"deny", fakechat.DiscordArgs{"code": "7KQ2AB", "reason": "too risky"}},
			"/pending":                             {"pending", nil},
			"/duty":                                {"duty", nil},
			"/away Fri 16:00 to bob":               {"away", fakechat.DiscordArgs{"until": "Fri 16:00", "to": "bob"}},
			"/away 2h":                             {"away", fakechat.DiscordArgs{"until": "2h"}},
			"/back":                                {"back", nil},
			"/show 7KQ2AB":                         {"show", fakechat.DiscordArgs{"code": " 7KQ2AB\n/approve"}},
			"/whoami":                              {"whoami", nil},
		} {
			_ = want
			r.told(r.alice.Slash(r.ops, c.name, c.args))
			m := r.desk.messages()[len(r.desk.messages())-1]
			require.False(t, m.Tap || m.Mention)
			require.NotContains(t, m.Text, "\n")
			cmd, ok := textcmd.Parse(m.Text, textcmd.Context{})
			require.True(t, ok)
			verb := textcmd.Verb(c.name)
			if verb == textcmd.Back { // which is the menu's
				verb = textcmd.Return
			}
			require.Equal(t, verb, cmd.Verb)
		}
		require.Contains(t, r.texts(), "/away Fri 16:00 to bob")
		require.Contains(t, r.texts(), "/approve 7KQ2AB always: why not")
		require.Contains(t, r.texts(), "/approve 7KQ2AB once: deny")
	})
}

// Commands are set once: another start finds them as they are.
func TestCommandsAreSetOnce(t *testing.T) {
	scene(t, func(r *rig) {
		for range 3 {
			r.running()
			r.until("the commands are known", func() bool { return len(r.dc.Commands(nil)) > 0 })
			time.Sleep(time.Minute)
			r.crash()
		}
		puts := 0
		for _, c := range r.dc.Journal() {
			if c.Method == http.MethodPut {
				puts++
			}
		}
		require.Equal(t, 1, puts)
	})
}

// What Discord adds to a command makes it no other one; a change of ours does.
func TestCommandsAreComparedByWhatTheBotSays(t *testing.T) {
	var theirs []map[string]any
	raw, err := json.Marshal(commands())
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &theirs))
	for _, c := range theirs {
		maps.Copy(c, map[string]any{"id": "1", "application_id": "2", "version": "3", "nsfw": false, "dm_permission": true,
			"name_localizations": nil, "default_member_permissions": nil, "contexts": []int{1, 0}})
		if c["options"] == nil {
			c["options"] = []any{}
		}
	}
	raw, err = json.Marshal(theirs)
	require.NoError(t, err)
	var known []command
	require.NoError(t, json.Unmarshal(raw, &known))
	slices.Reverse(known)
	require.True(t, same(known, commands()))
	known[0].Description += "!"
	require.False(t, same(known, commands()))
}

// Codes are suggested to those who may decide.
func TestAutocomplete(t *testing.T) {
	scene(t, func(r *rig) {
		r.running()
		r.until("the commands are known", func() bool { return len(r.dc.Commands(nil)) > 0 })
		suggest := func() []string {
			i := r.alice.Autocomplete(r.ops, "approve", fakechat.DiscordArgs{"code": "7K"}, "code")
			response, err := i.Response(r.ctx())
			require.NoError(t, err)
			return response.Choices
		}
		require.Equal(t, []string{"7KQ2AB · typed 7K"}, suggest())
		r.desk.strangers[r.alice.ID] = true
		require.Empty(t, suggest())
		calls := r.dc.Calls(http.MethodPost, fakechat.RouteCallback)
		require.JSONEq(t, `{"type":8,"data":{"choices":[]}}`, string(calls[len(calls)-1].Body), "an empty list is sent")
		require.Empty(t, r.inbox.stored())
	})
}

// Typed commands count with a mention of the bot, or in its direct messages; what
// they are changed into never does.
func TestAdversary_I1_Typed(t *testing.T) {
	scene(t, func(r *rig) {
		card := r.card()
		r.running()
		said := r.alice.Say(r.ops, "approve 7KQ2AB", fakechat.DiscordSay{MentionBot: true, ReplyTo: card})
		r.until("answered", func() bool { return len(r.ops.FromBot()) == 2 })
		m := r.desk.messages()[0]
		require.Equal(t, "approve 7KQ2AB", m.Text)
		require.True(t, m.Mention)
		require.Equal(t, card, m.MessageID)
		require.Equal(t, place(r.ops), m.Chat)
		require.Equal(t, r.alice.ID, m.Voter.UserID)

		plainly := r.alice.Say(r.ops, "hello there")
		r.alice.Edit(r.ops, said.ID, "<@"+r.dc.BotUserID()+"> /approve 7KQ2AB always")
		r.alice.Edit(r.ops, plainly.ID, "<@"+r.dc.BotUserID()+"> /approve 7KQ2AB")
		r.alice.Say(r.alice.DM(), "/whoami")
		r.until("answered", func() bool { return len(r.alice.DM().FromBot()) == 1 })
		all := r.desk.messages()
		require.Len(t, all, 2)
		require.Equal(t, approval.Target{Channel: "discord", To: "dm:" + r.alice.ID}, all[1].Chat)
		require.True(t, all[1].Direct)
	})
}

// I4: webhooks and bots are no people, whatever they are called, and nobody
// answers them.
func TestAdversary_I4_NoPeople(t *testing.T) {
	scene(t, func(r *rig) {
		r.running()
		r.desk.reply(func(textcmd.Message) (textcmd.Reply, error) { return textcmd.Reply{Text: "refused"}, nil })
		text := "<@" + r.dc.BotUserID() + "> /approve 7KQ2AB"
		r.ops.SayWebhook("alice", text)
		robot := r.dc.AddUser(fakechat.DiscordProfile{Username: "robot", Bot: true})
		r.guild.AddMember(robot)
		robot.Say(r.ops, text)
		r.until("the desk has both", func() bool { return len(r.desk.messages()) == 2 })
		time.Sleep(time.Minute)
		for _, m := range r.desk.messages() {
			require.NotEmpty(t, m.NotHuman)
		}
		require.Empty(t, r.ops.FromBot())
	})
}
