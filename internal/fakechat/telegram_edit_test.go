package fakechat_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/fakechat"
)

func TestTelegramT8_Edits(t *testing.T) {
	c := newClient(t, frozen())
	alice := c.tg.AddUser(fakechat.TelegramProfile{FirstName: "Alice"})
	group := c.tg.AddGroup("Ops", alice)
	id := c.send(group, "card", "Allow", "a", "Deny", "d")
	c.tg.Advance(1000 * time.Hour)
	edit := func(id int, text string, more ...any) params {
		p := params{"chat_id": group.ID, "message_id": id, "text": text}
		for i := 0; i < len(more); i += 2 {
			p[more[i].(string)] = more[i+1]
		}
		return p
	}
	const same = "Bad Request: message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message"
	c.refused("editMessageText", edit(id, "card", "reply_markup", keyboard("Allow", "a", "Deny", "d")), 400, same)
	c.refused("editMessageText", edit(id, "<b>", "parse_mode", "HTML"), 400, `Bad Request: can't parse entities: Can't find end tag corresponding to start tag "b"`)
	c.refused("editMessageText", edit(id, ""), 400, "Bad Request: message text is empty")
	c.refused("editMessageText", edit(id, strings.Repeat("x", 4097)), 400, "Bad Request: message is too long")
	m := c.must("editMessageText", edit(id, "allowed"))
	require.EqualValues(t, c.tg.Now().Unix(), m["edit_date"])
	require.NotContains(t, m, "reply_markup")
	shown, _ := group.Message(id)
	require.Equal(t, "allowed", shown.Text)
	require.Empty(t, shown.Buttons, "no keyboard in the call removes it")
	require.Equal(t, 1, shown.EditCount)

	c.must("editMessageReplyMarkup", params{"chat_id": group.ID, "message_id": id, "reply_markup": keyboard("Undo", "u")})
	c.refused("editMessageReplyMarkup", params{"chat_id": group.ID, "message_id": id, "reply_markup": keyboard("Undo", "u")}, 400, same)
	c.refused("editMessageReplyMarkup", params{"chat_id": group.ID, "message_id": id, "reply_markup": `{"force_reply":true}`}, 400, "Bad Request: inline keyboard expected")
	c.refused("editMessageText", edit(id, "x", "reply_markup", keyboard("x", strings.Repeat("x", 65))), 400, "Bad Request: BUTTON_DATA_INVALID")

	said := alice.Say(group, "mine")
	forwarded, err := alice.Forward(group, id, group)
	require.NoError(t, err)
	for name, p := range map[string]params{"not ours": edit(said.ID, "x"), "forwarded": edit(forwarded.ID, "x")} {
		require.Equal(t, "Bad Request: message can't be edited", c.call("editMessageText", p).Description, name)
	}
	alice.Delete(group, id)
	c.refused("editMessageText", edit(id, "x"), 400, "Bad Request: message to edit not found")
	c.refused("editMessageText", edit(99999, "x"), 400, "Bad Request: message to edit not found")
	c.refused("editMessageText", params{"text": "x"}, 400, "Bad Request: message identifier is not specified")
	group.Kick()
	c.refused("editMessageText", edit(id, "x"), 403, "Forbidden: bot was kicked from the group chat")
}

func TestTelegramT9_Deletes(t *testing.T) {
	c := newClient(t, frozen())
	alice := c.tg.AddUser(fakechat.TelegramProfile{FirstName: "Alice"})
	group := c.tg.AddGroup("Ops", alice)
	old := c.send(group, "old")
	c.tg.Advance(24 * time.Hour)
	young, said := c.send(group, "young"), alice.Say(group, "mine").ID
	c.tg.Advance(24*time.Hour + time.Second)
	del := func(id int) params { return params{"chat_id": group.ID, "message_id": id} }
	c.refused("deleteMessage", del(old), 400, "Bad Request: message can't be deleted")
	c.refused("deleteMessage", del(said), 400, "Bad Request: message can't be deleted")
	c.must("deleteMessage", del(young))
	c.refused("deleteMessage", del(young), 400, "Bad Request: message to delete not found")
	c.refused("deleteMessage", params{"message_id": 1}, 400, "Bad Request: chat identifier is not specified")
	require.Len(t, group.Messages(), 2)
	require.Len(t, group.History(), 3)
	group.Promote()
	c.must("deleteMessage", del(said))
}

