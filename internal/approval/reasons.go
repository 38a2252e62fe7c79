package approval

// ReasonInsufficient is the reason code of an approval that could never be met,
// ReasonUnreached of one whose cards reached nobody, ReasonAway of one that nobody who is
// not away could allow.
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
