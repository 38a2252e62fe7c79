package policy

import (
	"sync"

	"approvalbot/internal/approval"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/tool"
)

// A sandboxed agent's commands are confined: the operator vouches that they find no
// secrets, reach no more of the network than the sandbox gives, and change the
// workspace alone. Then a command is R2 at most for what policy only does not know
// of it, and for code of the project. What policy does know to be worse stays.

// sandboxable are the findings that a sandbox makes harmless. ProgramByPath is one too if
// every such program lies in the workspace, and UnusualShell if no word of the line could
// have an effect outside.
var sandboxable = finding.Of(finding.UnknownCommand, finding.RunsProjectCode)

// sandboxHosts are the words for a call's host that do not lead out of a sandbox.
var sandboxHosts = sync.OnceValue(func() map[string]bool {
	return map[string]bool{"": true, "sandbox": true, "auto": true}
})

// sandboxed reports whether the call runs in the sandbox that the operator vouches
// for: the token says which agent it is, and neither the call nor what it is bound to
// names another host.
func (j *judging) sandboxed(host string) bool {
	_, bound, _ := j.Call.Bind.Fields()
	inside := sandboxHosts()[host] && sandboxHosts()[bound]
	vouched := j.agent.sandboxed && j.Call.TokensAgent
	return vouched && inside && j.Tool.Kind == tool.Exec
}

// sandbox lowers the class of a call that runs in the agent's sandbox.
func (j *judging) sandbox() {
	if !j.bound {
		return
	}
	if class := max(approval.R2, j.certain(finding.Set{}).Class()); class < j.static {
		j.policy.Add(finding.Sandboxed)
		j.static = class
		j.step("risk", finding.Reasons[finding.Sandboxed].Name, classNames[class], finding.Reasons[finding.Sandboxed].Text)
	}
}

// certain gives what was found without some findings, and without those that the
// sandbox answers for.
func (j *judging) certain(but finding.Set) finding.Set {
	if !j.bound {
		return j.Found.Without(but)
	}
	but = but.Or(sandboxable)
	if !j.outsideProgram {
		but.Add(finding.ProgramByPath)
	}
	if !j.leavesWorkspace {
		but.Add(finding.UnusualShell)
	}
	return j.Found.Without(but)
}

// doubts reports whether the judgement rests on not knowing.
func (j *judging) doubts() bool {
	return j.certain(finding.Set{}).Any(finding.Unsure)
}
