package fakechat

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// DiscordFault is a scripted fault of the REST API. It counts the calls that
// match Method, Route, Channel and Uploads from the moment it is set.
type DiscordFault struct {
	// Method is the HTTP method; empty matches every one.
	Method string
	// Route such as [RouteMessages]; empty matches every one.
	Route string
	// Channel limits the fault to calls with this channel in the path.
	Channel string
	// Uploads limits the fault to calls that bring files.
	Uploads bool
	// Nth is the first matching call that is hit, counted from 1. Default 1.
	Nth int
	// Times is how many calls are hit in a row; negative: all. Default 1.
	Times int
	// When is [Before] or [After] the effect; [SlowBody] is always after it.
	When FaultWhen
	// Kind is what happens; there is no [Conflict].
	Kind FaultKind
	// RetryAfter is the number of seconds of [TooManyRequests]. Default 1.
	RetryAfter float64
	// Scope of [TooManyRequests]: "user" (the default), "shared" or "global".
	Scope string
	// Delay is the duration of [SlowBody], in the fake's time. Default 1 s.
	Delay time.Duration
	// Status, Code and Message are the error of [Custom]. Default status 400.
	// [TooManyRequests] takes Code and Message too, as for 30046.
	Status, Code int
	Message      string
}

// dcFault is a scripted fault and what became of it.
type dcFault struct {
	*FaultHandle
	fault DiscordFault
}

// Fault scripts a fault. Of several that match a call the oldest strikes.
func (dc *Discord) Fault(f DiscordFault) *FaultHandle {
	dc.mu.Lock()
	defer dc.mu.Unlock()
	f.Nth, f.Times, f.RetryAfter = cmp.Or(f.Nth, 1), cmp.Or(f.Times, 1), cmp.Or(f.RetryAfter, 1)
	f.Delay, f.Scope, f.Status = cmp.Or(f.Delay, time.Second), cmp.Or(f.Scope, "user"), cmp.Or(f.Status, http.StatusBadRequest)
	if f.Kind == SlowBody {
		f.When = After
	}
	handle := &FaultHandle{stage: &dc.stage, nth: f.Nth, times: f.Times}
	dc.faults = append(dc.faults, &dcFault{handle, f})
	return handle
}

func (h *dcFault) is(when FaultWhen) bool { return h != nil && h.fault.When == when }

func (h *dcFault) name() string {
	if h == nil {
		return ""
	}
	return h.fault.Kind.String()
}

// takeFault counts the call in all faults and returns the one that hits it.
// It takes the lock.
func (dc *Discord) takeFault(q *dcQuery) *dcFault {
	dc.mu.Lock()
	defer dc.mu.Unlock()
	var hit *dcFault
	for _, h := range dc.faults {
		if !h.fault.matches(q) {
			continue
		}
		if h.count() && hit == nil {
			hit = h
		}
	}
	return hit
}

// matches reports whether the fault is for such a call.
func (f DiscordFault) matches(q *dcQuery) bool {
	if f.Method != "" && !strings.EqualFold(f.Method, q.call.Method) {
		return false
	}
	if f.Route != "" && f.Route != q.call.Route || f.Channel != "" && f.Channel != q.path("channel") {
		return false
	}
	return !f.Uploads || len(q.call.Files) > 0
}

// strike lets a fault happen; it is called without the lock. real is the answer
// of a call that had its effect, else nil. It reports whether the call is over.
func (q *dcQuery) strike(w http.ResponseWriter, h *dcFault, real *reply) bool {
	q.dc.mu.Lock()
	h.hits++
	q.dc.note("fault %s hits %s %s", h.fault.Kind, q.call.Method, q.call.Path)
	q.dc.wake()
	q.dc.mu.Unlock()
	switch h.fault.Kind {
	case Hang:
		if q.dc.wait(q.r.Context(), time.Time{}, func() bool { return h.released }) == nil {
			return false
		}
		q.finish(0, nil, h.name())
		panic(http.ErrAbortHandler)
	case Reset:
		q.finish(0, nil, h.name())
		resetConnection(w)
	case SlowBody:
		q.writeSlowly(w, real, h.fault.Delay)
		q.finish(real.code, nil, h.name())
	case Truncated:
		whole := []byte(`{"id":"0","content":""}`)
		if real != nil && len(real.body) > 0 {
			whole = real.body
		}
		q.finish(http.StatusOK, nil, h.name())
		writeRaw(w, http.StatusOK, "application/json", whole[:len(whole)/2])
	default:
		err := h.fault.err()
		q.finish(err.status, err, h.name())
		q.answer(w, nil, err)
	}
	return true
}

// err is the error answer of a fault.
func (f DiscordFault) err() *dcError {
	switch f.Kind {
	case HTML502:
		return &dcError{status: http.StatusBadGateway, page: true}
	case HTML429:
		return &dcError{status: http.StatusTooManyRequests, page: true}
	case TooManyRequests:
		err := rateLimited(f.RetryAfter, f.Scope)
		err.code, err.message = f.Code, cmp.Or(f.Message, err.message)
		return err
	case Status500:
		return failure(http.StatusInternalServerError, 0, "500: Internal Server Error")
	}
	return failure(f.Status, f.Code, f.Message)
}

// writeSlowly sends a body in eight pieces over d of the fake's time.
func (q *dcQuery) writeSlowly(w http.ResponseWriter, real *reply, d time.Duration) {
	const pieces = 8
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(real.body)))
	w.WriteHeader(real.code)
	flusher, at := http.NewResponseController(w), q.dc.Now()
	for piece := range slices.Chunk(real.body, max(1, (len(real.body)+pieces-1)/pieces)) {
		w.Write(piece)
		flusher.Flush()
		at = at.Add(d / pieces)
		q.dc.sleepUntil(q.r.Context(), at)
	}
}
