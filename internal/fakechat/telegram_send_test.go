package fakechat_test

import (
	"bytes"
	"encoding/json"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/fakechat"
)

func TestTelegramT7_ReturnedMessage(t *testing.T) {
	c := newClient(t, frozen())
	alice := c.tg.AddUser(fakechat.TelegramProfile{FirstName: "Alice"})
	forum := c.tg.AddForum("Ops", alice)
	topic := forum.AddTopic("Approvals")
	asked := alice.Say(forum, "please", fakechat.TelegramSay{ThreadID: topic})
	m := c.must("sendMessage", params{
		"chat_id": forum.ID, "message_thread_id": topic, "text": "<b>Run</b> it?", "parse_mode": "HTML",
		"reply_parameters": params{"message_id": asked.ID}, "reply_markup": keyboard("Allow", "a:1"),
		"disable_notification": true, "protect_content": true, "link_preview_options": params{"is_disabled": true},
	})
	require.EqualValues(t, asked.ID+1, m["message_id"])
	require.EqualValues(t, 123456, m["from"].(map[string]any)["id"])
	require.Equal(t, true, m["from"].(map[string]any)["is_bot"])
	require.Equal(t, map[string]any{"id": float64(forum.ID), "title": "Ops", "type": "supergroup", "is_forum": true}, m["chat"])
	require.EqualValues(t, c.tg.Now().Unix(), m["date"])
	require.Equal(t, "Run it?", m["text"])
	require.Equal(t, []any{map[string]any{"type": "bold", "offset": 0.0, "length": 3.0}}, m["entities"])
	require.EqualValues(t, topic, m["message_thread_id"])
	require.Equal(t, true, m["is_topic_message"])
	require.EqualValues(t, asked.ID, m["reply_to_message"].(map[string]any)["message_id"])
	require.Equal(t, "Allow", m["reply_markup"].(map[string]any)["inline_keyboard"].([]any)[0].([]any)[0].(map[string]any)["text"])

	shown, ok := forum.Message(asked.ID + 1)
	require.True(t, ok)
	require.Equal(t, "<b>Run</b> it?", shown.RawText)
	require.Equal(t, "Run", shown.EntityText(shown.Entities[0]))
	require.Equal(t, topic, shown.ThreadID)
	require.Equal(t, asked.ID, shown.ReplyTo)
	require.True(t, shown.Silent && shown.Protected && shown.NoPreview)
	require.Equal(t, []string{"Allow"}, shown.Labels())
}

func TestTelegramT7_TextLimits(t *testing.T) {
	c := newClient(t, frozen())
	group := c.tg.AddGroup("Ops")
	for name, row := range map[string]struct{ text, mode, want string }{
		"empty":                 {"", "", "Bad Request: message text is empty"},
		"blank":                 {" \n ", "", "Bad Request: text must be non-empty"},
		"empty after parsing":   {"<b> </b>", "HTML", "Bad Request: text must be non-empty"},
		"4096 wide characters":  {strings.Repeat("😀", 4096), "", ""},
		"4097 characters":       {strings.Repeat("x", 4097), "", "Bad Request: message is too long"},
		"markup does not count": {"<b>" + strings.Repeat("&lt;", 4096) + "</b>", "html", ""},
		"32769 bytes":           {strings.Repeat("&lt;", 8192) + "x", "HTML", "Bad Request: text is too long"},
		"bad HTML":              {"a < b", "HTML", `Bad Request: can't parse entities: Unsupported start tag "" at byte offset 2`},
		"unknown mode":          {"x", "RTF", "Bad Request: unsupported parse_mode"},
	} {
		t.Run(name, func(t *testing.T) {
			p := params{"chat_id": group.ID, "text": row.text, "parse_mode": row.mode}
			if row.want == "" {
				c.must("sendMessage", p)
				return
			}
			before := len(group.Messages())
			c.refused("sendMessage", p, 400, row.want)
			require.Len(t, group.Messages(), before)
		})
	}
	require.Equal(t, 501, c.call("sendMessage", params{"chat_id": group.ID, "text": "x", "parse_mode": "MarkdownV2"}).ErrorCode)
}

