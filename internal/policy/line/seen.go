package line

import (
	"mvdan.cc/sh/v3/syntax"

	"approvalbot/internal/approval"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/workspace"
)

// Seen is what the reading of a call came across, beside its findings: what the
// operator's rules, the allowlist and grants look at.
type Seen struct {
	Words    []workspace.Word
	Commands []Command
	read     bool // a command line was read
	Apart    bool // the line is more than plain commands in lists and pipes
	Alone    bool // the line is only one plain command

	Notes *Notes // it gets what findings come from; nil: that is not noted

	words []workspace.Word // memory for the words that are read
}

// NewSeen makes an empty Seen with memory for most lines.
func NewSeen() Seen {
	return Seen{Words: make([]workspace.Word, 0, 32), Commands: make([]Command, 0, 8),
		words: make([]workspace.Word, 0, 24)}
}

// Spent gives an empty Seen that reuses the memory of this one.
func (v *Seen) Spent() Seen {
	clear(v.Words)
	clear(v.words[:cap(v.words)])
	return Seen{Words: v.Words[:0], Commands: v.Commands[:0], words: v.words}
}

// Command is one simple command, at any depth of the line.
type Command struct {
	from, to int                // its words
	Inner    int                // so many of the following commands ran inside it
	Class    approval.RiskClass // of the command by itself, with what runs inside

	at span // the bytes of its statement in the call's line; not set if that is not known, or no notes are taken
}

// Args gives a command's words.
func (v *Seen) Args(c Command) []workspace.Word { return v.Words[c.from:c.to] }

// note remembers a command about to be judged, and gives its index.
func (v *verdict) note(f frame, all []workspace.Word) int {
	seen := v.seen
	if f.searching || seen == nil {
		return -1
	}
	from := len(seen.Words)
	seen.Words = append(seen.Words, all...)
	c := Command{from: from, to: len(seen.Words), Class: approval.R4}
	if n := seen.Notes; n != nil && n.base >= 0 {
		c.at = n.span
	}
	seen.Commands = append(seen.Commands, c)
	return len(seen.Commands) - 1
}

// commandsSeen gives the index of the next command that note will see.
func (v *verdict) commandsSeen() int {
	if v.seen == nil {
		return 0
	}
	return len(v.seen.Commands)
}

// noted closes what note opened.
func (v *verdict) noted(i int) {
	if i >= 0 {
		v.seen.Commands[i].Inner = len(v.seen.Commands) - i - 1
	}
}

// noteClass says how bad the simple command with that index was. The project's own code is harmless
// only if it is not to be asked for.
func (v *verdict) noteClass(f frame, i int) {
	if v.seen == nil || f.searching || i >= len(v.seen.Commands) {
		return
	}
	class := v.Found.Class()
	if v.AsksCode && v.Found.Any(finding.ProjectCode) {
		class = max(class, approval.R2)
	}
	v.seen.Commands[i].Class = class
}

// noteLine remembers the form of a line that was parsed.
func (v *verdict) noteLine(f frame, file *syntax.File) {
	seen := v.seen
	if f.searching || seen == nil {
		return
	}
	one := len(file.Stmts) == 1 && !seen.read
	seen.read = true
	seen.Apart = seen.Apart || len(file.Last) > 0
	seen.Alone = one && len(file.Last) == 0
	for _, st := range file.Stmts {
		plain, single := plainStmt(st)
		seen.Apart = seen.Apart || !plain
		seen.Alone = seen.Alone && single
	}
}
