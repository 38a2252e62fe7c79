package fakechat

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Message flags (Discord, "Message": message flags).
const (
	flagSuppressEmbeds       = 1 << 2
	flagEphemeral            = 1 << 6
	flagLoading              = 1 << 7
	flagSuppressNotification = 1 << 12
	flagComponentsV2         = 1 << 15
)

// dcMessage is a message.
type dcMessage struct {
	id            string
	channel       *DiscordChannel
	author        *dcUser
	webhookID     string
	applicationID string
	content       string
	embeds        []*dcEmbed
	components    []*dcComponent
	attachments   []*dcAttachment
	flags         int
	nonce         json.RawMessage
	created       time.Time
	edited        time.Time
	edits         int
	reference     string
	interaction   *DiscordInteraction // that it answers
	onlyFor       *dcUser             // of an ephemeral message
	pings         dcPings
	deleted       bool
}

// DiscordMessage is a message as people see it.
type DiscordMessage struct {
	ID        string
	ChannelID string
	AuthorID  string
	WebhookID string
	Content   string
	Embeds    []DiscordEmbed
	// Components in the form they have on the wire, with their ids.
	Components json.RawMessage
	// Rows are the buttons, also those in containers and sections.
	Rows [][]DiscordButton
	// Texts are the text displays of Components V2, in order.
	Texts       []string
	Attachments []DiscordAttachment
	Flags       int
	// Ephemeral messages only the person OnlyFor sees.
	Ephemeral bool
	OnlyFor   string
	// Loading is the "thinking…" of a deferred response.
	Loading bool
	Nonce   string
	ReplyTo string
	// Pings are the people, roles and "everyone" that get a notification, after
	// allowed_mentions.
	Pings   []string
	Created time.Time
	Edited  time.Time
	Edits   int
	Deleted bool
}

// DiscordButton is a button of a message.
type DiscordButton struct {
	Label    string
	CustomID string
	URL      string
	Style    int
	Disabled bool
}

// DiscordAttachment is a file of a message.
type DiscordAttachment struct {
	ID, Filename, Description, ContentType string
	Data                                   []byte
}

// Button finds a button by its label.
func (m DiscordMessage) Button(label string) (DiscordButton, bool) {
	for _, b := range slices.Concat(m.Rows...) {
		if b.Label == label {
			return b, true
		}
	}
	return DiscordButton{}, false
}

// Labels are the labels of all buttons.
func (m DiscordMessage) Labels() []string {
	var labels []string
	for _, b := range slices.Concat(m.Rows...) {
		labels = append(labels, b.Label)
	}
	return labels
}

// Text is everything a person can read in the message but the buttons: content,
// embeds and text displays, a line each.
func (m DiscordMessage) Text() string {
	lines := []string{m.Content}
	for _, e := range m.Embeds {
		lines = append(lines, e.lines()...)
	}
	lines = append(lines, m.Texts...)
	return strings.Join(slices.DeleteFunc(lines, func(s string) bool { return s == "" }), "\n")
}

func (m *dcMessage) public() DiscordMessage {
	p := DiscordMessage{
		ID: m.id, ChannelID: m.channel.ID, AuthorID: m.author.ID, WebhookID: m.webhookID, Content: m.content,
		Flags: m.flags, Ephemeral: m.flags&flagEphemeral != 0, Loading: m.flags&flagLoading != 0, ReplyTo: m.reference,
		Created: m.created, Edited: m.edited, Edits: m.edits, Deleted: m.deleted, Pings: m.pings.all(),
		Components: encodeJSON(wireComponents(m.components)), Nonce: strings.Trim(string(m.nonce), `"`),
	}
	if m.onlyFor != nil {
		p.OnlyFor = m.onlyFor.ID
	}
	for _, e := range m.embeds {
		p.Embeds = append(p.Embeds, e.public())
	}
	for _, a := range m.attachments {
		p.Attachments = append(p.Attachments, a.DiscordAttachment)
	}
	collect(m.components, &p)
	return p
}

// collect gathers the buttons and texts of components.
func collect(components []*dcComponent, p *DiscordMessage) {
	for _, c := range components {
		var row []DiscordButton
		for _, child := range append(slices.Clone(c.Components), c.Accessory) {
			if child != nil && child.Type == componentButton {
				row = append(row, child.button())
			}
		}
		if len(row) > 0 {
			p.Rows = append(p.Rows, row)
		}
		if c.Type == componentText {
			p.Texts = append(p.Texts, c.Content)
		}
		collect(c.Components, p)
	}
}

