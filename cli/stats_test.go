package cli

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/cli/app"
)

func TestStatsCountUp(t *testing.T) {
	t.Parallel()
	vote := func(name, verdict string, at int64) api.Vote {
		return api.Vote{ApproverID: "user_request", Verdict: verdict, Voter: &api.Voter{Person: name}, DecidedAtMs: at}
	}
	items := []api.Approval{
		{Status: api.Approved, RiskClass: "R3", ToolName: "exec", ReasonCodes: []string{"exec-delete"}, CreatedAtMs: 1000, ResolvedAtMs: 3000, Votes: []api.Vote{vote("alice", "approve", 3000)}},
		{Status: api.Denied, RiskClass: "R4", ToolName: "exec", ReasonCodes: []string{"exec-delete", "exec-root"}, CreatedAtMs: 1000, ResolvedAtMs: 61000,
			Votes: []api.Vote{vote("alice", "approve", 21000), vote("bob", "reject", 61000)}},
		{Status: api.Approved, RiskClass: "R0", ToolName: "read", CreatedAtMs: 1, ResolvedAtMs: 1, Votes: []api.Vote{{ApproverID: "rules_based", Verdict: "approve"}}},
		{Status: api.Expired, RiskClass: "R3", ToolName: "deploy", CreatedAtMs: 1, ResolvedAtMs: 900001},
	}
	s := countUp(items)
	require.Equal(t, 4, s.Total)
	require.Equal(t, 3, s.Asked, "what expired was asked, what a rule approved was not")
	require.EqualValues(t, 2000, s.MedianMs)
	require.EqualValues(t, 60000, s.P90Ms)
	require.Equal(t, []count{{"exec", 2}, {"deploy", 1}, {"read", 1}}, s.ByTool)
	require.Equal(t, []approverWork{{"alice", 2, 0, 2000}, {"bob", 0, 1, 60000}}, s.People)

	var out bytes.Buffer
	require.NoError(t, printStats(&app.App{Stdout: &out}, s, "7d"))
	require.Equal(t, `4 approvals in the last 7d
Status:      approved 2, denied 1, expired 1
Class:       R0 1, R3 2, R4 1
Asked:       3 of people (75%), 1 settled by policy or a grant
Decision:    after 2.0s in the median, 1m0s for nine in ten

Tool    Count
exec    2
deploy  1
read    1

Reason       Count
exec-delete  2
exec-root    1

Approver  Approved  Denied  Median
alice     2         0       2.0s
bob       0         1       1m0s
`, out.String())
}

func TestStatsQuantile(t *testing.T) {
	t.Parallel()
	require.Zero(t, quantile(nil, 0.5))
	require.EqualValues(t, 7, quantile([]int64{7}, 0.9))
	require.EqualValues(t, 9, quantile([]int64{10, 9, 8, 7, 6, 5, 4, 3, 2, 1}, 0.9))
	require.EqualValues(t, 2, quantile([]int64{3, 1, 2}, 0.5))
}
