package api

import "encoding/json"

// Status is the progress of an approval.
type Status string

// The statuses. An approval starts pending and ends exactly once.
const (
	Pending   Status = "pending"
	Approved  Status = "approved"
	Denied    Status = "denied"
	Expired   Status = "expired"
	Withdrawn Status = "withdrawn"
)

// Final reports whether the status is an end.
func (s Status) Final() bool { return s != Pending }

// Decision is the decision about a call. In JSON "no decision" is null.
type Decision string

// The decisions.
const (
	AllowOnce    Decision = "allow-once"
	AllowSession Decision = "allow-session"
	AllowAlways  Decision = "allow-always"
	Deny         Decision = "deny"
	Retry        Decision = "retry" // only a vote while a retry round is open
)

// MarshalJSON writes the word, or null for no decision.
func (d Decision) MarshalJSON() ([]byte, error) {
	switch d {
	case "":
		return []byte("null"), nil
	case AllowOnce, AllowSession, AllowAlways, Deny, Retry:
		return append(append([]byte{'"'}, d...), '"'), nil
	}
	return json.Marshal(string(d))
}

// Approval is the request for one call, in its present state. Arrays are never
// null. Raw params appear only in Claim.
type Approval struct {
	ID        string   `json:"id" doc:"The owner's own id, or one made by the server."`
	Code      string   `json:"code" doc:"What people call it: six Crockford base-32 characters."`
	Owner     string   `json:"owner" doc:"Name of the API token that asked."`
	Status    Status   `json:"status" enum:"pending,approved,denied,expired,withdrawn" doc:"Pending, then one of the others for good."`
	Decision  Decision `json:"decision" nullable:"true" enum:"allow-once,allow-session,allow-always,deny" doc:"Null while pending, and when it expired or was withdrawn."`
	Reason    string   `json:"reason" doc:"Why it ended so, in words; empty if no reason was given."`
	DecidedBy []string `json:"decidedBy" doc:"Who settled it: person:alice, telegram:111, policy, grant:<id>; token:<name> if its asker withdrew it."`

	ToolName        string `json:"toolName" doc:"exec is a command; every other name is your own."`
	ParamsSummary   string `json:"paramsSummary" doc:"The call as people see it: redacted and escaped."`
	ArgsFingerprint string `json:"argsFingerprint" doc:"SHA-256, hex, of the RFC 8785 canonical JSON of {bind?, params, toolName}."`
	Bind            *Bind  `json:"bind,omitzero" doc:"The directory, machine and environment to which the call is bound. Part of the fingerprint."`

	AgentID       string     `json:"agentId" doc:"As told by the owner, or as the token is configured."`
	SessionKey    string     `json:"sessionKey" doc:"As told by the owner."`
	Channel       string     `json:"channel" doc:"Channel of the chat the session lives in, or empty."`
	Requester     *Requester `json:"requester" doc:"The human who asked the agent, as told by the owner."`
	Justification string     `json:"justification" doc:"The asker's words."`
	ActionSummary string     `json:"actionSummary" doc:"The asker's words."`
	From          *From      `json:"from,omitzero" doc:"The asker's words about which agent asks, and in which branch and worktree."`

	RiskClass   string   `json:"riskClass" enum:"R0,R1,R2,R3,R4" doc:"R0 reads only … R4 has a high impact."`
	SideEffects []string `json:"sideEffects" enum:"filesystem_read,filesystem_write,process_exec,network_read,external_write,message_send,payment,credential_access,security_change,data_loss,none" doc:"What the call would do, as far as is known."`
	Confidence  float64  `json:"confidence" minimum:"0" maximum:"1" doc:"How sure the assessment is."`
	Source      string   `json:"source" doc:"Who assessed it: static, classifier or hybrid."`
	ReasonCodes []string `json:"reasonCodes" doc:"Stable words for why it was judged so."`
	Why         []string `json:"why" doc:"Sentences for people: why this class, why it asks or is refused."`
	PolicyHash  string   `json:"policyHash" doc:"Of the policy that judged it."`

	Approvers Approvers  `json:"approvers"`
	Offers    []Decision `json:"offers" enum:"allow-once,allow-session,allow-always,deny" doc:"What people may decide, narrowest first."`

	SessionCovers string `json:"sessionCovers,omitempty" doc:"What allow-session would cover, in words, if it is offered."`
	AlwaysCovers  string `json:"alwaysCovers,omitempty" doc:"What allow-always would cover, in words, if it is offered."`

	Votes      []Vote         `json:"votes" doc:"Those that count; of each approver the last."`
	Consulted  []Consultation `json:"consulted" doc:"Webhooks and the classifier that were asked about the call, in order."`
	Deliveries []Delivery     `json:"deliveries" doc:"The cards, one for each place."`
	AlsoAsked  []string       `json:"alsoAsked,omitempty" doc:"People and chats that escalations have asked since, in order."`
	Reached    bool           `json:"reached" doc:"False: no approver could be asked, see reason code no-approver-reachable."`

	CreatedAtMs  int64 `json:"createdAtMs"`
	ExpiresAtMs  int64 `json:"expiresAtMs" doc:"When it expires if it is still undecided."`
	NextStepAtMs int64 `json:"nextStepAtMs,omitzero" doc:"When the next person is reminded or asked, if it is still undecided."`
	ResolvedAtMs int64 `json:"resolvedAtMs,omitzero"`
	ClaimUntilMs int64 `json:"claimUntilMs,omitzero" doc:"Until when an approved call may be claimed."`
	ClaimedAtMs  int64 `json:"claimedAtMs,omitzero" doc:"When the call was handed out."`
	RevokedAtMs  int64 `json:"revokedAtMs,omitzero" doc:"When an operator took it back, or its asker, who no longer waits."`

	RevokedBy     string         `json:"revokedBy,omitzero" doc:"Who took it back, as in decidedBy, or token:ops."`
	RevokeReason  string         `json:"revokeReason,omitzero" doc:"Why, in their words; reason and decidedBy stay those of the yes."`
	SupersededBy  string         `json:"supersededBy,omitzero" doc:"Code of the approval that replaced it."`
	Confined      *Confined      `json:"confined,omitzero" doc:"If it runs, it runs confined so, and not otherwise."`
	TriedConfined *TriedConfined `json:"triedConfined,omitzero" doc:"The same call ran confined shortly before and failed, so it asks."`
	Result        *Result        `json:"result,omitzero" doc:"What the owner said about the execution; after a retry about the newest run."`

	Retries    []Retried   `json:"retries,omitempty" doc:"Who let it run once more, in order; decidedBy, approvers and votes are the last one's then."`
	RetryRound *RetryRound `json:"retryRound,omitzero" doc:"The vote on one more run, while it is open."`

	Notes []Note `json:"notes,omitempty" doc:"What people said to the agent with the votes that count; absent while it is pending and after it was taken back."`

	Receipt string `json:"receipt,omitzero" doc:"In a call back of an approved approval only: a signed receipt."`
	Card    *Card  `json:"card,omitzero" doc:"The card that approvers read."`
	Claim   *Claim `json:"claim,omitzero" doc:"The claimed call, in the answer to a request with claim=1 only."`
}

