package telegram

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/fakechat"
)

// A reminder answers the card, with a mention of each of its people by their id, under
// their name as it is written in the configuration.
func TestAReminderMentions(t *testing.T) {
	scene(t, func(r *rig) {
		drawn, bob := r.card(), r.tg.AddUser(fakechat.TelegramProfile{FirstName: "Bob"})
		id, err := r.post(r.place(), core.Posting{Text: "⏰ 7KQ2AB still waits", ReplyTo: fmt.Sprint(drawn), Mention: []card.Mentioned{
			{Name: "alice <b>&", UserID: fmt.Sprint(r.alice.ID)}, {Name: "bob", UserID: fmt.Sprint(bob.ID)}, {Name: "x", UserID: `1"><b>`}}})
		require.NoError(r.t, err)
		m, _ := r.group.Message(id)
		require.Equal(r.t, "alice <b>& bob ⏰ 7KQ2AB still waits", m.Text)
		require.Equal(r.t, drawn, m.ReplyTo)
		require.False(r.t, m.Silent)
		var mentioned []int64
		for _, e := range m.Entities {
			require.Equal(r.t, "text_mention", e.Type)
			mentioned = append(mentioned, e.UserID)
		}
		require.Equal(r.t, []int64{r.alice.ID, bob.ID}, mentioned)
	})
}

// A silent card makes no sound, nor does what holds its call; any other does.
func TestASilentCard(t *testing.T) {
	for _, silent := range []bool{false, true} {
		scene(t, func(r *rig) {
			file := card.File{Name: "x.txt", Text: "x", Caption: "all of it", Silent: silent}
			require.NoError(r.t, r.bot.Attach(r.t.Context(), r.place(), file))
			require.NoError(r.t, r.bot.AttachParts(r.t.Context(), r.place(), file))
			_, err := r.post(r.place(), core.Posting{Card: pendingCard(), Silent: silent})
			require.NoError(r.t, err)
			all := r.group.FromBot()
			require.Len(r.t, all, 3)
			for _, m := range all {
				require.Equal(r.t, silent, m.Silent, m.Text)
			}
		})
	}
}

// Whatever a card or a text says, it mentions nobody: only a reminder does, and who is
// asked for a reply.
func TestOnlyRemindersMention(t *testing.T) {
	scene(t, func(r *rig) {
		nasty := hostile + fmt.Sprintf(` <a href="tg://user?id=%d">x</a> tg://user?id=%d @alice`, r.alice.ID, r.alice.ID)
		c := *pendingCard()
		c.Headline, c.Why, c.Warnings = card.Words{{Text: nasty[:200]}}, nasty, []string{nasty}
		c.State.Votes, c.State.Also, c.State.Until, c.State.Flags = nasty, "also asked: alice "+nasty, nasty, []string{nasty}
		c.Call, c.Claims = card.Blocks([]card.Fact{{Name: nasty, Value: nasty}}), []string{nasty}
		ended := c
		ended.Status, ended.Outcome = approval.Denied, card.Words{{Text: nasty}}
		for _, p := range []core.Posting{{Card: &c}, {Card: &ended}, {Card: &c, Silent: true}, {Text: nasty}, {Text: "⏰ " + nasty}, {Text: nasty, ReplyTo: "1"}} {
			id, err := r.post(r.place(), p)
			require.NoError(r.t, err)
			m, _ := r.group.Message(id)
			require.False(r.t, slices.ContainsFunc(m.Entities, mentions), "%+v", m)
			require.False(r.t, strings.Contains(m.RawText, "<a "), m.RawText)
		}
	})
}

func mentions(e fakechat.TelegramEntity) bool { return strings.Contains(e.Type, "mention") }
