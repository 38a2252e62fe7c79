package fakechat_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/fakechat"
)

func TestTelegramT15_Actors(t *testing.T) {
	c := newClient(t, frozen())
	alice := c.tg.AddUser(fakechat.TelegramProfile{FirstName: "Alice"})
	require.Greater(t, alice.ID, int64(1)<<32)
	odd := c.tg.AddUser(fakechat.TelegramProfile{ID: 1 << 51, FirstName: "<b>\u202eEve</b>\n", LastName: "&"})
	group := c.tg.AddSupergroup("Ops", alice, odd)
	group.Promote()
	from := func(u update) map[string]any { return u.Message["from"].(map[string]any) }

	alice.Say(group, "approve", fakechat.TelegramSay{Anonymous: true})
	u := c.last()
	require.EqualValues(t, 1087968824, from(u)["id"])
	require.Equal(t, true, from(u)["is_bot"])
	require.EqualValues(t, group.ID, u.Message["sender_chat"].(map[string]any)["id"])
	id := c.send(group, "card", "Allow", "a")
	alice.Tap(group, id, "Allow")
	require.EqualValues(t, alice.ID, c.last().Callback["from"].(map[string]any)["id"], "a tap shows the true person")

	channel := c.tg.AddChannel("News", "")
	alice.Say(group, "approve", fakechat.TelegramSay{As: channel})
	u = c.last()
	require.EqualValues(t, 136817688, from(u)["id"])
	require.EqualValues(t, channel.ID, u.Message["sender_chat"].(map[string]any)["id"])

	post := channel.Post("approve")
	require.Equal(t, "approve", c.last().Post["text"])
	group.AutoForward(channel, post)
	u = c.last()
	require.EqualValues(t, 777000, from(u)["id"])
	require.Equal(t, true, u.Message["is_automatic_forward"])
	require.EqualValues(t, channel.ID, u.Message["sender_chat"].(map[string]any)["id"])

	odd.Say(group, "hi")
	u = c.last()
	require.EqualValues(t, 1<<51, from(u)["id"])
	require.Equal(t, "<b>\u202eEve</b>\n", from(u)["first_name"])
	require.NotContains(t, from(u), "username")
	odd.SetProfile(fakechat.TelegramProfile{FirstName: "Eve", Username: "alice"})
	require.Equal(t, int64(1)<<51, odd.ID)
	require.Equal(t, "alice", odd.Profile().Username)
}

func TestTelegramT15_OtherBots(t *testing.T) {
	for name, row := range map[string]struct {
		ours, theirs bool
		text         string
		want         bool
	}{
		"no bot-to-bot mode":   {false, false, "/approve@approval_test_bot", false},
		"ours":                 {true, false, "/approve@approval_test_bot", true},
		"theirs":               {false, true, "/approve@approval_test_bot", true},
		"ours, but not for us": {true, true, "/approve", false},
		"ours, but no command": {true, true, "approve", false},
	} {
		t.Run(name, func(t *testing.T) {
			opts := frozen()
			opts.BotToBot, opts.CanReadAllGroupMessages = row.ours, true
			c := newClient(t, opts)
			other := c.tg.AddUser(fakechat.TelegramProfile{FirstName: "Agent", Username: "agent_bot", Bot: true, BotToBot: row.theirs})
			group := c.tg.AddGroup("Ops")
			said := other.Say(group, row.text)
			require.Equal(t, row.want, said.UpdateID != 0)
			if row.want {
				require.Equal(t, true, c.last().Message["from"].(map[string]any)["is_bot"])
			}
		})
	}
}

func TestTelegramT16_Membership(t *testing.T) {
	c := newClient(t, frozen())
	alice := c.tg.AddUser(fakechat.TelegramProfile{FirstName: "Alice"})
	group := c.tg.AddGroup("Ops", alice)
	alice.Start("")
	for _, row := range []struct {
		change   func()
		chat     *fakechat.TelegramChat
		old, new string
	}{
		{alice.Chat().Block, alice.Chat(), "member", "kicked"},
		{alice.Chat().Unblock, alice.Chat(), "kicked", "member"},
		{group.Kick, group, "member", "kicked"},
		{group.Restore, group, "kicked", "member"},
		{group.Promote, group, "member", "administrator"},
		{group.Leave, group, "administrator", "left"},
	} {
		row.change()
		m := c.last().Member
		require.EqualValues(t, row.chat.ID, m["chat"].(map[string]any)["id"])
		require.EqualValues(t, alice.ID, m["from"].(map[string]any)["id"])
		require.Equal(t, row.old, m["old_chat_member"].(map[string]any)["status"])
		require.Equal(t, row.new, m["new_chat_member"].(map[string]any)["status"])
		require.EqualValues(t, 123456, m["new_chat_member"].(map[string]any)["user"].(map[string]any)["id"])
	}
	require.Zero(t, alice.Say(group, "/approve@approval_test_bot").UpdateID, "the bot is not there")
}

func TestTelegramT16_Migration(t *testing.T) {
	c := newClient(t, frozen())
	alice := c.tg.AddUser(fakechat.TelegramProfile{FirstName: "Alice"})
	group := c.tg.AddGroup("Ops", alice)
	id := c.send(group, "card", "Allow", "a")
	next := group.Migrate()
	list := c.updates(nil)
	require.Len(t, list, 2)
	require.EqualValues(t, next.ID, list[0].Message["migrate_to_chat_id"])
	require.EqualValues(t, group.ID, list[0].Message["chat"].(map[string]any)["id"])
	require.EqualValues(t, group.ID, list[1].Message["migrate_from_chat_id"])
	require.EqualValues(t, next.ID, list[1].Message["chat"].(map[string]any)["id"])

	const moved = "Bad Request: group chat was upgraded to a supergroup chat"
	require.Equal(t, next.ID, c.refused("sendMessage", params{"chat_id": group.ID, "text": "x"}, 400, moved).Parameters.MigrateTo)
	c.refused("editMessageText", params{"chat_id": group.ID, "message_id": id, "text": "x"}, 400, moved)
	require.Less(t, c.send(next, "x"), id, "ids start again")
	require.Less(t, next.ID, int64(-1_000_000_000_000))
}

func TestTelegramT16_ForumTopics(t *testing.T) {
	c := newClient(t, frozen())
	alice := c.tg.AddUser(fakechat.TelegramProfile{FirstName: "Alice"})
	forum := c.tg.AddForum("Ops", alice)
	topic := forum.AddTopic("Approvals")
	m := c.last().Message
	require.Equal(t, "Approvals", m["forum_topic_created"].(map[string]any)["name"])
	require.EqualValues(t, topic, m["message_thread_id"])
	require.EqualValues(t, topic, m["message_id"])
	require.Equal(t, true, m["is_topic_message"])
	forum.CloseTopic(topic)
	require.Contains(t, c.last().Message, "forum_topic_closed")
	forum.ReopenTopic(topic)
	require.Contains(t, c.last().Message, "forum_topic_reopened")
	forum.RenameTopic(topic, "Votes")
	require.Contains(t, c.last().Message, "forum_topic_edited")

	alice.Say(forum, "/pending@approval_test_bot", fakechat.TelegramSay{ThreadID: topic})
	m = c.last().Message
	require.EqualValues(t, topic, m["message_thread_id"])
	require.Contains(t, m["reply_to_message"], "forum_topic_created")
	alice.Say(forum, "/pending@approval_test_bot", fakechat.TelegramSay{ThreadID: 1})
	m = c.last().Message
	require.NotContains(t, m, "message_thread_id", "General has no id")
	require.NotContains(t, m, "is_topic_message")
}
