package line

import (
	"mvdan.cc/sh/v3/syntax"

	"approvalbot/internal/approval"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/words"
	"approvalbot/internal/policy/workspace"
)

// Seen is what the reading of a call came across, beside its findings: what the
// operator's rules, the allowlist and grants look at.
type Seen struct {
	Words    []workspace.Word
	Commands []Command
	read     bool // a command line was read
	Apart    bool // the line is more than plain commands in lists and pipes
	Alone    bool // the line is one plain command and nothing else

	words []workspace.Word // memory for the words that are read
}

// NewSeen makes an empty Seen with memory for most lines.
func NewSeen() Seen {
	return Seen{Words: make([]workspace.Word, 0, 32), Commands: make([]Command, 0, 8), words: make([]workspace.Word, 0, 24)}
}

// Spent gives an empty Seen with the memory of this one, and nothing of what it saw.
func (v *Seen) Spent() Seen {
	clear(v.Words)
	clear(v.words[:cap(v.words)])
	return Seen{Words: v.Words[:0], Commands: v.Commands[:0], words: v.words}
}

// Command is one simple command, wherever it stood.
type Command struct {
	from, to int                // its words
	Inner    int                // so many of the following commands ran inside it
	Class    approval.RiskClass // of the command by itself, with what runs inside
}

// note remembers a command about to be judged, and gives its index.
func (s *Reading) note(f frame, all []workspace.Word) int {
	v := s.seen
	if f.searching || v == nil {
		return -1
	}
	from := len(v.Words)
	v.Words = append(v.Words, all...)
	v.Commands = append(v.Commands, Command{from: from, to: len(v.Words), Class: approval.R4})
	return len(v.Commands) - 1
}

// commandsSeen gives the index of the next command that note will see.
func (s *Reading) commandsSeen() int {
	if s.seen == nil {
		return 0
	}
	return len(s.seen.Commands)
}

// noted closes what note opened.
func (s *Reading) noted(i int) {
	if i >= 0 {
		s.seen.Commands[i].Inner = len(s.seen.Commands) - i - 1
	}
}

// noteClass says how bad the simple command with that index was. The project's own
// code is harmless only where it is not to be asked for.
func (s *Reading) noteClass(f frame, i int) {
	if s.seen == nil || f.searching || i >= len(s.seen.Commands) {
		return
	}
	class := s.Found.Class()
	if s.AsksCode && s.Found.Has(finding.RunsProjectCode) {
		class = max(class, approval.R2)
	}
	s.seen.Commands[i].Class = class
}

// noteLine remembers the form of a line that was parsed.
func (s *Reading) noteLine(f frame, file *syntax.File) {
	v := s.seen
	if f.searching || v == nil {
		return
	}
	one := len(file.Stmts) == 1 && !v.read
	v.read = true
	v.Apart = v.Apart || len(file.Last) > 0
	v.Alone = one && len(file.Last) == 0
	for _, st := range file.Stmts {
		plain, single := plainStmt(st)
		v.Apart = v.Apart || !plain
		v.Alone = v.Alone && single
	}
}

// plainStmt reports a statement that consists of simple commands in lists and
// pipes, whose output goes nowhere but on; single where it is one command whose
// output stays as it is.
func plainStmt(st *syntax.Stmt) (plain, single bool) {
	apart := st.Coprocess || st.Disown
	if apart || !asIs(st) || len(st.Comments) > 0 {
		return false, false
	}
	for _, r := range st.Redirs {
		target := ""
		if r.Word != nil {
			target = r.Word.Lit()
		}
		plain := target == "/dev/null" || r.Op == syntax.DplOut && words.Digits(target)
		if r.Hdoc != nil || !plain {
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

// Args gives a command's words.
func (v *Seen) Args(c Command) []workspace.Word { return v.Words[c.from:c.to] }
