package fakechat

import (
	"context"
	"net/http"
	"slices"
	"time"
)

// DiscordChannelType is a channel's type (Discord, "Channel": channel types).
type DiscordChannelType int

// The types that the fake knows.
const (
	DiscordText          DiscordChannelType = 0
	DiscordDM            DiscordChannelType = 1
	DiscordPublicThread  DiscordChannelType = 11
	DiscordPrivateThread DiscordChannelType = 12
	DiscordForum         DiscordChannelType = 15
)

// DiscordAccess is what the bot may do in a channel.
type DiscordAccess int

const (
	// DiscordOpen: everything.
	DiscordOpen DiscordAccess = iota
	// DiscordNoAccess: the bot does not see the channel: 403, 50001.
	DiscordNoAccess
	// DiscordNoSend: it sees the channel and may not write: 403, 50013.
	DiscordNoSend
)

// DiscordTag is a tag of a forum.
type DiscordTag struct{ ID, Name string }

// DiscordChannel is a channel, thread, forum or direct message as all its members see it.
// Its methods are safe for concurrent use.
type DiscordChannel struct {
	dc *Discord
	// ID is the channel's id.
	ID string
	// Type is the channel's type.
	Type DiscordChannelType
	// Guild is nil in a direct message.
	Guild *DiscordGuild
	// Parent is the channel or forum of a thread.
	Parent *DiscordChannel

	name             string
	person           *dcUser // the other one of a direct message
	access           DiscordAccess
	overwrites       []dcOverwrite
	deleted          bool
	archived, locked bool
	autoArchive      int
	archivedAt       time.Time
	tags             []DiscordTag
	tagRequired      bool
	applied          []string
	owner            string
	messages         []*dcMessage
	byID             map[string]*dcMessage
	nonces           map[string]*dcMessage // by author and nonce
	edits            window                // of messages older than an hour
}

// AddChannel adds a text channel that all members of the guild see.
func (g *DiscordGuild) AddChannel(name string) *DiscordChannel {
	return g.addChannel(DiscordText, name, nil, nil)
}

// AddForum adds a forum with tags. It is not possible to write in the forum itself.
func (g *DiscordGuild) AddForum(name string, tags ...string) *DiscordChannel {
	return g.addChannel(DiscordForum, name, nil, tags)
}

// AddThread adds a public thread to a channel, or a post to a forum.
func (c *DiscordChannel) AddThread(name string) *DiscordChannel {
	return c.Guild.addChannel(DiscordPublicThread, name, c, nil)
}

func (g *DiscordGuild) addChannel(kind DiscordChannelType, name string, parent *DiscordChannel, tags []string) *DiscordChannel {
	g.dc.mu.Lock()
	defer g.dc.mu.Unlock()
	c := g.newChannel(kind, name, parent, g.dc.newID())
	for _, tag := range tags {
		c.tags = append(c.tags, DiscordTag{g.dc.newID(), tag})
	}
	event := "CHANNEL_CREATE"
	if c.isThread() {
		event = "THREAD_CREATE"
	}
	g.dc.emit(event, intentGuilds, c.wire())
	return c
}

func (g *DiscordGuild) newChannel(kind DiscordChannelType, name string, parent *DiscordChannel, id string) *DiscordChannel {
	c := g.dc.newPlace(kind, id)
	c.Guild, c.Parent, c.name, c.owner = g, parent, name, g.owner()
	g.channels = append(g.channels, c)
	return c
}

func (dc *Discord) newPlace(kind DiscordChannelType, id string) *DiscordChannel {
	c := &DiscordChannel{
		dc: dc, ID: id, Type: kind, autoArchive: 4320, archivedAt: dc.now(),
		byID: make(map[string]*dcMessage), nonces: make(map[string]*dcMessage),
	}
	dc.places[id] = c
	return c
}

func (c *DiscordChannel) isThread() bool {
	return c.Type == DiscordPublicThread || c.Type == DiscordPrivateThread
}

