package line

import (
	"slices"

	"mvdan.cc/sh/v3/syntax"

	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/workspace"
)

// stmts judges statements that run one after the other.
func (s *Reading) stmts(f frame, list []*syntax.Stmt) {
	silent := true
	for _, st := range list {
		s.stmt(f, st)
		silent = silent && s.silent
		s.Place.Went.Sure = false
	}
	s.silent = silent
}

// stmt judges one statement: its redirections and its command.
func (s *Reading) stmt(f frame, st *syntax.Stmt) {
	n := s.notes(f)
	if n == nil {
		s.statement(f, st)
		return
	}
	l := s.opens(n)
	n.begins(st)
	s.statement(f, st)
	s.closes(n, l, nil)
}

func (s *Reading) statement(f frame, st *syntax.Stmt) {
	s.steps.Step()
	s.written, s.given = s.written || s.writes, ""
	if st.Coprocess || st.Disown {
		s.Found.Add(finding.UnusualShell)
	}
	files, place := make([]workspace.Word, len(st.Redirs)), s.Place
	if !f.afterPipe {
		f.readBefore = len(s.read)
	}
	for i, r := range st.Redirs {
		if !writesOut(r) {
			s.input = nil
		}
		files[i] = s.redirect(f, r)
		f.empty = input(r, files[i], f.empty)
	}
	s.silent = false
	went := s.Place.Went
	s.command(f, st)
	s.stays(st, went)
	s.outputs(f, st.Redirs, files, &place)
}

// stays notes in which directory the line goes on after a statement.
func (s *Reading) stays(st *syntax.Stmt, before workspace.Went) {
	here := false
	switch c := st.Cmd.(type) {
	case *syntax.Subshell:
		s.Place.Went = before
		return
	case *syntax.CallExpr, *syntax.Block, *syntax.TimeClause, nil:
		here = !st.Negated
	case *syntax.BinaryCmd:
		here = !st.Negated && c.Op == syntax.AndStmt
	}
	switch {
	case st.Background, st.Coprocess:
		s.Place.Went = before
	case !here:
		s.Place.Went = s.Place.Went.Else(before)
	}
}

// command judges the command of a statement.
func (s *Reading) command(f frame, st *syntax.Stmt) {
	switch c := st.Cmd.(type) {
	case nil:
		s.silent = true
		s.Found.Add(finding.ReadOnlyCommand)
	case *syntax.CallExpr:
		s.background(st.Redirs, c.Args)
		s.Place.Sure = s.Place.Dirs
		s.call(f, c)
		if asIs(st) && len(c.Args) > 0 && c.Args[0].Lit() == "cd" {
			return
		}
	case *syntax.BinaryCmd:
		if c.Op == syntax.AndStmt && asIs(st) {
			s.andThen(f, c)
			return
		}
		s.pair(f, c)
	case *syntax.Subshell:
		s.subshell(f, c)
	case *syntax.Block:
		s.stmts(f, c.Stmts)
	case *syntax.IfClause:
		silent := true
		for ; c != nil; c = c.Else {
			s.stmts(f, c.Cond)
			silent = silent && s.silent
			s.stmts(f, c.Then)
			silent = silent && s.silent
		}
		s.silent = silent
	case *syntax.TimeClause:
		if c.Stmt != nil {
			s.stmt(f, c.Stmt)
		}
	case *syntax.CaseClause:
		s.words(f, c.Word)
		for _, i := range c.Items {
			s.words(f, i.Patterns...)
			s.stmts(f, i.Stmts)
		}
	case *syntax.TestClause:
		s.testClause(f, c)
	case *syntax.WhileClause:
		s.whileClause(f, c)
	case *syntax.ForClause:
		s.forClause(f, c)
	case *syntax.FuncDecl:
		s.function(f, c)
	case *syntax.DeclClause:
		s.declare(f, c)
	default: // ((…)), let, coproc and what later versions add
		s.odd(f, c)
	}
	s.Place.Sure = s.Place.Dirs
}

