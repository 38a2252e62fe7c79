package discord

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"approvalbot/bot/discord/rest"
)

// pace records the limits that Discord has announced: which routes must pause,
// and until when (Topics, Rate Limits). A route is a method on a channel; empty
// means all of them.
type pace struct {
	mu    sync.Mutex
	until map[string]time.Time
}

// left gives how long a route must rest, at most zero if it need not.
func (p *pace) left(route string) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	rest := time.Duration(0)
	for _, key := range [...]string{route, ""} {
		left := time.Until(p.until[key])
		if left <= 0 {
			delete(p.until, key)
		}
		rest = max(rest, left)
	}
	return rest
}

func (p *pace) wait(route string, d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.until == nil {
		p.until = map[string]time.Time{}
	}
	if then := time.Now().Add(d); then.After(p.until[route]) {
		p.until[route] = then
	}
}

// learn records the limits that an answer announces.
func (p *pace) learn(route string, h http.Header, err error) {
	var e *rest.Error
	if errors.As(err, &e) && e.Status == http.StatusTooManyRequests && e.Code != rest.TooManyOldEdits {
		if e.Global {
			route = ""
		}
		p.wait(route, e.RetryAfter)
		return
	}
	if h.Get("X-RateLimit-Remaining") == "0" {
		seconds, _ := strconv.ParseFloat(h.Get("X-RateLimit-Reset-After"), 64)
		if seconds > 0 && seconds < rest.MaxRetryAfter.Seconds() {
			p.wait(route, time.Duration(seconds*float64(time.Second)))
		}
	}
}

// paced makes a call unless its route must pause now.
func (b *Bot) paced(ctx context.Context, method, channel, path string, body, result any) error {
	route := method + " " + channel
	if left := b.pace.left(route); left > 0 {
		return &rest.Error{Status: http.StatusTooManyRequests, Message: "not asked: a rate limit is not over",
			RetryAfter: max(left, time.Millisecond)}
	}
	h, err := b.rest.Send(ctx, method, path, body, result)
	b.pace.learn(route, h, err)
	return err
}
