package fakechat

import "slices"

// generalTopic is the id of a forum's General topic. Messages in it carry no
// message_thread_id, and sending to it by id fails (Client.cpp,
// GENERAL_FORUM_TOPIC_ID).
const generalTopic = 1

// tgTopic is a topic of a forum; its id is the id of the message that made it.
type tgTopic struct {
	name    string
	closed  bool
	deleted bool
}

// serviceMessage adds a message without text and tells the bot about it; the
// update is not subject to privacy mode (Bots FAQ).
func (c *TelegramChat) serviceMessage(from *tgUser, senderChat *TelegramChat, thread int, key string, content any) *tgMessage {
	m := &tgMessage{chat: c, id: c.nextMessageID(), date: c.tg.now(), from: from, senderChat: senderChat}
	m.service, m.serviceContent = key, content
	m.thread = thread
	if key == "forum_topic_created" {
		m.thread = m.id
	}
	m.topic = m.thread != 0
	c.add(m)
	c.tg.note("%s: #%d %s", c.label(), m.id, key)
	m.updateID = c.tg.pushMessage(m, false)
	return m
}

// AddTopic makes a topic in a forum, as its owner does, and returns its
// message_thread_id. The bot gets a forum_topic_created message.
func (c *TelegramChat) AddTopic(name string) int {
	var id int
	c.change(func() {
		content := map[string]any{"name": name, "icon_color": 7322096}
		id = c.serviceMessage(c.owner(), nil, 0, "forum_topic_created", content).id
		c.topics[id] = &tgTopic{name: name}
	})
	return id
}

// CloseTopic closes a topic: the bot gets a forum_topic_closed message, and
// sending there answers 400 "TOPIC_CLOSED" (a guess) unless the bot is an
// administrator.
func (c *TelegramChat) CloseTopic(id int) {
	c.changeTopic(id, "forum_topic_closed", struct{}{}, func(t *tgTopic) { t.closed = true })
}

// ReopenTopic undoes [TelegramChat.CloseTopic].
func (c *TelegramChat) ReopenTopic(id int) {
	c.changeTopic(id, "forum_topic_reopened", struct{}{}, func(t *tgTopic) { t.closed = false })
}

// RenameTopic renames a topic.
func (c *TelegramChat) RenameTopic(id int, name string) {
	c.changeTopic(id, "forum_topic_edited", map[string]any{"name": name}, func(t *tgTopic) { t.name = name })
}

// DeleteTopic deletes a topic with its messages; sending there answers 400
// "message thread not found". The bot is not told.
func (c *TelegramChat) DeleteTopic(id int) {
	c.changeTopic(id, "", nil, func(t *tgTopic) {
		t.deleted = true
		for _, m := range c.messages {
			m.deleted = m.deleted || m.thread == id
		}
	})
}

func (c *TelegramChat) changeTopic(id int, key string, content any, fn func(*tgTopic)) {
	c.change(func() {
		t := c.topics[id]
		if t == nil {
			c.tg.fail("%s has no topic %d", c.label(), id)
			return
		}
		fn(t)
		if key != "" {
			c.serviceMessage(c.owner(), nil, id, key, content)
		}
	})
}

// checkThread resolves message_thread_id for sending (Client.cpp,
// check_message_topic): only forums and private chats look at it.
func (c *TelegramChat) checkThread(id int) (int, *apiError) {
	if id == 0 || c.Type != TelegramPrivate && !c.forum {
		return 0, nil
	}
	t := c.topics[id]
	if id == generalTopic || t == nil || t.deleted {
		return 0, badRequest("message thread not found")
	}
	if t.closed && c.botStatus() != statusAdmin {
		return 0, topicClosed()
	}
	return id, nil
}

