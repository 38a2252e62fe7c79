package discord

import (
	"context"
	"net/http"
	"strings"
	"sync"

	"github.com/bwmarrin/discordgo"

	"approvalbot/bot/discord/render"
	"approvalbot/bot/discord/rest"
	"approvalbot/core"
	"approvalbot/internal/approval"
)

// channel is the part of a channel that the bot reads.
type channel struct {
	ID     string                `json:"id"`
	Type   discordgo.ChannelType `json:"type"`
	Parent string                `json:"parent_id"`
}

func (c channel) thread() bool {
	return c.Type >= discordgo.ChannelTypeGuildNewsThread && c.Type <= discordgo.ChannelTypeGuildPrivateThread
}

func (c channel) forum() bool { return forum(c.Type) }

func forum(t discordgo.ChannelType) bool {
	return t == discordgo.ChannelTypeGuildForum || t == discordgo.ChannelTypeGuildMedia
}

// places remembers what channels are: an id never changes its meaning.
type places struct {
	mu       sync.Mutex
	channels map[string]channel
	dms      map[string]string // user id -> channel id
}

func (p *places) init() { p.channels, p.dms = map[string]channel{}, map[string]string{} }

func (p *places) channel(id string) (channel, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c, ok := p.channels[id]
	return c, ok
}

func (p *places) dm(user string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dms[user]
}

func (p *places) keep(c channel, user string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if user != "" {
		p.dms[user] = c.ID
	}
	p.channels[c.ID] = c
}

// channel asks Discord for a channel, once.
func (b *Bot) channel(ctx context.Context, id string) (channel, error) {
	if c, ok := b.places.channel(id); ok {
		return c, nil
	}
	var c channel
	if err := b.paced(ctx, http.MethodGet, id, "/channels/"+id, nil, &c); err != nil {
		return c, err
	}
	c.ID = id
	b.places.keep(c, "")
	return c, nil
}

// dm opens the direct messages with a user, once (Resources, User, Create DM:
// gives the same channel again).
func (b *Bot) dm(ctx context.Context, user string) (string, error) {
	if id := b.places.dm(user); id != "" {
		return id, nil
	}
	var c channel
	body := map[string]string{"recipient_id": user}
	if err := b.paced(ctx, http.MethodPost, "@me", "/users/@me/channels", body, &c); err != nil {
		return "", err
	}
	if !render.IsID(c.ID) {
		return "", rest.Unanswered("a direct message channel came without an id")
	}
	c.Type = discordgo.ChannelTypeDM
	b.places.keep(c, user)
	return c.ID, nil
}

// address finds the channel of a target. A message in a forum is a post, a
// thread of its own whose id is that of its first message; so calls about an
// existing message there (its id, else empty) go to that thread.
func (b *Bot) address(ctx context.Context, t approval.Target, existing string) (channel, error) {
	t = t.Normal()
	user, direct := cutDM(t.To)
	id := t.To
	switch {
	case t.Channel != "discord" || !render.IsID(user):
		return channel{},
			&core.DeliveryError{Message: "This is not a Discord channel: " +
				render.Cut(t.String(), 100) + ".", Gone: true}
	case direct:
		id, err := b.dm(ctx, user)
		return channel{ID: id, Type: discordgo.ChannelTypeDM}, err
	case t.ThreadID != "":
		return channel{ID: t.ThreadID, Type: discordgo.ChannelTypeGuildPublicThread, Parent: t.To}, nil
	}
	c, err := b.channel(ctx, id)
	if err == nil && c.forum() && existing != "" {
		return channel{ID: existing, Type: discordgo.ChannelTypeGuildPublicThread, Parent: id}, nil
	}
	return c, err
}

// cutDM takes the mark of direct messages off a target's chat.
func cutDM(to string) (id string, direct bool) { return strings.CutPrefix(to, "dm:") }

// The result is the desk's names of a place: the chat, with the thread, and for
// a thread also its own id as a chat.
func where(c channel) (chat, aka approval.Target) {
	chat = approval.Target{Channel: "discord", To: c.ID}
	if c.thread() && render.IsID(c.Parent) {
		return approval.Target{Channel: "discord", To: c.Parent, ThreadID: c.ID}, chat
	}
	return chat, approval.Target{}
}
