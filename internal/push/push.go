// Package push notifies browsers that an approval waits (Web Push, RFC 8030, 8291, 8292).
//
// It is a [core.Channel] like a chat, so notifications are rows of the same durable outbox,
// and each subscription is a chat of its own: one push service that hangs holds up no other
// browser. A notification is sealed for its browser; the push service learns that there is
// one, and when.
//
// The address is the browser's word. So the desk connects by https to public addresses
// only, as it does to call owners back, and follows no redirects.
package push

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/SherClockHolmes/webpush-go"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/callback"
	"approvalbot/internal/card"
	"approvalbot/internal/signin"
)

const (
	sendTime  = 20 * time.Second // for one notification, connecting included
	keepTime  = time.Hour        // for a push service to keep one for a browser that is off
	limitRest = time.Minute      // after a 429 that does not say for how long
	maxRest   = time.Hour
	maxAnswer = 64 << 10 // bytes read of an answer, which are ignored
)

const privateService = "the push service is at a private address"

// Config is what a Channel is made of.
type Config struct {
	Subscription func(ctx context.Context, id string) (signin.PushSubscription, error)
	Drop         func(ctx context.Context, person, id string) error // ends a subscription
	Key          Key
	Subject      string         // an https address of the desk, by which a push service knows whose it is
	Allow        []netip.Prefix // private networks that push services may be in; empty except in tests
	Trust        *tls.Config    // nil: as usual
	Log          *slog.Logger   // nil: silent
}

// Channel sends notifications. Safe for concurrent use.
type Channel struct {
	cfg    Config
	client *http.Client
}

var _ core.Channel = (*Channel)(nil)

// New makes a Channel.
func New(cfg Config) *Channel {
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	return &Channel{cfg: cfg, client: callback.Client(cfg.Allow, cfg.Trust, privateService)}
}

// Post sends a notification to the subscription that the target names. One that its push
// service no longer knows ends.
func (c *Channel) Post(ctx context.Context, to approval.Target, p core.Posting) (core.Posted, error) {
	s, err := c.cfg.Subscription(ctx, to.To)
	switch {
	case approval.CodeOf(err) == approval.CodeNotFound:
		return core.Posted{}, gone("the subscription has ended")
	case err != nil:
		return core.Posted{}, err
	case !strings.HasPrefix(s.Endpoint, "https://"):
		return core.Posted{}, gone("the push service has no https address")
	}
	answer, err := c.send(ctx, s, p.Text)
	if err != nil {
		return core.Posted{}, plain(err)
	}
	switch status := answer.StatusCode; {
	case status/100 == 2:
		return core.Posted{MessageID: p.Nonce}, nil
	case status == http.StatusNotFound || status == http.StatusGone:
		if err := c.cfg.Drop(ctx, s.Person, s.ID); err != nil {
			return core.Posted{}, err
		}
		c.cfg.Log.Info("a browser no longer accepts notifications; its subscription is removed", "person", s.Person)
		return core.Posted{}, gone("the browser no longer accepts notifications")
	default:
		return core.Posted{}, refusal(answer)
	}
}

// send makes the one request. Only the head of its answer is returned; the body is consumed.
func (c *Channel) send(ctx context.Context, s signin.PushSubscription, text string) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	answer, err := webpush.SendNotificationWithContext(ctx, []byte(text),
		&webpush.Subscription{Endpoint: s.Endpoint, Keys: webpush.Keys{Auth: s.Auth, P256dh: s.P256dh}},
		&webpush.Options{
			HTTPClient: c.client, Subscriber: c.cfg.Subject, TTL: int(keepTime.Seconds()), Urgency: webpush.UrgencyHigh,
			VAPIDPublicKey: c.cfg.Key.Public, VAPIDPrivateKey: c.cfg.Key.private,
		})
	if err != nil {
		return nil, err
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, maxAnswer))
	_ = answer.Body.Close()
	answer.Body = io.NopCloser(bytes.NewReader(nil))
	return answer, nil
}

// refusal interprets an answer that is neither a success nor an end of the subscription.
func refusal(answer *http.Response) error {
	message := fmt.Sprintf("the push service answered %d", answer.StatusCode)
	switch {
	case answer.StatusCode == http.StatusTooManyRequests:
		rest := limitRest
		if s, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil && s > 0 {
			rest = min(time.Duration(s)*time.Second, maxRest)
		}
		return &core.DeliveryError{Message: message, RetryAfter: rest}
	case answer.StatusCode >= http.StatusInternalServerError:
		return fmt.Errorf("%s: %w", message, core.ErrPlatform)
	}
	return &core.DeliveryError{Message: message, Refused: true}
}

// plain words an error without the address, which is a secret of the browser's.
func plain(err error) error {
	var refused callback.Refused
	if errors.As(err, &refused) {
		return gone(refused.Text)
	}
	return errors.New("the push service could not be reached")
}

func gone(message string) error { return &core.DeliveryError{Gone: true, Message: message} }

// Edit has no effect: a notification is not edited, its link leads to the present state.
func (c *Channel) Edit(context.Context, approval.Target, string, card.Card) error { return nil }

// Attach has no effect.
func (c *Channel) Attach(context.Context, approval.Target, card.File) error { return nil }

// AttachParts has no effect.
func (c *Channel) AttachParts(context.Context, approval.Target, card.File) error { return nil }