// pair judges two statements that a pipe, "||" or "&&" joins.
func (s *Reading) pair(f frame, c *syntax.BinaryCmd) {
	pipe, left := c.Op == syntax.Pipe, f
	left.beforePipe = f.beforePipe || pipe
	went := s.Place.Went
	s.stmt(left, c.X)
	silent, after := s.silent, s.Place.Went
	if c.Op != syntax.AndStmt { // a part of a pipe is its own shell; after "||" no cd of the first counts
		s.Place.Went = went
	}
	if pipe && listsFiles(c.X) {
		s.input = with(s.printed, c.X)
	}
	s.piped = pipe && readsPipe(c.Y)
	if pipe {
		f.empty, f.afterPipe = something, true
		if silent && !mixesErrors(c.X) {
			f.empty = nothing
		}
	}
	s.stmt(f, c.Y)
	switch {
	case pipe:
		s.Place.Went = went
	case c.Op != syntax.AndStmt:
		s.Place.Went = s.Place.Went.Else(after)
	}
	s.silent = s.silent && (silent || pipe)
	s.input, s.piped = nil, false
}

// andThen judges two statements of which the second runs only if the first and all before
// it succeeded, "cd" included; what follows later may be in either directory.
func (s *Reading) andThen(f frame, c *syntax.BinaryCmd) {
	s.stmt(f, c.X)
	silent, before := s.silent, s.Place.Dirs
	s.Place.Dirs = s.Place.Sure
	s.stmt(f, c.Y)
	s.Place.Dirs = workspace.Both(before, s.Place.Dirs)
	s.silent = s.silent && silent
}

// subshell judges a shell of its own: the next round of a loop does not follow it to another
// directory.
func (s *Reading) subshell(f frame, c *syntax.Subshell) {
	place := s.Place
	s.stmts(f.subshell(), c.Stmts)
	if f.inLoop {
		s.Place = place
	}
}

// call judges a simple command, or assignments without one.
func (s *Reading) call(f frame, c *syntax.CallExpr) {
	reads := len(c.Args) > 1 && c.Args[0].Lit() == "read"
	for _, a := range c.Assigns {
		if !reads || !wholeLines(a) {
			s.assign(f, a, len(c.Args) > 0)
		}
	}
	if len(c.Args) == 0 {
		s.silent = true
		s.Found.Add(finding.ReadOnlyCommand)
		return
	}
	s.takes(f, c.Args)
}

// function judges a declared function by its body.
func (s *Reading) function(f frame, c *syntax.FuncDecl) {
	s.Found.Add(finding.DefinesFunction)
	if c.Name != nil && calls(c.Body, c.Name.Value) {
		s.Found.Add(finding.ForkBomb)
	}
	s.stmt(f.loop(), c.Body)
}

// declare judges export and its kin. Only export of harmless variables passes.
func (s *Reading) declare(f frame, c *syntax.DeclClause) {
	if c.Variant.Value != "export" || len(c.Args) == 0 {
		s.Found.Add(finding.SetsEnvironment)
	}
	for _, a := range c.Args {
		s.assign(f, a, true)
		if a.Value != nil && s.word(f, a.Value).Several() {
			s.Found.Add(finding.DynamicArgument) // some shells split it, and the rest is another variable
		}
	}
	s.Found.Add(finding.ReadOnlyCommand)
}

// oddTests evaluate their word, or are known to few shells; plainTests compare two words.
var (
	oddTests   = []syntax.UnTestOperator{syntax.TsVarSet, syntax.TsRefVar, syntax.TsNot, syntax.TsOptSet, syntax.TsFdTerm}
	plainTests = []syntax.BinTestOperator{syntax.TsMatch, syntax.TsMatchShort, syntax.TsNoMatch, syntax.TsNewer,
		syntax.TsOlder}
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
