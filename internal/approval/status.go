package approval

import (
	"encoding"
	"fmt"
	"strconv"
	"strings"
)

// Status says how far an approval is. It starts pending and ends exactly once.
type Status string

// The statuses. No answer is Expired: it is never Denied, and never Approved.
const (
	Pending   Status = "pending"
	Approved  Status = "approved"
	Denied    Status = "denied"
	Expired   Status = "expired"
	Withdrawn Status = "withdrawn"
)

// Final reports whether the status is an end.
func (s Status) Final() bool { return s != Pending }

// Decision is what a person (or a policy) says about a call.
type Decision string

// The decisions. AllowSession and AllowAlways leave a grant behind; AllowOnce is spent by
// the approval's own claim. Retry is a vote of a [RetryRound] only: no approval's decision
// is Retry.
const (
	AllowOnce    Decision = "allow-once"
	AllowSession Decision = "allow-session"
	AllowAlways  Decision = "allow-always"
	Deny         Decision = "deny"
	Retry        Decision = "retry"
)

// Allows reports whether d lets the call run. Anything but the three known
// allows does not.
func (d Decision) Allows() bool {
	return d == AllowOnce || d == AllowSession || d == AllowAlways
}

// Narrowness orders the allows: the narrowest scope voted wins.
func (d Decision) Narrowness() int {
	switch d {
	case AllowAlways:
		return 1
	case AllowSession:
		return 2
	default:
		return 3
	}
}

// Verdict is one approver's answer as the tally counts it.
type Verdict string

// The verdicts of the adaptive-approval seed. Only Approve and Reject count.
const (
	Approve Verdict = "approve"
	Reject  Verdict = "reject"
	Abstain Verdict = "abstain"
	Errored Verdict = "error"
)

// Factor is a kind of approver.
type Factor string

// The factors of the adaptive-approval seed.
const (
	UserRequest   Factor = "user_request"
	RulesBased    Factor = "rules_based"
	LLMEvaluation Factor = "llm_evaluation"
)

// RiskClass is how bad a call could be, R0 to R4.
type RiskClass int

// The risk classes.
const (
	R0 RiskClass = iota // read only
	R1                  // local workspace change
	R2                  // external read or low impact
	R3                  // external change or irreversible
	R4                  // high impact
)

var _ encoding.TextMarshaler = R0

// String gives the class as it is written everywhere: "R0" to "R4".
func (r RiskClass) String() string {
	if names := [...]string{"R0", "R1", "R2", "R3", "R4"}; int(r) >= 0 && int(r) < len(names) {
		return names[r]
	}
	return "R" + strconv.Itoa(int(r))
}

// Text says the class in the words that a card uses.
func (r RiskClass) Text() string {
	switch r {
	case R0:
		return "read only"
	case R1:
		return "local change"
	case R2:
		return "external read or low impact"
	case R3:
		return "external change or irreversible"
	default:
		return "high impact"
	}
}

// MarshalText writes "R0" to "R4".
func (r RiskClass) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads "R0" to "R4" and refuses everything else.
func (r *RiskClass) UnmarshalText(b []byte) error {
	if digit, ok := strings.CutPrefix(string(b), "R"); ok && len(digit) == 1 && strings.Contains("01234", digit) {
		*r = RiskClass(b[1] - '0')
		return nil
	}
	return fmt.Errorf("risk class %q is not one of R0, R1, R2, R3, R4", b)
}

// Outcome is what policy says of a call. Further right is stricter:
// OutcomeAllow < OutcomeAsk < OutcomeDeny.
type Outcome int

// The outcomes. The zero value neither asks nor allows: it is invalid on purpose, so that a
// forgotten outcome cannot allow.
const (
	outcomeInvalid Outcome = iota
	OutcomeAllow
	OutcomeAsk
	OutcomeDeny
)

// String gives "allow", "ask" or "deny"; the zero value reads "invalid".
func (o Outcome) String() string {
	return [...]string{"invalid", "allow", "ask", "deny"}[o]
}

// SideEffect names what a call may touch, in the contract's words.
type SideEffect string

// The side effects.
const (
	FilesystemRead   SideEffect = "filesystem_read"
	FilesystemWrite  SideEffect = "filesystem_write"
	ProcessExec      SideEffect = "process_exec"
	NetworkRead      SideEffect = "network_read"
	ExternalWrite    SideEffect = "external_write"
	MessageSend      SideEffect = "message_send"
	Payment          SideEffect = "payment"
	CredentialAccess SideEffect = "credential_access"
	SecurityChange   SideEffect = "security_change"
	DataLoss         SideEffect = "data_loss"
	NoSideEffect     SideEffect = "none"
)
