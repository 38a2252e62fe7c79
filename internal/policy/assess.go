package policy

import (
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/tool"
)

// assess reads the call into j.Found. If the steps of a judgement are not enough for that,
// the call counts as one that cannot be read: it asks, and no rule or list permits it.
func (e *Engine) assess(j *judging) {
	if !j.steps.Within(func() { e.assessAll(j) }) {
		j.cutShort(&j.Found)
	}
}

func (j *judging) cutShort(found *finding.Set) {
	j.cut, j.leavesWorkspace = true, true
	found.Add(finding.UnparsableCommand)
	found.Add(finding.MalformedCall)
}

func (e *Engine) assessAll(j *judging) {
	if e.assessServer(j) {
		return
	}
	if j.Tool.Kind == tool.Exec {
		e.assessExec(j)
	} else {
		j.Read()
	}
	e.declared(j)
	if j.Tool.Kind == tool.Exec && !j.Found.Has(finding.MalformedCall) {
		return
	}
	if j.Lacks() {
		j.malformed = true
		j.Found.Add(finding.MalformedCall)
	}
}
