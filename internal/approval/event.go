package approval

import (
	stdjson "encoding/json"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// EventData is what an event says beside the approval's own facts.
type EventData struct {
	Vote  *Vote  `json:"vote,omitempty"`
	Solo  bool   `json:"soloSelfApproval,omitempty"`
	By    string `json:"by,omitempty"`
	Why   string `json:"why,omitempty"`
	Until int64  `json:"claimUntilMs,omitempty"`
	// ClaimID names the run that a result is of.
	ClaimID string `json:"claimId,omitempty"`
	// Round is what a vote on one more run was given in.
	Round *RetryRound `json:"retryRound,omitempty"`
	// What a step of the plan did.
	Asked  []string `json:"asked,omitempty"`  // people
	Chats  []string `json:"chats,omitempty"`  // that got a card
	Held   []string `json:"held,omitempty"`   // people who are left alone in their quiet hours
	To     string   `json:"to,omitempty"`     // of an escalation: onDuty:NAME, role:NAME, or a chat
	Silent bool     `json:"silent,omitempty"` // it made no sound
	// Suggestion is for auditors alone: what would let such a call run unasked, without its params.
	Suggestion string `json:"suggestion,omitempty"`
	// Joined are the people behind an identical call that was joined.
	Joined []Requester `json:"-"`
}

// eventFacts are what an auditor asks for of an approval.
type eventFacts struct {
	ID          string         `json:"id"`
	Code        string         `json:"code"`
	Status      Status         `json:"status"`
	Decision    Decision       `json:"decision,omitempty"`
	DecidedBy   []string       `json:"decidedBy,omitempty"`
	Reason      string         `json:"reason,omitempty"`
	ToolName    string         `json:"toolName"`
	Fingerprint string         `json:"argsFingerprint"`
	AgentID     string         `json:"agentId,omitempty"`
	SessionKey  string         `json:"sessionKey,omitempty"`
	Channel     string         `json:"channel,omitempty"`
	Requester   *Requester     `json:"requester,omitempty"`
	Askers      []Requester    `json:"askers,omitempty"`
	Joined      []Requester    `json:"joined,omitempty"`
	Assessment  Assessment     `json:"assessment"`
	PolicyHash  string         `json:"policyHash"`
	Rule        Rule           `json:"approvers"`
	Votes       []Vote         `json:"votes,omitempty"`
	Consulted   []Consultation `json:"consulted,omitempty"`
	Confined    *Confined      `json:"confined,omitempty"`
	Tried       *TriedConfined `json:"triedConfined,omitempty"`
	Result      *Result        `json:"result,omitempty"`
	Dialect     string         `json:"dialect,omitempty"`
	CreatedAtMs int64          `json:"createdAtMs"`
	ExpiresAtMs int64          `json:"expiresAtMs"`
	RevokedAtMs int64          `json:"revokedAtMs,omitempty"`
	RevokedBy   string         `json:"revokedBy,omitempty"`
	RevokeWhy   string         `json:"revokeReason,omitempty"`
	EventData
}

// Event makes a log entry with the facts an auditor asks for.
func (a Approval) Event(t EventType, now int64, more EventData) Event {
	a = a.Redacted()
	f := eventFacts{
		ID: a.ID, Code: a.Code, Status: a.Status, Decision: a.Decision, DecidedBy: a.DecidedBy, Reason: a.Reason,
		ToolName: a.ToolName, Fingerprint: a.Fingerprint, AgentID: a.AgentID, SessionKey: a.SessionKey,
		Requester: a.Requester, Askers: a.Askers, Joined: more.Joined,
		Assessment: a.Assessment, PolicyHash: a.PolicyHash,
		Rule: a.Rule, Votes: a.Votes, Consulted: a.Consulted, Confined: a.Confined, Tried: a.TriedConfined, Result: a.Result, Dialect: a.Dialect,
		CreatedAtMs: a.CreatedAtMs, ExpiresAtMs: a.ExpiresAtMs,
		RevokedAtMs: a.RevokedAtMs, RevokedBy: a.RevokedBy, RevokeWhy: a.RevokeReason, EventData: more,
	}
	if t == EventJoined { // the records before it have the others
		f.Askers = nil
	}
	if a.Origin != nil {
		f.Channel = a.Origin.Channel
	}
	by := more.By
	if by == "" && more.Vote != nil && more.Vote.Voter != nil {
		by = more.Vote.Voter.Name()
	}
	return Event{AtMs: now, Type: t, Key: a.Key, Owner: a.Owner, Data: StoredJSON(&f), By: by}
}

// Body gives what of an approval the store keeps beside columns.
func (a *Approval) Body() []byte { return StoredJSON(a) }

// StoredJSON is a value as the log and the store have it.
func StoredJSON(v any) []byte {
	b, err := json.Marshal(v, asStored())
	if err != nil { // plain values always marshal
		panic(err)
	}
	return b
}

// asStored says how. The log's hashes are of bytes, so these stay: texts are in
// their canonical form (RFC 8785), and bytes that are no UTF-8 become U+FFFD; but
// what these nested types say is written for HTML.
var asStored = sync.OnceValue(func() json.Options {
	return json.JoinOptions(
		jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(true),
		jsonv1.OmitEmptyWithLegacySemantics(true), json.FormatNilSliceAsNull(true),
		json.WithMarshalers(json.JoinMarshalers(
			nested[Bind](), nested[Target](), nested[CallContext](), nested[Requester](), nested[Vote](),
			nested[Consultation](), nested[Result](), nested[Need](), nested[VerifierNeed](),
		)),
	)
})

func nested[T any]() *json.Marshalers {
	return json.MarshalFunc(func(v T) ([]byte, error) { return stdjson.Marshal(v) })
}

// Event is an entry of the hash-chained log. Data never carries raw params.
type Event struct {
	Seq   int64              `json:"seq"` // given by the store, ascending without a gap that a reader could miss
	AtMs  int64              `json:"atMs"`
	Type  EventType          `json:"type"`
	Key   string             `json:"key,omitempty"`   // the approval's
	Owner string             `json:"owner,omitempty"` // who else may see it
	Data  stdjson.RawMessage `json:"data"`

	By string // of an EventRefused that is not stored yet: whom to count it for
}

// EventType names an entry of the log.
type EventType string

// The event types. Listeners are told the first nine; the others are in the log for
// auditors only.
const (
	EventRequested EventType = "tool.approval.requested"
	EventVote      EventType = "tool.approval.vote"
	EventResolved  EventType = "tool.approval.resolved"
	EventExpired   EventType = "tool.approval.expired"
	EventWithdrawn EventType = "tool.approval.withdrawn"
	EventRevoked   EventType = "tool.approval.revoked"
	EventResult    EventType = "tool.approval.result"
	EventReminded  EventType = "tool.approval.reminded"
	EventEscalated EventType = "tool.approval.escalated"

	EventClaimed    EventType = "audit.claimed"
	EventJoined     EventType = "audit.joined"
	EventReason     EventType = "audit.reason"
	EventRefused    EventType = "audit.refused"
	EventUnreached  EventType = "audit.unreached"
	EventFallback   EventType = "audit.fallback"
	EventGranted    EventType = "audit.granted"     // a grant or cool-down was left or written
	EventUngranted  EventType = "audit.grant_ended" // and removed before its time
	EventPolicy     EventType = "audit.policy"      // another policy counts from now on
	EventFailOpen   EventType = "audit.failed_open" // a key that the operator wrote to fail open was used
	EventRejudged   EventType = "audit.rejudged"    // the rules changed while it was pending
	EventRetry      EventType = "audit.retry"       // people let it run once more; it is claimable again
	EventCheckpoint EventType = "audit.checkpoint"  // a signed head of the log
	EventCut        EventType = "audit.cut"         // retention forgets what is before that checkpoint
	EventDamaged    EventType = "audit.damaged"     // what was committed last was lost with the write-ahead log
	EventRekeyed    EventType = "audit.rekeyed"     // another key seals and signs from now on
	EventDrilled    EventType = "audit.drilled"     // a scheduled drill is over; why names the chats without a card
	EventPairing    EventType = "audit.pairing"     // an operator asked for a pairing code
	EventPaired     EventType = "audit.paired"      // and the person gave it in a chat
	EventUpdate     EventType = "audit.update"      // the records before it come from that stored update

	EventAway            EventType = "person.away"      // a person is away from then on
	EventBack            EventType = "person.back"      // and is back before that is over
	EventSignIn          EventType = "signin"           // a person signed in to the desk's pages
	EventLoginLink       EventType = "audit.login_link" // a one-time link was made
	EventSignedOut       EventType = "audit.signed_out" // a session was ended before its time
	EventPasskeyEnrolled EventType = "passkey.enrolled"
	EventPasskeyRemoved  EventType = "passkey.removed"
	// EventPasskeySuspended: its person was taken out of the configuration; it no longer counts.
	EventPasskeySuspended EventType = "passkey.suspended"
	EventSubscribed       EventType = "push.subscribed" // a browser is notified from now on
	EventPushEnded        EventType = "push.ended"      // and no more, with its session or its person
	EventPasskeyUsed      EventType = "passkey.used"    // for a yes; the vote's own event has the signature
)