// Card is an approval as people read it, in that order. All of it is redacted and escaped;
// the asker's own words are marked.
type Card struct {
	Outcome  string     `json:"outcome" doc:"How it ended, the first line then; empty while it is pending."`
	Headline string     `json:"headline" doc:"Who asks for what."`
	Call     []CardFact `json:"call" doc:"The call, but for what headline and place say whole; empty after the end."`
	Place    string     `json:"place" doc:"The place in which it runs."`
	Summary  string     `json:"summary" doc:"After the end: the call on one line."`
	Risk     string     `json:"risk" doc:"The risk in words, and the reasons that count most."`
	Claims   []string   `json:"claims" doc:"The asker's own words, unchecked."`
	Warnings []string   `json:"warnings" doc:"What to look at twice: look-alikes."`
	Link     string     `json:"link,omitzero" doc:"The desk's page on which a yes must be signed."`
	Flags    []string   `json:"flags" doc:"What a reader cannot see at once: hidden characters, look-alikes."`
	Votes    string     `json:"votes" doc:"The votes so far; empty if a single yes is to come."`
	Wider    []string   `json:"wider" doc:"A sentence for each offered scope wider than once: what it covers."`
	Details  []CardFact `json:"details" doc:"What else is known."`
}

// CardFact is a labelled value of a card.
type CardFact struct {
	Name  string `json:"name"`
	Value string `json:"value" doc:"Of a call it may have line feeds."`
	Own   bool   `json:"own,omitzero" doc:"It is the desk's own word, not the asker's."`
	Block bool   `json:"block,omitzero" doc:"It is what the call is about, and needs no name."`
}

