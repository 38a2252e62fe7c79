package policy

import (
	"strings"

	"approvalbot/core"
	"approvalbot/policy/command"
	"approvalbot/policy/finding"
	"approvalbot/policy/workspace"
)

// recognise adds what a tool or a program that policy does not know is pointed at,
// before a classifier's opinion stands for it. While such calls ask in any case,
// nobody needs to know.
func (e *Engine) recognise(j *judging) {
	found := finding.Set{}
	r := e.params(j, &found, nil)
	switch {
	case j.tool.kind == execTool:
		r.Place = j.place
		for _, c := range j.seen.Commands {
			args := j.seen.Args(c)
			if c.Class < core.R3 {
				continue // it is known, with its words
			}
			for _, w := range args[min(1, len(args)):] {
				r.operand(w)
			}
		}
	case j.found.Has(finding.UnknownTool):
		list, _ := j.fields()
		for i := range list {
			r.anything(&list[i])
		}
	}
	j.found = j.found.Or(found.And(pointed))
}

// pointed are the findings that speak against a call whatever is done with what it
// names.
var pointed = finding.Of(finding.NetworkRead, finding.LoopbackRead, finding.ReadsSecret, finding.MayReadSecret, finding.MetadataService,
	finding.PrivateAddress, finding.OddAddress, finding.SendsData, finding.WritesSecret, finding.WritesStartup, finding.WritesSystem,
	finding.WritesAccess, finding.WritesDevice, finding.PathClimbs, finding.TouchesDesk)

// operand judges a word of a command that may be a path or an address to it: read or
// written, by itself or as an option's value.
func (r *paramReader) operand(w workspace.Word) {
	values := []string{w.Text, command.AfterEquals(w.Text)}
	if len(w.Text) > 2 && w.Text[0] == '-' {
		values = append(values, w.Text[2:])
	}
	for _, text := range values {
		w.Text, w.Tilde = text, strings.HasPrefix(text, "~")
		switch {
		case strings.HasPrefix(text, "-"):
		case strings.Contains(text, "://"):
			r.Address(text)
		default:
			r.hostsIn(text, false)
			r.Read(w)
			r.Write(w)
		}
	}
}
