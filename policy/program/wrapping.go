package program

import (
	"cmp"
	"slices"
	"strings"

	"approvalbot/policy/finding"
	"approvalbot/policy/words"
	"approvalbot/policy/workspace"
)

// wrapper describes a command that runs another one and adds nothing to it.
type wrapper struct {
	spec spec
	skip int          // operands before the command
	code finding.Code // what the wrapper is by itself
}

// wrappers are commands that run other commands. The wrapper is never what is
// trusted: the command inside decides.
func wrappers(m map[string]Rule) {
	one := func(names string, w wrapper) {
		w.spec.posix = true
		for n := range strings.FieldsSeq(names) {
			m[n] = w.judge
		}
	}
	one("nohup setsid builtin unbuffer chronic busybox toybox", wrapper{spec: spec{flags: "w"}})
	one("nice", wrapper{spec: spec{vals: "n", num: true, long: longs("adjustment=")}})
	one("ionice", wrapper{spec: spec{flags: "t", vals: "cn"}})
	one("time", wrapper{spec: spec{flags: "pv", long: longs("portability verbose")}})
	one("timeout gtimeout", wrapper{skip: 1, spec: spec{flags: "v", vals: "sk", long: longs("signal= kill-after= foreground preserve-status verbose")}})
	one("stdbuf", wrapper{spec: spec{vals: "ioe", long: longs("input= output= error=")}})
	one("taskset", wrapper{skip: 1})
	one("caffeinate", wrapper{spec: spec{flags: "dimsu", vals: "tw"}})
	one("exec", wrapper{spec: spec{flags: "cl", vals: "a"}})
	one("sudo", wrapper{code: finding.RunsAsRoot, spec: spec{flags: "EHnSkKbiPsA", vals: "ugpCTrthUD",
		long: longs("preserve-env preserve-env= non-interactive stdin user= group= login shell set-home reset-timestamp")}})
	one("doas", wrapper{code: finding.RunsAsRoot, spec: spec{flags: "nsL", vals: "uC"}})
	m["env"], m["xargs"], m["flock"], m["printenv"] = env, xargs, flock, printenv
	for _, n := range [...]string{"sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "fish", "csh", "tcsh", "rbash"} {
		m[n] = shellCommand
	}
	asks(m, finding.RunsAsRoot, "su runuser chroot nsenter unshare pkexec setpriv capsh systemd-run gosu su-exec")
	for _, n := range [...]string{"at", "batch"} {
		m[n] = func(x *Call, _ string, _ []workspace.Word) {
			x.Add(finding.ChangesSchedule)
			x.Add(finding.InterpreterInput)
			x.add(RunsUnread)
		}
	}
	asks(m, finding.RemoteCommand, "ssh rsh mosh sshpass autossh scp sftp rclone ftp lftp telnet ansible ansible-playbook salt fab pssh")
	asks(m, finding.UnknownCommand, "script watch parallel strace ltrace gdb lldb valgrind entr firejail proot bwrap fakeroot")
}

// asks makes commands findings of their own. What stands in their words is
// looked at by hunt.
func asks(m map[string]Rule, c finding.Code, names string) {
	for n := range strings.FieldsSeq(names) {
		m[n] = func(x *Call, _ string, _ []workspace.Word) { x.Add(c) }
	}
}

func (w *wrapper) judge(x *Call, _ string, args []workspace.Word) {
	if w.code != 0 {
		x.Add(w.code)
	}
	c := x.scanner(&w.spec, args)
	skip := w.skip
	for t, ok := c.next(); ok; t, ok = c.next() {
		if t.option != "" {
			continue
		}
		if skip > 0 {
			c.ended = false
			skip--
			x.oneWord(t.word)
			continue
		}
		x.inner(c.rest())
		return
	}
	x.Add(finding.ReadOnlyCommand)
	if w.skip > 0 || w.code != 0 {
		x.Add(finding.UnknownOption)
	}
}

// oneWord judges a word before a command: where it becomes two, the second is the
// command.
func (x *Call) oneWord(w workspace.Word) {
	if w.Several() {
		x.Add(finding.DynamicArgument)
	}
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
			if len(files) == 0 || rest[0].Kind != workspace.Literal || !tellers[rest[0].Text] {
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
	if x.version(name, args) {
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
