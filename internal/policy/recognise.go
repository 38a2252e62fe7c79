package policy

import (
	"approvalbot/internal/approval"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/tool"
)

// recognise adds what a tool or a program that policy does not know is pointed at, before a
// classifier's opinion replaces the finding that it is unknown. Without an opinion such
// calls ask in any case, so it is not needed.
func (e *Engine) recognise(j *judging) {
	found := finding.Set{}
	r := j.Params(&found, nil)
	switch {
	case j.Tool.Kind == tool.Exec:
		r.Place = j.place
		for _, c := range j.seen.Commands {
			args := j.seen.Args(c)
			if c.Class < approval.R3 {
				continue // it is known, with its words
			}
			for _, w := range args[min(1, len(args)):] {
				r.Operand(w)
			}
		}
	case j.Found.Has(finding.UnknownTool):
		list, _ := j.Fields()
		for i := range list {
			r.ReadAny(&list[i])
		}
	}
	j.Found = j.Found.Or(found.And(pointed))
}

// pointed are the findings that count against a call in every case, also if it is not known
// what the call does with what it names.
var pointed = finding.Of(finding.NetworkRead, finding.LoopbackRead, finding.ReadsSecret, finding.MayReadSecret, finding.MetadataService, finding.ControlPlane,
	finding.PrivateAddress, finding.OddAddress, finding.SendsData, finding.WritesSecret, finding.WritesStartup, finding.WritesSystem,
	finding.WritesAccess, finding.WritesDevice, finding.PathClimbs, finding.TouchesDesk)
