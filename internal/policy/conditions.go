package policy

import (
	"encoding/json"
	"errors"

	"approvalbot/internal/policy/condition"
)

// holds evaluates a condition about the call.
func (e *Engine) holds(c *condition.Condition, j *judging) (bool, error) {
	v := condition.Call{
		ToolName: j.Call.ToolName, Tool: j.Tool.Name, Argv: j.argv, AgentID: j.Call.AgentID,
		SessionKey: j.Call.SessionKey, Class: int64(j.static),
		Context: condition.Context{
			Provider: j.Call.Context.Provider, Model: j.Call.Context.Model, Group: j.Call.Context.Group,
			Sandboxed: j.Call.Context.Sandboxed, Subagent: j.Call.Context.Subagent,
		},
	}
	if j.line != nil {
		v.Command = *j.line
	}
	if c.Params {
		if j.facts.params == nil {
			if err := json.Unmarshal(j.Call.Params, &j.facts.params); err != nil {
				return false, errors.New("the params cannot be read")
			}
		}
		v.Params = j.facts.params
	}
	if c.Paths {
		v.Paths = e.pathNames(j)
	}
	if c.Hosts {
		v.Hosts = e.hosts(j)
	}
	if c.Programs {
		v.Programs = j.programs()
	}
	if c.Effects {
		for _, name := range j.sideEffects().Names(nil) {
			v.SideEffects = append(v.SideEffects, string(name))
		}
	}
	return c.Holds(&v)
}

// pathNames gives the paths of a call as conditions see them.
func (e *Engine) pathNames(j *judging) []string {
	if j.facts.paths == nil {
		for _, f := range e.files(j) {
			j.facts.paths = append(j.facts.paths, f.Path)
		}
	}
	return j.facts.paths
}

// programs gives the program of every command, as written.
func (j *judging) programs() []string {
	f := &j.facts
	if f.programs == nil {
		for _, c := range j.seen.Commands {
			f.programs = append(f.programs, j.seen.Args(c)[0].Text)
		}
	}
	return f.programs
}
