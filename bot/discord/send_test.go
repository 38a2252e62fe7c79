package discord

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/bwmarrin/discordgo"
	"github.com/stretchr/testify/require"

	"approvalbot/bot/discord/render"
	"approvalbot/bot/discord/rest"
	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/fakechat"
)

func deliveryError(t *testing.T, err error) *core.DeliveryError {
	t.Helper()
	var d *core.DeliveryError
	require.ErrorAs(t, err, &d)
	return d
}

// What goes out: V2, nobody mentioned, buttons, and the same card once however
// often it is sent.
func TestPostACard(t *testing.T) {
	scene(t, func(r *rig) {
		first, second := r.card(), r.card()
		require.Equal(t, first, second, "the nonce makes it one")
		all := r.ops.Messages()
		require.Len(t, all, 1)
		require.Equal(t, []string{"Allow once", "Deny", "More", "Details"}, all[0].Labels())
		call := r.dc.Calls(http.MethodPost, fakechat.RouteMessages)[0]
		var sent struct {
			Flags    discordgo.MessageFlags           `json:"flags"`
			Mentions discordgo.MessageAllowedMentions `json:"allowed_mentions"`
			Enforce  bool                             `json:"enforce_nonce"`
		}
		require.NoError(t, json.Unmarshal(call.Body, &sent))
		require.Equal(t, discordgo.MessageFlagsIsComponentsV2, sent.Flags)
		require.Equal(t, *render.Nobody(), sent.Mentions, "an empty list, not none: none would notify all")
		require.True(t, sent.Enforce)
	})
}

// P3: a cut connection after the effect does not double a card.
func TestAdversary_P3_ResetAfterEffect(t *testing.T) {
	scene(t, func(r *rig) {
		r.dc.Fault(fakechat.DiscordFault{Route: fakechat.RouteMessages, When: fakechat.After, Kind: fakechat.Reset})
		p := core.Posting{Card: pendingCard(), Nonce: "n2"}
		_, err := r.bot.Post(r.ctx(), place(r.ops), p)
		require.Error(t, err)
		require.False(t, errors.As(err, new(*core.DeliveryError)))
		_, err = r.bot.Post(r.ctx(), place(r.ops), p)
		require.NoError(t, err)
		require.Len(t, r.ops.Messages(), 1)
	})
}

// P3: waits are told as Discord told them, per channel or for all, and kept
// without asking again.
func TestAdversary_P3_RateLimits(t *testing.T) {
	scene(t, func(r *rig) {
		other := r.guild.AddChannel("other")
		r.dc.Fault(fakechat.DiscordFault{Route: fakechat.RouteMessages, Kind: fakechat.TooManyRequests, RetryAfter: 2.5})
		post := func(c *fakechat.DiscordChannel) error {
			_, err := r.bot.Post(r.ctx(), place(c), core.Posting{Text: "hello"})
			return err
		}
		require.Equal(t, 2500*time.Millisecond, deliveryError(t, post(r.ops)).RetryAfter)
		n := len(r.dc.Calls(http.MethodPost, fakechat.RouteMessages))
		require.Positive(t, deliveryError(t, post(r.ops)).RetryAfter)
		require.Len(t, r.dc.Calls(http.MethodPost, fakechat.RouteMessages), n, "it was not asked again")
		require.NoError(t, post(other))
		time.Sleep(3 * time.Second)
		require.NoError(t, post(r.ops))

		r.dc.Fault(fakechat.DiscordFault{Route: fakechat.RouteMessages, Kind: fakechat.TooManyRequests, RetryAfter: 1.5, Scope: "global"})
		require.Positive(t, deliveryError(t, post(r.ops)).RetryAfter)
		require.Positive(t, deliveryError(t, post(other)).RetryAfter)
		time.Sleep(2 * time.Second)

		r.dc.Fault(fakechat.DiscordFault{Route: fakechat.RouteMessages, Kind: fakechat.HTML429})
		require.GreaterOrEqual(t, deliveryError(t, post(r.ops)).RetryAfter, rest.ProxyPause)
		time.Sleep(2 * time.Hour)
		for _, kind := range []fakechat.FaultKind{fakechat.Status500, fakechat.HTML502, fakechat.Truncated, fakechat.Hang} {
			r.dc.Fault(fakechat.DiscordFault{Route: fakechat.RouteMessages, Kind: kind})
			err := post(r.ops)
			require.Error(t, err)
			require.False(t, errors.As(err, new(*core.DeliveryError)), "%v: %v", kind, err)
			require.NotContains(t, err.Error(), r.cfg.Token)
		}
	})
}

