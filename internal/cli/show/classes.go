package show

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"approvalbot/api"
)

// ClassNeeds says how many approvals the class needs, and whether a person must give or sign one.
func ClassNeeds(p api.ClassPolicy) string {
	s := fmt.Sprint(p.MinApprovals)
	if p.StepUp {
		return s + ", signed"
	}
	if p.RequiresHuman {
		s += ", human"
	}
	return s
}

// whoWidth is the room for names in the table, which fits 80 characters.
const whoWidth = 22

// ClassWho says who could approve the class, by name if there is room, or that
// no one could.
func ClassWho(p api.ClassPolicy) string {
	words := slices.Clone(p.People)
	if p.Unmapped > 0 && p.MinApprovals <= 1 {
		words = append(words, fmt.Sprintf("%d unnamed", p.Unmapped))
	}
	if p.Open {
		words = append(words, "role holders")
	}
	text := strings.Join(words, ", ")
	switch {
	case len(words) == 0:
		return "no approver"
	case !p.Reachable:
		text += ": too few"
	}
	if utf8.RuneCountInString(text) <= whoWidth {
		return text
	}
	short := fmt.Sprintf("%d people", len(p.People))
	switch {
	case !p.Reachable:
		return short + ": too few"
	case len(words) > len(p.People):
		return short + " and more"
	}
	return short
}
