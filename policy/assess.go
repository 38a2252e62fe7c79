package policy

import (
	"approvalbot/policy/finding"
	"approvalbot/policy/tool"
)

// assess reads the call into j.found.
func (e *Engine) assess(j *judging) {
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
