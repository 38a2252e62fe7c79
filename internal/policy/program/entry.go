package program

import (
	"regexp"
	"strings"

	"approvalbot/internal/policy/command"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/workspace"
)

// typing says when a program takes commands from its terminal, or starts one that does, such
// as a pager or an editor. The last word that fits counts:
//
//	always      it does
//	pager       it does, unless it prints into a pipe
//	-x --long   with this option it does
//	!-x !word   with this option, or this word as the first operand, it does not
type typing []string

// entry is one row of the table: a program, or one of its subcommands.
type entry struct {
	codes     []finding.Code                                                // what the command is, if no worse code is found
	spec      command.Spec                                                  // its options
	roles     map[string]role                                               // what becomes of the options' values
	shapes    map[string]*regexp.Regexp                                     // what such values must look like
	needs     map[string]bool                                               // options of which one must be given
	lacks     []finding.Code                                                // what the command is besides without one of them
	operands  role                                                          // and of the other words
	leading   role                                                          // and of the first of them
	input     role                                                          // and of what a here-document gives it, if not text
	skip      int                                                           // so many leading operands are text
	most      int                                                           // so many operands there may be, if not 0
	least     int                                                           // so many operands there must be
	looks     *regexp.Regexp                                                // what operands must look like
	beside    []beside                                                      // options that need others
	spelled   *regexp.Regexp                                                // what words with a dash must look like
	wraps     bool                                                          // it runs the command that follows
	onedash   bool                                                          // long options have one dash or two
	typed     typing                                                        // when it takes commands from its terminal
	version   bool                                                          // --version alone prints the version before the program does anything else
	raises    []raise                                                       // what words make of the command
	verbs     map[string]*entry                                             // subcommands
	globs     []globVerb                                                    // the same, by patterns
	bare      []finding.Code                                                // what it is without a subcommand
	otherwise []finding.Code                                                // what any other subcommand is
	unread    []finding.Code                                                // what the command is besides, if some word is not recognised
	here      bool                                                          // it runs code of the project of the directory that it runs in
	restores  bool                                                          // it puts what was stored among the files
	fetches   bool                                                          // what it prints comes from the network
	about     []finding.Code                                                // what it is if it is only asked for its version or for help; bare if nil
	named     []finding.Code                                                // what it is instead if it has operands
	silent    *regexp.Regexp                                                // all words with which its output is empty
	filter    string                                                        // it prints and writes what it reads alone: "files" or "input"
	appends   map[string]bool                                               // options with which it empties no file
	word      bool                                                          // a subcommand that is the first of its own operands
	project   *projectTool                                                  // it runs the project's own code
	prelude   func(x *command.Call, args []workspace.Word) []workspace.Word // judges the words before the subcommand, if they have rules of their own
	rule      command.Rule                                                  // of a program with a language of its own
	session   map[string]bool                                               // with which options a session's yes covers other files; nil: only the very words
	doc       row                                                           // as it is written
}

// beside are options that need one of the others.
type beside struct{ options, others []string }

type globVerb struct {
	glob string
	*entry
}

// raise is a code for a command that contains one of the words. A word is a glob in small
// letters; one with "=" means two words as well.
type raise struct {
	code  finding.Code
	words []string
}

func (r *raise) in(args []workspace.Word) bool {
	for i, w := range args {
		if w.Kind == workspace.Computed {
			continue
		}
		next := ""
		if i+1 < len(args) {
			next = args[i+1].Text
		}
		for _, glob := range r.words {
			if raised(glob, w.Text, next) {
				return true
			}
		}
	}
	return false
}

func raised(glob, word, next string) bool {
	lower := strings.ToLower(word)
	if strings.HasPrefix(glob, "-") {
		if strings.HasPrefix(word, "--") && !strings.HasPrefix(glob, "--") {
			return false
		}
		if glob == word || strings.HasPrefix(word, glob+"=") && strings.HasPrefix(glob, "--") {
			return true
		}
		return workspace.MatchesName(glob, lower) || strings.Contains(glob, "=") && glob == lower+"="+strings.ToLower(next)
	}
	for part := range strings.SplitSeq(lower, ",") {
		if workspace.MatchesName(glob, part) {
			return true
		}
	}
	return false
}

// add1 notes what a command is. What builds the project or runs its code may do so
// inside the workspace only.
func addCodes(x *command.Call, codes []finding.Code) {
	for _, c := range codes {
		x.Add(c)
		switch {
		case c != finding.RunsProjectCode && c != finding.LocalBuild, x.Place.LocalDir(workspace.Word{Text: "."}):
		case c == finding.RunsProjectCode:
			x.Add(finding.OutsideProject)
		default:
			x.Add(finding.WritesOutside)
		}
	}
}

// unread are the codes of a command of which some word was not recognised.
var unread = finding.Of(finding.UnknownOption, finding.UnknownCommand, finding.DynamicArgument)

// projectTool is a program that builds, tests, checks or formats the project of the
// directory that it runs in.
type projectTool struct {
	targets  map[string]bool // what the first operand must be; nil for anything
	like     *regexp.Regexp  // or match
	dry      map[string]bool // options with which it only tells what it would do, with any target
	each     bool            // every operand is a target (make, gradle)
	free     bool            // other operands are no paths
	after    *regexp.Regexp  // what words after "--" must look like; nil: like the others
	settings *regexp.Regexp  // words that are passed over
	checks   map[string]bool // options with which it changes no file that it is pointed at; "*": it never does
	silent   map[string]bool // options without which it prints the files that it is pointed at; nil: it never does
	lists    bool            // a word @x is a file of more words
	command  string          // its operands are a command, one of commands
	bin      bool            // it may be in a directory in which a project installs programs
	npm      bool            // npm's registry has it under its own name
	python   bool            // it is a module of Python besides
	script   bool            // words after "--" go to a script
}

// installed reports a tool that may be in a directory in which a project installs programs.
func (e *entry) installed() bool { return e != nil && e.project != nil && e.project.bin }

// module reports a tool that is a module of Python besides.
func (e *entry) module() bool { return e.installed() && e.project.python }
