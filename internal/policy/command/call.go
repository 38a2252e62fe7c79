package command

import (
	"path"
	"strings"

	"approvalbot/internal/policy/budget"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/workspace"
)

// effectKind says what a command does to a word, or with it.
type effectKind uint8

const (
	TellsName     effectKind = iota // a file's name or facts are told
	LooksAt                         // a file is named, and it is not known what happens to it
	ReadsFile                       // a file's contents are told
	SearchesTree                    // so are those of all files below a directory
	WritesFile                      // a file is made, changed or overwritten
	FillsFile                       // a file gets contents, which may be code
	MovesOnto                       // a file is renamed to it, if it is not a directory
	RemovesFile                     // a file is deleted or moved away
	TakesTree                       // a directory is taken with all that is in it
	ReadsAddress                    // an address is read
	RunsWords                       // words are run as a command
	RunsEach                        // words are run as a command for each of many files; see narrow
	RunsLine                        // text is run as a shell line
	MovesTo                         // the commands that follow run in another directory
	SetsVariable                    // a variable is set for a program
	PrintsFiles                     // files are printed, by globs for their names
	LooksIfAsking                   // if a finding asks, files are looked at for the desk
	Fetches                         // something is fetched from the network
	RunsUnread                      // something is run that was not read
	WritesCode                      // files are written that may be code
	SearchesFor                     // all files of the workspace are searched for as many words as Count says
	PrintsNothing                   // what is printed, and written to files, is surely empty
)

// Effect is one thing that a command does. The shell applies it at the command's position
// in the line.
type Effect struct {
	Kind   effectKind
	Word   workspace.Word
	Words  []workspace.Word
	Name   string // of a variable
	Narrow bool   // runsEach: what is run is for named files only
	Count  int
	Flat   bool // runsEach: these are of one folder
}

// Rule judges one simple command. args are the words after its name.
type Rule func(x *Call, name string, args []workspace.Word)

// Call is one command as its rule reads it. The rule reads from it how the command runs,
// and gives what it found: codes, and effects that the shell applies in their order.
type Call struct {
	Place   *workspace.Place
	Looped  bool             // in a loop or a function
	Input   []workspace.Word // globs for the files that a command before a pipe lists
	Piped   bool             // its input is surely a pipe
	Empty   bool             // its input is surely empty
	Idle    bool             // its input is the call's own, into which no person types
	Given   string           // the text of the here-document that is its input; empty if unknown or without one
	Found   finding.Set
	Effects []Effect
	Steps   *budget.Budget // of the judgement
}

// Add notes a code.
func (x *Call) Add(c finding.Code) { x.Found.Add(c) }

// Has reports a code that the rule has noted.
func (x *Call) Has(c finding.Code) bool { return x.Found.Has(c) }

// Does notes an effect on a word.
func (x *Call) Does(kind effectKind, w workspace.Word) {
	x.Effects = append(x.Effects, Effect{Kind: kind, Word: w})
}

// Mark notes an effect that has no word.
func (x *Call) Mark(kind effectKind) { x.Effects = append(x.Effects, Effect{Kind: kind}) }

// The effects of words, in short.
func (x *Call) Name(w workspace.Word)     { x.Does(TellsName, w) }
func (x *Call) Read(w workspace.Word)     { x.Does(ReadsFile, w) }
func (x *Call) Search(w workspace.Word)   { x.Does(SearchesTree, w) }
func (x *Call) Write(w workspace.Word)    { x.Does(WritesFile, w) }
func (x *Call) Fill(w workspace.Word)     { x.Does(FillsFile, w) }
func (x *Call) Remove(w workspace.Word)   { x.Does(RemovesFile, w) }
func (x *Call) DeskTree(w workspace.Word) { x.Does(TakesTree, w) }
func (x *Call) DeskPath(w workspace.Word) { x.Does(LooksAt, w) }
func (x *Call) Address(text string)       { x.Does(ReadsAddress, workspace.Word{Text: text}) }
func (x *Call) RunLine(text string)       { x.Does(RunsLine, workspace.Word{Text: text}) }

// Run notes a command that this one runs.
func (x *Call) Run(all []workspace.Word) {
	x.Effects = append(x.Effects, Effect{Kind: RunsWords, Words: all})
}

// One judges a word in a position that takes one word: if it becomes two, the second is
// something else, such as the command.
func (x *Call) One(w workspace.Word) {
	if w.Several() {
		x.Add(finding.DynamicArgument)
	}
}

// LikeDir reports a glob in the workspace that is written for neither hidden files nor
// secrets.
func (x *Call) LikeDir(w workspace.Word) bool {
	if w.Kind != workspace.Pattern || !x.Place.Local(w) {
		return false
	}
	return !workspace.Hidden("/"+path.Clean(w.Text)) && !workspace.SecretPath(w.Text)
}

// OwnFiles reports a glob of files in the workspace, not in whole trees, that matches no
// secret and no file that is run by itself.
func (x *Call) OwnFiles(w workspace.Word) bool {
	if tree := strings.HasPrefix(strings.TrimPrefix(w.Text, "./"), "**"); tree || w.Listed {
		return false
	}
	return x.LocalGlob(w) && !workspace.StartupPath("/"+workspace.FoldPath(w.Text)) && !workspace.HitsObeyed(w.Text)
}

// LocalGlob reports a glob in the workspace that no secret matches.
func (x *Call) LocalGlob(w workspace.Word) bool {
	return w.Kind == workspace.Pattern && x.Place.Local(w) && !workspace.HitsSecret(w.Text, true)
}
