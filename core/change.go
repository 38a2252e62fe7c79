package core

import (
	"approvalbot/internal/approval"
	"approvalbot/internal/people"
)

// Change is what one step leaves behind. The store commits it whole, in one transaction, or
// not at all; an empty member costs no work.
type Change struct {
	Approval   approval.Approval   // the new state; the store raises Version
	New        bool                // Approval is to be inserted, not updated
	Aliases    []string            // further ids under which its owner finds it
	Events     []approval.Event    // appended to the log, in order
	Seal       []byte              // canonical call to keep sealed
	Unseal     bool                // delete the sealed call
	Deliveries []approval.Delivery // new deliveries; a card whose state is Folded joins its place's digest
	Open       []approval.Target   // the cards that are folded there are sent now
	Grants     []approval.Grant    // standing permissions and cool-downs that the step leaves
	EndGrants  bool                // the grants that this approval left end
	EndGrant   string              // id of the cool-down that ends before its time, or empty
	// Ends, if not nil, is asked of each grant that could speak about the approval's call, before Grants
	// are added: true ends it, with that event in the log.
	Ends func(approval.Grant) (approval.Event, bool)
	Tool *approval.ToolSeen // what was said of the tool of a call that is handed out
	// TriedUntilMs, if not 0, is until when the same call of the same owner and agent asks because it failed
	// confined.
	TriedUntilMs int64
	Passkey      *PasskeyUse          // what a signature used up
	Redraw       bool                 // every card of it wants to be edited to the new state
	Handled      *approval.InboundRef // the platform update that caused it: handled once this is committed
	HandsOut     bool                 // the call is handed out: the store refuses it if its log says otherwise than the approval
	Unchanged    bool                 // Approval is not to be written: the step found its work done
	Refusal      *approval.Error      // what the caller is told although the change is committed
	// Policy is the hash of the policy that the step depends on, or empty. If another
	// policy counts at the commit, the store writes no part of the change (see
	// [Changes.Agreed]).
	Policy string
	// Absences is the revision of the absences that the step counts a yes under, or 0. If
	// there are newer ones at the commit, the store writes no part of the change and gives
	// ErrAbsences.
	Absences int64
	// NotDenied is given, at the commit, the grants and cool-downs that could apply to the
	// approval's call: if it gives an error, the store writes no part of the change. nil:
	// they are not read.
	NotDenied func([]approval.Grant) error
	// CoolDownReason, if not empty, is the reason of the cool-down that this approval left, if one lasts.
	CoolDownReason string
}

// AbsenceChange is what it leaves behind if a person says that they go away or are back.
// The zero AbsenceChange leaves the absences as they are.
type AbsenceChange struct {
	Person  string
	Absence *people.Absence // nil: they are back
	Event   approval.Event
}
