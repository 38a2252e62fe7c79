package bottest

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// FaultWhen says on which side of a call's effect a fault strikes.
type FaultWhen int

const (
	// Before: the call has no effect.
	Before FaultWhen = iota
	// After: the call has its effect, but the bot does not get the answer. A
	// message that was sent this way exists.
	After
)

// FaultKind is what the bot sees instead of the answer.
type FaultKind int

const (
	// Status500 is an error answer with code 500: "restart" before the effect,
	// "sent message was immediately deleted and can't be returned" after it
	// (telegram-bot-api Client.cpp).
	Status500 FaultKind = iota
	// HTML502 is the HTML page of a front end with status 502.
	HTML502
	// Truncated is status 200 with the first half of a JSON answer.
	Truncated
	// Hang gives no answer until the bot goes away, the fake is closed, or
	// [FaultHandle.Release] lets the call go on as if nothing had been.
	Hang
	// Reset resets the connection (TCP RST).
	Reset
	// SlowBody sends the true answer in small pieces over Delay.
	SlowBody
	// TooManyRequests is 429 with RetryAfter in header and body (Bot API,
	// ResponseParameters).
	TooManyRequests
	// Conflict is the 409 of a second poller.
	Conflict
	// Custom is an error answer with Code and Description.
	Custom
)

// TelegramFault is a scripted fault. It counts the calls that match Method and
// Chat from the moment it is set.
type TelegramFault struct {
	// Method in any case; empty matches every method.
	Method string
	// Chat limits the fault to calls with this numeric chat_id; 0 matches all.
	Chat int64
	// Nth is the first matching call that is hit, counted from 1. Default 1.
	Nth int
	// Times is how many calls are hit in a row; negative: all. Default 1.
	Times int
	// When is [Before] or [After] the effect; [SlowBody] is always after it.
	When FaultWhen
	// Kind is what happens.
	Kind FaultKind
	// RetryAfter is the number of seconds of [TooManyRequests]. Default 1.
	RetryAfter int
	// Delay is the duration of [SlowBody], in the fake's time. Default 1 s.
	Delay time.Duration
	// Code and Description are the error of [Custom].
	Code        int
	Description string
}

// FaultHandle belongs to one scripted fault.
type FaultHandle struct {
	tg       *Telegram
	fault    TelegramFault
	seen     int
	hits     int
	released bool
	removed  bool
}

// Fault scripts a fault. Of several that match a call the oldest strikes.
func (tg *Telegram) Fault(f TelegramFault) *FaultHandle {
	tg.mu.Lock()
	defer tg.mu.Unlock()
	f.Nth, f.Times = cmp.Or(f.Nth, 1), cmp.Or(f.Times, 1)
	f.RetryAfter, f.Delay = cmp.Or(f.RetryAfter, 1), cmp.Or(f.Delay, time.Second)
	if f.Kind == SlowBody {
		f.When = After
	}
	handle := &FaultHandle{tg: tg, fault: f}
	tg.faults = append(tg.faults, handle)
	return handle
}

// Hits is the number of calls that were hit so far; a call that hangs counts
// from the moment it hangs.
func (h *FaultHandle) Hits() int {
	h.tg.mu.Lock()
	defer h.tg.mu.Unlock()
	return h.hits
}

// Release lets the calls that hang go on, and those that would hang later.
func (h *FaultHandle) Release() {
	h.tg.mu.Lock()
	defer h.tg.mu.Unlock()
	h.released = true
	h.tg.wake()
}

// Remove ends the fault and releases what hangs.
func (h *FaultHandle) Remove() {
	h.Release()
	h.tg.mu.Lock()
	defer h.tg.mu.Unlock()
	h.removed = true
}

func (h *FaultHandle) is(when FaultWhen) bool { return h != nil && h.fault.When == when }

// takeFault counts the call in all faults and returns the one that hits it.
// It takes the lock.
func (tg *Telegram) takeFault(q *tgQuery) *FaultHandle {
	tg.mu.Lock()
	defer tg.mu.Unlock()
	var hit *FaultHandle
	for _, h := range tg.faults {
		if h.counts(q) && hit == nil {
			hit = h
		}
	}
	return hit
}

