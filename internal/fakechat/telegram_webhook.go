package fakechat

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxSecretToken is the length of a webhook's secret (Bot API, setWebhook).
const maxSecretToken = 256

// webhookState is the webhook of the bot.
type webhookState struct {
	url            string
	secret         string
	maxConnections int
	ipAddress      string
	lastError      string
	lastErrorAt    time.Time
	nextSet        time.Time      // setWebhook before it is refused
	gone           time.Time      // since when it answers 410
	generation     int            // counts the webhooks there were
	lanes          map[int64]bool // lanes with a request under way
	retries        map[*queuedUpdate]*retryState
}

// retryState is when an update is sent again.
type retryState struct {
	at    time.Time
	delay int // seconds
	fails int
}

// setWebhook implements setWebhook and deleteWebhook, which is setWebhook
// without a url (telegram-bot-api Client.cpp, process_set_webhook_query).
func (tg *Telegram) setWebhook(q *tgQuery) (any, *apiError) {
	address, now := q.params["url"], tg.now()
	if strings.EqualFold(q.method, "deleteWebhook") {
		address = ""
	}
	if address != "" {
		if now.Before(tg.hook.nextSet) {
			return nil, tooManyRequests(1)
		}
		tg.hook.nextSet = now.Add(time.Second)
	}
	next := webhookState{url: address, nextSet: tg.hook.nextSet, generation: tg.hook.generation + 1}
	if address != "" {
		next.secret, next.ipAddress = q.params["secret_token"], q.params["ip_address"]
		next.maxConnections = q.integer("max_connections", 40, 1, 100)
		next.lanes, next.retries = make(map[int64]bool), make(map[*queuedUpdate]*retryState)
	}
	drop := q.flag("drop_pending_updates")
	if tg.hook.same(next) && !drop {
		tg.queue.setAllowed(q.params["allowed_updates"])
		return okResult{true, choose(address == "", "Webhook is already deleted", "Webhook is already set")}, nil
	}
	return tg.replaceWebhook(q, next, drop)
}

// replaceWebhook closes the old webhook before it looks at the new one, as the server does:
// if the new one is bad, no webhook is left.
func (tg *Telegram) replaceWebhook(q *tgQuery, next webhookState, drop bool) (any, *apiError) {
	if next.url != "" && tg.poll.waiting != nil {
		tg.abortPoll(tg.conflict(byWebhook))
	}
	had := tg.hook.url != ""
	tg.hook = webhookState{nextSet: next.nextSet, generation: next.generation}
	if drop {
		tg.queue.clear(0)
	}
	if next.url == "" {
		return okResult{true, choose(had, "Webhook was deleted", "Webhook is already deleted")}, nil
	}
	if err := tg.checkWebhook(next); err != nil {
		return nil, err
	}
	tg.queue.setAllowed(q.params["allowed_updates"])
	tg.hook = next
	if !tg.closed {
		tg.running.Go(func() { tg.runWebhook(next.generation) })
	}
	return okResult{true, "Webhook was set"}, nil
}

func choose(cond bool, yes, no string) string {
	if cond {
		return yes
	}
	return no
}

func (h webhookState) same(next webhookState) bool {
	return h.url == next.url && h.secret == next.secret && h.maxConnections == next.maxConnections && h.ipAddress == next.ipAddress
}

// checkWebhook checks address and secret (Bot API, setWebhook; WebhookActor.cpp).
func (tg *Telegram) checkWebhook(h webhookState) *apiError {
	if !strings.Contains(h.url, "://") {
		h.url = "https://" + h.url
	}
	u, err := url.Parse(h.url)
	switch {
	case err != nil, u.Hostname() == "", u.Scheme != "https" && u.Scheme != "http":
		return badRequest("invalid webhook URL specified")
	case len(h.secret) > maxSecretToken:
		return badRequest("secret token is too long")
	case !regexp.MustCompile(`^[A-Za-z0-9_-]*$`).MatchString(h.secret):
		return badRequest("secret token contains unallowed characters")
	case tg.opts.AnyWebhook:
		return nil
	case u.Scheme != "https":
		return badRequest("bad webhook: An HTTPS URL must be provided for webhook")
	case !slices.Contains([]string{"", "443", "80", "88", "8443"}, u.Port()):
		return badRequest("bad webhook: Webhook can be set up only on ports 80, 88, 443 or 8443")
	}
	return checkWebhookHost(choose(h.ipAddress != "", h.ipAddress, u.Hostname()))
}

// checkWebhookHost checks addresses; names are not resolved, except localhost.
func checkWebhookHost(host string) *apiError {
	if host == "localhost" {
		host = "127.0.0.1"
	}
	ip, err := netip.ParseAddr(host)
	switch {
	case err != nil:
		return nil
	case !ip.Is4():
		return badRequest("bad webhook: IPv6-only addresses are not allowed")
	case ip.IsPrivate(), ip.IsLoopback(), ip.IsLinkLocalUnicast(), ip.IsMulticast(), ip.IsUnspecified():
		return badRequest("bad webhook: IP address " + host + " is reserved")
	}
	return nil
}

// getWebhookInfo implements getWebhookInfo.
func (tg *Telegram) getWebhookInfo(*tgQuery) (any, *apiError) {
	tg.queue.expire(tg.now())
	info := struct {
		URL            string   `json:"url"`
		Certificate    bool     `json:"has_custom_certificate"`
		Pending        int      `json:"pending_update_count"`
		LastErrorDate  int64    `json:"last_error_date,omitempty"`
		LastError      string   `json:"last_error_message,omitempty"`
		MaxConnections int      `json:"max_connections,omitempty"`
		IPAddress      string   `json:"ip_address,omitempty"`
		Allowed        []string `json:"allowed_updates,omitempty"`
	}{
		URL: tg.hook.url, Pending: len(tg.queue.pending), LastError: tg.hook.lastError,
		MaxConnections: tg.hook.maxConnections, Allowed: tg.queue.allowed,
	}
	if tg.hook.lastError != "" {
		info.LastErrorDate = tg.hook.lastErrorAt.Unix()
	}
	if tg.hook.url != "" {
		info.IPAddress = choose(tg.hook.ipAddress != "", tg.hook.ipAddress, "<unknown>")
	}
	return info, nil
}

// loopbackClient reaches only this machine, so that a test with a real-looking webhook
// address does not go out to the network.
func loopbackClient() *http.Client {
	transport := &http.Transport{DialContext: onlyLoopback(new(net.Dialer))}
	return &http.Client{Transport: transport, CheckRedirect: noRedirect}
}

// noRedirect: the server does not follow redirects, a 3xx is a failure.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// retryAfter reads the Retry-After header of a webhook's answer, up to an hour.
func retryAfter(header http.Header) int {
	n, _ := strconv.Atoi(header.Get("Retry-After"))
	return min(max(n, 0), 3600)
}
