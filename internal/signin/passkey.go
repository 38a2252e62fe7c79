package signin

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"time"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/assertion"
	"approvalbot/internal/display"
)

// vouchLife is how long after a sign-in the person may change passkeys by it: later
// only a cookie proves who they are, which is easier to steal.
const vouchLife = time.Hour

const (
	maxPasskeys    = 20 // of one person
	maxPasskeyName = 60 // in characters
)

// Passkey is a key by which a person signs in and signs a yes. Its secret half never
// leaves their device, or the vendor's account that keeps it for them.
type Passkey struct {
	ID        string `json:"id"` // the credential's, in base64url
	Person    string `json:"person"`
	Name      string `json:"name"`      // as the person calls it
	PublicKey string `json:"publicKey"` // as assertion.Key has it
	Algorithm int    `json:"algorithm"`
	SignCount uint32 `json:"-"`
	// BackupEligible keys may be on several devices; BackedUp ones were when they signed last.
	BackupEligible bool  `json:"backupEligible,omitempty"`
	BackedUp       bool  `json:"-"`
	CreatedMs      int64 `json:"createdMs"`
	UsedMs         int64 `json:"-"` // 0: never
}

// Key is what a check of its signature needs.
func (p Passkey) Key() assertion.Key {
	return assertion.Key{PublicKey: p.PublicKey, Algorithm: p.Algorithm, SignCount: p.SignCount}
}

// PasskeyStore keeps passkeys, and the ceremonies that have begun.
type PasskeyStore interface {
	// Passkey gives the one of that credential id, or CodeNotFound.
	Passkey(ctx context.Context, id string) (Passkey, error)
	// Passkeys gives a person's passkeys, or all if person is empty, oldest first.
	Passkeys(ctx context.Context, person string) ([]Passkey, error)
	// ChangePasskeys calls fn with a person's passkeys, adds or removes passkeys as it
	// asks, and appends its events to the log, all in one transaction. An error from fn
	// rolls everything back and is returned as it is. CodeIDConflict: another passkey
	// has that id.
	ChangePasskeys(ctx context.Context, person string, fn func(held []Passkey) (PasskeyChange, error)) error
	// KeepChallenge keeps a ceremony, in place of one of the same id, and of the oldest
	// one if very many of its kind have begun.
	KeepChallenge(ctx context.Context, c Challenge) error
	// Challenge gives a ceremony that has not ended, or CodeNotFound.
	Challenge(ctx context.Context, id string) (Challenge, error)
	// SpendChallenge ends a ceremony, or remembers it as spent, and counts the passkey on, in one transaction.
	// ErrSpent, without a write, if another caller did either meanwhile.
	SpendChallenge(ctx context.Context, use core.PasskeyUse) error
}

// PasskeyChange is what becomes of a person's passkeys. The zero value makes no change.
type PasskeyChange struct {
	Add     *Passkey
	Remove  string // credential id
	Events  []approval.Event
	Notices []core.Notice // to the person
}

// UserHandle names a person to their devices, without their name (WebAuthn §14.6.1).
func UserHandle(person string) []byte {
	sum := sha256.Sum256([]byte("approvalbot person\x00" + person))
	return sum[:]
}

// Passkeys are a person's passkeys, and what this session may do with them.
type Passkeys struct {
	Held []Passkey
	// Suspended were the person's before the configuration ceased to name them: they cannot
	// be used, and stay suspended.
	Suspended []Passkey
	MayAdd    *approval.Error // nil: it may; else why not, and the way out
	MayEnd    *approval.Error // likewise to remove one
	Confirm   bool            // a signature of one of them, in this session, would let it do both
}

// IDs are those of the passkeys that count.
func (p Passkeys) IDs() []string { return idsOf(p.Held) }

func idsOf(all []Passkey) (ids []string) {
	for _, p := range all {
		ids = append(ids, p.ID)
	}
	return ids
}

// PasskeysOf gives the passkeys of the session's person.
func (d *Door) PasskeysOf(ctx context.Context, s Session) (Passkeys, error) {
	held, err := d.store.Passkeys(ctx, s.Person)
	if err != nil {
		return Passkeys{}, err
	}
	fresh, err := d.confirmed(ctx, s)
	out := s.passkeys(held, fresh, nowMs())
	if err == nil {
		out.Suspended, err = d.store.SuspendedPasskeys(ctx, s.Person)
	}
	if d.desk.Rules().Site.ID == "" {
		out.MayAdd, out.Confirm = core.NoSite(), false
	}
	return out, err
}

// PasskeyCounts says how many passkeys each person has, and how many that are suspended; a
// person who is not in it has no passkey.
func (d *Door) PasskeyCounts(ctx context.Context) (held, suspended map[string]int, err error) {
	count := func(of func(context.Context, string) ([]Passkey, error)) map[string]int {
		all, failed := of(ctx, "")
		out := map[string]int{}
		for _, p := range all {
			out[p.Person]++
		}
		err = errors.Join(err, failed)
		return out
	}
	held, suspended = count(d.store.Passkeys), count(d.store.SuspendedPasskeys)
	return held, suspended, err
}

