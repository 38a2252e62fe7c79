package signin

import (
	"context"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

var _ core.Signers = (*Door)(nil)

// Holders gives the people who have a passkey, by name.
func (d *Door) Holders(ctx context.Context) (map[string]bool, error) {
	all, err := d.store.Passkeys(ctx, "")
	holders := map[string]bool{}
	for _, p := range all {
		holders[p.Person] = true
	}
	return holders, err
}

// KeepCeremony keeps the ceremony of a yes for five minutes; see [core.Signers].
func (d *Door) KeepCeremony(ctx context.Context, y core.Ceremony) (nonce string, passkeys []string, err error) {
	held, err := d.store.Passkeys(ctx, y.Person)
	if err != nil || len(held) == 0 {
		return "", nil, err
	}
	c := newChallenge(YesChallenge, y.Session, nowMs())
	c.Person, c.Approval, c.Run = y.Person, y.Approval, y.Run
	return c.ID, idsOf(held), d.store.KeepChallenge(ctx, c)
}

// Evidence gives what the desk has of a yes that was signed; see [core.Signers].
func (d *Door) Evidence(ctx context.Context, nonce, passkey string) (e core.Evidence, err error) {
	c, err := d.store.Challenge(ctx, nonce)
	if err != nil && approval.CodeOf(err) != approval.CodeNotFound {
		return core.Evidence{}, err
	}
	p, err := d.store.Passkey(ctx, passkey)
	if err != nil && approval.CodeOf(err) != approval.CodeNotFound {
		return core.Evidence{}, err
	}
	if e.Began.Nonce = c.ID; c.Kind == YesChallenge {
		e.Began = core.Ceremony{Nonce: c.ID, Session: c.Browser, Person: c.Person, Approval: c.Approval, Run: c.Run,
			ExpiresMs: c.ExpiresMs}
	}
	if p.ID != "" {
		e.Passkey = core.Signer{ID: p.ID, Person: p.Person, Key: p.Key(),
			Used: func(now int64) approval.Event { return p.event(approval.EventPasskeyUsed, now, "") }}
	}
	return e, nil
}
