package core

// SendOutcome says whether a platform answered a try at a delivery.
type SendOutcome int

// The outcomes of a try.
const (
	NotSent  SendOutcome = iota // nothing was tried
	Answered                    // it did as it was asked, or said what to do instead: wait, or never ask again
	NoAnswer                    // no answer, or none but that it is in trouble
)

// Unreachable says since when a chat has left every try at its messages [NoAnswer]. A
// chat that is only limited answers, so it is not unreachable.
type Unreachable struct {
	SinceMs int64 // of the first of those tries
	TriedMs int64 // of the last
}

// Delivered is what became of one try at a delivery.
type Delivered struct {
	ID        string   // the delivery's
	Key       string   // the approval's
	Was       Delivery // as it was when the try began; empty: not known
	Revision  int64    // that was drawn; if the row's is newer by now, the delivery stays due at once
	State     DeliveryState
	MessageID string // the platform's; empty keeps what is known
	Attached  bool   // as it now stands in the chat, likewise the next two
	DenyOnly  bool
	Shown     bool
	Outcome   SendOutcome
	Error     string // safe to show
	Attempts  int
	DueMs     int64   // next try; 0: nothing to do
	MovedTo   *Target // the platform says the chat lives elsewhere now
	// Deferrable reports whether the record may wait a moment for others to go along with;
	// nil: no. It is asked more than once.
	Deferrable func() bool
}
