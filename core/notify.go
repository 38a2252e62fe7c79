package core

import (
	"approvalbot/internal/approval"
)

// callBack gives the delivery that tells the owner the approval's state, if the owner wants
// to be called. The approval's key is its chat: calls for one approval keep their order,
// and do not wait for another approval's call that hangs.
func callBack(a approval.Approval, now int64) []approval.Delivery {
	if a.CallbackURL == "" {
		return nil
	}
	return []approval.Delivery{a.Delivery(approval.CallbackDelivery, approval.Target{Channel: approval.CallbackChannel, To: a.Key}, now)}
}

// notify gives the delivery that tells the session chat something, unless a card
// there shows it already or it was told before. Each retry is another one, and so is
// each result.
func notify(a approval.Approval, kind approval.DeliveryKind, now int64) []approval.Delivery {
	if a.Origin == nil {
		return nil
	}
	place := a.Origin.Normal()
	once := kind != approval.RetryDelivery && kind != approval.ResultDelivery
	for _, d := range a.Deliveries {
		card := d.Kind == approval.CardDelivery && d.State != approval.Failed
		if d.Target.Normal() == place && (card || once && d.Kind == kind) {
			return nil
		}
	}
	return []approval.Delivery{a.Delivery(kind, place, now)}
}