func TestTelegramT7_EntitiesParameter(t *testing.T) {
	c := newClient(t, frozen())
	group := c.tg.AddGroup("Ops")
	c.must("sendMessage", params{"chat_id": group.ID, "text": "a b", "entities": []params{
		{"type": "pre", "offset": 2, "length": 1, "language": "sh"}, {"type": "mention", "offset": 0, "length": 1},
	}})
	require.Equal(t, []fakechat.TelegramEntity{{Type: "pre", Offset: 2, Length: 1, Language: "sh"}}, group.Messages()[0].Entities)
	c.refused("sendMessage", params{"chat_id": group.ID, "text": "a", "entities": []params{{"type": "blink", "offset": 0, "length": 1}}},
		400, "Bad Request: can't parse MessageEntity: Unsupported type specified")
}

func TestTelegramT7_ChatStates(t *testing.T) {
	c := newClient(t, frozen())
	alice := c.tg.AddUser(fakechat.TelegramProfile{ID: 111, FirstName: "Alice"})
	private := func(change func(*fakechat.TelegramChat)) func() any {
		return func() any {
			chat := c.tg.AddUser(fakechat.TelegramProfile{FirstName: "Somebody"}).Chat()
			change(chat)
			return chat.ID
		}
	}
	started := func(change func(*fakechat.TelegramChat)) func() any {
		return func() any {
			user := c.tg.AddUser(fakechat.TelegramProfile{FirstName: "Somebody"})
			user.Start("")
			change(user.Chat())
			return user.Chat().ID
		}
	}
	in := func(kind fakechat.TelegramChatType, change func(*fakechat.TelegramChat)) func() any {
		return func() any {
			chat := c.tg.AddChat(fakechat.TelegramChatSpec{Type: kind, Title: "Ops", Members: []*fakechat.TelegramUser{alice}})
			change(chat)
			return chat.ID
		}
	}
	nothing := func(*fakechat.TelegramChat) {}
	for _, row := range []struct {
		name string
		chat func() any
		code int
		want string
	}{
		{"no chat_id", func() any { return "" }, 400, "Bad Request: chat_id is empty"},
		{"unknown number", func() any { return 999 }, 400, "Bad Request: chat not found"},
		{"unknown name", func() any { return "@nobody" }, 400, "Bad Request: chat not found"},
		{"not a number", func() any { return "Ops" }, 400, "Bad Request: chat not found"},
		{"a stranger", private(nothing), 400, "Bad Request: chat not found"},
		{"blocked", started((*fakechat.TelegramChat).Block), 403, "Forbidden: bot was blocked by the user"},
		{"deactivated", started((*fakechat.TelegramChat).Deactivate), 403, "Forbidden: user is deactivated"},
		{"kicked from group", in("group", (*fakechat.TelegramChat).Kick), 403, "Forbidden: bot was kicked from the group chat"},
		{"kicked from supergroup", in("supergroup", (*fakechat.TelegramChat).Kick), 403, "Forbidden: bot was kicked from the supergroup chat"},
		{"kicked from channel", in("channel", (*fakechat.TelegramChat).Kick), 403, "Forbidden: bot was kicked from the channel chat"},
		{"left group", in("group", (*fakechat.TelegramChat).Leave), 403, "Forbidden: bot is not a member of the group chat"},
		{"left supergroup", in("supergroup", (*fakechat.TelegramChat).Leave), 403, "Forbidden: bot is not a member of the supergroup chat"},
		{"left channel", in("channel", (*fakechat.TelegramChat).Leave), 403, "Forbidden: bot is not a member of the channel chat"},
		{"deleted group", in("group", (*fakechat.TelegramChat).Delete), 403, "Forbidden: the group chat was deleted"},
		{"deleted supergroup", in("supergroup", (*fakechat.TelegramChat).Delete), 400, "Bad Request: chat not found"},
		{"not found", in("supergroup", (*fakechat.TelegramChat).NotFound), 400, "Bad Request: chat not found"},
		{"no rights", in("group", (*fakechat.TelegramChat).NoRights), 400, "Bad Request: not enough rights to send text messages to the chat"},
		{"no write access", in("group", (*fakechat.TelegramChat).NoWriteAccess), 400, "Bad Request: have no write access to the chat"},
		{"restricted", in("supergroup", (*fakechat.TelegramChat).Restrict), 400, "Bad Request: CHAT_RESTRICTED"},
		{"not an admin", in("channel", (*fakechat.TelegramChat).Demote), 400, "Bad Request: need administrator rights in the channel chat"},
	} {
		t.Run(row.name, func(t *testing.T) {
			c.t = t
			c.refused("sendMessage", params{"chat_id": row.chat(), "text": "x"}, row.code, row.want)
		})
	}
	c.t = t
	t.Run("met elsewhere", func(t *testing.T) {
		c.tg.AddGroup("Ops", alice)
		alice.Say(c.tg.AddGroup("Ops"), "hi")
		c.refused("sendMessage", params{"chat_id": 111, "text": "x"}, 403, "Forbidden: bot can't initiate conversation with a user")
		alice.Start("")
		c.must("sendMessage", params{"chat_id": 111, "text": "x"})
	})
	t.Run("restored", func(t *testing.T) {
		group := c.tg.AddGroup("Ops")
		group.Kick()
		group.NoRights()
		group.Restore()
		c.must("sendMessage", params{"chat_id": group.ID, "text": "x"})
	})
	t.Run("public channel by name", func(t *testing.T) {
		channel := c.tg.AddChannel("News", "the_news")
		m := c.must("sendMessage", params{"chat_id": "@The_News", "text": "x"})
		require.NotContains(t, m, "from")
		require.EqualValues(t, channel.ID, m["sender_chat"].(map[string]any)["id"])
		require.Len(t, channel.FromBot(), 1)
	})
}

