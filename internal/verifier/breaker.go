package verifier

import (
	"sync"
	"time"
)

const (
	tripAfter = 5                // failures in a row that open the circuit
	openFor   = 30 * time.Second // until one call may try again
)

// verdict is what an exchange tells of the server.
type verdict int

const (
	unknown verdict = iota // no verdict
	healthy
	sick
)

// breaker keeps calls from a server that does not answer. After tripAfter sick
// verdicts in a row no call is made for openFor; then one is, as a probe, and
// its verdict closes the circuit or opens it again. The zero value is closed.
type breaker struct {
	mu      sync.Mutex
	sick    int       // verdicts in a row
	until   time.Time // open until then; zero means closed
	probing bool
	turn    int // counts state changes, so that verdicts on an older state are ignored
}

// enter reports whether a call may go out. If so, leave must be called with the
// ticket.
func (b *breaker) enter() (ticket int, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.until.IsZero() {
		return b.turn, true
	}
	if b.probing || time.Now().Before(b.until) {
		return 0, false
	}
	b.probing = true
	b.turn++
	return b.turn, true
}

// leave counts how a call that entered went.
func (b *breaker) leave(ticket int, v verdict) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if ticket != b.turn {
		return
	}
	wasProbe := b.probing
	b.probing = false
	switch v {
	case healthy:
		b.sick, b.until = 0, time.Time{}
	case sick:
		b.sick++
		if wasProbe || b.sick >= tripAfter {
			b.until = time.Now().Add(openFor)
			b.turn++
		}
	}
}
