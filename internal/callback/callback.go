// Package callback tells owners how their approvals ended: it POSTs the approval
// to the address that came with the request, signed with the token's secret.
//
// It is a [core.Channel] like a chat, so calls are rows of the same durable
// outbox: they survive restarts, keep their order per approval, and one owner
// that hangs does not delay the others. A call is tried for a day, at growing
// distances, until the owner answers 2xx; then it is given up and stays visible.
//
// The asker chooses the address. So the desk connects to public addresses only,
// except those that an operator allows for a token; it checks the very address
// that it connects to, follows no redirects, and does not tell the asker the
// other side's answer.
package callback

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"syscall"
	"time"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/card"
)

const (
	callTime   = 10 * time.Second // for one call, connecting included
	firstPause = 2 * time.Second
	maxPause   = time.Hour
	giveUp     = 24 * time.Hour
	maxAnswer  = 64 << 10 // bytes read of an answer, which are ignored
)

// SignatureHeader carries "t=<unix seconds>,v1=<hex>": HMAC-SHA256, under the
// token's callbackSecret, of the time, a dot and the raw body.
const SignatureHeader = "X-Approvalbot-Signature"

// Owner is the configuration of a token that may be called back.
type Owner struct {
	Secret string         // signs the calls
	Allow  []netip.Prefix // private networks that may be reached
	Secure bool           // https only
}

// Config is what a Channel is made of.
type Config struct {
	Approval func(ctx context.Context, key string) (approval.Approval, error)
	Body     func(ctx context.Context, a approval.Approval) ([]byte, error) // the approval as JSON
	Owner    func(name string) (Owner, bool)                                // as configured now
	Log      *slog.Logger                                                   // nil: silent
}

// Channel makes the calls. Safe for concurrent use.
type Channel struct {
	cfg Config
}

var _ core.Channel = (*Channel)(nil)

// New makes a Channel.
func New(cfg Config) *Channel {
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	return &Channel{cfg: cfg}
}

// Sign gives the value of [SignatureHeader] for a body at a time.
func Sign(secret string, at time.Time, body []byte) string {
	t := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(t + "."))
	mac.Write(body)
	return "t=" + t + ",v1=" + hex.EncodeToString(mac.Sum(nil))
}

// Post calls the owner of the approval that the target names.
func (c *Channel) Post(ctx context.Context, to approval.Target, p core.Posting) (core.Posted, error) {
	a, err := c.cfg.Approval(ctx, to.To)
	if err != nil {
		return core.Posted{}, err
	}
	owner, ok := c.cfg.Owner(a.Owner)
	switch {
	case !ok || owner.Secret == "":
		return core.Posted{}, gone("the token " + a.Owner + " no longer has a callbackSecret")
	case a.CallbackURL == "":
		return core.Posted{}, gone("the approval has no callbackUrl")
	}
	body, err := c.cfg.Body(ctx, a)
	if err != nil {
		return core.Posted{}, err
	}
	if err := c.call(ctx, a.CallbackURL, owner, p.Nonce, body); err != nil {
		return core.Posted{}, c.again(a, time.UnixMilli(p.SinceMs), err)
	}
	return core.Posted{MessageID: p.Nonce}, nil
}

// Edit has no effect: a call is not edited, the next one carries the new state.
func (c *Channel) Edit(context.Context, approval.Target, string, card.Card) error { return nil }

// Attach has no effect.
func (c *Channel) Attach(context.Context, approval.Target, card.File) error { return nil }

// AttachParts has no effect.
func (c *Channel) AttachParts(context.Context, approval.Target, card.File) error { return nil }

