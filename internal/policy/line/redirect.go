package line

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/words"
	"approvalbot/internal/policy/workspace"
)

// redirect judges one redirection: what it writes or reads, and the commands
// in a here-document. It gives the file.
func (s *Reading) redirect(f frame, r *syntax.Redirect) (w workspace.Word) {
	if r.N != nil && !words.Digits(r.N.Value) {
		s.Found.Add(finding.UnusualShell)
	}
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		s.document(f, r.Hdoc)
		s.given = hereText(r)
		return w
	case syntax.WordHdoc:
		s.words(f, r.Word)
		return w
	}
	w = s.word(f, r.Word)
	switch r.Op {
	case syntax.RdrIn:
		s.reads(f, w)
		s.socket(w)
		s.Read(w)
	case syntax.RdrInOut:
		s.Read(w)
		s.output(w)
	case syntax.RdrOut, syntax.AppOut, syntax.RdrAll, syntax.AppAll:
		s.output(w)
	case syntax.RdrClob: // a pipe to fish
		s.Found.Add(finding.UnusualShell)
		s.output(w)
	case syntax.DplIn, syntax.DplOut:
		switch n := strings.TrimSuffix(w.Text, "-"); {
		case w.Kind == workspace.Literal && (n == "" || words.Digits(n)):
		case r.Op == syntax.DplOut:
			s.Found.Add(finding.UnusualShell)
			s.output(w)
		default:
			s.Found.Add(finding.UnusualShell)
		}
	default:
		s.Found.Add(finding.UnusualShell)
	}
	return w
}

// document judges what expanding a here-document runs; its text is data.
func (s *Reading) document(f frame, w *syntax.Word) {
	if w == nil {
		return
	}
	for _, p := range w.Parts {
		if _, ok := p.(*syntax.Lit); !ok {
			s.expansion(f, p)
		}
	}
}
