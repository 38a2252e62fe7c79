package fakechat

import "net/http"

// chatAccess is what keeps the bot out of a chat.
type chatAccess struct {
	gone        bool          // "chat not found"
	started     bool          // a private chat: the person wrote first
	blocked     bool          // a private chat: the person blocked the bot
	deactivated bool          // a private chat: the account was deleted
	deleted     bool          // a basic group was deleted
	migratedTo  *TelegramChat // a basic group became this supergroup
	sending     sendRight
}

// sendRight is what the bot may send in a chat it can see.
type sendRight int

const (
	maySend       sendRight = iota
	mayNotSend              // "not enough rights to send text messages to the chat"
	mayNotWrite             // "have no write access to the chat"
	chatForbidden           // "CHAT_RESTRICTED"
)

// accessLevel is what a call wants to do (telegram-bot-api Client.h,
// AccessRights).
type accessLevel int

const (
	toRead accessLevel = iota
	toEdit
	toWrite
)

// openChat finds the chat of a call and checks that the bot gets in
// (telegram-bot-api Client.cpp, check_chat and check_chat_access).
func (tg *Telegram) openChat(q *tgQuery, level accessLevel) (*TelegramChat, *apiError) {
	text := q.params["chat_id"]
	if text == "" {
		return nil, badRequest("chat_id is empty")
	}
	c := tg.findChat(text)
	if c == nil || c.access.gone {
		return nil, badRequest("chat not found")
	}
	if err := c.check(level); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *TelegramChat) check(level accessLevel) *apiError {
	switch c.Type {
	case TelegramPrivate:
		return c.checkPrivate(level)
	case TelegramGroup:
		return c.checkGroup(level)
	default:
		return c.checkSupergroup(level)
	}
}

func (c *TelegramChat) checkPrivate(level accessLevel) *apiError {
	switch {
	case !c.access.started && !c.person.known:
		return badRequest("chat not found")
	case level == toRead:
		return nil
	case c.access.deactivated:
		return forbidden("user is deactivated")
	case c.access.blocked:
		return forbidden("bot was blocked by the user")
	case !c.access.started && c.person.Bot:
		return forbidden("the bot can't send messages to the bot")
	case !c.access.started:
		return forbidden("bot can't initiate conversation with a user")
	}
	return nil
}

// checkGroup: for edits in an upgraded group the answer is a guess, see toEdit.
func (c *TelegramChat) checkGroup(level accessLevel) *apiError {
	if level == toRead {
		return nil
	}
	if next := c.access.migratedTo; next != nil {
		err := badRequest("group chat was upgraded to a supergroup chat")
		err.migrateTo = next.ID
		return err
	}
	switch {
	case c.access.deleted:
		return forbidden("the group chat was deleted")
	case c.botStatus() == statusKicked:
		return forbidden("bot was kicked from the group chat")
	case c.botStatus() == statusLeft:
		return forbidden("bot is not a member of the group chat")
	}
	return nil
}

func (c *TelegramChat) checkSupergroup(level accessLevel) *apiError {
	switch c.botStatus() {
	case statusKicked:
		return forbidden("bot was kicked from the " + string(c.Type) + " chat")
	case statusLeft:
		if c.username == "" || level != toRead {
			return forbidden("bot is not a member of the " + string(c.Type) + " chat")
		}
	}
	return nil
}

// checkSending checks the right to send what ("text messages", "documents")
// in a chat that is open (td MessageContent.cpp, DialogManager.cpp).
func (c *TelegramChat) checkSending(what string) *apiError {
	switch c.access.sending {
	case mayNotSend:
		return badRequest("not enough rights to send " + what + " to the chat")
	case mayNotWrite:
		return badRequest("have no write access to the chat")
	case chatForbidden:
		return badRequest("CHAT_RESTRICTED")
	}
	if c.Type == TelegramChannel && c.botStatus() != statusAdmin {
		return badRequest("need administrator rights in the channel chat")
	}
	return nil
}

// Block makes the person of a private chat block the bot: sending answers 403
// "bot was blocked by the user", and the bot gets a my_chat_member update with
// the status "kicked" (Bot API, Update).
func (c *TelegramChat) Block() { c.setBlocked(true, statusKicked) }

// Unblock undoes [TelegramChat.Block].
func (c *TelegramChat) Unblock() { c.setBlocked(false, statusMember) }

func (c *TelegramChat) setBlocked(blocked bool, status memberStatus) {
	c.change(func() {
		c.access.blocked = blocked
		c.setBotStatus(status)
	})
}

// Kick bans the bot from a group or channel: 403 "bot was kicked from the …
// chat" and a my_chat_member update.
func (c *TelegramChat) Kick() { c.change(func() { c.setBotStatus(statusKicked) }) }

// Leave makes the bot a former member: 403 "bot is not a member of the … chat"
// and a my_chat_member update.
func (c *TelegramChat) Leave() { c.change(func() { c.setBotStatus(statusLeft) }) }

// Promote makes the bot an administrator.
func (c *TelegramChat) Promote() { c.change(func() { c.setBotStatus(statusAdmin) }) }