// call makes one call. The error is safe to show.
func (c *Channel) call(ctx context.Context, address string, owner Owner, id string, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil || owner.Secure && req.URL.Scheme != "https" {
		return Refused{"the callbackUrl must be an https address"}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "approvalbot")
	req.Header.Set("X-Approvalbot-Delivery", id)
	req.Header.Set(SignatureHeader, Sign(owner.Secret, time.Now(), body))
	res, err := Client(owner.Allow, nil, privateCallback).Do(req)
	if err != nil {
		return plain(err)
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, maxAnswer))
	if res.StatusCode/100 != 2 {
		return fmt.Errorf("the owner answered %d", res.StatusCode)
	}
	return nil
}

// again says when to try once more: the longer it has failed, the later, with
// some chance in it, so that a burst of failures does not come back as one.
func (c *Channel) again(a approval.Approval, since time.Time, err error) error {
	age := time.Since(since)
	var refused Refused
	if errors.As(err, &refused) || age >= giveUp {
		c.cfg.Log.Warn("gave up on a callback because its owner did not accept it; approvalbot admin "+
			"callbacks list shows it", "approval", a.Key, "token",
			a.Owner, "reason", err)
		return gone(err.Error())
	}
	pause := min(max(firstPause, age/2), maxPause)
	pause += time.Duration(rand.Int64N(int64(pause/4) + 1))
	return &core.DeliveryError{Message: err.Error(), RetryAfter: min(pause, max(firstPause, giveUp-age))}
}

func gone(message string) error { return &core.DeliveryError{Gone: true, Message: message} }

// Refused is the error for an address that is never called.
type Refused struct{ Text string }

// Error gives the refusal.
func (e Refused) Error() string { return e.Text }

// plain words a network error without the address, which may hold a secret.
func plain(err error) error {
	var refused Refused
	var dns *net.DNSError
	switch {
	case errors.As(err, &refused):
		return refused
	case errors.Is(err, context.DeadlineExceeded):
		return errors.New("the owner did not answer in time")
	case errors.As(err, &dns):
		return errors.New("the owner's host name could not be found")
	}
	return errors.New("the owner could not be reached")
}

const privateCallback = "the callbackUrl leads to a private address, which the token's callbackAllow does not name"

// Client makes an HTTP client for a call to an address that others chose. It checks the
// address that it really connects to, so that a name cannot resolve differently in
// between: if that is neither public nor in an allowed network, the error is [Refused]
// with that refusal. It follows no redirects. trust is for TLS; nil means the defaults.
func Client(allow []netip.Prefix, trust *tls.Config, refusal string) *http.Client {
	dialer := &net.Dialer{Timeout: callTime, Control: func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil || !Reachable(at.Addr(), allow) {
			return Refused{refusal}
		}
		return nil
	}}
	return &http.Client{
		Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true, TLSClientConfig: trust,
			TLSHandshakeTimeout:   callTime,
			ResponseHeaderTimeout: callTime, MaxResponseHeaderBytes: maxAnswer},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// notPublic are networks that are global unicast by their form and private by
// their use: shared address space (RFC 6598), benchmarks (RFC 2544),
// documentation (RFC 5737, 3849, 9637), protocol assignments (RFC 6890),
// translation and tunnels that can lead anywhere (RFC 6052, 3056, 3068, 4380),
// and what was once site-local or held an IPv4 address (RFC 3879, 4291).
var notPublic = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("64:ff9b::/96"),
	netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("100::/64"), netip.MustParsePrefix("2001::/23"),
	netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("2002::/16"),
	netip.MustParsePrefix("::/96"), netip.MustParsePrefix("fec0::/10"), netip.MustParsePrefix("3fff::/20"),
	netip.MustParsePrefix("192.88.99.0/24"),
}

// Reachable reports whether a call may go to an address: a public one, or one of
// an allowed network.
func Reachable(at netip.Addr, allow []netip.Prefix) bool {
	at = at.Unmap().WithZone("")
	within := func(list []netip.Prefix) bool {
		for _, p := range list {
			if p.Contains(at) {
				return true
			}
		}
		return false
	}
	if within(allow) {
		return true
	}
	return at.IsGlobalUnicast() && !at.IsPrivate() && !within(notPublic)
}
