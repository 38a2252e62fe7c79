package fakechat

import "slices"

// dcOverwrite changes what a role or a member may do in one channel (Discord,
// "Permissions": permission overwrites).
type dcOverwrite struct {
	id          string
	member      bool
	allow, deny DiscordPermissions
}

// OverwriteRole changes what a role may do in this channel; its guild's id means @everyone.
func (c *DiscordChannel) OverwriteRole(role string, allow, deny DiscordPermissions) {
	c.change(func() { c.overwrites = append(c.overwrites, dcOverwrite{role, false, allow, deny}) })
}

// OverwriteMember changes what one member may do in this channel, the bot perhaps.
func (c *DiscordChannel) OverwriteMember(user string, allow, deny DiscordPermissions) {
	c.change(func() { c.overwrites = append(c.overwrites, dcOverwrite{user, true, allow, deny}) })
}

// may reports whether the bot has a permission here. A thread has its parent's
// overwrites; a direct message has no permissions to ask for.
func (c *DiscordChannel) may(what DiscordPermissions) bool {
	if c.Guild == nil {
		return true
	}
	at := c
	if c.isThread() {
		at = c.Parent
	}
	self := c.Guild.members[c.dc.me.ID]
	bits := c.Guild.permissions(self)
	if bits&PermissionAdministrator != 0 {
		return true
	}
	for _, fits := range []func(dcOverwrite) bool{
		func(o dcOverwrite) bool { return !o.member && o.id == c.Guild.ID },
		func(o dcOverwrite) bool { return !o.member && self != nil && slices.Contains(self.roles, o.id) },
		func(o dcOverwrite) bool { return o.member && o.id == c.dc.me.ID },
	} {
		var allow, deny DiscordPermissions
		for _, o := range at.overwrites {
			if fits(o) {
				allow, deny = allow|o.allow, deny|o.deny
			}
		}
		bits = bits&^deny | allow
	}
	return bits&what == what
}

// sending is the permission that writing here takes.
func (c *DiscordChannel) sending() DiscordPermissions {
	if c.isThread() {
		return PermissionSendInThreads
	}
	return PermissionSendMessages
}

// wireOverwrites are the overwrites as Discord shows them. That the bot may not
// write, as [DiscordChannel.SetAccess] says, shows as one against it.
func (c *DiscordChannel) wireOverwrites() []obj {
	all := slices.Clone(c.overwrites)
	if c.access == DiscordNoSend {
		all = append(all, dcOverwrite{c.dc.me.ID, true, 0, PermissionSendMessages | PermissionSendInThreads})
	}
	list := []obj{}
	for _, o := range all {
		kind := 0
		if o.member {
			kind = 1
		}
		list = append(list, obj{"id": o.id, "type": kind, "allow": o.allow.wire(), "deny": o.deny.wire()})
	}
	return list
}
