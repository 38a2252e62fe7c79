package program

import (
	"regexp"
	"slices"
	"strings"

	"approvalbot/policy/finding"
	"approvalbot/policy/words"
	"approvalbot/policy/workspace"
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
//     list, and whatever names a program, inline code, another configuration
//     outside, or publishing and deploying asks.
//
// Whoever does not want this writes a rule of their own that asks for these
// commands, or lets them run in a sandbox only.

// projectTool is a program that builds, tests, checks or formats the project in
// which it stands.
type projectTool struct {
	spec  spec
	verbs map[string]bool // what the first operand must be; nil for anything
	each  bool            // every operand is a verb (make, gradle)
	free  bool            // other operands are no paths
	after *regexp.Regexp  // what words after "--" must look like; nil: like the others
}

// textOptions are options of which the value is text and no path.
var textOptions = words.Set(`run skip bench list k m t g n j W E grep fgrep testNamePattern test-name-pattern tests tags timeout filter lines stdin-filename features package
	benchtime cpu count ldflags gcflags expression message`)

func (p *projectTool) judge(x *Call, name string, args []workspace.Word) {
	x.project()
	at := pointing(name, args)
	c := x.scanner(&p.spec, args)
	verb := false
	for t, ok := c.next(); ok; t, ok = c.next() {
		switch {
		case t.option != "":
			x.projectOption(t)
			x.built(name, t)
		case c.ended && p.after != nil:
			if t.word.Kind != workspace.Literal || !p.after.MatchString(t.word.Text) {
				x.Add(finding.UnknownOption)
			}
		case c.ended && strings.HasPrefix(t.word.Text, "-"):
			x.Add(finding.UnknownOption) // goes on to another program
		case p.verbs != nil && (p.each || !verb):
			verb = true
			x.verb(p, t.word)
		case !p.free:
			x.projectWord(t.word)
			at.file(x, t.word)
		case t.word.Kind == workspace.Computed:
			x.Add(finding.DynamicArgument)
		}
	}
	if p.verbs != nil && !verb && !p.verbs["default"] && !x.asksAbout(args) {
		x.Add(finding.RunsWorkspaceCode)
	}
}

// asksAbout reports a command that only asks a tool about itself.
func (x *Call) asksAbout(args []workspace.Word) bool {
	return len(args) == 1 && (args[0].Is("--version") || args[0].Is("--help") || args[0].Is("-V") || args[0].Is("-h"))
}

// verb judges what a tool is told to do.
func (x *Call) verb(p *projectTool, w workspace.Word) {
	name, value, assigns := strings.Cut(w.Text, "=")
	switch {
	case w.Kind != workspace.Literal:
		x.Add(finding.DynamicArgument)
	case p.verbs[w.Text], p.each && !p.verbs["*"] && p.verbs[w.Text[strings.LastIndexByte(w.Text, ':')+1:]]:
	case p.verbs["*"] && everydayTarget(w.Text):
	case p.verbs["*"] && assigns && makeVariables[name] && plainValue.MatchString(value):
		x.projectWord(workspace.Word{Text: value})
	default:
		x.Add(finding.RunsWorkspaceCode)
	}
}

// project notes that the command runs the project's own code, which it may do
// inside the workspace only.
func (x *Call) project() { x.Found = x.Found.Or(Project(x.Place)) }

// Project is what running the project's own code means at a place.
func Project(p *workspace.Place) finding.Set {
	if p.LocalDir(workspace.Word{Text: "."}) {
		return finding.Of(finding.RunsProjectCode)
	}
	return finding.Of(finding.RunsProjectCode, finding.OutsideProject)
}

func (x *Call) projectOption(t token) {
	switch {
	case !t.value:
	case t.word.Kind == workspace.Computed:
		x.Add(finding.DynamicArgument)
	case t.swallowed():
		x.Add(finding.UnknownOption)
	case (t.option == "j" || t.option == "jobs") && !words.Digits(t.word.Text) && !t.word.Is("auto"):
		x.Add(finding.UnknownOption) // make takes it for a target
	case !textOptions[t.option], t.apart && strings.HasPrefix(t.word.Text, "/"), t.apart && workspace.Climbs(t.word.Text):
		x.projectWord(t.word)
	}
}

// projectWord judges a word that may name files. Several can stand in one, as
// in -cp a:b or --config {"dir":"x"}.
func (x *Call) projectWord(w workspace.Word) {
	if w.Kind == workspace.Computed {
		x.Add(finding.DynamicArgument)
		return
	}
	if w.Tilde || expandsLater.MatchString(w.Text) {
		x.Add(finding.OutsideProject)
	}
	if strings.HasPrefix(w.Text, "npm:") || strings.HasPrefix(w.Text, "jsr:") {
		x.Add(finding.OutsideProject)
	}
	if strings.IndexByte(w.Text, '/') < 0 && !strings.Contains(w.Text, "..") {
		return
	}
	for _, part := range wordParts(w.Text) {
		if len(part) > 2 && part[0] == '-' && part[1] != '-' && (part[2] == '/' || part[2] == '.') {
			part = part[2:] // -I/x
		}
		if (part[0] == '/' || workspace.Climbs(part)) && part != "/dev/null" && !x.Place.EndsInside(part) || strings.Contains(part, ".git/") {
			x.Add(finding.OutsideProject)
		}
	}
}

// expandsLater is what some programs replace by themselves, where the shell left
// it as it is: a home directory, a variable.
var expandsLater = regexp.MustCompile(`(?:^|[=:,"'])~|\$[A-Za-z_{]`)

// everydayWords begin the names of scripts and targets that build and check.
var everydayWords = words.Set(`test tests unit lint build compile type types typecheck check checks format fmt coverage cov cover bench benchmark vet
	all clean help verify validate analyze style prettier eslint tsc spec specs rebuild`)

// targetParts may follow them: what is built or checked, and how.
var targetParts = words.Set(`all ci fix unit int integration e2e it watch fast slow quick short once debug dev race cover coverage report html json xml summary verbose quiet
	client server web frontend backend ui app api lib libs core cli docs doc types type js ts tsx css scss less html go py python rust java kotlin c cpp proto
	test tests spec specs lint format fmt check checks build compile typecheck only changed staged local node browser jsdom es esm cjs umd src code files style styles
	staticcheck vet eslint prettier jest vitest mocha mypy ruff black clippy`)

// everydayTarget reports the name of a script or target that builds or checks:
// test, lint:fix, build-web. Every part of it is on a list, so build-and-deploy and
// test:prod-wipe are none.
func everydayTarget(name string) bool {
	first := true
	for part := range strings.FieldsFuncSeq(name, func(r rune) bool { return strings.ContainsRune(":-_", r) }) {
		if first && !everydayWords[part] || !first && !targetParts[part] && strings.Trim(part, "0123456789.") != "" {
			return false
		}
		first = false
	}
	return !first
}

// makeVariables may be set on make's command line, to values without anything
// that a shell reads.
var (
	makeVariables = words.Set("V VERBOSE Q TEST TESTS PKG PKGS RUN TESTARGS TESTFLAGS DEBUG TAGS J")
	plainValue    = regexp.MustCompile(`^(?:[A-Za-z0-9_./,=+][A-Za-z0-9_./,=+-]*|-(?:v+|q|s|x|race|short|failfast|cover|(?:run|count|timeout|parallel)=[A-Za-z0-9_./]+))?$`)
)

// scripts judges npm, pnpm, yarn and bun: only scripts that build or check, and
// tools that the project has installed.
func scripts(other Rule) Rule {
	return func(x *Call, name string, args []workspace.Word) {
		if x.version(name, args) {
			return
		}
		c := x.scanner(scriptSpecs[name], args)
		run := name != "npm" // the others take a script's name for a command
		for t, ok := c.next(); ok; t, ok = c.next() {
			if t.option != "" {
				x.projectOption(t)
				continue
			}
			if t.word.Is("run") || t.word.Is("run-script") {
				run = true
				continue
			}
			rest := slices.DeleteFunc(slices.Clone(c.rest()[1:]), func(w workspace.Word) bool { return w.Is("--") }) // what follows goes on to the script
			switch tool := x.Rules[t.word.Text]; {
			case t.word.Kind == workspace.Literal && (t.word.Is("t") || t.word.Is("tst") || t.word.Is("test") || run && everydayTarget(t.word.Text)):
				x.project()
				scriptArgs.judge(x, name, rest)
			case (t.word.Is("exec") || t.word.Is("x")) && name != "npm" && len(rest) > 0:
				npx(x, name, rest)
			case (name == "yarn" || name == "pnpm") && tool != nil && projectNames[t.word.Text]:
				x.inner(c.rest())
			case t.word.Is("ls") || t.word.Is("list") || t.word.Is("why") || t.word.Is("root"):
				x.project()
				scriptArgs.judge(x, name, rest)
			default:
				other(x, name, args)
			}
			return
		}
		other(x, name, args)
	}
}

// npx runs a tool that the project has installed. One that it has not would be
// fetched, so only names pass of which the package is the tool's own.
func npx(x *Call, name string, args []workspace.Word) {
	for len(args) > 0 && (args[0].Is("--no-install") || args[0].Is("--no") || args[0].Is("--offline") || args[0].Is("--")) {
		args = args[1:]
	}
	if len(args) == 0 || args[0].Kind != workspace.Literal || !nodePackages[args[0].Text] {
		x.Add(finding.RunsWorkspaceCode)
		return
	}
	x.project()
	x.inner(args)
}

// runsIn judges the programs that run another one in the project's environment:
// poetry run pytest, bundle exec rspec.
func runsIn(verb string, other Rule) Rule {
	return func(x *Call, name string, args []workspace.Word) {
		if len(args) > 1 && args[0].Is(verb) && !args[1].MayBeOption() {
			x.project()
			if tool := args[1].Text; !projectNames[tool] && !pythonNames[tool] {
				x.Add(finding.RunsWorkspaceCode) // a script of the project may have any name
			}
			x.inner(args[1:])
			return
		}
		other(x, name, args)
	}
}

// pythonNames are how Python is called.
var pythonNames = words.Set("python python3")

// pythonModule judges python -m: the modules that are project tools themselves.
func pythonModule(x *Call, args []workspace.Word) bool {
	if len(args) < 2 || !args[0].Is("-m") || args[1].Kind != workspace.Literal {
		return false
	}
	switch name := args[1].Text; {
	case name == "json.tool":
		x.project() // a json.py of this directory comes first
		for _, w := range args[2:] {
			if w.MayBeOption() || w.Several() {
				x.Add(finding.UnknownOption)
			}
			x.Read(w)
		}
		if len(args) > 3 {
			x.Add(finding.UnknownOption) // the second operand is written
		}
	case name == "py_compile", name == "compileall", pythonTools[name]:
		x.inner(args[1:])
	default:
		return false
	}
	return true
}

// OwnTool reports a program of the project that is known by its name: one below
// projectBins, or a build tool's wrapper.
func OwnTool(p *workspace.Place, file string) bool {
	if !p.Known() || !p.LocalDir(workspace.Word{Text: "."}) {
		return false
	}
	file = strings.TrimPrefix(file, "./")
	if len(p.Dirs) == 1 && p.RootPath(p.Dirs[0]) {
		file = strings.TrimPrefix(file, p.Dirs[0]+"/")
	}
	cut := strings.LastIndexByte(file, '/')
	if cut < 0 {
		return file == "gradlew" || file == "mvnw"
	}
	name := file[cut+1:]
	return workspace.ProjectBins[file[:cut]] && (projectNames[name] || pythonNames[name] || name == "pip")
}

// activates reports sourcing the project's own Python environment.
func (x *Call) activates(args []workspace.Word) bool {
	if len(args) != 1 || args[0].Kind != workspace.Literal || !x.Place.LocalDir(workspace.Word{Text: "."}) {
		return false
	}
	switch strings.TrimPrefix(args[0].Text, "./") {
	case ".venv/bin/activate", "venv/bin/activate":
		return true
	}
	return false
}
