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
func (s *Reading) Line(text string) { s.line(frame{}, text) }

// Word reads one word of a line and judges the commands inside it.
func (s *Reading) Word(w *syntax.Word) workspace.Word { return s.word(frame{}, w) }

// line judges a line, which may be one inside another.
func (s *Reading) line(f frame, text string) {
	f.bound, f.oneWord = nil, nil // another shell does not have the variables of this one
	if s.Parsed += len(text); len(text) <= MaxLine && s.Parsed > MaxParsed {
		s.Found.Add(finding.TooComplex)
		return
	}
	if c, ok := unreadable(text); ok {
		s.Found.Add(c)
		s.scan(text)
		return
	}
	if f.depth++; f.depth > maxDepth {
		s.Found.Add(finding.NestedTooDeep)
	} else if file := s.wide.Parse(text); file == nil {
		s.Found.Add(finding.UnparsableCommand)
		s.scan(text)
		s.stmts(f, s.wide.beginning(text))
	} else {
		s.agree(f, text, file)
		s.noteLine(f, file)
		s.stmts(f, file.Stmts)
		if strings.IndexByte(text, '#') >= 0 {
			s.comments(file)
		}
	}
}

// agree holds the parser's reading of a line against the plain reader's. Only
// where both are the same is it sure that every shell runs what was read.
func (s *Reading) agree(f frame, text string, file *syntax.File) {
	if f.searching || s.Unsure.What != "" {
		return
	}
	b := s.wide.forms.Get().(*forms)
	defer s.wide.forms.Put(b)
	form, why, ok := grammar.Plain(b.plain[:0], text, s.steps)
	switch {
	case !ok:
		s.Unsure = why
	case !bytes.Equal(form, grammar.Parsed(b.parsed[:0], file)):
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

func (s *Reading) stmts(f frame, list []*syntax.Stmt) {
	silent := true
	for _, st := range list {
		s.stmt(f, st)
		silent = silent && s.silent
	}
	s.silent = silent
}

// stmt judges one statement: its redirections and its command.
func (s *Reading) stmt(f frame, st *syntax.Stmt) {
	s.steps.Step()
	s.written, s.given = s.written || s.writes, ""
	if st.Coprocess || st.Disown {
		s.Found.Add(finding.UnusualShell)
	}
	files, place := make([]workspace.Word, len(st.Redirs)), s.Place
	if !f.afterPipe {
		f.from = len(s.read)
	}
	for i, r := range st.Redirs {
		if !writesOut(r) {
			s.input = nil
		}
		files[i] = s.redirect(f, r)
		f.empty = input(r, files[i], f.empty)
	}
	s.silent = false
	s.command(f, st)
	s.outputs(f, st.Redirs, files, &place)
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
	default: // ((…)), let, coproc and whatever comes later
		s.odd(f, c)
	}
	s.Place.Sure = s.Place.Dirs
}

// subshell judges a shell of its own: where it goes, the next round of a loop does not
// follow.
func (s *Reading) subshell(f frame, c *syntax.Subshell) {
	place := s.Place
	s.stmts(f.subshell(), c.Stmts)
	if f.inLoop {
		s.Place = place
	}
}

// pair judges two statements that a pipe, "||" or "&&" joins.
func (s *Reading) pair(f frame, c *syntax.BinaryCmd) {
	pipe, left := c.Op == syntax.Pipe, f
	left.beforePipe = f.beforePipe || pipe
	s.stmt(left, c.X)
	silent := s.silent
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

// call judges a simple command, or assignments that stand alone.
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

// again notes of a loop that its next round runs what this one has written.
func (s *Reading) again() {
	if (s.writes || s.runsLog(s.ran)) && s.Found.Has(finding.RunsProjectCode) {
		s.Found.Add(finding.WritesAndRuns)
	}
}

// function judges a declared function by its body.
func (s *Reading) function(f frame, c *syntax.FuncDecl) {
	s.Found.Add(finding.DefinesFunction)
	if c.Name != nil && calls(c.Body, c.Name.Value) {
		s.Found.Add(finding.ForkBomb)
	}
	s.stmt(f.loop(), c.Body)
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
func (s *Reading) declare(f frame, c *syntax.DeclClause) {
	if c.Variant.Value != "export" || len(c.Args) == 0 {
		s.Found.Add(finding.SetsEnvironment)
	}
	for _, a := range c.Args {
		s.assign(f, a, true)
		if a.Value != nil {
			if s.word(f, a.Value).Several() {
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
	s.simple(frame{}, words)
}
