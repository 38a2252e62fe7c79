package server

import (
	"context"
	"maps"
	"sync"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// judge is a policy that reads its answer off the tool's name, until a test
// turns it around.
type judge struct {
	mu     sync.Mutex
	answer map[string]approval.Judgement
	name   string
	heeds  map[string]bool // tools whose class a classifier's is; R0 is allowed
}

func newJudge() *judge {
	people := approval.Rule{Allowed: []approval.Factor{approval.UserRequest, approval.RulesBased}, Effective: []approval.Factor{approval.UserRequest, approval.RulesBased},
		Disabled: []approval.Factor{}, MinApprovals: 1, RequiresHuman: true}
	two := people
	two.MinApprovals = 2
	risk := func(r approval.RiskClass, effects ...approval.SideEffect) approval.Assessment {
		return approval.Assessment{RiskClass: r, SideEffects: effects, Confidence: 1, Source: "static", ReasonCodes: []string{"test"}}
	}
	all := []approval.Decision{approval.AllowOnce, approval.AllowSession, approval.AllowAlways, approval.Deny}
	ask := approval.Judgement{Outcome: approval.OutcomeAsk, Assessment: risk(approval.R3, approval.ProcessExec), Rule: people, Offers: all, Why: []string{"It changes things."}}
	pair := approval.Judgement{Outcome: approval.OutcomeAsk, Assessment: risk(approval.R4, approval.DataLoss), Rule: two, Offers: []approval.Decision{approval.AllowOnce, approval.Deny}}
	return &judge{name: "7e57", answer: map[string]approval.Judgement{
		"ask": ask, "exec": ask, "mail.send": ask, "pair": pair,
		"read": {Outcome: approval.OutcomeAllow, Assessment: risk(approval.R0, approval.FilesystemRead), Rule: people, Offers: all},
		"rm":   {Outcome: approval.OutcomeDeny, Assessment: risk(approval.R4, approval.DataLoss), Rule: people, Reason: "never"},
	}}
}

// turn makes policy deny one tool from now on.
func (j *judge) turn(tool string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.answer = maps.Clone(j.answer)
	j.answer[tool] = approval.Judgement{Outcome: approval.OutcomeDeny, Reason: "no longer"}
}

// Permits leaves all tools but rm in a sandbox, and none to the agent "locked".
func (j *judge) Permits(c approval.Call) (string, bool) {
	if c.Context.Sandboxed && c.ToolName == "rm" || c.AgentID == "locked" {
		return "The tool is denied (test).", false
	}
	return "", true
}

// JudgeWith has no opinion of a classifier's, but of tools that heed was called for.
func (j *judge) JudgeWith(ctx context.Context, call approval.Call, o approval.Opinion) approval.Judgement {
	out := j.Judge(ctx, call)
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.heeds[call.ToolName] && o.Failed == "" {
		out.Assessment.RiskClass = o.Assessment.RiskClass
		if out.Assessment.RiskClass == approval.R0 {
			out.Outcome = approval.OutcomeAllow
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
func (j *judge) Judge(_ context.Context, c approval.Call) approval.Judgement {
	j.mu.Lock()
	defer j.mu.Unlock()
	if a, ok := j.answer[c.ToolName]; ok {
		if a.GrantScope.Subject == "" {
			a.GrantScope.Subject, a.GrantScope.Session, a.GrantScope.Always = c.ToolName, "the tool "+c.ToolName, "exactly this call"
		}
		a.Trace = []approval.Step{{Stage: "test", Rule: c.ToolName, Outcome: a.Outcome.String(), Text: "It is so."}}
		return a
	}
	return approval.Judgement{Outcome: approval.OutcomeDeny, Reason: "unknown tool"}
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
func (j *judge) change(tool string, change func(*approval.Judgement)) {
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

func (oneChat) Route(approval.Approval) core.Routes {
	t, _ := approval.ParseTarget(group)
	return core.Routes{Targets: []approval.Target{t}, FallbackAfterMs: 20_000}
}

func (oneChat) Names(place approval.Target) bool {
	t, _ := approval.ParseTarget(group)
	return t.Names(place)
}
