package signin

import (
	"context"
	"crypto/ecdh"
	"encoding/base64"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/display"
)

const (
	maxSubscriptions = 20  // of a person
	maxBrowserName   = 100 // characters of what a browser calls itself
	maxEndpoint      = 2048
	authLength       = 16 // bytes (RFC 8291, section 3.2)
)

// PushSubscription is a browser that a person wants to be notified in (RFC 8030): it takes
// notifications at Endpoint, sealed for its two keys. It gives no right.
type PushSubscription struct {
	ID        string
	Person    string
	Endpoint  string // an address that only the browser and its push service know
	P256dh    string // as the Push API gives them, in base64
	Auth      string
	Browser   string // the browser's name for itself, cut; shown to the person
	CreatedMs int64
	Session   string // in which it was made; empty if not known
}

// PushStore keeps subscriptions.
type PushStore interface {
	// KeepPush adds a subscription with its event and notices, in place of any other of its
	// endpoint, in one transaction, unless the person has limit of them: CodeRateLimited.
	KeepPush(ctx context.Context, s PushSubscription, limit int, e approval.Event, tell []core.Notice) error
	// DropPush removes a subscription; if person is not empty, only one of that person.
	DropPush(ctx context.Context, person, id string) error
	// PushOf gives a person's subscriptions, oldest first.
	PushOf(ctx context.Context, person string) ([]PushSubscription, error)
	// Push gives one subscription, or CodeNotFound.
	Push(ctx context.Context, id string) (PushSubscription, error)
}

// Subscribe has the person of a session notified in that browser, too. The person's own chats
// are told by the very commit.
func (d *Door) Subscribe(ctx context.Context, who Session, s PushSubscription) error {
	if who.Person == "" || !d.people().Known(who.Person) {
		return approval.Refuse(approval.CodeForbidden, "Sign in first.")
	}
	if err := s.check(); err != nil {
		return err
	}
	s.ID, s.Person, s.CreatedMs, s.Session = uuid.NewString(), who.Person, nowMs(), who.ID
	s.Browser, _ = display.Clip(display.Escape(s.Browser), maxBrowserName)
	text := "🔔 A browser is notified of your approvals from now on, in a session of yours."
	if s.Browser != "" {
		text += "\nThe browser calls itself: " + s.Browser
	}
	text += "\nIf that was not you, end the session here, and tell your operator."
	tell := d.notes(s.Person, text, s.CreatedMs)
	for i := range tell {
		tell[i].Session = who.ID
	}
	err := d.store.KeepPush(ctx, s, maxSubscriptions, event(approval.EventSubscribed, s.CreatedMs, map[string]any{
		"by": "person:" + s.Person, "session": s.Session, "subscription": s.ID, "browser": s.Browser}), tell)
	d.notices.wake()
	return err
}

// ended is the end of a subscription together with its session or its person, for the log.
func (s PushSubscription) ended(by string, now int64) approval.Event {
	return event(approval.EventPushEnded, now, map[string]any{"by": by, "person": s.Person, "subscription": s.ID})
}

// check returns an error if a browser cannot have made the subscription.
func (s PushSubscription) check() error {
	at, err := url.Parse(s.Endpoint)
	if err != nil || at.Scheme != "https" || at.Host == "" || at.User != nil || len(s.Endpoint) > maxEndpoint {
		return invalid("endpoint", "must be an https address")
	}
	point, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(s.P256dh, "="))
	if err == nil {
		_, err = ecdh.P256().NewPublicKey(point)
	}
	if err != nil {
		return invalid("keys.p256dh", "must be a point on P-256 in base64url")
	}
	if auth, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(s.Auth, "=")); err != nil || len(auth) != authLength {
		return invalid("keys.auth", "must be 16 bytes in base64url")
	}
	return nil
}

// Unsubscribe ends a subscription of the session's person.
func (d *Door) Unsubscribe(ctx context.Context, who Session, id string) error {
	if who.Person == "" {
		return approval.Refuse(approval.CodeForbidden, "Sign in first.")
	}
	return d.store.DropPush(ctx, who.Person, id)
}

// Subscriptions are those of the session's person, oldest first.
func (d *Door) Subscriptions(ctx context.Context, who Session) ([]PushSubscription, error) {
	return d.store.PushOf(ctx, who.Person)
}
