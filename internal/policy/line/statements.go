package line

import (
	"bytes"
	"regexp"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"

	"approvalbot/internal/approval"
	grammar "approvalbot/internal/policy/shell"

	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/workspace"
)

// Finish gives the findings. Where a part could not be read, its text decides
// whether that is worse than unknown. A line that was read and that shells may
// read otherwise is unusual, and no worse.
func (s *Reading) Finish(text string) finding.Set {
	saved := s.Found.Any(finding.Of(finding.SavesDownload, finding.WorkspaceWrite, finding.ScratchWrite, finding.WritesOutside))
	runsSaved := saved && (s.scripted || s.Found.Has(finding.ProgramByPath))
	if s.fetches && (s.runs || runsSaved) {
		s.Found.Add(finding.RunsDownload)
	}
	if s.fetches && s.saves {
		s.Found.Add(finding.SavesDownload)
	}
	if s.settings && s.Found.Without(finding.OnlyReads).Class() >= approval.R3 {
		s.Found.Add(finding.WritesAgentSettings)
	}
	if s.Found.Any(finding.Opaque) {
		s.scan(text)
		if bare := unquoted.Replace(text); bare != text {
			s.scan(bare) // quotes in the middle of a word hide nothing
		}
	}
	if s.Unsure.What != "" {
		s.Found.Add(finding.UnusualShell)
	}
	return s.Found
}

var unquoted = strings.NewReplacer("'", "", `"`, "", "\\", "")

// Line judges a shell line and every command in it.
func (s *Reading) Line(text string) {
	bound, plain := s.bound, s.plain
	defer func() { s.bound, s.plain = bound, plain }()
	s.bound, s.plain = nil, nil // another shell does not have the variables of this one
	if s.Parsed += len(text); len(text) <= MaxLine && s.Parsed > MaxParsed {
		s.Found.Add(finding.TooComplex)
		return
	}
	if c, ok := unreadable(text); ok {
		s.Found.Add(c)
		s.scan(text)
		return
	}
	if s.depth++; s.depth > maxDepth {
		s.Found.Add(finding.NestedTooDeep)
	} else if f := s.wide.Parse(text); f == nil {
		s.Found.Add(finding.UnparsableCommand)
		s.scan(text)
		s.stmts(s.wide.beginning(text))
	} else {
		s.agree(text, f)
		s.noteLine(f)
		s.stmts(f.Stmts)
		if strings.IndexByte(text, '#') >= 0 {
			s.comments(f)
		}
	}
	s.depth--
}

// agree holds the parser's reading of a line against the plain reader's. Only
// where both are the same is it sure that every shell runs what was read.
func (s *Reading) agree(text string, f *syntax.File) {
	if s.searching || s.Unsure.What != "" {
		return
	}
	b := s.wide.forms.Get().(*forms)
	defer s.wide.forms.Put(b)
	form, why, ok := grammar.Plain(b.plain[:0], text, s.steps)
	switch {
	case !ok:
		s.Unsure = why
	case !bytes.Equal(form, grammar.Parsed(b.parsed[:0], f)):
		s.Unsure = grammar.Refusal{What: "what parsers read in two ways"}
	}
}

// Parse reads a line; nil where it is no shell line, or empty.
func (e *Wide) Parse(text string) (f *syntax.File) {
	p := e.parsers.Get().(*syntax.Parser)
	defer func() {
		if recover() != nil { // a fault of the parser: the line is not understood
			f = nil
			return
		}
		e.parsers.Put(p)
	}()
	f, err := p.Parse(strings.NewReader(text), "")
	if err != nil || len(f.Stmts) == 0 && len(f.Last) == 0 {
		return nil
	}
	return f
}

// beginning gives the commands before the place at which a line cannot be read
// on: a shell may have run them by the time it gets there.
func (e *Wide) beginning(text string) (list []*syntax.Stmt) {
	defer func() { _ = recover() }() // as in parse
	for st, err := range syntax.NewParser(syntax.Variant(syntax.LangBash)).StmtsSeq(strings.NewReader(text)) {
		if err != nil {
			break
		}
		list = append(list, st)
	}
	return list
}

