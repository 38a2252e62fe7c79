package fakechat

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// Times of webhook delivery (telegram-bot-api WebhookActor.h).
const (
	maxResendSeconds = 60 // the longest delay is between this and twice this
	webhookTimeout   = 60 * time.Second
	goneLimit        = 23 * time.Hour // a webhook that answers 410 this long is closed
)

// onlyLoopback dials literal loopback addresses and refuses all others.
func onlyLoopback(dialer *net.Dialer) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		if ip, err := netip.ParseAddr(host); host != "localhost" && (err != nil || !ip.IsLoopback()) {
			return nil, fmt.Errorf("fakechat sends webhooks to loopback addresses only, not to %s", host)
		}
		return dialer.DialContext(ctx, network, address)
	}
}

// runWebhook delivers updates until the webhook is replaced or the fake closed.
// Updates of one lane go out one after another, lanes at the same time.
func (tg *Telegram) runWebhook(generation int) {
	for {
		var next *queuedUpdate
		tg.mu.Lock()
		wakeAt := tg.nextRetry()
		tg.mu.Unlock()
		over := false
		err := tg.wait(context.Background(), wakeAt, func() bool {
			over = tg.hook.generation != generation
			if !over {
				next = tg.nextDelivery()
			}
			return over || next != nil || !tg.nextRetry().Equal(wakeAt)
		})
		switch {
		case over, err == ErrClosed:
			return
		case next != nil:
			hook := tg.snapshot()
			tg.running.Go(func() { tg.deliverUpdate(hook, next) })
		}
	}
}

// snapshot copies the webhook; it takes the lock.
func (tg *Telegram) snapshot() webhookState {
	tg.mu.Lock()
	defer tg.mu.Unlock()
	return tg.hook
}

// nextDelivery picks an update that can go out now and occupies its lane.
func (tg *Telegram) nextDelivery() *queuedUpdate {
	now := tg.now()
	tg.queue.expire(now)
	if len(tg.hook.lanes) >= tg.hook.maxConnections {
		return nil
	}
	seen := make(map[int64]bool)
	for _, u := range tg.queue.pending {
		lane := u.laneKey()
		if seen[lane] || tg.hook.lanes[lane] {
			continue
		}
		seen[lane] = true
		if retry := tg.hook.retries[u]; retry == nil || !now.Before(retry.at) {
			tg.hook.lanes[lane] = true
			u.Delivered++
			tg.wake()
			return u
		}
	}
	return nil
}

// laneKey: updates without a lane have one each.
func (u *queuedUpdate) laneKey() int64 {
	if u.lane == 0 {
		return int64(u.ID)
	}
	return u.lane
}

// nextRetry is when the next failed update can go out again, zero for never.
func (tg *Telegram) nextRetry() time.Time {
	var next time.Time
	for u, retry := range tg.hook.retries {
		waits := slices.Contains(tg.queue.pending, u) && !tg.hook.lanes[u.laneKey()]
		if waits && retry.at.After(tg.now()) && (next.IsZero() || retry.at.Before(next)) {
			next = retry.at
		}
	}
	return next
}

// deliverUpdate sends one update; it is called without the lock.
func (tg *Telegram) deliverUpdate(hook webhookState, u *queuedUpdate) {
	ctx, cancel := tg.untilClosed(webhookTimeout)
	defer cancel()
	response, failure, status, after := tg.postUpdate(ctx, hook, u)
	tg.mu.Lock()
	if tg.hook.generation == hook.generation {
		delete(tg.hook.lanes, u.laneKey())
		if failure == "" {
			tg.hook.gone = time.Time{}
			tg.queue.confirm(u)
			delete(tg.hook.retries, u)
		} else {
			tg.retryLater(u, failure, after)
			tg.noteGone(status)
		}
	}
	tg.wake()
	tg.mu.Unlock()
	if failure == "" {
		tg.runReply(ctx, response)
	}
}

