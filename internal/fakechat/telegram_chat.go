package fakechat

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// TelegramChatType is Chat.type of the Bot API. A forum is a supergroup.
type TelegramChatType string

// The types of chats (Bot API, Chat).
const (
	TelegramPrivate    TelegramChatType = "private"
	TelegramGroup      TelegramChatType = "group"
	TelegramSupergroup TelegramChatType = "supergroup"
	TelegramChannel    TelegramChatType = "channel"
)

// supergroupOffset: ids of supergroups and channels are -100 followed by digits.
const supergroupOffset = -1_000_000_000_000

// TelegramChatSpec describes a chat to add.
type TelegramChatSpec struct {
	Type TelegramChatType
	// ID of the chat; default: a new one of the form its type has.
	ID    int64
	Title string
	// Username makes a supergroup or channel public.
	Username string
	// Forum switches topics on in a supergroup.
	Forum bool
	// BotAdmin makes the bot an administrator, which lifts privacy mode. In a
	// channel the bot always is one, else it could not post.
	BotAdmin bool
	// Members are the people in the chat; the first one owns it.
	Members []*TelegramUser
}

// memberStatus is ChatMember.status.
type memberStatus string

const (
	statusOwner      memberStatus = "creator"
	statusAdmin      memberStatus = "administrator"
	statusMember     memberStatus = "member"
	statusRestricted memberStatus = "restricted"
	statusLeft       memberStatus = "left"
	statusKicked     memberStatus = "kicked"
)

// TelegramChat is a chat as all its members see it. Its methods are safe for concurrent
// use. The errors that its state causes are those of telegram-bot-api Client.cpp
// (check_chat_access, check_message_topic) and td (MessageContent.cpp, DialogManager.cpp).
type TelegramChat struct {
	tg *Telegram
	// ID is the chat's id.
	ID int64
	// Type is the chat's type.
	Type TelegramChatType

	title, username string
	forum           bool
	person          *tgUser // of a private chat
	instance        int64   // chat_instance of callback queries
	members         map[int64]memberStatus
	order           []int64 // members in order of joining
	access          chatAccess
	lastBot         int64 // id of the bot that wrote last, 0 if no bot did
	lastID          int   // of supergroups and channels
	messages        []*tgMessage
	byID            map[int]*tgMessage
	topics          map[int]*tgTopic
}

// AddChat adds a chat that the bot is in.
func (tg *Telegram) AddChat(spec TelegramChatSpec) *TelegramChat {
	tg.mu.Lock()
	defer tg.mu.Unlock()
	c := tg.newChat(spec.Type, spec.ID)
	c.title, c.username, c.forum = spec.Title, spec.Username, spec.Forum
	for i, member := range spec.Members {
		status := statusMember
		if i == 0 {
			status = statusOwner
		}
		c.join(member.ID, status)
	}
	c.join(tg.me.ID, statusMember)
	if spec.BotAdmin || spec.Type == TelegramChannel {
		c.members[tg.me.ID] = statusAdmin
	}
	return c
}

// AddGroup adds a basic group.
func (tg *Telegram) AddGroup(title string, members ...*TelegramUser) *TelegramChat {
	return tg.AddChat(TelegramChatSpec{Type: TelegramGroup, Title: title, Members: members})
}

// AddSupergroup adds a private supergroup.
func (tg *Telegram) AddSupergroup(title string, members ...*TelegramUser) *TelegramChat {
	return tg.AddChat(TelegramChatSpec{Type: TelegramSupergroup, Title: title, Members: members})
}

// AddForum adds a private supergroup with topics.
func (tg *Telegram) AddForum(title string, members ...*TelegramUser) *TelegramChat {
	return tg.AddChat(TelegramChatSpec{Type: TelegramSupergroup, Title: title, Forum: true, Members: members})
}

// AddChannel adds a channel in which the bot is an administrator. An empty
// username makes it private.
func (tg *Telegram) AddChannel(title, username string) *TelegramChat {
	return tg.AddChat(TelegramChatSpec{Type: TelegramChannel, Title: title, Username: username})
}

// newChat makes an empty chat.
func (tg *Telegram) newChat(kind TelegramChatType, id int64) *TelegramChat {
	if id == 0 {
		tg.lastCID++
		id = supergroupOffset - tg.lastCID
		if kind == TelegramGroup {
			id = -tg.lastCID
		}
	}
	c := &TelegramChat{
		tg: tg, ID: id, Type: kind, instance: rand.Int64(),
		members: make(map[int64]memberStatus), topics: make(map[int]*tgTopic), byID: make(map[int]*tgMessage),
		lastID: 1, // the message that made the chat
	}
	tg.chats[id] = c
	return c
}

func (c *TelegramChat) join(id int64, status memberStatus) {
	if _, ok := c.members[id]; !ok {
		c.order = append(c.order, id)
	}
	c.members[id] = status
}

func (c *TelegramChat) isGroup() bool { return c.Type == TelegramGroup || c.Type == TelegramSupergroup }

func (c *TelegramChat) botStatus() memberStatus { return c.members[c.tg.me.ID] }

