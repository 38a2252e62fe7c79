package policy

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/policy/budget"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/line"
	"approvalbot/internal/policy/program"
	"approvalbot/internal/policy/tool"
	"approvalbot/internal/policy/workspace"
)

var _ core.Policy = (*Engine)(nil)

// New makes the engine. If the Config is to blame, the error is Mistakes: every one.
func New(cfg Config) (*Engine, error) {
	written := Layer{Allow: cfg.ToolsAllow, Deny: cfg.ToolsDeny}
	cfg, bad := cfg.normal()
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	e := &Engine{cfg: cfg, desk: workspace.NewOwn(cfg.Protected)}
	e.lines = line.New(&e.desk, program.RuleOf)
	e.desk.Instructions = cfg.AgentInstructions == "allow"
	var wrong [3]Mistakes
	e.layers, wrong[0] = hardLayers(&cfg, written)
	e.allowlist, e.safeBins, wrong[1] = allowlist(&cfg)
	e.rules, wrong[2] = compileRules(&cfg)
	if bad = slices.Concat(append(wrong[:], bad)...); len(bad) > 0 {
		return nil, bad
	}
	var err error
	if e.hash, err = cfg.hash(); err != nil {
		return nil, err
	}
	if len(cfg.TrustToolHints) > 0 {
		if e.servers, err = tool.Servers(); err != nil {
			return nil, err
		}
	}
	e.index = newIndex(e.rules)
	for i := range e.rules {
		r := &e.rules[i]
		e.timed = e.timed || !r.during.IsZero()
		wants := len(r.paths) > 0 || r.when != nil && r.when.Paths
		e.wants = e.wants || wants
	}
	for _, f := range cfg.AllowedApprovers {
		if !slices.Contains(cfg.DisabledApprovers, f) {
			e.effective = append(e.effective, f)
		}
	}
	e.others, e.agents = &agent{terms: newTerms(&cfg, AgentLayer{}), desk: &e.desk}, map[string]*agent{}
	for id, a := range cfg.Layers.Agents {
		e.agents[id] = &agent{terms: newTerms(&cfg, a), desk: &e.desk}
	}
	known := func(id string) *agent {
		if e.agents[id] == nil {
			e.agents[id] = &agent{terms: e.others.terms, desk: &e.desk}
		}
		return e.agents[id]
	}
	for id, mode := range cfg.Confine.Agents {
		a := known(id)
		own := *a.terms
		own.confine, a.terms = mode, &own
	}
	for id, dirs := range cfg.Workspaces {
		known(id).roots = dirs
	}
	for _, id := range cfg.Sandboxed {
		known(id).sandboxed = true
	}
	e.calls = &sync.Pool{New: func() any { return &judging{seen: line.NewSeen()} }}
	e.turns = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)-1))
	return e, nil
}

// Judge evaluates one call. It does no I/O and gives the same answer to the
// same call, as long as no window of a rule begins or ends. A call that takes more
// steps than a judgement has, or whose caller goes away, is not read to its end: it asks.
func (e *Engine) Judge(ctx context.Context, call approval.Call) approval.Judgement {
	defer e.turned(e.turn(ctx))
	return e.conclude(e.read(ctx, call))
}

// read is the part that an opinion does not change. What it gives is spent by
// conclude.
func (e *Engine) read(ctx context.Context, call approval.Call) *judging {
	j := e.calls.Get().(*judging)
	j.steps = budget.New(ctx.Done())
	j.Steps = &j.steps
	j.agent = e.agent(call.AgentID)
	j.Call, j.Wants, j.Own, j.Lines, j.Roots = call, e.wants, &e.desk, e.lines, j.agent.roots
	if e.timed {
		j.now = e.cfg.Clock()
	}
	for _, run := range [...]stage{layersStage, riskStage, rulesStage} {
		j.outcome = max(j.outcome, run(e, j))
	}
	return j
}

