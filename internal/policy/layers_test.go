package policy

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
	"approvalbot/internal/policy/tool"
)

// used reports which of the tools may be used at all.
func used(t *testing.T, ctx approval.CallContext, tools string, change ...func(*Config)) string {
	t.Helper()
	e := engine(t, append(change, func(c *Config) { c.Mode = "off" })...)
	var out []string
	for name := range strings.FieldsSeq(tools) {
		c := callOf(t, name, map[string]any{"path": "x", "command": "ls"})
		c.Context = ctx
		j := judge(e, c)
		if j.Outcome != approval.OutcomeDeny {
			out = append(out, name)
		}
		reason, ok := e.Permits(approval.Call{ToolName: name, AgentID: c.AgentID, Context: ctx})
		require.Equal(t, j.Outcome != approval.OutcomeDeny, ok, "what a model is shown is what it may use: %s", name)
		require.Equal(t, j.Reason, reason)
	}
	return strings.Join(out, " ")
}

const someTools = "read write apply_patch exec bash web_fetch message sessions_send session_status memory_get browser cron jira__create image think"

func TestProfilesAndGroups(t *testing.T) {
	t.Parallel()
	allow := func(names ...string) func(*Config) { return func(c *Config) { c.ToolsAllow = names } }
	deny := func(names ...string) func(*Config) { return func(c *Config) { c.ToolsDeny = names } }
	profile := func(p string) func(*Config) { return func(c *Config) { c.Layers.Profile = p } }
	for _, r := range []struct {
		what   string
		change func(*Config)
		want   string
	}{
		{"full", profile("full"), someTools},
		{"minimal", profile("minimal"), "session_status"},
		{"coding", profile("coding"), "read write apply_patch exec bash web_fetch sessions_send session_status memory_get image think"},
		{"messaging", profile("messaging"), "message sessions_send session_status"},
		{"group fs", allow("group:fs"), "read write apply_patch"},
		{"group runtime", allow("group:runtime"), "exec bash"},
		{"group web", allow("group:web"), "web_fetch"},
		{"group messaging", allow("group:messaging"), "message"},
		{"group sessions", allow("group:sessions"), "sessions_send session_status"},
		{"group memory", allow("group:memory"), "memory_get"},
		{"group ui", allow("group:ui"), "browser"},
		{"group automation", allow("group:automation"), "cron"},
		{"every known tool", allow("group:openclaw"), "read write apply_patch exec bash web_fetch message sessions_send session_status memory_get browser cron image think"},
		{"the same", allow("group:all"), "read write apply_patch exec bash web_fetch message sessions_send session_status memory_get browser cron image think"},
		{"glob", allow("jira__*", "session*"), "sessions_send session_status jira__create"},
		{"allow is taken at its word", allow("exec"), "exec"},
		{"an unknown name beside a known one", allow("raed", "read"), "read"},
		{"another server's tool is no typing mistake", allow("jira__create"), "jira__create"},
		{"deny group", deny("group:runtime", "group:fs"), "web_fetch message sessions_send session_status memory_get browser cron jira__create image think"},
		{"deny exec is every tool that runs commands", deny("exec"), strings.ReplaceAll(someTools, " exec bash", "")},
		{"deny wins over allow", func(c *Config) { c.ToolsAllow, c.ToolsDeny = []string{"group:fs"}, []string{"WRITE", "Jira__*"} }, "read apply_patch"},
	} {
		require.Equal(t, r.want, used(t, approval.CallContext{}, someTools, r.change), r.what)
	}
	require.Empty(t, used(t, approval.CallContext{}, "JIRA__Create", deny("jira__create")), "letter case does not get around a deny")
	require.Empty(t, used(t, approval.CallContext{}, "JIRA__Create", allow("jira__create")), "nor into an allow")
	require.Contains(t, tool.Known(), "exec")
	require.Contains(t, tool.Known(), "cron")
}

func TestLayersOnlyTakeAway(t *testing.T) {
	t.Parallel()
	const tools = "read write exec"
	base := func(c *Config) {
		c.Layers = Layers{
			ProviderProfiles: map[string]string{"cheap": "messaging"},
			Providers:        map[string]Layer{"p": {Deny: []string{"exec"}}, "p/small": {Deny: []string{"write"}}},
			Agents: map[string]AgentLayer{"main": {Layer: Layer{Deny: []string{"nothing_known"}}, Providers: map[string]Layer{"q": {Allow: []string{"read"}}}},
				"other": {Layer: Layer{Profile: "minimal"}}},
			Groups:   map[string]Layer{"public": {Allow: []string{"read"}}},
			Sandbox:  Layer{Deny: []string{"write"}},
			Subagent: Layer{Deny: []string{"read"}},
		}
	}
	for _, r := range []struct {
		ctx  approval.CallContext
		want string
	}{
		{approval.CallContext{}, "read write exec"},
		{approval.CallContext{Provider: "cheap"}, ""},
		{approval.CallContext{Provider: "p"}, "read write"},
		{approval.CallContext{Provider: "p", Model: "large"}, "read write"},
		{approval.CallContext{Provider: "p", Model: "small"}, "read"},
		{approval.CallContext{Provider: "q"}, "read"},
		{approval.CallContext{Group: "public"}, "read"},
		{approval.CallContext{Group: "private"}, "read write exec"},
		{approval.CallContext{Sandboxed: true}, "read exec"},
		{approval.CallContext{Subagent: true}, "write exec"},
		{approval.CallContext{Sandboxed: true, Subagent: true, Provider: "p"}, ""},
	} {
		require.Equal(t, r.want, used(t, r.ctx, tools, base), r.ctx)
	}
	c := callOf(t, "read", map[string]any{"path": "x"})
	c.AgentID = "other"
	j := judge(engine(t, base), c)
	require.Equal(t, `The tool "read" is not allowed (agents.other.tools.profile: minimal); use an allowed tool or ask the operator.`, j.Reason)
	require.Equal(t, "agents.other.tools.profile: minimal", j.Trace[0].Rule)
	require.Contains(t, j.Assessment.ReasonCodes, "tool-not-allowed")
}

