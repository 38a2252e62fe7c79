package core

import "slices"

// Approval is the request for one call, from creation to a final status. It is
// a plain value: the store keeps it as JSON beside columns, which hold what is "-"
// here; the pure steps make new ones. Deliveries live in rows of their own, which
// the dispatcher updates; they are loaded with the approval and never written
// through it.
type Approval struct {
	Key     string `json:"-"` // made by the server (UUID v4), never changes
	Version int64  `json:"-"` // counts committed changes; the compare-and-swap
	ID      string `json:"-"` // what its owner calls it: Key, or the owner's own id
	Code    string `json:"-"` // what people call it: six Crockford base-32 characters, KeyCode(Key)
	Owner   string `json:"-"` // the asking token's name

	Status    Status   `json:"-"`
	Decision  Decision `json:"decision,omitempty"`
	Reason    string   `json:"reason,omitempty"`    // redacted
	DecidedBy []string `json:"decidedBy,omitempty"` // "person:alice", "policy", "telegram:111"

	ToolName    string      `json:"-"`
	Summary     string      `json:"summary"` // redacted, escaped, cut; kept after the params are gone
	Fingerprint string      `json:"-"`
	Bind        *Bind       `json:"bind,omitempty"`
	AgentID     string      `json:"-"`
	SessionKey  string      `json:"-"`
	Origin      *Target     `json:"origin,omitempty"`
	Context     CallContext `json:"context,omitzero"`
	TokensAgent bool        `json:"tokensAgent,omitempty"` // as in Call
	Dialect     string      `json:"dialect,omitempty"`     // as in Call

	Askers        []Requester `json:"askers,omitempty"` // whoever may not decide: the token's person, the stated requester, joiners
	CallbackURL   string      `json:"callbackUrl,omitempty"`
	Requester     *Requester  `json:"requester,omitempty"`
	Justification string      `json:"justification,omitempty"`
	ActionSummary string      `json:"actionSummary,omitempty"`

	Assessment Assessment `json:"assessment"`
	Why        []string   `json:"why,omitempty"` // sentences for people, one per reason code that has one
	PolicyHash string     `json:"policyHash"`
	Rule       Rule       `json:"rule"`
	Offers     []Decision `json:"offers,omitempty"`
	Subject    string     `json:"subject,omitempty"`   // what a session grant would cover, see GrantScope
	Session    string     `json:"session,omitempty"`   // the same for people
	Always     string     `json:"always,omitempty"`    // what an always would cover, for people
	Unreached  bool       `json:"unreached,omitempty"` // it runs when nobody can be asked: the operator wrote askFallback
	Solo       bool       `json:"solo,omitempty"`      // the asker may decide: selfApproval is solo

	Votes     []Vote         `json:"votes,omitempty"`
	Consulted []Consultation `json:"consulted,omitempty"` // authorities outside that were asked, in order
	Reached   bool           `json:"reached,omitempty"`

	CreatedAtMs  int64 `json:"-"`
	ExpiresAtMs  int64 `json:"-"`
	FallbackAtMs int64 `json:"fallbackAtMs,omitempty"` // when to look whether anybody was reached; 0: done
	FallbackDone bool  `json:"fallbackDone,omitempty"` // the fallback targets have been added
	ResolvedAtMs int64 `json:"-"`
	ClaimUntilMs int64 `json:"claimUntilMs,omitempty"`
	ClaimedAtMs  int64 `json:"claimedAtMs,omitempty"`
	RevokedAtMs  int64 `json:"revokedAtMs,omitempty"`
	Retries      int   `json:"retries,omitempty"` // how often an operator made it claimable again

	ClaimID      string  `json:"claimId,omitempty"`
	Result       *Result `json:"result,omitempty"`
	RevokedBy    string  `json:"revokedBy,omitempty"`    // as in DecidedBy, or "token:ops"
	RevokeReason string  `json:"revokeReason,omitempty"` // redacted
	SupersededBy string  `json:"supersededBy,omitempty"` // code of the approval that replaced it

	Deliveries []Delivery `json:"-"`
}

