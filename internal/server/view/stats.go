package view

import (
	"approvalbot/api"
	"approvalbot/core"
)

// StatsOf is what was counted, for the API.
func StatsOf(s core.Stats) api.Stats {
	out := api.Stats{SinceMs: s.SinceMs, All: numbersOf(s.All), ByStatus: counts(s.ByStatus),
		ReasonCodes: counts(s.ReasonCodes),
		ByClass:     each(s.ByClass, numbersOf), ByAgent: each(s.ByAgent, numbersOf), ByTool: each(s.ByTool, numbersOf)}
	out.Approvers = each(s.Approvers, func(p core.PersonVotes) api.PersonVotes {
		return api.PersonVotes{Name: p.Name, Approved: p.Approved, Denied: p.Denied, Vote: api.Spread(p.Vote),
			SinceCard: api.Spread(p.SinceCard)}
	})
	return out
}

func numbersOf(n core.Numbers) api.Numbers {
	return api.Numbers{Name: n.Name, Calls: n.Calls, Asked: n.Asked, AskedPer100: n.AskedPer100, Expired: n.Expired,
		ExpiredShare: n.ExpiredShare, FirstCard: api.Spread(n.FirstCard), FirstLook: api.Spread(n.FirstLook),
		Decision: api.Spread(n.Decision)}
}

func counts(all []core.NameCount) []api.Count {
	return each(all, func(n core.NameCount) api.Count { return api.Count(n) })
}

// each makes of every one of a list something else; never nil.
func each[T, U any](all []T, of func(T) U) []U {
	out := make([]U, len(all))
	for i, x := range all {
		out[i] = of(x)
	}
	return out
}
