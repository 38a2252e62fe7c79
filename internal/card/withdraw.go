package card

import (
	"approvalbot/internal/approval"
)

// withdrawalText are what whoever asked gave as the reason of the withdrawal: their
// claim, never the desk's word.
func withdrawalText(a approval.Approval) string {
	if a.Status != approval.Withdrawn || a.SupersededBy != "" || a.Reason == approval.WithdrawnByRequester {
		return ""
	}
	return a.Reason
}
