package core

// Heard says what a try at a delivery has heard of the platform.
type Heard int

// What a try has heard.
const (
	Nothing    Heard = iota // nothing was tried
	Answered                // it did as it was asked, or said what to do instead: wait, or never ask again
	Unanswered              // no answer, or none but that it is in trouble
)

// Silence is since when a chat has left every try at its messages [Unanswered]. A
// chat that is only limited answers, so it is not silent.
type Silence struct {
	SinceMs int64 // of the first of those tries
	TriedMs int64 // of the last
}

// Delivered is what became of one try at a delivery.
type Delivered struct {
	ID        string   // the delivery's
	Key       string   // the approval's
	Was       Delivery // as it was when the try began; empty: not told
	Revision  int64    // that was drawn; if the row's is newer by now, the delivery stays due at once
	State     DeliveryState
	MessageID string // the platform's; empty keeps what is known
	Attached  bool   // as it now stands in the chat, likewise the next two
	DenyOnly  bool
	Shown     bool
	Heard     Heard
	Error     string // safe to show
	Attempts  int
	DueMs     int64   // next try; 0: nothing to do
	MovedTo   *Target // the platform says the chat lives elsewhere now
	// Calm reports whether the record may wait a moment for others to go along with;
	// nil: no. It is asked more than once.
	Calm func() bool
}
