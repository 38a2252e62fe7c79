package telegram

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// probedChat is the part of ChatFullInfo that is looked at.
type probedChat struct {
	Type        string       `json:"type"`
	Title       string       `json:"title"`
	Forum       bool         `json:"is_forum"`
	Permissions *permissions `json:"permissions"` // of members, in groups
}

// permissions are ChatPermissions, or those of a restricted member.
type permissions struct {
	Messages  bool `json:"can_send_messages"`
	Documents bool `json:"can_send_documents"`
}

// probedMember is the part of ChatMember that is looked at.
type probedMember struct {
	User struct {
		IsBot    bool   `json:"is_bot"`
		Username string `json:"username"`
		Name     string `json:"first_name"`
	} `json:"user"`
	Status   string `json:"status"`
	IsMember bool   `json:"is_member"`         // of a restricted one
	Posts    *bool  `json:"can_post_messages"` // of an administrator, in channels
	permissions
}

func (m probedMember) in() bool {
	if m.Status == "restricted" {
		return m.IsMember
	}
	return slices.Contains([]string{"creator", "administrator", "member"}, m.Status)
}

// mayPost reports whether an administrator of a channel may post in it.
func (m probedMember) mayPost() bool {
	return m.Status == "administrator" && (m.Posts == nil || *m.Posts)
}

// of gives what a member of the chat may do there.
func (c probedChat) of(m probedMember) permissions {
	switch {
	case m.Status == "restricted":
		return m.permissions
	case m.Status == "member" && c.Permissions != nil:
		return *c.Permissions
	}
	return permissions{Messages: true, Documents: true}
}

// place reports whether a card would get to a chat.
func (p *probe) place(ctx context.Context, t approval.Target) core.Diagnostic {
	what := t.String()
	var c probedChat
	if err := p.wire.post(ctx, "getChat", map[string]any{"chat_id": t.To}, &c); err != nil {
		text, mend := p.say(err)
		return core.Fail(what, text, mend)
	}
	if c.Type == "private" {
		return core.OK(what, "the private chat is open; whether the person has blocked the bot shows only when something is sent")
	}
	m, err := p.member(ctx, t.To, strconv.FormatInt(p.id, 10))
	if err != nil {
		text, mend := p.say(err)
		return core.Fail(what, text, mend)
	}
	name := fmt.Sprintf("%s %q", c.Type, p.wire.clean(c.Title))
	if text, mend := c.refuses(m); text != "" {
		return core.Fail(what, name+": "+text, mend)
	}
	if text, mend := c.noFiles(m); text != "" {
		return core.Warn(what, name+": "+text, mend)
	}
	switch {
	case t.ThreadID != "" && !c.Forum:
		return core.Warn(what, name+" has no topics: cards go to the chat itself", "remove threadId, or turn topics on")
	case t.ThreadID != "":
		return core.OK(what, name+": the bot may post and edit; whether topic "+t.ThreadID+" is there shows only "+
			"when something is posted to it (approvalbot drill)")
	}
	return core.OK(what, name+": the bot is in it and may post and edit")
}

// refuses says why no card gets to the chat.
func (c probedChat) refuses(m probedMember) (text, mend string) {
	switch {
	case !m.in():
		return "the bot is not in this chat", "add the bot to it"
	case c.Type == "channel" && !m.mayPost():
		return "the bot may not post in this channel", "make it an administrator that may post messages"
	case !c.of(m).Messages:
		return "the bot may not write in this chat", "give it the right to send messages, or make it an administrator"
	}
	return "", ""
}

// noFiles says why calls that are too long for a card cannot be shown.
func (c probedChat) noFiles(m probedMember) (text, mend string) {
	if !c.of(m).Documents {
		return "the bot may not send files, so a call that is too long for messages can only be denied here",
			"give it the right to send files"
	}
	return "", ""
}

func (p *probe) member(ctx context.Context, chat, user string) (probedMember, error) {
	var m probedMember
	err := p.wire.post(ctx, "getChatMember", map[string]any{"chat_id": chat, "user_id": user}, &m)
	return m, err
}
