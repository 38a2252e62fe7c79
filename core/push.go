package core

import (
	"context"
	"crypto/ecdh"
	"encoding/base64"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"

	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/display"
	"approvalbot/internal/people"
)

// PushChannel is the channel of notifications to browsers; its chats are the ids of
// subscriptions.
const PushChannel = "push"

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
	Endpoint  string // an address that nobody but the browser and its push service knows
	P256dh    string // as the Push API gives them, in base64
	Auth      string
	Browser   string // what it called itself, cut; shown to the person
	CreatedMs int64
	Session   string // in which it was made; empty: not known
}

// PushStore keeps subscriptions.
type PushStore interface {
	// KeepPush adds a subscription with its event and notices, in place of any other of its
	// endpoint, in one transaction, unless the person has limit of them: CodeRateLimited.
	KeepPush(ctx context.Context, s PushSubscription, limit int, e approval.Event, tell []Notice) error
	// DropPush removes a subscription; a person's own alone, where person is not empty.
	DropPush(ctx context.Context, person, id string) error
	// PushOf gives a person's subscriptions, oldest first.
	PushOf(ctx context.Context, person string) ([]PushSubscription, error)
	// Push gives one subscription, or CodeNotFound.
	Push(ctx context.Context, id string) (PushSubscription, error)
}

// Subscribe has the person of a session notified in that browser, too. The person's own chats
// are told by the very commit.
func (g *Gate) Subscribe(ctx context.Context, who Session, s PushSubscription) error {
	if who.Person == "" || !g.people(time.Now()).Known(who.Person) {
		return approval.Refuse(approval.CodeForbidden, "Sign in first.")
	}
	if err := s.check(); err != nil {
		return err
	}
	s.ID, s.Person, s.CreatedMs, s.Session = uuid.NewString(), who.Person, nowMs(), who.ID
	s.Browser = card.Clipped(display.Escape(s.Browser), maxBrowserName)
	text := "🔔 A browser is notified of your approvals from now on, in a session of yours."
	if s.Browser != "" {
		text += "\nThe browser calls itself: " + s.Browser
	}
	text += "\nIf that was not you, end the session here, and tell your operator."
	tell := g.notes(s.Person, text, s.CreatedMs)
	for i := range tell {
		tell[i].Session = who.ID
	}
	err := g.store.KeepPush(ctx, s, maxSubscriptions, webEvent(approval.EventSubscribed, s.CreatedMs, map[string]any{
		"by": "person:" + s.Person, "session": s.Session, "subscription": s.ID, "browser": s.Browser}), tell)
	g.notices.wake()
	return err
}

// ended is the end of a subscription together with its session or its person, for the log.
func (s PushSubscription) ended(by string, now int64) approval.Event {
	return webEvent(approval.EventPushEnded, now, map[string]any{"by": by, "person": s.Person, "subscription": s.ID})
}

// check says what of a subscription a browser cannot have said.
func (s PushSubscription) check() error {
	at, err := url.Parse(s.Endpoint)
	if err != nil || at.Scheme != "https" || at.Host == "" || at.User != nil || len(s.Endpoint) > maxEndpoint {
		return approval.Invalid(approval.FieldError{Field: "endpoint", Problem: "must be an https address"})
	}
	point, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(s.P256dh, "="))
	if err == nil {
		_, err = ecdh.P256().NewPublicKey(point)
	}
	if err != nil {
		return approval.Invalid(approval.FieldError{Field: "keys.p256dh", Problem: "must be a point on P-256 in base64url"})
	}
	if auth, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(s.Auth, "=")); err != nil || len(auth) != authLength {
		return approval.Invalid(approval.FieldError{Field: "keys.auth", Problem: "must be 16 bytes in base64url"})
	}
	return nil
}

// Unsubscribe ends a subscription of the session's person.
func (g *Gate) Unsubscribe(ctx context.Context, who Session, id string) error {
	if who.Person == "" {
		return approval.Refuse(approval.CodeForbidden, "Sign in first.")
	}
	return g.store.DropPush(ctx, who.Person, id)
}

// Subscriptions are those of the session's person, oldest first.
func (g *Gate) Subscriptions(ctx context.Context, who Session) ([]PushSubscription, error) {
	return g.store.PushOf(ctx, who.Person)
}

// notifications adds one for each subscribed browser of who could decide a new approval. In
// a person's quiet hours it waits for their end. Under a flood of its owner's there is none:
// lately is how many cards of that owner's were made for each place in the last minute.
func (c Change) notifications(all []PushSubscription, lately map[approval.Target]int, rules *Rules, now int64) Change {
	a := c.Approval
	flood := false
	for _, n := range lately {
		flood = flood || rules.DigestAbove > 0 && n >= rules.DigestAbove
	}
	if a.Final() || len(all) == 0 || flood && a.Assessment.RiskClass < approval.R4 {
		return c
	}
	for _, person := range people.Contacts(a, rules.People) {
		due := now
		if quiet(a, person.Name, rules, now) {
			due = rules.Contact.Quiet[person.Name].End(time.UnixMilli(now)).UnixMilli()
		}
		for _, s := range all {
			if s.Person == person.Name {
				d := a.Delivery(approval.PushDelivery, approval.Target{Channel: PushChannel, To: s.ID}, now)
				d.DueMs = due
				c.Deliveries = append(c.Deliveries, d)
			}
		}
	}
	return c
}
