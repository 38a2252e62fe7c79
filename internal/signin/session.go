package signin

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"time"

	"github.com/google/uuid"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/display"
	"approvalbot/internal/people"
)

// How long a session is valid at most, and how long if it is not used.
const (
	SessionLife = 7 * 24 * time.Hour
	SessionIdle = 12 * time.Hour

	sessionTouch = time.Minute // a use that comes sooner after the one before is not written down
	maxBrowser   = 80          // characters
)

// Ways to sign in, for [Session.How].
const (
	ByLink     = "link"
	ByPasskey  = "passkey"
	ByOIDC     = "oidc"
	ByTelegram = "telegram"
)

// Session is one browser in which a person is signed in to the desk's pages. It
// gives no rights of its own: the person's rights are looked up at every step.
type Session struct {
	ID        string // shown to the person, who may end it; not the cookie
	Person    string
	How       string // link, passkey, oidc or telegram
	Browser   string // the browser's name for itself, cut; shown to the person
	CreatedMs int64
	UsedMs    int64
	EndsMs    int64 // at the latest
	Enrols    bool  // an operator's link began it, by which the person may make a first passkey
}

// Live reports whether the session still holds at a time.
func (s Session) Live(now int64) bool {
	return now < s.EndsMs && now < s.UsedMs+SessionIdle.Milliseconds()
}

// Voter is the person of the session, as who votes on the desk's pages.
func (s Session) Voter() approval.Voter { return s.WebUser().Voter() }

// WebUser is the session's person in that session, for the steps of an approval.
func (s Session) WebUser() core.WebUser { return core.WebUser{Person: s.Person, Session: s.ID} }

// SignIn is a person who has proven who they are, and the proof.
type SignIn struct {
	Person  string
	How     string
	Browser string // the name that it gives itself
	Enrols  bool
	// Once identifies the proof if it must not be used twice, and OnceMs is the
	// time until which that is remembered. Empty: the proof may be used again.
	Once   string
	OnceMs int64
	link   *LoginLink // that is spent
}

// SignedIn is a sign-in that is committed as a whole.
type SignedIn struct {
	Session Session
	Cookie  string // hash of the session's cookie
	Link    string // hash of the link that is spent; empty if no link is
	Once    string // hash of the proof that is used up; empty if not set
	OnceMs  int64
	Event   approval.Event
	Notices []core.Notice
}

// SessionFilter selects sessions of one person: all, the one of that id, or all but
// one.
type SessionFilter struct {
	Person string
	ID     string
	But    string // an id
	Next   string // with ID: the session that gets its push subscriptions; empty if they end
}

// SessionStore keeps who is signed in to the desk's pages.
type SessionStore interface {
	// SignIn commits a sign-in. CodeNotFound if its link is unknown, spent or expired
	// at that time; CodeAlreadyUsed if its proof (Once) was used before. It does not
	// write then.
	SignIn(ctx context.Context, in SignedIn) error
	// Session gives the session of a cookie by its hash, or CodeNotFound.
	Session(ctx context.Context, cookie string) (Session, error)
	// Sessions gives a person's sessions, newest first.
	Sessions(ctx context.Context, person string) ([]Session, error)
	// TouchSession writes down that a session was used.
	TouchSession(ctx context.Context, id string, usedMs int64) error
	// EndSessions ends those that the filter selects with the push subscriptions made in them,
	// appends the entries that event and unsubscribed make of each to the log and marks
	// handled (if not nil), in one transaction, and gives the sessions that it ended. A filter
	// that is not of one ID ends every subscription except those of the session But, even if
	// their session is over or not known. If no session or subscription is selected, nothing
	// is written.
	EndSessions(
		ctx context.Context, f SessionFilter, handled *approval.InboundRef, event func(Session) approval.Event,
		unsubscribed func(PushSubscription) approval.Event,
	) ([]Session, error)
}

