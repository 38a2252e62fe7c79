package fakechat

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
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

// tgFault is a scripted fault and what became of it.
type tgFault struct {
	*FaultHandle
	fault TelegramFault
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
	handle := &FaultHandle{stage: &tg.stage, nth: f.Nth, times: f.Times}
	tg.faults = append(tg.faults, &tgFault{handle, f})
	return handle
}

func (h *tgFault) is(when FaultWhen) bool { return h != nil && h.fault.When == when }

// takeFault counts the call in all faults and returns the one that hits it.
// It takes the lock.
func (tg *Telegram) takeFault(q *tgQuery) *tgFault {
	tg.mu.Lock()
	defer tg.mu.Unlock()
	var hit *tgFault
	for _, h := range tg.faults {
		if h.counts(q) && hit == nil {
			hit = h
		}
	}
	return hit
}

// counts counts a matching call and reports whether it is one to hit.
func (h *tgFault) counts(q *tgQuery) bool {
	f := h.fault
	if f.Method != "" && !strings.EqualFold(f.Method, q.method) || f.Chat != 0 && f.Chat != q.chatID() {
		return false
	}
	return h.count()
}

// reply is the true answer of a call.
type reply struct {
	code int
	body []byte
}

// strike lets a fault happen; it is called without the lock. real is the answer
// of a call that had its effect, else nil. It reports whether the call is over.
func (tg *Telegram) strike(w http.ResponseWriter, r *http.Request, h *tgFault, call *TelegramCall, real *reply) bool {
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

func (h *tgFault) name() string {
	if h == nil {
		return ""
	}
	return h.fault.Kind.String()
}

// answer is what a fault puts on the wire.
func (f TelegramFault) answer(real *reply) (code int, contentType string, body []byte) {
	failure := &apiError{code: f.Code, description: f.Description}
	switch f.Kind {
	case HTML502:
		return http.StatusBadGateway, "text/html", htmlPage(http.StatusBadGateway, "nginx")
	case HTML429:
		return http.StatusTooManyRequests, "text/html", htmlPage(http.StatusTooManyRequests, "nginx")
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
