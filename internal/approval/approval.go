package approval

import (
	"slices"

	"approvalbot/internal/assertion"
)

// Approval is the request for one call, from creation to a final status. It is
// a plain value: the store keeps it as JSON beside columns, which hold what is "-"
// here; the pure steps make new ones. Its parts are the districts of a step: a
// function that needs one alone takes that.
type Approval struct {
	Names
	Asked
	Judged
	Voted
	Contact
	Ended

	// Records is the number of its newest record in the log, of those that change what may run. The store counts
	// them: an older row that was put back has a lower one.
	Records int64 `json:"records,omitempty"`
}

// Names are the names of an approval, for people, its owner and the desk.
type Names struct {
	Key     string `json:"-"` // made by the server (UUID v4), never changes
	Version int64  `json:"-"` // counts committed changes; the compare-and-swap
	ID      string `json:"-"` // what its owner calls it: Key, or the owner's own id
	Code    string `json:"-"` // what people call it: six Crockford base-32 characters, KeyCode(Key)
	Owner   string `json:"-"` // the asking token's name
}

// Asked is the call as it came, and the people behind it.
type Asked struct {
	ToolName    string      `json:"-"`
	Summary     string      `json:"summary"` // redacted, escaped, cut; kept after the params are gone
	Fingerprint string      `json:"-"`
	Form        Form        `json:"form,omitempty"` // as what a card says the call
	Bind        *Bind       `json:"bind,omitempty"`
	AgentID     string      `json:"-"`
	SessionKey  string      `json:"-"`
	Origin      *Target     `json:"origin,omitempty"`
	Context     CallContext `json:"context,omitzero"`
	TokensAgent bool        `json:"tokensAgent,omitempty"` // as in Call
	Dialect     string      `json:"dialect,omitempty"`     // as in Call

	Askers        []Requester `json:"askers,omitempty"` // who may not decide: token's person, requester, joiners
	Joined        bool        `json:"joined,omitempty"` // more than one request waits for it, or did
	CallbackURL   string      `json:"callbackUrl,omitempty"`
	Requester     *Requester  `json:"requester,omitempty"`
	Justification string      `json:"justification,omitempty"`
	ActionSummary string      `json:"actionSummary,omitempty"`

	CreatedAtMs int64 `json:"-"`
	ExpiresAtMs int64 `json:"-"`
}

// Judged is what policy and the authorities outside said of the call.
type Judged struct {
	Assessment Assessment     `json:"assessment"`
	Why        []string       `json:"why,omitempty"`    // sentences for people, one per reason code that has one
	Points     []Point        `json:"points,omitempty"` // what of the call the reasons come from, worst first
	PolicyHash string         `json:"policyHash"`
	Rule       Rule           `json:"rule"`
	Offers     []Decision     `json:"offers,omitempty"`
	Subject    string         `json:"subject,omitempty"`   // what a session grant would cover, see GrantScope
	Session    string         `json:"session,omitempty"`   // the same for people
	Always     string         `json:"always,omitempty"`    // what an always would cover, for people
	Unreached  bool           `json:"unreached,omitempty"` // it runs if no approver can be asked (askFallback)
	Solo       bool           `json:"solo,omitempty"`      // the asker may decide: selfApproval is solo
	Consulted  []Consultation `json:"consulted,omitempty"` // authorities outside that were asked, in order
	Confined   *Confined      `json:"confined,omitempty"`  // if it runs, it runs so and not otherwise

	TriedConfined *TriedConfined `json:"triedConfined,omitempty"` // what came of the same call lately
}

// Voted are the votes on the call, and on running it once more.
type Voted struct {
	Votes     []Vote      `json:"votes,omitempty"`
	Retries   int         `json:"retries,omitempty"`    // how often it was made claimable again
	RetriedBy []Retried   `json:"retriedBy,omitempty"`  // those that people voted on; DecidedBy, Votes and Rule are the last one's
	Round     *RetryRound `json:"retryRound,omitempty"` // the last that was opened and not settled; see OpenRound
	// RoundDenied is the deny that ended the last round; nil: no round was opened, or a deny did not
	// end it.
	RoundDenied *Vote   `json:"roundDenied,omitempty"`
	Drafts      []Draft `json:"drafts,omitempty"` // at most one of each account; empty once the approval has ended
	Retrying    bool    `json:"-"`                // it is a view of the round, see Again; never stored
}