// Approvers tells whose yes an approval needs.
type Approvers struct {
	Allowed       []string `json:"allowed" enum:"user_request,rules_based,llm_evaluation"`
	Disabled      []string `json:"disabled" enum:"user_request,rules_based,llm_evaluation"`
	Effective     []string `json:"effective" enum:"user_request,rules_based,llm_evaluation" doc:"Allowed without disabled."`
	MinApprovals  int      `json:"minApprovals" doc:"How many different approvers must say yes; 0: policy or a grant says yes in their place, and only the verifier's people are asked."`
	RequiresHuman bool     `json:"requiresHuman" doc:"At least one of them must be a person."`
	StepUp        bool     `json:"stepUp,omitzero" doc:"A person's yes counts only if their passkey signed it."`
	Roles         []Role   `json:"roles,omitzero" doc:"Which roles some of them must have."`
	Verifier      bool     `json:"verifier,omitzero" doc:"One of the verifier's own people must say yes as well. Their yes counts for this alone."`
}

// Role is a role that so many of the approvers must have.
type Role struct {
	Role string `json:"role" doc:"A role of people, or onDuty:ROSTER."`
	Min  int    `json:"min"`
}

// Vote is one approver's verdict.
type Vote struct {
	ApproverID  string   `json:"approverId" enum:"user_request,rules_based,llm_evaluation"`
	Verdict     string   `json:"verdict" enum:"approve,reject,abstain,error" doc:"One reject ends it."`
	Decision    Decision `json:"decision,omitzero" enum:"allow-once,allow-session,allow-always,deny,retry" doc:"Of a person: how far their yes reaches."`
	Voter       *Voter   `json:"voter,omitzero" doc:"People only."`
	Reason      string   `json:"reason,omitzero"`
	ReasonCodes []string `json:"reasonCodes"`
	Confidence  float64  `json:"confidence,omitzero" minimum:"0" maximum:"1"`
	DecidedAtMs int64    `json:"decidedAtMs"`

	VerifierOnly bool     `json:"verifierOnly,omitzero" doc:"It counts only as a yes of the verifier's people."`
	Passkey      string   `json:"passkey,omitzero" doc:"Credential id of the passkey that signed it."`
	OnDuty       []string `json:"onDuty,omitzero" doc:"The rosters by which they were on duty when they voted."`
	For          []string `json:"for,omitzero" doc:"People who are away, in whose stead the yes may be taken instead of the voter's own."`
	With         string   `json:"with,omitzero" doc:"Who said yes before and fills one seat of the quorum together with the voter, as one is the other's delegate."`
}

// Voter is the account that a person voted with. On channel "api" the user id
// is a token's name.
type Voter struct {
	Person  string `json:"person,omitzero" doc:"The configured person whose account it is."`
	Channel string `json:"channel" doc:"telegram, discord, web or api."`
	UserID  string `json:"userId" doc:"On channel api the name of a token, on web the person's."`
}

