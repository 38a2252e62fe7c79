package program

import (
	"slices"
	"strings"

	"approvalbot/internal/policy/command"
	"approvalbot/internal/policy/workspace"
)

func (l *loader) typing(where, text string) typing {
	for w := range strings.FieldsSeq(text) {
		known := w == "always" || w == "pager" || strings.HasPrefix(w, "-") || strings.HasPrefix(w, "!")
		if !known {
			l.fail(where, "when it takes commands from its terminal cannot be %q", w)
		}
	}
	return strings.Fields(text)
}

// TakesTyping reports a command that takes further commands from the terminal that it is run
// in. pipes says that it prints into a pipe.
func TakesTyping(base string, args []workspace.Word, pipes bool) bool {
	version := len(args) == 1 && args[0].IsAny("--version", "-V")
	return !version && known(base).takesTyping(args, pipes)
}

// takesTyping looks at the row, and at the row of each subcommand that is among the words:
// which of them is the subcommand is left open.
func (e *entry) takesTyping(args []workspace.Word, pipes bool) bool {
	if e == nil {
		return false
	}
	if e.typed.fits(e, args, pipes) {
		return true
	}
	for i, w := range args {
		if v := e.verb(w); v != nil && v.takesTyping(args[i+1:], pipes) {
			return true
		}
	}
	return false
}

func (t typing) fits(e *entry, args []workspace.Word, pipes bool) (takes bool) {
	if len(t) == 0 {
		return false
	}
	var given []string // options, with dashes, and the first operand
	other, named := command.Call{}, false
	c := other.Scanner(&e.spec, args)
	for t, ok := c.Next(); ok; t, ok = c.Next() {
		switch {
		case len(t.Option) == 1:
			given = append(given, "-"+t.Option)
		case t.Option != "":
			given = append(given, "--"+t.Option)
		case !named:
			given, named = append(given, t.Word.Text), true
		}
	}
	for _, w := range t {
		option, not := strings.CutPrefix(w, "!")
		switch {
		case w == "always":
			takes = true
		case w == "pager":
			takes = !pipes
		case slices.Contains(given, option):
			takes = !not
		}
	}
	return takes
}
