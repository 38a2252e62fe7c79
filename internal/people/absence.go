package people

import (
	"maps"
	"slices"
	"time"

	"approvalbot/internal/approval"
)

// Absence records that a person is away, until when, and who their delegate is. The
// delegate gets the person's own roles: not their account, not their place among the
// approvers, not the roles that others lend them.
type Absence struct {
	Person  string `json:"person"`
	To      string `json:"to,omitempty"` // the delegate; empty if no one is
	SinceMs int64  `json:"sinceMs"`
	UntilMs int64  `json:"untilMs"` // from then on it is over
	By      string `json:"by"`      // who said so: "person:alice", "token:ops"
}

// Absences are all that were said and not taken back, of at most one each person.
type Absences struct {
	// Revision changes with every change of the absences, and is never 0. A yes is
	// counted under one of them: see Change.Absences.
	Revision int64
	All      []Absence
}

// Unread means that absences were not loaded: no roles are lent, and no yes is
// counted with them.
var Unread = Absences{Revision: -1}

// Lasts reports whether it is so at that moment.
func (a Absence) Lasts(now int64) bool { return a.SinceMs <= now && now < a.UntilMs }

// Live are those that last at that moment, by person.
func (s Absences) Live(now int64) map[string]Absence {
	out := map[string]Absence{}
	for _, a := range s.All {
		if a.Lasts(now) {
			out[a.Person] = a
		}
	}
	return out
}

// At gives the Directory at a moment, with the people who are on duty and away then.
func (d *Directory) At(now time.Time, absences ...Absence) *Directory {
	view := *d
	view.now, view.away = now, nil
	if len(absences) > 0 {
		view.away = Absences{All: absences}.Live(now.UnixMilli())
	}
	return &view
}

// Away gives a person's absence, if they are away.
func (d *Directory) Away(person string) (Absence, bool) {
	a, away := d.away[person]
	return a, away
}

// Absent are those who are away, by name.
func (d *Directory) Absent() (out []Absence) {
	for _, name := range slices.Sorted(maps.Keys(d.away)) {
		out = append(out, d.away[name])
	}
	return out
}

// StandsIn gives the person's delegate, or "" if no one is. If the chain of
// delegates leads back to the person, it is "" too; AdmitsAbsence refuses such a
// circle, so this is only a safeguard.
func (d *Directory) StandsIn(person string) (to string) {
	to = d.away[person].To
	if to == "" || !d.Known(to) {
		return ""
	}
	for next, n := to, len(d.away); n >= 0 && next != ""; n-- {
		if next == person {
			return ""
		}
		next = d.away[next].To
	}
	return to
}

// seat names the one seat that a person shares with all people joined to them by
// delegations, directly or through others: being away must not add to a quorum.
func (d *Directory) seat(person string) string {
	for to := d.StandsIn(person); to != ""; to = d.StandsIn(person) {
		person = to
	}
	return person
}

// Lenders gives the names of the people in whose place the voter's yes may be counted on
// this approval. Each of them is away, has this voter as delegate, could give that very
// yes themselves, and would meet a need. Askers neither lend nor borrow roles, even if
// people may approve their own requests.
func Lenders(a approval.Approval, v approval.Voter, d *Directory) (out []string) {
	if len(d.away) == 0 || v.Person == "" || !WeightOf(a, v, d).Approvers || d.IsAsker(v, a.Askers) {
		return nil
	}
	for lender := range d.away {
		if d.StandsIn(lender) == v.Person && couldAllow(a, lender, d) && isNeeded(a, lender, d) {
			out = append(out, lender)
		}
	}
	slices.Sort(out)
	return out
}

// couldAllow reports whether a person's yes would count toward the approvers' need, by
// the configuration alone. A role in a chat is seen only at the tap, so it cannot be
// lent.
func couldAllow(a approval.Approval, person string, d *Directory) bool {
	may := false
	for _, v := range d.AccountsOf(person) {
		v.Roles = nil
		if d.IsAsker(v, a.Askers) {
			return false
		}
		may = may || WeightOf(a, v, d).Approvers
	}
	return may
}

// isNeeded reports whether a person's own roles meet a need of the approval.
func isNeeded(a approval.Approval, person string, d *Directory) bool {
	return slices.ContainsFunc(a.Rule.Needs, func(n approval.Need) bool { return d.hasRole(n, person) })
}

// hasRole reports whether a person has a role of their own. Duty is not such a role: a
// person who is on duty and away lends it to no delegate.
func (d *Directory) hasRole(n approval.Need, person string) bool {
	_, duty := DutyRole(n.Role)
	return !duty && slices.Contains(d.People[person].Roles, n.Role)
}

// AsOf gives the votes as they count under this Directory: each names the people in
// whose place it may be counted, and those it shares a seat with. The votes of an
// ended approval do not change.
//
// A yes counts in a person's place only if it did when it was given, still does, and was
// given in this same absence: if an absence begins or ends later, no yes gets a meaning
// that its voter did not intend.
func AsOf(a approval.Approval, d *Directory) []approval.Vote {
	if a.Final() || len(a.Votes) == 0 {
		return a.Votes
	}
	out := slices.Clone(a.Votes)
	taken := map[string]string{} // seat to the person whose yes was first
	for i, v := range out {
		if !approval.ByPeople(v) {
			continue
		}
		out[i].For, out[i].With = nil, ""
		if v.Verdict != approval.Approve || v.Voter.Person == "" || !WeightNow(a, v, d).Approvers {
			continue
		}
		today := Lenders(a, *v.Voter, d)
		for _, lender := range v.For {
			if slices.Contains(today, lender) && v.DecidedAtMs >= d.away[lender].SinceMs {
				out[i].For = append(out[i].For, lender)
			}
		}
		seat := d.seat(v.Voter.Person)
		if first, filled := taken[seat]; filled && first != v.Voter.Person {
			out[i].With = first
		} else {
			taken[seat] = v.Voter.Person
		}
	}
	return out
}

// LentStill gives the votes of an ended approval, with For and With as they settled it: people who left
// or came back since then do not change them. A lender who could not allow it any more is left out.
func LentStill(a approval.Approval, d *Directory) []approval.Vote {
	out := slices.Clone(a.Votes)
	for i, v := range out {
		out[i].For = slices.DeleteFunc(slices.Clone(v.For), func(lender string) bool { return !couldAllow(a, lender, d) })
	}
	return out
}

// It reports whether a vote may be counted in the place of a person for whose place the
// voter's previous vote may not.
func standsForMore(a approval.Approval, before, now approval.Vote, d *Directory) bool {
	a.Votes = []approval.Vote{before}
	had := AsOf(a, d)[0].For
	return slices.ContainsFunc(now.For, func(lender string) bool { return !slices.Contains(had, lender) })
}

// LentTo are those in whose stead the votes may have been taken, as DecidedBy names people.
func LentTo(votes []approval.Vote) (out []string) {
	for _, v := range votes {
		for _, lender := range v.For {
			if name := (approval.Voter{Person: lender}).Name(); !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}
