package program

import (
	"maps"
	"slices"
	"strings"

	"approvalbot/internal/approval"
	"approvalbot/internal/policy/finding"
)

// Use is a way to call a program: a subcommand or an option, and what the call is then, if its other
// words do not make it worse.
type Use struct {
	Words string // as "push" or "with --force"; empty: the program as such
	Class approval.RiskClass
	Codes []string
	Text  string // sentences for people
}

// Uses says the row of a program in words; false: the table has no row, so each call of it
// asks.
func Uses(name string) ([]Use, bool) {
	e := known(name)
	if e == nil {
		return nil, false
	}
	return e.uses(nil, ""), true
}

func (e *entry) uses(out []Use, verb string) []Use {
	add := func(words string, codes []finding.Code) {
		if len(codes) > 0 {
			out = append(out, useOf(strings.TrimSpace(verb+" "+words), codes))
		}
	}
	add("", e.codes)
	switch {
	case e.verbs != nil || e.globs != nil:
		add("(alone)", e.bare)
		add("(any other subcommand)", e.otherwise)
	case e.project != nil && len(e.codes) == 0:
		add("", []finding.Code{finding.RunsProjectCode})
	}
	add("(with other words)", e.named)
	if len(e.needs) > 0 {
		add("(without an option that it needs)", e.lacks)
	}
	add("(with a word that is not recognised)", e.unread)
	for _, r := range e.raises {
		add("(with "+strings.Join(r.words, " ")+")", []finding.Code{r.code})
	}
	for _, name := range slices.Sorted(maps.Keys(e.doc.Verbs)) {
		out = e.sub(name).uses(out, strings.TrimSpace(verb+" "+strings.ReplaceAll(name, " ", ", ")))
	}
	return out
}

// sub is the subcommand with those names in the table.
func (e *entry) sub(names string) *entry {
	list := strings.Fields(names)
	if s := e.verbs[list[0]]; s != nil {
		return s
	}
	return e.globs[slices.IndexFunc(e.globs, func(g globVerb) bool { return slices.Contains(list, g.glob) })].entry
}

func useOf(words string, codes []finding.Code) Use {
	u := Use{Words: words}
	var said []string
	for _, c := range codes {
		r := finding.Reasons[c]
		u.Class, u.Codes, said = max(u.Class, r.Class), append(u.Codes, r.Name), append(said, r.Text)
	}
	u.Text = strings.Join(said, " ")
	return u
}
