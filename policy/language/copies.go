package language

import (
	"approvalbot/policy/command"
	"approvalbot/policy/finding"
	"approvalbot/policy/workspace"
)

// copiesPrograms judges cp, mv and ln, which bring programs of the project where a
// directory is copied onto one that holds them or into it, or is a link to one.
func copiesPrograms(x *command.Call, name string, args []workspace.Word) {
	before := len(x.Effects)
	copies(x, name, args)
	for _, e := range x.Effects[before:] {
		if e.Kind != command.FillsFile && e.Kind != command.WritesFile {
			continue
		}
		x.Place.Resolve(e.Word, func(file string, _ bool) {
			if workspace.HoldsPrograms(file) {
				x.Add(finding.WritesStartup)
			}
		})
	}
}
