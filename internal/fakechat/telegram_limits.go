package fakechat

import (
	"math"
	"time"
)

// TelegramLimits are the limits of the Bots FAQ ("My bot is hitting limits, how do I avoid
// this?"). Telegram promises no exact numbers; a bot must obey only retry_after.
type TelegramLimits struct {
	// PerSecond limits messages and edits over all chats. 0: no limit.
	PerSecond int
	// ChatBurst is how many messages to one chat may follow each other at once;
	// they come back at one per second. 0: no limit.
	ChatBurst int
	// GroupPerMinute limits messages and edits in one group. 0: no limit.
	GroupPerMinute int
}

// TelegramFAQLimits are 30 per second, 1 per second and chat with bursts of 3,
// and 20 per minute and group (Bots FAQ; the size of the burst is a guess).
func TelegramFAQLimits() *TelegramLimits {
	return &TelegramLimits{PerSecond: 30, ChatBurst: 3, GroupPerMinute: 20}
}

// maxRetryAfter is the value at which retry_after stops growing; a guess.
const maxRetryAfter = 300

// SetLimits switches the rate limiter on, or off with nil, and forgets what was
// counted.
func (tg *Telegram) SetLimits(limits *TelegramLimits) {
	tg.mu.Lock()
	defer tg.mu.Unlock()
	tg.limits.set(limits)
}

// callWeight says which limits a method counts against.
type callWeight int

const (
	weighsNothing callWeight = iota
	weighsEdit               // all bots and the group
	weighsMessage            // also the chat
)

// limiter counts calls in sliding windows.
type limiter struct {
	limits *TelegramLimits
	global window
	chats  map[int64]*chatWindows
}

type chatWindows struct {
	burst, group window
	until        time.Time // calls before it are refused
	refused      bool      // the last call was refused
}

// window holds the times of the calls that still count.
type window []time.Time

func (l *limiter) set(limits *TelegramLimits) {
	*l = limiter{limits: limits, chats: make(map[int64]*chatWindows)}
}

// take counts a call or refuses it with 429. A bot that does not wait as told
// is told to wait twice as long, up to maxRetryAfter.
func (l *limiter) take(now time.Time, weight callWeight, chat *TelegramChat) *apiError {
	if l.limits == nil || weight == weighsNothing || chat == nil {
		return nil
	}
	c := l.chats[chat.ID]
	if c == nil {
		c = &chatWindows{}
		l.chats[chat.ID] = c
	}
	need := max(c.until.Sub(now), l.need(now, weight, chat, c))
	if need > 0 {
		return c.refuse(now, need)
	}
	c.refused = false
	l.count(now, weight, chat, c)
	return nil
}

// need is how long the call must wait for its place in every window.
func (l *limiter) need(now time.Time, weight callWeight, chat *TelegramChat, c *chatWindows) time.Duration {
	need := l.global.wait(now, l.limits.PerSecond, time.Second)
	if weight == weighsMessage {
		need = max(need, c.burst.wait(now, l.limits.ChatBurst, time.Duration(l.limits.ChatBurst)*time.Second))
	}
	if chat.isGroup() {
		need = max(need, c.group.wait(now, l.limits.GroupPerMinute, time.Minute))
	}
	return need
}

func (l *limiter) count(now time.Time, weight callWeight, chat *TelegramChat, c *chatWindows) {
	l.global = append(l.global, now)
	if weight == weighsMessage {
		c.burst = append(c.burst, now)
	}
	if chat.isGroup() {
		c.group = append(c.group, now)
	}
}

func (c *chatWindows) refuse(now time.Time, need time.Duration) *apiError {
	seconds := int(math.Ceil(need.Seconds()))
	if c.refused {
		seconds *= 2
	}
	seconds = min(seconds, maxRetryAfter)
	c.refused = true
	c.until = now.Add(time.Duration(seconds) * time.Second)
	return tooManyRequests(seconds)
}

// wait forgets what left the window of length d and returns how long it takes
// until fewer than limit calls are in it.
func (w *window) wait(now time.Time, limit int, d time.Duration) time.Duration {
	for len(*w) > 0 && !now.Before((*w)[0].Add(d)) {
		*w = (*w)[1:]
	}
	if limit == 0 || len(*w) < limit {
		return 0
	}
	return (*w)[len(*w)-limit].Add(d).Sub(now)
}
