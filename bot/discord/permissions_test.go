package discord

import (
	"testing"

	"github.com/bwmarrin/discordgo"
	"github.com/stretchr/testify/require"
)

// What the bot may do, as Discord computes it: everyone's role and its own, then the
// channel's overwrites of everyone, of its roles together, and of itself.
func TestPermissions(t *testing.T) {
	const (
		see, write = int64(discordgo.PermissionViewChannel), int64(discordgo.PermissionSendMessages)
		role       = discordgo.PermissionOverwriteTypeRole
		member     = discordgo.PermissionOverwriteTypeMember
	)
	type overwrites = []*discordgo.PermissionOverwrite
	for name, c := range map[string]struct {
		everyone, own int64
		owner         string
		at            overwrites
		want          int64
	}{
		"everyone's":                {everyone: see, want: see},
		"and its role's":            {everyone: see, own: write, want: see | write},
		"denied to everyone":        {everyone: see | write, at: overwrites{{ID: "g", Type: role, Deny: write}}, want: see},
		"but not to its role":       {everyone: see | write, at: overwrites{{ID: "g", Type: role, Deny: write}, {ID: "r", Type: role, Allow: write}}, want: see | write},
		"roles allow together":      {everyone: see, at: overwrites{{ID: "r", Type: role, Allow: write}, {ID: "s", Type: role, Deny: write}}, want: see | write},
		"denied to itself":          {everyone: see | write, at: overwrites{{ID: "me", Type: member, Deny: write}, {ID: "r", Type: role, Allow: write}}, want: see},
		"denied to another":         {everyone: see | write, at: overwrites{{ID: "you", Type: member, Deny: write}, {ID: "x", Type: role, Deny: see}}, want: see | write},
		"administrator":             {own: discordgo.PermissionAdministrator, at: overwrites{{ID: "me", Type: member, Deny: see | write}}, want: -1},
		"owner":                     {owner: "me", at: overwrites{{ID: "me", Type: member, Deny: see | write}}, want: -1},
		"a bit without a name":      {everyone: 1 << 60, want: 1 << 60},
		"nothing, and nowhere":      {want: 0},
		"a member with a role's id": {everyone: see, at: overwrites{{ID: "r", Type: member, Deny: see}}, want: see},
	} {
		g := &guild{me: "me", self: discordgo.Member{Roles: []string{"r", "s"}}}
		g.ID, g.OwnerID = "g", c.owner
		g.Roles = []*discordgo.Role{{ID: "x", Permissions: -1}, {ID: "g", Permissions: c.everyone}, {ID: "r", Permissions: c.own}}
		require.Equal(t, c.want, g.in(c.at), name)
	}
}
