package policy

import (
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/tool"
	"approvalbot/internal/policy/workspace"
)

// files gives the paths that a call names.
func (e *Engine) files(j *judging) []workspace.File {
	f := &j.facts
	if f.haveFiles {
		return f.files
	}
	f.haveFiles, f.files = true, j.Paths
	if j.Tool.Kind.Group() == "fs" || j.Tool.Kind == tool.Exec {
		return f.files // noted while they were read
	}
	list, _ := j.Fields()
	r := j.Params(&finding.Set{}, &f.files)
	r.NotePaths(list)
	return f.files
}

// hosts gives the names of the machines that a call names.
func (e *Engine) hosts(j *judging) []string {
	f := &j.facts
	if f.haveHosts {
		return f.machines.Names
	}
	f.haveHosts = true
	f.machines.Odd = j.Found.Has(finding.OddAddress) || j.Found.Has(finding.MalformedCall)
	if j.Tool.Kind == tool.Exec {
		for _, w := range j.seen.Words {
			f.machines.Word(w)
		}
		return f.machines.Names
	}
	list, _ := j.Fields()
	tool.NoteHosts(list, &f.machines)
	return f.machines.Names
}
