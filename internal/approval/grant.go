package approval

import (
	"encoding/json"
	"slices"
)

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
	SessionGrantMs = 12 * 60 * 60 * 1000
	CoolDownMs     = 10 * 60 * 1000
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
	Subject     string    `json:"subject,omitempty"`     // GrantScope.Subject; of a PatternGrant its Program
	Fingerprint string    `json:"fingerprint,omitempty"` // AlwaysGrant and CoolDown
	Pattern     []string  `json:"pattern,omitempty"`     // PatternGrant: words, see Fits
	ToolName    string    `json:"toolName"`
	Summary     string    `json:"summary"`               // of the call that left it; redacted, escaped, cut
	Reason      string    `json:"reason,omitempty"`      // CoolDown: why they denied; redacted
	MaxClass    RiskClass `json:"maxClass"`              // it covers calls up to this class
	Server      string    `json:"server,omitempty"`      // SessionGrant and AlwaysGrant: whose tool it was (ToolFacts.Server)
	Sandboxed   bool      `json:"sandboxed,omitempty"`   // likewise: it covers calls in a sandbox alone
	ReasonCodes []string  `json:"reasonCodes,omitempty"` // SessionGrant: it covers calls with no others
	Rule        Rule      `json:"rule"`                  // whose yes it was given with: if more is needed today, it does not count
	By          []string  `json:"by"`                    // who gave it: "person:alice"
	Behind      []string  `json:"behind,omitempty"`      // in whose place they may have given it: "person:bob"
	Approval    string    `json:"approval"`              // key of the approval that left it, or empty
	CreatedAtMs int64     `json:"createdAtMs"`
	ExpiresAtMs int64     `json:"expiresAtMs,omitempty"` // 0: until it is removed
}

func (v Vote) PersonsDeny() bool { return v.Approver == UserRequest && v.Verdict == Reject }

// Event is the grant's entry in the log; by says who removed it.
func (g Grant) Event(t EventType, by string, now int64) Event {
	data, err := json.Marshal(struct {
		Grant Grant  `json:"grant"`
		By    string `json:"by,omitempty"`
	}{g.Redacted(), by})
	if err != nil { // plain values always marshal
		panic(err)
	}
	return Event{AtMs: now, Type: t, Key: g.Approval, Owner: g.Owner, Data: data}
}

// Live reports whether the grant has not expired.
func (g Grant) Live(now int64) bool { return g.ExpiresAtMs == 0 || now < g.ExpiresAtMs }

// Fits reports whether the words of a command fit a pattern: word by word and exactly. "*"
// matches any one word, and a last "**" any further ones. Neither matches an option,
// because some options name programs to run: a pattern covers only the options that it
// spells out.
func Fits(pattern, words []string) bool {
	free := func(w string) bool { return w == "" || w[0] != '-' }
	for i, p := range pattern {
		switch {
		case p == "**" && i == len(pattern)-1:
			return !slices.ContainsFunc(words[min(i, len(words)):], func(w string) bool { return !free(w) })
		case i >= len(words), p == "*" && !free(words[i]), p != "*" && p != words[i]:
			return false
		}
	}
	return len(pattern) > 0 && len(pattern) == len(words)
}

// CoolingDown reports whether a cool-down refused the call, and no person was asked.
func (a Approval) CoolingDown() bool {
	return a.Status == Denied && slices.Contains(a.Assessment.ReasonCodes, ReasonRecentlyDenied)
}