// post adds a new message to the channel and tells the bot. Only the first
// message of a forum's post has an id before.
func (c *DiscordChannel) post(m *dcMessage) {
	if m.id == "" {
		m.id = c.dc.newID()
	}
	m.created, m.channel = c.dc.now(), c
	c.messages = append(c.messages, m)
	c.byID[m.id] = m
	c.dc.note("%s: %s %s: %s", c.label(), m.id, m.author.Username, m.public().Text())
	if c.archived && !c.locked {
		c.archived = false
		c.announce()
	}
	m.broadcast("MESSAGE_CREATE")
}

// touch marks the message as edited and tells the bot.
func (m *dcMessage) touch() {
	m.edited = m.channel.dc.now()
	m.edits++
	m.channel.dc.note("%s: %s edited: %s", m.channel.label(), m.id, m.public().Text())
	m.broadcast("MESSAGE_UPDATE")
}

// remove deletes the message and tells the bot.
func (m *dcMessage) remove() {
	m.deleted = true
	dc := m.channel.dc
	dc.note("%s: %s deleted", m.channel.label(), m.id)
	if m.flags&flagEphemeral == 0 {
		event := obj{"id": m.id, "channel_id": m.channel.ID}
		if g := m.channel.Guild; g != nil {
			event["guild_id"] = g.ID
		}
		dc.emit("MESSAGE_DELETE", m.channel.intent(), event)
	}
	dc.wake()
}

// wire is Message.
func (m *dcMessage) wire() obj {
	w := obj{
		"id": m.id, "channel_id": m.channel.ID, "author": m.author.wire(), "content": m.content, "type": 0,
		"timestamp": discordTime(m.created), "edited_timestamp": optionalTime(m.edited), "tts": false, "pinned": false,
		"mention_everyone": m.pings.everyone, "mentions": m.mentioned(), "mention_roles": append([]string{}, m.pings.roles...),
		"attachments": wireAttachments(m), "embeds": append([]*dcEmbed{}, m.embeds...),
		"components": wireComponents(m.components), "flags": m.flags,
	}
	if m.webhookID != "" {
		w["webhook_id"] = m.webhookID
	}
	if m.applicationID != "" {
		w["application_id"] = m.applicationID
	}
	if m.nonce != nil {
		w["nonce"] = m.nonce
	}
	if m.reference != "" {
		w["type"] = 19
		w["message_reference"] = obj{"type": 0, "channel_id": m.channel.ID, "message_id": m.reference}
		// The message itself, one level deep; null if it was deleted (Message object,
		// referenced_message).
		w["referenced_message"] = nil
		for _, to := range m.channel.messages {
			if to.id == m.reference && !to.deleted && to.reference == "" {
				w["referenced_message"] = to.wire()
			}
		}
	}
	if i := m.interaction; i != nil {
		w["interaction_metadata"] = obj{"id": i.ID, "type": i.kind, "user": i.user.wire(), "authorizing_integration_owners": i.owners()}
		if i.kind == interactionCommand {
			w["type"] = 20
		}
	}
	return w
}

// mentioned are the users of Message.mentions.
func (m *dcMessage) mentioned() []obj {
	users := []obj{}
	for _, id := range m.pings.users {
		if user := m.channel.dc.users[id]; user != nil {
			users = append(users, user.wire())
		}
	}
	return users
}

// dcPings are those who get a notification.
type dcPings struct {
	users, roles []string
	everyone     bool
}

func (p dcPings) all() []string {
	all := slices.Concat(p.users, p.roles)
	if p.everyone {
		all = append(all, "everyone")
	}
	return all
}

var (
	userMention = regexp.MustCompile(`<@!?([0-9]{1,20})>`)
	roleMention = regexp.MustCompile(`<@&([0-9]{1,20})>`)
)

// ping finds the mentions in all of the message's text that notify. Embeds never
// do (Discord, "Message": allowed mentions).
func (m *dcMessage) ping(allowed dcMentions) {
	p := DiscordMessage{}
	collect(m.components, &p)
	text := strings.Join(append(p.Texts, m.content), "\n")
	m.pings = dcPings{everyone: allowed.everyone && (strings.Contains(text, "@everyone") || strings.Contains(text, "@here"))}
	m.pings.users = ids(userMention, text, allowed.allows("users"))
	m.pings.roles = ids(roleMention, text, allowed.allows("roles"))
}

func ids(format *regexp.Regexp, text string, ok func(id string) bool) []string {
	var found []string
	for _, match := range format.FindAllStringSubmatch(text, -1) {
		if ok(match[1]) && !slices.Contains(found, match[1]) {
			found = append(found, match[1])
		}
	}
	return found
}
