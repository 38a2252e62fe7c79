package discord

import (
	"slices"

	"approvalbot/bot/discord/render"
	"approvalbot/internal/approval"
)

// actor gives the person of the interaction: the member in a server, else the user.
func (i *interaction) actor() *user {
	if i.Member != nil {
		return i.Member.User
	}
	return i.User
}

// voter gives the account, and its roles as they were at that moment. In direct
// messages it has no roles.
func (i *interaction) voter() approval.Voter {
	v := approval.Voter{Channel: "discord"}
	if u := i.actor(); u != nil && render.IsID(u.ID) {
		v.UserID = u.ID
	}
	if i.Guild != "" && i.Member != nil {
		v.Roles = roles(i.Member.Roles)
	}
	return v
}

func (m *message) voter() approval.Voter {
	v := approval.Voter{Channel: "discord"}
	if m.Author != nil && render.IsID(m.Author.ID) {
		v.UserID = m.Author.ID
	}
	if m.Guild != "" && m.Member != nil && m.Webhook == "" {
		v.Roles = roles(m.Member.Roles)
	}
	return v
}

func roles(ids []string) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !render.IsID(id) })
}

// name is the account's display name, with the name that it can be found under.
func (u *user) name() string {
	switch {
	case u == nil:
		return ""
	case u.Shown == "":
		return "@" + u.Name
	}
	return u.Shown + " (@" + u.Name + ")"
}

// notHuman says why an account is not a person's, or "".
func (u *user) notHuman() string {
	switch {
	case u == nil, !render.IsID(u.ID):
		return "an unnamed sender"
	case u.System:
		return "Discord itself"
	case u.Bot:
		return "a bot"
	}
	return ""
}

// notHuman says why a message is no person's own word, or "". A webhook may bear
// any name and picture; only a member's message comes with the member.
func (m *message) notHuman() string {
	switch {
	case m.Webhook != "":
		return "a webhook"
	case m.App != "":
		return "an application"
	case m.Guild != "" && m.Member == nil:
		return "an unnamed sender"
	}
	return m.Author.notHuman()
}
