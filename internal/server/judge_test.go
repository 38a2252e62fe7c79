package server

import (
	"context"
	"maps"
	"sync"

	"approvalbot/core"
)

// judge is a policy that reads its answer off the tool's name, until a test
// turns it around.
type judge struct {
	mu     sync.Mutex
	answer map[string]core.Judgement
	name   string
	heeds  map[string]bool // tools whose class a classifier's is; R0 is allowed
}

func newJudge() *judge {
	people := core.Rule{Allowed: []core.Factor{core.UserRequest, core.RulesBased}, Effective: []core.Factor{core.UserRequest, core.RulesBased},
		Disabled: []core.Factor{}, MinApprovals: 1, RequiresHuman: true}
	two := people
	two.MinApprovals = 2
	risk := func(r core.RiskClass, effects ...core.SideEffect) core.Assessment {
		return core.Assessment{RiskClass: r, SideEffects: effects, Confidence: 1, Source: "static", ReasonCodes: []string{"test"}}
	}
	all := []core.Decision{core.AllowOnce, core.AllowSession, core.AllowAlways, core.Deny}
	ask := core.Judgement{Outcome: core.OutcomeAsk, Assessment: risk(core.R3, core.ProcessExec), Rule: people, Offers: all, Why: []string{"It changes things."}}
	pair := core.Judgement{Outcome: core.OutcomeAsk, Assessment: risk(core.R4, core.DataLoss), Rule: two, Offers: []core.Decision{core.AllowOnce, core.Deny}}
	return &judge{name: "7e57", answer: map[string]core.Judgement{
		"ask": ask, "exec": ask, "mail.send": ask, "pair": pair,
		"read": {Outcome: core.OutcomeAllow, Assessment: risk(core.R0, core.FilesystemRead), Rule: people, Offers: all},
		"rm":   {Outcome: core.OutcomeDeny, Assessment: risk(core.R4, core.DataLoss), Rule: people, Reason: "never"},
	}}
}

// turn makes policy deny one tool from now on.
func (j *judge) turn(tool string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.answer = maps.Clone(j.answer)
	j.answer[tool] = core.Judgement{Outcome: core.OutcomeDeny, Reason: "no longer"}
}

// Permits leaves all tools but rm in a sandbox, and none to the agent "locked".
func (j *judge) Permits(c core.Call) (string, bool) {
	if c.Context.Sandboxed && c.ToolName == "rm" || c.AgentID == "locked" {
		return "The tool is denied (test).", false
	}
	return "", true
}

// JudgeWith has no opinion of a classifier's, but of tools that heed was called for.
func (j *judge) JudgeWith(ctx context.Context, call core.Call, o core.Opinion) core.Judgement {
	out := j.Judge(ctx, call)
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.heeds[call.ToolName] && o.Failed == "" {
		out.Assessment.RiskClass = o.Assessment.RiskClass
		if out.Assessment.RiskClass == core.R0 {
			out.Outcome = core.OutcomeAllow
		}
	}
	return out
}

// heed makes a classifier's opinion of a tool count.
func (j *judge) heed(tool string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.heeds = map[string]bool{tool: true}
}

// Judge answers by tool name; what it does not know is denied.
func (j *judge) Judge(_ context.Context, c core.Call) core.Judgement {
	j.mu.Lock()
	defer j.mu.Unlock()
	if a, ok := j.answer[c.ToolName]; ok {
		if a.GrantScope.Subject == "" {
			a.GrantScope.Subject, a.GrantScope.Session, a.GrantScope.Always = c.ToolName, "the tool "+c.ToolName, "exactly this call"
		}
		a.Trace = []core.Step{{Stage: "test", Rule: c.ToolName, Outcome: a.Outcome.String(), Text: "It is so."}}
		return a
	}
	return core.Judgement{Outcome: core.OutcomeDeny, Reason: "unknown tool"}
}

// Hash names the policy.
func (j *judge) Hash() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.name
}

// rename makes it another policy by name.
func (j *judge) rename(name string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.name = name
}

// change answers a tool otherwise from now on; nil: as at first.
func (j *judge) change(tool string, change func(*core.Judgement)) {
	first := newJudge().answer[tool]
	if change != nil {
		change(&first)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.answer = maps.Clone(j.answer)
	j.answer[tool] = first
}

// oneChat sends every card to one Telegram group.
type oneChat struct{}

func (oneChat) Route(core.Approval) core.Routes {
	t, _ := core.ParseTarget(group)
	return core.Routes{Targets: []core.Target{t}, FallbackAfterMs: 20_000}
}

func (oneChat) Names(place core.Target) bool {
	t, _ := core.ParseTarget(group)
	return t.Names(place)
}
