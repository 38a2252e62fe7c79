package signin

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"time"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/assertion"
)

// CeremonyLife is how long a person has to answer a challenge.
const CeremonyLife = 5 * time.Minute

// ChallengeKind is the purpose of a challenge.
type ChallengeKind string

// The kinds. A session in which a passkey has just signed is kept as a challenge too.
const (
	SignInChallenge  ChallengeKind = "sign-in"
	EnrolChallenge   ChallengeKind = "enrol"
	ConfirmChallenge ChallengeKind = "confirm" // of the session's person, before passkeys are changed
	YesChallenge     ChallengeKind = "yes"
	confirmedSession ChallengeKind = "confirmed"
)

// Challenge is a ceremony that has begun: good for one answer, from one browser, for five
// minutes.
type Challenge struct {
	ID        string        `json:"-"` // random, in base64url: the challenge itself, or its nonce
	Kind      ChallengeKind `json:"kind"`
	Browser   string        `json:"browser"` // a session's id; before there is one, the hash of a cookie
	Person    string        `json:"person,omitempty"`
	Approval  string        `json:"approval,omitempty"` // YesChallenge: the approval's key
	Run       int           `json:"run,omitempty"`      // YesChallenge: how many retries it had
	Data      []byte        `json:"data,omitempty"`     // EnrolChallenge: the data that its end needs
	ExpiresMs int64         `json:"-"`
}

func newChallenge(kind ChallengeKind, browser string, now int64) Challenge {
	random := make([]byte, 32)
	_, _ = rand.Read(random) // never fails (crypto/rand)
	return Challenge{ID: base64.RawURLEncoding.EncodeToString(random), Kind: kind, Browser: browser,
		ExpiresMs: now + CeremonyLife.Milliseconds()}
}

func (d *Door) confirmed(ctx context.Context, s Session) (bool, error) {
	c, err := d.store.Challenge(ctx, confirmedID(s))
	if approval.CodeOf(err) == approval.CodeNotFound {
		return false, nil
	}
	right := c.Kind == confirmedSession && c.Person == s.Person && c.ExpiresMs > nowMs()
	return err == nil && right, err
}

func confirmedID(s Session) string { return "confirmed " + s.ID }

// BeginCeremony begins one that is not about an approval. browser is the session's id,
// or, before there is a session, a value that identifies the browser.
func (d *Door) BeginCeremony(ctx context.Context, kind ChallengeKind, browser string) (Challenge, error) {
	if d.desk.Rules().Site.ID == "" {
		return Challenge{}, core.NoSite()
	}
	if kind == SignInChallenge {
		return d.signIns.challenge(browser, nowMs()), nil
	}
	c := newChallenge(kind, browser, nowMs())
	return c, d.store.KeepChallenge(ctx, c)
}

// ceremony gives one that was begun for that browser and is not over.
func (d *Door) ceremony(ctx context.Context, kind ChallengeKind, browser, challenge string) (Challenge, error) {
	if kind == SignInChallenge {
		c, ok := d.signIns.read(challenge, browser, nowMs())
		if !ok {
			return c, ceremonyOver()
		}
		return c, nil
	}
	c, err := d.store.Challenge(ctx, challenge)
	if err != nil && approval.CodeOf(err) != approval.CodeNotFound {
		return c, err
	}
	if wrong := err != nil || c.Kind != kind || c.Browser != browser || c.ExpiresMs <= nowMs(); wrong {
		return c, ceremonyOver()
	}
	return c, nil
}

// SignInByPasskey gives the person whose passkey answered a challenge to sign in. browser is what
// the challenge was begun for.
func (d *Door) SignInByPasskey(
	ctx context.Context, browser, challenge string, r assertion.Response,
) (person string, err error) {
	p, err := d.answered(ctx, SignInChallenge, browser, challenge, r)
	return p.Person, err
}

// Confirm lets a session change its person's passkeys for five minutes, since one of
// them has just signed in it.
func (d *Door) Confirm(ctx context.Context, s Session, challenge string, r assertion.Response) error {
	p, err := d.answered(ctx, ConfirmChallenge, s.ID, challenge, r)
	if err != nil {
		return err
	}
	if p.Person != s.Person {
		return notThatPasskey()
	}
	c := newChallenge(confirmedSession, s.ID, nowMs())
	c.ID, c.Person = confirmedID(s), s.Person
	return d.store.KeepChallenge(ctx, c)
}

// answered gives the passkey that answered a challenge, and spends the challenge.
func (d *Door) answered(
	ctx context.Context, kind ChallengeKind, browser, challenge string, r assertion.Response,
) (Passkey, error) {
	c, err := d.ceremony(ctx, kind, browser, challenge)
	if err != nil {
		return Passkey{}, err
	}
	p, err := d.store.Passkey(ctx, r.CredentialID)
	if err != nil && approval.CodeOf(err) != approval.CodeNotFound {
		return Passkey{}, err
	}
	asked, _ := base64.RawURLEncoding.DecodeString(c.ID) // we have made it
	seen, bad := r.Verify(p.Key(), d.desk.Rules().Site, asked)
	use := core.PasskeyUse{Challenge: c.ID, AtMs: nowMs()}
	if kind == SignInChallenge { // longer than it is good for, as clocks of instances differ
		use.RememberMs = c.ExpiresMs + CeremonyLife.Milliseconds()
	}
	if known := p.ID != "" && d.people().Known(p.Person); bad != nil || !known {
		return Passkey{}, errors.Join(d.refusedPasskey(ctx, p, use, bad), notThatPasskey())
	}
	use.Passkey, use.Before, use.After, use.BackedUp = p.ID, p.SignCount, seen.SignCount, seen.BackedUp
	if err := d.store.SpendChallenge(ctx, use); errors.Is(err, core.ErrSpent) {
		return Passkey{}, ceremonyOver()
	} else if err != nil {
		return Passkey{}, err
	}
	return p, nil
}

// refusedPasskey spends a stored challenge that was answered wrongly. If the passkey belongs to
// a person, the failure is logged as an event.
func (d *Door) refusedPasskey(ctx context.Context, p Passkey, use core.PasskeyUse, why error) error {
	if use.RememberMs == 0 { // of those that are kept nowhere only a good answer is
		if err := d.store.SpendChallenge(ctx, use); err != nil && !errors.Is(err, core.ErrSpent) {
			return err
		}
	}
	if p.ID == "" || why == nil {
		return nil
	}
	return d.desk.Refusals().Append(ctx, nil, core.RefusedEvent("person:"+p.Person,
		"a passkey's answer that does not fit: "+why.Error()))
}

// endCeremony ends one and gives it, or says that it is over.
func (d *Door) endCeremony(ctx context.Context, kind ChallengeKind, browser, id string) (Challenge, error) {
	c, err := d.ceremony(ctx, kind, browser, id)
	if err != nil {
		return c, err
	}
	if err = d.store.SpendChallenge(ctx, core.PasskeyUse{Challenge: id}); errors.Is(err, core.ErrSpent) {
		err = ceremonyOver()
	}
	return c, err
}

func ceremonyOver() *approval.Error {
	return approval.Refuse(approval.CodeForbidden,
		"This passkey's answer was already used, came after more than five minutes, or came from another browser. "+
			"Try again.")
}

func notThatPasskey() *approval.Error {
	return approval.Refuse(approval.CodeForbidden, "The desk does not accept that passkey: it is unknown, removed or "+
		"suspended.")
}
