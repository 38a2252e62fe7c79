package effective

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/cli/show"
	"approvalbot/internal/config"
	"approvalbot/internal/people"
	"approvalbot/internal/server/auth"
)

// What the configuration says reaches the packages that act on it.
func TestRules(t *testing.T) {
	t.Parallel()
	cfg, _ := load(t, `
server:
  listen: 127.0.0.1:9999
  limits: {pending: 3, requestsPerSecond: 4}
  tokens:
    - {name: agent, token: 0123456789abcdef, scopes: [approvals.request, operator.audit], agentId: main, sessionChats: ["telegram:-7:1"]}
    - {name: laptop, token: abcdef0123456789, scopes: [operator.approvals], person: alice}
store: {url: "sqlite:data/desk.db", keyFile: desk.key}
people: [{name: alice, telegram: 111, discord: "222", roles: [ops]}]
channels: {telegram: {botToken: "1:a", allowedUserIds: [111]}}
agents: {list: [{id: main, workspace: /work/}]}
tools: {deny: [payments], allow: [exec]}
approvals:
  exec: {security: full, ask: always}
  tools:
    mode: always
    timeoutMs: 5000
    maxTimeoutMs: 6000
    disabledApprovers: [rules_based]
    minApprovals: 2
    clampMinApprovals: true
    selfApproval: solo
    policy: {requireApprovalAtOrAbove: R1, denyAtOrAbove: R4, requireApprovalForExternalWrite: false, minApprovalsByRisk: {R3: 3}}
    routing: {mode: targets, targets: ["telegram:-5:1"], fallback: [{channel: telegram, to: -6, timezone: Asia/Tokyo}], fallbackAfter: 7s}
`)
	require.Equal(t, people.Rights{
		People:       []people.Person{{Name: "alice", Accounts: map[string]string{"telegram": "111", "discord": "222"}, Roles: []string{"ops"}}},
		AllowedUsers: map[string][]string{"telegram": {"111"}}, AllowedRoles: map[string][]string{}, Tokens: map[string]string{"laptop": "alice"},
		Verifiers: map[string][]string{"": {}, "main": {}},
	}, Rights(cfg))

	tokens := Tokens(cfg)
	require.Equal(t, auth.Token{
		Name: "agent", Hash: auth.Hash("0123456789abcdef"), RequestsPerSecond: 4,
		Caller: core.Caller{Token: "agent", AgentID: "main", SessionChats: []approval.Target{{Channel: "telegram", To: "-7"}}, MaxPending: 3, MayRequest: true, MayAudit: true},
	}, tokens[0])

	table := Table(cfg)
	require.Equal(t, []approval.Target{{Channel: "telegram", To: "-5"}}, table.Targets)
	require.Equal(t, []approval.Target{{Channel: "telegram", To: "-6"}}, table.Fallback)
	require.EqualValues(t, 7000, table.FallbackAfterMs)

	rules, err := Rules(cfg, table)
	require.NoError(t, err)
	require.True(t, rules.Enabled && rules.Solo && rules.Clamp)
	require.EqualValues(t, 5000, rules.TimeoutMs)
	require.EqualValues(t, 6000, rules.MaxTimeoutMs)
	require.Len(t, rules.Zones, 1)
	require.Equal(t, "Asia/Tokyo", rules.Zones[approval.Target{Channel: "telegram", To: "-6"}].String())

	p := Policy(cfg)
	require.Equal(t, []approval.Factor{approval.RulesBased}, p.DisabledApprovers)
	require.Equal(t, map[approval.RiskClass]int{approval.R3: 3}, p.MinApprovalsByRisk)
	require.Equal(t, map[string][]string{"main": {"/work/"}}, p.Workspaces)
	require.Equal(t, approval.R1, *p.RequireApprovalAtOrAbove)
	require.False(t, *p.RequireApprovalForExternalWrite)
	require.True(t, *p.RequireApprovalForMessagingSend)
	require.Equal(t, []string{"full", "always", "always", "127.0.0.1:9999"}, []string{p.ExecSecurity, p.ExecAsk, p.Mode, p.Protected.Port})
	dir, err := os.Getwd()
	require.NoError(t, err)
	for _, own := range []string{"f.yaml", "desk.key", "data/desk.db", "data/desk.db-wal", "approvalbot.client.yaml"} {
		require.Contains(t, p.Protected.Files, filepath.Join(dir, own))
	}
}

