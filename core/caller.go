package core

import "approvalbot/internal/approval"

// Caller is an authenticated API token. What it may do comes from the
// configuration, never from what a client claims.
type Caller struct {
	Token        string // its name: the owner of what it asks
	Person       string // the person that the token belongs to, or empty
	AgentID      string // forced on every call it asks, if set
	SessionChats []approval.Target
	MaxPending   int // 0: no limit
	// RequireRequester: what it asks must say which human asked the agent.
	RequireRequester bool
	Callbacks        CallbackRight

	MayRequest bool // approvals.request
	MayDecide  bool // operator.approvals
	MayAudit   bool // operator.audit
	MayAdmin   bool // operator.admin
	// MayConfine: what it says of confining a call counts, see [approval.Confined].
	MayConfine bool
}

// Keeps reports whether a caller still is what it was before: the same owner and
// agent, with every scope that it had then.
func (who Caller) Keeps(before Caller) bool {
	lost := false
	for _, scope := range [][2]bool{
		{before.MayRequest, who.MayRequest}, {before.MayDecide, who.MayDecide},
		{before.MayAudit, who.MayAudit}, {before.MayAdmin, who.MayAdmin},
	} {
		lost = lost || scope[0] && !scope[1]
	}
	return !lost && who.Token == before.Token && who.AgentID == before.AgentID
}

// CallbackRight says whether, and how, a token's approvals may be called back.
type CallbackRight int

// The rights. Callbacks are signed, so a token without a secret has NoCallbacks.
const (
	NoCallbacks     CallbackRight = iota
	SecureCallbacks               // https only
	AnyCallbacks                  // http too: not in production
)