// newSecret makes what a link or a cookie carries: 256 random bits.
func newSecret() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails (crypto/rand)
	return base64.RawURLEncoding.EncodeToString(b)
}

// secretHash is what is kept of a secret. It has 256 bits, so no salt is needed.
func secretHash(kind, secret string) string {
	sum := sha256.Sum256([]byte("approvalbot " + kind + "\x00" + secret))
	return hex.EncodeToString(sum[:])
}

// start makes the session of a sign-in, and what tells of it.
func (in SignIn) start(cookie string, person people.Person, chats []approval.Target, now int64) SignedIn {
	browser, _ := display.Clip(display.Escape(in.Browser), maxBrowser)
	s := Session{
		ID: uuid.NewString(), Person: in.Person, How: in.How, Browser: browser, Enrols: in.Enrols,
		CreatedMs: now, UsedMs: now, EndsMs: now + SessionLife.Milliseconds(),
	}
	out := SignedIn{Session: s, Cookie: secretHash("cookie", cookie)}
	data := map[string]any{"by": "person:" + s.Person, "how": s.How, "session": s.ID, "browser": s.Browser}
	if in.Enrols {
		data["enrols"] = true
	}
	if in.link != nil {
		out.Link, data["linkBy"] = in.link.Hash, in.link.By
	}
	if in.Once != "" {
		out.Once, out.OnceMs = secretHash("once", in.Once), in.OnceMs
	}
	out.Event = event(approval.EventSignIn, now, data)
	for _, t := range chats {
		out.Notices = append(out.Notices, newNotice(t, s.notice(person.Zone), s.ID, now))
	}
	return out
}

// notice tells the person in their own chat that there was a sign-in as them.
func (s Session) notice(zone *time.Location) string {
	how := map[string]string{
		ByLink: "with a one-time link", ByPasskey: "with a passkey", ByOIDC: "with the organisation's account",
		ByTelegram: "from Telegram",
	}[s.How]
	if zone == nil {
		zone = time.UTC
	}
	text := "🔑 Somebody signed in to the desk's pages as " + display.Escape(s.Person) + " " + how +
		", at " + approval.TimeText(s.CreatedMs, zone) + "."
	if s.Browser != "" {
		text += "\nThe browser calls itself: " + s.Browser
	}
	if s.Enrols {
		text += "\nIt may make a first passkey."
	}
	return text + "\nIf that was not you, end it here, and tell your operator."
}

// SignIn starts the session of a person who has proven who they are, and gives the
// cookie's value, which is not stored. The same commit queues a message to the
// person's own chats. CodeForbidden if no person of that name is configured;
// CodeAlreadyUsed if the proof was used before.
func (d *Door) SignIn(ctx context.Context, in SignIn) (s Session, cookie string, err error) {
	people := d.people()
	person, ok := people.Person(in.Person)
	if !ok {
		return s, "", approval.Refuse(approval.CodeForbidden, "The desk's configuration no longer names that person.")
	}
	cookie = newSecret()
	made := in.start(cookie, person, people.DirectChats(in.Person), nowMs())
	if err := d.store.SignIn(ctx, made); err != nil {
		return s, "", err
	}
	d.notices.wake()
	return made.Session, cookie, nil
}

// Session gives the session of a cookie, and records that it is used. CodeNotFound if
// there is no such session, if it is over, or if its person is no longer configured.
func (d *Door) Session(ctx context.Context, cookie string) (Session, error) {
	s, err := d.SessionStands(ctx, cookie)
	if err != nil {
		return s, err
	}
	if now := nowMs(); now-s.UsedMs >= sessionTouch.Milliseconds() {
		if err := d.store.TouchSession(ctx, s.ID, now); err != nil {
			return Session{}, err // else a store that takes no writes lets a session live for ever
		}
		s.UsedMs = now
	}
	return s, nil
}

