package policy

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"approvalbot/core"
	"approvalbot/policy/finding"
	"approvalbot/policy/program"
	"approvalbot/policy/words"
	"approvalbot/policy/workspace"
)

// seen is what the reading of a call came across, beside its findings: what the
// operator's rules, the allowlist and grants look at.
type seen struct {
	words    []workspace.Word
	commands []command
	read     bool // a command line was read
	apart    bool // the line is more than plain commands in lists and pipes
	alone    bool // the line is one plain command and nothing else
}

// command is one simple command, wherever it stood.
type command struct {
	from, to int            // its words
	inner    int            // so many of the following commands ran inside it
	class    core.RiskClass // of the command by itself, with what runs inside
}

// note remembers a command about to be judged, and gives its index.
func (s *shell) note(all []workspace.Word) int {
	v := s.seen
	if s.hunting || v == nil {
		return -1
	}
	from := len(v.words)
	v.words = append(v.words, all...)
	v.commands = append(v.commands, command{from: from, to: len(v.words), class: core.R4})
	return len(v.commands) - 1
}

// commandsSeen gives the index of the next command that note will see.
func (s *shell) commandsSeen() int {
	if s.seen == nil {
		return 0
	}
	return len(s.seen.commands)
}

// noted closes what note opened.
func (s *shell) noted(i int) {
	if i >= 0 {
		s.seen.commands[i].inner = len(s.seen.commands) - i - 1
	}
}

// noteClass says how bad the simple command with that index was.
func (s *shell) noteClass(i int) {
	if s.seen != nil && !s.hunting && i < len(s.seen.commands) {
		s.seen.commands[i].class = s.found.Class()
	}
}

// noteLine remembers the form of a line that was parsed.
func (s *shell) noteLine(f *syntax.File) {
	v := s.seen
	if s.hunting || v == nil {
		return
	}
	one := len(f.Stmts) == 1 && !v.read
	v.read = true
	v.apart = v.apart || len(f.Last) > 0
	v.alone = one && len(f.Last) == 0
	for _, st := range f.Stmts {
		plain, single := plainStmt(st)
		v.apart = v.apart || !plain
		v.alone = v.alone && single
	}
}

// plainStmt reports a statement that consists of simple commands in lists and
// pipes, whose output goes nowhere but on; single where it is one command whose
// output stays as it is.
func plainStmt(st *syntax.Stmt) (plain, single bool) {
	if st.Negated || st.Background || st.Coprocess || st.Disown || len(st.Comments) > 0 {
		return false, false
	}
	for _, r := range st.Redirs {
		target := ""
		if r.Word != nil {
			target = r.Word.Lit()
		}
		if r.Hdoc != nil || !(target == "/dev/null" || r.Op == syntax.DplOut && words.Digits(target)) {
			return false, false
		}
	}
	switch c := st.Cmd.(type) {
	case *syntax.CallExpr:
		plain = len(c.Assigns) == 0 && len(c.Args) > 0
		return plain, plain && len(st.Redirs) == 0
	case *syntax.BinaryCmd:
		x, _ := plainStmt(c.X)
		y, _ := plainStmt(c.Y)
		return x && y && c.Op != syntax.PipeAll, false
	}
	return false, false
}

// came notes how a command was given and where it runs.
func (j *judging) came(x core.Exec, s *shell) {
	v := &j.seen
	if x.Command == nil {
		v.alone = len(x.Argv) > 0
	} else if x.Argv != nil {
		v.alone, v.apart = false, true
	}
	j.line, j.argv, j.place = x.Command, x.Argv, s.Place
	j.stays = len(x.Env) == 0 && s.Place.Stays()
}

// args gives a command's words.
func (v *seen) args(c command) []workspace.Word { return v.words[c.from:c.to] }

// uncovered are findings about how and where a line runs, or that it could not
// be read. They belong to no command, so no permission for a command covers them.
var uncovered = finding.Opaque.Or(finding.Of(finding.HiddenInComment, finding.MalformedCall, finding.UnknownParameters, finding.OtherHost, finding.GitElsewhere, finding.DefinesFunction, finding.SetsEnvironment, finding.DangerousEnvironment))

// covered reports whether the call is a line of plain commands in the workspace
// and ok holds for each of them that is not harmless by itself. What runs behind
// a wrapper is never covered, except in a shell that does nothing but run a line
// that was read.
func (j *judging) covered(ok func(args []workspace.Word) bool) bool {
	v := &j.seen
	if j.tool.kind != execTool || !j.stays || v.apart || len(v.commands) == 0 || j.found.Any(uncovered) {
		return false
	}
	for i := 0; i < len(v.commands); i++ {
		c := v.commands[i]
		args := v.args(c)
		switch {
		case c.class <= core.R1:
			i += c.inner
		case c.inner > 0 && opensLine(args):
		case c.inner > 0 || c.class == core.R4 || program.RunsOthers(args) || !ok(args):
			return false
		}
	}
	return true
}

// opensLine reports a shell that is given one line and nothing else.
func opensLine(args []workspace.Word) bool {
	if len(args) != 3 || args[1].Kind != workspace.Literal || args[2].Kind != workspace.Literal || !program.ShellNames[program.ProgramOf(args[0])] {
		return false
	}
	flags := args[1].Text
	return len(flags) > 1 && flags[0] == '-' && flags[len(flags)-1] == 'c' && strings.Trim(flags[1:], "celux") == ""
}
