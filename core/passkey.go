package core

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"slices"
	"time"

	"approvalbot/internal/approval"
	"approvalbot/internal/assertion"
	"approvalbot/internal/display"
)

// CeremonyLife is how long a person has to answer a challenge.
const CeremonyLife = 5 * time.Minute

// vouchLife is how long what somebody signed in with speaks for them where passkeys are
// changed: a cookie is easier to steal than that.
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

// PasskeyUse is what a signature used up: its ceremony, and the passkey's count. It is
// committed with the step that counts on it, or neither is.
type PasskeyUse struct {
	Challenge string
	// RememberMs is until when the challenge is remembered as spent, if it was kept nowhere before;
	// 0: it was.
	RememberMs    int64
	Passkey       string // credential id; empty: the signature was not good
	Before, After uint32
	BackedUp      bool
	AtMs          int64
}

// ErrSpent is the error of a commit whose signature was used by another one meanwhile.
var ErrSpent = errors.New("the signature was used before")

// ChallengeKind says what a challenge is for.
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
	Data      []byte        `json:"data,omitempty"`     // EnrolChallenge: what the page's side needs at its end
	ExpiresMs int64         `json:"-"`
}

func newChallenge(kind ChallengeKind, browser string, now int64) Challenge {
	random := make([]byte, 32)
	_, _ = rand.Read(random) // never fails (crypto/rand)
	return Challenge{ID: base64.RawURLEncoding.EncodeToString(random), Kind: kind, Browser: browser,
		ExpiresMs: now + CeremonyLife.Milliseconds()}
}

// PasskeyStore keeps passkeys, and the ceremonies that have begun.
type PasskeyStore interface {
	// Passkey gives the one of that credential id, or CodeNotFound.
	Passkey(ctx context.Context, id string) (Passkey, error)
	// Passkeys gives a person's, or everybody's where person is empty, oldest first.
	Passkeys(ctx context.Context, person string) ([]Passkey, error)
	// ChangePasskeys calls fn with a person's passkeys, adds or removes what it says,
	// and appends its events to the log, all in one transaction. An error from fn rolls
	// everything back and is returned as it is. CodeIDConflict: another has that id.
	ChangePasskeys(ctx context.Context, person string, fn func(held []Passkey) (PasskeyChange, error)) error
	// KeepChallenge keeps a ceremony, in place of one of the same id, and of the oldest
	// where very many of its kind have begun.
	KeepChallenge(ctx context.Context, c Challenge) error
	// Challenge gives a ceremony that has not ended, or CodeNotFound.
	Challenge(ctx context.Context, id string) (Challenge, error)
	// SpendChallenge ends a ceremony, or remembers it as spent, and counts the passkey on, in one transaction.
	// ErrSpent, and nothing is written, where either was done by another meanwhile.
	SpendChallenge(ctx context.Context, use PasskeyUse) error
}

// PasskeyChange is what becomes of a person's passkeys. The zero value changes nothing.
type PasskeyChange struct {
	Add     *Passkey
	Remove  string // credential id
	Events  []approval.Event
	Notices []Notice // to the person
}

// UserHandle names a person to their devices, without their name (WebAuthn §14.6.1).
func UserHandle(person string) []byte {
	sum := sha256.Sum256([]byte("approvalbot person\x00" + person))
	return sum[:]
}

// Passkeys are a person's passkeys, and what this session may do with them.
type Passkeys struct {
	Held []Passkey
	// Suspended were the person's before the configuration did not name them: they count for
	// nothing, and stay so.
	Suspended []Passkey
	MayAdd    *approval.Error // nil: it may; else why not, and the way out
	MayEnd    *approval.Error // likewise to remove one
	Confirm   bool            // a signature of one of them, in this session, would let it do both
}

