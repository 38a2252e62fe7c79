package core

import (
	"time"

	"approvalbot/internal/approval"
	"approvalbot/internal/people"
)

// PushChannel is the channel of notifications to browsers; its chats are the ids of
// subscriptions.
const PushChannel = "push"

// notifications adds one for each subscribed browser of a person who could decide a new
// approval. In the person's quiet hours it waits for their end. If the owner asks too much
// at once, no browser is notified: lately is how many cards of that owner's were made for
// each place in the last minute.
func (c Change) notifications(all []Subscriber, lately map[approval.Target]int, rules *Rules, now int64) Change {
	a := c.Approval
	flood := false
	for _, n := range lately {
		flood = flood || rules.DigestAbove > 0 && n >= rules.DigestAbove
	}
	if a.Final() || len(all) == 0 || flood && a.Assessment.RiskClass < approval.R4 {
		return c
	}
	for _, person := range people.Contacts(a, rules.People) {
		due := now
		if quiet(a, person.Name, rules, now) {
			due = rules.Contact.Quiet[person.Name].End(time.UnixMilli(now)).UnixMilli()
		}
		for _, s := range all {
			if s.Person == person.Name {
				d := a.Delivery(approval.PushDelivery, approval.Target{Channel: PushChannel, To: s.ID}, now)
				d.DueMs = due
				c.Deliveries = append(c.Deliveries, d)
			}
		}
	}
	return c
}
