package language

import (
	"cmp"
	"slices"
	"strings"

	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/command"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/words"
	"approvalbot/internal/policy/workspace"
)

// later judges a program that runs its input at a later time.
func later(x *command.Call, _ string, _ []workspace.Word) {
	x.Add(finding.ChangesSchedule)
	x.Add(finding.InterpreterInput)
	x.Mark(command.RunsUnread)
}

// env runs a command with other variables; without one it shows all of them.
func env(x *command.Call, _ string, args []workspace.Word) {
	for i := 0; i < len(args); i++ {
		w := args[i]
		name, value, assigns := strings.Cut(w.Text, "=")
		switch {
		case w.Is("-"), w.Is("-i"), w.Is("--ignore-environment"):
		case w.Is("-u") && i+1 < len(args) && !args[i+1].Several():
			i++
		case w.Is("--"):
		case strings.HasPrefix(w.Text, "-") || w.MayBeOption() && !assigns:
			x.Add(finding.UnknownOption)
		case name == "PYTHONPATH" && command.OwnModules(x.Place, workspace.Word{Text: value, Kind: w.Kind}):
			RunsProject(x)
		case assigns && name != "":
			x.One(w) // to env it is no assignment but a word like any other
			x.Effects = append(x.Effects, command.Effect{Kind: command.SetsVariable, Name: name,
				Word: workspace.Word{Text: value, Kind: w.Kind}})
		default:
			x.Run(args[i:])
			return
		}
	}
	x.Add(finding.ReadsEnvironment)
}

// printenv shows variables of the environment.
func printenv(x *command.Call, _ string, args []workspace.Word) {
	x.Add(finding.ReadOnlyCommand)
	if len(args) == 0 {
		x.Add(finding.ReadsEnvironment)
	}
	for _, w := range args {
		if w.Kind != workspace.Literal || !command.QuietVariables.Has(w.Text) {
			x.Add(finding.ReadsEnvironment)
		}
	}
}

// xargs runs a command with words from its input.
func xargs(x *command.Call, _ string, args []workspace.Word) {
	c := x.Scanner(&command.Spec{Flags: "0rtx", Values: "nPLIdEsa", Posix: true,
		Long: command.Longs(`null no-run-if-empty verbose max-args= max-procs= max-lines max-lines= replace replace=
			delimiter= max-chars= arg-file= exit`)}, args)
	mark, files := "", x.Input
	for t, ok := c.Next(); ok; t, ok = c.Next() {
		switch t.Option {
		case "I", "replace":
			mark = cmp.Or(t.Word.Text, "{}")
		case "a", "arg-file":
			x.Read(t.Word)
			files = nil
		case "d", "delimiter":
			files = nil
		case "":
			rest := c.Rest()
			hashes := sampled(files)
			if hashes && mark != "" {
				x.Run(withHash(rest, mark))
				return
			}
			if !hashes && (len(files) == 0 || !takesNames(rest)) {
				files = []workspace.Word{{Kind: workspace.Computed, Split: mark == ""}}
			}
			all := filled(rest, cmp.Or(mark, "\x00"), files)
			if mark == "" || files[0].Kind == workspace.Computed {
				all = append(slices.Clone(all), files...)
			}
			x.Run(all)
			return
		}
	}
	x.Add(finding.ReadOnlyCommand)
}

// sampled reports words that all read like their samples.
func sampled(files []workspace.Word) bool {
	return len(files) > 0 && !slices.ContainsFunc(files, func(w workspace.Word) bool { return w.Sample == "" })
}

// withHash gives the words of a command with a hash of git's in place of the mark.
func withHash(args []workspace.Word, mark string) []workspace.Word {
	out := slices.Clone(args)
	for i, w := range out {
		if w.Kind == workspace.Literal {
			out[i].Text = strings.ReplaceAll(w.Text, mark, Hash)
		}
	}
	return braces(out, mark)
}

// flock runs a command while it holds a lock file.
func flock(x *command.Call, _ string, args []workspace.Word) {
	c := x.Scanner(&command.Spec{Flags: "nxseuo", Values: "wEc", Posix: true, Long: command.Longs(`nonblock
		exclusive shared timeout= wait= conflict-exit-code= command=`)}, args)
	locked := false
	for t, ok := c.Next(); ok; t, ok = c.Next() {
		switch {
		case t.Option == "c" || t.Option == "command":
			shellScript(x, t.Word)
			return
		case t.Option != "":
		case !locked:
			locked, c.Ended = true, false
			x.One(t.Word)
			x.Write(t.Word)
		default:
			x.Run(c.Rest())
			return
		}
	}
	x.Add(finding.UnknownOption)
}

