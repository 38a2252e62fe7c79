package server

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/server/metrics"
)

func TestAFirstScrapeShowsEveryFamily(t *testing.T) {
	text := newDesk(t).do("GET", "/metrics", "", "").text
	for _, name := range []string{
		"tool_approval_requests_total", "tool_approval_resolutions_total", "tool_approval_timeout_total", "tool_approval_factor_results_total",
		"tool_approval_quorum_unmet_total", "tool_safety_classifier_latency_ms", "tool_safety_classifier_fallback_total",
		"approvalbot_http_requests_total", "approvalbot_http_request_seconds", "approvalbot_decision_seconds", "approvalbot_waiting_requests",
		"approvalbot_agent_calls_total", "approvalbot_asked_total", "approvalbot_asks_ended_total", "approvalbot_first_card_seconds",
		"approvalbot_first_look_seconds", "approvalbot_person_vote_seconds", "approvalbot_objective_asks_total",
		"approvalbot_objective_missed_total",
	} {
		require.Contains(t, text, "# HELP "+name+" ")
		require.Contains(t, text, "# TYPE "+name+" ")
	}
}

func TestMetrics(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	d.allow(`{}`)
	d.ask("read", `{}`)
	d.ask("rm", `{}`)
	d.ask("sk-live-1234567890", `{}`) // whatever a caller calls its tool
	mail := d.ask("mail.send", `{}`, func(r *api.CreateRequest) { r.Origin = &api.Target{Channel: "telegram", To: "-100777"} })
	_, err := d.bob.Resolve(ctx, mail.ID, api.ResolveRequest{Decision: api.Deny})
	require.NoError(t, err)
	_, err = d.aliceAgent.Create(ctx, request("pair", `{}`), api.CreateOptions{})
	require.NoError(t, err, "alice's own: one approver is left, two are needed")
	short := d.ask("exec", `{"command":"ls"}`, func(r *api.CreateRequest) { r.TimeoutMs = 1 })
	for short.Status == api.Pending {
		require.NoError(t, d.gate.Tick(ctx, short.ID))
		short, err = d.agent.Get(ctx, short.ID, 0)
		require.NoError(t, err)
	}

	text := d.do("GET", "/metrics", "", "").text
	for _, line := range []string{
		`tool_approval_requests_total{channel="none",riskClass="R3",risk_class="R3",tool="other"} 1`,
		`tool_approval_requests_total{channel="telegram",riskClass="R3",risk_class="R3",tool="mail.send"} 1`,
		`tool_approval_requests_total{channel="none",riskClass="R0",risk_class="R0",tool="read"} 1`,
		`tool_approval_resolutions_total{decision="allow-once",resolverType="person",resolver_type="person"} 1`,
		`tool_approval_resolutions_total{decision="allow-once",resolverType="policy",resolver_type="policy"} 1`,
		`tool_approval_resolutions_total{decision="deny",resolverType="person",resolver_type="person"} 1`,
		`tool_approval_resolutions_total{decision="deny",resolverType="policy",resolver_type="policy"} 3`,
		`tool_approval_timeout_total{tool="exec"} 1`,
		`tool_approval_factor_results_total{approverId="user_request",approver_id="user_request",verdict="approve"} 1`,
		`tool_approval_factor_results_total{approverId="user_request",approver_id="user_request",verdict="reject"} 1`,
		`tool_approval_quorum_unmet_total{minApprovals="2",min_approvals="2",riskClass="R4",risk_class="R4"} 1`,
		`tool_approval_quorum_unmet_total{minApprovals="1",min_approvals="1",riskClass="R3",risk_class="R3"} 1`,
		`approvalbot_http_requests_total{method="POST",route="/v1/approvals/{id}/resolve",status="200"} 2`,
		`approvalbot_waiting_requests 0`,
		`go_goroutines`,
	} {
		require.Contains(t, text, line)
	}
	require.NotContains(t, text, "sk-live")
}