// Contact says who was told of the approval, and who is told next. Deliveries are rows of their own, which the
// dispatcher updates; they are loaded with the approval and never written through it.
type Contact struct {
	Reached      bool  `json:"reached,omitempty"`
	FallbackAtMs int64 `json:"fallbackAtMs,omitempty"` // when to look whether an approver was reached; 0: done
	FallbackDone bool  `json:"fallbackDone,omitempty"` // the fallback targets have been added
	// VerifierLookMs is when to look whether the verifier's chat was reached; 0: done, or no one is asked there.
	VerifierLookMs int64      `json:"verifierLookMs,omitempty"`
	LookedAtMs     int64      `json:"lookedAtMs,omitempty"`  // the first tap or vote, also if it was refused; 0: not yet
	PlanMs         int64      `json:"planMs,omitempty"`      // when the plan's next step is due; 0: no step left
	PlanDoneMs     int64      `json:"planDoneMs,omitempty"`  // the plan's steps until then were taken; 0: not yet
	DrilledAtMs    int64      `json:"drilledAtMs,omitempty"` // of a scheduled drill: when its cards were looked at; 0: not yet
	Missing        []string   `json:"missing,omitempty"`     // of a scheduled drill: chats without a card, and why
	AlsoAsked      []string   `json:"alsoAsked,omitempty"`   // people and chats that escalations have asked, in order
	AskedWhy       string     `json:"askedWhy,omitempty"`    // why others than those who are named in the plan; or empty
	Held           []string   `json:"held,omitempty"`        // people who hear of it at the end of their quiet hours
	Deliveries     []Delivery `json:"-"`
}

// Ended is how the approval ended: its status, and what became of an allow after it.
type Ended struct {
	Status       Status   `json:"-"`
	Decision     Decision `json:"decision,omitempty"`
	Reason       string   `json:"reason,omitempty"`    // redacted
	DecidedBy    []string `json:"decidedBy,omitempty"` // "person:alice", "policy", "telegram:111"
	ResolvedAtMs int64    `json:"-"`
	ClaimUntilMs int64    `json:"claimUntilMs,omitempty"`
	ClaimedAtMs  int64    `json:"claimedAtMs,omitempty"`
	ClaimID      string   `json:"claimId,omitempty"`
	ClaimedAs    string   `json:"claimedAs,omitempty"` // the alias under which its owner claimed it; empty: under ID
	Result       *Result  `json:"result,omitempty"`
	RevokedAtMs  int64    `json:"revokedAtMs,omitempty"`
	RevokedBy    string   `json:"revokedBy,omitempty"`    // as in DecidedBy, or "token:ops"
	RevokeReason string   `json:"revokeReason,omitempty"` // redacted
	GoneAtMs     int64    `json:"goneAtMs,omitempty"`     // when it was known that the asker does not claim it; 0: it is not
	SupersededBy string   `json:"supersededBy,omitempty"` // code of the approval that replaced it
	CoolsUntilMs int64    `json:"coolsUntilMs,omitempty"` // until when a person's deny of it refuses the very same call; 0: it does not
	AskAgainBy   string   `json:"askAgainBy,omitempty"`   // who ended that before its time, as in DecidedBy
}

// Assessment is the judgement of a call's risk, as the adaptive-approval seed
// has it.
type Assessment struct {
	RiskClass   RiskClass    `json:"riskClass"`
	SideEffects []SideEffect `json:"sideEffects"`
	Confidence  float64      `json:"confidence"` // 0 to 1
	Source      string       `json:"source"`     // "static", "classifier", "hybrid"
	ReasonCodes []string     `json:"reasonCodes"`
	Static      string       `json:"static,omitempty"`     // the class by static rules, if a classifier's counts too
	Classifier  string       `json:"classifier,omitempty"` // the class that a classifier gave, if it counts
}