// Demote makes the bot an ordinary member. In a channel it then cannot post:
// 400 "need administrator rights in the channel chat".
func (c *TelegramChat) Demote() { c.change(func() { c.setBotStatus(statusMember) }) }

// Deactivate deletes the account behind a private chat: 403 "user is
// deactivated".
func (c *TelegramChat) Deactivate() { c.change(func() { c.access.deactivated = true }) }

// Delete deletes a basic group (403 "the group chat was deleted") or any other
// chat (400 "chat not found").
func (c *TelegramChat) Delete() {
	c.change(func() {
		c.access.deleted = true
		c.access.gone = c.Type != TelegramGroup
	})
}

// NotFound makes the chat unknown to the bot: 400 "chat not found".
func (c *TelegramChat) NotFound() { c.change(func() { c.access.gone = true }) }

// NoRights takes the right to send: 400 "not enough rights to send text
// messages to the chat". Edits still work.
func (c *TelegramChat) NoRights() { c.change(func() { c.access.sending = mayNotSend }) }

// NoWriteAccess makes sending answer 400 "have no write access to the chat".
func (c *TelegramChat) NoWriteAccess() { c.change(func() { c.access.sending = mayNotWrite }) }

// Restrict makes sending answer 400 "CHAT_RESTRICTED", as in a chat that
// Telegram itself restricted.
func (c *TelegramChat) Restrict() { c.change(func() { c.access.sending = chatForbidden }) }

// Restore lets the bot in again after any of the above but a migration.
func (c *TelegramChat) Restore() {
	c.change(func() {
		c.access = chatAccess{started: c.access.started, migratedTo: c.access.migratedTo}
		if s := c.botStatus(); s == statusKicked || s == statusLeft {
			c.setBotStatus(statusMember)
		}
	})
}

// change runs fn under the lock and wakes the goroutines that wait.
func (c *TelegramChat) change(fn func()) {
	c.tg.mu.Lock()
	defer c.tg.mu.Unlock()
	fn()
	c.tg.wake()
}

// wireMember is ChatMember of the Bot API, as far as bots of this kind read it.
type wireMember struct {
	User        *wireUser    `json:"user"`
	Status      memberStatus `json:"status"`
	IsAnonymous *bool        `json:"is_anonymous,omitempty"`
	CanBeEdited *bool        `json:"can_be_edited,omitempty"`
	UntilDate   *int64       `json:"until_date,omitempty"`
	IsMember    *bool        `json:"is_member,omitempty"`         // of ChatMemberRestricted
	CanPost     *bool        `json:"can_post_messages,omitempty"` // of ChatMemberAdministrator, in channels
	CanEdit     *bool        `json:"can_edit_messages,omitempty"`
	*wirePermissions
}

// wirePermissions are ChatPermissions of the Bot API, as far as bots of this kind
// read them; ChatMemberRestricted has the same fields.
type wirePermissions struct {
	SendMessages  bool `json:"can_send_messages"`
	SendDocuments bool `json:"can_send_documents"`
}

// permissions are those of members: what a group has by default, and what is left if the
// right to send was taken. It is nil for private chats and channels.
func (c *TelegramChat) permissions() *wirePermissions {
	if c.Type != TelegramGroup && c.Type != TelegramSupergroup {
		return nil
	}
	may := c.access.sending == maySend
	return &wirePermissions{may, may}
}

func (c *TelegramChat) wireMember(user *tgUser, status memberStatus) wireMember {
	member := wireMember{User: user.wire(), Status: status}
	switch status {
	case statusOwner:
		member.IsAnonymous = new(bool)
	case statusAdmin:
		member.IsAnonymous, member.CanBeEdited = new(bool), new(bool)
		if c.Type == TelegramChannel {
			may := c.access.sending == maySend
			member.CanPost, member.CanEdit = &may, &may
		}
	case statusKicked:
		member.UntilDate = new(int64)
	case statusRestricted:
		yes := true
		member.UntilDate, member.IsMember, member.wirePermissions = new(int64), &yes, &wirePermissions{}
	}
	return member
}

// setBotStatus changes the bot's membership and tells the bot.
func (c *TelegramChat) setBotStatus(status memberStatus) {
	me, old := c.tg.me, c.botStatus()
	if old == "" {
		old = statusMember
	}
	if old == status {
		return
	}
	c.join(me.ID, status)
	c.tg.note("%s: the bot is now %s", c.label(), status)
	update := map[string]any{
		"chat": c.wire(), "from": c.owner().wire(), "date": c.tg.now().Unix(),
		"old_chat_member": c.wireMember(me, old), "new_chat_member": c.wireMember(me, status),
	}
	c.tg.push("my_chat_member", update, messageLife, c.ID+5<<33)
}

// SetMember changes a person's membership: "creator", "administrator", "member",
// "restricted", "left" or "kicked". The bot is not told, because chat_member updates are
// off by default.
func (c *TelegramChat) SetMember(u *TelegramUser, status string) {
	c.change(func() { c.join(u.ID, memberStatus(status)) })
}

// topicClosed is what sending to a closed topic answers; the wording is a guess
// from TDLib's constants.
func topicClosed() *apiError {
	return &apiError{code: http.StatusBadRequest, description: "Bad Request: TOPIC_CLOSED"}
}
