package approval

// ErrHandled is what a store answers to a change that a platform update caused which was
// handled before: the person has been told already.
var ErrHandled = Refuse(CodeAlreadyResolved, "This message or tap was already handled.")

// InboundRef names a stored platform update.
type InboundRef struct {
	Source string // channel and bot, e.g. "telegram:123456"
	ID     int64  // the platform's update id
	// Unstored is the update itself while it is not known to be stored: what
	// handles it stores it too, in the same transaction.
	Unstored *Inbound
}

// Inbound is a platform update, stored before it is confirmed to the platform:
// either as it comes in, or with the change that handles it.
type Inbound struct {
	InboundRef
	Body       []byte // as the platform sent it
	ReceivedMs int64
	Waited     bool // it waited on the platform while the desk was down
}
