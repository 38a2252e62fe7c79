package core

import (
	"slices"

	"approvalbot/internal/approval"
)

// Asked reports whether people were asked about it: it waits or waited for them.
func Asked(a approval.Approval) bool {
	if a.Status != approval.Approved && a.Status != approval.Denied || slices.ContainsFunc(a.Votes, approval.ByPeople) {
		return true
	}
	return slices.ContainsFunc(a.Deliveries, func(d approval.Delivery) bool { return d.Kind == approval.CardDelivery })
}

// FirstCardMs is when the first of its cards arrived in a chat; 0: no card has.
func FirstCardMs(a approval.Approval) (first int64) {
	for _, d := range a.Deliveries {
		if d.Kind == approval.CardDelivery && d.SentMs != 0 && (first == 0 || d.SentMs < first) {
			first = d.SentMs
		}
	}
	return first
}
