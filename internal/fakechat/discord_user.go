package fakechat

import (
	"slices"
	"strings"
)

// DiscordProfile is what others see of an account.
type DiscordProfile struct {
	// ID of the account; default: a new one.
	ID string
	// Username is unique; default "user" and the end of the id.
	Username string
	// GlobalName is the name that is shown, "" if the person set no such name.
	GlobalName string
	// Bot makes the account a bot.
	Bot bool
}

// dcUser is an account of the fake.
type dcUser struct {
	DiscordProfile
	dmsClosed bool
	stranger  bool // shares no guild with the bot
	dm        *DiscordChannel
	webhook   bool // a webhook's author, which is no account
}

// DiscordUser is an account that a test acts through. Its methods are safe for
// concurrent use.
type DiscordUser struct {
	dc *Discord
	// ID is the account's id.
	ID string

	installed bool
}

// AddUser adds a person or another bot.
func (dc *Discord) AddUser(p DiscordProfile) *DiscordUser {
	dc.mu.Lock()
	defer dc.mu.Unlock()
	if p.ID == "" {
		p.ID = dc.newID()
	}
	if p.Username == "" {
		p.Username = "user" + p.ID[max(0, len(p.ID)-5):]
	}
	dc.users[p.ID] = &dcUser{DiscordProfile: p}
	return &DiscordUser{dc: dc, ID: p.ID}
}

// Installed is the same person who acts through the application that they
// installed for themselves: authorizing_integration_owners then names the user
// and not the guild (Discord, "Application": installation context).
func (u *DiscordUser) Installed() *DiscordUser {
	return &DiscordUser{dc: u.dc, ID: u.ID, installed: true}
}

// SetProfile changes names; the id stays.
func (u *DiscordUser) SetProfile(p DiscordProfile) {
	u.dc.mu.Lock()
	defer u.dc.mu.Unlock()
	p.ID = u.ID
	u.dc.users[u.ID].DiscordProfile = p
}

// CloseDMs closes the person's direct messages to everyone: 403, 50007 on send. Opening the
// channel still works.
func (u *DiscordUser) CloseDMs(closed bool) {
	u.dc.mu.Lock()
	defer u.dc.mu.Unlock()
	u.dc.users[u.ID].dmsClosed = closed
}

// Stranger says that the person shares no guild with the bot: 403, 50278 on
// send.
func (u *DiscordUser) Stranger(stranger bool) {
	u.dc.mu.Lock()
	defer u.dc.mu.Unlock()
	u.dc.users[u.ID].stranger = stranger
}

// DM is the direct message channel with the bot.
func (u *DiscordUser) DM() *DiscordChannel {
	u.dc.mu.Lock()
	defer u.dc.mu.Unlock()
	return u.dc.direct(u.dc.users[u.ID])
}

func (dc *Discord) direct(person *dcUser) *DiscordChannel {
	if person.dm == nil {
		person.dm = dc.newPlace(DiscordDM, dc.newID())
		person.dm.person = person
	}
	return person.dm
}

// DiscordSay says how something is said.
type DiscordSay struct {
	// MentionBot puts a mention of the bot in front of the text, which is how
	// the bot reads it without the privileged intent.
	MentionBot bool
	// ReplyTo is the id of a message in the same channel.
	ReplyTo string
}

// Say writes a message.
func (u *DiscordUser) Say(c *DiscordChannel, text string, how ...DiscordSay) DiscordMessage {
	u.dc.mu.Lock()
	defer u.dc.mu.Unlock()
	m := &dcMessage{channel: c, author: u.dc.users[u.ID], content: text}
	for _, say := range how {
		if say.MentionBot {
			m.content = "<@" + u.dc.me.ID + "> " + m.content
		}
		m.reference = say.ReplyTo
	}
	m.ping(allMentions())
	c.post(m)
	return m.public()
}

// Edit changes the text of a message; the bot gets MESSAGE_UPDATE.
func (u *DiscordUser) Edit(c *DiscordChannel, messageID, text string) DiscordMessage {
	u.dc.mu.Lock()
	defer u.dc.mu.Unlock()
	m := c.byID[messageID]
	if m == nil || m.deleted {
		u.dc.fail("Edit: %s shows no message %s", c.label(), messageID)
		return DiscordMessage{}
	}
	m.content = text
	m.ping(allMentions())
	m.touch()
	return m.public()
}

// Delete deletes any message of the channel, as a moderator can. The bot gets
// MESSAGE_DELETE.
func (u *DiscordUser) Delete(c *DiscordChannel, messageID string) {
	u.dc.mu.Lock()
	defer u.dc.mu.Unlock()
	m := c.byID[messageID]
	if m == nil {
		u.dc.fail("Delete: %s never showed a message %s", c.label(), messageID)
		return
	}
	m.remove()
}

// Sees returns what the person sees in a channel now: its messages and those
// ephemeral ones that are for the person.
func (u *DiscordUser) Sees(c *DiscordChannel) []DiscordMessage {
	return slices.DeleteFunc(c.History(), func(m DiscordMessage) bool {
		return m.Deleted || m.Ephemeral && m.OnlyFor != u.ID
	})
}

// SayWebhook writes a message by a webhook: the author is not a real user, and
// member is missing (Discord, "Message": webhook_id).
func (c *DiscordChannel) SayWebhook(name, text string) DiscordMessage {
	c.dc.mu.Lock()
	defer c.dc.mu.Unlock()
	id := c.dc.newID()
	author := &dcUser{DiscordProfile: DiscordProfile{ID: id, Username: name, Bot: true}, webhook: true}
	m := &dcMessage{channel: c, author: author, webhookID: id, content: text}
	m.ping(allMentions())
	c.post(m)
	return m.public()
}

func (c *DiscordChannel) label() string {
	if c.person != nil {
		return "DM of " + c.person.Username
	}
	return "#" + c.name
}

// wire is User.
func (u *dcUser) wire() obj {
	w := obj{
		"id": u.ID, "username": u.Username, "discriminator": "0", "global_name": nil, "avatar": nil,
		"public_flags": 0, "avatar_decoration_data": nil,
	}
	if u.GlobalName != "" {
		w["global_name"] = u.GlobalName
	}
	if u.Bot {
		w["bot"] = true
	}
	if u.webhook {
		w["discriminator"] = "0000"
	}
	return w
}

// mentions reports whether the text mentions an account.
func mentions(text, userID string) bool {
	return strings.Contains(text, "<@"+userID+">") || strings.Contains(text, "<@!"+userID+">")
}