// owner is the member who acts if a member must: the chat's owner or its first member, or
// the bot's own user if the chat has no other member.
func (c *TelegramChat) owner() *tgUser {
	if c.person != nil {
		return c.person
	}
	for _, id := range c.order {
		if id != c.tg.me.ID && c.tg.users[id] != nil {
			return c.tg.users[id]
		}
	}
	return c.tg.me
}

// findChat resolves chat_id: a number, or "@username" of a public supergroup or channel
// (Bot API, sendMessage). It returns nil if there is no such chat.
func (tg *Telegram) findChat(text string) *TelegramChat {
	if name, ok := strings.CutPrefix(text, "@"); ok {
		for _, c := range tg.chats {
			if c.username != "" && strings.EqualFold(c.username, name) && c.person == nil {
				return c
			}
		}
		return nil
	}
	id, _ := strconv.ParseInt(text, 10, 64)
	if person := tg.users[id]; person != nil && person != tg.me {
		return tg.privateChat(person)
	}
	return tg.chats[id]
}

// nextMessageID: supergroups and channels count for themselves, private chats
// and basic groups share the counter of the bot's account.
func (c *TelegramChat) nextMessageID() int {
	if c.Type == TelegramPrivate || c.Type == TelegramGroup {
		c.tg.lastBox++
		return c.tg.lastBox
	}
	c.lastID++
	return c.lastID
}

// find returns a message, deleted ones included, or nil.
func (c *TelegramChat) find(id int) *tgMessage { return c.byID[id] }

func (c *TelegramChat) add(m *tgMessage) {
	c.messages = append(c.messages, m)
	c.byID[m.id] = m
}

// Messages returns what the chat shows now, in order, with the messages of the
// bot and of people and service messages, without deleted ones.
func (c *TelegramChat) Messages() []TelegramMessage {
	return slices.DeleteFunc(c.History(), func(m TelegramMessage) bool { return m.Deleted })
}

// History returns all messages there ever were, the deleted ones marked.
func (c *TelegramChat) History() []TelegramMessage {
	c.tg.mu.Lock()
	defer c.tg.mu.Unlock()
	messages := make([]TelegramMessage, 0, len(c.messages))
	for _, m := range c.messages {
		messages = append(messages, m.public())
	}
	return messages
}

// FromBot returns the messages of the bot under test that the chat shows now.
func (c *TelegramChat) FromBot() []TelegramMessage {
	return slices.DeleteFunc(c.Messages(), func(m TelegramMessage) bool { return m.FromID != c.tg.me.ID })
}

// Message returns one message as it is now; ok is false if there never was one
// with this id.
func (c *TelegramChat) Message(id int) (m TelegramMessage, ok bool) {
	c.tg.mu.Lock()
	defer c.tg.mu.Unlock()
	found := c.find(id)
	if found == nil {
		return TelegramMessage{}, false
	}
	return found.public(), true
}

// Newest returns the newest message that the chat shows, or false if it shows no message.
// It takes the same time for a long chat.
func (c *TelegramChat) Newest() (m TelegramMessage, ok bool) {
	c.tg.mu.Lock()
	defer c.tg.mu.Unlock()
	for _, m := range slices.Backward(c.messages) {
		if !m.deleted {
			return m.public(), true
		}
	}
	return TelegramMessage{}, false
}

// WaitMessages waits until pred is true of [TelegramChat.Messages] and returns
// them.
func (c *TelegramChat) WaitMessages(ctx context.Context, pred func([]TelegramMessage) bool) ([]TelegramMessage, error) {
	var messages []TelegramMessage
	err := c.tg.WaitFor(ctx, func() bool {
		messages = c.Messages()
		return pred(messages)
	})
	return messages, err
}

// WaitMessage waits until pred is true of a message of the bot and returns the
// first such message.
func (c *TelegramChat) WaitMessage(ctx context.Context, pred func(TelegramMessage) bool) (TelegramMessage, error) {
	var found TelegramMessage
	err := c.tg.WaitFor(ctx, func() bool {
		messages := c.FromBot()
		i := slices.IndexFunc(messages, pred)
		if i >= 0 {
			found = messages[i]
		}
		return i >= 0
	})
	return found, err
}

// wireChat is Chat of the Bot API.
type wireChat struct {
	ID        int64            `json:"id"`
	Title     string           `json:"title,omitempty"`
	FirstName string           `json:"first_name,omitempty"`
	LastName  string           `json:"last_name,omitempty"`
	Username  string           `json:"username,omitempty"`
	IsForum   bool             `json:"is_forum,omitempty"`
	Type      TelegramChatType `json:"type"`
	AllAdmins *bool            `json:"all_members_are_administrators,omitempty"`
}

func (c *TelegramChat) wire() *wireChat {
	w := &wireChat{ID: c.ID, Title: c.title, Username: c.username, IsForum: c.forum, Type: c.Type}
	if c.person != nil {
		w.FirstName, w.LastName, w.Username = c.person.FirstName, c.person.LastName, c.person.Username
	}
	if c.Type == TelegramGroup {
		w.AllAdmins = new(bool)
	}
	return w
}
