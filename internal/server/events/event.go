package events

import (
	"encoding/json"
	"fmt"
	"sync"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/internal/server/view"
)

// public are the types of the log's entries that listeners get. All others are for
// auditors.
var public = sync.OnceValue(func() map[core.EventType]bool {
	return map[core.EventType]bool{
		core.EventRequested: true, core.EventVote: true, core.EventResolved: true, core.EventExpired: true,
		core.EventWithdrawn: true, core.EventRevoked: true, core.EventResult: true, core.EventReminded: true, core.EventEscalated: true,
	}
})

// Public reports whether listeners get entries of that type, or auditors alone.
func Public(t core.EventType) bool { return public()[t] || ofPeople(t) }

// ofPeople reports whether entries of that type are about a person, and for operators.
func ofPeople(t core.EventType) bool { return t == core.EventAway || t == core.EventBack }

// absenceOf is an entry about a person as operators see it.
func absenceOf(e core.Event) (out api.AbsenceEvent, err error) {
	out.Type, out.Seq, out.AtMs = string(e.Type), e.Seq, e.AtMs
	var said struct {
		core.Absence
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
func eventOf(e core.Event) (*api.Event, error) {
	if !public()[e.Type] {
		return nil, nil
	}
	var facts struct {
		api.Event
		Assessment core.Assessment `json:"assessment"`
		Rule       core.Rule       `json:"approvers"`
		Votes      []core.Vote     `json:"votes"`
		Vote       *core.Vote      `json:"vote"`
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
		out.Vote = &view.VotesOf([]core.Vote{*facts.Vote})[0]
	}
	return &out, nil
}
