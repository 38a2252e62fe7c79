package policy

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/people"
	"approvalbot/internal/store"
)

// nowhere routes to no chat.
type nowhere struct{}

func (nowhere) Route(approval.Approval) core.Routes { return core.Routes{} }
func (nowhere) Names(approval.Target) bool          { return false }

// gateWith is a real Gate and store with rules; alice and bob may decide.
func gateWith(t *testing.T, rules ...Rule) *core.Gate {
	t.Helper()
	st, err := store.Open(context.Background(), store.Options{URL: "sqlite::memory:"})
	require.NoError(t, err)
	var running sync.WaitGroup
	running.Go(func() { _ = st.Run(context.Background()) })
	t.Cleanup(func() { _ = st.Close(); running.Wait() })
	people, err := people.NewDirectory(people.Rights{
		People: []people.Person{{Name: "alice"}, {Name: "bob"}}, Tokens: map[string]string{"alice": "alice", "bob": "bob"},
	})
	require.NoError(t, err)
	return core.NewGate(st.CoreStores(), core.Rules{
		Enabled: true, Policy: ruleEngine(t, rules...), People: people, Router: nowhere{}, TimeoutMs: 900_000, MaxTimeoutMs: 86_400_000,
	}, slog.New(slog.DiscardHandler))
}

// The freeze of a weekend holds in its window, says in the refusal and to those who
// decide when it ends, and is over by itself: under the real Gate, from Saturday,
// 1 January 2000, 01:00 CET on.
func TestRuleDuring(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		weekend := During{Weekly: "Fri 16:00–Mon 08:00", Timezone: "Europe/Berlin"}
		g := gateWith(t,
			Rule{Name: "freeze", Match: Match{Tool: []string{"deploy"}}, Outcome: "deny", During: weekend},
			Rule{Name: "four-eyes", Match: Match{Tool: []string{"release"}}, Outcome: "ask", MinApprovals: 2, During: weekend},
			Rule{Name: "tests", Match: Match{Tool: []string{"exec"}, Command: []string{"frob test"}}, Outcome: "allow", During: weekend},
		)
		ask := func(tool, param string) approval.Approval {
			params := fmt.Sprintf(`{"command":%q}`, param)
			a, _, err := g.Submit(t.Context(), core.Caller{Token: "agent", MayRequest: true}, approval.Call{ToolName: tool, Params: []byte(params)})
			require.NoError(t, err)
			return a
		}
		require.Equal(t, "Sat 01:00", time.Now().In(time.FixedZone("", 3600)).Format("Mon 15:04"))

		denied := ask("deploy", "a")
		require.Equal(t, approval.Denied, denied.Status)
		require.Equal(t, `The operator's rule "freeze" denies this call; the freeze ends Mon 08:00 CET.`, denied.Reason)
		two := ask("release", "a")
		require.Equal(t, approval.Pending, two.Status)
		require.Equal(t, 2, two.Rule.MinApprovals)
		require.Contains(t, strings.Join(two.Why, " "), `The operator's rule "four-eyes" says ask; the freeze ends Mon 08:00 CET.`)
		require.Equal(t, approval.Approved, ask("exec", "frob test").Status)

		time.Sleep(55*time.Hour - time.Second) // Monday, 07:59:59
		require.Equal(t, approval.Denied, ask("deploy", "b").Status)
		time.Sleep(time.Second)
		over := ask("deploy", "c")
		require.Equal(t, approval.Pending, over.Status, "asked as without the rule")
		require.NotContains(t, strings.Join(over.Why, " "), "freeze")
		require.Equal(t, 1, ask("release", "c").Rule.MinApprovals)
		require.Equal(t, approval.Pending, ask("exec", "frob test").Status, "what was allowed in the window asks again")

		time.Sleep(104 * time.Hour) // Friday, 16:00
		require.Equal(t, approval.Denied, ask("deploy", "d").Status)
	})
}

// A window that once begins and ends, and the clock that the engine is given.
func TestRuleDuring_Once(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 12, 18, 14, 59, 59, 0, time.UTC)
	e := engine(t, func(c *Config) {
		c.Clock = func() time.Time { return now }
		c.Rules = []Rule{{Name: "holidays", Match: Match{Tool: []string{"read"}}, Outcome: "deny",
			During: During{From: "2026-12-18T16:00:00+01:00", To: "2027-01-04T08:00:00+01:00", Timezone: "Europe/Berlin"}}}
	})
	read := callOf(t, "read", map[string]any{"path": "main.go"})
	require.Equal(t, approval.OutcomeAllow, outcomeOf(e, read))
	now = now.Add(time.Second)
	require.Equal(t, `The operator's rule "holidays" denies this call; the freeze ends Mon 4 Jan 2027 08:00 CET.`, e.Judge(t.Context(), read).Reason)
	now = time.Date(2027, 1, 4, 7, 0, 0, 0, time.UTC)
	require.Equal(t, approval.OutcomeAllow, outcomeOf(e, read))
}

func TestRuleDuring_Mistakes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		during    During
		key, text string
	}{
		{During{Weekly: "Fri 16:00-Mon 08:00"}, "timezone", "must be a timezone"},
		{During{Timezone: "Europe/Berlin"}, "", "must say either weekly, or from and to"},
		{During{Weekly: "Fri 16:00-Mon 08:00", Timezone: "Europe/Berlin", To: "2027-01-04T08:00:00Z"}, "", "must say either"},
		{During{Weekly: "Fri-Mon", Timezone: "Europe/Berlin"}, "weekly", "such as Fri 16:00-Mon 08:00"},
		{During{Weekly: "Mon 08:00-Mon 08:00", Timezone: "Europe/Berlin"}, "weekly", "never end"},
		{During{From: "2027-01-04T08:00:00Z"}, "", "has no end"},
		{During{To: "soon"}, "", "RFC 3339"},
	} {
		cfg := desked()
		cfg.Rules = []Rule{{Name: "a", Outcome: "deny", During: c.during}}
		_, err := New(cfg)
		var bad Mistakes
		require.ErrorAs(t, err, &bad, "%v", c.during)
		require.Len(t, bad, 1)
		require.Equal(t, strings.TrimSuffix("approvals tools rules [0] during "+c.key, " "), strings.Join(bad[0].Path, " "))
		require.Contains(t, bad[0].Text, c.text)
	}
}