func TestTelegramT7_Topics(t *testing.T) {
	c := newClient(t, frozen())
	forum := c.tg.AddForum("Ops")
	open, closed, deleted := forum.AddTopic("open"), forum.AddTopic("closed"), forum.AddTopic("deleted")
	forum.CloseTopic(closed)
	forum.DeleteTopic(deleted)
	const notFound = "Bad Request: message thread not found"
	send := func(chat *fakechat.TelegramChat, thread int) params {
		return params{"chat_id": chat.ID, "text": "x", "message_thread_id": thread}
	}
	c.refused("sendMessage", send(forum, 1), 400, notFound)
	c.refused("sendMessage", send(forum, 12345), 400, notFound)
	c.refused("sendMessage", send(forum, deleted), 400, notFound)
	c.refused("sendMessage", send(forum, closed), 400, "Bad Request: TOPIC_CLOSED")
	forum.ReopenTopic(closed)
	c.must("sendMessage", send(forum, closed))

	m := c.must("sendMessage", send(forum, open))
	require.EqualValues(t, open, m["message_thread_id"])
	require.EqualValues(t, open, m["reply_to_message"].(map[string]any)["message_id"], "looks like an answer to the topic's first message")
	m = c.must("sendMessage", params{"chat_id": forum.ID, "text": "General"})
	require.NotContains(t, m, "message_thread_id")
	require.NotContains(t, m, "is_topic_message")

	m = c.must("sendMessage", send(c.tg.AddSupergroup("No forum"), 77))
	require.NotContains(t, m, "message_thread_id", "ignored outside of forums")
	alice := c.tg.AddUser(fakechat.TelegramProfile{FirstName: "Alice"})
	alice.Start("")
	c.refused("sendMessage", send(alice.Chat(), 77), 400, notFound)
}

func TestTelegramT7_Replies(t *testing.T) {
	c := newClient(t, frozen())
	alice := c.tg.AddUser(fakechat.TelegramProfile{FirstName: "Alice"})
	group := c.tg.AddSupergroup("Ops", alice)
	asked := alice.Say(group, "run?")
	m := c.must("sendMessage", params{"chat_id": group.ID, "text": "x", "reply_parameters": params{"message_id": asked.ID}})
	require.EqualValues(t, asked.ID, m["message_thread_id"], "a reply in a supergroup belongs to a thread")
	require.NotContains(t, m, "is_topic_message")

	alice.Delete(group, asked.ID)
	const gone = "Bad Request: message to be replied not found"
	c.refused("sendMessage", params{"chat_id": group.ID, "text": "x", "reply_parameters": params{"message_id": asked.ID}}, 400, gone)
	c.refused("sendMessage", params{"chat_id": group.ID, "text": "x", "reply_to_message_id": 999}, 400, gone)
	m = c.must("sendMessage", params{"chat_id": group.ID, "text": "x", "reply_parameters": params{"message_id": asked.ID, "allow_sending_without_reply": true}})
	require.NotContains(t, m, "reply_to_message")
	c.refused("sendMessage", params{"chat_id": group.ID, "text": "x", "reply_parameters": "[]"}, 400, "Bad Request: object expected as reply parameters")
	c.refused("sendMessage", params{"chat_id": group.ID, "text": "x", "reply_parameters": params{"quote": "x"}}, 400, `Bad Request: can't find field "message_id"`)
}

