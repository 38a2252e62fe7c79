package discord

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// guild is a server, with the bot as its member.
type guild struct {
	discordgo.Guild
	me   string // the bot's user id
	self discordgo.Member
}

// in computes what the bot may do in a channel with those overwrites (Topics, Permissions,
// Permission Overwrites). The library does not know all that an administrator may.
func (g *guild) in(overwrites []*discordgo.PermissionOverwrite) int64 {
	const id = "at"
	state := discordgo.NewState() // it finds all that is added here, so it gives no errors
	_ = state.GuildAdd(&discordgo.Guild{ID: g.ID, OwnerID: g.OwnerID, Roles: g.Roles})
	_ = state.MemberAdd(&discordgo.Member{GuildID: g.ID, User: &discordgo.User{ID: g.me}, Roles: g.self.Roles})
	_ = state.ChannelAdd(&discordgo.Channel{ID: id, GuildID: g.ID, PermissionOverwrites: overwrites})
	may, _ := state.UserChannelPermissions(g.me, id)
	if may&discordgo.PermissionAdministrator != 0 {
		return -1
	}
	return may
}

// place reports whether a card would get to a channel.
func (p *probe) place(ctx context.Context, t approval.Target) core.Diagnostic {
	what := t.String()
	if user, direct := cutDM(t.To); direct {
		f := p.user(ctx, user)
		if f.What = what; f.Level != core.LevelOK {
			f.Level = core.LevelFail
		}
		return f
	}
	c, err := p.channelOf(ctx, cmp.Or(t.ThreadID, t.To))
	if err != nil {
		text, mend := p.say(err)
		return core.Fail(what, text, mend)
	}
	at := c // whose overwrites count: a thread has those of its parent
	if c.IsThread() {
		if t.ThreadID != "" && c.ParentID != t.To {
			return core.Fail(what, "this thread is not in that channel", "correct the target's threadId or to")
		}
		if at, err = p.channelOf(ctx, c.ParentID); err != nil {
			text, mend := p.say(err)
			return core.Fail(what, text, mend)
		}
	}
	if c.GuildID == "" {
		return core.Fail(what, "this is a direct message channel, whose id only the bot can use",
			"name the person instead: discord:dm:<user id>")
	}
	g, err := p.guild(ctx, c.GuildID)
	if err != nil {
		text, mend := p.say(err)
		return core.Fail(what, text, mend)
	}
	return p.judge(what, c, g, g.in(at.PermissionOverwrites))
}

func (p *probe) channelOf(ctx context.Context, id string) (c discordgo.Channel, err error) {
	err = p.rest.Call(ctx, http.MethodGet, "/channels/"+id, nil, &c)
	c.ID = id
	return c, err
}

// judge gives the finding that follows from the bot's permissions in a channel.
func (p *probe) judge(what string, c discordgo.Channel, g *guild, may int64) core.Diagnostic {
	name := fmt.Sprintf("#%s in %q", p.rest.Clean(c.Name), p.rest.Clean(g.Name))
	fault := func(text, mend string) core.Diagnostic { return core.Fail(what, name+": "+text, mend) }
	send, sendName := int64(discordgo.PermissionSendMessages), "Send Messages"
	if c.IsThread() {
		send, sendName = discordgo.PermissionSendMessagesInThreads, "Send Messages in Threads"
	}
	switch {
	case forum(c.Type) && c.Flags&discordgo.ChannelFlagRequireTag != 0:
		return fault("this forum wants a tag on each post", "turn that off, or name a thread in it")
	case c.ThreadMetadata != nil && c.ThreadMetadata.Locked:
		return fault("this thread is locked", "unlock it or name another target")
	case c.ThreadMetadata != nil && c.ThreadMetadata.Archived:
		return core.Warn(what, name+": this thread is archived; a new card reopens it, but until then the bot cannot edit its cards there", "reopen it")
	case g.self.CommunicationDisabledUntil != nil && g.self.CommunicationDisabledUntil.After(time.Now()):
		return fault("the bot is timed out in this server", "end the timeout")
	case may&discordgo.PermissionViewChannel == 0:
		return fault("the bot cannot see this channel", "give it View Channel there")
	case may&send == 0:
		return fault("the bot may not write here", "give it "+sendName+" there")
	}
	var lacks []string
	if may&discordgo.PermissionAttachFiles == 0 {
		lacks = append(lacks, "Attach Files (a call that is too long for messages can only be denied here)")
	}
	if may&discordgo.PermissionReadMessageHistory == 0 {
		lacks = append(lacks, "Read Message History (answers cannot refer to the card)")
	}
	if len(lacks) > 0 {
		return core.Warn(what, name+": the bot lacks "+strings.Join(lacks, " and "), "give it that there")
	}
	return core.OK(what, name+": the bot may post and edit")
}
