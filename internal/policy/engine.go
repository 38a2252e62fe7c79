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
	"approvalbot/internal/policy/pattern"
	"approvalbot/internal/policy/program"
	"approvalbot/internal/policy/tool"
	"approvalbot/internal/policy/workspace"
)

// Engine judges calls by one Config. It never changes and is safe for
// concurrent use.
type Engine struct {
	cfg       Config
	hash      string
	desk      workspace.Own
	lines     *line.Wide
	layers    []tool.Layer
	agents    map[string]*agent
	others    *agent // that nothing is said about
	effective []approval.Factor
	servers   tool.Table // of well-known servers, where somebody may say which they are
	allowlist []pattern.Command
	safeBins  map[string]bool
	rules     []opRule
	index     index
	wants     bool          // some rule looks at paths
	timed     bool          // some rule holds only in its window
	calls     *sync.Pool    // of *judging
	turns     chan struct{} // one for each judgement under way; a core stays free if there are two
}

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

// agent is what the operator says of one agent.
type agent struct {
	terms *terms
	desk  *workspace.Own
	roots []string // its workspaces; none: what calls say may count

	sandboxed bool // its commands are confined
}

// agent gives what is said of the agent of that id.
func (e *Engine) agent(id string) *agent {
	if a := e.agents[id]; a != nil {
		return a
	}
	return e.others
}

// Hash names the policy: its configuration, defaults filled in, and the version
// of the built-in rules.
func (e *Engine) Hash() string { return e.hash }

// judging is one call on its way through the stages.
type judging struct {
	tool.Reading
	agent *agent
	steps budget.Budget
	cut   bool // the steps were not enough to read it

	extra           finding.Effects // what others say it does
	seen            line.Seen
	place           workspace.Place // where its commands stand in the end
	facts           facts
	line            *string   // of an exec tool
	argv            []string  // the same
	dirs            [2]string // where the call says that it runs: its param, and what it is bound to
	host            string    // on which machine, by its param
	exec            execWords // what a call of an exec tool says about itself
	stays           bool      // it runs in the workspace, with the environment as it is
	unsure          string    // why shells may read its line otherwise, "" where they do not
	unplaced        bool      // a command for which the call names no directory
	bound           bool      // it runs in the sandbox that the operator vouches for
	outsideProgram  bool      // it runs a program by a path that is not in the workspace
	leavesWorkspace bool      // its line, read otherwise, may have an effect outside
	static          approval.RiskClass
	base            approval.RiskClass // with the operator's rules
	class           approval.RiskClass // with a classifier's opinion too

	outcome    approval.Outcome
	policy     finding.Set // why the desk asks or refuses
	reason     string      // of the first deny
	now        time.Time   // where some rule holds only in its window
	rule       *opRule     // the one that matched
	why        string      // its sentence for people
	settled    bool        // it says what the class is
	asked      bool        // it asks for people
	excused    bool        // the operator permits the call, whatever its class
	malformed  bool        // it lacks what such a call cannot be without
	hit        bool        // of the allowlist for commands
	once       bool        // every single call is to be asked for
	onMiss     string
	heard      bool               // a classifier's opinion counts
	said       approval.RiskClass // what it says
	opened     bool               // the lack of one let the call go on
	confidence float64
	remarks    []string // reason codes of the classifier
	votes      []approval.Vote
	trace      []approval.Step // appended to by every stage
}

// stage looks at a call and says OutcomeAllow (no objection), OutcomeAsk or
// OutcomeDeny. The strictest answer of all stages counts.
type stage func(*Engine, *judging) approval.Outcome

// place finds out where a call of the agent runs.
func (a *agent) place(call *approval.Call, workdir, host string) workspace.Place {
	return workspace.At(a.roots, a.desk, call.Bind, workdir, host)
}

// Judge evaluates one call. It does no I/O and gives the same answer to the
// same call, as long as no window of a rule begins or ends. A call that takes more
// steps than a judgement has, or whose caller goes away, is not read to its end: it asks.
func (e *Engine) Judge(ctx context.Context, call approval.Call) approval.Judgement {
	defer e.turned(e.turn(ctx))
	return e.conclude(e.read(ctx, call))
}

// turn waits for a turn to judge, or until the caller has gone. What it gives is for
// turned, once the call is judged.
func (e *Engine) turn(ctx context.Context) (had bool) {
	select {
	case e.turns <- struct{}{}:
		return true
	default:
	}
	select {
	case e.turns <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (e *Engine) turned(had bool) {
	if had {
		<-e.turns
	}
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
	who, own := max(j.base, j.class), new(lists)
	out := approval.Judgement{
		Outcome: j.outcome, Rule: e.rule(own.factors[:0], who, j.agent.terms), GrantScope: j.reach(e, who),
		Reason: j.reason, Votes: j.votes, Form: j.form(),
		Assessment: approval.Assessment{RiskClass: j.class, SideEffects: j.sideEffects().Names(own.effects[:0]),
			Confidence: 1, Source: "static"},
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

// spent empties j for the next call; what calls said does not stay behind.
func (e *Engine) spent(j *judging) {
	memory, seen := j.Reading.Spent(), j.seen.Spent()
	*j = judging{}
	j.Memory, j.seen = memory, seen
	e.calls.Put(j)
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

// unasked says what happens where nobody is asked, and whether a classifier is.
func (j *judging) unasked(e *Engine, out *approval.Judgement) {
	if out.Outcome == approval.OutcomeAsk {
		out.OnMiss = j.onMiss
	}
	if out.Outcome == approval.OutcomeAsk && j.fallsBack(e.cfg.ExecAskFallback) {
		out.Unreached = approval.OutcomeAllow
		j.say("exec", "askFallback", approval.OutcomeAllow,
			"When no approver can be reached, it runs all the same: the operator wrote askFallback.")
	}
	if j.opened && out.Outcome == approval.OutcomeAllow {
		out.FailedOpen = failsOpen
	}
	if e.cfg.Classifier.Enabled && out.Outcome != approval.OutcomeDeny && j.open() {
		out.Unsure = true
		j.say("classifier", "unsure", out.Outcome, "Static rules are not sure: the classifier would be asked.")
	}
}

// fallsBack reports a command that the operator lets run where no approver can be reached.
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

// offers says what people may decide. No grant is offered where none could be
// left, where every command is to be asked for, and for R4.
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

// reasons gives the codes of what was found, of why the desk asks or refuses and
// of the operator's rule, with the sentence of each, and then those of a
// classifier.
func (j *judging) reasons(all []string) (names, texts []string) {
	var buf [24]finding.Code
	codes := j.policy.List(j.Found.List(buf[:0]))
	for _, c := range codes {
		all = append(all, finding.Reasons[c].Text)
	}
	if j.rule != nil {
		all = append(all, j.why)
	}
	n := len(all)
	for _, c := range codes {
		all = append(all, finding.Reasons[c].Name)
	}
	if j.rule != nil {
		all = append(all, j.rule.code)
	}
	all = append(all, j.remarks...) // what a classifier says has no sentence of ours
	return slices.Clip(all[n:]), all[:n:n]
}

// sideEffects joins what was found and what others say; running a command is one
// by itself.
func (j *judging) sideEffects() finding.Effects {
	e := j.Found.Effects() | j.extra
	if j.Tool.Kind == tool.Exec {
		e |= finding.ProcExec
	}
	return e
}
