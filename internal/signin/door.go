// Package signin knows who is signed in to the desk, and by what means: sessions and the
// links that begin them, passkeys and their ceremonies, pairings of chats, browsers that are
// notified. It does not decide about approvals. It tells core who has a passkey, and what
// the desk stores about a yes that a passkey signed.
package signin

import (
	"encoding/json"
	"time"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/people"
)

// Door is the one door to every step of signing in. The caller is an argument of each
// method; refusals are logged as events. Safe for concurrent use.
type Door struct {
	store    Stores
	desk     Desk
	signIns  signInKey
	notices  bell
	sessions turnstile // turns when a session may have ended
}

// Stores are the stores in which a Door keeps its data. One store may be all of them.
type Stores struct {
	SessionStore
	LinkStore
	PasskeyStore
	PairingStore
	PushStore
	GoneStore
}

// Desk is what a Door needs of the rest of the desk: a core.Gate.
type Desk interface {
	// Rules gives those in force, with the people as they are now.
	Rules() core.Rules
	// Refusals bounds what refused attempts write to the log, of sign-ins and votes together.
	Refusals() *core.Refusals
}

// New makes the Door of a desk.
func New(store Stores, desk Desk) *Door {
	return &Door{store: store, desk: desk, signIns: randomSignInKey(), notices: make(bell, 1)}
}

// people are the people as they are now.
func (d *Door) people() *people.Directory { return d.desk.Rules().People }

// RulesChanged wakes those who wait for [Door.SessionsTurn], because other rules are in
// force: if these do not name a person, the person's session has ended.
func (d *Door) RulesChanged() { d.sessions.turn() }

// event makes a log entry about signing in. It never names a secret.
func event(t approval.EventType, now int64, data map[string]any) approval.Event {
	text, _ := json.Marshal(data) // plain values always marshal
	return approval.Event{AtMs: now, Type: t, Data: text}
}

func invalid(field, problem string) error {
	return approval.Invalid(approval.FieldError{Field: field, Problem: problem})
}

func nowMs() int64 { return time.Now().UnixMilli() }