// Assessment is the judgement of a call's risk, as the adaptive-approval seed
// has it.
type Assessment struct {
	RiskClass   RiskClass    `json:"riskClass"`
	SideEffects []SideEffect `json:"sideEffects"`
	Confidence  float64      `json:"confidence"` // 0 to 1
	Source      string       `json:"source"`     // "static", "classifier", "hybrid"
	ReasonCodes []string     `json:"reasonCodes"`
	Static      string       `json:"static,omitempty"`     // the class by static rules, where a classifier's counts too
	Classifier  string       `json:"classifier,omitempty"` // the class that a classifier gave, where it counts
}

// Rule says whose yes an approval needs: the approvers', and the verifier's people's
// where there is a Verifier. Each need is met by itself.
type Rule struct {
	Allowed       []Factor `json:"allowed"`
	Disabled      []Factor `json:"disabled"`
	Effective     []Factor `json:"effective"` // Allowed without Disabled
	MinApprovals  int      `json:"minApprovals"`
	RequiresHuman bool     `json:"requiresHuman"`
	Needs         []Need   `json:"needs,omitempty"` // each must be met beside MinApprovals

	Verifier *VerifierNeed `json:"verifier,omitempty"`
}

// Need is how many approvers with a role (people[].roles) must say yes.
type Need struct {
	Role string `json:"role"`
	Min  int    `json:"min"`
}

// VerifierNeed says that one of the verifier's own people must say yes. It is met by
// them alone, and their yes meets nothing else.
type VerifierNeed struct {
	Accounts []string `json:"accounts"` // who they are, as "telegram:123456789"
	Chats    []Target `json:"chats"`    // where they are asked
	// Instead says what stands for the approvers' yes, so that nobody else is asked:
	// "policy", or "grant:<id>". Empty: the approvers must say yes as well.
	Instead string `json:"instead,omitempty"`
	// Optional, of a drill only: they may answer as an approver may, and nobody must.
	Optional bool `json:"optional,omitempty"`
}

// AsksApprovers reports whether approvers must say yes. Where policy or a grant
// stands for them, only the verifier's people are asked.
func (r Rule) AsksApprovers() bool {
	return r.Verifier == nil || r.Verifier.Optional || r.Verifier.Instead == ""
}

// AsksVerifier reports whether one of the verifier's people must say yes.
func (r Rule) AsksVerifier() bool { return r.Verifier != nil && !r.Verifier.Optional }

// instead is the rule where something else stands for the approvers' yes; empty:
// nothing does.
func (r Rule) instead(by string) Rule {
	need := *r.Verifier
	need.Instead = by
	r.Verifier = &need
	return r
}

// Admits reports whether the factor may vote.
func (r Rule) Admits(f Factor) bool { return slices.Contains(r.Effective, f) }

// Vote is one approver's verdict.
type Vote struct {
	Approver    Factor   `json:"approverId"`
	Verdict     Verdict  `json:"verdict"`
	Decision    Decision `json:"decision,omitempty"`
	Voter       *Voter   `json:"voter,omitempty"` // people only
	Reason      string   `json:"reason,omitempty"`
	ReasonCodes []string `json:"reasonCodes,omitempty"`
	Confidence  float64  `json:"confidence,omitempty"`
	DecidedAtMs int64    `json:"decidedAtMs"`
	// VerifierOnly: it counts toward the verifier's need, and not toward the approvers'.
	VerifierOnly bool `json:"verifierOnly,omitempty"`
}

// Voter is who gave a vote: an account on a channel, and the configured person
// behind it, if any. UserID is a token's name on channel "api".
type Voter struct {
	Person  string   `json:"person,omitempty"`
	Channel string   `json:"channel"`
	UserID  string   `json:"userId"`
	Roles   []string `json:"roles,omitempty"` // Discord role ids at the time of the tap
}

// Name is the voter as DecidedBy and cards write it: the person where known,
// else the account. One name is one vote.
func (v Voter) Name() string {
	if v.Person != "" {
		return "person:" + v.Person
	}
	return v.Channel + ":" + v.UserID
}

// Result is what the owner says about the execution.
type Result struct {
	Status   string `json:"status"` // "succeeded" or "failed"
	Summary  string `json:"summary,omitempty"`
	ExitCode *int   `json:"exitCode,omitempty"`
	AtMs     int64  `json:"atMs"`
}