func TestTelegramT11_Commands(t *testing.T) {
	c := newClient(t, frozen())
	command := func(name, description string) []params {
		return []params{{"command": name, "description": description}}
	}
	c.must("setMyCommands", params{"commands": command("/pending", "what waits")})
	c.must("setMyCommands", params{"commands": command("x", "y"), "scope": params{"type": "chat", "chat_id": -100123}, "language_code": "de"})
	require.Equal(t, []fakechat.TelegramCommand{{Command: "pending", Description: "what waits"}}, c.tg.Commands("default", ""))
	require.Equal(t, []fakechat.TelegramCommand{{Command: "x", Description: "y"}}, c.tg.Commands("chat:-100123", "de"))
	require.JSONEq(t, `[{"command":"pending","description":"what waits"}]`, string(c.call("getMyCommands", nil).Result))
	c.must("deleteMyCommands", nil)
	require.JSONEq(t, `[]`, string(c.call("getMyCommands", nil).Result))
	many := make([]params, 101)
	for i := range many {
		many[i] = command("c"+decimal(i), "x")[0]
	}
	c.must("setMyCommands", params{"commands": many[:100]})
	for want, p := range map[string]params{
		"BOT_COMMANDS_TOO_MUCH":                                   {"commands": many},
		"BOT_COMMAND_INVALID":                                     {"commands": command("Approve", "x")},
		"command must be non-empty":                               {"commands": command("/", "x")},
		"command length must not exceed 32":                       {"commands": command(strings.Repeat("a", 33), "x")},
		"command description must be non-empty":                   {"commands": command("a", " ")},
		"command description length must not exceed 256":          {"commands": command("a", strings.Repeat("a", 257))},
		"can't parse commands JSON object":                        {"commands": "{"},
		"expected an Array of BotCommand":                         {"commands": "{}"},
		`can't parse BotCommand: Can't find field "command"`:      {"commands": []params{{"description": "x"}}},
		"can't parse BotCommandScope: Unsupported type specified": {"commands": command("a", "b"), "scope": params{"type": "moon"}},
	} {
		c.refused("setMyCommands", p, 400, "Bad Request: "+want)
	}
}

func TestTelegramT11_ChatsAndMembers(t *testing.T) {
	c := newClient(t, frozen())
	alice := c.tg.AddUser(fakechat.TelegramProfile{FirstName: "Alice", Username: "alice"})
	bob := c.tg.AddUser(fakechat.TelegramProfile{FirstName: "Bob"})
	eve := c.tg.AddUser(fakechat.TelegramProfile{FirstName: "Eve"})
	group := c.tg.AddSupergroup("Ops", alice, bob)
	member := func(id int64) any {
		return c.must("getChatMember", params{"chat_id": group.ID, "user_id": id})["status"]
	}
	require.Equal(t, "creator", member(alice.ID))
	require.Equal(t, "member", member(bob.ID))
	require.Equal(t, "left", member(eve.ID))
	group.SetMember(bob, "kicked")
	require.Equal(t, "kicked", member(bob.ID))
	require.Equal(t, "member", member(123456))
	c.refused("getChatMember", params{"chat_id": group.ID, "user_id": 12}, 400, "Bad Request: user not found")
	c.refused("getChatMember", params{"chat_id": group.ID}, 400, "Bad Request: invalid user_id specified")
	require.JSONEq(t, `2`, string(c.call("getChatMemberCount", params{"chat_id": group.ID}).Result))
	group.Promote()
	var admins []struct{ User struct{ ID int64 } }
	require.NoError(t, json.Unmarshal(c.call("getChatAdministrators", params{"chat_id": group.ID}).Result, &admins))
	require.Len(t, admins, 2)
	alice.Start("")
	c.refused("getChatAdministrators", params{"chat_id": alice.ID}, 400, "Bad Request: there are no administrators in the private chat")
	require.Equal(t, "supergroup", c.must("getChat", params{"chat_id": group.ID})["type"])
	require.Equal(t, "alice", c.must("getChat", params{"chat_id": alice.ID})["username"])
	c.must("sendChatAction", params{"chat_id": group.ID, "action": "typing"})
	c.refused("sendChatAction", params{"chat_id": group.ID, "action": "dancing"}, 400, "Bad Request: wrong parameter action in request")
}
