package core

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

const aSecond = 1000

// askedOf is an approval of a class that people were asked about at a time, with a card
// that stood in its chat a aSecond later.
func askedOf(tool string, class approval.RiskClass, status approval.Status, tookMs int64, votes ...approval.Vote) approval.Approval {
	a := approval.Approval{
		Ended:   approval.Ended{Status: status},
		Asked:   approval.Asked{ToolName: tool, AgentID: "bot", CreatedAtMs: 5 * aSecond},
		Voted:   approval.Voted{Votes: votes},
		Judged:  approval.Judged{Assessment: approval.Assessment{RiskClass: class, ReasonCodes: []string{"exec-delete"}}},
		Contact: approval.Contact{Deliveries: []approval.Delivery{{Kind: approval.CardDelivery, SentMs: 6 * aSecond}}},
	}
	if status != approval.Pending {
		a.ResolvedAtMs = a.CreatedAtMs + tookMs
	}
	if len(votes) > 0 {
		a.LookedAtMs = votes[0].DecidedAtMs
	}
	return a
}

// voteOf is a person's, so long after the request.
func voteOf(name string, verdict approval.Verdict, afterMs int64) approval.Vote {
	return approval.Vote{Approver: approval.UserRequest, Verdict: verdict, Voter: &approval.Voter{Person: name},
		DecidedAtMs: 5*aSecond + afterMs}
}

func TestStats(t *testing.T) {
	t.Parallel()
	refused := askedOf("deploy", approval.R3, approval.Expired, 900*aSecond)
	refused.LookedAtMs = 105 * aSecond
	settled := approval.Approval{
		Ended: approval.Ended{Status: approval.Approved, ResolvedAtMs: 1},
		Asked: approval.Asked{ToolName: "read", CreatedAtMs: 1},
		Voted: approval.Voted{Votes: []approval.Vote{{Approver: approval.RulesBased, Verdict: approval.Approve}}},
	}
	drill := askedOf(approval.DrillTool, approval.R0, approval.Expired, 1)
	stranger := voteOf("", approval.Approve, 30*aSecond)
	stranger.Voter = &approval.Voter{Channel: "telegram", UserID: "7"}
	var c Counter
	for _, a := range []approval.Approval{
		askedOf("exec", approval.R3, approval.Approved, 2*aSecond, voteOf("alice", approval.Approve, 2*aSecond)),
		askedOf("exec", approval.R4, approval.Denied, 60*aSecond, voteOf("alice", approval.Approve, 20*aSecond), voteOf("bob", approval.Reject, 60*aSecond)),
		askedOf("exec", approval.R4, approval.Pending, 0, stranger),
		settled, refused, drill,
	} {
		c.Add(a)
	}
	s := c.Stats(7)
	require.EqualValues(t, 7, s.SinceMs)
	require.Equal(t, Numbers{
		Calls: 5, Asked: 4, AskedPer100: 80, Expired: 1, ExpiredShare: 0.3333,
		FirstCard: Spread{Count: 4, MedianMs: aSecond, P90Ms: aSecond},
		FirstLook: Spread{Count: 4, MedianMs: 20 * aSecond, P90Ms: 100 * aSecond},
		Decision:  Spread{Count: 2, MedianMs: 2 * aSecond, P90Ms: 60 * aSecond},
	}, s.All, "the expired one was looked at, and nobody decided it")
	require.Equal(t, []NameCount{{Name: "approved", Count: 2}, {Name: "denied", Count: 1}, {Name: "expired", Count: 1},
		{Name: "pending", Count: 1}}, s.ByStatus)
	require.Equal(t, []NameCount{{Name: "exec-delete", Count: 4}}, s.ReasonCodes)
	names := func(all []Numbers) (out []string) {
		for _, n := range all {
			out = append(out, fmt.Sprintf("%s %d/%d", n.Name, n.Asked, n.Calls))
		}
		return out
	}
	require.Equal(t, []string{"R0 0/1", "R3 2/2", "R4 2/2"}, names(s.ByClass))
	require.Equal(t, []string{"bot 4/4", " 0/1"}, names(s.ByAgent))
	require.Equal(t, []string{"exec 3/3", "deploy 1/1", "read 0/1"}, names(s.ByTool))
	one := func(ms int64) Spread { return Spread{Count: 1, MedianMs: ms, P90Ms: ms} }
	require.Equal(t, []PersonVotes{
		{Name: "alice", Approved: 2, Vote: Spread{Count: 2, MedianMs: 2 * aSecond, P90Ms: 20 * aSecond},
			SinceCard: Spread{Count: 2, MedianMs: aSecond, P90Ms: 19 * aSecond}},
		{Name: "bob", Denied: 1, Vote: one(60 * aSecond), SinceCard: one(59 * aSecond)},
		{Name: "telegram user 7", Approved: 1, Vote: one(30 * aSecond), SinceCard: one(29 * aSecond)},
	}, s.Approvers)
}

// Of nothing there are empty lists, and of many names the most frequent.
func TestStats_None_AndMany(t *testing.T) {
	t.Parallel()
	var c Counter
	none := c.Stats(0)
	require.Equal(t, Numbers{}, none.All)
	require.Equal(t, []any{[]NameCount{}, []Numbers{}, []PersonVotes{}}, []any{none.ByStatus, none.ByTool, none.Approvers})
	for i := range 300 {
		c.Add(approval.Approval{
			Ended: approval.Ended{Status: approval.Approved},
			Asked: approval.Asked{ToolName: fmt.Sprintf("tool%03d", i)},
		})
	}
	c.Add(approval.Approval{
		Ended: approval.Ended{Status: approval.Approved},
		Asked: approval.Asked{ToolName: "tool299"},
	})
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
