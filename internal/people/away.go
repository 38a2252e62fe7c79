package people

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"approvalbot/internal/approval"
	"approvalbot/internal/assertion"
)

// maxAway is how long a person may be away at a time.
const maxAway = 366 * 24 * time.Hour

// AdmitsAbsence returns why the absence is refused beside the other absences, or nil. A
// delegate must already be an approver. The absent person must be one by more than a
// chat's role, which the desk cannot see while they are away. A chain of delegates must
// not lead back to its start.
func (d *Directory) AdmitsAbsence(a Absence, others Absences) *approval.Error {
	last := time.UnixMilli(a.SinceMs).Add(maxAway).UnixMilli()
	switch {
	case !d.Known(a.Person):
		return NoSuchPerson(a.Person)
	case a.UntilMs <= a.SinceMs:
		return approval.Invalid(approval.FieldError{Field: "untilMs", Problem: "must be a time " +
			"in the future, in Unix milliseconds"})
	case a.UntilMs > last:
		return approval.Invalid(approval.FieldError{Field: "untilMs", Problem: fmt.Sprintf("must be within the next %d days", int(maxAway.Hours()/24))})
	case a.To == "":
		return nil
	case a.To == a.Person:
		return approval.Invalid(approval.FieldError{Field: "to", Problem: "must be another person"})
	case !d.isApprover(a.To, true):
		return approval.Invalid(approval.FieldError{Field: "to", Problem: "must be an approver already: being a delegate does not make a person an approver"})
	case !d.isApprover(a.Person, false):
		return approval.Invalid(approval.FieldError{Field: "to", Problem: "must be empty: a person who is not an " +
			"approver, or only by a role in a chat, has no right to lend"})
	}
	away := others.Live(a.SinceMs)
	away[a.Person] = a
	view := *d
	if view.away = away; view.StandsIn(a.Person) == "" {
		return approval.Invalid(approval.FieldError{Field: "to", Problem: "must not lead back: " + view.circle(a.Person) + " would be each other's delegates"})
	}
	return nil
}

// circle names those of a circle of delegations, from one on.
func (d *Directory) circle(from string) string {
	names := []string{from}
	for to := d.away[from].To; to != from && len(names) <= len(d.away); to = d.away[to].To {
		names = append(names, to)
	}
	return strings.Join(names, ", ")
}

// isApprover reports whether a person may decide somewhere; byRole: perhaps by a role of
// a chat that they may hold.
func (d *Directory) isApprover(person string, byRole bool) bool {
	p, known := d.People[person]
	may := slices.ContainsFunc(d.AccountsOf(person), func(v approval.Voter) bool {
		v.Roles = nil
		return d.MayDecide(v)
	})
	return known && (may || byRole && d.byRole(p))
}

func NoSuchPerson(name string) *approval.Error {
	return approval.Refuse(approval.CodeNotFound, "There is no person named %.64q in the configuration.", name)
}

// MetNow reports whether those who are present could allow the approval, beside the yes
// that there is.
func MetNow(a approval.Approval, d *Directory) bool {
	_, _, open := d.Eligible(nil)
	if open && a.Rule.AsksApprovers() { // there may be more than can be named
		return true
	}
	now := d.now.UnixMilli()
	add := func(v approval.Voter) {
		yes := approval.Vote{Approver: approval.UserRequest, Verdict: approval.Approve, Decision: approval.AllowOnce, Voter: &v, DecidedAtMs: now}
		if a.Rule.StepUp {
			if !d.maySign(v) {
				return
			}
			yes.Signature = &assertion.Signature{PolicyHash: a.PolicyHash}
		}
		if w := WeightNow(a, yes, d); !w.Approvers && !w.Verifier {
			return
		}
		yes.For, yes.OnDuty = Lenders(a, v, d), d.mayBeOnDuty(v.Person)
		a.Votes = append(a.Votes, yes)
	}
	a = a.Clone()
	a.Votes = slices.DeleteFunc(Standing(a, d), func(v approval.Vote) bool { return v.Verdict != approval.Approve })
	for _, name := range slices.Sorted(maps.Keys(d.People)) {
		if _, away := d.Away(name); away {
			continue
		}
		for _, v := range d.AccountsOf(name) {
			add(v)
		}
	}
	all := d.accounts()
	if a.Rule.Verifier != nil {
		all = append(all, d.listed(a.Rule.Verifier, a.AgentID)...)
	}
	for _, v := range all {
		if v = d.Identify(v); v.Person == "" {
			add(v)
		} else if _, away := d.Away(v.Person); !away { // the verifier's, in whose name no account may decide
			add(v)
		}
	}
	return TallyOf(a, d).Outcome == approval.Approved
}

// mayBeOnDuty are the rosters by which a person may be on duty.
func (d *Directory) mayBeOnDuty(person string) (rosters []string) {
	for _, r := range d.Duty.Rosters() {
		if person != "" && slices.Contains(d.Duty.Among(r.Name), person) {
			rosters = append(rosters, r.Name)
		}
	}
	return rosters
}

// missed names those who are away and could decide the approval, with how long.
func missed(a approval.Approval, d *Directory) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(d.away)) {
		if slices.ContainsFunc(d.AccountsOf(name), func(v approval.Voter) bool { return Counts(a, v, d) }) {
			out = append(out, name+" until "+approval.TimeText(d.away[name].UntilMs, time.Local))
		}
	}
	if n := len(out) - 3; n > 0 {
		out = append(out[:3], fmt.Sprintf("%d more", n))
	}
	return strings.Join(out, ", ")
}

// WithoutApprovers notes on the approval that no present person could allow it, if the
// reason is that people are away. It still waits: they may come back, or answer all the
// same.
func WithoutApprovers(a approval.Approval, d *Directory) approval.Approval {
	if len(d.away) == 0 || MetNow(a, d) {
		return a
	}
	who := missed(a, d)
	if who == "" {
		return a
	}
	a.Assessment.ReasonCodes = append(slices.Clone(a.Assessment.ReasonCodes), approval.ReasonAway)
	a.Why = append([]string{"No available approver can allow this: away are " + who + "."}, a.Why...)
	return a
}
