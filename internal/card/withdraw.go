package card

import (
	"approvalbot/internal/approval"
)

// withdrawalText is the reason that the asker gave for the withdrawal: the asker's
// claim, never the desk's word.
func withdrawalText(a approval.Approval) string {
	if a.Status != approval.Withdrawn || a.SupersededBy != "" || a.Reason == approval.WithdrawnByRequester {
		return ""
	}
	return a.Reason
}
