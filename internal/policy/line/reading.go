package line

import (
	"approvalbot/internal/policy/budget"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/workspace"
)

// Reading reads the commands of one call. Its own methods walk over the syntax with a frame in
// hand; those of its two parts need no more than that part.
type Reading struct {
	verdict
	flow
}

// Read begins to read the commands of one call, which run at the place. Reading them
// panics with budget.Spent when the steps are not enough.
func (e *Wide) Read(steps *budget.Budget, p workspace.Place, v *Seen, paths *[]workspace.File) *Reading {
	s := &Reading{verdict: verdict{wide: e, steps: steps, seen: v}}
	s.Reader = workspace.Reader{Own: e.own, Place: p, Found: &s.Found, Paths: paths}
	if v != nil {
		s.arena = v.words
		if v.Notes != nil {
			s.Noted = v.Notes.Word
		}
	}
	if p.Windows {
		s.Found.Add(finding.WindowsShell)
	}
	if p.Away {
		s.Found.Add(finding.OtherHost)
	}
	return s
}
