package auth

import "approvalbot/core"

// Scope is a right that a token may have.
type Scope string

// The scopes that there are.
const (
	Request Scope = "approvals.request"
	Decide  Scope = "operator.approvals"
	Audit   Scope = "operator.audit"
	Admin   Scope = "operator.admin"
)

// Scopes are all that there are, as they are listed.
func Scopes() []Scope { return []Scope{Request, Decide, Audit, Admin} }

// Of reports whether that caller has the scope.
func (s Scope) Of(who core.Caller) bool {
	switch s {
	case Request:
		return who.MayRequest
	case Decide:
		return who.MayDecide
	case Audit:
		return who.MayAudit
	case Admin:
		return who.MayAdmin
	}
	return false
}

// ScopesOf lists the scopes of a caller; never nil.
func ScopesOf(who core.Caller) []string {
	out := []string{}
	for _, s := range Scopes() {
		if s.Of(who) {
			out = append(out, string(s))
		}
	}
	return out
}
