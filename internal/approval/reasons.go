package approval

// ReasonInsufficient is the reason code of an approval whose rule could never be met.
// ReasonUnreached is that of one whose cards reached no approver, ReasonAway of one that
// only people who are away could allow.
const (
	ReasonInsufficient = "insufficient-factors"
	ReasonUnreached    = "no-approver-reachable"
	ReasonAway         = "approvers-away"
)

// Reason codes of what is not policy's own: a cool-down, and the verifier.
const (
	ReasonRecentlyDenied = "recently-denied"
	ReasonVerifierDenied = "verifier-denied"
	ReasonVerifierPeople = "verifier-people"
	// ReasonVerifierUnreached: the verifier's chat could not be reached.
	ReasonVerifierUnreached = "verifier-unreachable"
	ReasonMustAsk           = "must-ask"
	// ReasonTriedConfined: the same call failed confined shortly before.
	ReasonTriedConfined = "tried-confined"
)
