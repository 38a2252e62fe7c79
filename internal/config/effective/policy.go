package effective

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"approvalbot/internal/approval"
	"approvalbot/internal/config"
	"approvalbot/internal/config/local"
	"approvalbot/internal/people"
	"approvalbot/internal/platform"
	"approvalbot/internal/policy"
	"approvalbot/internal/policy/workspace"
)

// Policy is the operator's policy. The desk's own files, port and program
// are protected by it.
func Policy(c config.Config) policy.Config {
	out := policy.Config{
		Enabled:    c.Approvals.Enabled(),
		ToolsAllow: c.Tools.Allow, ToolsDeny: c.Tools.Deny, Layers: layersOf(c),
		ExecSecurity: c.Approvals.Exec.Security, ExecAsk: c.Approvals.Exec.Ask, ExecAskFallback: c.Approvals.Exec.AskFallback,
		ExecAllowlist: config.Texts(c.Approvals.Exec.Allowlist), ExecSafeBins: c.Approvals.Exec.SafeBins,
		ExecStrict: c.Approvals.Exec.Strict,
		Roles:      rolesOf(c), Workspaces: map[string][]string{},
		Protected: workspace.Protected{Files: ownFiles(c), Port: c.Server.Listen},
	}
	t := c.ApprovalTools()
	out.Confine = policy.Confine{Mode: t.Confine.Mode, Readable: t.Confine.Readable, Toolchains: t.Confine.Toolchains}
	for _, a := range c.Agents.List {
		if a.Confine.Mode != "" {
			if out.Confine.Agents == nil {
				out.Confine.Agents = map[string]string{}
			}
			out.Confine.Agents[a.ID] = a.Confine.Mode
		}
		out.Workspaces[a.ID] = a.Workspace
		if a.Sandboxed {
			out.Sandboxed = append(out.Sandboxed, a.ID)
		}
	}
	out.Mode, out.MinApprovals, out.ClampMinApprovals = t.Mode, t.MinApprovals, t.ClampMinApprovals
	out.AllowedApprovers, out.DisabledApprovers = words[approval.Factor](t.AllowedApprovers), words[approval.Factor](t.DisabledApprovers)
	out.RequireApprovalAtOrAbove = classOf(t.Policy.RequireApprovalAtOrAbove)
	out.DenyAtOrAbove = classOf(t.Policy.DenyAtOrAbove)
	out.RequireHumanApproverAtOrAbove = classOf(t.Policy.RequireHumanApproverAtOrAbove)
	out.StepUpAtOrAbove = classOf(t.Policy.StepUpAtOrAbove)
	out.RequireApprovalForExternalWrite = &t.Policy.RequireApprovalForExternalWrite
	out.RequireApprovalForMessagingSend = &t.Policy.RequireApprovalForMessagingSend
	out.MinApprovalsByRisk = byClass(t.Policy.MinApprovalsByRisk)
	out.AgentInstructions, out.ProjectCode = t.Policy.AgentInstructions, t.Policy.ProjectCode
	out.Classifier = policy.ClassifierRules{
		Enabled: t.Classifier.Enabled, MinConfidence: t.Classifier.MinConfidence, OnLowConfidence: t.Classifier.OnLowConfidence,
	}
	for _, token := range c.Server.Tokens {
		if token.MayConfine {
			out.Confine.Tokens = append(out.Confine.Tokens, token.Name)
		}
		if token.TrustToolHints {
			out.TrustToolHints = append(out.TrustToolHints, token.Name)
		}
	}
	for _, r := range t.Rules {
		out.Rules = append(out.Rules, ruleOf(r))
	}
	return out
}

// layersOf gives the hard layers beside tools.allow and tools.deny.
func layersOf(c config.Config) policy.Layers {
	out := policy.Layers{
		Profile: c.Tools.Profile, ProviderProfiles: c.Tools.ProviderProfiles,
		Providers: layerMap(c.Tools.Providers), Groups: layerMap(c.Tools.Groups),
		Sandbox: policy.Layer(c.Tools.Sandbox), Subagent: policy.Layer(c.Tools.Subagent),
		Agents: map[string]policy.AgentLayer{},
	}
	for _, a := range c.Agents.List {
		out.Agents[a.ID] = layerOf(a)
	}
	return out
}

// layerOf gives the file's settings for one agent.
func layerOf(a config.Agent) policy.AgentLayer {
	o := a.Approvals
	return policy.AgentLayer{
		Layer:     policy.Layer{Profile: a.Tools.Profile, Allow: a.Tools.Allow, Deny: a.Tools.Deny},
		Providers: layerMap(a.Tools.Providers),
		Mode:      o.Mode, MinApprovals: o.MinApprovals, MinApprovalsByRisk: byClass(o.Policy.MinApprovalsByRisk),
		RequireApprovalAtOrAbove:      classOf(o.Policy.RequireApprovalAtOrAbove),
		DenyAtOrAbove:                 classOf(o.Policy.DenyAtOrAbove),
		RequireHumanApproverAtOrAbove: classOf(o.Policy.RequireHumanApproverAtOrAbove),
		StepUpAtOrAbove:               classOf(o.Policy.StepUpAtOrAbove),
	}
}