func TestTelegramT7_Keyboards(t *testing.T) {
	c := newClient(t, frozen())
	group := c.tg.AddGroup("Ops")
	button := func(json string) string { return `{"inline_keyboard":[[` + json + `]]}` }
	many := strings.TrimSuffix(strings.Repeat(`{"text":"x","callback_data":"y"},`, 101), ",")
	const cannot = "Bad Request: can't parse inline keyboard button: "
	for name, row := range map[string]struct{ markup, want string }{
		"not JSON":            {`{`, "Bad Request: can't parse reply keyboard markup JSON object"},
		"not an object":       {`[]`, "Bad Request: object expected as reply markup"},
		"not an array":        {`{"inline_keyboard":{}}`, `Bad Request: field "inline_keyboard" must be of type Array`},
		"not rows":            {`{"inline_keyboard":[{}]}`, `Bad Request: field "inline_keyboard" of the InlineKeyboardMarkup must be an Array of Arrays`},
		"not a button":        {button(`"x"`), cannot + "InlineKeyboardButton must be an Object"},
		"no label":            {button(`{"callback_data":"x"}`), cannot + `Can't find field "text"`},
		"label of wrong type": {button(`{"text":{},"callback_data":"x"}`), cannot + `Field "text" must be of type String`},
		"empty label":         {button(`{"text":"","callback_data":"x"}`), "Bad Request: inline keyboard button text must be non-empty"},
		"only text":           {button(`{"text":"x"}`), cannot + "Text buttons are unallowed in the inline keyboard"},
		"empty data":          {button(`{"text":"x","callback_data":""}`), cannot + "Text buttons are unallowed in the inline keyboard"},
		"64 bytes of data":    {button(`{"text":"x","callback_data":"` + strings.Repeat("é", 32) + `"}`), ""},
		"65 bytes of data":    {button(`{"text":"x","callback_data":"` + strings.Repeat("é", 32) + `x"}`), "Bad Request: BUTTON_DATA_INVALID"},
		"style":               {button(`{"text":"x","callback_data":"x","style":"danger"}`), ""},
		"default style":       {button(`{"text":"x","callback_data":"x","style":"default"}`), ""},
		"unknown style":       {button(`{"text":"x","callback_data":"x","style":"pink"}`), cannot + "invalid button style specified"},
		"bad url":             {button(`{"text":"x","url":"nodots"}`), "Bad Request: inline keyboard button URL 'nodots' is invalid: Wrong HTTP URL"},
		"web app in a group":  {button(`{"text":"x","web_app":{"url":"https://example.com"}}`), "Bad Request: BUTTON_TYPE_INVALID"},
		"disabled":            {button(`{"text":"x","disabled":{}}`), ""},
		"101 buttons":         {button(many), "Bad Request: reply markup is too long"},
		"empty":               {`{"inline_keyboard":[]}`, ""},
		"force reply":         {`{"force_reply":true}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := params{"chat_id": group.ID, "text": "x", "reply_markup": row.markup}
			if row.want == "" {
				c.must("sendMessage", p)
			} else {
				c.refused("sendMessage", p, 400, row.want)
			}
		})
	}
	m := c.must("sendMessage", params{"chat_id": group.ID, "text": "x", "reply_markup": button(`{"text":1,"url":"example.com","callback_data":"both"}`)})
	require.Equal(t, map[string]any{"inline_keyboard": []any{[]any{map[string]any{"text": "1", "url": "example.com"}}}}, m["reply_markup"], "the first action wins")
}

// upload sends a document with the fields of p.
func (c *client) upload(name string, content []byte, p params) answer {
	c.t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for field, value := range p {
		text, ok := value.(string)
		if !ok {
			raw, _ := json.Marshal(value)
			text = string(raw)
		}
		require.NoError(c.t, w.WriteField(field, text))
	}
	file, err := w.CreateFormFile("document", name)
	require.NoError(c.t, err)
	_, err = file.Write(content)
	require.NoError(c.t, err)
	require.NoError(c.t, w.Close())
	r, _ := http.NewRequest(http.MethodPost, c.path("sendDocument"), &body)
	r.Header.Set("Content-Type", w.FormDataContentType())
	a, err := c.do(r)
	require.NoError(c.t, err)
	return a
}

func TestTelegramT7_Documents(t *testing.T) {
	c := newClient(t, frozen())
	group := c.tg.AddGroup("Ops")
	content := []byte("#!/bin/sh\n\x00\xff")
	a := c.upload("run.sh", content, params{"chat_id": group.ID, "caption": "<b>all</b> of it", "parse_mode": "HTML", "reply_markup": keyboard("Allow", "a")})
	require.True(t, a.OK, a.Raw)
	m := group.Messages()[0]
	require.Equal(t, "all of it", m.Caption)
	require.Empty(t, m.Text)
	require.Equal(t, "all", m.EntityText(m.Entities[0]))
	require.Equal(t, "run.sh", m.Document.Name)
	require.Equal(t, content, m.Document.Bytes)
	require.Equal(t, []string{"Allow"}, m.Labels())
	require.Contains(t, a.Raw, `"file_name":"run.sh"`)
	require.Contains(t, a.Raw, `"caption_entities"`)
	require.Equal(t, "run.sh", c.tg.Calls("sendDocument")[0].Files["document"].Name)

	c.must("sendDocument", params{"chat_id": group.ID, "document": m.Document.FileID})
	require.Equal(t, content, group.Messages()[1].Document.Bytes)
	require.True(t, c.upload("a", content, params{"chat_id": group.ID, "document": "attach://document"}).OK)
	require.True(t, c.upload("a", content, params{"chat_id": group.ID, "caption": strings.Repeat("é", 1024)}).OK)
	require.Equal(t, "Bad Request: message caption is too long", c.upload("a", content, params{"chat_id": group.ID, "caption": strings.Repeat("é", 1025)}).Description)
	require.Equal(t, "Bad Request: file must be non-empty", c.upload("a", nil, params{"chat_id": group.ID}).Description)
	c.refused("sendDocument", params{"chat_id": group.ID}, 400, "Bad Request: there is no document in the request")
	c.refused("sendDocument", params{"chat_id": group.ID, "document": "nonsense"}, 400, "Bad Request: wrong file identifier/HTTP URL specified")
	group.NoRights()
	require.Equal(t, "Bad Request: not enough rights to send documents to the chat", c.upload("a", content, params{"chat_id": group.ID}).Description)
	forum := c.tg.AddForum("Forum")
	require.Equal(t, "Bad Request: message thread not found", c.upload("a", content, params{"chat_id": forum.ID, "message_thread_id": 1}).Description)

	group.Restore()
	c.refused("editMessageText", params{"chat_id": group.ID, "message_id": m.ID, "text": "x"}, 400, "Bad Request: there is no text in the message to edit")
	c.must("editMessageCaption", params{"chat_id": group.ID, "message_id": m.ID, "caption": "done"})
	m, _ = group.Message(m.ID)
	require.Equal(t, "done", m.Caption)
	require.Empty(t, m.Buttons)
}

func TestTelegramT7_MessageIDs(t *testing.T) {
	c := newClient(t, frozen())
	alice := c.tg.AddUser(fakechat.TelegramProfile{FirstName: "Alice"})
	alice.Start("")
	one, two := c.tg.AddSupergroup("One"), c.tg.AddSupergroup("Two")
	require.Equal(t, c.send(one, "x"), c.send(two, "x"), "ids are unique within a supergroup only")
	require.Equal(t, 3, c.send(one, "x"))
	first := c.send(alice.Chat(), "x")
	require.Equal(t, first+1, c.send(c.tg.AddGroup("Basic"), "x"), "private chats and basic groups share a counter")
}
