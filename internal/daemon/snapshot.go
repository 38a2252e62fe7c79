package daemon

import (
	"approvalbot/core"
	"approvalbot/internal/config"
	"approvalbot/internal/server/auth"
	"approvalbot/routing"
)

// snapshot is all that one configuration puts in force. It is immutable, except for chats that move,
// and a reload swaps it whole: a call is never admitted by one configuration and judged by another.
type snapshot struct {
	config config.Config
	rules  core.Rules
	tokens *auth.Set
	table  *routing.Table
}

// table is the routing in force.
func (d *Daemon) table() *routing.Table { return d.inForce.Load().table }

// followOne makes the parts read what the newest configuration puts in force. It is for before anything is served.
func (d *Daemon) followOne() {
	first := *d.inForce.Load()
	first.tokens = d.Server.Tokens.InForce()
	d.inForce.Store(&first)
	d.Server.Tokens.Follow(func() *auth.Set { return d.inForce.Load().tokens })
	d.Gate.Follow(func() *core.Rules { return &d.inForce.Load().rules })
}
