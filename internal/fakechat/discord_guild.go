package fakechat

import (
	"slices"
	"strconv"
	"time"
)

// obj is a JSON object that goes out.
type obj = map[string]any

// DiscordPermissions are permission bits (Discord, "Permissions"). On the wire
// they are a decimal string.
type DiscordPermissions uint64

// Some of the bits.
const (
	PermissionAdministrator   DiscordPermissions = 1 << 3
	PermissionManageGuild     DiscordPermissions = 1 << 5
	PermissionViewChannel     DiscordPermissions = 1 << 10
	PermissionSendMessages    DiscordPermissions = 1 << 11
	PermissionManageMessages  DiscordPermissions = 1 << 13
	PermissionEmbedLinks      DiscordPermissions = 1 << 14
	PermissionAttachFiles     DiscordPermissions = 1 << 15
	PermissionReadHistory     DiscordPermissions = 1 << 16
	PermissionMentionEveryone DiscordPermissions = 1 << 17
	PermissionUseCommands     DiscordPermissions = 1 << 31
	PermissionManageThreads   DiscordPermissions = 1 << 34
	PermissionSendInThreads   DiscordPermissions = 1 << 38
)

// everyonePermissions are what the role @everyone of a new guild has here.
const everyonePermissions = PermissionViewChannel | PermissionSendMessages | PermissionEmbedLinks |
	PermissionAttachFiles | PermissionReadHistory | PermissionUseCommands | PermissionSendInThreads

// DiscordGuild is a server that the bot is in. Its methods are safe for
// concurrent use.
type DiscordGuild struct {
	dc *Discord
	// ID is the guild's id, which is also the id of its role @everyone.
	ID string
	// Name is the guild's name.
	Name string

	roles    []*DiscordRole
	members  map[string]*dcMember
	order    []string
	channels []*DiscordChannel
}

// DiscordRole is a role of a guild.
type DiscordRole struct {
	ID          string
	Name        string
	Permissions DiscordPermissions
}

// dcMember is a person's membership in a guild.
type dcMember struct {
	user   *dcUser
	nick   string
	roles  []string
	joined time.Time
}

// AddGuild adds a guild with the bot and these people as members, without roles.
func (dc *Discord) AddGuild(name string, members ...*DiscordUser) *DiscordGuild {
	dc.mu.Lock()
	defer dc.mu.Unlock()
	g := &DiscordGuild{dc: dc, ID: dc.newID(), Name: name, members: make(map[string]*dcMember)}
	g.roles = []*DiscordRole{{ID: g.ID, Name: "@everyone", Permissions: everyonePermissions}}
	dc.guilds[g.ID] = g
	dc.order = append(dc.order, g)
	g.join(dc.me)
	for _, member := range members {
		g.join(dc.users[member.ID])
	}
	dc.emit("GUILD_CREATE", intentGuilds, g.wire(true))
	return g
}

func (g *DiscordGuild) join(user *dcUser) *dcMember {
	if g.members[user.ID] == nil {
		g.members[user.ID] = &dcMember{user: user, joined: g.dc.now()}
		g.order = append(g.order, user.ID)
	}
	return g.members[user.ID]
}

// AddRole adds a role.
func (g *DiscordGuild) AddRole(name string, permissions DiscordPermissions) *DiscordRole {
	g.dc.mu.Lock()
	defer g.dc.mu.Unlock()
	role := &DiscordRole{ID: g.dc.newID(), Name: name, Permissions: permissions}
	g.roles = append(g.roles, role)
	g.dc.emit("GUILD_ROLE_CREATE", intentGuilds, obj{"guild_id": g.ID, "role": role.wire()})
	return role
}

// AddMember makes a person a member, or gives a member more roles.
func (g *DiscordGuild) AddMember(u *DiscordUser, roles ...*DiscordRole) {
	g.changeMember(u, func(m *dcMember) {
		for _, role := range roles {
			if !slices.Contains(m.roles, role.ID) {
				m.roles = append(m.roles, role.ID)
			}
		}
	})
}

// RemoveRole takes a role away. Interactions from now on come without it.
func (g *DiscordGuild) RemoveRole(u *DiscordUser, role *DiscordRole) {
	g.changeMember(u, func(m *dcMember) {
		m.roles = slices.DeleteFunc(m.roles, func(id string) bool { return id == role.ID })
	})
}

