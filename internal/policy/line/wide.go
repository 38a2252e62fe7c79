package line

import (
	"strings"
	"sync"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"

	"approvalbot/internal/policy/command"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/workspace"
)

// Limits of what is read. Beyond them a line is not understood, which asks.
const (
	MaxLine     = 16 << 10 // bytes
	maxNesting  = 100      // brackets open at a time
	maxBrackets = 1000     // brackets in all: quotes can hide a closing one
	maxPipes    = 1000
	maxDepth    = 8           // wrappers and shells inside each other
	maxCommands = 512         // simple commands judged in one call
	MaxParsed   = 4 * MaxLine // bytes parsed in one call, lines inside lines included
)

// Wide is the reader that sees in a line all that a shell could take from it.
type Wide struct {
	own     *workspace.Own
	Rules   func(name string) command.Rule // nil: it asks
	parsers sync.Pool
	forms   sync.Pool // of *forms
}

// forms are what the two readers write down of a line, to be compared.
type forms struct{ plain, parsed [1 << 10]byte }

// New makes a reader that knows the desk's own files and what programs do.
func New(own *workspace.Own, rules func(name string) command.Rule) *Wide {
	w := &Wide{own: own, Rules: rules}
	w.forms.New = func() any { return new(forms) }
	w.parsers.New = func() any { return syntax.NewParser(syntax.KeepComments(true), syntax.Variant(syntax.LangBash)) }
	return w
}

// Parse reads a line; nil if it is no shell line, or empty.
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