// SessionStands is [Door.Session] without counting as use: a page that is left open
// does not keep a session alive.
func (d *Door) SessionStands(ctx context.Context, cookie string) (Session, error) {
	s, err := d.store.Session(ctx, secretHash("cookie", cookie))
	if err == nil {
		err = d.stands(s)
	}
	if err != nil {
		return Session{}, err
	}
	return s, nil
}

// The error is nil as long as the session is valid.
func (d *Door) stands(s Session) error {
	if !s.Live(nowMs()) || !d.people().Known(s.Person) {
		return errNoSession
	}
	return nil
}

var errNoSession = approval.Refuse(approval.CodeNotFound, "There is no such session, or it has ended.")

// Sessions gives the sessions of a person that hold now, newest first.
func (d *Door) Sessions(ctx context.Context, person string) ([]Session, error) {
	all, err := d.store.Sessions(ctx, person)
	live := all[:0]
	for _, s := range all {
		if d.stands(s) == nil {
			live = append(live, s)
		}
	}
	return live, err
}

// EndSession ends a session of that person, at the person's request from another
// session or the same one. CodeNotFound if the person has no session of that id.
func (d *Door) EndSession(ctx context.Context, person, id string) error {
	_, err := d.endSessions(ctx, SessionFilter{Person: person, ID: id}, "person:"+person, nil)
	return err
}

// ReplaceSession ends the session that a browser had before its person signed in there anew.
// The browser goes on to be notified. CodeNotFound if the old one has ended.
func (d *Door) ReplaceSession(ctx context.Context, old, with Session) error {
	f := SessionFilter{Person: old.Person, ID: old.ID}
	if old.Person == with.Person {
		f.Next = with.ID
	}
	_, err := d.endSessions(ctx, f, "person:"+old.Person, nil)
	return err
}

// EndOtherSessions ends all sessions of a session's person but that one, and all push
// subscriptions that were not made in it. It returns the number of ended sessions.
func (d *Door) EndOtherSessions(ctx context.Context, s Session) (n int, err error) {
	ended, err := d.endSessions(ctx, SessionFilter{Person: s.Person, But: s.ID}, "person:"+s.Person, nil)
	return len(ended), err
}

// EndSessionFrom ends a session from a chat, at the request of an account of its
// person. CodeNotFound for any other account, whether the session exists or not. When
// it returns without an error, the platform update is handled.
func (d *Door) EndSessionFrom(ctx context.Context, v approval.Voter, id string, handled *approval.InboundRef) error {
	v = d.people().Identify(v)
	if v.Person == "" {
		return errNoSession
	}
	_, err := d.endSessions(ctx, SessionFilter{Person: v.Person, ID: id}, v.Channel+":"+v.UserID, handled)
	return err
}

func (d *Door) endSessions(
	ctx context.Context, f SessionFilter, by string, handled *approval.InboundRef,
) (ended []Session, err error) {
	now := nowMs()
	ended, err = d.store.EndSessions(ctx, f, handled, func(s Session) approval.Event { return s.signedOut(by, now) },
		func(p PushSubscription) approval.Event { return p.ended(by, now) })
	if err == nil && len(ended) == 0 && f.ID != "" {
		return nil, errNoSession
	}
	d.sessions.turn()
	return ended, err
}

// signedOut is the end of a session before its time, for the log.
func (s Session) signedOut(by string, now int64) approval.Event {
	return event(approval.EventSignedOut, now, map[string]any{"by": by, "person": s.Person, "session": s.ID})
}

// SignInRefused puts on record that a sign-in from that address of a remote was refused.
func (d *Door) SignInRefused(ctx context.Context, remote, how, why string) error {
	e := event(approval.EventRefused, nowMs(), map[string]any{"by": "web:" + how, "why": why})
	e.By = "address:" + remote
	return d.desk.Refusals().Append(ctx, nil, e)
}

// SessionsTurn gives a channel that is closed as soon as a session may have ended here:
// one was ended, or other rules count. Other instances' doings are not told.
func (d *Door) SessionsTurn() <-chan struct{} { return d.sessions.next() }