// SetNick gives a member a nickname in this guild.
func (g *DiscordGuild) SetNick(u *DiscordUser, nick string) {
	g.changeMember(u, func(m *dcMember) { m.nick = nick })
}

func (g *DiscordGuild) changeMember(u *DiscordUser, change func(*dcMember)) {
	g.dc.mu.Lock()
	defer g.dc.mu.Unlock()
	m := g.join(g.dc.users[u.ID])
	change(m)
	g.dc.emit("GUILD_MEMBER_UPDATE", IntentGuildMembers, g.withID(m))
	g.dc.wake()
}

// withID is a member as the gateway sends it.
func (g *DiscordGuild) withID(m *dcMember) obj {
	wire := m.wire()
	wire["guild_id"] = g.ID
	return wire
}

// RemoveMember makes a member leave.
func (g *DiscordGuild) RemoveMember(u *DiscordUser) {
	g.dc.mu.Lock()
	defer g.dc.mu.Unlock()
	delete(g.members, u.ID)
	g.order = slices.DeleteFunc(g.order, func(id string) bool { return id == u.ID })
	g.dc.emit("GUILD_MEMBER_REMOVE", IntentGuildMembers, obj{"guild_id": g.ID, "user": g.dc.users[u.ID].wire()})
	g.dc.wake()
}

// permissions of a member: those of @everyone and of all its roles. Overwrites
// of channels are not modelled.
func (g *DiscordGuild) permissions(m *dcMember) DiscordPermissions {
	var bits DiscordPermissions
	for _, role := range g.roles {
		if role.ID == g.ID || m != nil && slices.Contains(m.roles, role.ID) {
			bits |= role.Permissions
		}
	}
	if bits&PermissionAdministrator != 0 {
		return 1<<53 - 1
	}
	return bits
}

func (p DiscordPermissions) wire() string { return strconv.FormatUint(uint64(p), 10) }

func (r *DiscordRole) wire() obj {
	return obj{
		"id": r.ID, "name": r.Name, "color": 0, "hoist": false, "position": 1, "permissions": r.Permissions.wire(),
		"managed": false, "mentionable": true, "flags": 0,
	}
}

func (m *dcMember) wire() obj {
	wire := m.bare()
	wire["user"] = m.user.wire()
	return wire
}

// bare is a member as in MESSAGE_CREATE, where user is missing (Discord,
// "Gateway Events": Message Create extra fields).
func (m *dcMember) bare() obj {
	wire := obj{
		"nick": nil, "avatar": nil, "roles": append([]string{}, m.roles...), "joined_at": discordTime(m.joined),
		"premium_since": nil, "deaf": false, "mute": false, "flags": 0, "pending": false, "communication_disabled_until": nil,
	}
	if m.nick != "" {
		wire["nick"] = m.nick
	}
	return wire
}

// wire is a guild; whole adds what only GUILD_CREATE has.
func (g *DiscordGuild) wire(whole bool) obj {
	roles := []obj{}
	for _, role := range g.roles {
		roles = append(roles, role.wire())
	}
	w := obj{
		"id": g.ID, "name": g.Name, "icon": nil, "owner_id": g.owner(), "roles": roles, "emojis": []obj{}, "features": []string{},
		"verification_level": 0, "default_message_notifications": 0, "explicit_content_filter": 0, "mfa_level": 0,
		"preferred_locale": "en-US", "premium_tier": 0, "nsfw_level": 0, "afk_timeout": 300, "system_channel_flags": 0,
	}
	if !whole {
		return w
	}
	members, channels, threads := []obj{}, []obj{}, []obj{}
	for _, id := range g.order {
		members = append(members, g.members[id].wire())
	}
	for _, c := range g.channels {
		switch {
		case c.deleted || c.access == DiscordNoAccess:
		case c.isThread():
			threads = append(threads, c.wire())
		default:
			channels = append(channels, c.wire())
		}
	}
	w["joined_at"], w["large"], w["unavailable"] = discordTime(g.members[g.dc.me.ID].joined), false, false
	w["member_count"], w["members"], w["channels"], w["threads"] = len(members), members, channels, threads
	return w
}

// owner is the first person of the guild.
func (g *DiscordGuild) owner() string {
	for _, id := range g.order {
		if id != g.dc.me.ID {
			return id
		}
	}
	return g.dc.me.ID
}