// Consultation is one question to an authority outside, and its result.
type Consultation struct {
	Authority string `json:"authority" enum:"webhook,classifier"`
	Endpoint  string `json:"endpoint,omitzero" doc:"For operators: host and path of its address, without what could be a secret."`
	RequestID string `json:"requestId,omitzero" doc:"As a webhook got it; absent if it was not asked."`
	Verdict   string `json:"verdict" enum:"allow,deny,none,R0,R1,R2,R3,R4" doc:"What counted: of a webhook allow or deny, of the classifier its class, or 'none'."`
	Cause     string `json:"cause" doc:"Why: allowed, denied, assessed, cached, timeout, HTTP 500, invalid, unreachable, cancelled, open-circuit, busy, too-long."`
	LatencyMs int64  `json:"latencyMs" doc:"Until the answer, or until it was given up."`
	AtMs      int64  `json:"atMs"`
}

// Delivery is one card at one place.
type Delivery struct {
	Target    string `json:"target" doc:"telegram:-1001234567890:42, discord:123456789012345678 or discord:dm:2222; verifier:-1001234567890 if the verifier's own bot asks."`
	State     string `json:"state" enum:"queued,sent,failed,settled,folded,listed" doc:"A settled card shows the outcome. A listed one is a line of a digest, a folded one is about to be."`
	MessageID string `json:"messageId,omitzero" doc:"As the platform names it."`
	SentAtMs  int64  `json:"sentAtMs,omitzero" doc:"When it first stood there."`
	Error     string `json:"error,omitzero" doc:"Why it could not be sent."`
}

// Result is the owner's report about the execution.
type Result struct {
	Status   string       `json:"status" enum:"succeeded,failed" doc:"As the owner says."`
	Summary  string       `json:"summary,omitzero" doc:"The owner's words."`
	ExitCode *int         `json:"exitCode,omitzero" nullable:"false"`
	Confined *RanConfined `json:"confined,omitzero" doc:"What a confined run did to its workspace, as the owner says."`
	AtMs     int64        `json:"atMs"`
}

// Retried is one more run that people allowed an approved call.
type Retried struct {
	By            []string `json:"by" doc:"As in decidedBy."`
	AtMs          int64    `json:"atMs"`
	WithoutResult bool     `json:"withoutResult,omitzero" doc:"No result said that the run before had ended."`
	ClaimID       string   `json:"claimId,omitzero" doc:"Of the run before it."`
	Result        *Result  `json:"result,omitzero" doc:"Of the run before it."`
}

// RetryRound is the vote on one more run of an approved call, while it is open.
type RetryRound struct {
	By            string    `json:"by" doc:"Who opened it, as in decidedBy."`
	WithoutResult bool      `json:"withoutResult,omitzero" doc:"No result says that the run before has ended."`
	OpenedAtMs    int64     `json:"openedAtMs"`
	ExpiresAtMs   int64     `json:"expiresAtMs" doc:"When the round ends without effect."`
	Approvers     Approvers `json:"approvers"`
	Votes         []Vote    `json:"votes" doc:"Those that count."`
	Text          string    `json:"text" doc:"retry asked by alice, 1 of 2 yes (alice)"`
}

// Note is a person's text to the agent: on an approved call by one who allowed it, on a denied one by the one who
// denied it.
type Note struct {
	By   string `json:"by" doc:"As in decidedBy."`
	Text string `json:"text" doc:"One line of at most 500 characters, without secrets. It is a person's word to the model and no part of the call."`
}

// Confined describes how a call runs confined.
type Confined struct {
	Profile  string   `json:"profile" enum:"v1" doc:"What holds it: docs/confine.md."`
	Writable []string `json:"writable" doc:"The only folders that it may change."`
	Readonly []string `json:"readonly" doc:"Folders that it may read beside the system's programs, and names of files in writable that are not hidden as secrets."`
}

