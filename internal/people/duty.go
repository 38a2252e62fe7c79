package people

import (
	"slices"
	"strings"
	"time"

	"approvalbot/internal/approval"
)

// dutyPrefix begins the role that a roster gives to the person on duty.
const dutyPrefix = "onDuty:"

// RoleOnDuty is the role that a roster gives to the person on duty.
func RoleOnDuty(roster string) string { return dutyPrefix + roster }

// DutyRole gives the roster whose people on duty have that role; false: it is a role
// that people have by themselves.
func DutyRole(role string) (roster string, ok bool) { return strings.CutPrefix(role, dutyPrefix) }

// OnDuty are the rosters by which a person is on duty at the Directory's moment.
func (d *Directory) OnDuty(person string) (rosters []string) {
	if d.now.IsZero() || person == "" {
		return nil
	}
	for _, r := range d.Duty.Rosters() {
		if d.Duty.Has(r.Name, person, d.now) {
			rosters = append(rosters, r.Name)
		}
	}
	return rosters
}

// CountsForMore reports whether a vote now meets a need that the same voter's vote did
// not meet before: the voter is on duty by now, or has become a delegate.
func CountsForMore(a approval.Approval, before, now approval.Vote, d *Directory) bool {
	return standsForMore(a, before, now, d) || slices.ContainsFunc(a.Rule.Needs, func(n approval.Need) bool { return d.Meets(n, now, "") && !d.Meets(n, before, "") })
}

// mayHave reports whether a person has the role, or may have it while on duty.
func (d *Directory) mayHave(role string, p Person) bool {
	if roster, duty := DutyRole(role); duty {
		return p.Name != "" && slices.Contains(d.Duty.Among(roster), p.Name)
	}
	return slices.Contains(p.Roles, role)
}

// Zone is the time zone in which a person is told times; nil if not known.
func (d *Directory) Zone(person string) *time.Location { return d.People[person].Zone }
