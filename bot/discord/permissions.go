package discord

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// bits are permissions (Topics, Permissions), on the wire a decimal string.
type bits uint64

// The permissions that cards need.
const (
	administrator bits = 1 << 3
	viewChannel   bits = 1 << 10
	sendMessages  bits = 1 << 11
	attachFiles   bits = 1 << 15
	readHistory   bits = 1 << 16
	sendInThreads bits = 1 << 38
	everything    bits = 1<<64 - 1
)

// UnmarshalText reads the decimal form.
func (b *bits) UnmarshalText(text []byte) error {
	n, err := strconv.ParseUint(string(text), 10, 64)
	*b = bits(n)
	return err
}

// guild is the part of a server that permissions are computed from.
type guild struct {
	ID    string      `json:"id"`
	Name  string      `json:"name"`
	Owner string      `json:"owner_id"`
	Roles []guildRole `json:"roles"`
	self  guildMember
}

type guildRole struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Permissions bits   `json:"permissions"`
}

type guildMember struct {
	Roles []string   `json:"roles"`
	Muted *time.Time `json:"communication_disabled_until"`
}

// overwrite changes permissions in one channel, for a role (type 0) or a member.
type overwrite struct {
	ID    string `json:"id"`
	Type  int    `json:"type"`
	Allow bits   `json:"allow"`
	Deny  bits   `json:"deny"`
}

// probedChannel is the part of a channel that Probe reads.
type probedChannel struct {
	channel
	Guild      string      `json:"guild_id"`
	Name       string      `json:"name"`
	Flags      int         `json:"flags"`
	Overwrites []overwrite `json:"permission_overwrites"`
	Thread     *struct {
		Archived bool `json:"archived"`
		Locked   bool `json:"locked"`
	} `json:"thread_metadata"`
}

const requiresTag = 1 << 4 // Resources, Channel, Channel Flags

// in computes what the bot may do in a channel (Topics, Permissions, Permission
// Overwrites: everyone's, then all its roles' together, then its own).
func (g *guild) in(me string, overwrites []overwrite) bits {
	if g.Owner == me {
		return everything
	}
	var may bits
	for _, r := range g.Roles {
		if r.ID == g.ID || slices.Contains(g.self.Roles, r.ID) {
			may |= r.Permissions
		}
	}
	if may&administrator != 0 {
		return everything
	}
	apply := func(fits func(overwrite) bool) {
		var allow, deny bits
		for _, o := range overwrites {
			if fits(o) {
				allow, deny = allow|o.Allow, deny|o.Deny
			}
		}
		may = may&^deny | allow
	}
	apply(func(o overwrite) bool { return o.Type == 0 && o.ID == g.ID })
	apply(func(o overwrite) bool { return o.Type == 0 && o.ID != g.ID && slices.Contains(g.self.Roles, o.ID) })
	apply(func(o overwrite) bool { return o.Type == 1 && o.ID == me })
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
	if c.thread() {
		if t.ThreadID != "" && c.Parent != t.To {
			return core.Fail(what, "this thread is not in that channel", "correct the target's threadId or to")
		}
		if at, err = p.channelOf(ctx, c.Parent); err != nil {
			text, mend := p.say(err)
			return core.Fail(what, text, mend)
		}
	}
	if c.Guild == "" {
		return core.Fail(what, "this is a direct message channel, whose id only the bot can use",
			"name the person instead: discord:dm:<user id>")
	}
	g, err := p.guild(ctx, c.Guild)
	if err != nil {
		text, mend := p.say(err)
		return core.Fail(what, text, mend)
	}
	return p.judge(what, c, g, g.in(p.me, at.Overwrites))
}

func (p *probe) channelOf(ctx context.Context, id string) (c probedChannel, err error) {
	err = p.rest.Call(ctx, http.MethodGet, "/channels/"+id, nil, &c)
	c.ID = id
	return c, err
}

// judge gives the finding that follows from the bot's permissions in a channel.
func (p *probe) judge(what string, c probedChannel, g *guild, may bits) core.Diagnostic {
	name := fmt.Sprintf("#%s in %q", p.rest.Clean(c.Name), p.rest.Clean(g.Name))
	fault := func(text, mend string) core.Diagnostic { return core.Fail(what, name+": "+text, mend) }
	send, sendName := sendMessages, "Send Messages"
	if c.thread() {
		send, sendName = sendInThreads, "Send Messages in Threads"
	}
	switch {
	case c.forum() && c.Flags&requiresTag != 0:
		return fault("this forum wants a tag on each post", "turn that off, or name a thread in it")
	case c.Thread != nil && c.Thread.Locked:
		return fault("this thread is locked", "unlock it or name another target")
	case c.Thread != nil && c.Thread.Archived:
		return core.Warn(what, name+": this thread is archived; a new card reopens it, but until then the bot cannot edit its cards there", "reopen it")
	case g.self.Muted != nil && g.self.Muted.After(time.Now()):
		return fault("the bot is timed out in this server", "end the timeout")
	case may&viewChannel == 0:
		return fault("the bot cannot see this channel", "give it View Channel there")
	case may&send == 0:
		return fault("the bot may not write here", "give it "+sendName+" there")
	}
	var lacks []string
	if may&attachFiles == 0 {
		lacks = append(lacks, "Attach Files (a call that is too long for messages can only be denied here)")
	}
	if may&readHistory == 0 {
		lacks = append(lacks, "Read Message History (answers cannot refer to the card)")
	}
	if len(lacks) > 0 {
		return core.Warn(what, name+": the bot lacks "+strings.Join(lacks, " and "), "give it that there")
	}
	return core.OK(what, name+": the bot may post and edit")
}