// untilClosed returns a context that ends with the fake or after a real time.
func (tg *Telegram) untilClosed(limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	tg.running.Go(func() {
		_ = tg.wait(ctx, time.Time{}, func() bool { return false })
		cancel()
	})
	return ctx, cancel
}

// postUpdate makes the request. failure is "" for an answer of 2xx.
func (tg *Telegram) postUpdate(ctx context.Context, hook webhookState, u *queuedUpdate) (reply *tgQuery, failure string, status, after int) {
	address := hook.url
	if !strings.Contains(address, "://") {
		address = "https://" + address
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(u.JSON))
	if err != nil {
		return nil, err.Error(), 0, 0
	}
	request.Header.Set("Content-Type", "application/json")
	if hook.secret != "" {
		request.Header.Set("X-Telegram-Bot-Api-Secret-Token", hook.secret)
	}
	response, err := tg.opts.WebhookClient.Do(request)
	if err != nil {
		return nil, "Can't connect to the webhook", 0, 0
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxTelegramBody))
	switch {
	case response.StatusCode < 200 || response.StatusCode > 299:
		return nil, "Wrong response from the webhook: " + response.Status, response.StatusCode, retryAfter(response.Header)
	case err != nil:
		return nil, "Webhook connection closed", 0, 0
	}
	return readReply(response.Header.Get("Content-Type"), body), "", response.StatusCode, 0
}

// readReply reads a call from the answer to a webhook request (Bot API, "Making
// requests when getting updates").
func readReply(contentType string, body []byte) *tgQuery {
	q := &tgQuery{params: make(map[string]string), files: make(map[string]TelegramFile)}
	kind, _, _ := mime.ParseMediaType(contentType)
	if q.addBody(kind, body) != nil {
		return nil
	}
	q.method = q.params["method"]
	return q
}

// runReply executes the call in a webhook's answer; what would return something
// or change the webhook is ignored (WebhookActor.cpp). It is called without the
// lock.
func (tg *Telegram) runReply(ctx context.Context, q *tgQuery) {
	if q == nil || q.method == "" {
		return
	}
	name := strings.ToLower(q.method)
	ignored := []string{"deletewebhook", "setwebhook", "close", "logout"}
	if slices.Contains(ignored, name) || strings.HasPrefix(name, "get") {
		return
	}
	call := tg.record(q, "webhook")
	_, err := tg.run(ctx, q)
	tg.finish(call, err, "")
}

// retryLater schedules a failed update: at once after the first failure, then
// after 2, 4, 8 … seconds up to one or two minutes, or as Retry-After says. It
// is dropped when that is after its end (WebhookActor.cpp, on_update_error).
func (tg *Telegram) retryLater(u *queuedUpdate, failure string, after int) {
	now := tg.now()
	tg.hook.lastError, tg.hook.lastErrorAt = failure, now
	retry := tg.hook.retries[u]
	if retry == nil {
		retry = &retryState{delay: 1}
		tg.hook.retries[u] = retry
	}
	wait := after
	if after == 0 && retry.fails > 0 {
		longest := maxResendSeconds + rand.IntN(maxResendSeconds+1)
		retry.delay = min(longest, retry.delay*2)
		wait = retry.delay
	}
	retry.fails++
	u.Failed++
	retry.at = now.Add(time.Duration(wait) * time.Second)
	if retry.at.After(u.Expires) {
		u.Lost = true
		tg.queue.expire(now)
	}
}

// noteGone closes a webhook that answered only 410 for 23 hours.
func (tg *Telegram) noteGone(status int) {
	now := tg.now()
	switch {
	case status != http.StatusGone:
		tg.hook.gone = time.Time{}
	case tg.hook.gone.IsZero():
		tg.hook.gone = now
	case now.After(tg.hook.gone.Add(goneLimit)):
		tg.hook = webhookState{generation: tg.hook.generation + 1}
	}
}