// conclude says what happens to the call.
func (e *Engine) conclude(j *judging) approval.Judgement {
	for _, run := range [...]stage{execStage, policyStage} {
		j.outcome = max(j.outcome, run(e, j))
	}
	confined := j.confined(e)
	who, own := max(j.base, j.class), new(lists)
	out := approval.Judgement{
		Outcome: j.outcome, Confined: confined, Rule: e.rule(own.factors[:0], who, j.agent.terms),
		Reason: j.reason, Votes: j.votes, Form: j.form(),
		Assessment: approval.Assessment{RiskClass: j.class, SideEffects: j.sideEffects().Names(own.effects[:0]),
			Confidence: 1, Source: "static"},
	}
	if j.outcome != approval.OutcomeAllow || confined != nil || j.Call.MustAsk || j.Call.Scope {
		out.GrantScope = j.reach(e, who)
	}
	if j.doubts() {
		out.Assessment.Confidence = 0.5
	}
	if j.heard {
		out.Assessment.Confidence, out.Assessment.Source = j.confidence, "hybrid"
		out.Assessment.Static, out.Assessment.Classifier = j.static.String(), j.said.String()
		j.policy.Add(finding.ClassifierSpoke)
	}
	anew := j.Found.Any(eachAsks) || j.Found.Has(finding.ToolChanged)
	out.Rule.RequiresHuman = out.Rule.RequiresHuman || anew || j.policy.Has(finding.ProjectCodeAsks)
	out.Offers = j.offers(own.offers[:0], out.GrantScope)
	j.obeyed(e, &out)
	j.unasked(e, &out)
	out.Assessment.ReasonCodes, out.Why = j.reasons(own.texts[:0])
	if j.Call.Points && out.Outcome == approval.OutcomeAsk && !j.cut {
		out.Points = e.points(j)
	}
	out.Trace, out.CutShort = j.trace, j.cut
	e.spent(j)
	return out
}

// lists is the memory of a judgement's lists: each judgement has its own, in one
// piece. What is longer gets memory by itself.
type lists struct {
	factors [4]approval.Factor
	effects [4]approval.SideEffect
	offers  [4]approval.Decision
	texts   [6]string
}

// obeyed adds whose yes the operator's rule wants, and its own.
func (j *judging) obeyed(e *Engine, out *approval.Judgement) {
	r := j.rule
	if r == nil {
		return
	}
	out.Rule.MinApprovals = max(out.Rule.MinApprovals, r.min)
	out.Rule.Needs = slices.Clone(r.needs)
	out.Rule.StepUp = out.Rule.StepUp || r.stepUp
	out.Rule.RequiresHuman = out.Rule.RequiresHuman || r.stepUp
	if r.approve && out.Outcome == approval.OutcomeAsk && slices.Contains(e.effective, approval.RulesBased) {
		out.Votes = append(out.Votes, approval.Vote{Approver: approval.RulesBased, Verdict: approval.Approve, ReasonCodes: []string{r.name}})
	}
}

// unasked says what happens if no approver is asked, and whether a classifier is asked.
func (j *judging) unasked(e *Engine, out *approval.Judgement) {
	if out.Outcome == approval.OutcomeAsk {
		out.OnMiss = j.onMiss
	}
	if out.Outcome == approval.OutcomeAsk && j.fallsBack(e.cfg.ExecAskFallback) {
		out.Unreached = approval.OutcomeAllow
		j.say("exec", "askFallback", approval.OutcomeAllow,
			"If no approver can be reached, the command runs all the same, because the operator set askFallback.")
	}
	if j.opened && out.Outcome == approval.OutcomeAllow {
		out.FailedOpen = failsOpen
	}
	if e.cfg.Classifier.Enabled && out.Outcome != approval.OutcomeDeny && j.open() && (out.Confined == nil || out.Outcome == approval.OutcomeAsk) {
		out.Unsure = true
		j.say("classifier", "unsure", out.Outcome, "Static rules are not sure: the classifier would be asked.")
	}
}

// fallsBack reports a command that the operator lets run if no approver can be reached.
func (j *judging) fallsBack(fallback string) bool {
	if j.Tool.Kind != tool.Exec || j.onMiss != "" || j.asked {
		return false
	}
	full := fallback == "full" || fallback == "allowlist" && j.hit
	return full && !j.cut && max(j.static, j.class) < approval.R4
}

// open reports a judgement that rests on not knowing, and that neither a rule nor a
// classifier has settled.
func (j *judging) open() bool {
	spoken := j.heard || j.opened || j.policy.Any(finding.Of(finding.ClassifierFailed, finding.ClassifierUnsure))
	if spoken || j.settled || j.excused || j.cut {
		return false
	}
	return j.agent.terms.mode != "off" && j.class < approval.R4 && j.doubts()
}

// offers says what people may decide. No grant is offered if it would cover no further
// call, if every single command must be asked for, or for R4.
func (j *judging) offers(list []approval.Decision, r approval.GrantScope) []approval.Decision {
	list = append(list, approval.AllowOnce)
	if !j.once && r.Subject != "" && j.Call.SessionKey != "" {
		list = append(list, approval.AllowSession)
	}
	if !j.once && r.Always != "" {
		list = append(list, approval.AllowAlways)
	}
	return append(list, approval.Deny)
}

// failsOpen is the key that lets calls go on without a classifier's opinion.
const failsOpen = "approvals.tools.classifier.onLowConfidence"
