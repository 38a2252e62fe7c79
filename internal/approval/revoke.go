package approval

import "slices"

// MayBeTakenBack reports whether people's yes waits to be claimed, so that the call has not run by it. Callers of a
// gateway's dialect run by its events, and never claim.
func (a Approval) MayBeTakenBack(now int64) bool {
	open := a.Status == Approved && a.ClaimedAtMs == 0 && a.RevokedAtMs == 0 && a.GoneAtMs == 0 && now < a.ClaimUntilMs
	return open && a.Dialect == "" && !a.Drill() && slices.ContainsFunc(a.Votes, ByPeople)
}
