package people

import (
	"approvalbot/internal/approval"
)

// RoundState is an open round as people read it.
type RoundState struct {
	approval.RetryRound
	Tally Tally
}

// OpenRound gives the round that is open at that moment, as it counts under these people.
func OpenRound(a approval.Approval, d *Directory, now int64) (RoundState, bool) {
	r := a.OpenRound(now)
	if r == nil {
		return RoundState{}, false
	}
	view := a.Again(*r)
	s := RoundState{*r, TallyOf(view, d)}
	s.Votes = Standing(view, d)
	return s, true
}

// Text names the people who want another run, and the count: "retry asked by alice, 1 of
// 2 yes (alice)".
func (s RoundState) Text() string {
	return "retry asked by " + People([]string{s.By}) + ", " + s.Tally.RoundText()
}
