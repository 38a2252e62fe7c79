package policy

import (
	"context"
	"slices"
	"sync"
	"time"

	"approvalbot/internal/approval"
	"approvalbot/internal/policy/budget"
	"approvalbot/internal/policy/command"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/line"
	"approvalbot/internal/policy/pattern"
	"approvalbot/internal/policy/tool"
	"approvalbot/internal/policy/workspace"
)

// stage looks at a call and says OutcomeAllow (no objection), OutcomeAsk or
// OutcomeDeny. The strictest answer of all stages counts.
type stage func(*Engine, *judging) approval.Outcome

// facts are what rules ask about a call beside its commands; each is computed
// when the first rule asks.
type facts struct {
	haveFiles, haveHosts bool
	files                []workspace.File
	machines             command.Hosts
	paths                []string
	params               map[string]any
	programs             []string
}

// index finds the rules that could be about a call, so that a thousand rules cost little
// more than fifty. Each rule is in one of its maps, under every name that it can be found
// by.
type index struct {
	tools    map[string][]int // folded, in lower case
	programs map[string][]int
	agents   map[string][]int
	sessions map[string][]int
	others   []int
	commands []int // all of programs: if a line cannot be read, any could be meant
}

// terms are what the operator says about classes: for one agent, or for all agents that the
// configuration does not name.
type terms struct {
	mode    string
	confine string // as in Confine.Mode
	ask     approval.RiskClass
	human   approval.RiskClass
	deny    approval.RiskClass // above R4: no call is denied for its class
	stepUp  approval.RiskClass // likewise: no yes must be signed
	quorum  [approval.R4 + 1]int
	refusal [approval.R4 + 1]string
}

// judging is one call on its way through the stages.
type judging struct {
	tool.Reading
	agent *agent
	steps budget.Budget
	cut   bool // the steps were not enough to read it

	extra           finding.Effects // what others say it does
	seen            line.Seen
	place           workspace.Place // in which its commands run after the last one
	facts           facts
	line            *string   // of an exec tool
	argv            []string  // the same
	dirs            [2]string // the directory that the call names: by its param, and by what it is bound to
	host            string    // on which machine, by its param
	exec            execWords // what a call of an exec tool says about itself
	stays           bool      // it runs in the workspace, with the environment as it is
	unsure          string    // why shells may read its line otherwise, "" if they do not
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
	now        time.Time   // set if some rule matches only in its window
	rule       *opRule     // the one that matched
	why        string      // its sentence for people
	settled    bool        // it says what the class is
	asked      bool        // it asks for people
	excused    bool        // the operator permits the call in every class
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

// agent is what the operator says of one agent.
type agent struct {
	terms *terms
	desk  *workspace.Own
	roots []string // its workspaces; empty: what calls say may count

	sandboxed bool // its commands are confined
}

// Engine judges calls by one Config. It never changes and is safe for
// concurrent use.
type Engine struct {
	cfg       Config
	hash      string
	desk      workspace.Own
	lines     *line.Wide
	layers    []tool.Layer
	agents    map[string]*agent
	others    *agent // that the configuration does not name
	effective []approval.Factor
	servers   tool.Table // of well-known servers, set if some token may say which they are
	allowlist []pattern.Command
	safeBins  map[string]bool
	rules     []opRule
	index     index
	wants     bool          // some rule looks at paths
	timed     bool          // some rule holds only in its window
	calls     *sync.Pool    // of *judging
	turns     chan struct{} // one for each judgement under way; a core stays free if there are two
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

// place finds out in which directory and on which machine a call of the agent runs.
func (a *agent) place(call *approval.Call, workdir, host string) workspace.Place {
	return workspace.At(a.roots, a.desk, call.Bind, workdir, host)
}

// step adds to the trace if one is wanted.
func (j *judging) step(stage, rule, outcome, text string) {
	if j.Call.Explain {
		j.trace = append(j.trace, approval.Step{Stage: stage, Rule: rule, Outcome: outcome, Text: text})
	}
}

// say records what a stage thought.
func (j *judging) say(stage, rule string, o approval.Outcome, text string) approval.Outcome {
	j.step(stage, rule, o.String(), text)
	return o
}

// because is say for a rule that asks or refuses and has a reason code.
func (j *judging) because(stage string, c finding.Code, o approval.Outcome) approval.Outcome {
	j.policy.Add(c)
	return j.say(stage, finding.Reasons[c].Name, o, finding.Reasons[c].Text)
}

// refuse is because for a deny: why is the sentence for the asker.
func (j *judging) refuse(stage string, c finding.Code, why string) approval.Outcome {
	if j.reason == "" {
		j.reason = why
	}
	return j.because(stage, c, approval.OutcomeDeny)
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

var classNames = [...]string{approval.R0.String(), approval.R1.String(), approval.R2.String(), approval.R3.String(), approval.R4.String()}

// eachAsks are the findings of which every single call asks, in every class: what is typed
// into a program, what a plan says and what answers a server is another thing each time.
var eachAsks = finding.Of(finding.FeedsProcess, finding.ApprovesPlan, finding.BesideArguments)

// spent empties j for the next call; what calls said does not stay behind.
func (e *Engine) spent(j *judging) {
	memory, seen := j.Reading.Spent(), j.seen.Spent()
	*j = judging{}
	j.Memory, j.seen = memory, seen
	e.calls.Put(j)
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
