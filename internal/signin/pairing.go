package signin

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"time"

	"github.com/google/uuid"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// PairingCodeLength is how many characters of Crockford's base 32 a pairing code
// has: forty bits, of which single use, five tries and five minutes leave a guesser
// one chance in two hundred thousand million.
const PairingCodeLength = 8

const (
	pairingLife  = 5 * time.Minute
	pairingTries = 5
)

// Pairing is the way in which a chat and a person in it make their ids known to an
// operator, who reads a code out to them. It gives no rights: only the operator's
// configuration does. There is one at a time; a newer one replaces it. It is kept in
// the store, because the instance that hears the code in a chat need not be the one
// that made it.
type Pairing struct {
	ID          string      `json:"id"`
	CodeHash    string      `json:"codeHash"` // the code itself is kept nowhere
	ExpiresAtMs int64       `json:"expiresAtMs"`
	Wrong       int         `json:"wrong,omitempty"` // codes that were tried
	Answer      *PairingWho `json:"answer,omitempty"`
}

// PairingWho is the person who gave the code, and the chat.
type PairingWho struct {
	Chat   approval.Target `json:"chat"`
	UserID string          `json:"userId"`
	Name   string          `json:"name,omitempty"` // as the platform names them, which they choose freely
}

// PairingStatus is the progress of a pairing.
type PairingStatus string

// The statuses of a pairing.
const (
	PairingWaiting  PairingStatus = "waiting"
	PairingAnswered PairingStatus = "answered" // the code was given; it can be accepted for five minutes more
	PairingFailed   PairingStatus = "failed"   // five wrong codes
	PairingExpired  PairingStatus = "expired"
)

// PairingStore keeps the newest pairing.
type PairingStore interface {
	// Pairing gives the newest pairing, or an empty one.
	Pairing(ctx context.Context) (Pairing, error)
	// Pair replaces the newest pairing by what fn makes of it, appends fn's events
	// to the log and marks handled (if not nil), all in one transaction. ErrHandled
	// when the platform update was handled before.
	Pair(ctx context.Context, handled *approval.InboundRef, fn func(Pairing) (Pairing, []approval.Event)) error
}

// Status gives the pairing's status at a time.
func (p Pairing) Status(now int64) PairingStatus {
	switch {
	case p.ExpiresAtMs <= now:
		return PairingExpired
	case p.Answer != nil:
		return PairingAnswered
	case p.Wrong >= pairingTries:
		return PairingFailed
	}
	return PairingWaiting
}

// newPairing makes a pairing for a code.
func newPairing(id, code string, now int64) Pairing {
	return Pairing{ID: id, CodeHash: pairingHash(id, code), ExpiresAtMs: now + pairingLife.Milliseconds()}
}

// answer gives the pairing after a code was given. Once a pairing is not waiting any
// more, every code is wrong, even its own.
func (p Pairing) answer(code string, who PairingWho, now int64) (after Pairing, right bool) {
	if p.Status(now) != PairingWaiting {
		return p, false
	}
	if subtle.ConstantTimeCompare([]byte(pairingHash(p.ID, code)), []byte(p.CodeHash)) != 1 {
		p.Wrong++
		return p, false
	}
	p.Answer, p.ExpiresAtMs = &who, now+pairingLife.Milliseconds()
	return p, true
}

func pairingHash(id, code string) string {
	sum := sha256.Sum256([]byte("approvalbot pairing\x00" + id + "\x00" + code))
	return hex.EncodeToString(sum[:])
}

// newPairingCode makes a random code. The alphabet's length divides 256, so every
// character is as likely as any other.
func newPairingCode() string {
	code := make([]byte, PairingCodeLength)
	_, _ = rand.Read(code) // never fails (crypto/rand)
	for i, b := range code {
		code[i] = core.CodeAlphabet[int(b)%len(core.CodeAlphabet)]
	}
	return string(code)
}

// StartPairing makes a pairing, in place of any earlier one, and gives its code.
func (d *Door) StartPairing(ctx context.Context, who core.Caller) (p Pairing, code string, err error) {
	if !who.MayAdmin {
		return p, "", approval.Refuse(approval.CodeForbidden,
			"This token may not begin a pairing: it needs the scope operator.admin.")
	}
	code, now := newPairingCode(), nowMs()
	p = newPairing(uuid.NewString(), code, now)
	by := "token:" + who.Token
	if who.Person != "" {
		by = "person:" + who.Person
	}
	began := event(approval.EventPairing, now, map[string]any{"by": by, "until": p.ExpiresAtMs})
	err = d.store.Pair(ctx, nil, func(Pairing) (Pairing, []approval.Event) { return p, []approval.Event{began} })
	return p, code, err
}

// Pair takes a code that was given in a chat, and reports whether it was the
// pairing's. A wrong one is logged as a refused attempt. When Pair returns without an
// error, the platform update is handled.
func (d *Door) Pair(
	ctx context.Context, v approval.Voter, code string, who PairingWho, handled *approval.InboundRef,
) (right bool, err error) {
	by := d.people().Identify(v).Name()
	try := d.desk.Refusals().Attempt()
	err = d.store.Pair(ctx, handled, func(before Pairing) (Pairing, []approval.Event) {
		now := nowMs()
		var p Pairing
		if p, right = before.answer(code, who, now); right {
			return p, []approval.Event{event(approval.EventPaired, now, map[string]any{"by": by, "target": who.Chat.String()})}
		}
		why := "a pairing code that is not right"
		if p.Wrong != before.Wrong && p.Wrong == pairingTries {
			why += "; it was the fifth, so the pairing has ended"
		}
		no := event(approval.EventRefused, now, map[string]any{"by": by, "why": why})
		no.By = by
		return p, try.Bounded([]approval.Event{no})
	})
	try.Ended(err)
	return right && err == nil, err
}

// PairingOf gives the pairing of that id, or CodeNotFound: a newer one takes its
// place.
func (d *Door) PairingOf(ctx context.Context, id string) (Pairing, error) {
	p, err := d.store.Pairing(ctx)
	if err == nil && (p.ID == "" || p.ID != id) {
		return Pairing{}, approval.Refuse(approval.CodeNotFound, "There is no such pairing: a newer one may have taken its place.")
	}
	return p, err
}
