package core

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

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
	of := func(count int, all ...int64) Spread { // each as its class says it
		for i, ms := range all {
			all[i] = longest(classOf(ms))
		}
		return Spread{Count: count, MedianMs: all[0], P90Ms: all[1], P95Ms: all[2]}
	}
	s := c.Stats(7)
	require.EqualValues(t, 7, s.SinceMs)
	require.Equal(t, Numbers{
		Calls: 5, Asked: 4, AskedPer100: 80, Expired: 1, ExpiredShare: 0.3333,
		FirstCard: of(4, aSecond, aSecond, aSecond),
		FirstLook: of(4, 20*aSecond, 100*aSecond, 100*aSecond),
		Decision:  of(2, 2*aSecond, 60*aSecond, 60*aSecond),
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
	one := func(ms int64) Spread { return of(1, ms, ms, ms) }
	require.Equal(t, []PersonVotes{
		{Name: "alice", Approved: 2, Vote: of(2, 2*aSecond, 20*aSecond, 20*aSecond),
			SinceCard: of(2, aSecond, 19*aSecond, 19*aSecond)},
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

// A time is said as the longest one of its class, which is at most 1.6 per cent more.
func TestTimes(t *testing.T) {
	t.Parallel()
	quantile := func(percent int, all ...int64) int64 {
		var x times
		for _, ms := range all {
			x.add(ms)
		}
		return x.quantile(len(all), percent)
	}
	require.Zero(t, quantile(50))
	require.EqualValues(t, 7, quantile(90, 7))
	require.EqualValues(t, 9, quantile(90, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1))
	require.EqualValues(t, 2, quantile(50, 3, 1, 2))
	require.Zero(t, quantile(50, -5), "two clocks differ")
	last := -1
	for ms := int64(0); ms < 1<<40; ms += max(1, ms/97) {
		class := classOf(ms)
		require.GreaterOrEqual(t, class, last)
		last = class
		require.GreaterOrEqual(t, longest(class), ms)
		require.LessOrEqual(t, float64(longest(class)-ms), 0.016*float64(ms))
		if ms < 128 {
			require.Equal(t, ms, longest(class))
		}
	}
}

// What was counted in parts and kept as texts is what was counted at once.
func TestCounter_Texts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var whole, sum Counter
		for range rapid.IntRange(0, 4).Draw(t, "parts") {
			var part Counter
			for range rapid.IntRange(0, 5).Draw(t, "approvals") {
				status := rapid.SampledFrom([]approval.Status{approval.Pending, approval.Approved, approval.Denied, approval.Expired}).Draw(t, "status")
				a := askedOf(rapid.SampledFrom([]string{"exec", "", "mail"}).Draw(t, "tool"), approval.R3, status,
					rapid.Int64Range(0, 1e9).Draw(t, "took"), voteOf("alice", approval.Approve, rapid.Int64Range(0, 1e6).Draw(t, "vote")))
				part.Add(a)
				whole.Add(a)
			}
			require.NoError(t, sum.AddText(part.Text()))
		}
		require.Equal(t, whole.Stats(1), sum.Stats(1))
		require.Equal(t, whole.Text(), sum.Text())
	})
}

// A text that is damaged is an error, however it is damaged.
func TestCounter_DamagedText(t *testing.T) {
	t.Parallel()
	var c Counter
	c.Add(askedOf("exec", approval.R3, approval.Approved, 5000, voteOf("alice", approval.Approve, 5000)))
	text := c.Text()
	for end := 4; end < len(text)-4; end += 4 {
		require.Error(t, new(Counter).AddText(text[:end]))
	}
	require.Error(t, new(Counter).AddText(text+"AAAA"))
	require.Error(t, new(Counter).AddText("//////////////8A"))
	require.Error(t, new(Counter).AddText("*"))
}
