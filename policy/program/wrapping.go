package program

import (
	"cmp"
	"slices"
	"strings"

	"approvalbot/policy/finding"
	"approvalbot/policy/words"
	"approvalbot/policy/workspace"
)

// later judges what runs its input some time.
func later(x *Call, _ string, _ []workspace.Word) {
	x.Add(finding.ChangesSchedule)
	x.Add(finding.InterpreterInput)
	x.add(RunsUnread)
}

// env runs a command with other variables; without one it shows all of them.
func env(x *Call, _ string, args []workspace.Word) {
	for i := 0; i < len(args); i++ {
		w := args[i]
		name, value, assigns := strings.Cut(w.Text, "=")
		switch {
		case w.Is("-"), w.Is("-i"), w.Is("--ignore-environment"):
		case w.Is("-u") && i+1 < len(args) && !args[i+1].Several():
			i++
		case w.Is("--"):
		case w.Text != "" && w.Text[0] == '-' || w.MayBeOption() && !assigns:
			x.Add(finding.UnknownOption)
		case name == "PYTHONPATH" && OwnModules(x.Place, workspace.Word{Text: value, Kind: w.Kind}):
			x.project()
		case assigns && name != "":
			x.oneWord(w) // to env it is no assignment but a word like any other
			x.Effects = append(x.Effects, Effect{Kind: SetsVariable, Name: name, Word: workspace.Word{Text: value, Kind: w.Kind}})
		default:
			x.inner(args[i:])
			return
		}
	}
	x.Add(finding.ReadsEnvironment)
}

// printenv shows variables of the environment.
func printenv(x *Call, _ string, args []workspace.Word) {
	x.Add(finding.ReadOnlyCommand)
	if len(args) == 0 {
		x.Add(finding.ReadsEnvironment)
	}
	for _, w := range args {
		if w.Kind != workspace.Literal || !QuietVariables[w.Text] {
			x.Add(finding.ReadsEnvironment)
		}
	}
}

// xargs runs a command with words from its input.
func xargs(x *Call, _ string, args []workspace.Word) {
	c := x.scanner(&spec{flags: "0rtx", vals: "nPLIdEsa", posix: true,
		long: longs("null no-run-if-empty verbose max-args= max-procs= max-lines max-lines= replace replace= delimiter= max-chars= arg-file= exit")}, args)
	mark, files := "", x.Input
	for t, ok := c.next(); ok; t, ok = c.next() {
		switch t.option {
		case "I", "replace":
			mark = cmp.Or(t.word.Text, "{}")
		case "a", "arg-file":
			x.Read(t.word)
			files = nil
		case "d", "delimiter":
			files = nil
		case "":
			rest := c.rest()
			if len(files) == 0 || !takesNames(rest) {
				files = []workspace.Word{{Kind: workspace.Computed, Split: mark == ""}}
			}
			all := filled(rest, cmp.Or(mark, "\x00"), files)
			if mark == "" || files[0].Kind == workspace.Computed {
				all = append(slices.Clone(all), files...)
			}
			x.inner(all)
			return
		}
	}
	x.Add(finding.ReadOnlyCommand)
}

// flock runs a command while it holds a lock file.
func flock(x *Call, _ string, args []workspace.Word) {
	c := x.scanner(&spec{flags: "nxseuo", vals: "wEc", posix: true, long: longs("nonblock exclusive shared timeout= wait= conflict-exit-code= command=")}, args)
	locked := false
	for t, ok := c.next(); ok; t, ok = c.next() {
		switch {
		case t.option == "c" || t.option == "command":
			x.script(t.word)
			return
		case t.option != "":
		case !locked:
			locked, c.ended = true, false
			x.oneWord(t.word)
			x.Write(t.word)
		default:
			x.inner(c.rest())
			return
		}
	}
	x.Add(finding.UnknownOption)
}

