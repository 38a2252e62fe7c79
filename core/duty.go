package core

import (
	"slices"
	"strings"
)

// dutyPrefix begins the role of whoever is on duty by a roster.
const dutyPrefix = "onDuty:"

// RoleOnDuty is the role of whoever is on duty by a roster.
func RoleOnDuty(roster string) string { return dutyPrefix + roster }

// DutyRole gives the roster whose people on duty have that role; false: it is a role
// that people have by themselves.
func DutyRole(role string) (roster string, ok bool) { return strings.CutPrefix(role, dutyPrefix) }

// mayHave reports whether a person has the role, or may have it while on duty.
func (d *Directory) mayHave(role string, p Person) bool {
	if roster, duty := DutyRole(role); duty {
		return p.Name != "" && slices.Contains(d.duty.Among(roster), p.Name)
	}
	return slices.Contains(p.Roles, role)
}
