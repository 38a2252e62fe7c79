package core

// GrantKind says what a grant covers.
type GrantKind string

// The kinds of grants. A cool-down is kept like a grant, but refuses.
const (
	SessionGrant GrantKind = "session"  // one subject in one session
	AlwaysGrant  GrantKind = "always"   // one exact call
	PatternGrant GrantKind = "pattern"  // what an operator's pattern fits
	CoolDown     GrantKind = "cooldown" // a person denied this exact call: refused without a card
)

// How long a session grant and a cool-down last at most, in milliseconds.
const (
	sessionGrantMs = 12 * 60 * 60 * 1000
	coolDownMs     = 10 * 60 * 1000
)

// Grant is a standing permission, left by allow-session or allow-always or
// written by an operator, or a cool-down, left by a person's deny. It is bound to
// the owner and agent of the calls that it covers.
type Grant struct {
	ID          string    `json:"id"` // UUID
	Kind        GrantKind `json:"kind"`
	Owner       string    `json:"owner"`
	AgentID     string    `json:"agentId,omitempty"`
	SessionKey  string    `json:"sessionKey,omitempty"`  // SessionGrant
	Subject     string    `json:"subject,omitempty"`     // SessionGrant: see Reach; PatternGrant: the tool and program
	Fingerprint string    `json:"fingerprint,omitempty"` // AlwaysGrant and CoolDown
	Pattern     []string  `json:"pattern,omitempty"`     // PatternGrant: words, "*" stands for any one word, a last "**" for any further ones
	ToolName    string    `json:"toolName"`
	Summary     string    `json:"summary"`  // of the call that left it; redacted, escaped, cut
	MaxClass    RiskClass `json:"maxClass"` // it covers calls up to this class
	Rule        Rule      `json:"rule"`     // whose yes it was given with: where more is needed today, it does not hold
	By          []string  `json:"by"`       // who gave it: "person:alice"
	Approval    string    `json:"approval"` // key of the approval that left it, or empty
	CreatedAtMs int64     `json:"createdAtMs"`
	ExpiresAtMs int64     `json:"expiresAtMs,omitempty"` // 0: until it is removed
}

// GrantFilter selects grants; empty fields select everything.
type GrantFilter struct {
	ID         string
	Owner      string
	AgentID    string
	SessionKey string
	Approval   string
	Live       int64 // not 0: only those that have not expired at that time
	Limit      int   // 0: 1,000
}