// PasskeysOf gives the passkeys of the session's person.
func (g *Gate) PasskeysOf(ctx context.Context, s Session) (Passkeys, error) {
	held, err := g.store.Passkeys(ctx, s.Person)
	if err != nil {
		return Passkeys{}, err
	}
	fresh, err := g.confirmed(ctx, s)
	out := s.passkeys(held, fresh, nowMs())
	if err == nil {
		out.Suspended, err = g.store.SuspendedPasskeys(ctx, s.Person)
	}
	if g.Rules().Site.ID == "" {
		out.MayAdd, out.Confirm = noSite(), false
	}
	return out, err
}

// PasskeyCounts says how many passkeys each person has, and how many that are suspended; a
// person who is not named has none.
func (g *Gate) PasskeyCounts(ctx context.Context) (held, suspended map[string]int, err error) {
	count := func(of func(context.Context, string) ([]Passkey, error)) map[string]int {
		all, failed := of(ctx, "")
		out := map[string]int{}
		for _, p := range all {
			out[p.Person]++
		}
		err = errors.Join(err, failed)
		return out
	}
	held, suspended = count(g.store.Passkeys), count(g.store.SuspendedPasskeys)
	return held, suspended, err
}

// passkeys says what a session may do with its person's passkeys. fresh: one of them has
// just signed in it. A link that came by a chat makes none: who stole the chat account
// would make their own. A lost one is removed in a session that an operator's link began.
func (s Session) passkeys(held []Passkey, fresh bool, now int64) Passkeys {
	out, recent := Passkeys{Held: held}, now < s.CreatedMs+vouchLife.Milliseconds()
	proven, vouched := fresh || recent && s.How == ByPasskey, recent && (s.Enrols || s.How == ByOIDC)
	switch {
	case len(held) == 0 && !vouched:
		out.MayAdd = approval.Refuse(approval.CodeForbidden, "A first passkey is made after an operator's link "+
			"(approvalbot login --enrol %s), or after signing in through your organisation, within an hour.", s.Person)
	case len(held) > 0 && !proven:
		out.Confirm = true
		out.MayAdd = approval.Refuse(approval.CodeStepUpRequired, "Confirm with one of your passkeys first. Is it lost? "+
			"Ask an operator for a link (approvalbot login --enrol %s) and remove it.", s.Person)
	case len(held) >= maxPasskeys:
		out.MayAdd = approval.Refuse(approval.CodeInvalidRequest, "You have %d passkeys, which is the most; remove one first.", len(held))
	}
	if !proven && !vouched {
		out.MayEnd = approval.Refuse(approval.CodeStepUpRequired, "Confirm with one of your passkeys first.")
	}
	return out
}

func (g *Gate) confirmed(ctx context.Context, s Session) (bool, error) {
	c, err := g.store.Challenge(ctx, confirmedID(s))
	if approval.CodeOf(err) == approval.CodeNotFound {
		return false, nil
	}
	right := c.Kind == confirmedSession && c.Person == s.Person && c.ExpiresMs > nowMs()
	return err == nil && right, err
}

func confirmedID(s Session) string { return "confirmed " + s.ID }

// BeginCeremony begins one that is not about an approval. browser is the session's id, or
// before there is a session what stands for the browser.
func (g *Gate) BeginCeremony(ctx context.Context, kind ChallengeKind, browser string) (Challenge, error) {
	if g.Rules().Site.ID == "" {
		return Challenge{}, noSite()
	}
	if kind == SignInChallenge {
		return g.signIns.challenge(browser, nowMs()), nil
	}
	c := newChallenge(kind, browser, nowMs())
	return c, g.store.KeepChallenge(ctx, c)
}

// ceremony gives one that was begun for that browser and is not over.
func (g *Gate) ceremony(ctx context.Context, kind ChallengeKind, browser, challenge string) (Challenge, error) {
	if kind == SignInChallenge {
		c, ok := g.signIns.read(challenge, browser, nowMs())
		if !ok {
			return c, ceremonyOver()
		}
		return c, nil
	}
	c, err := g.store.Challenge(ctx, challenge)
	if err != nil && approval.CodeOf(err) != approval.CodeNotFound {
		return c, err
	}
	if wrong := err != nil || c.Kind != kind || c.Browser != browser || c.ExpiresMs <= nowMs(); wrong {
		return c, ceremonyOver()
	}
	return c, nil
}