func TestLayersMistakes(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*Config){
		`tools.allow: raed names`:                func(c *Config) { c.ToolsAllow = []string{"raed"} },
		`tools.providers.p.allow: a, b`:          func(c *Config) { c.Layers.Providers = map[string]Layer{"p": {Allow: []string{"a", "b"}}} },
		`there is no group "group:file"`:         func(c *Config) { c.ToolsDeny = []string{"group:file"} },
		`tools.providerProfiles.p must be`:       func(c *Config) { c.Layers.ProviderProfiles = map[string]string{"p": "Coding"} },
		`agents.x.tools.deny: "" is not a tool`:  func(c *Config) { c.Layers.Agents = map[string]AgentLayer{"x": {Layer: Layer{Deny: []string{""}}}} },
		`tools.subagent.deny: "re[a]d" is no`:    func(c *Config) { c.Layers.Subagent.Deny = []string{"re[a]d"} },
		`requireApprovalAtOrAbove must be R0 to`: func(c *Config) { c.RequireApprovalAtOrAbove = new(approval.RiskClass(7)) },
	} {
		cfg := desked()
		change(&cfg)
		_, err := New(cfg)
		require.ErrorContains(t, err, want)
	}
}

func TestAdversary_W9_AnAgentCanOnlyTighten(t *testing.T) {
	t.Parallel()
	strict := func(c *Config) {
		c.Mode, c.MinApprovals, c.DenyAtOrAbove = "adaptive", 2, new(approval.R4)
		c.Layers.Agents = map[string]AgentLayer{
			"main": {Mode: "off", RequireApprovalAtOrAbove: new(approval.R4), RequireHumanApproverAtOrAbove: new(approval.R4), MinApprovals: 1, MinApprovalsByRisk: map[approval.RiskClass]int{approval.R3: 1}},
			"tidy": {Mode: "always", DenyAtOrAbove: new(approval.R3), RequireHumanApproverAtOrAbove: new(approval.R0), MinApprovalsByRisk: map[approval.RiskClass]int{approval.R1: 3}},
		}
	}
	e := engine(t, strict)
	plain := engine(t, func(c *Config) { c.MinApprovals, c.DenyAtOrAbove = 2, new(approval.R4) })
	for _, line := range []string{"ls", "touch x", "frobnicate", "rm -rf /"} {
		want, got := judge(plain, lineCall(t, line)), judge(e, lineCall(t, line))
		require.Equal(t, want.Outcome, got.Outcome, line)
		require.Equal(t, want.Rule, got.Rule, line)
	}
	tidy := func(line string) approval.Judgement {
		c := lineCall(t, line)
		c.AgentID = "tidy"
		return judge(e, c)
	}
	require.Equal(t, approval.OutcomeAsk, tidy("ls").Outcome)
	require.Equal(t, approval.OutcomeDeny, tidy("frobnicate").Outcome)
	require.Equal(t, 2, tidy("ls").Rule.MinApprovals)
	require.True(t, tidy("ls").Rule.RequiresHuman)
	require.Equal(t, 3, e.Rule(approval.R2, "tidy").MinApprovals)
	require.Equal(t, 2, e.Rule(approval.R2, "").MinApprovals)
	require.Equal(t, approval.OutcomeAsk, e.OutcomeFor(approval.R3))
	require.Equal(t, approval.OutcomeDeny, e.OutcomeFor(approval.R4))
	require.Equal(t, approval.OutcomeAllow, e.OutcomeFor(approval.R2))
}

// TestGroupsCountByTheChatOfTheSession: a call from a group's chat obeys the
// group's layer, also where its context leaves the group out.
func TestGroupsCountByTheChatOfTheSession(t *testing.T) {
	t.Parallel()
	e := engine(t, func(c *Config) {
		c.Layers.Groups = map[string]Layer{"-1001234567890": {Deny: []string{"read"}}}
	})
	c := callOf(t, "read", map[string]any{"path": "a.go"})
	require.Equal(t, approval.OutcomeAllow, judge(e, c).Outcome)
	c.Origin = &approval.Target{Channel: "telegram", To: "-1001234567890", ThreadID: "7"}
	require.Equal(t, approval.OutcomeDeny, judge(e, c).Outcome)
	c.Context.Group = "another"
	require.Equal(t, approval.OutcomeDeny, judge(e, c).Outcome)
}