// DeliveryKind says what a delivery puts into a chat.
type DeliveryKind string

// The kinds. Only a card has buttons and is edited later.
const (
	CardDelivery      DeliveryKind = "card"
	OutcomeDelivery   DeliveryKind = "outcome"   // how it ended, where no card shows it
	RevokedDelivery   DeliveryKind = "revoked"   // it was taken back, where the outcome was told
	ResultDelivery    DeliveryKind = "result"    // how the execution went, where no card shows it
	UnreachedDelivery DeliveryKind = "unreached" // nobody could be asked
	CallbackDelivery  DeliveryKind = "callback"  // the approval as JSON, POSTed to its owner
	RetryDelivery     DeliveryKind = "retry"     // it may be claimed again
	ReasonDelivery    DeliveryKind = "reason"    // asks one person for the reason of a deny
)

// DeliveryState is how far a delivery is.
type DeliveryState string

// The delivery states. A settled card shows the outcome.
const (
	Queued  DeliveryState = "queued"
	Sent    DeliveryState = "sent"
	Failed  DeliveryState = "failed"
	Settled DeliveryState = "settled"
)

// Delivery is one message of an approval at one place.
type Delivery struct {
	ID        string // UUID
	Key       string // the approval's
	Kind      DeliveryKind
	Target    Target
	State     DeliveryState
	MessageID string // the platform's, empty until known
	ReplyTo   string // message to answer, or empty
	ForUser   string // ReasonDelivery: whom it asks
	Attached  bool   // the payload's file stands in that chat
	Shown     bool   // everything that would run stands in that chat: votes from there may allow
	DenyOnly  bool   // the chat does not take all of the call: its card may only deny
	Fallback  bool
	Error     string // why the last try failed, safe to show
	Attempts  int
	DueMs     int64 // when it wants work; 0: nothing to do
	Revision  int64 // raised by every redraw
	Rank      int   // more urgent first: the risk class
	CreatedMs int64
	Version   int64 // of the approval, when it was read together with it; 0: not known
}

// shownIn reports whether a card stands in the chat (any thread of it) and
// everything that would run was delivered there.
func (a Approval) shownIn(chat Target) bool {
	for _, d := range a.Deliveries {
		if d.Kind == CardDelivery && d.Shown && d.Target.Chat() == chat.Normal().Chat() {
			return true
		}
	}
	return false
}

// unseenIn is the refusal of an allow from a chat where shownIn is false, with the way
// out that there is: a card that stands there already shows all that it ever will.
func (a Approval) unseenIn(chat Target) *Error {
	for _, d := range a.Deliveries {
		if d.Kind == CardDelivery && d.Target.Chat() == chat.Normal().Chat() && (d.DenyOnly || d.MessageID != "") {
			return refuse(CodeUnseenPayload, "Not everything that would run has been shown in this chat, nor can it be: here %s can only be denied. Allow it in another chat with its card, by API or command line.", a.Code)
		}
	}
	return refuse(CodeUnseenPayload, "Not everything that would run has been shown in this chat. Send /show %s here first.", a.Code)
}

// hidden reports whether nobody may see more of the call than its fingerprint.
func (a Approval) hidden() bool { return a.Dialect == DialectAgentShield }

// TimerMs is when time next asks something of the approval; 0: never.
func (a Approval) TimerMs() int64 {
	switch {
	case a.Final():
		return 0
	case a.FallbackAtMs != 0 && (a.ExpiresAtMs == 0 || a.FallbackAtMs < a.ExpiresAtMs):
		return a.FallbackAtMs
	}
	return a.ExpiresAtMs
}

// Final reports whether the approval has ended.
func (a Approval) Final() bool { return a.Status.Final() }

// clone copies what a step may change in place.
func (a Approval) clone() Approval {
	a.Votes = slices.Clone(a.Votes)
	a.Askers = slices.Clone(a.Askers)
	a.DecidedBy = slices.Clone(a.DecidedBy)
	a.Assessment.ReasonCodes = slices.Clone(a.Assessment.ReasonCodes)
	a.Why = slices.Clone(a.Why)
	return a
}
