package fakechat

import "slices"

// Ids that Telegram puts into Message.from if the true sender is not told (telegram-bot-api
// Client.cpp, group_anonymous_bot_user_id_ and others).
const (
	anonymousAdminID       = 1087968824
	channelBotID           = 136817688
	serviceNotificationsID = 777000
)

// TelegramProfile is what others see of an account.
type TelegramProfile struct {
	// ID of the account; default: a new one above 2^32.
	ID        int64
	FirstName string
	LastName  string
	// Username without "@"; many people have no username, and it can change hands.
	Username string
	// Language is the IETF language_code.
	Language string
	// Bot makes the account a bot.
	Bot bool
	// BotToBot switches a bot's Bot-to-Bot mode on.
	BotToBot bool
}

// tgUser is an account of the fake.
type tgUser struct {
	TelegramProfile
	known bool // the bot has heard of it
	chat  *TelegramChat
}

// TelegramUser is an account that a test acts through. Its methods are safe for
// concurrent use.
type TelegramUser struct {
	tg *Telegram
	// ID is the account's id.
	ID int64
}

// wireUser is User of the Bot API.
type wireUser struct {
	ID        int64  `json:"id"`
	IsBot     bool   `json:"is_bot"`
	FirstName string `json:"first_name"`
	LastName  string `json:"last_name,omitempty"`
	Username  string `json:"username,omitempty"`
	Language  string `json:"language_code,omitempty"`
}

func (u *tgUser) wire() *wireUser {
	if u == nil {
		return nil
	}
	return &wireUser{u.ID, u.Bot, u.FirstName, u.LastName, u.Username, u.Language}
}

// addSystemUsers adds the accounts that are named in place of senders who are not told.
func (tg *Telegram) addSystemUsers() {
	for _, p := range []TelegramProfile{
		{ID: anonymousAdminID, FirstName: "Group", Username: "GroupAnonymousBot", Bot: true},
		{ID: channelBotID, FirstName: "Channel", Username: "Channel_Bot", Bot: true},
		{ID: serviceNotificationsID, FirstName: "Telegram"},
	} {
		tg.users[p.ID] = &tgUser{TelegramProfile: p}
	}
}

// AddUser adds a person or another bot.
func (tg *Telegram) AddUser(p TelegramProfile) *TelegramUser {
	tg.mu.Lock()
	defer tg.mu.Unlock()
	if p.ID == 0 {
		tg.lastUID++
		p.ID = tg.lastUID
	}
	tg.users[p.ID] = &tgUser{TelegramProfile: p}
	return &TelegramUser{tg: tg, ID: p.ID}
}

// Profile returns the account as it is now.
func (u *TelegramUser) Profile() TelegramProfile {
	u.tg.mu.Lock()
	defer u.tg.mu.Unlock()
	return u.tg.users[u.ID].TelegramProfile
}

// SetProfile changes names; the id stays.
func (u *TelegramUser) SetProfile(p TelegramProfile) {
	u.tg.mu.Lock()
	defer u.tg.mu.Unlock()
	p.ID = u.ID
	u.tg.users[u.ID].TelegramProfile = p
}

// Chat is the private chat of this account with the bot. The bot cannot write
// there before the person did: 403 "bot can't initiate conversation with a
// user", or 400 "chat not found" if the bot never heard of the person (td,
// MessagesManager.cpp).
func (u *TelegramUser) Chat() *TelegramChat {
	u.tg.mu.Lock()
	defer u.tg.mu.Unlock()
	return u.tg.privateChat(u.tg.users[u.ID])
}

func (tg *Telegram) privateChat(person *tgUser) *TelegramChat {
	if person.chat == nil {
		person.chat = tg.newChat(TelegramPrivate, person.ID)
		person.chat.person = person
		person.chat.join(tg.me.ID, statusMember)
	}
	return person.chat
}

// Start opens the private chat as a tap on "Start" does, with a deep-link
// payload or "".
func (u *TelegramUser) Start(payload string) TelegramMessage {
	text := "/start"
	if payload != "" {
		text += " " + payload
	}
	return u.Say(u.Chat(), text)
}

// TelegramSay says how something is said.
type TelegramSay struct {
	// ThreadID is the topic of a forum; 0 is General.
	ThreadID int
	// ReplyTo is the id of a message in the same chat.
	ReplyTo int
	// Anonymous speaks as the group: from is GroupAnonymousBot (1087968824) and
	// sender_chat is the group (Bot API, Message.sender_chat). The author does
	// not appear.
	Anonymous bool
	// As speaks in the name of a channel: from is Channel_Bot (136817688) and
	// sender_chat is the channel.
	As *TelegramChat
}