// shellCommand judges a shell: the script after -c is read like the line that contains it;
// a file or the input is not.
func shellCommand(x *command.Call, name string, args []workspace.Word) {
	if name == "fish" || name == "csh" || name == "tcsh" {
		x.Add(finding.UnusualShell)
	}
	if ShowsVersion(x, name, args) || runsCheck(x, name, args) {
		return
	}
	c := x.Scanner(&command.Spec{Flags: "celiuxvnfaEpo", Posix: true, Long: command.Longs("login norc noprofile posix")}, args)
	script := false
	for t, ok := c.Next(); ok; t, ok = c.Next() {
		switch {
		case t.Option == "c":
			script = true
		case t.Option == "o", t.Option == "s":
			x.Add(finding.UnknownOption)
		case t.Option != "":
		case script:
			shellScript(x, t.Word)
			return
		default:
			x.Add(finding.RunsScript)
			x.Mark(command.RunsUnread)
			return
		}
	}
	x.Add(finding.InterpreterInput)
	x.Mark(command.RunsUnread)
}

// runsCheck reports a shell that is told only to read a script and say what is wrong.
func runsCheck(x *command.Call, name string, args []workspace.Word) bool {
	if !command.ShellNames.Has(name) || len(args) != 2 || !args[0].Is("-n") {
		return false
	}
	if args[1].MayBeOption() || args[1].Split {
		return false
	}
	x.Add(finding.ReadOnlyCommand)
	x.Read(args[1])
	return true
}

// shellScript judges a word that is itself a shell line.
func shellScript(x *command.Call, w workspace.Word) {
	if w.Kind == workspace.Literal {
		x.RunLine(w.Text)
		return
	}
	x.Add(finding.EvaluatesText)
	x.Mark(command.RunsUnread)
}

// scriptSettings are the options of set that scripts begin with.
var scriptSettings = lazy.Pattern(`^(?:pipefail|[-+][euxo]+)$`)

// Builtins are the words of the shell itself.
func Builtins(m map[string]command.Rule) {
	m["eval"] = func(x *command.Call, _ string, args []workspace.Word) {
		var text []string
		x.Add(finding.EvaluatesText)
		for _, w := range args {
			if w.Kind != workspace.Literal {
				x.Mark(command.RunsUnread)
			}
			text = append(text, w.Text)
		}
		x.RunLine(strings.Join(text, " "))
	}
	for _, n := range [...]string{"source", "."} {
		m[n] = func(x *command.Call, _ string, args []workspace.Word) {
			if activates(x, args) {
				RunsProject(x)
				return
			}
			x.Add(finding.RunsScript)
			x.Mark(command.RunsUnread)
			for _, w := range args {
				x.Read(w)
			}
		}
	}
	m["set"] = func(x *command.Call, _ string, args []workspace.Word) {
		x.Add(finding.ReadOnlyCommand)
		for _, w := range args {
			if !w.Fits(scriptSettings.Compiled()) {
				x.Add(finding.UnknownOption)
			}
		}
		if len(args) == 0 {
			x.Add(finding.ReadsEnvironment)
		}
	}
	m["read"] = func(x *command.Call, _ string, args []workspace.Word) {
		x.Add(finding.ReadOnlyCommand)
		c := x.Scanner(&command.Spec{Flags: "rs", Values: "dnpt"}, args)
		for t, ok := c.Next(); ok; t, ok = c.Next() {
			switch {
			case t.Option == "" && (t.Word.Kind != workspace.Literal || !command.OwnVariable(t.Word.Text)):
				x.Add(finding.SetsEnvironment)
			case words.Any(t.Option, "n", "t") && !t.Word.Number():
				x.Add(finding.DynamicArgument)
			}
		}
	}
	for _, n := range [...]string{"exit", "return", "break", "continue", "shift", "wait"} {
		m[n] = func(x *command.Call, _ string, args []workspace.Word) {
			x.Add(finding.ReadOnlyCommand)
			for _, w := range args {
				known := w.Kind == workspace.Literal && words.Digits(strings.TrimPrefix(w.Text, "%"))
				if !known && !w.Status {
					x.Add(finding.DynamicArgument)
				}
			}
		}
	}
}
