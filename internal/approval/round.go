package approval

import (
	"fmt"
	"slices"
)

// RetryRound is the vote on whether an approved call runs once more: the votes, and the
// rule, class and policy that they count under.
type RetryRound struct {
	By            string     `json:"by"`                      // who opened it: "person:alice"
	WithoutResult bool       `json:"withoutResult,omitempty"` // although no result says that the run before has ended
	OpenedAtMs    int64      `json:"openedAtMs"`
	ExpiresAtMs   int64      `json:"expiresAtMs"` // from then on the round does not count
	Rule          Rule       `json:"rule"`
	Assessment    Assessment `json:"assessment"`
	PolicyHash    string     `json:"policyHash"`
	Votes         []Vote     `json:"votes,omitempty"`
}

// Retried is one more run that people let an approved call have, and the run before it.
type Retried struct {
	By            []string `json:"by"` // as in DecidedBy
	AtMs          int64    `json:"atMs"`
	WithoutResult bool     `json:"withoutResult,omitempty"`
	Before        Run      `json:"before"`
}

// Run is a call that was handed out, or was to be.
type Run struct {
	By          []string `json:"by,omitempty"` // who let it run, as in DecidedBy
	ClaimID     string   `json:"claimId,omitempty"`
	ClaimedAs   string   `json:"claimedAs,omitempty"`   // as in Approval
	ClaimedAtMs int64    `json:"claimedAtMs,omitempty"` // 0: it was never claimed
	Result      *Result  `json:"result,omitempty"`
}

func (r Run) RanWell() bool { return r.Result != nil && r.Result.Status == "succeeded" }

// RanWell reports whether any run was reported as succeeded.
func (a Approval) RanWell() bool {
	earlier := slices.ContainsFunc(a.RetriedBy, func(r Retried) bool { return r.Before.RanWell() })
	return earlier || Run{Result: a.Result}.RanWell()
}

// Overtaken reports whether a retry waits to be claimed although an earlier run was
// reported as succeeded after the retry was opened: the people who said retry believed that
// it had failed.
func (a Approval) Overtaken() bool { return a.ClaimedAtMs == 0 && a.RanWell() }

// EarlierRun gives the index in RetriedBy of the claimed run of that name; -1 if there is no
// such run.
func (a Approval) EarlierRun(claimID string) int {
	return slices.IndexFunc(a.RetriedBy, func(r Retried) bool {
		return claimID != "" && r.Before.ClaimedAtMs != 0 && r.Before.ClaimID == claimID
	})
}

// OpenRound gives the round that is open at that moment, or nil.
func (a Approval) OpenRound(now int64) *RetryRound {
	r := a.Round
	if r == nil || now >= r.ExpiresAtMs || a.Status != Approved || a.RevokedAtMs != 0 || a.RanWell() {
		return nil
	}
	return r
}

// RoundEndsMs is until when the round is open that was opened last and is not settled; 0 if
// there is no such round.
func (a Approval) RoundEndsMs() int64 {
	if a.Round == nil {
		return 0
	}
	return a.Round.ExpiresAtMs
}

// Of is the round with the rule, the judgement and the votes of a view of it.
func (r RetryRound) Of(view Approval) *RetryRound {
	r.Rule, r.Assessment, r.PolicyHash, r.Votes = view.Rule, view.Assessment, view.PolicyHash, view.Votes
	return &r
}

// Again is the approved call as if it were asked now, with the votes of its round: a view,
// for the rules of pending approvals. It is never stored.
func (a Approval) Again(r RetryRound) Approval {
	a.Status, a.Decision, a.DecidedBy, a.Reason = Pending, "", nil, ""
	a.Rule, a.Assessment, a.PolicyHash, a.Votes = r.Rule, r.Assessment, r.PolicyHash, slices.Clone(r.Votes)
	a.Offers, a.ExpiresAtMs, a.Unreached, a.Retrying = []Decision{Retry, Deny}, r.ExpiresAtMs, false, true
	return a
}