func layerMap(in map[string]config.Layer) map[string]policy.Layer {
	out := make(map[string]policy.Layer, len(in))
	for name, l := range in {
		out[name] = policy.Layer(l)
	}
	return out
}

// NamedTools are the tools that the operator's rules and lists name, for labels of
// metrics. Patterns and groups are no names.
func NamedTools(c config.Config) []string {
	all := slices.Concat(c.Tools.Allow, c.Tools.Deny)
	for _, r := range c.ApprovalTools().Rules {
		all = append(all, r.Match.Tool...)
	}
	all = slices.DeleteFunc(all, func(s string) bool { return strings.Contains(s, "*") || strings.HasPrefix(s, "group:") })
	slices.Sort(all)
	return slices.Compact(all)
}

// NamedAgents are the agents that the configuration names, for labels of metrics.
func NamedAgents(c config.Config) (all []string) {
	for _, a := range c.Agents.List {
		all = append(all, a.ID)
	}
	for _, t := range c.Server.Tokens {
		if t.AgentID != "" {
			all = append(all, t.AgentID)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func ruleOf(r config.Rule) policy.Rule {
	return policy.Rule{
		Name: r.Name, When: r.When, Risk: classOf(r.Risk), Outcome: r.Outcome, Approve: r.Approve,
		During: policy.During(r.During),
		Match: policy.Match{
			Tool: r.Match.Tool, Command: r.Match.Command, Path: r.Match.Path,
			Host: r.Match.Host, Agent: r.Match.Agent, Session: r.Match.Session,
		},
		SideEffects: words[approval.SideEffect](r.SideEffects), MinApprovals: r.MinApprovals, Role: r.Role, StepUp: r.StepUp, Confine: r.Confine,
	}
}

// rolesOf lists the roles that people have, or have while they are on duty, each once.
func rolesOf(c config.Config) []string {
	var out []string
	for _, p := range c.People {
		out = append(out, p.Roles...)
	}
	for _, name := range rosterNames(c) {
		out = append(out, people.RoleOnDuty(name))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func classOf(r config.Risk) *approval.RiskClass {
	if !r.Set {
		return nil
	}
	return &r.Class
}

// byClass leaves out names that are no class; the checker reports them.
func byClass(in map[string]int) map[approval.RiskClass]int {
	out := map[approval.RiskClass]int{}
	for name, n := range in {
		var class approval.RiskClass
		if class.UnmarshalText([]byte(name)) == nil {
			out[class] = n
		}
	}
	return out
}

func words[Out, In ~string](list []In) []Out {
	out := make([]Out, len(list))
	for i, w := range list {
		out[i] = Out(w)
	}
	return out
}

// ownFiles lists the desk's own files by absolute path, and by that to which links on the way lead: configuration, key,
// database, socket, secrets, certificates, and the client files that serve --local writes.
func ownFiles(c config.Config) []string {
	files := []string{c.File, c.Store.KeyFile, c.DatabaseFile(), c.SocketFile(), c.Server.TLS.CertFile, c.Server.TLS.KeyFile}
	for _, on := range platform.Rows {
		bot := c.Channels.Bots[on.Name]
		files = append(files, bot.BotTokenFile, bot.Updates.Webhook.SecretFile)
	}
	files = append(files, c.ApprovalTools().Classifier.APIKeyFile,
		c.Tools.Verifier.Webhook.SecretFile, c.Tools.Verifier.Chat.BotTokenFile)
	for _, r := range c.ApprovalTools().OnDuty {
		files = append(files, r.CalendarFile())
	}
	for _, a := range c.Agents.List {
		files = append(files, a.Tools.Verifier.Webhook.SecretFile, a.Tools.Verifier.Chat.BotTokenFile)
	}
	if db := c.DatabaseFile(); db != "" {
		files = append(files, db+"-wal", db+"-shm", db+".lock")
	}
	if c.File != "" {
		own := local.DeskFiles.In(filepath.Dir(c.File))
		files = append(files, own.Client, own.Operator)
	}
	if program, err := os.Executable(); err == nil { // and the small program of the hooks, even if missing
		files = append(files, program, filepath.Join(filepath.Dir(program), "approvalbot-hook"))
	}
	for _, token := range c.Server.Tokens {
		files = append(files, token.TokenFile, token.CallbackSecretFile)
	}
	var out []string
	for _, f := range files {
		if f == "" {
			continue
		}
		abs, err := filepath.Abs(f)
		if err != nil {
			continue
		}
		out = append(out, abs)
		if dir, err := filepath.EvalSymlinks(filepath.Dir(abs)); err == nil && dir != filepath.Dir(abs) { // the file may not be there yet
			out = append(out, filepath.Join(dir, filepath.Base(abs)))
		}
		if file, err := filepath.EvalSymlinks(abs); err == nil && !slices.Contains(out, file) {
			out = append(out, file)
		}
	}
	return out
}
