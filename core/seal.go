package core

import (
	"approvalbot/internal/approval"
)

// asCall is the call of an approval.
func asCall(a approval.Approval, tool string, params []byte, bind *approval.Bind) approval.Call {
	return approval.Call{ToolName: tool, Params: params, Bind: bind,
		AgentID: a.AgentID, TokensAgent: a.TokensAgent, SessionKey: a.SessionKey,
		Origin: a.Origin, Requester: a.Requester, Context: a.Context, Dialect: a.Dialect, Owner: a.Owner, Scope: true}
}

// KeptSinceMs is since when the sealed call has been kept only for a retry; 0: it is not,
// because the approval is pending, or the call may not run any more. It counts from the
// last step of the call: the result, the claim, or else the end of the time to claim it. A
// once-approval that succeeded is not kept.
func KeptSinceMs(a approval.Approval) int64 {
	switch {
	case a.Status != approval.Approved || a.RevokedAtMs != 0:
		return 0
	case a.RanWell() && (a.Result != nil || a.ClaimedAtMs == 0) && a.Decision == approval.AllowOnce:
		return 0
	case a.Result != nil:
		return a.Result.AtMs
	case a.ClaimedAtMs != 0:
		return a.ClaimedAtMs
	}
	return a.ClaimUntilMs
}

// callGone reports whether the time for which the call is kept is over.
func callGone(a approval.Approval, rules *Rules, now int64) bool {
	since := KeptSinceMs(a)
	return rules.RetryWindowMs > 0 && since != 0 && now >= since+rules.RetryWindowMs
}

func retryDataGone() *approval.Error {
	return approval.Refuse(approval.CodeRetryDataGone, "Retry data not available: the call was deleted after it succeeded, "+
		"or its time is over (approvals.tools.retryWindow). The agent must ask again.")
}
