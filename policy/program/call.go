package program

import (
	"approvalbot/policy/finding"
	"approvalbot/policy/workspace"
)

// effectKind says what a command does to a word, or with it.
type effectKind uint8

const (
	TellsName     effectKind = iota // a file's name or facts are told
	LooksAt                         // a file is named, and nothing is known of what becomes of it
	ReadsFile                       // a file's contents are told
	SearchesTree                    // so are those of all files below a directory
	WritesFile                      // a file is made, changed or overwritten
	FillsFile                       // a file gets contents, which may be code
	RemovesFile                     // a file is deleted or moved away
	TakesTree                       // a directory is taken with all that is in it
	ReadsAddress                    // an address is read
	RunsWords                       // words are run as a command
	RunsEach                        // words are run as a command for each of many files; see narrow
	RunsLine                        // text is run as a shell line
	MovesTo                         // what follows stands in another directory
	SetsVariable                    // a variable is set for a program
	PrintsFiles                     // files are printed, by globs for their names
	LooksIfAsking                   // where findings ask, files are looked at for the desk
	Fetches                         // something is fetched from the network
	RunsUnread                      // something is run that was not read
	WritesCode                      // files are written that may be code
)

// Effect is one thing that a command does, for the shell to apply where it stands.
type Effect struct {
	Kind   effectKind
	Word   workspace.Word
	Words  []workspace.Word
	Name   string // of a variable
	Narrow bool   // runsEach: what is run is for named files only
}

// Call is one command as its rule reads it. The rule asks where the command stands and
// gives what it found: codes, and effects that the shell applies in their order.
type Call struct {
	Place   *workspace.Place
	Looped  bool             // in a loop or a function
	Input   []workspace.Word // globs for the files that a command before a pipe lists
	Found   finding.Set
	Effects []Effect
	Rules   map[string]Rule
}

// Add notes a code.
func (x *Call) Add(c finding.Code) { x.Found.Add(c) }

// Has reports a code that the rule has noted.
func (x *Call) Has(c finding.Code) bool { return x.Found.Has(c) }

func (x *Call) does(kind effectKind, w workspace.Word) {
	x.Effects = append(x.Effects, Effect{Kind: kind, Word: w})
}

func (x *Call) add(kind effectKind) { x.Effects = append(x.Effects, Effect{Kind: kind}) }

func (x *Call) Name(w workspace.Word)     { x.does(TellsName, w) }
func (x *Call) Read(w workspace.Word)     { x.does(ReadsFile, w) }
func (x *Call) Search(w workspace.Word)   { x.does(SearchesTree, w) }
func (x *Call) Write(w workspace.Word)    { x.does(WritesFile, w) }
func (x *Call) content(w workspace.Word)  { x.does(FillsFile, w) }
func (x *Call) Remove(w workspace.Word)   { x.does(RemovesFile, w) }
func (x *Call) DeskTree(w workspace.Word) { x.does(TakesTree, w) }
func (x *Call) DeskPath(w workspace.Word) { x.does(LooksAt, w) }
func (x *Call) Address(text string)       { x.does(ReadsAddress, workspace.Word{Text: text}) }
func (x *Call) line(text string)          { x.does(RunsLine, workspace.Word{Text: text}) }

// inner notes a command that this one runs.
func (x *Call) inner(all []workspace.Word) {
	x.Effects = append(x.Effects, Effect{Kind: RunsWords, Words: all})
}

// Lists notes the files that a command lists in ways that its rule does not know of.
func (x *Call) Lists(name string, args []workspace.Word) {
	switch name {
	case "git":
		x.gitPrints(args)
	case "ls":
		x.lsPrints(args)
	default:
		x.passes(name, args)
	}
}