// Without the approvals block, and with it switched off, nothing is allowed.
func TestDisabledMeansDisabled(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "approvals: {exec: {ask: off}}", "approvals: {tools: {enabled: false, mode: off}}"} {
		cfg, _ := load(t, text)
		rules, err := Rules(cfg, Table(cfg))
		require.NoError(t, err)
		require.False(t, rules.Enabled)
		require.Equal(t, approval.OutcomeDeny, rules.Policy.Judge(t.Context(), approval.Call{ToolName: "read", Params: []byte(`{"path":"a"}`)}).Outcome)
	}
}

// A quorum that shrinks to the people there are is shown as a request would have it.
func TestClassesOfAClampedQuorum(t *testing.T) {
	t.Parallel()
	const people = `
people: [{name: alice, telegram: 5}, {name: bob, telegram: 6}]
channels: {telegram: {botToken: "1:a", allowedUserIds: [5, 6, 7]}}
`
	for text, want := range map[string]ClassPolicy{
		"approvals: {tools: {minApprovals: 5, clampMinApprovals: true}}": {Need: 2, Reachable: true},
		"approvals: {tools: {minApprovals: 2}}":                          {Need: 2, Reachable: true},
		"approvals: {tools: {minApprovals: 2}} # off":                    {Need: 2},
	} {
		cfg, _ := load(t, text+people)
		if strings.HasSuffix(text, "off") {
			cfg.Channels = cfg.Channels.Each(func(_ string, bot *config.Channel) { bot.AllowedUserIDs = []config.ID{"5"} })
		}
		classes, err := Classes(cfg)
		require.NoError(t, err)
		require.Equal(t, want, ClassPolicy{Need: classes[approval.R3].Need, Reachable: classes[approval.R3].Reachable}, text)
		require.Equal(t, !want.Reachable, strings.Contains(show.ClassWho(classes[approval.R3].View()), "too few"))
	}
}

// The table of config check says what the policy does.
func TestClassesAgreeWithThePolicy(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"approvals: {tools: {}}", "approvals: {tools: {policy: {denyAtOrAbove: R3}}}", "approvals: {tools: {mode: always}}", "approvals: {tools: {mode: off}}",
		"approvals: {tools: {minApprovals: 2, policy: {minApprovalsByRisk: {R0: 3}, requireApprovalAtOrAbove: R0, requireHumanApproverAtOrAbove: R1}}}",
		"approvals: {tools: {enabled: false}}",
	} {
		cfg, _ := load(t, text+`
people: [{name: alice, telegram: 5}, {name: bob, telegram: 6}, {name: carol, telegram: 7}]
channels: {telegram: {botToken: "1:a", allowedUserIds: [5, 6, 7]}}
`)
		rules, err := Rules(cfg, Table(cfg))
		require.NoError(t, err)
		classes, err := Classes(cfg)
		require.NoError(t, err)
		for _, call := range []approval.Call{
			{ToolName: "read", Params: []byte(`{"path":"/work/a"}`), AgentID: "main"},
			{ToolName: "no.such.tool", Params: []byte(`{}`)},
		} {
			j := rules.Policy.Judge(t.Context(), call)
			want := classes[j.Assessment.RiskClass]
			require.Equal(t, want.Outcome, j.Outcome.String(), "%s: %s", text, call.ToolName)
			require.Equal(t, want.Need, j.Rule.MinApprovals, text)
			require.Equal(t, want.Human, j.Rule.RequiresHuman, text)
		}
	}
}
