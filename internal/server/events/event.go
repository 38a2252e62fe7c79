package events

import (
	"encoding/json"
	"fmt"
	"sync"

	"approvalbot/api"
	"approvalbot/internal/approval"
	"approvalbot/internal/people"
	"approvalbot/internal/server/view"
)

// public are the types of the log's entries that listeners get. All others are for
// auditors.
var public = sync.OnceValue(func() map[approval.EventType]bool {
	return map[approval.EventType]bool{
		approval.EventRequested: true, approval.EventVote: true, approval.EventResolved: true, approval.EventExpired: true,
		approval.EventWithdrawn: true, approval.EventRevoked: true, approval.EventResult: true, approval.EventReminded: true, approval.EventEscalated: true,
	}
})

// Public reports whether listeners get entries of that type, or auditors alone.
func Public(t approval.EventType) bool { return public()[t] || ofPeople(t) }

// ofPeople reports whether entries of that type are about a person, and for operators.
func ofPeople(t approval.EventType) bool { return t == approval.EventAway || t == approval.EventBack }

// absenceOf is an entry about a person as operators see it.
func absenceOf(e approval.Event) (out api.AbsenceEvent, err error) {
	out.Type, out.Seq, out.AtMs = string(e.Type), e.Seq, e.AtMs
	var said struct {
		people.Absence
		EndedBy string `json:"endedBy"`
	}
	if err = json.Unmarshal(e.Data, &said); err != nil {
		return out, fmt.Errorf("log record %d cannot be read: %w", e.Seq, err)
	}
	out.Absence, out.EndedBy = view.AbsenceOf(said.Absence), said.EndedBy
	return out, nil
}

// eventOf is an entry of the log as programs see it; nil for those that they
// never see.
func eventOf(e approval.Event) (*api.Event, error) {
	if !public()[e.Type] {
		return nil, nil
	}
	var facts struct {
		api.Event
		Assessment approval.Assessment `json:"assessment"`
		Rule       approval.Rule       `json:"approvers"`
		Votes      []approval.Vote     `json:"votes"`
		Vote       *approval.Vote      `json:"vote"`
	}
	if err := json.Unmarshal(e.Data, &facts); err != nil {
		return nil, fmt.Errorf("log record %d cannot be read: %w", e.Seq, err)
	}
	out := facts.Event
	out.Type, out.Seq, out.AtMs, out.Owner = string(e.Type), e.Seq, e.AtMs, e.Owner
	out.DecidedBy = view.Names(out.DecidedBy)
	out.RiskClass, out.SideEffects = facts.Assessment.RiskClass.String(), view.Names(facts.Assessment.SideEffects)
	out.Confidence, out.Source, out.ReasonCodes = facts.Assessment.Confidence, facts.Assessment.Source,
		view.Names(facts.Assessment.ReasonCodes)
	out.Approvers, out.Votes = view.ApproversOf(facts.Rule), view.VotesOf(facts.Votes)
	if facts.Vote != nil {
		out.Vote = &view.VotesOf([]approval.Vote{*facts.Vote})[0]
	}
	return &out, nil
}