// passkeys says what a session may do with its person's passkeys. fresh says that one of
// them has just been used in it. A session from a chat's link may not add one, or a thief
// of the chat account could add their own. A lost passkey is removed in a session that
// began with an operator's link.
func (s Session) passkeys(held []Passkey, fresh bool, now int64) Passkeys {
	out, recent := Passkeys{Held: held}, now < s.CreatedMs+vouchLife.Milliseconds()
	proven, vouched := fresh || recent && s.How == ByPasskey, recent && (s.Enrols || s.How == ByOIDC)
	switch {
	case len(held) == 0 && !vouched:
		out.MayAdd = approval.Refuse(approval.CodeForbidden, "To register a first passkey, sign in with an "+
			"operator's link (approvalbot login --enrol %s) or through your organisation, and do it within an "+
			"hour.", s.Person)
	case len(held) > 0 && !proven:
		out.Confirm = true
		out.MayAdd = approval.Refuse(approval.CodeStepUpRequired, "Confirm with one of your passkeys first. Is it lost? "+
			"Ask an operator for a link (approvalbot login --enrol %s) and remove it.", s.Person)
	case len(held) >= maxPasskeys:
		out.MayAdd = approval.Refuse(approval.CodeInvalidRequest, "You have %d passkeys, which is the limit; remove "+
			"one first.", len(held))
	}
	if !proven && !vouched {
		out.MayEnd = approval.Refuse(approval.CodeStepUpRequired, "Confirm with one of your passkeys first.")
	}
	return out
}

// BeginEnrolment keeps what a page began to make a passkey with: challenge is the one it
// asks for, data what it needs at the end.
func (d *Door) BeginEnrolment(ctx context.Context, s Session, challenge string, data []byte) error {
	may, err := d.PasskeysOf(ctx, s)
	if err != nil {
		return err
	}
	if may.MayAdd != nil {
		return may.MayAdd
	}
	c := newChallenge(EnrolChallenge, s.ID, nowMs())
	c.ID, c.Person, c.Data = challenge, s.Person, data
	return d.store.KeepChallenge(ctx, c)
}

// EndEnrolment ends the ceremony of that challenge and gives its data.
func (d *Door) EndEnrolment(ctx context.Context, s Session, challenge string) ([]byte, error) {
	c, err := d.endCeremony(ctx, EnrolChallenge, s.ID, challenge)
	return c.Data, err
}

// Enrol keeps a passkey that the session's person has made, tells it to the log and to
// the person's chats.
func (d *Door) Enrol(ctx context.Context, s Session, p Passkey) (Passkey, error) {
	now := nowMs()
	p.Person, p.CreatedMs, p.UsedMs = s.Person, now, 0
	if p.Name, _ = display.Clip(display.Safe(p.Name), maxPasskeyName); p.Name == "" {
		p.Name = "Passkey"
	}
	if !d.people().Known(s.Person) {
		return p, approval.Refuse(approval.CodeForbidden, "The configuration no longer names you.")
	}
	fresh, err := d.confirmed(ctx, s)
	if err != nil {
		return p, err
	}
	err = d.store.ChangePasskeys(ctx, s.Person, func(held []Passkey) (PasskeyChange, error) {
		if no := s.passkeys(held, fresh, now).MayAdd; no != nil {
			return PasskeyChange{}, no
		}
		return PasskeyChange{Add: &p, Events: []approval.Event{p.event(approval.EventPasskeyEnrolled, now, s.How)},
			Notices: d.notes(s.Person, "🔑 A passkey was made for you at the approval desk: "+p.Name+
				". It can sign in as you and sign your approvals. Was it not you? Tell an operator at once.", now)}, nil
	})
	d.notices.wake()
	return p, err
}

// RemovePasskey removes a passkey of the session's person: its signatures are refused from then on.
func (d *Door) RemovePasskey(ctx context.Context, s Session, id string) error {
	fresh, err := d.confirmed(ctx, s)
	if err != nil {
		return err
	}
	now := nowMs()
	err = d.store.ChangePasskeys(ctx, s.Person, func(held []Passkey) (PasskeyChange, error) {
		if no := s.passkeys(held, fresh, now).MayEnd; no != nil {
			return PasskeyChange{}, no
		}
		i := slices.IndexFunc(held, func(p Passkey) bool { return p.ID == id })
		if i < 0 {
			return PasskeyChange{}, approval.Refuse(approval.CodeNotFound, "You have no such passkey.")
		}
		return PasskeyChange{Remove: id, Events: []approval.Event{held[i].event(approval.EventPasskeyRemoved, now, s.How)},
			Notices: d.notes(s.Person, "🔑 Your passkey "+held[i].Name+" was removed from the approval desk. "+
				"Was it not you? Tell an operator at once.", now)}, nil
	})
	d.notices.wake()
	return err
}

// event is a passkey's entry in the log. how is by what the session was signed in.
func (p Passkey) event(t approval.EventType, now int64, how string) approval.Event {
	return approval.Event{AtMs: now, Type: t, Data: approval.StoredJSON(&struct {
		By      string  `json:"by"`
		How     string  `json:"how,omitempty"`
		Passkey Passkey `json:"passkey"`
	}{"person:" + p.Person, how, p})}
}

// notes are messages to a person about themselves, one for each of their own chats.
func (d *Door) notes(person, text string, now int64) (out []core.Notice) {
	for _, t := range d.people().DirectChats(person) {
		out = append(out, newNotice(t, text, "", now))
	}
	return out
}
