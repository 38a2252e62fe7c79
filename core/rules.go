package core

import (
	"time"

	"approvalbot/internal/approval"
	"approvalbot/internal/assertion"
	"approvalbot/internal/people"
	"approvalbot/internal/schedule"
)

// Rules is what the operator configured, as one immutable snapshot.
type Rules struct {
	Enabled      bool
	Policy       Policy
	People       *people.Directory
	Router       Router
	Classifier   Classifier // nil: not configured
	Verifier     Verifier   // nil: not configured
	Solo         bool       // selfApproval: solo
	Clamp        bool       // clampMinApprovals
	TimeoutMs    int64      // default life of a pending approval
	MaxTimeoutMs int64
	// RetryWindowMs is how long an approved call is kept for a retry after its last
	// use, see Approval.KeptSinceMs; 0: for as long as its approval.
	RetryWindowMs int64

	// Contact says who is told of an approval that is not decided, and when. Its Groups are
	// the chats that get the approval's own cards, and are not set in here.
	Contact schedule.Contact
	// Zones are the time zones of the people in a chat, for what a platform does not write
	// in the reader's own; a thread that is not named has its chat's.
	Zones map[approval.Target]*time.Location

	BreaksQuiet approval.RiskClass // from this class on people are reached in their quiet hours, too
	DigestAbove int                // so many cards of an owner a minute in a chat; more are one list. 0: never
	Classes     []ClassRule        // whose yes the classes need that people are asked about
	Objective   Objective
	Push        bool          // browsers that people have subscribed are notified
	Drill       schedule.Cron // when each route is tried; zero: never

	// Owners are the tokens that may ask, each with its person, or "". A call that another
	// token asked before does not run again.
	Owners map[string]string

	Site assertion.Site // of the desk's own pages; zero: no passkeys, so no yes can be signed

	absences people.Absences // those that People are seen with
}

// at is the snapshot with the people as they are at that moment, and the same absences.
func (r Rules) at(now time.Time) Rules {
	r.People = r.People.At(now, r.absences.All...)
	return r
}

// ClassRule is whose yes a class needs for itself. What a call touches may ask for more.
type ClassRule struct {
	Class approval.RiskClass
	Rule  approval.Rule
}

// Objective is how soon people are to decide. The zero Objective sets no aim.
type Objective struct {
	DecidedWithin time.Duration
	Share         float64 // of what they are asked
}

// zone is the time zone of the people in a chat: UTC if no zone is configured.
func (r *Rules) zone(place approval.Target) *time.Location {
	place = place.Normal()
	for _, t := range []approval.Target{place, place.Chat()} {
		if zone := r.Zones[t]; zone != nil {
			return zone
		}
	}
	return time.UTC
}