// BeginEnrolment keeps what a page began to make a passkey with: challenge is the one it
// asks for, data what it needs at the end.
func (g *Gate) BeginEnrolment(ctx context.Context, s Session, challenge string, data []byte) error {
	may, err := g.PasskeysOf(ctx, s)
	if err != nil {
		return err
	}
	if may.MayAdd != nil {
		return may.MayAdd
	}
	c := newChallenge(EnrolChallenge, s.ID, nowMs())
	c.ID, c.Person, c.Data = challenge, s.Person, data
	return g.store.KeepChallenge(ctx, c)
}

// EndEnrolment ends the ceremony of that challenge and gives its data.
func (g *Gate) EndEnrolment(ctx context.Context, s Session, challenge string) ([]byte, error) {
	c, err := g.endCeremony(ctx, EnrolChallenge, s.ID, challenge)
	return c.Data, err
}

// Enrol keeps a passkey that the session's person has made, tells it to the log and to
// the person's chats.
func (g *Gate) Enrol(ctx context.Context, s Session, p Passkey) (Passkey, error) {
	now := nowMs()
	p.Person, p.CreatedMs, p.UsedMs = s.Person, now, 0
	if p.Name, _ = display.Clip(display.Safe(p.Name), maxPasskeyName); p.Name == "" {
		p.Name = "Passkey"
	}
	if !g.people(time.Now()).Known(s.Person) {
		return p, approval.Refuse(approval.CodeForbidden, "The configuration does not name you any more.")
	}
	fresh, err := g.confirmed(ctx, s)
	if err != nil {
		return p, err
	}
	err = g.store.ChangePasskeys(ctx, s.Person, func(held []Passkey) (PasskeyChange, error) {
		if no := s.passkeys(held, fresh, now).MayAdd; no != nil {
			return PasskeyChange{}, no
		}
		return PasskeyChange{Add: &p, Events: []approval.Event{p.event(approval.EventPasskeyEnrolled, now, s.How)},
			Notices: g.notes(s.Person, "🔑 A passkey was made for you at the approval desk: "+p.Name+
				". It can sign in as you and sign your approvals. Was it not you? Tell an operator at once.", now)}, nil
	})
	g.notices.wake()
	return p, err
}

// RemovePasskey forgets one of the session's person: nothing that it signs counts any more.
func (g *Gate) RemovePasskey(ctx context.Context, s Session, id string) error {
	fresh, err := g.confirmed(ctx, s)
	if err != nil {
		return err
	}
	now := nowMs()
	err = g.store.ChangePasskeys(ctx, s.Person, func(held []Passkey) (PasskeyChange, error) {
		if no := s.passkeys(held, fresh, now).MayEnd; no != nil {
			return PasskeyChange{}, no
		}
		i := slices.IndexFunc(held, func(p Passkey) bool { return p.ID == id })
		if i < 0 {
			return PasskeyChange{}, approval.Refuse(approval.CodeNotFound, "You have no such passkey.")
		}
		return PasskeyChange{Remove: id, Events: []approval.Event{held[i].event(approval.EventPasskeyRemoved, now, s.How)},
			Notices: g.notes(s.Person, "🔑 Your passkey "+held[i].Name+" was removed from the approval desk. "+
				"Was it not you? Tell an operator at once.", now)}, nil
	})
	g.notices.wake()
	return err
}

// SignInByPasskey gives the person whose passkey answered a challenge to sign in. browser is what
// the challenge was begun for.
func (g *Gate) SignInByPasskey(
	ctx context.Context, browser, challenge string, r assertion.Response,
) (person string, err error) {
	p, err := g.answered(ctx, SignInChallenge, browser, challenge, r)
	return p.Person, err
}

