package approval

import "slices"

// SendOutcome says whether a platform answered a try at a delivery.
type SendOutcome int

// The outcomes of a try.
const (
	NotSent  SendOutcome = iota // no message was sent to the platform
	Answered                    // it did as it was asked, or said what to do instead: wait, or never ask again
	NoAnswer                    // no answer, or only that the platform is in trouble
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
	Attached  bool   // as the message is in the chat now, likewise the next two
	DenyOnly  bool
	Shown     bool
	Outcome   SendOutcome
	Error     string // safe to show
	Attempts  int
	DueMs     int64   // next try; 0: no work is due
	MovedTo   *Target // the platform says the chat lives elsewhere now
	// Deferrable reports whether the record may wait a moment for others to go along with;
	// nil: no. It is asked more than once.
	Deferrable func() bool
}

// DeliveryKind says what a delivery puts into a chat.
type DeliveryKind string

// The kinds. Only cards and digests have buttons and are edited later.
const (
	CardDelivery       DeliveryKind = "card"
	DigestDelivery     DeliveryKind = "digest"      // a list in place of many cards, see digest.go
	OutcomeDelivery    DeliveryKind = "outcome"     // how it ended, if no card shows it
	RevokedDelivery    DeliveryKind = "revoked"     // it was taken back after its outcome was told
	ResultDelivery     DeliveryKind = "result"      // how the execution went, if no card shows it
	UnreachedDelivery  DeliveryKind = "unreached"   // no approver could be asked
	CallbackDelivery   DeliveryKind = "callback"    // the approval as JSON, POSTed to its owner
	PushDelivery       DeliveryKind = "push"        // tells a browser that it waits
	RetryDelivery      DeliveryKind = "retry"       // it may be claimed again
	RetryAskedDelivery DeliveryKind = "retry-asked" // a person wants it to run again, below a card
	ReasonDelivery     DeliveryKind = "reason"      // asks one person for the reason of a deny
	DrillDelivery      DeliveryKind = "drill"       // a scheduled drill did not reach every chat
	ReminderDelivery   DeliveryKind = "reminder"    // reminds the people that it mentions, below a card
)

// DeliveryState is how far a delivery is.
type DeliveryState string

// The delivery states. A settled card shows the outcome. A settled digest says that none of
// its approvals is pending any more. A card that is folded or listed has no message of its
// own: its place's digest says that the approval is pending.
const (
	Queued  DeliveryState = "queued"
	Sent    DeliveryState = "sent"
	Failed  DeliveryState = "failed"
	Settled DeliveryState = "settled"
	Folded  DeliveryState = "folded" // the digest is yet to say so
	Listed  DeliveryState = "listed" // the digest is in the chat and says so
)

// Delivery is one message of an approval at one place.
type Delivery struct {
	ID        string // UUID
	Key       string // the approval's
	Kind      DeliveryKind
	Target    Target
	State     DeliveryState
	MessageID string   // the platform's, empty until known
	ReplyTo   string   // message to answer, or empty
	ForUser   string   // ReasonDelivery: whom it asks; of what a sum-up holds, and of itself: whose it is
	Digest    string   // of a card that is or was folded: key of the approval that its digest is a delivery of
	Mention   []string // ReminderDelivery: user ids of that platform
	Silent    bool     // a new message makes no sound
	Attached  bool     // the payload's file is in that chat
	Shown     bool     // everything that would run is in that chat: votes from there may allow
	DenyOnly  bool     // the chat does not take all of the call: its card may only deny
	Fallback  bool
	Error     string // why the last try failed, safe to show
	Attempts  int
	DueMs     int64 // when it wants work; 0: no work is due
	Revision  int64 // raised by every redraw
	Rank      int   // more urgent first: the risk class
	CreatedMs int64
	SentMs    int64 // when it first stood in the chat; 0: not yet
	Version   int64 // of the approval, when it was read together with it; 0: not known
}

// ShownIn reports whether a card is in the chat (any thread of it) and everything that would
// run was delivered there. For a round, it reports whether the round's message did so, because
// an ended card no longer shows it.
func (a Approval) ShownIn(chat Target) bool {
	for _, d := range a.Deliveries {
		shows := d.Kind == CardDelivery
		if a.Retrying {
			shows = a.TellsOfRound(d)
		}
		if shows && d.Shown && d.Target.Chat() == chat.Normal().Chat() {
			return true
		}
	}
	return false
}

// UnseenIn is the refusal of an allow from a chat if ShownIn is false, with the way out
// that the voter has: a card that is there already shows all that it ever will.
func (a Approval) UnseenIn(chat Target) *Error {
	if a.Retrying {
		return Refuse(CodeUnseenPayload, "Not everything that would run again has been shown in this chat. "+
			"Vote on the request's page, or with: approvalbot retry %s", a.Code)
	}
	for _, d := range a.Deliveries {
		here := d.Kind == CardDelivery && d.Target.Chat() == chat.Normal().Chat()
		if here && (d.DenyOnly || d.MessageID != "") {
			return Refuse(CodeUnseenPayload,
				"Not everything that would run has been shown in this chat, and it cannot be shown here: in this "+
					"chat %s can only be denied. Allow it in another chat with its card, by API or command "+
					"line.", a.Code)
		}
	}
	return Refuse(CodeUnseenPayload,
		"Not everything that would run has been shown in this chat. Send /show %s here first.", a.Code)
}

// HasCardAt reports whether a card was made for that very place.
func (a Approval) HasCardAt(t Target) bool {
	return slices.ContainsFunc(a.Deliveries, func(d Delivery) bool {
		return d.Kind == CardDelivery && d.Target.Normal() == t.Normal()
	})
}

func (a Approval) Delivery(kind DeliveryKind, t Target, now int64) Delivery {
	return Delivery{
		Key: a.Key, Kind: kind, Target: t, State: Queued, DueMs: now, CreatedMs: now,
		Rank: int(a.Assessment.RiskClass),
	}
}

// CardStates says whether any card is in a chat, alone or in a digest (sent), and whether
// any is still to be sent (waiting). Cards for elsewhere do not count.
func (a Approval) CardStates(elsewhere []Target) (sent, waiting bool) {
	for _, d := range a.Deliveries {
		if d.Kind == CardDelivery && !slices.Contains(elsewhere, d.Target.Normal()) {
			sent = sent || slices.Contains([]DeliveryState{Sent, Settled, Listed}, d.State)
			waiting = waiting || slices.Contains([]DeliveryState{Queued, Folded}, d.State)
		}
	}
	return sent, waiting
}

// ReachedAfterAll is the approval after its cards were looked at: if one is in a chat, the
// approval has reached an approver, even if the desk had given that up before.
func (a Approval) ReachedAfterAll() Approval {
	if sent, _ := a.CardStates(nil); a.Reached || !sent {
		return a
	}
	a.Reached = true
	unreached := func(code string) bool { return code == ReasonUnreached }
	a.Assessment.ReasonCodes = slices.DeleteFunc(slices.Clone(a.Assessment.ReasonCodes), unreached)
	return a
}

// CardRefused reports whether a chat that exists refuses the card as it is. The author of a
// call could cause that, so it has no other effect than that people count as not asked.
func (a Approval) CardRefused() bool {
	return slices.ContainsFunc(a.Deliveries, func(d Delivery) bool {
		return d.Kind == CardDelivery && d.State == Failed && d.DenyOnly
	})
}
