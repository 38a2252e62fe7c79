package fakechat

import (
	"fmt"
	"net"
	"net/http"
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
	// [FaultHandle.Release] lets the call go on as if it had not been held.
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
	// HTML429 is the page with status 429 of a proxy in front of the platform, which does
	// not know the platform's JSON (Discord, "Rate Limits": Cloudflare).
	HTML429
)

// FaultHandle belongs to one scripted fault.
type FaultHandle struct {
	stage      *stage
	nth, times int
	seen       int
	hits       int
	released   bool
	removed    bool
}

// Hits is the number of calls that were hit so far; a call that hangs counts
// from the moment it hangs.
func (h *FaultHandle) Hits() int {
	h.stage.mu.Lock()
	defer h.stage.mu.Unlock()
	return h.hits
}

// Release lets the calls that hang go on, and those that would hang later.
func (h *FaultHandle) Release() {
	h.stage.mu.Lock()
	defer h.stage.mu.Unlock()
	h.released = true
	h.stage.wake()
}

// Remove ends the fault and releases what hangs.
func (h *FaultHandle) Remove() {
	h.Release()
	h.stage.mu.Lock()
	defer h.stage.mu.Unlock()
	h.removed = true
}

// count counts a matching call and reports whether it is one to hit.
func (h *FaultHandle) count() bool {
	if h.removed {
		return false
	}
	h.seen++
	return h.seen >= h.nth && (h.times < 0 || h.seen < h.nth+h.times)
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
	names := []string{"Status500", "HTML502", "Truncated", "Hang", "Reset", "SlowBody", "TooManyRequests", "Conflict", "Custom", "HTML429"}
	if int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("FaultKind(%d)", int(k))
}

// htmlPage is the error page of a front end.
func htmlPage(status int, server string) []byte {
	title := fmt.Sprintf("%d %s", status, http.StatusText(status))
	return []byte("<html>\r\n<head><title>" + title + "</title></head>\r\n<body>\r\n" +
		"<center><h1>" + title + "</h1></center>\r\n<hr><center>" + server + "</center>\r\n</body>\r\n</html>\r\n")
}
