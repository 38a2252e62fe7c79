package view

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/core"
)

const second = 1000

// asked is an approval of a class that people were asked about at a time, with a card
// that stood in its chat a second later.
func asked(tool string, class core.RiskClass, status core.Status, tookMs int64, votes ...core.Vote) core.Approval {
	a := core.Approval{Status: status, ToolName: tool, AgentID: "bot", CreatedAtMs: 5 * second, Votes: votes,
		Assessment: core.Assessment{RiskClass: class, ReasonCodes: []string{"exec-delete"}},
		Deliveries: []core.Delivery{{Kind: core.CardDelivery, SentMs: 6 * second}}}
	if status != core.Pending {
		a.ResolvedAtMs = a.CreatedAtMs + tookMs
	}
	if len(votes) > 0 {
		a.LookedAtMs = votes[0].DecidedAtMs
	}
	return a
}

// vote is a person's, so long after the request.
func vote(name string, verdict core.Verdict, afterMs int64) core.Vote {
	return core.Vote{Approver: core.UserRequest, Verdict: verdict, Voter: &core.Voter{Person: name},
		DecidedAtMs: 5*second + afterMs}
}

func TestStats(t *testing.T) {
	t.Parallel()
	refused := asked("deploy", core.R3, core.Expired, 900*second)
	refused.LookedAtMs = 105 * second
	settled := core.Approval{Status: core.Approved, ToolName: "read", CreatedAtMs: 1, ResolvedAtMs: 1,
		Votes: []core.Vote{{Approver: core.RulesBased, Verdict: core.Approve}}}
	drill := asked(core.DrillTool, core.R0, core.Expired, 1)
	stranger := vote("", core.Approve, 30*second)
	stranger.Voter = &core.Voter{Channel: "telegram", UserID: "7"}
	var c Counter
	for _, a := range []core.Approval{
		asked("exec", core.R3, core.Approved, 2*second, vote("alice", core.Approve, 2*second)),
		asked("exec", core.R4, core.Denied, 60*second, vote("alice", core.Approve, 20*second), vote("bob", core.Reject, 60*second)),
		asked("exec", core.R4, core.Pending, 0, stranger),
		settled, refused, drill,
	} {
		c.Add(a)
	}
	s := c.Stats(7)
	require.EqualValues(t, 7, s.SinceMs)
	require.Equal(t, api.Numbers{
		Calls: 5, Asked: 4, AskedPer100: 80, Expired: 1, ExpiredShare: 0.3333,
		FirstCard: api.Spread{Count: 4, MedianMs: second, P90Ms: second},
		FirstLook: api.Spread{Count: 4, MedianMs: 20 * second, P90Ms: 100 * second},
		Decision:  api.Spread{Count: 2, MedianMs: 2 * second, P90Ms: 60 * second},
	}, s.All, "the expired one was looked at, and nobody decided it")
	require.Equal(t, []api.Count{{Name: "approved", Count: 2}, {Name: "denied", Count: 1}, {Name: "expired", Count: 1},
		{Name: "pending", Count: 1}}, s.ByStatus)
	require.Equal(t, []api.Count{{Name: "exec-delete", Count: 4}}, s.ReasonCodes)
	names := func(all []api.Numbers) (out []string) {
		for _, n := range all {
			out = append(out, fmt.Sprintf("%s %d/%d", n.Name, n.Asked, n.Calls))
		}
		return out
	}
	require.Equal(t, []string{"R0 0/1", "R3 2/2", "R4 2/2"}, names(s.ByClass))
	require.Equal(t, []string{"bot 4/4", " 0/1"}, names(s.ByAgent))
	require.Equal(t, []string{"exec 3/3", "deploy 1/1", "read 0/1"}, names(s.ByTool))
	one := func(ms int64) api.Spread { return api.Spread{Count: 1, MedianMs: ms, P90Ms: ms} }
	require.Equal(t, []api.PersonVotes{
		{Name: "alice", Approved: 2, Vote: api.Spread{Count: 2, MedianMs: 2 * second, P90Ms: 20 * second},
			SinceCard: api.Spread{Count: 2, MedianMs: second, P90Ms: 19 * second}},
		{Name: "bob", Denied: 1, Vote: one(60 * second), SinceCard: one(59 * second)},
		{Name: "telegram user 7", Approved: 1, Vote: one(30 * second), SinceCard: one(29 * second)},
	}, s.Approvers)
}

// Of nothing there are empty lists, and of many names the most frequent.
func TestStats_None_AndMany(t *testing.T) {
	t.Parallel()
	var c Counter
	none := c.Stats(0)
	require.Equal(t, api.Numbers{}, none.All)
	require.Equal(t, []any{[]api.Count{}, []api.Numbers{}, []api.PersonVotes{}}, []any{none.ByStatus, none.ByTool, none.Approvers})
	for i := range 300 {
		c.Add(core.Approval{Status: core.Approved, ToolName: fmt.Sprintf("tool%03d", i)})
	}
	c.Add(core.Approval{Status: core.Approved, ToolName: "tool299"})
	s := c.Stats(0)
	require.Equal(t, 301, s.All.Calls)
	require.Len(t, s.ByTool, maxCounted)
	require.Equal(t, "tool299", s.ByTool[0].Name)
}

func TestQuantile(t *testing.T) {
	t.Parallel()
	require.Zero(t, quantile(nil, 0.5))
	require.EqualValues(t, 7, quantile([]int64{7}, 0.9))
	require.EqualValues(t, 9, quantile([]int64{10, 9, 8, 7, 6, 5, 4, 3, 2, 1}, 0.9))
	require.EqualValues(t, 2, quantile([]int64{3, 1, 2}, 0.5))
}
