package line

import (
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"approvalbot/internal/policy/command"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/language"
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

// staysOperand reports a word that is one word and no option, also where a shell splits
// and expands it once more.
func staysOperand(w workspace.Word) bool {
	if !w.Exact() || w.Text == "" || w.Text[0] == '-' {
		return false
	}
	return !strings.ContainsAny(w.Text, " \t\n*?[")
}

// oneSample gives one of the words that are printed, where all of them read like its
// sample. There is no round for none.
func oneSample(w workspace.Word) workspace.Word {
	whole := w.Text == "" && w.Sample != ""
	if whole && w.Split && w.Kind == workspace.Computed {
		return workspace.Word{Text: w.Sample}
	}
	return w
}

// roundValue reports a word of which the value is known well enough to judge a round
// with it, also where a shell splits and expands it once more.
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

// eachRound judges the body of a loop once for each value of its variable; once and for
// whatever it holds where no values are known, or too many.
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

// readsName gives the variable into which a condition reads a line as it is.
func readsName(cond []*syntax.Stmt) (string, bool) {
	if len(cond) != 1 || len(cond[0].Redirs) > 0 || cond[0].Negated {
		return "", false
	}
	c, ok := cond[0].Cmd.(*syntax.CallExpr)
	if !ok || len(c.Args) == 0 || c.Args[0].Lit() != "read" {
		return "", false
	}
	if n := len(c.Assigns); n > 1 || n == 1 && !wholeLines(c.Assigns[0]) {
		return "", false
	}
	args := c.Args[1:]
	if len(args) > 0 && args[0].Lit() == "-r" {
		args = args[1:]
	}
	if len(args) != 1 {
		return "", false
	}
	return args[0].Lit(), command.OwnVariable(args[0].Lit())
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

// listsFiles reports a statement whose output is that of a plain command which lists files,
// or hands such a list on.
func listsFiles(st *syntax.Stmt) bool {
	for {
		c, ok := st.Cmd.(*syntax.BinaryCmd)
		pipe := ok && (c.Op == syntax.Pipe || c.Op == syntax.PipeAll)
		if !pipe || !asIs(st) || len(st.Redirs) > 0 {
			break
		}
		st = c.Y
	}
	c, ok := st.Cmd.(*syntax.CallExpr)
	for _, r := range st.Redirs {
		ok = ok && writesOut(r)
	}
	named := ok && len(c.Assigns) == 0 && len(c.Args) > 0
	return named && asIs(st) && language.Lists(c.Args[0].Lit())
}

// asIs reports a statement that gives the status of its command, and is waited for.
func asIs(st *syntax.Stmt) bool { return !st.Negated && !st.Background }

// with gives the names that a statement lists, and whatever else it says where another
// channel goes along: an error repeats words of the command.
func with(names []workspace.Word, st *syntax.Stmt) []workspace.Word {
	if mixesErrors(st) {
		names = append(slices.Clone(names), workspace.Word{Kind: workspace.Computed, Split: true})
	}
	return names
}

// mixesErrors reports a statement that sends what it says on another channel along with
// its output.
func mixesErrors(st *syntax.Stmt) bool {
	if len(st.Redirs) == 0 {
		switch c := st.Cmd.(type) {
		case *syntax.BinaryCmd:
			return c.Op == syntax.PipeAll || mixesErrors(c.X) || mixesErrors(c.Y)
		case *syntax.CallExpr:
			if len(c.Assigns) == 0 && !slices.ContainsFunc(c.Args, expands) {
				return false
			}
		}
	}
	errors := false
	syntax.Walk(st, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Redirect:
			errors = errors || n.Op == syntax.DplOut || takesErrors(n)
		case *syntax.BinaryCmd:
			errors = errors || n.Op == syntax.PipeAll
		}
		return !errors
	})
	return errors
}

// takesErrors reports "&>" and "&>>".
func takesErrors(r *syntax.Redirect) bool { return r.Op == syntax.RdrAll || r.Op == syntax.AppAll }

// writesOut reports a redirection that says nothing of the input.
func writesOut(r *syntax.Redirect) bool {
	return r.Op == syntax.RdrOut || r.Op == syntax.AppOut || r.Op == syntax.DplOut
}

// changes reports whether statements could give the variable another value.
func changes(list []*syntax.Stmt, name string) (yes bool) {
	for _, st := range list {
		syntax.Walk(st, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.Assign:
				yes = yes || n.Name == nil || n.Name.Value == name
			case *syntax.WordIter:
				yes = yes || n.Name.Value == name
			case *syntax.CallExpr:
				sets := len(n.Args) > 0 && !plainProgram(n.Args[0].Lit()) && !prints(n.Args)
				yes = yes || sets
			case *syntax.ParamExp:
				assigns := n.Exp != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull)
				yes = yes || assigns
			}
			return !yes
		})
	}
	return yes
}

// prints reports printf with a format that is written out: other words than the first
// name no variable.
func prints(args []*syntax.Word) bool {
	if args[0].Lit() != "printf" || len(args) < 2 || len(args[1].Parts) != 1 {
		return false
	}
	switch p := args[1].Parts[0].(type) {
	case *syntax.SglQuoted:
		return !p.Dollar && p.Value != "" && p.Value[0] != '-'
	case *syntax.DblQuoted:
		text := lastText(args[1].Parts)
		format := strings.Trim(text, "-") != "" && text[0] != '-'
		return format && !p.Dollar && len(p.Parts) == 1
	case *syntax.Lit:
		return p.Value[0] != '-' && p.Value[0] != '\\' && !HasSpecial(p.Value)
	}
	return false
}

// plainProgram reports a command that sets no variable of the shell.
func plainProgram(name string) bool {
	switch name {
	case "", "read", "printf", "eval", "source", ".", "getopts", "mapfile", "readarray", "unset", "builtin", "command", "wait":
		return false
	}
	return true
}

// readsPipe reports a plain command behind a pipe, in whose words no other command stands
// that could be taken for it.
func readsPipe(st *syntax.Stmt) bool {
	c, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || len(c.Assigns) > 0 || slices.ContainsFunc(st.Redirs, func(r *syntax.Redirect) bool { return !writesOut(r) }) {
		return false
	}
	alone := true
	for _, w := range c.Args {
		if !expands(w) {
			continue
		}
		syntax.Walk(w, func(n syntax.Node) bool {
			switch n.(type) {
			case *syntax.CmdSubst, *syntax.ProcSubst:
				alone = false
			}
			return alone
		})
	}
	return alone
}

// expands reports a word that has more in it than text and quoted text.
func expands(w *syntax.Word) bool { return slices.ContainsFunc(w.Parts, expandsPart) }

func expandsPart(p syntax.WordPart) bool {
	switch p := p.(type) {
	case *syntax.Lit, *syntax.SglQuoted:
		return false
	case *syntax.DblQuoted:
		return slices.ContainsFunc(p.Parts, expandsPart)
	}
	return true
}
