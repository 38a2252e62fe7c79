package program

import (
	"strings"

	"approvalbot/internal/policy/command"
	"approvalbot/internal/policy/workspace"
)

// prints notes a command of which all that it prints, and writes, is surely empty.
func (e *entry) prints(x *command.Call, args []workspace.Word) {
	reads := e.filter != "" && !e.readsNothing(x, args)
	silent := e.silent != nil && e.silent.MatchString(joined(args))
	empties := e.filter != "" && !reads && !e.keeps(x, args)
	if silent || empties {
		x.Mark(command.PrintsNothing)
	}
}

// keeps reports a command that adds to the files it writes.
func (e *entry) keeps(x *command.Call, args []workspace.Word) bool {
	if len(e.appends) == 0 {
		return false
	}
	other := command.Call{Place: x.Place}
	c := other.Scanner(&e.spec, args)
	for t, ok := c.Next(); ok; t, ok = c.Next() {
		if e.appends[t.Option] {
			return true
		}
	}
	return false
}

// readsNothing reports a filter that has no input. A word behind an option may be its
// value; it is taken for a file only if the call has no input.
func (e *entry) readsNothing(x *command.Call, args []workspace.Word) bool {
	if e.filter == "input" {
		return x.Empty || x.Idle
	}
	null, maybe, text := false, false, e.skip
	for i, w := range args {
		input := w.Is("-") || w.Is("/dev/stdin")
		switch {
		case w.Is("/dev/null"):
			null = true
		case input && (x.Empty || x.Idle), w.Kind == workspace.Literal && w.MayBeOption():
		case i > 0 && args[i-1].MayBeOption():
			maybe = true
		case input || text == 0:
			return false
		default:
			text--
		}
	}
	return null || x.Empty || x.Idle && !maybe
}

// joined gives words as one text. A word that is not known becomes one that no pattern has.
func joined(args []workspace.Word) string {
	texts := make([]string, len(args))
	for i, w := range args {
		if texts[i] = w.Text; w.Kind != workspace.Literal {
			texts[i] = "\x00"
		}
	}
	return strings.Join(texts, " ")
}
