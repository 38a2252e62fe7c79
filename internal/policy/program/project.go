package program

import (
	"slices"
	"strings"

	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/command"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/language"
	"approvalbot/internal/policy/words"
	"approvalbot/internal/policy/workspace"
)

// Running the project's own build, tests and checks is a local change of the
// workspace, R1, although it runs code that the agent may have written. The
// desk does not pretend to see through such code. Three reasons make it a class
// of its own beside scripts, programs and generators, which ask:
//
//   - Its purpose is known. What "go test" and "npm run lint" are for ends at the
//     workspace, whereas a script's, a program's or a deploy target's need not.
//   - Asking adds no safety. An agent writes a file and runs the tests hundreds of
//     times a day; people who are asked each time approve unread, and then approve
//     unread what matters, too.
//   - What would turn such a command into another one is still read: the working
//     directory and every path must lie in the workspace, options and targets are a
//     list, and a call asks if it names a program, inline code, another configuration
//     outside, or publishing and deploying.
//
// An operator who does not want this writes a rule that asks for these commands, or lets
// them run in a sandbox only.

// commands judge the words that a project's tool runs as a command.
var commands = lazy.Words("any npm script script-or-tool task measured")

// build judges a tool of the project.
func (e *entry) build(x *command.Call, name string, args []workspace.Word) {
	p := e.project
	if addCodes(x, e.codes); len(e.codes) == 0 && p.command == "" {
		language.RunsProject(x)
	}
	if p.command == "" && !x.Has(finding.OutsideProject) && !x.Place.LocalDir(workspace.Word{Text: "."}) {
		x.Add(finding.WritesOutside)
	}
	if p.settings != nil {
		args = slices.DeleteFunc(slices.Clone(args),
			func(w workspace.Word) bool { return w.Kind == workspace.Literal && p.settings.MatchString(w.Text) })
	}
	at := p.pointing(args)
	dry := rehearses(args, p.dry)
	c := x.Scanner(&e.spec, args)
	target, operands := false, 0
	for t, ok := c.Next(); ok; t, ok = c.Next() {
		switch {
		case t.Option != "":
			e.toolOption(x, t)
		case p.command != "" && operands < e.skip:
			if operands++; t.Word.Kind == workspace.Computed {
				x.Add(finding.DynamicArgument)
			}
		case p.command != "":
			e.runCommand(x, name, c.Rest())
			return
		case c.Ended && p.script:
			known(handedOn).build(x, name, c.Rest())
			return
		case c.Ended && p.after != nil:
			if t.Word.Kind != workspace.Literal || !p.after.MatchString(t.Word.Text) {
				x.Add(finding.UnknownOption)
			}
		case c.Ended && strings.HasPrefix(t.Word.Text, "-"), e.operands == noneRole:
			x.Add(finding.UnknownOption) // goes on to another program
		case e.looks != nil && (t.Word.Kind != workspace.Literal || !e.looks.MatchString(t.Word.Text)):
			x.Add(finding.UnknownOption)
		case p.targets != nil && (p.each || !target):
			if target = true; !dry || t.Word.Kind != workspace.Literal || strings.Contains(t.Word.Text, "=") {
				runsTarget(x, p, t.Word)
			}
		case !p.free:
			e.operands.word(x, t.Word)
			language.ProjectWord(x, t.Word)
			at.file(x, t.Word)
		case t.Word.Kind == workspace.Computed:
			x.Add(finding.DynamicArgument)
		}
	}
	unnamed := p.targets != nil && !target && !p.targets["default"]
	if p.command != "" || unnamed && !asksAbout(x, args) {
		addCodes(x, e.bare)
	}
}

// rehearses reports one of some options before all other words. Behind a target such a
// word may belong to it.
func rehearses(args []workspace.Word, dry map[string]bool) bool {
	for _, w := range args {
		switch {
		case !strings.HasPrefix(w.Text, "-"), w.Is("--"):
			return false
		case w.Kind == workspace.Literal && dry[w.Text]:
			return true
		}
	}
	return false
}

