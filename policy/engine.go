package policy

import (
	"context"
	"fmt"
	"sync"

	"mvdan.cc/sh/v3/syntax"

	"approvalbot/core"
)

// Engine judges calls by one Config. It never changes and is safe for
// concurrent use.
type Engine struct {
	cfg       Config
	hash      string
	desk      desk
	rooms     map[string][]string // agent id to its workspace, as the only directory
	commands  map[string]rule
	allow     map[string]bool // folded names of ToolsAllow, nil for all
	deny      map[string]bool // folded names of ToolsDeny
	effective []core.Factor
	denied    [core.R4 + 1]string // the reason of a deny, per class
	parsers   sync.Pool           // of *syntax.Parser
	decoders  sync.Pool           // of *decoder
}

var _ core.Policy = (*Engine)(nil)

// New makes the engine. The error names every mistake of the Config, one a line.
func New(cfg Config) (*Engine, error) {
	cfg, err := cfg.normal()
	if err != nil {
		return nil, err
	}
	e := &Engine{cfg: cfg, commands: commands(), desk: newDesk(cfg.Protected), allow: toolSet(cfg.ToolsAllow), deny: toolSet(cfg.ToolsDeny)}
	e.rooms = make(map[string][]string, len(cfg.Workspaces))
	for agent, dir := range cfg.Workspaces {
		e.rooms[agent] = []string{dir}
	}
	if e.hash, err = cfg.hash(); err != nil {
		return nil, err
	}
	for _, f := range cfg.AllowedApprovers {
		if !contains(cfg.DisabledApprovers, f) {
			e.effective = append(e.effective, f)
		}
	}
	for c := range core.R4 + 1 {
		if cfg.DenyAtOrAbove != nil {
			e.denied[c] = fmt.Sprintf("Policy denies risk class %v and above, and this call is %v (%s); find a safer way or ask the operator to do it.",
				*cfg.DenyAtOrAbove, c, c.Words())
		}
	}
	e.decoders.New = func() any { return &decoder{} }
	e.parsers.New = func() any { return syntax.NewParser(syntax.KeepComments(true), syntax.Variant(syntax.LangBash)) }
	return e, nil
}

// Hash names the policy: its configuration, defaults filled in, and the version
// of the built-in rules.
func (e *Engine) Hash() string { return e.hash }

// judging is one call on its way through the stages.
type judging struct {
	call   core.Call
	tool   tool
	found  findings    // what the call could do
	policy findings    // why the desk asks or refuses
	exec   execWords   // what a call of an exec tool says about itself
	reason string      // of the first deny
	trace  []core.Step // appended to by every stage
}

// stage looks at a call and says OutcomeAllow (no objection), OutcomeAsk or
// OutcomeDeny. The strictest answer of all stages counts.
type stage func(*Engine, *judging) core.Outcome

var stages = [...]stage{layersStage, riskStage, execStage, policyStage}

// Judge evaluates one call. It does no I/O and gives the same answer to the
// same call.
func (e *Engine) Judge(_ context.Context, call core.Call) core.Judgement {
	j := &judging{call: call, trace: make([]core.Step, 0, 6)}
	var outcome core.Outcome
	for _, run := range stages {
		outcome = max(outcome, run(e, j))
	}
	class := j.found.class()
	out := core.Judgement{
		Outcome: outcome, Rule: e.rule(class), Offers: []core.Decision{core.AllowOnce, core.Deny}, Reason: j.reason, Trace: j.trace,
		Assessment: core.Assessment{RiskClass: class, SideEffects: j.sideEffects().names(), Confidence: 1, Source: "static"},
	}
	if j.found.any(unsure) {
		out.Assessment.Confidence = 0.5
	}
	out.Assessment.ReasonCodes, out.Why = j.reasons()
	return out
}

// reasons gives the codes of what was found and of why the desk asks or
// refuses, and the sentence of each.
func (j *judging) reasons() (names, texts []string) {
	var buf [24]code
	codes := j.policy.list(j.found.list(buf[:0]))
	all := make([]string, 2*len(codes))
	names, texts = all[:len(codes):len(codes)], all[len(codes):]
	for i, c := range codes {
		names[i], texts[i] = reasons[c].name, reasons[c].text
	}
	return names, texts
}

// sideEffects joins what was found; running a command is one by itself.
func (j *judging) sideEffects() effects {
	e := j.found.effects()
	if j.tool.kind == execTool {
		e |= procExec
	}
	return e
}

// rule says whose yes a call of the class needs. A class needs at least as many
// approvals as any class below it.
func (e *Engine) rule(class core.RiskClass) core.Rule {
	need := e.cfg.MinApprovals
	for r, n := range e.cfg.MinApprovalsByRisk {
		if r <= class {
			need = max(need, n)
		}
	}
	all := make([]core.Factor, 0, len(e.cfg.AllowedApprovers)+len(e.cfg.DisabledApprovers)+len(e.effective))
	part := func(list []core.Factor) []core.Factor {
		from := len(all)
		all = append(all, list...)
		return all[from:len(all):len(all)]
	}
	return core.Rule{
		Allowed: part(e.cfg.AllowedApprovers), Disabled: part(e.cfg.DisabledApprovers), Effective: part(e.effective),
		MinApprovals: need, RequiresHuman: class >= *e.cfg.RequireHumanApproverAtOrAbove,
	}
}

func contains[T comparable](list []T, v T) bool {
	for _, x := range list {
		if x == v {
			return true
		}
	}
	return false
}

// JudgeWith is Judge with a classifier's opinion.
func (e *Engine) JudgeWith(ctx context.Context, call core.Call, _ core.Opinion) core.Judgement {
	return e.Judge(ctx, call)
}