// change changes the channel under the lock and tells the bot.
func (c *DiscordChannel) change(change func()) {
	c.dc.mu.Lock()
	defer c.dc.mu.Unlock()
	change()
	c.announce()
}

// announce tells the bot that the channel changed.
func (c *DiscordChannel) announce() {
	kind := "CHANNEL"
	if c.isThread() {
		kind = "THREAD"
	}
	switch {
	case c.Guild == nil:
	case c.deleted:
		c.dc.emit(kind+"_DELETE", intentGuilds, c.wire())
	default:
		c.dc.emit(kind+"_UPDATE", intentGuilds, c.wire())
	}
	c.dc.wake()
}

// SetAccess changes what the bot may do here.
func (c *DiscordChannel) SetAccess(access DiscordAccess) { c.change(func() { c.access = access }) }

// Delete deletes the channel: 404, 10003.
func (c *DiscordChannel) Delete() { c.change(func() { c.deleted = true }) }

// Archive archives a thread; locked ones only moderators can open again. A
// message to an archived thread opens it, edits there are refused with 50083
// (Discord, "Threads"). A locked one refuses messages with 160005.
func (c *DiscordChannel) Archive(locked bool) {
	c.change(func() { c.archived, c.locked, c.archivedAt = true, locked, c.dc.now() })
}

// Lock locks a thread without archiving it.
func (c *DiscordChannel) Lock() { c.change(func() { c.locked = true }) }

// Unarchive opens a thread again and unlocks it.
func (c *DiscordChannel) Unarchive() {
	c.change(func() { c.archived, c.locked, c.archivedAt = false, false, c.dc.now() })
}

// RequireTag makes a forum refuse posts without a tag: 40067.
func (c *DiscordChannel) RequireTag() { c.change(func() { c.tagRequired = true }) }

// Tags are the tags of a forum, with their ids.
func (c *DiscordChannel) Tags() []DiscordTag {
	c.dc.mu.Lock()
	defer c.dc.mu.Unlock()
	return slices.Clone(c.tags)
}

// AppliedTags are the ids of the tags of a post.
func (c *DiscordChannel) AppliedTags() []string {
	c.dc.mu.Lock()
	defer c.dc.mu.Unlock()
	return slices.Clone(c.applied)
}

// Name is the name of the channel or the title of the thread.
func (c *DiscordChannel) Name() string {
	c.dc.mu.Lock()
	defer c.dc.mu.Unlock()
	return c.name
}

// Archived tells whether a thread is archived.
func (c *DiscordChannel) Archived() bool {
	c.dc.mu.Lock()
	defer c.dc.mu.Unlock()
	return c.archived
}

// Threads returns the threads or posts that were made here and are not deleted.
func (c *DiscordChannel) Threads() []*DiscordChannel {
	c.dc.mu.Lock()
	defer c.dc.mu.Unlock()
	var threads []*DiscordChannel
	for _, t := range c.Guild.channels {
		if t.Parent == c && !t.deleted {
			threads = append(threads, t)
		}
	}
	return threads
}

// Messages returns what all members of the channel see now, in order: no deleted messages,
// and no ephemeral ones.
func (c *DiscordChannel) Messages() []DiscordMessage {
	return slices.DeleteFunc(c.History(), func(m DiscordMessage) bool { return m.Deleted || m.Ephemeral })
}

// History returns all messages there ever were, the deleted ones marked, those
// for one person's eyes included.
func (c *DiscordChannel) History() []DiscordMessage {
	c.dc.mu.Lock()
	defer c.dc.mu.Unlock()
	messages := make([]DiscordMessage, 0, len(c.messages))
	for _, m := range c.messages {
		messages = append(messages, m.public())
	}
	return messages
}

// FromBot returns the messages of the bot under test that all members see now.
func (c *DiscordChannel) FromBot() []DiscordMessage {
	return slices.DeleteFunc(c.Messages(), func(m DiscordMessage) bool { return m.AuthorID != c.dc.me.ID })
}

