package core

import (
	"errors"

	"approvalbot/internal/approval"
)

// Why a step is tried anew. No caller sees these.
var (
	errReplaced   = rulesChanged()                                                           // a reload put other rules in force
	errOtherRules = errors.New("the request was judged under rules that have changed since") // judge it by these first
	errOtherRound = errors.New("the step is about one more run")                             // its votes count in the open round
)

// ErrAbsences says that a Change counts on absences that are not the newest.
var ErrAbsences = errors.New("the absences have changed meanwhile")

// rulesChanged refuses a step during which the rules changed more than once.
func rulesChanged() *approval.Error {
	return approval.Refuse(approval.CodeUnavailable, "The desk's rules changed during this request; try again.")
}
