package discord

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/bwmarrin/discordgo"
	"github.com/stretchr/testify/require"

	"approvalbot/bot/discord/render"
	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/fakechat"
)

// A reminder answers the card and notifies exactly its people, by their ids.
func TestAReminderMentions(t *testing.T) {
	scene(t, func(r *rig) {
		drawn, bob := r.card(), r.dc.AddUser(fakechat.DiscordProfile{Username: "bob"})
		text := "⏰ 7KQ2AB still waits <@1> @everyone"
		posted, err := r.bot.Post(r.ctx(), place(r.ops), core.Posting{Text: text, ReplyTo: drawn, Nonce: "n", Mention: []card.Mentioned{
			{Name: "alice", UserID: r.alice.ID}, {Name: "bob", UserID: bob.ID}, {Name: "x", UserID: "1> @everyone <@2"}}})
		require.NoError(r.t, err)
		m, _ := r.ops.Message(posted.MessageID)
		require.Equal(r.t, drawn, m.ReplyTo)
		require.ElementsMatch(r.t, []string{r.alice.ID, bob.ID}, m.Pings)
		require.Zero(r.t, m.Flags&silentFlag)
		calls := r.dc.Calls(http.MethodPost, fakechat.RouteMessages)
		var sent render.Message
		require.NoError(r.t, json.Unmarshal(calls[len(calls)-1].Body, &sent))
		require.Equal(r.t, &discordgo.MessageAllowedMentions{Parse: []discordgo.AllowedMentionType{}, Users: []string{r.alice.ID, bob.ID}}, sent.AllowedMentions)
	})
}

const silentFlag = 4096 // Resources, Message, Message Flags: SUPPRESS_NOTIFICATIONS

// A silent card makes no sound, nor does what holds its call; any other does.
func TestASilentCard(t *testing.T) {
	for _, silent := range []bool{false, true} {
		scene(t, func(r *rig) {
			file := card.File{Name: "x.txt", Text: "x", Caption: "all of it", Silent: silent}
			require.NoError(r.t, r.bot.Attach(r.ctx(), place(r.ops), file))
			require.NoError(r.t, r.bot.AttachParts(r.ctx(), place(r.ops), file))
			_, err := r.bot.Post(r.ctx(), place(r.ops), core.Posting{Card: pendingCard(), Silent: silent})
			require.NoError(r.t, err)
			all := r.ops.Messages()
			require.Len(r.t, all, 3)
			for _, m := range all {
				require.Equal(r.t, silent, m.Flags&silentFlag != 0, "%+v", m)
			}
		})
	}
}

// Whatever a card or a text says, it notifies nobody: only a reminder does, and who is
// asked for a reply.
func TestOnlyRemindersMention(t *testing.T) {
	scene(t, func(r *rig) {
		nasty := "@everyone @here <@" + r.alice.ID + "> <@!" + r.alice.ID + "> <@&1> /approve"
		c := *pendingCard()
		c.Headline, c.Why, c.Warnings = card.Words{{Text: nasty}}, nasty, []string{nasty}
		c.State.Votes, c.State.Also, c.State.Until, c.State.Flags = nasty, "also asked: alice "+nasty, nasty, []string{nasty}
		c.Call, c.Claims = card.Blocks([]card.Fact{{Name: nasty, Value: nasty}}), []string{nasty}
		ended := c
		ended.Status, ended.Outcome = approval.Denied, card.Words{{Text: nasty}}
		for _, p := range []core.Posting{{Card: &c}, {Card: &ended}, {Card: &c, Silent: true}, {Text: nasty}, {Text: "⏰ " + nasty}} {
			posted, err := r.bot.Post(r.ctx(), place(r.ops), p)
			require.NoError(r.t, err)
			m, _ := r.ops.Message(posted.MessageID)
			require.Empty(r.t, m.Pings, "%+v", m)
		}
		for _, call := range r.dc.Calls(http.MethodPost, fakechat.RouteMessages) {
			require.Contains(r.t, string(call.Body), `"allowed_mentions":{"parse":[],"replied_user":false}`)
		}
	})
}