// counts counts a matching call and reports whether it is one to hit.
func (h *FaultHandle) counts(q *tgQuery) bool {
	f := h.fault
	if h.removed || f.Method != "" && !strings.EqualFold(f.Method, q.method) || f.Chat != 0 && f.Chat != q.chatID() {
		return false
	}
	h.seen++
	return h.seen >= f.Nth && (f.Times < 0 || h.seen < f.Nth+f.Times)
}

// reply is the true answer of a call.
type reply struct {
	code int
	body []byte
}

// strike lets a fault happen; it is called without the lock. real is the answer
// of a call that had its effect, else nil. It reports whether the call is over.
func (tg *Telegram) strike(w http.ResponseWriter, r *http.Request, h *FaultHandle, call *TelegramCall, real *reply) bool {
	tg.mu.Lock()
	h.hits++
	tg.note("fault %s hits %s", h.fault.Kind, call.Method)
	tg.wake()
	tg.mu.Unlock()
	switch h.fault.Kind {
	case Hang:
		if tg.wait(r.Context(), time.Time{}, func() bool { return h.released }) == nil {
			return false
		}
		tg.finishRaw(call, 0, "", h.name())
		panic(http.ErrAbortHandler)
	case Reset:
		tg.finishRaw(call, 0, "", h.name())
		resetConnection(w)
	case SlowBody:
		tg.writeSlowly(w, r, real, h.fault.Delay)
		tg.finishRaw(call, real.code, "", h.name())
	default:
		code, contentType, body := h.fault.answer(real)
		if h.fault.Kind == TooManyRequests {
			w.Header().Set("Retry-After", strconv.Itoa(h.fault.RetryAfter))
		}
		tg.finishRaw(call, code, "", h.name())
		writeRaw(w, code, contentType, body)
	}
	return true
}

func (h *FaultHandle) name() string {
	if h == nil {
		return ""
	}
	return h.fault.Kind.String()
}

// answer is what a fault puts on the wire.
func (f TelegramFault) answer(real *reply) (code int, contentType string, body []byte) {
	const page = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n" +
		"<center><h1>502 Bad Gateway</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
	failure := &apiError{code: f.Code, description: f.Description}
	switch f.Kind {
	case HTML502:
		return http.StatusBadGateway, "text/html", []byte(page)
	case Truncated:
		whole := answerBody(true, nil)
		if real != nil {
			whole = real.body
		}
		return http.StatusOK, "application/json", whole[:len(whole)/2]
	case TooManyRequests:
		failure = tooManyRequests(f.RetryAfter)
	case Conflict:
		failure = &apiError{code: http.StatusConflict, description: otherPoller}
	case Status500:
		failure = &apiError{code: http.StatusInternalServerError, description: "Internal Server Error: restart"}
		if f.When == After {
			failure.description = "Internal Server Error: sent message was immediately deleted and can't be returned"
		}
	}
	return failure.code, "application/json", answerBody(nil, failure)
}

// writeSlowly sends a body in eight pieces over d of the fake's time.
func (tg *Telegram) writeSlowly(w http.ResponseWriter, r *http.Request, real *reply, d time.Duration) {
	const pieces = 8
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(real.body)))
	w.WriteHeader(real.code)
	flusher, at := http.NewResponseController(w), tg.Now()
	for piece := range slices.Chunk(real.body, (len(real.body)+pieces-1)/pieces) {
		w.Write(piece)
		flusher.Flush()
		at = at.Add(d / pieces)
		tg.sleepUntil(r.Context(), at)
	}
}

// resetConnection closes the connection so that the peer sees a reset.
func resetConnection(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	conn.Close()
}

// String names the kind as its constant.
func (k FaultKind) String() string {
	names := []string{"Status500", "HTML502", "Truncated", "Hang", "Reset", "SlowBody", "TooManyRequests", "Conflict", "Custom"}
	if int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("FaultKind(%d)", int(k))
}
