package line

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/command"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/workspace"
)

// A file that is written from an empty output is emptied, and its contents are lost. A command
// has an empty output if it prints no text, or if its input is empty. If a command does read
// something, its output is not known, and overwrites a file as any other contents do.

// input says how empty the input of a command is after a redirection.
func input(r *syntax.Redirect, file workspace.Word, before emptiness) emptiness {
	none := false
	switch {
	case r.Op == syntax.AppAll || overwrites(r) || writesOut(r):
		return before
	case r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc:
		none = r.Hdoc == nil || len(r.Hdoc.Parts) == 0
	default:
		none = r.Op == syntax.RdrIn && file.Is("/dev/null")
	}
	if none {
		return nothing
	}
	return something
}

// outputs judges the files that a statement's output goes to, if there is no output or if it is
// made of them: the shell, at the place, empties them before the statement runs. What goes to a
// file is not printed.
func (s *flow) outputs(f frame, redirs []*syntax.Redirect, files []workspace.Word, place *workspace.Place) {
	silent := s.silent
	for i, r := range redirs {
		if overwrites(r) {
			errors := r.N != nil && r.N.Value == "2" && !messages(files[i])
			if silent || errors {
				s.empties(files[i])
			}
			s.overwritten(files[i], place, s.read[f.readBefore:])
		}
		kept := files[i].Is("/dev/null") || files[i].Text != "" && !workspace.Sink(files[i].Text)
		output := r.N == nil && (r.Op == syntax.RdrOut || r.Op == syntax.AppOut)
		gone := output && kept && !mixes(redirs)
		s.silent = s.silent || gone
	}
}

// emptied judges the files that a command writes by itself, if it leaves them empty.
func (s *flow) emptied(effects []command.Effect) {
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

// empties judges a file that is emptied. Logs and scratch files are emptied every day.
func (s *flow) empties(w workspace.Word) {
	log := w.Kind == workspace.Literal && (strings.HasSuffix(w.Text, ".log") || strings.HasSuffix(w.Text, ".out"))
	if !log && !s.Place.IsScratch(w) && !workspace.Sink(w.Text) {
		s.Found.Add(finding.DeletesFile)
	}
}

// overwrites judges the files that a command empties before those in front of it in a pipe have
// read them; before is what they read.
func (s *flow) overwrites(f frame, effects []command.Effect, before []readAt) {
	for i := range effects {
		if effects[i].Kind == command.FillsFile {
			s.overwritten(effects[i].Word, &s.Place, before[min(f.readBefore, len(before)):])
		}
	}
}

// overwritten judges a file that is written while it is read.
func (s *flow) overwritten(w workspace.Word, place *workspace.Place, read []readAt) {
	same := func(r readAt) bool {
		at := *place
		at.Dirs = r.dirs
		files := named(&at, r.file)
		hit := func(file string) bool { return slices.Contains(files, file) }
		return r.file.Kind == w.Kind && slices.ContainsFunc(named(place, w), hit)
	}
	if !workspace.Sink(w.Text) && !place.IsScratch(w) && slices.ContainsFunc(read, same) {
		s.Found.Add(finding.DeletesFile)
	}
}

// replaces judges a name that a file gets. The next one that gets it takes the place of
// the first; a name without an ending is a directory's as often.
func (s *flow) replaces(f frame, w workspace.Word) {
	files := named(&s.Place, w)
	again := func(file string) bool { return slices.Contains(s.renamedTo, file) }
	if f.forEach && !f.flat || path.Ext(w.Text) != "" && slices.ContainsFunc(files, again) {
		s.Found.Add(finding.DeletesFile)
	}
	s.renamedTo = append(s.renamedTo, files...)
}

// named gives the files that a word may mean, as file systems without letter case know them.
func named(p *workspace.Place, w workspace.Word) (files []string) {
	p.Resolve(w, func(file string, _ bool) { files = append(files, workspace.FoldPath(file)) })
	return files
}

// messages reports the name of a file for programs' error messages.
func messages(w workspace.Word) bool {
	return w.Kind == workspace.Literal && forMessages.MatchString(workspace.FoldPath(path.Clean(w.Text)))
}

var forMessages = lazy.Pattern(`^/tmp/|(?:^|/)[^/]*\.(?:log|err|out|tmp)$|` +
	`(?:^|/)[^/.]*(?:err|log|out|warn|trace)[^/.]*(?:\.txt|\.json)?$`)
