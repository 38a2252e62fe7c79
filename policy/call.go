package policy

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

// effect is one thing that a command does, for the shell to apply where it stands.
type effect struct {
	kind   effectKind
	word   workspace.Word
	words  []workspace.Word
	name   string // of a variable
	narrow bool   // runsEach: what is run is for named files only
}

// call is one command as its rule reads it. The rule asks where the command stands and
// gives what it found: codes, and effects that the shell applies in their order.
type call struct {
	place   *workspace.Place
	looped  bool             // in a loop or a function
	input   []workspace.Word // globs for the files that a find before a pipe prints
	found   finding.Set
	effects []effect
	rules   map[string]rule
}

// Add notes a code.
func (x *call) Add(c finding.Code) { x.found.Add(c) }

// Has reports a code that the rule has noted.
func (x *call) Has(c finding.Code) bool { return x.found.Has(c) }

func (x *call) does(kind effectKind, w workspace.Word) {
	x.effects = append(x.effects, effect{kind: kind, word: w})
}

func (x *call) add(kind effectKind) { x.effects = append(x.effects, effect{kind: kind}) }

func (x *call) Name(w workspace.Word)     { x.does(TellsName, w) }
func (x *call) Read(w workspace.Word)     { x.does(ReadsFile, w) }
func (x *call) Search(w workspace.Word)   { x.does(SearchesTree, w) }
func (x *call) Write(w workspace.Word)    { x.does(WritesFile, w) }
func (x *call) content(w workspace.Word)  { x.does(FillsFile, w) }
func (x *call) Remove(w workspace.Word)   { x.does(RemovesFile, w) }
func (x *call) DeskTree(w workspace.Word) { x.does(TakesTree, w) }
func (x *call) DeskPath(w workspace.Word) { x.does(LooksAt, w) }
func (x *call) Address(text string)       { x.does(ReadsAddress, workspace.Word{Text: text}) }
func (x *call) line(text string)          { x.does(RunsLine, workspace.Word{Text: text}) }

// inner notes a command that this one runs.
func (x *call) inner(all []workspace.Word) {
	x.effects = append(x.effects, effect{kind: RunsWords, words: all})
}