// Say writes a message. Whether the bot gets an update depends on the chat and
// on privacy mode; [TelegramMessage.UpdateID] tells.
func (u *TelegramUser) Say(c *TelegramChat, text string, how ...TelegramSay) TelegramMessage {
	u.tg.mu.Lock()
	defer u.tg.mu.Unlock()
	say := TelegramSay{}
	if len(how) > 0 {
		say = how[0]
	}
	person := u.tg.users[u.ID]
	m := c.newMessage(person, nil, text)
	switch {
	case say.Anonymous:
		m.from, m.senderChat = u.tg.users[anonymousAdminID], c
	case say.As != nil:
		m.from, m.senderChat = u.tg.users[channelBotID], say.As
	}
	m.answer(say.ThreadID, c.find(say.ReplyTo))
	u.deliver(c, m)
	return m.public()
}

// deliver adds a message of this account to a chat.
func (u *TelegramUser) deliver(c *TelegramChat, m *tgMessage) {
	person := u.tg.users[u.ID]
	person.known = true
	if c.person == person {
		c.access.started = true
	}
	c.add(m)
	u.tg.note("%s: #%d %s: %s", c.label(), m.id, m.from.FirstName, m.text)
	m.updateID = u.tg.pushMessage(m, false)
	if person.Bot {
		c.lastBot = person.ID
	}
	u.tg.wake()
}

// answer puts a message into its topic or thread. Outside of forums a reply
// belongs to the thread of the first message (Bot API, message_thread_id).
func (m *tgMessage) answer(thread int, to *tgMessage) {
	m.replyTo = to
	if m.chat.forum {
		if thread == 0 && to != nil {
			thread = to.thread
		}
		if thread != generalTopic {
			m.thread, m.topic = thread, thread != 0
		}
		return
	}
	if to != nil && m.chat.Type == TelegramSupergroup {
		m.thread = to.thread
		if m.thread == 0 {
			m.thread = to.id
		}
	}
}

// Edit changes the text of a message; the bot gets an edited_message if it would
// have got the new text as a message. It returns the message.
func (u *TelegramUser) Edit(c *TelegramChat, messageID int, text string) TelegramMessage {
	u.tg.mu.Lock()
	defer u.tg.mu.Unlock()
	m := c.find(messageID)
	if m == nil || m.deleted {
		u.tg.fail("Edit: %s shows no message %d", c.label(), messageID)
		return TelegramMessage{}
	}
	body := fixText(text, nil)
	m.text, m.entities, m.raw = body.text, body.entities, text
	m.edited = u.tg.now()
	m.edits++
	u.tg.note("%s: #%d edited: %s", c.label(), m.id, m.text)
	m.updateID = u.tg.pushMessage(m, true)
	u.tg.wake()
	return m.public()
}

// Delete deletes any message of the chat, as an administrator can. Bots are not
// told (Bot API, Update has no such type).
func (u *TelegramUser) Delete(c *TelegramChat, messageID int) {
	c.change(func() {
		m := c.find(messageID)
		if m == nil {
			u.tg.fail("Delete: %s never showed a message %d", c.label(), messageID)
			return
		}
		m.deleted = true
		u.tg.note("%s: #%d deleted", c.label(), m.id)
	})
}

// Forward forwards a message. The keyboard survives only if it has only url buttons (Bot
// API 4.3 changelog). A protected message is not forwarded; then the error says so.
func (u *TelegramUser) Forward(from *TelegramChat, messageID int, to *TelegramChat) (TelegramMessage, error) {
	u.tg.mu.Lock()
	defer u.tg.mu.Unlock()
	m, err := u.forward(from, messageID, to)
	if err != nil {
		return TelegramMessage{}, err
	}
	return m.public(), nil
}

func (u *TelegramUser) forward(from *TelegramChat, messageID int, to *TelegramChat) (*tgMessage, error) {
	original := from.find(messageID)
	if original == nil {
		return nil, u.tg.fail("Forward: %s never showed a message %d", from.label(), messageID)
	}
	if original.protected {
		return nil, errProtected
	}
	m := &tgMessage{
		chat: to, id: to.nextMessageID(), date: u.tg.now(), from: u.tg.users[u.ID], text: original.text,
		entities: original.entities, raw: original.raw, mode: original.mode, document: original.document,
	}
	m.forward = map[string]any{"type": "user", "sender_user": original.from.wire(), "date": original.date.Unix()}
	if onlyLinks(original.keyboard) {
		m.keyboard = original.keyboard
	}
	u.deliver(to, m)
	return m, nil
}

func onlyLinks(keyboard [][]TelegramButton) bool {
	return !slices.ContainsFunc(slices.Concat(keyboard...), func(b TelegramButton) bool { return b.URL == "" })
}
