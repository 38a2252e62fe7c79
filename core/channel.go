package core

import (
	"context"
	"errors"
	"time"

	"approvalbot/internal/approval"
	"approvalbot/internal/card"
)

// Channel is one chat platform, as the dispatcher sees it. Targets are of that channel and
// normal. Every method gives a *DeliveryError if the platform said what to do, and an error
// that is ErrPlatform if it answered that it is in trouble itself; any other error means
// that no answer came. After the last two, the dispatcher assumes that the trouble passes
// and tries again later. A method always comes back within half a minute.
type Channel interface {
	// Post sends a card or a text. A post that failed may have arrived all the
	// same: platforms without idempotency keys cannot tell.
	Post(ctx context.Context, to approval.Target, p Posting) (Posted, error)
	// Edit draws an existing card anew. If the card is the same already, that is no error.
	Edit(ctx context.Context, to approval.Target, messageID string, card card.Card) error
	// Attach sends the file that holds a payload too long for its card.
	Attach(ctx context.Context, to approval.Target, f card.File) error
	// AttachParts sends messages that hold all of that file instead. If the chat does not
	// take them, or the file is too long for it, the error says NoFiles.
	AttachParts(ctx context.Context, to approval.Target, f card.File) error
}

// ErrPlatform is what an error of a Channel is (errors.Is) when the platform answered
// that it is in trouble itself (HTTP 5xx): it may be with this message alone.
var ErrPlatform = errors.New("the platform reports an internal error")

// Posting is one message to a chat: a card, or a text.
type Posting struct {
	Card    *card.Card
	Text    string
	Times   card.Times       // in Text
	ReplyTo string           // message id to answer, or empty; a deleted one is no error
	ForUser string           // platform user id who is asked for a reply, or empty
	Mention []card.Mentioned // who is notified by a text, and no one else
	Silent  bool             // no device makes a sound
	SinceMs int64            // when it was first to be sent
	// Below a text alone. All of it is the desk's own words.
	Link    string // an address to open
	App     string // an https address that opens inside of the platform, if it has such pages
	Session string // id of a session that a button ends
	Nonce   string // idempotency key: the same for every try of the message, at most 25 characters
}

// Posted is a message that is in a chat.
type Posted struct {
	MessageID string // the platform's
	DenyOnly  bool   // the card did not fit as drawn, so it shows less and offers no allow
	Earlier   bool   // it is the card that an earlier try left, with its buttons, and not what was to be shown
}

// DeliveryError is a platform's refusal in the dispatcher's words. The message
// is safe to show and holds no secret.
type DeliveryError struct {
	Message     string
	RetryAfter  time.Duration    // above 0: the platform asks this chat to wait so long
	Gone        bool             // this chat cannot be posted to; no further tries
	Refused     bool             // the chat is there, but takes no message that says this
	MessageGone bool             // Edit: the message is no longer there, so no work is left
	NoFiles     bool             // Attach, AttachParts: the call cannot be put into this chat so
	Moved       *approval.Target // the chat lives elsewhere now (Telegram's supergroup migration)
}

func (e *DeliveryError) Error() string { return e.Message }

// ChannelState is what /readyz says of a chat.
type ChannelState struct {
	Up     bool   `json:"up"`
	Detail string `json:"detail,omitempty"` // what is wrong and the way out, without secrets
}
