package core

// ReasonInsufficient is the reason code of an approval that could never be met,
// ReasonUnreached of one whose cards reached nobody.
const (
	ReasonInsufficient = "insufficient-factors"
	ReasonUnreached    = "no-approver-reachable"
)

// Reason codes of what is not policy's own: a cool-down, and the verifier.
const (
	ReasonRecentlyDenied = "recently-denied"
	ReasonVerifierDenied = "verifier-denied"
	ReasonVerifierPeople = "verifier-people"
	ReasonMustAsk        = "must-ask"
)
