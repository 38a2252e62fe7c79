package line

import (
	"sync"

	"approvalbot/internal/policy/budget"
	"approvalbot/internal/policy/command"

	"mvdan.cc/sh/v3/syntax"

	grammar "approvalbot/internal/policy/shell"

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

// shell reads the commands of one call. What it finds is only ever added.
type Reading struct {
	workspace.Reader
	wide           *Wide
	steps          *budget.Budget
	seen           *Seen       // what rules and grants look at; may be nil
	Found          finding.Set // backs reader.found
	Commands       int
	Parsed         int
	rounds         int              // how many rounds were judged
	opened         int              // how many words the command had that a wrapper ran last
	printed        []workspace.Word // the files that a command lists
	input          []workspace.Word // the same, where the next command reads them
	piped          bool             // the next command reads a pipe
	given          string           // the text of the here-document that the next command reads
	silent         bool             // what ran last surely printed nothing
	read           []readAt         // the files that were read
	renamedTo      []string         // what files were renamed to
	fetches        bool             // something was fetched from the network
	runs           bool             // something was run that was not read: input, a script, computed text
	rehomed        bool             // a variable that says where the user's configuration is was set
	scanned        string           // the text that scan looked through last
	writes         bool             // a file was written that could be code
	saves          bool             // a file was written that may be run or obeyed
	fetchedByGit   bool             // git has fetched what others wrote
	written        bool             // the same, by an earlier statement
	settings       bool             // a computed word ends in the name of a runtime's settings
	logs           []string         // the names of logs that were written
	ran            []workspace.Word // what stood in loops beside the project's code that ran
	scripted       bool             // a script of the project was run by its path
	OutsideProgram bool             // a program was run by a path that is not in the workspace
	AsksCode       bool             // the project's own code is to be asked for
	Terminal       bool             // the call may have a terminal, and what is typed there is not seen
	Unsure         grammar.Refusal  // why a line is not sure to run as it was read
	arena          []workspace.Word
}

// Wide is the reader that sees in a line whatever a shell could take from it.
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

// Read begins to read the commands of one call, which run at the place. Reading them
// panics with budget.Spent when the steps are not enough.
func (e *Wide) Read(steps *budget.Budget, p workspace.Place, v *Seen, paths *[]workspace.File) *Reading {
	s := &Reading{Reader: workspace.Reader{Own: e.own, Place: p, Paths: paths}, wide: e, steps: steps, seen: v}
	s.Reader.Found = &s.Found
	if v != nil {
		s.arena = v.words
	}
	if p.Windows {
		s.Found.Add(finding.WindowsShell)
	}
	if p.Away {
		s.Found.Add(finding.OtherHost)
	}
	return s
}
