package line

import (
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/words"
	"approvalbot/internal/policy/workspace"
)

// maxRounds bounds how many rounds of loops are judged each by itself. Beyond, a loop's
// variable may hold anything.
const maxRounds = 32

// forClause judges a loop over words: a round for each word or glob of them.
func (s *Reading) forClause(f frame, c *syntax.ForClause) {
	f = f.loop()
	if c.Select || c.Braces {
		s.Found.Add(finding.UnusualShell)
	}
	it, ok := c.Loop.(*syntax.WordIter)
	if !ok {
		s.odd(f, c.Loop)
		s.stmts(f, c.Do)
		s.again()
		return
	}
	name := it.Name.Value
	s.Set(name, workspace.Word{Kind: workspace.Computed}, false)
	plain := !changes(c.Do, name)
	known := plain
	var values []workspace.Word
	for i, item := range it.Items {
		from := len(values)
		values = s.appendWord(f, values, item)
		if shallow.differs(it.Items[i : i+1]) {
			values = append(values, values[from:]...)
			flatten(values[from : from+(len(values)-from)/2])
		}
		for i, w := range values[from:] {
			w = oneSample(w)
			values[from+i] = w
			plain = plain && staysOperand(w)
			known = known && roundValue(w)
		}
	}
	if before := f.oneWord; plain {
		f.oneWord = map[string]bool{name: true}
		maps.Copy(f.oneWord, before)
	}
	if !known {
		values = nil
	}
	s.eachRound(f, name, values, c.Do)
	s.again()
}

// staysOperand reports a word that is one word and no option, even if a shell splits and expands it
// once more.
func staysOperand(w workspace.Word) bool {
	if !w.Exact() || w.Text == "" || w.Text[0] == '-' {
		return false
	}
	return !strings.ContainsAny(w.Text, " \t\n*?[")
}

// oneSample gives one of the words that are printed, if all of them read like its sample. A loop
// over no words has no round.
func oneSample(w workspace.Word) workspace.Word {
	whole := w.Text == "" && w.Sample != ""
	if whole && w.Split && w.Kind == workspace.Computed {
		return workspace.Word{Text: w.Sample}
	}
	return w
}

// roundValue reports a word whose value is known well enough to judge a round with it, even if a
// shell splits and expands it once more.
func roundValue(w workspace.Word) bool {
	switch {
	case w.Tilde || w.Split || w.Kind == workspace.Computed:
		return false
	case w.Kind == workspace.Pattern:
		return true
	}
	for i := range len(w.Text) {
		if c := w.Text[i]; !words.WordByte(c) && strings.IndexByte("./:@%+,-", c) < 0 {
			return false
		}
	}
	return w.Text != "" && w.Text[0] != '-' && w.Text[0] != '+'
}

// eachRound judges the body of a loop once for each value of its variable. If no values are known,
// or too many, it judges the body once, and the variable may hold anything.
func (s *Reading) eachRound(f frame, name string, values []workspace.Word, do []*syntax.Stmt) {
	before := f.bound
	f.bound = loopValues{}
	maps.Copy(f.bound, before)
	delete(f.bound, name)
	if s.rounds += len(values); s.rounds > maxRounds || len(values) == 0 {
		s.stmts(f, do)
		return
	}
	for _, v := range values {
		f.bound[name] = v
		s.stmts(f, do)
	}
}

// whileClause judges a loop; one that reads the names that a command before it lists
// takes them one by one.
func (s *Reading) whileClause(f frame, c *syntax.WhileClause) {
	input := s.input
	f = f.loop()
	s.stmts(f, c.Cond)
	s.input = nil
	if name, ok := readsName(c.Cond); ok && !changes(c.Do, name) {
		values := listed(input)
		for i := range values {
			values[i] = oneSample(values[i])
		}
		s.eachRound(f, name, values, c.Do)
	} else {
		s.stmts(f, c.Do)
	}
	s.again()
}

// appendWord reads a word and adds what it becomes. A substitution of a command that
// lists files becomes their names.
func (s *Reading) appendWord(f frame, list []workspace.Word, w *syntax.Word) []workspace.Word {
	p, ok := w.Parts[0].(*syntax.CmdSubst)
	if !ok || len(w.Parts) > 1 {
		return append(list, s.word(f, w))
	}
	s.printed = nil
	s.expansion(f, p)
	if len(p.Stmts) == 1 && len(s.printed) > 0 && listsFiles(p.Stmts[0]) {
		return append(list, with(listed(s.printed), p.Stmts[0])...)
	}
	computed := workspace.Word{Kind: workspace.Computed, Split: true}
	if text, always := sample(p.Stmts); text != "" {
		computed.Sample, computed.Split = text, !always
	}
	return append(list, computed)
}

// listed marks names as what a program printed, each once.
func listed(names []workspace.Word) []workspace.Word {
	var out []workspace.Word
	for _, w := range names {
		if w.Listed = w.Sample == ""; !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

// with gives the names that a statement lists. If its errors go the same way, it gives any word
// besides: an error repeats words of the command.
func with(names []workspace.Word, st *syntax.Stmt) []workspace.Word {
	if mixesErrors(st) {
		names = append(slices.Clone(names), workspace.Word{Kind: workspace.Computed, Split: true})
	}
	return names
}