// unreadable says why a line must not go to the parser, which has no limits of
// its own.
func unreadable(text string) (finding.Code, bool) {
	if len(text) > MaxLine {
		return finding.CommandTooLong, true
	}
	open, brackets, pipes := 0, 0, 0
	for i := range len(text) {
		switch c := text[i]; {
		case c == '(', c == '{', c == '[', c == '`':
			brackets++
			if c != '`' {
				open++
			}
		case c == ')' || c == '}' || c == ']':
			open = max(0, open-1)
		case c == '|':
			pipes++
		case c < ' ' && c != '\n' && c != '\t', c == 0x7f:
			return finding.ControlCharacters, true
		}
		if open > maxNesting || brackets > maxBrackets || pipes > maxPipes {
			return finding.NestedTooDeep, true
		}
	}
	return finding.ControlCharacters, !utf8.ValidString(text)
}

// comments looks for shell code that is hidden in comments: where a line ends
// up in a shell that knows no comments, it would run. A backslash at a comment's end
// joins it with the next line to the parser, and to no shell.
func (s *Reading) comments(f *syntax.File) {
	syntax.Walk(f, func(n syntax.Node) bool {
		c, ok := n.(*syntax.Comment)
		if ok && strings.Contains(c.Text, "\n") {
			s.Found.Add(finding.UnusualShell) // no comment to any shell
		}
		switch {
		case !ok:
		case strings.ContainsAny(c.Text, ";&|`\n") || strings.Contains(c.Text, "$(") || redirects.MatchString(c.Text):
			s.Found.Add(finding.HiddenInComment)
		case strings.Contains(c.Text, `\`):
			s.Found.Add(finding.UnusualShell)
		}
		return true
	})
}

// redirects finds what could be a redirection, and is no arrow.
var redirects = regexp.MustCompile(`(?:^|[\s\d])[<>]`)

func (s *Reading) stmts(list []*syntax.Stmt) {
	silent := true
	for _, st := range list {
		s.stmt(st)
		silent = silent && s.silent
	}
	s.silent = silent
}

// stmt judges one statement: its redirections and its command.
func (s *Reading) stmt(st *syntax.Stmt) {
	s.steps.Step()
	s.written, s.given = s.written || s.writes, ""
	if st.Coprocess || st.Disown {
		s.Found.Add(finding.UnusualShell)
	}
	files, empty, from, place := make([]workspace.Word, len(st.Redirs)), s.empty, s.from, s.Place
	if !s.afterPipe {
		s.from = len(s.read)
	}
	for i, r := range st.Redirs {
		if !writesOut(r) {
			s.input = nil
		}
		files[i] = s.redirect(r)
		s.empty = input(r, files[i], s.empty)
	}
	s.silent = false
	s.command(st)
	s.outputs(st.Redirs, files, &place)
	s.empty, s.from = empty, from
}

// command judges the command of a statement.
func (s *Reading) command(st *syntax.Stmt) {
	switch c := st.Cmd.(type) {
	case nil:
		s.silent = true
		s.Found.Add(finding.ReadOnlyCommand)
	case *syntax.CallExpr:
		s.background(st.Redirs, c.Args)
		s.Place.Sure = s.Place.Dirs
		s.call(c)
		if asIs(st) && len(c.Args) > 0 && c.Args[0].Lit() == "cd" {
			return
		}
	case *syntax.BinaryCmd:
		beforePipe := s.beforePipe
		s.beforePipe = beforePipe || c.Op == syntax.Pipe
		s.stmt(c.X)
		s.beforePipe = beforePipe
		silent, empty := s.silent, s.empty
		if c.Op == syntax.AndStmt && asIs(st) {
			s.andThen(c.Y)
			s.silent = s.silent && silent
			return
		}
		if c.Op == syntax.Pipe && listsFiles(c.X) {
			s.input = with(s.printed, c.X)
		}
		s.piped = c.Op == syntax.Pipe && readsPipe(c.Y)
		afterPipe := s.afterPipe
		if c.Op == syntax.Pipe {
			s.empty, s.afterPipe = something, true
			if silent && !mixesErrors(c.X) {
				s.empty = nothing
			}
		}
		s.stmt(c.Y)
		s.afterPipe = afterPipe
		s.silent = s.silent && (silent || c.Op == syntax.Pipe)
		s.input, s.piped, s.empty = nil, false, empty
	case *syntax.Subshell:
		s.subshell(c)
	case *syntax.Block:
		s.stmts(c.Stmts)
	case *syntax.IfClause:
		silent := true
		for ; c != nil; c = c.Else {
			s.stmts(c.Cond)
			silent = silent && s.silent
			s.stmts(c.Then)
			silent = silent && s.silent
		}
		s.silent = silent
	case *syntax.TimeClause:
		if c.Stmt != nil {
			s.stmt(c.Stmt)
		}
	case *syntax.CaseClause:
		s.words(c.Word)
		for _, i := range c.Items {
			s.words(i.Patterns...)
			s.stmts(i.Stmts)
		}
	case *syntax.TestClause:
		s.testClause(c)
	case *syntax.WhileClause:
		s.whileClause(c)
	case *syntax.ForClause:
		s.forClause(c)
	case *syntax.FuncDecl:
		s.function(c)
	case *syntax.DeclClause:
		s.declare(c)
	default: // ((…)), let, coproc and whatever comes later
		s.odd(c)
	}
	s.Place.Sure = s.Place.Dirs
}

// subshell judges a shell of its own: where it goes, the next round of a loop does not
// follow.
func (s *Reading) subshell(c *syntax.Subshell) {
	place, looped := s.Place, s.apart
	s.apart = s.looped
	s.stmts(c.Stmts)
	if s.apart = looped; s.looped > 0 {
		s.Place = place
	}
}

// andThen judges what runs only where all before it succeeded, "cd" included;
// what follows later may stand in either directory.
func (s *Reading) andThen(y *syntax.Stmt) {
	before := s.Place.Dirs
	s.Place.Dirs = s.Place.Sure
	s.stmt(y)
	s.Place.Dirs = workspace.Both(before, s.Place.Dirs)
}

// call judges a simple command, or assignments that stand alone.
func (s *Reading) call(c *syntax.CallExpr) {
	reads := len(c.Args) > 1 && c.Args[0].Lit() == "read"
	for _, a := range c.Assigns {
		if !reads || !wholeLines(a) {
			s.assign(a, len(c.Args) > 0)
		}
	}
	if len(c.Args) == 0 {
		s.silent = true
		s.Found.Add(finding.ReadOnlyCommand)
		return
	}
	s.takes(c.Args)
}

// again notes of a loop that its next round runs what this one has written.
func (s *Reading) again() {
	if (s.writes || s.runsLog(s.ran)) && s.Found.Has(finding.RunsProjectCode) {
		s.Found.Add(finding.WritesAndRuns)
	}
}

// function judges a declared function by its body.
func (s *Reading) function(c *syntax.FuncDecl) {
	s.Found.Add(finding.DefinesFunction)
	if c.Name != nil && calls(c.Body, c.Name.Value) {
		s.Found.Add(finding.ForkBomb)
	}
	s.looped++
	s.stmt(c.Body)
	s.looped--
}

// calls reports whether the body starts the named function in the background
// or in a pipe.
func calls(body *syntax.Stmt, name string) (found bool) {
	named, spreads := false, false
	syntax.Walk(body, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			named = named || len(n.Args) > 0 && n.Args[0].Lit() == name
		case *syntax.Stmt:
			spreads = spreads || n.Background
		case *syntax.BinaryCmd:
			spreads = spreads || n.Op == syntax.Pipe
		}
		return true
	})
	return named && spreads
}

// declare judges export and its kin. Only export of harmless variables passes.
func (s *Reading) declare(c *syntax.DeclClause) {
	if c.Variant.Value != "export" || len(c.Args) == 0 {
		s.Found.Add(finding.SetsEnvironment)
	}
	for _, a := range c.Args {
		s.assign(a, true)
		if a.Value != nil {
			if s.Word(a.Value).Several() {
				s.Found.Add(finding.DynamicArgument) // some shells split it, and the rest is another variable
			}
		}
	}
	s.Found.Add(finding.ReadOnlyCommand)
}

// Argv judges a program with its words exactly as they are.
func (s *Reading) Argv(args []string, size int) {
	if size > MaxLine {
		s.Found.Add(finding.CommandTooLong)
		return
	}
	words := make([]workspace.Word, len(args))
	for i, a := range args {
		words[i] = workspace.Word{Text: a}
		if strings.IndexByte(a, 0) >= 0 {
			s.Found.Add(finding.ControlCharacters)
		}
	}
	s.simple(words)
}