// P4: a chat that takes nothing more says so, with the way out.
func TestAdversary_P4_ChatsGone(t *testing.T) {
	cases := map[string]struct {
		to    func(*rig) approval.Target
		words string
	}{
		"no such channel": {func(*rig) approval.Target { return approval.Target{Channel: "discord", To: "42"} }, "no such channel"},
		"no access":       {func(r *rig) approval.Target { r.ops.SetAccess(fakechat.DiscordNoAccess); return place(r.ops) }, "View Channel"},
		"closed dm": {func(r *rig) approval.Target {
			r.alice.CloseDMs(true)
			return approval.Target{Channel: "discord", To: "dm:" + r.alice.ID}
		}, "direct messages"},
		"stranger": {func(r *rig) approval.Target {
			r.alice.Stranger(true)
			return approval.Target{Channel: "discord", To: "dm:" + r.alice.ID}
		}, "shares no server"},
		"locked thread": {func(r *rig) approval.Target {
			th := r.ops.AddThread("t")
			th.Archive(true)
			return approval.Target{Channel: "discord", To: r.ops.ID, ThreadID: th.ID}
		}, "thread is"},
		"forum that wants tags": {func(r *rig) approval.Target {
			f := r.guild.AddForum("f", "a")
			f.RequireTag()
			return place(f)
		}, "tag"},
		"other platform": {func(*rig) approval.Target { return approval.Target{Channel: "telegram", To: "5"} }, "not a Discord channel"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			scene(t, func(r *rig) {
				_, err := r.bot.Post(r.ctx(), c.to(r), core.Posting{Card: pendingCard()})
				d := deliveryError(t, err)
				require.True(t, d.Gone)
				require.Contains(t, d.Message, c.words)
			})
		})
	}
}

// P5: an edit ends with the card's end; a message that is gone is no harm; one
// that may not be edited any more is followed by a message that says the end.
func TestAdversary_P5_Edits(t *testing.T) {
	scene(t, func(r *rig) {
		card := r.card()
		require.NoError(t, r.bot.Edit(r.ctx(), place(r.ops), card, endedCard()))
		m, _ := r.ops.Message(card)
		require.Empty(t, m.Labels())
		require.Contains(t, m.Text(), "Allowed once by alice")

		r.dc.Fault(fakechat.DiscordFault{Method: http.MethodPatch, Kind: fakechat.Custom, Status: 429, Code: rest.TooManyOldEdits, Message: "Maximum number of edits to messages older than 1 hour reached. Try again later.", Times: 2})
		require.NoError(t, r.bot.Edit(r.ctx(), place(r.ops), card, *pendingCard()))
		require.Len(t, r.ops.Messages(), 1)
		require.NoError(t, r.bot.Edit(r.ctx(), place(r.ops), card, endedCard()))
		all := r.ops.Messages()
		require.Len(t, all, 2)
		require.Contains(t, all[1].Text(), "7KQ2AB: ✅ Allowed once by alice")

		r.alice.Delete(r.ops, card)
		require.True(t, deliveryError(t, r.bot.Edit(r.ctx(), place(r.ops), card, endedCard())).MessageGone)
	})
}