// Vote is one approver's verdict.
type Vote struct {
	Approver    Factor   `json:"approverId"`
	Verdict     Verdict  `json:"verdict"`
	Decision    Decision `json:"decision,omitempty"`
	Voter       *Voter   `json:"voter,omitempty"` // people only
	Reason      string   `json:"reason,omitempty"`
	Note        string   `json:"note,omitempty"` // to the agent, see ReadNote
	ReasonCodes []string `json:"reasonCodes,omitempty"`
	Confidence  float64  `json:"confidence,omitempty"`
	DecidedAtMs int64    `json:"decidedAtMs"`
	// VerifierOnly: it counts toward the verifier's need, and not toward the approvers'.
	VerifierOnly bool `json:"verifierOnly,omitempty"`
	// OnDuty are the rosters by which the voter was on duty when the vote came in.
	OnDuty []string `json:"onDuty,omitempty"`
	// For are the people in whose place the yes may count, instead of for the voter: they
	// were away when the vote came in, and had the voter stand in for them.
	For []string `json:"for,omitempty"`
	// With is a person who said yes before and fills one seat together with the voter,
	// because one of them votes in place of the other.
	With string `json:"with,omitempty"`
	// Signature is what the person's passkey signed of the vote; nil if it was not signed.
	Signature *assertion.Signature `json:"signature,omitempty"`
}

// Voter is who gave a vote: an account on a channel, and the configured person
// behind it, if any. UserID is a token's name on channel "api", and the person's on [WebChannel].
type Voter struct {
	Person  string   `json:"person,omitempty"`
	Channel string   `json:"channel"`
	UserID  string   `json:"userId"`
	Roles   []string `json:"roles,omitempty"` // Discord role ids at the time of the tap
}

// By reports whether that voter gave the vote: the same person, or the same account if the
// person is not known.
func (v Vote) By(who Voter) bool { return v.Voter != nil && v.Voter.Name() == who.Name() }

// Repeated reports whether o says the same again, by the same account and with no other note.
func (v Vote) Repeated(o Vote) bool {
	return v.Decision == o.Decision && (o.Note == "" || v.Note == o.Note) && v.Voter != nil && o.Voter != nil && v.Voter.SameAccount(*o.Voter)
}

// SameAccount reports whether both are the same account of one channel.
func (v Voter) SameAccount(o Voter) bool { return v.Channel == o.Channel && v.UserID == o.UserID }

// Name is the voter as DecidedBy and cards write it: the person if known, else the account.
// One name is one vote.
func (v Voter) Name() string {
	if v.Person != "" {
		return "person:" + v.Person
	}
	return v.Channel + ":" + v.UserID
}

// Hidden reports whether people may see only the call's fingerprint.
func (a Approval) Hidden() bool { return a.Dialect == DialectAgentShield }

// Final reports whether the approval has ended.
func (a Approval) Final() bool { return a.Status.Final() }

// Clone copies what a step may change in place.
func (a Approval) Clone() Approval {
	a.Votes = slices.Clone(a.Votes)
	a.Askers = slices.Clone(a.Askers)
	a.DecidedBy = slices.Clone(a.DecidedBy)
	a.Assessment.ReasonCodes = slices.Clone(a.Assessment.ReasonCodes)
	a.Why = slices.Clone(a.Why)
	a.AlsoAsked = slices.Clone(a.AlsoAsked)
	a.Held = slices.Clone(a.Held)
	a.RetriedBy = slices.Clone(a.RetriedBy)
	return a
}

// Result is what the owner says about the execution.
type Result struct {
	Status   string `json:"status"` // "succeeded" or "failed"
	Summary  string `json:"summary,omitempty"`
	ExitCode *int   `json:"exitCode,omitempty"`
	AtMs     int64  `json:"atMs"`
	// Confined is of a run that was confined.
	Confined *RanConfined `json:"confined,omitempty"`
	// Unnamed: it did not name its run, though that has a name or is not the first: it may be another run's.
	Unnamed bool `json:"unnamed,omitempty"`
}

// Consultation is one question to an authority outside, and what came of it. It is stored
// with the approval and in the log, with every answer.
type Consultation struct {
	Authority string `json:"authority"`           // AuthorityWebhook or AuthorityClassifier
	Endpoint  string `json:"endpoint,omitempty"`  // host and path, without what could be a secret
	RequestID string `json:"requestId,omitempty"` // as the authority got it; empty: it gets no id, or was not asked
	Verdict   string `json:"verdict"`             // what counted: "allow", "deny", a class, or `"none"`
	Cause     string `json:"cause"`               // why: "allowed", "assessed", "cached", "timeout", "HTTP 500", …
	LatencyMs int64  `json:"latencyMs"`           // until the answer, or until it was given up
	AtMs      int64  `json:"atMs"`                // when it was over
}