// Confirm lets a session change its person's passkeys for five minutes, since one of
// them has just signed in it.
func (g *Gate) Confirm(ctx context.Context, s Session, challenge string, r assertion.Response) error {
	p, err := g.answered(ctx, ConfirmChallenge, s.ID, challenge, r)
	if err != nil {
		return err
	}
	if p.Person != s.Person {
		return notThatPasskey()
	}
	c := newChallenge(confirmedSession, s.ID, nowMs())
	c.ID, c.Person = confirmedID(s), s.Person
	return g.store.KeepChallenge(ctx, c)
}

// answered gives the passkey that answered a challenge, which is spent by that.
func (g *Gate) answered(
	ctx context.Context, kind ChallengeKind, browser, challenge string, r assertion.Response,
) (Passkey, error) {
	c, err := g.ceremony(ctx, kind, browser, challenge)
	if err != nil {
		return Passkey{}, err
	}
	p, err := g.store.Passkey(ctx, r.CredentialID)
	if err != nil && approval.CodeOf(err) != approval.CodeNotFound {
		return Passkey{}, err
	}
	asked, _ := base64.RawURLEncoding.DecodeString(c.ID) // we have made it
	seen, bad := r.Verify(p.Key(), g.Rules().Site, asked)
	use := PasskeyUse{Challenge: c.ID, AtMs: nowMs()}
	if kind == SignInChallenge { // longer than it is good for, as clocks of instances differ
		use.RememberMs = c.ExpiresMs + CeremonyLife.Milliseconds()
	}
	if known := p.ID != "" && g.people(time.Now()).Known(p.Person); bad != nil || !known {
		return Passkey{}, errors.Join(g.refusedPasskey(ctx, p, use, bad), notThatPasskey())
	}
	use.Passkey, use.Before, use.After, use.BackedUp = p.ID, p.SignCount, seen.SignCount, seen.BackedUp
	if err := g.store.SpendChallenge(ctx, use); errors.Is(err, ErrSpent) {
		return Passkey{}, ceremonyOver()
	} else if err != nil {
		return Passkey{}, err
	}
	return p, nil
}

// refusedPasskey spends a challenge that is kept and was answered wrongly. Where the passkey is
// somebody's, that is on record.
func (g *Gate) refusedPasskey(ctx context.Context, p Passkey, use PasskeyUse, why error) error {
	if use.RememberMs == 0 { // of those that are kept nowhere only a good answer is
		if err := g.store.SpendChallenge(ctx, use); err != nil && !errors.Is(err, ErrSpent) {
			return err
		}
	}
	if p.ID == "" || why == nil {
		return nil
	}
	e := approval.Approval{}.Event(approval.EventRefused, nowMs(), approval.EventData{By: "person:" + p.Person,
		Why: "a passkey's answer that does not fit: " + why.Error()})
	return g.refusal(ctx, nil, e)
}

// endCeremony ends one and gives it, or says that it is over.
func (g *Gate) endCeremony(ctx context.Context, kind ChallengeKind, browser, id string) (Challenge, error) {
	c, err := g.ceremony(ctx, kind, browser, id)
	if err != nil {
		return c, err
	}
	if err = g.store.SpendChallenge(ctx, PasskeyUse{Challenge: id}); errors.Is(err, ErrSpent) {
		err = ceremonyOver()
	}
	return c, err
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
func (g *Gate) notes(person, text string, now int64) (out []Notice) {
	for _, t := range g.people(time.Now()).DirectChats(person) {
		out = append(out, newNotice(t, text, "", now))
	}
	return out
}

func noSite() *approval.Error {
	return approval.Refuse(approval.CodeUnavailable,
		"There are no passkeys here: server.publicUrl must be https with a DNS name, or localhost.")
}

func ceremonyOver() *approval.Error {
	return approval.Refuse(approval.CodeForbidden,
		"That was answered before, or after more than five minutes, or in another browser: try again.")
}

func notThatPasskey() *approval.Error {
	return approval.Refuse(approval.CodeForbidden, "That passkey does not fit: the desk does not know it, or it was removed or suspended.")
}
