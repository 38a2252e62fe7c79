package core

import (
	"slices"

	"approvalbot/internal/approval"
)

// awaitsClaim reports whether people's yes waits to be claimed for the first time. Callers of a gateway's
// dialect run by its events and never claim.
func awaitsClaim(a approval.Approval) bool {
	yes := a.Status == approval.Approved && slices.ContainsFunc(a.Votes, approval.ByPeople)
	open := a.ClaimedAtMs == 0 && a.RevokedAtMs == 0 && a.GoneAtMs == 0 && a.Retries == 0
	return yes && open && a.Dialect == "" && !a.Drill()
}

// unclaimed notes that the time to claim an approved call is over, so that its cards do not go on saying that it may
// run. It takes no grant back: what a yes left for later calls stays, and people may still vote for a retry.
func unclaimed(a approval.Approval, now int64) Change {
	if !awaitsClaim(a) || now < a.ClaimUntilMs {
		return Change{Approval: a, Unchanged: true}
	}
	next := a.Clone()
	next.GoneAtMs = now
	return Change{Approval: next, Redraw: true}
}

// mayForgo reports whether the one asker may give a yes back: it is for this once, no other request may be about to
// claim it, and the call does not run without a claim.
func mayForgo(a approval.Approval, now int64) bool {
	waits := a.Status == approval.Approved && a.ClaimedAtMs == 0 && a.RevokedAtMs == 0 && now < a.ClaimUntilMs
	return waits && a.Decision == approval.AllowOnce && !a.Joined && a.Dialect == "" && !a.Drill()
}

// forgo takes back an approved call that was not claimed, for the program that asked for it and no longer waits.
func forgo(a approval.Approval, by string, now int64) (Change, error) {
	c, err := revoke(a, by, "", now)
	if err != nil || c.Unchanged {
		return c, err
	}
	c.Approval.GoneAtMs = now
	return c, nil
}