// toolOption judges the value of a tool's option.
func (e *entry) toolOption(x *command.Call, t command.Token) {
	switch role := e.roles[t.Option]; {
	case !t.Value:
	case t.Word.Sample != "" && role == textRole:
		e.option(x, t)
	case t.Word.Kind == workspace.Computed:
		x.Add(finding.DynamicArgument)
	case t.Swallowed() && !e.spec.Texts[t.Option]:
		x.Add(finding.UnknownOption)
	case e.spec.Optional[t.Option] && e.shapes[t.Option] == nil:
		buildsFile(x, t.Word)
	case e.project.lists && strings.HasPrefix(t.Word.Text, "@"):
		x.Add(finding.UnknownOption) // a file of more words, in any position
	case role == textRole && e.shapes[t.Option] == nil:
		switch text := t.Word.Text; {
		case namesWithin(text):
			buildsFile(x, t.Word)
		case strings.HasPrefix(text, "/"):
			language.ProjectWord(x, t.Word) // if another version takes no value there, it is a file
		}
	default:
		e.option(x, t)
	}
}

// namesWithin reports text that names a file behind something else: output=x/y, json:/x.
func namesWithin(text string) bool {
	return behind.MatchString(text) || strings.Contains(text, "..") || strings.Contains(strings.ReplaceAll(text, `\.git/`, ""), ".git/")
}

var behind = lazy.Pattern(`[=:,;](?:\s*["'])?[^=:,;\s]*/`)

// asksAbout reports a command that only asks a tool about itself.
func asksAbout(x *command.Call, args []workspace.Word) bool {
	return len(args) == 1 && args[0].IsAny("--version", "--help", "-V", "-h")
}

// target judges what a tool is told to do.
func runsTarget(x *command.Call, p *projectTool, w workspace.Word) {
	name, value, assigns := strings.Cut(w.Text, "=")
	plain := assigns && makeVariables.Has(name) && plainValue.MatchString(value)
	switch {
	case w.Kind != workspace.Literal:
		x.Add(finding.DynamicArgument)
	case p.targets[w.Text],
		p.like != nil && p.like.MatchString(w.Text),
		p.each && !p.targets["*"] && p.targets[w.Text[strings.LastIndexByte(w.Text, ':')+1:]]:
	case p.targets["*"] && everydayTarget(w.Text):
	case p.targets["*"] && plain:
		language.ProjectWord(x, workspace.Word{Text: value})
	default:
		x.Add(finding.RunsWorkspaceCode)
	}
}

// runCommand judges the command that a tool runs, beginning with its first word.
func (e *entry) runCommand(x *command.Call, name string, all []workspace.Word) {
	first, literal := all[0].Text, all[0].Kind == workspace.Literal
	switch tool := known(first); {
	case !literal:
		addCodes(x, e.otherwise)
		x.Add(finding.DynamicArgument)
	case e.project.command == "any":
		if !tool.installed() && !pythonNames.Has(first) {
			x.Add(finding.RunsWorkspaceCode) // a script of the project may have any name
		}
		language.RunsProject(x)
		x.Run(all)
	case e.project.command == "npm" && tool.installed() && tool.project.npm,
		e.project.command == "script-or-tool" && tool.installed() && !everydayTarget(first):
		language.RunsProject(x)
		if first[0] == '@' {
			tool.judge(x, first, all[1:])
			return
		}
		x.Run(all)
	case e.project.command == "measured" && (first == "pytest" || first == "unittest"):
		language.RunsProject(x)
		x.Run(all)
	case strings.HasPrefix(e.project.command, "script") && (words.Any(first, "t", "tst") || everydayTarget(first)),
		e.project.command == "task" && everydayTarget(first[strings.LastIndexByte(first, ':')+1:]):
		rest := slices.DeleteFunc(slices.Clone(all[1:]),
			func(w workspace.Word) bool { return w.Is("--") }) // what follows goes on to the script
		known(handedOn).build(x, name, rest)
	default:
		addCodes(x, e.otherwise)
	}
}

// handedOn is the name of the row for the words behind a script's name: the script hands
// them to a tool that is not known.
const handedOn = "(script)"

// makeVariables may be set on make's command line, to values without anything
// that a shell reads.
var (
	makeVariables = lazy.Words("V VERBOSE Q TEST TESTS PKG PKGS RUN TESTARGS TESTFLAGS DEBUG TAGS J SPHINXOPTS")
	plainValue    = lazy.Pattern(`^(?:[A-Za-z0-9_./,=+][A-Za-z0-9_./,=+-]*|-(?:v+|q|s|x|race|short|failfast|cover|(?:run|count|timeout|parallel)=[A-Za-z0-9_./]+)|-[WnETQqv]+(?: -[WnETQqv]+| --keep-going| --nitpicky)*)?$`)
)