// TriedConfined is the result of the same call when it ran confined shortly before.
type TriedConfined struct {
	Exit    *int `json:"exit,omitzero" doc:"Its exit status."`
	Changed int  `json:"changed" doc:"Files of the workspace that it changed."`
}

// Claim is an approved call, handed out once: the very values that were
// approved, in canonical JSON.
type Claim struct {
	ToolName     string          `json:"toolName"`
	Params       json.RawMessage `json:"params" doc:"The approved params: a JSON object."`
	Bind         *Bind           `json:"bind,omitzero" doc:"The directory, machine and environment to which the call is bound. Part of the fingerprint."`
	Fingerprint  string          `json:"fingerprint" doc:"The approval's argsFingerprint."`
	Decision     Decision        `json:"decision" enum:"allow-once,allow-session,allow-always"`
	ClaimUntilMs int64           `json:"claimUntilMs,omitzero" doc:"Until when it had to be claimed."`
	ClaimID      string          `json:"claimId,omitzero" doc:"As you named it: name it with the result, too."`
	Confined     *Confined       `json:"confined,omitzero" doc:"It may run confined so, and not otherwise."`
	Notes        []Note          `json:"notes,omitempty" doc:"What those who allowed it said to the agent; the receipt has their hash."`
	Receipt      string          `json:"receipt,omitzero" doc:"A signed receipt (compact JWS, EdDSA) that an executor can check offline with the keys of /.well-known/jwks.json."`
}

// List is one page of approvals, newest first.
type List struct {
	Items      []Approval `json:"items"`
	NextCursor string     `json:"nextCursor" doc:"Give it as cursor to get the next page; empty on the last one."`
}

// Ready is the desk's state. A chat that is down does not take the desk down.
type Ready struct {
	Ready    bool               `json:"ready"`
	Store    string             `json:"store" doc:"ok, or what is wrong."`
	Policy   string             `json:"policy" doc:"ok, approvals disabled, or what is wrong."`
	Channels map[string]Channel `json:"channels" doc:"By name: telegram, discord; verifier, if it has a bot of its own."`
}

// KeySet is a JSON Web Key Set (RFC 7517): the public keys of a desk's receipts.
type KeySet struct {
	Keys []Key `json:"keys" doc:"The key that signs now first, then older ones whose receipts still count."`
}

// DeskKeys are the keys that a desk's clients pin.
type DeskKeys struct {
	DeskKeys    []DeskKey `json:"deskKeys" doc:"The key of receipts first, then the key of the desk's own TLS certificate."`
	Successions []string  `json:"successions" doc:"Compact JWS (EdDSA, typ approvalbot-succession+jwt), oldest first: each names the keys that replaced its signer."`
}

// DeskKey is an Ed25519 public key of a desk.
type DeskKey struct {
	ID        string `json:"id" doc:"Thumbprint of the key (RFC 7638)."`
	PublicKey string `json:"publicKey" doc:"The key, in base64url without padding."`
}

// Key is an Ed25519 public key (RFC 8037).
type Key struct {
	Alg string `json:"alg" enum:"EdDSA"`
	Crv string `json:"crv" enum:"Ed25519"`
	Kid string `json:"kid" doc:"Thumbprint of the key (RFC 7638)."`
	Kty string `json:"kty" enum:"OKP"`
	Use string `json:"use" enum:"sig"`
	X   string `json:"x" doc:"The key, in base64url."`
}

// PolicyDisabled is Ready.Policy of a desk whose approvals are disabled: it
// accepts no requests, but stored approvals can still be read.
const PolicyDisabled = "approvals disabled"

// Channel is the state of one chat platform's connection.
type Channel struct {
	Up     bool   `json:"up"`
	Detail string `json:"detail" doc:"Why it is down."`
}