// DeniedRound reports whether the voter's deny ended the last round.
func (a Approval) DeniedRound(v Voter) bool { return a.RoundDenied != nil && a.RoundDenied.By(v) }

// Text says how the run before a retry ended, in the desk's words.
func (r Run) Text() string {
	switch {
	case r.ClaimedAtMs == 0:
		return "never claimed"
	case r.Result == nil:
		return "no result reported"
	case r.Result.ExitCode != nil:
		return fmt.Sprintf("reported %s, exit status %d", r.Result.Status, *r.Result.ExitCode)
	}
	return "reported " + r.Result.Status
}

// LastText says how the newest run that was claimed ended, as far as it is known.
func (a Approval) LastText() string {
	runs := a.claimed()
	switch {
	case len(runs) == 0:
		return a.Run().Text()
	case runs[len(runs)-1].Result != nil && a.MayRunOn():
		return runs[len(runs)-1].Text() + ", perhaps of an earlier run"
	}
	return runs[len(runs)-1].Text()
}

// AllowedBy names whose yes the approval is, as in DecidedBy. People who let it run again
// later are not named.
func (a Approval) AllowedBy() []string {
	if len(a.RetriedBy) > 0 {
		return a.RetriedBy[0].Before.By
	}
	return a.DecidedBy
}

// lastClaimed gives the index in RetriedBy of the newest run that was claimed there; -1 if no run
// was.
func (a Approval) lastClaimed() int {
	for i, r := range slices.Backward(a.RetriedBy) {
		if r.Before.ClaimedAtMs != 0 {
			return i
		}
	}
	return -1
}

// claimed are the runs that were, oldest first.
func (a Approval) claimed() (out []Run) {
	for _, r := range a.RetriedBy {
		out = append(out, r.Before)
	}
	return slices.DeleteFunc(append(out, a.Run()), func(r Run) bool { return r.ClaimedAtMs == 0 })
}

// MayRunOn reports whether the newest claimed run may still be running: it has no result,
// or its result does not name its run and may be that of an earlier run, which has no
// result.
func (a Approval) MayRunOn() bool {
	runs := a.claimed()
	if len(runs) == 0 {
		return false
	}
	last := runs[len(runs)-1].Result
	return last == nil ||
		last.Unnamed && slices.ContainsFunc(runs[:len(runs)-1], func(r Run) bool { return r.Result == nil })
}

// Run is the newest one.
func (a Approval) Run() Run {
	return Run{By: a.DecidedBy, ClaimID: a.ClaimID, ClaimedAs: a.ClaimedAs, ClaimedAtMs: a.ClaimedAtMs, Result: a.Result}
}

// RunOf gives the run that a result without claimId is of: the newest that was claimed under the
// id that it is addressed by (as in ClaimedAs), else the newest that was claimed. If newest is
// true, it is the approval's newest; else earlier is its index in RetriedBy, -1 if no run was
// claimed.
func (a Approval) RunOf(as string) (newest bool, earlier int) {
	if a.ClaimedAtMs != 0 && a.ClaimedAs == as {
		return true, -1
	}
	for i, r := range slices.Backward(a.RetriedBy) {
		if r.Before.ClaimedAtMs != 0 && r.Before.ClaimedAs == as {
			return false, i
		}
	}
	return a.ClaimedAtMs != 0, a.lastClaimed()
}

// Alias is an id of the approval as ClaimedAs has it.
func (a Approval) Alias(id string) string {
	if id == a.ID {
		return ""
	}
	return id
}

// TellsOfRound reports whether the delivery is a message of the round that was opened last: it
// was made in the same step.
func (a Approval) TellsOfRound(d Delivery) bool {
	return d.Kind == RetryAskedDelivery && a.Round != nil && d.CreatedMs == a.Round.OpenedAtMs
}

// TellsOfRun reports whether the delivery is a message of a round on one more run after the newest.
func (a Approval) TellsOfRun(d Delivery) bool {
	n := len(a.RetriedBy)
	return d.Kind == RetryAskedDelivery && (n == 0 || d.CreatedMs > a.RetriedBy[n-1].AtMs)
}
