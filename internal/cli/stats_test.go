package cli

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/cli/app"
)

func TestStatsAreShown(t *testing.T) {
	t.Parallel()
	took := func(median, p90 int64) api.Spread {
		return api.Spread{Count: 3, MedianMs: median, P90Ms: p90, P95Ms: 2 * p90}
	}
	s := api.Stats{
		All: api.Numbers{Calls: 4, Asked: 3, AskedPer100: 75, Expired: 1, ExpiredShare: 0.3333, FirstCard: took(800, 1500),
			FirstLook: took(2000, 20_000), Decision: took(2000, 60_000)},
		ByStatus:    []api.Count{{Name: "approved", Count: 2}, {Name: "denied", Count: 1}, {Name: "expired", Count: 1}},
		ReasonCodes: []api.Count{{Name: "exec-delete", Count: 2}, {Name: "exec-root", Count: 1}},
		ByClass:     []api.Numbers{{Name: "R0", Calls: 1}, {Name: "R3", Calls: 3, Asked: 3, AskedPer100: 100, FirstCard: took(800, 1500)}},
		ByAgent:     []api.Numbers{{Name: "bot", Calls: 3}, {Calls: 1}},
		ByTool:      []api.Numbers{{Name: "exec", Calls: 4, Asked: 3, AskedPer100: 75, ExpiredShare: 0.3333, Decision: took(2000, 60_000)}},
		Approvers: []api.PersonVotes{{Name: "alice", Approved: 2, Vote: took(2000, 3000), SinceCard: took(1200, 2000)},
			{Name: "bob", Denied: 1, Vote: took(60_000, 60_000)}},
	}
	var out bytes.Buffer
	require.NoError(t, printStats(&app.App{Stdout: &out}, s, "7d"))
	require.Equal(t, `4 approvals in the last 7d
Status:      approved 2, denied 1, expired 1
Asked:       3 of people (75%), 1 settled by policy or a grant
Expired:     1 of them (33%)
First card:  after 0.8s in the median, 1.5s for nine in ten, 3.0s for nineteen in twenty
First look:  after 2.0s in the median, 20.0s for nine in ten, 40.0s for nineteen in twenty
Decision:    after 2.0s in the median, 1m0s for nine in ten, 2m0s for nineteen in twenty

Class  Count  Asked  Expired  Card  Look  Decision
R0     1      0%     0%       -     -     -
R3     3      100%   0%       0.8s  -     -

Agent   Count  Asked  Expired  Card  Look  Decision
bot     3      0%     0%       -     -     -
(none)  1      0%     0%       -     -     -

Tool  Count  Asked  Expired  Card  Look  Decision
exec  4      75%    33%      -     -     2.0s

Reason       Count
exec-delete  2
exec-root    1

Approver  Approved  Denied  Median  Nine in ten  From the card
alice     2         0       2.0s    3.0s         1.2s
bob       0         1       1m0s    1m0s         -
`, out.String())
}
