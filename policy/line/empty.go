package line

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"approvalbot/policy/command"
	"approvalbot/policy/finding"
	"approvalbot/policy/workspace"
)

// Whoever writes a file from nothing empties it, and what was in it is gone: by a
// command that prints nothing, or that is given nothing to read. What a command prints
// that does read something is open, and overwrites a file as any other contents do.

// givesNothing reports that the input of a command is surely empty behind a
// redirection; before says that it was before.
func givesNothing(r *syntax.Redirect, file workspace.Word, before bool) bool {
	switch r.Op {
	case syntax.RdrOut, syntax.AppOut, syntax.DplOut, syntax.RdrAll, syntax.AppAll, syntax.RdrClob:
		return before
	case syntax.Hdoc, syntax.DashHdoc:
		return r.Hdoc == nil || len(r.Hdoc.Parts) == 0
	}
	return r.Op == syntax.RdrIn && file.Is("/dev/null")
}

// outputs judges the files that the output of a statement goes to, where it is none. What
// goes to a file is printed no more.
func (s *Reading) outputs(redirs []*syntax.Redirect, files []workspace.Word) {
	silent := s.silent
	for i, r := range redirs {
		if silent && overwrites(r) {
			s.empties(files[i])
		}
		kept := files[i].Is("/dev/null") || files[i].Text != "" && !workspace.Sink(files[i].Text)
		output := r.N == nil && (r.Op == syntax.RdrOut || r.Op == syntax.AppOut)
		gone := output && kept && !mixes(redirs)
		s.silent = s.silent || gone
	}
}

// overwrites reports a redirection that takes away what was in a file.
func overwrites(r *syntax.Redirect) bool {
	return slices.Contains([]syntax.RedirOperator{syntax.RdrOut, syntax.RdrAll, syntax.RdrClob}, r.Op)
}

// mixes reports a redirection that sends one channel where another one goes.
func mixes(redirs []*syntax.Redirect) bool {
	return slices.ContainsFunc(redirs, func(r *syntax.Redirect) bool { return r.Op == syntax.DplOut })
}

// emptied judges the files that a command writes by itself, where it writes nothing.
func (s *Reading) emptied(effects []command.Effect) {
	if !slices.ContainsFunc(effects, func(e command.Effect) bool { return e.Kind == command.PrintsNothing }) {
		return
	}
	for i := range effects {
		switch effects[i].Kind {
		case command.FillsFile:
			s.empties(effects[i].Word)
		case command.WritesCode:
			s.Found.Add(finding.DeletesFile)
		}
	}
}

// empties judges a file that is emptied. Logs are emptied every day.
func (s *Reading) empties(w workspace.Word) {
	log := w.Kind == workspace.Literal && (strings.HasSuffix(w.Text, ".log") || strings.HasSuffix(w.Text, ".out"))
	if !log && !workspace.Sink(w.Text) {
		s.Found.Add(finding.DeletesFile)
	}
}