// Threads and forum posts: where a card stands is where its taps come from.
func TestThreadsAndForums(t *testing.T) {
	scene(t, func(r *rig) {
		thread, forum := r.ops.AddThread("t"), r.guild.AddForum("f")
		r.running()
		for _, to := range []approval.Target{
			{Channel: "discord", To: r.ops.ID, ThreadID: thread.ID}, {Channel: "discord", To: thread.ID}, {Channel: "discord", To: forum.ID},
		} {
			posted, err := r.bot.Post(r.ctx(), to, core.Posting{Card: pendingCard()})
			require.NoError(t, err)
			at := thread
			if to.To == forum.ID {
				at = forum.Threads()[0]
				require.Equal(t, at.ID, posted.MessageID)
				require.True(t, strings.HasPrefix(at.Name(), "7KQ2AB · R3 · main-agent asks to run git push"))
			}
			r.told(r.alice.Click(at, posted.MessageID, "Deny"))
			all := r.desk.messages()
			m := all[len(all)-1]
			require.Contains(t, []approval.Target{m.Chat.Chat(), m.Aka.Chat()}, to.Chat())
			require.Equal(t, approval.Target{Channel: "discord", To: at.ID}, m.Aka)
			require.NoError(t, r.bot.Edit(r.ctx(), to, posted.MessageID, endedCard()))
			_, err = r.bot.Post(r.ctx(), to, core.Posting{Text: "told", ReplyTo: posted.MessageID})
			require.NoError(t, err)
			require.Contains(t, at.Messages()[len(at.Messages())-1].Text(), "told")
			require.NoError(t, r.bot.Attach(r.ctx(), to, card.File{Name: "x.txt", Caption: "all of it", Text: "a"}))
		}
	})
}

// A quiet thread is reopened to draw a card's end.
func TestEditInAnArchivedThread(t *testing.T) {
	scene(t, func(r *rig) {
		thread := r.ops.AddThread("t")
		to := approval.Target{Channel: "discord", To: r.ops.ID, ThreadID: thread.ID}
		posted, err := r.bot.Post(r.ctx(), to, core.Posting{Card: pendingCard()})
		require.NoError(t, err)
		thread.Archive(false)
		require.NoError(t, r.bot.Edit(r.ctx(), to, posted.MessageID, endedCard()))
	})
}

func TestAttach(t *testing.T) {
	scene(t, func(r *rig) {
		f := card.File{Name: "7KQ2AB.txt", Caption: "Everything that request 7KQ2AB would run.", Text: strings.Repeat("échó `x` @everyone\n", 2000)}
		require.NoError(t, r.bot.Attach(r.ctx(), place(r.ops), f))
		m := r.ops.Messages()[0]
		require.Len(t, m.Attachments, 1)
		require.Equal(t, f.Text, string(m.Attachments[0].Data))
		r.dc.Fault(fakechat.DiscordFault{Kind: fakechat.Custom, Status: 403, Code: 50013, Message: "Missing Permissions"})
		require.True(t, deliveryError(t, r.bot.Attach(r.ctx(), place(r.ops), f)).NoFiles)

		// Messages stand for a file that is short enough.
		f.Text = strings.Repeat("  échó `x` 🟥 @everyone **x**\n", 80)
		require.NoError(t, r.bot.AttachParts(r.ctx(), place(r.ops), f))
		all, sent := "", r.ops.Messages()[1:]
		for i, m := range sent {
			head, rest, _ := strings.Cut(m.Text(), "\n```\n")
			require.Contains(t, head, fmt.Sprintf("7KQ2AB would run.. Part %d of %d:", i+1, len(sent)))
			part, found := strings.CutSuffix(rest, "\n```\n"+render.PartEnd)
			require.True(t, found)
			require.LessOrEqual(t, len(utf16.Encode([]rune(m.Text()))), render.MaxText)
			all += part
		}
		require.Equal(t, f.Text, all)
		require.Greater(t, len(sent), 1)
	})
}