// Who changes their mind is still one approver, and what they said last counts.
func TestARevoteCountsOnce(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	vote := func(a api.Approval, c *api.Client, decision api.Decision) {
		_, err := c.Resolve(ctx, a.ID, api.ResolveRequest{Decision: decision})
		require.NoError(t, err)
	}
	first := d.ask("pair", `{"n":1}`)
	vote(first, d.alice, api.AllowOnce)
	vote(first, d.bob, api.AllowOnce)
	second := d.ask("pair", `{"n":2}`)
	vote(second, d.alice, api.AllowOnce)
	vote(second, d.alice, api.Deny)
	text := d.do("GET", "/metrics", "", "").text
	require.Contains(t, text, `tool_approval_factor_results_total{approverId="user_request",approver_id="user_request",verdict="approve"} 2`)
	require.Contains(t, text, `tool_approval_factor_results_total{approverId="user_request",approver_id="user_request",verdict="reject"} 1`)
}

// How soon people heard of it, looked and decided is counted when an approval ends, by
// names of the configuration alone.
func TestMetricsOfPeople(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	d.counts.Use(metrics.Known{Tools: []string{"mail.send"}, Agents: []string{"bot"},
		Objective: core.Objective{DecidedWithin: time.Minute, Share: 0.9}})
	as := func(agent string) func(*api.CreateRequest) { return func(r *api.CreateRequest) { r.AgentID = agent } }
	a := d.ask("mail.send", `{}`, as("bot"), func(r *api.CreateRequest) { r.Origin = &api.Target{Channel: "telegram", To: "-100777"} })
	got, err := d.store.Get(ctx, a.ID)
	require.NoError(t, err)
	card := got.Deliveries[0]
	require.NoError(t, d.store.Record(ctx, approval.Delivered{ID: card.ID, Key: card.Key, Was: card, State: approval.Sent, MessageID: "m"}))
	require.NotContains(t, d.do("GET", "/metrics", "", "").text, `approvalbot_first_card_seconds_count{risk_class="R3"} 1`)
	_, err = d.bob.Resolve(ctx, a.ID, api.ResolveRequest{Decision: api.Deny})
	require.NoError(t, err)
	d.ask("read", `{}`, as("whoever"))
	expired := d.ask("ask", `{}`, func(r *api.CreateRequest) { r.TimeoutMs = 1 })
	d.ask(approval.DrillTool, `{}`, func(r *api.CreateRequest) { r.TimeoutMs = 1 })
	for expired.Status == api.Pending {
		require.NoError(t, d.gate.Tick(ctx, expired.ID))
		expired, err = d.agent.Get(ctx, expired.ID, 0)
		require.NoError(t, err)
	}

	drill, err := d.gate.Drills().Drill(ctx, time.Now())
	require.NoError(t, err)
	for range 2 {
		_, err = d.gate.Drills().EndDrill(ctx, drill.Key)
		require.NoError(t, err)
	}

	text := d.do("GET", "/metrics", "alice", "").text
	for _, line := range []string{
		`approvalbot_drill_runs_total{result="failed"} 1`,
		`approvalbot_agent_calls_total{agent="bot"} 1`,
		`approvalbot_agent_calls_total{agent="other"} 1`,
		`approvalbot_agent_calls_total{agent="none"} 1`,
		`approvalbot_asked_total{agent="bot",risk_class="R3",tool="mail.send"} 1`,
		`approvalbot_asks_ended_total{agent="bot",status="denied"} 1`,
		`approvalbot_asks_ended_total{agent="none",status="expired"} 1`,
		`approvalbot_first_card_seconds_count{risk_class="R3"} 1`,
		`approvalbot_first_look_seconds_count{risk_class="R3"} 1`,
		`approvalbot_decision_seconds_count{risk_class="R3",status="denied"} 1`,
		`approvalbot_person_vote_seconds_count{person="bob",verdict="reject"} 1`,
		`approvalbot_objective_asks_total 2`,
		`approvalbot_objective_missed_total 1`,
	} {
		require.Contains(t, text, line)
	}
	require.NotContains(t, text, "whoever")
}
