package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/internal/approval"
)

// What the store keeps of approvals is what is counted: when a card stood in its chat,
// who looked first though they were refused, who decided.
func TestStats(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	d.allow(`{"n":1}`)
	d.ask("read", `{}`)
	_, err := d.aliceAgent.Create(ctx, request("ask", `{}`), api.CreateOptions{})
	require.NoError(t, err)
	asked := d.ask("ask", `{"n":2}`)
	got, err := d.store.Get(ctx, asked.ID)
	require.NoError(t, err)
	card := got.Deliveries[0]
	require.NoError(t, d.store.Record(ctx, approval.Delivered{ID: card.ID, Key: card.Key, Was: card, State: approval.Sent, MessageID: "m"}))
	_, err = d.gate.Vote(ctx, asked.ID, core.Ballot{Voter: approval.Voter{Channel: "telegram", UserID: "999"}, Decision: approval.AllowOnce})
	require.Equal(t, approval.CodeNotAnApprover, approval.CodeOf(err))

	s, err := d.alice.Stats(ctx, 0)
	require.NoError(t, err)
	require.Equal(t, [3]int{4, 3, 1}, [3]int{s.All.Calls, s.All.Asked, s.All.Decision.Count})
	require.Equal(t, [2]int{1, 2}, [2]int{s.All.FirstCard.Count, s.All.FirstLook.Count})
	require.Equal(t, "alice", s.Approvers[0].Name)
	seen, err := d.agent.Get(ctx, asked.ID, 0)
	require.NoError(t, err)
	require.InDelta(t, time.Now().UnixMilli(), seen.Deliveries[0].SentAtMs, 60_000)

	own, err := d.aliceAgent.Stats(ctx, 0)
	require.NoError(t, err)
	require.Equal(t, 1, own.All.Calls, "an asker counts its own")
	later, err := d.alice.Stats(ctx, time.Now().Add(time.Hour).UnixMilli())
	require.NoError(t, err)
	require.Zero(t, later.All.Calls)
	require.Equal(t, http.StatusForbidden, d.do("GET", "/v1/stats", "auditor", "").StatusCode)
	require.Contains(t, d.do("GET", "/v1/stats?sinceMs=yesterday", "alice", "").text, "must be a time in Unix milliseconds")
	var week api.Stats
	require.NoError(t, json.Unmarshal([]byte(d.do("GET", "/v1/stats", "alice", "").text), &week))
	require.Equal(t, 4, week.All.Calls)
	require.InDelta(t, time.Now().Add(-statsDefault).UnixMilli(), week.SinceMs, 60_000)
}

// Sums are made anew for who has operator.admin alone.
func TestStats_Rebuild(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	d.ask("read", `{}`)
	for _, token := range []string{"agent", "bob"} {
		require.Equal(t, http.StatusForbidden, d.do("POST", "/v1/stats/rebuild", token, "{}").StatusCode)
	}
	require.NoError(t, d.alice.RebuildStats(ctx))
	s, err := d.alice.Stats(ctx, 0)
	require.NoError(t, err)
	require.Equal(t, 1, s.All.Calls)
}

// All pages are counted, and what is older than asked for ends the count.
func TestStats_Pages(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	for i := range pageMax + 3 {
		d.ask("read", fmt.Sprintf(`{"n":%d}`, i))
	}
	s, err := d.alice.Stats(ctx, 0)
	require.NoError(t, err)
	require.Equal(t, pageMax+3, s.All.Calls)
}
