package line

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"approvalbot/internal/policy/command"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/language"
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
		s.given = written(r)
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

// written gives the text of a here-document that is what it says: its delimiter is
// quoted, and no tabs are taken away.
func written(r *syntax.Redirect) string {
	one := r.Hdoc != nil && len(r.Hdoc.Parts) == 1
	if !one || r.Op != syntax.Hdoc || len(r.Word.Parts) != 1 {
		return ""
	}
	if q, ok := r.Word.Parts[0].(*syntax.SglQuoted); !ok || q.Dollar {
		return ""
	}
	text, ok := r.Hdoc.Parts[0].(*syntax.Lit)
	if !ok {
		return ""
	}
	return text.Value
}

// background looks for words after "&>". Where a shell knows no such operator,
// "&" ends the command and they are the next one.
func (s *Reading) background(redirs []*syntax.Redirect, args []*syntax.Word) {
	for _, r := range redirs {
		if takesErrors(r) && len(args) > 0 && args[len(args)-1].Pos().After(r.OpPos) {
			s.Found.Add(finding.UnusualShell)
		}
	}
}

// output judges a file that output goes to. zsh takes a leading "!" for part of
// the operator, and the next word for the file.
func (s *Reading) output(w workspace.Word) {
	if strings.HasPrefix(w.Text, "!") || strings.HasPrefix(w.Text, "&") || strings.HasPrefix(w.Text, "|") {
		s.Found.Add(finding.UnusualShell)
	}
	s.socket(w)
	s.content(w)
}

// content judges a file that a line gives its contents. What runs later in the line
// may be that; a log only where it is named.
func (s *Reading) content(w workspace.Word) {
	s.Write(w)
	s.saves = s.saves || !workspace.Sink(w.Text) && !strings.HasPrefix(w.Text, "/dev/") && !s.Place.IsScratch(w) && !language.InertFile(w.Text) && path.Ext(w.Text) != ".out"
	switch ext := path.Ext(w.Text); {
	case workspace.Sink(w.Text):
	case w.Kind == workspace.Literal && (ext == ".log" || ext == ".out"), s.Place.IsScratch(w):
		s.logs = append(s.logs, path.Base(w.Text))
	default:
		s.writes = true
	}
}

// runsLog reports a command with a word that names a log which the line writes.
func (s *Reading) runsLog(words []workspace.Word) bool {
	names := func(w workspace.Word) bool {
		base := path.Base(command.AfterEquals(w.Text))
		return slices.ContainsFunc(s.logs, func(log string) bool {
			return base == log || w.Kind == workspace.Pattern && workspace.MatchesName(base, log)
		})
	}
	return len(s.logs) > 0 && slices.ContainsFunc(words, names)
}

// socket notes a connection that bash makes for a path.
func (s *Reading) socket(w workspace.Word) {
	if strings.HasPrefix(w.Text, "/dev/tcp/") || strings.HasPrefix(w.Text, "/dev/udp/") {
		s.Found.Add(finding.SendsData)
		s.fetches = true // where a shell reads from it, somebody else types
		if s.Own.HasPort(w.Text, false) {
			s.Found.Add(finding.TouchesDesk)
		}
	}
}

// oddTests evaluate their word, or are known to few shells; plainTests compare two words.
var (
	oddTests   = []syntax.UnTestOperator{syntax.TsVarSet, syntax.TsRefVar, syntax.TsNot, syntax.TsOptSet, syntax.TsFdTerm}
	plainTests = []syntax.BinTestOperator{syntax.TsMatch, syntax.TsMatchShort, syntax.TsNoMatch, syntax.TsNewer, syntax.TsOlder}
)

// testClause judges [[ … ]]. Only single tests pass: the others are commands
// and redirections to shells that do not know [[, or evaluate arithmetic.
func (s *Reading) testClause(f frame, c *syntax.TestClause) {
	s.Found.Add(finding.ReadOnlyCommand)
	switch x := c.X.(type) {
	case *syntax.Word:
		s.words(f, x)
	case *syntax.UnaryTest:
		w, ok := x.X.(*syntax.Word)
		if !ok || slices.Contains(oddTests, x.Op) {
			s.odd(f, c)
			return
		}
		s.words(f, w)
	case *syntax.BinaryTest:
		a, okA := x.X.(*syntax.Word)
		b, okB := x.Y.(*syntax.Word)
		if !okA || !okB || !slices.Contains(plainTests, x.Op) {
			s.odd(f, c)
			return
		}
		s.words(f, a, b)
	default:
		s.odd(f, c)
	}
}
