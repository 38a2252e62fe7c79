package fakechat

import (
	"fmt"
	"hash/fnv"
	"math"
	"net/http"
	"strconv"
	"time"
)

// DiscordLimits are rate limits (Discord, "Rate Limits"). The platform promises no numbers
// per route; a bot must obey only the headers. 0 always means no limit.
type DiscordLimits struct {
	// Global is the number of requests per second, without those that answer
	// interactions. Discord: 50.
	Global int
	// Bucket is the number of requests per Window, route and channel, guild or
	// webhook. Window is 5 s by default.
	Bucket int
	Window time.Duration
	// OldEdits is how many edits of messages that are older than one hour one
	// channel takes in an hour, then comes 429 with code 30046. Undocumented.
	OldEdits int
	// InvalidRequests is how many answers 401, 403 and 429 (without shared ones)
	// in ten minutes lead to a ban by Cloudflare. Discord: 10000.
	InvalidRequests int
	// OpenDMs is how many new direct messages can be opened in ten minutes, then
	// comes 40003. Undocumented.
	OpenDMs int
	// CommandCreates is how many commands can be created per guild and day, then
	// comes 30034. Discord: 200.
	CommandCreates int
	// Identifies is how many IDENTIFY fit into five seconds, then comes
	// INVALID_SESSION (Discord, "Gateway": max_concurrency). Discord: 1.
	Identifies int
}

const (
	invalidWindow = 10 * time.Minute
	oldEditWindow = time.Hour
	commandWindow = 24 * time.Hour
)

// dcLimiter counts requests in sliding windows.
type dcLimiter struct {
	DiscordLimits
	on       bool
	global   window
	buckets  map[string]*window
	invalid  window
	dms      window
	creates  map[string]*window
	identify window
}

func (l *dcLimiter) set(limits *DiscordLimits) {
	*l = dcLimiter{buckets: make(map[string]*window), creates: make(map[string]*window), invalid: l.invalid}
	if limits != nil {
		l.DiscordLimits, l.on = *limits, true
	}
	if l.Window == 0 {
		l.Window = 5 * time.Second
	}
}

// SetLimits switches the rate limiter on, or off with nil, and forgets what was
// counted, but not the invalid requests.
func (dc *Discord) SetLimits(limits *DiscordLimits) {
	dc.mu.Lock()
	defer dc.mu.Unlock()
	dc.limits.set(limits)
}

// InvalidRequests is the number of answers 401, 403 and 429, without those of
// shared scope, in the last ten minutes.
func (dc *Discord) InvalidRequests() int {
	dc.mu.Lock()
	defer dc.mu.Unlock()
	dc.limits.invalid.wait(dc.now(), 0, invalidWindow)
	return len(dc.limits.invalid)
}

func rateLimited(seconds float64, scope string) *dcError {
	message := "You are being rate limited."
	if scope == "shared" {
		message = "The resource is being rate limited."
	}
	return &dcError{status: http.StatusTooManyRequests, message: message, retryAfter: seconds, scope: scope}
}

// bucket names the route, and key the route with its major parameter.
func (q *dcQuery) bucket() (name, key string) {
	sum := fnv.New64a()
	sum.Write([]byte(q.call.Method + q.call.Route))
	name = fmt.Sprintf("%016x", sum.Sum64())
	key = name
	for _, parameter := range []string{"channel", "guild", "application", "token"} {
		key += " " + q.path(parameter)
	}
	return name, key
}

func (l *dcLimiter) window(key string) *window {
	if l.buckets[key] == nil {
		l.buckets[key] = &window{}
	}
	return l.buckets[key]
}

// take counts a request or refuses it with 429.
func (l *dcLimiter) take(now time.Time, q *dcQuery) *dcError {
	if !l.on {
		return nil
	}
	if !q.interactive() {
		if wait := l.global.wait(now, l.Global, time.Second); wait > 0 {
			return rateLimited(wait.Seconds(), "global")
		}
	}
	_, key := q.bucket()
	bucket := l.window(key)
	if wait := bucket.wait(now, l.Bucket, l.Window); wait > 0 {
		return rateLimited(wait.Seconds(), "user")
	}
	*bucket = append(*bucket, now)
	if !q.interactive() {
		l.global = append(l.global, now)
	}
	return nil
}

// takeOldEdit refuses with 30046, which comes with status 429.
func (l *dcLimiter) takeOldEdit(now time.Time, c *DiscordChannel) *dcError {
	if wait := c.edits.wait(now, l.OldEdits, oldEditWindow); wait > 0 {
		err := rateLimited(wait.Seconds(), "shared")
		err.code, err.message = 30046, "Maximum number of edits to messages older than 1 hour reached. Try again later"
		return err
	}
	c.edits = append(c.edits, now)
	return nil
}

func (l *dcLimiter) takeDM(now time.Time) *dcError {
	if l.dms.wait(now, l.OpenDMs, invalidWindow) > 0 {
		return failure(http.StatusBadRequest, 40003, "You are opening direct messages too fast")
	}
	l.dms = append(l.dms, now)
	return nil
}

func (l *dcLimiter) takeCommands(now time.Time, scope string, n int) *dcError {
	if l.creates[scope] == nil {
		l.creates[scope] = &window{}
	}
	w := l.creates[scope]
	w.wait(now, 0, commandWindow)
	if l.CommandCreates > 0 && len(*w)+n > l.CommandCreates {
		return failure(http.StatusBadRequest, 30034, "Max number of daily application command creates has been reached (200)")
	}
	for range n {
		*w = append(*w, now)
	}
	return nil
}

func (l *dcLimiter) countInvalid(now time.Time, status int, err *dcError) {
	switch {
	case status == http.StatusTooManyRequests && err != nil && err.scope == "shared":
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusTooManyRequests:
		l.invalid = append(l.invalid, now)
	}
}

func (l *dcLimiter) banned(now time.Time) bool {
	return l.invalid.wait(now, l.InvalidRequests, invalidWindow) > 0
}

// headers writes the X-RateLimit headers. Without limits every bucket looks
// almost full.
func (dc *Discord) headers(h http.Header, q *dcQuery, err *dcError) {
	dc.mu.Lock()
	defer dc.mu.Unlock()
	limited := err != nil && err.status == http.StatusTooManyRequests
	now, limit, used, reset := dc.now(), 5, 1, time.Second
	name, key := q.bucket()
	if l := &dc.limits; l.on && l.Bucket > 0 {
		bucket := l.window(key)
		bucket.wait(now, 0, l.Window)
		limit, used, reset = l.Bucket, len(*bucket), l.Window
		if used > 0 {
			reset = (*bucket)[0].Add(l.Window).Sub(now)
		}
	}
	if limited {
		used, reset = limit, time.Duration(err.retryAfter*float64(time.Second))
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(err.retryAfter))))
		h.Set("X-RateLimit-Scope", err.scope)
	}
	if limited && err.scope == "global" {
		h.Set("X-RateLimit-Global", "true")
		return
	}
	h.Set("X-RateLimit-Limit", strconv.Itoa(limit))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(max(0, limit-used)))
	h.Set("X-RateLimit-Reset", seconds(float64(now.Add(reset).UnixMilli())/1000))
	h.Set("X-RateLimit-Reset-After", seconds(reset.Seconds()))
	h.Set("X-RateLimit-Bucket", name)
}

func seconds(s float64) string { return strconv.FormatFloat(s, 'f', 3, 64) }