// Migrate turns a basic group into a supergroup and returns that. Calls for the
// old id answer 400 with migrate_to_chat_id; the old chat gets a message with
// migrate_to_chat_id and the new one a message with migrate_from_chat_id. Old
// messages stay behind, ids start again (Bot API, Message; that the new ids
// start low is a guess).
func (c *TelegramChat) Migrate() *TelegramChat {
	var next *TelegramChat
	c.change(func() {
		next = c.tg.newChat(TelegramSupergroup, 0)
		next.title = c.title
		for _, id := range c.order {
			next.join(id, c.members[id])
		}
		c.serviceMessage(c.owner(), nil, 0, "migrate_to_chat_id", next.ID)
		c.access.migratedTo = next
		next.serviceMessage(c.tg.users[anonymousAdminID], next, 0, "migrate_from_chat_id", c.ID)
	})
	return next
}

// Post writes a message in a channel in the channel's name; the bot gets a
// channel_post.
func (c *TelegramChat) Post(text string) TelegramMessage {
	c.tg.mu.Lock()
	defer c.tg.mu.Unlock()
	m := c.newMessage(nil, c, text)
	c.add(m)
	m.updateID = c.tg.pushMessage(m, false)
	c.tg.wake()
	return m.public()
}

// AutoForward is what happens to a post of a linked channel: Telegram forwards
// it into the discussion group in the name of user 777000 with sender_chat and
// is_automatic_forward (Bot API, Message).
func (c *TelegramChat) AutoForward(channel *TelegramChat, post TelegramMessage) TelegramMessage {
	c.tg.mu.Lock()
	defer c.tg.mu.Unlock()
	m := c.newMessage(c.tg.users[serviceNotificationsID], channel, post.Text)
	m.autoForward = true
	m.forward = map[string]any{"type": "channel", "chat": channel.wire(), "message_id": post.ID, "date": post.Date.Unix()}
	c.add(m)
	m.updateID = c.tg.pushMessage(m, false)
	c.tg.wake()
	return m.public()
}

// pushMessage tells the bot about a message or its edit and returns the update
// id, or 0 if the bot does not hear of it.
func (tg *Telegram) pushMessage(m *tgMessage, edited bool) int {
	if !m.chat.botSees(m) {
		return 0
	}
	kind := "message"
	if m.chat.Type == TelegramChannel {
		kind = "channel_post"
	}
	date := m.date
	if edited {
		kind, date = "edited_"+kind, m.edited
	}
	return tg.push(kind, m.wire(true), date.Add(messageLife).Sub(tg.now()), m.chat.ID)
}

// botSees applies membership and privacy mode (Bots FAQ, "What messages will my
// bot get?"). That a command counts only at the start of the text is a guess.
func (c *TelegramChat) botSees(m *tgMessage) bool {
	switch c.botStatus() {
	case statusKicked, statusLeft:
		return false
	}
	if m.from == c.tg.me {
		return m.service != ""
	}
	if m.from != nil && m.from.Bot && !m.isAnonymous() {
		return c.seesBot(m)
	}
	if !c.isGroup() || m.service != "" || c.tg.opts.CanReadAllGroupMessages || c.botStatus() == statusAdmin {
		return true
	}
	if m.replyTo != nil && m.replyTo.from == c.tg.me {
		return true
	}
	command, target := m.command()
	return command != "" && (c.tg.isMe(target) || target == "" && c.lastBot == c.tg.me.ID)
}

// seesBot: another bot is heard only if one of the two is in Bot-to-Bot mode,
// and then only with a command for this bot or a reply to it
// (core.telegram.org/api/bots/bot-to-bot).
func (c *TelegramChat) seesBot(m *tgMessage) bool {
	if !c.tg.opts.BotToBot && !m.from.BotToBot {
		return false
	}
	_, target := m.command()
	return !c.isGroup() || c.tg.isMe(target) || m.replyTo != nil && m.replyTo.from == c.tg.me
}

// isAnonymous says that the message is not from the user it names.
func (m *tgMessage) isAnonymous() bool {
	return m.from != nil && slices.Contains([]int64{anonymousAdminID, channelBotID, serviceNotificationsID}, m.from.ID)
}