// Message returns one message as it is now; ok is false if there never was one
// with this id.
func (c *DiscordChannel) Message(id string) (m DiscordMessage, ok bool) {
	c.dc.mu.Lock()
	defer c.dc.mu.Unlock()
	found := c.byID[id]
	if found == nil {
		return DiscordMessage{}, false
	}
	return found.public(), true
}

// WaitMessage waits until pred is true of a message of the bot that all members see, and
// returns the first such message.
func (c *DiscordChannel) WaitMessage(ctx context.Context, pred func(DiscordMessage) bool) (DiscordMessage, error) {
	var found DiscordMessage
	err := c.dc.WaitFor(ctx, func() bool {
		messages := c.FromBot()
		i := slices.IndexFunc(messages, pred)
		if i >= 0 {
			found = messages[i]
		}
		return i >= 0
	})
	return found, err
}

// readable is the error of a bot that wants to see the channel.
func (dc *Discord) readable(id string) (*DiscordChannel, *dcError) {
	if !isSnowflake(id) {
		return nil, invalidForm("channel_id", "NUMBER_TYPE_COERCE", "Value \""+id+"\" is not snowflake.")
	}
	c := dc.places[id]
	switch {
	case c == nil || c.deleted || c.Parent != nil && c.Parent.deleted:
		return nil, failure(http.StatusNotFound, 10003, "Unknown Channel")
	case c.access == DiscordNoAccess || c.Parent != nil && c.Parent.access == DiscordNoAccess || c.outside() || !c.may(PermissionViewChannel):
		return nil, failure(http.StatusForbidden, 50001, "Missing Access")
	}
	return c, nil
}

// outside reports whether the bot left the guild of the channel.
func (c *DiscordChannel) outside() bool { return c.Guild != nil && c.Guild.members[c.dc.me.ID] == nil }

// writable is the error of a bot that wants to write here. That a message opens
// an archived thread is in Discord, "Threads".
func (c *DiscordChannel) writable() *dcError {
	switch {
	case c.access == DiscordNoSend || !c.may(c.sending()):
		return failure(http.StatusForbidden, 50013, "Missing Permissions")
	case c.Type == DiscordForum:
		return failure(http.StatusBadRequest, 50008, "Cannot send messages in a non-text channel")
	case c.locked:
		return failure(http.StatusForbidden, 160005, "This thread is locked")
	case c.person != nil && c.person.dmsClosed:
		return failure(http.StatusForbidden, 50007, "Cannot send messages to this user")
	case c.person != nil && c.person.stranger:
		return failure(http.StatusForbidden, 50278, "Cannot send messages to this user due to having no mutual guilds")
	}
	return nil
}

// wire is Channel.
func (c *DiscordChannel) wire() obj {
	w := obj{"id": c.ID, "type": c.Type, "last_message_id": nil, "flags": 0, "application_id": nil}
	if n := len(c.messages); n > 0 {
		w["last_message_id"] = c.messages[n-1].id
	}
	if c.Guild == nil {
		w["recipients"] = []obj{c.person.wire()}
		return w
	}
	w["guild_id"], w["name"], w["position"], w["permission_overwrites"] = c.Guild.ID, c.name, 0, c.wireOverwrites()
	w["parent_id"], w["nsfw"], w["rate_limit_per_user"], w["topic"] = nil, false, 0, nil
	if c.Type == DiscordForum {
		tags := []obj{}
		for _, tag := range c.tags {
			tags = append(tags, obj{"id": tag.ID, "name": tag.Name, "moderated": false, "emoji_id": nil, "emoji_name": nil})
		}
		w["available_tags"] = tags
		if c.tagRequired {
			w["flags"] = 1 << 4
		}
	}
	if c.isThread() {
		delete(w, "position")
		delete(w, "permission_overwrites")
		w["parent_id"], w["owner_id"], w["message_count"], w["member_count"] = c.Parent.ID, c.owner, len(c.messages), 1
		w["applied_tags"] = append([]string{}, c.applied...)
		w["thread_metadata"] = obj{
			"archived": c.archived, "locked": c.locked, "auto_archive_duration": c.autoArchive,
			"archive_timestamp": discordTime(c.archivedAt),
		}
	}
	return w
}
