package effective

import (
	"fmt"
	"reflect"
	"slices"

	"approvalbot/internal/approval"
	"approvalbot/internal/config"
	"approvalbot/internal/platform"
)

// Looser names, in words, what the new configuration allows that the old one did
// not, key by key. It may name a change that turns out to have no effect. It
// names every change by which an operator loosens, except rules that [Unproved]
// names.
func Looser(old, now config.Config) (out []string) {
	say := func(cond bool, format string, args ...any) {
		if cond {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	a, b := old.ApprovalTools(), now.ApprovalTools()
	say(!old.Approvals.Enabled() && now.Approvals.Enabled(), "approvals are enabled")
	for class := range approval.R4 + 1 {
		was, is := outcomeOf(old, class), outcomeOf(now, class)
		say(strictness(is) < strictness(was), "%v: %s instead of %s", class, is, was)
		say(is == "ask" && was == is && needOf(now, class) < needOf(old, class), "%v needs %d instead of %d approvals",
			class, needOf(now, class), needOf(old, class))
		say(is == "ask" && a.Policy.RequireHumanApproverAtOrAbove.Reaches(class) && !b.Policy.RequireHumanApproverAtOrAbove.Reaches(class), "%v needs no person", class)
		say(is == "ask" && a.Policy.StepUpAtOrAbove.Reaches(class) && !b.Policy.StepUpAtOrAbove.Reaches(class),
			"%v needs no signature of a passkey", class)
	}
	say(a.Policy.RequireApprovalForExternalWrite && !b.Policy.RequireApprovalForExternalWrite,
		"external writes need no approval by themselves")
	say(a.Policy.RequireApprovalForMessagingSend && !b.Policy.RequireApprovalForMessagingSend, "messages need no approval by themselves")
	say(a.Policy.AgentInstructions != "allow" && b.Policy.AgentInstructions == "allow", "agents change what tells them what to do (AGENTS.md) unasked")
	say(b.Policy.ProjectCode == "allow" && a.Policy.ProjectCode != "allow", "tests and builds run the workspace's own code unasked")
	out = append(out, moreConfined(old, now)...)
	out = append(out, looserAgents(old.Agents.List, now.Agents.List)...)
	say(a.SelfApproval != "solo" && b.SelfApproval == "solo", "people may approve their own requests")
	say(!a.ClampMinApprovals && b.ClampMinApprovals, "a quorum shrinks to the people there are")
	say(lacks(a.EffectiveApprovers(), b.EffectiveApprovers()), "more kinds of approvers count")
	out = append(out, moreOnDuty(a.OnDuty, b.OnDuty)...)
	say(changeOfRules(old, now) == looser, "the operator's rules allow more")
	say(looserExec(old.Approvals.Exec, now.Approvals.Exec), "commands need less approval (approvals.exec)")
	say(a.Classifier.OnLowConfidence != "allow" && b.Classifier.OnLowConfidence == "allow", "an unsure classifier lets calls run")
	say(lacks(now.Tools.Deny, old.Tools.Deny), "tools.deny is shorter")
	say(len(old.Tools.Allow) > 0 && (len(now.Tools.Allow) == 0 || lacks(old.Tools.Allow, now.Tools.Allow)), "tools.allow is wider")
	say(!reflect.DeepEqual(Policy(old).Layers, Policy(now).Layers), "the hard tool layers changed")
	for _, token := range mayOmitRequester(old, now) {
		say(true, "token %s need not say who asked", token)
	}
	for _, token := range moreTrusted(old, now) {
		say(true, "what token %s says of tools may lower their risk (trustToolHints)", token)
	}
	say(looserVerifier(old.Tools.Verifier, now.Tools.Verifier), "the verifier stops less")
	return append(out, moreApprovers(old, now)...)
}

// looserAgents names the agents to which more is local, or whose commands count as
// confined, than before.
func looserAgents(old, now []config.Agent) (out []string) {
	find := func(list []config.Agent, id string) config.Agent {
		i := slices.IndexFunc(list, func(a config.Agent) bool { return a.ID == id })
		if i < 0 {
			return config.Agent{}
		}
		return list[i]
	}
	for _, is := range now {
		was := find(old, is.ID)
		if is.Sandboxed && !was.Sandboxed {
			out = append(out, "commands of agent "+is.ID+" count as confined")
		}
		if lacks(was.Workspace, is.Workspace) {
			out = append(out, "more directories are local to agent "+is.ID)
		}
	}
	for _, was := range old {
		if len(was.Workspace) > 0 && len(find(now, was.ID).Workspace) == 0 {
			out = append(out, "a call's own workdir may be local to agent "+was.ID)
		}
	}
	return out
}

// moreConfined names what may run confined now, and could not before.
func moreConfined(old, now config.Config) (out []string) {
	a, b := old.ApprovalTools(), now.ApprovalTools()
	on := func(c config.ApprovalTools) bool { return c.Confine.Mode == "unsure" || c.Confine.Mode == "always" }
	if on(b) && !on(a) {
		out = append(out, "commands that are only not understood run confined instead of asking (approvals.tools.confine)")
	}
	if a.Policy.ProjectCode == "ask" && b.Policy.ProjectCode == "confined" {
		out = append(out, "tests and builds run the workspace's own code unasked when they are confined")
	}
	if lacks(a.Confine.Readable, b.Confine.Readable) || lacks(a.Confine.Toolchains, b.Confine.Toolchains) {
		out = append(out, "confined calls read more (approvals.tools.confine)")
	}
	for _, is := range now.Agents.List {
		i := slices.IndexFunc(old.Agents.List, func(was config.Agent) bool { return was.ID == is.ID })
		was := ""
		if i >= 0 {
			was = old.Agents.List[i].Confine.Mode
		}
		if is.Confine.Mode != was && is.Confine.Mode != "off" && (is.Confine.Mode != "" || on(b)) {
			out = append(out, "more commands of agent "+is.ID+" may run confined")
		}
	}
	for _, t := range now.Server.Tokens {
		had := func(was config.Token) bool { return was.Name == t.Name && was.MayConfine }
		if t.MayConfine && !slices.ContainsFunc(old.Server.Tokens, had) {
			out = append(out, "token "+t.Name+" may say that it runs calls confined (mayConfine)")
		}
	}
	return out
}

// mayOmitRequester names the tokens that no longer must say who asked the agent.
func mayOmitRequester(old, now config.Config) (names []string) {
	for _, t := range now.Server.Tokens {
		had := func(was config.Token) bool { return was.Name == t.Name && was.RequireRequester }
		if !t.RequireRequester && slices.ContainsFunc(old.Server.Tokens, had) {
			names = append(names, t.Name)
		}
	}
	return names
}

// moreTrusted names the tokens whose claims about tools count now and did not
// before.
func moreTrusted(old, now config.Config) (names []string) {
	for _, t := range now.Server.Tokens {
		had := func(was config.Token) bool { return was.Name == t.Name && was.TrustToolHints }
		if t.TrustToolHints && !slices.ContainsFunc(old.Server.Tokens, had) {
			names = append(names, t.Name)
		}
	}
	return names
}

// strictness orders outcomes.
func strictness(outcome string) int { return slices.Index([]string{"allow", "ask", "deny"}, outcome) }

func looserExec(old, now config.Exec) bool {
	order := func(words ...string) func(string) int { return func(w string) int { return slices.Index(words, w) } }
	security, ask, fallback := order("deny", "allowlist", "full"), order("always", "on-miss", "off"), order("deny", "allowlist", "full")
	if security(now.Security) > security(old.Security) || ask(now.Ask) > ask(old.Ask) {
		return true
	}
	if old.Strict && !now.Strict {
		return true
	}
	listed := lacks(old.Allowlist, now.Allowlist) || lacks(old.SafeBins, now.SafeBins)
	return listed || fallback(now.AskFallback) > fallback(old.AskFallback)
}

// LooserByVersion names, in words, the calls that this version allows by that
// configuration and 0.1 asked about.
func LooserByVersion(c config.Config) (out []string) {
	if x := c.Approvals.Exec; c.Approvals.Enabled() && x.Security == "allowlist" && x.Ask != "always" && !x.Strict {
		out = append(out, "external reads that the desk's table knows (R2), such as kubectl get, run unasked; "+
			"approvals.exec.strict: true lets them ask as before")
	}
	for _, v := range verifiersOf(c) {
		if c.Approvals.Enabled() && AsksVerifier(c) && v.Chat.Enabled && c.Tools.Verifier.FailMode == "allow" {
			out = append(out, "calls run without the verifier's people while their chat cannot be reached (tools.verifier.failMode: allow)")
			break
		}
	}
	if p := c.ApprovalTools(); c.Approvals.Enabled() && p.Mode != "always" && c.Approvals.Exec.Ask != "always" {
		out = append(out, "ordinary files in /tmp are written and removed unasked (R1)")
	}
	return out
}

func looserVerifier(old, now config.Verifier) bool {
	if !old.Enabled {
		return false
	}
	switch {
	case !now.Enabled, old.FailMode != "allow" && now.FailMode == "allow", !reflect.DeepEqual(old.Scope, now.Scope):
		return true
	case old.Webhook.URL != "" && now.Webhook.URL == "", old.Chat.Enabled && !now.Chat.Enabled:
		return true
	}
	return lacks(old.Chat.AllowedUserIDs, now.Chat.AllowedUserIDs)
}

func moreApprovers(old, now config.Config) (out []string) {
	for _, on := range platform.Rows {
		was, is, who := old.Channels.Bots[on.Name], now.Channels.Bots[on.Name], "accounts"
		if on.Roles {
			who = "accounts or roles"
		}
		if lacks(was.AllowedUserIDs, is.AllowedUserIDs) || lacks(was.AllowedRoleIDs, is.AllowedRoleIDs) {
			out = append(out, "more "+on.Title+" "+who+" may approve")
		}
	}
	was, is := Rights(old).Tokens, Rights(now).Tokens
	names := make([]string, 0, len(is))
	for name := range is {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if was[name] != is[name] {
			out = append(out, "token "+name+" may approve as "+is[name])
		}
	}
	return out
}

// lacks reports whether the list has something that known lacks.
func lacks[T comparable](known, list []T) bool {
	return slices.ContainsFunc(list, func(x T) bool { return !slices.Contains(known, x) })
}