// shellCommand judges a shell: the script after -c is read like the line it
// stands in; a file or the input is not.
func shellCommand(x *Call, name string, args []workspace.Word) {
	if name == "fish" || name == "csh" || name == "tcsh" {
		x.Add(finding.UnusualShell)
	}
	if x.version(name, args) || x.checks(name, args) {
		return
	}
	c := x.scanner(&spec{flags: "celiuxvnfaEpo", posix: true, long: longs("login norc noprofile posix")}, args)
	script := false
	for t, ok := c.next(); ok; t, ok = c.next() {
		switch {
		case t.option == "c":
			script = true
		case t.option == "o", t.option == "s":
			x.Add(finding.UnknownOption)
		case t.option != "":
		case script:
			x.script(t.word)
			return
		default:
			x.Add(finding.RunsScript)
			x.add(RunsUnread)
			return
		}
	}
	x.Add(finding.InterpreterInput)
	x.add(RunsUnread)
}

// checks reports a shell that is told only to read a script and say what is wrong.
func (x *Call) checks(name string, args []workspace.Word) bool {
	if !ShellNames[name] || len(args) != 2 || !args[0].Is("-n") || args[1].MayBeOption() || args[1].Several() {
		return false
	}
	x.Add(finding.ReadOnlyCommand)
	x.Read(args[1])
	return true
}

// script judges a word that is itself a shell line.
func (x *Call) script(w workspace.Word) {
	if w.Kind == workspace.Literal {
		x.line(w.Text)
		return
	}
	x.Add(finding.EvaluatesText)
	x.add(RunsUnread)
}

// builtins are the words of the shell itself.
func builtins(m map[string]Rule) {
	m["eval"] = func(x *Call, _ string, args []workspace.Word) {
		var text []string
		x.Add(finding.EvaluatesText)
		for _, w := range args {
			if w.Kind != workspace.Literal {
				x.add(RunsUnread)
			}
			text = append(text, w.Text)
		}
		x.line(strings.Join(text, " "))
	}
	for _, n := range [...]string{"source", "."} {
		m[n] = func(x *Call, _ string, args []workspace.Word) {
			if x.activates(args) {
				x.project()
				return
			}
			x.Add(finding.RunsScript)
			x.add(RunsUnread)
			for _, w := range args {
				x.Read(w)
			}
		}
	}
	m["set"] = func(x *Call, _ string, args []workspace.Word) {
		x.Add(finding.ReadOnlyCommand)
		for _, w := range args {
			if w.Kind != workspace.Literal || !w.Is("pipefail") && (len(w.Text) < 2 || strings.Trim(w.Text[1:], "euxo") != "" || w.Text[0] != '-' && w.Text[0] != '+') {
				x.Add(finding.UnknownOption)
			}
		}
		if len(args) == 0 {
			x.Add(finding.ReadsEnvironment)
		}
	}
	m["read"] = func(x *Call, _ string, args []workspace.Word) {
		x.Add(finding.ReadOnlyCommand)
		c := x.scanner(&spec{flags: "rs", vals: "dnpt"}, args)
		for t, ok := c.next(); ok; t, ok = c.next() {
			switch {
			case t.option == "" && (t.word.Kind != workspace.Literal || !OwnVariable(t.word.Text)):
				x.Add(finding.SetsEnvironment)
			case (t.option == "n" || t.option == "t") && (t.word.Kind != workspace.Literal || !words.Digits(t.word.Text)):
				x.Add(finding.DynamicArgument)
			}
		}
	}
	for _, n := range [...]string{"exit", "return", "break", "continue", "shift", "wait"} {
		m[n] = func(x *Call, _ string, args []workspace.Word) {
			x.Add(finding.ReadOnlyCommand)
			for _, w := range args {
				if w.Kind != workspace.Literal || !words.Digits(strings.TrimPrefix(w.Text, "%")) {
					x.Add(finding.DynamicArgument)
				}
			}
		}
	}
}
