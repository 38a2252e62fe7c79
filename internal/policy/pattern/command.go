// Package pattern holds the patterns of operators' rules: for commands, files and hosts.
//
// Each kind answers two questions, and they are not each other's opposite. Covers: does the pattern certainly mean
// this? Only then may a rule permit. MayBe: could it mean this, whatever is not known of it yet? Then a rule that
// denies or asks already counts. So of the pattern "git push origin *"
//
//	git push origin fix      is covered
//	git push $REMOTE fix     may be meant: a deny counts, an allow does not
//
// A pattern that would permit too much (every program, a program that runs others) is refused by Trusted when it is
// read.
package pattern

import (
	"fmt"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"approvalbot/internal/policy/program"
	"approvalbot/internal/policy/words"
	"approvalbot/internal/policy/workspace"
)

// Command is a pattern for the words of one command.
type Command struct {
	text  string
	Words []string // the first is the program
	Open  bool     // further words may follow
}

// NewCommand reads words. A "*" at the end means any further words, one in between means
// one word, one inside a word means any text.
func NewCommand(text string) (Command, error) {
	p := Command{text: text, Words: strings.Fields(text)}
	if n := len(p.Words); n > 1 && (p.Words[n-1] == "*" || p.Words[n-1] == "**") {
		p.Words, p.Open = p.Words[:n-1], true
	}
	switch {
	case len(p.Words) == 0 || len(p.Words) > 60:
		return p, fmt.Errorf("a command pattern must name a program, and have at most 60 words")
	case strings.ContainsAny(text, "\"'`$\\;|&<>()\n\t"):
		return p, fmt.Errorf("%q must be the words of one command, without quotes, pipes or other signs of the shell", text)
	case !namesProgram(p.Words[0]):
		return p, fmt.Errorf("%q must begin with the name or the absolute path of a program", text)
	}
	return p, nil
}

// namesProgram reports a first word that is a name, or a clean absolute path.
func namesProgram(word string) bool {
	return !strings.Contains(word, "/") || path.IsAbs(word) && clean(word)
}

// Trusted says why the pattern may not be used as a permission; nil if it may.
func (p Command) Trusted() error {
	name := p.Words[0]
	base := name[strings.LastIndexByte(name, '/')+1:]
	switch {
	case !strings.Contains(name, "/") && strings.ContainsAny(name, "*?[{"):
		return fmt.Errorf("%q must name its program exactly, without *", p.text)
	case strings.Trim(base, "*") == "" && strings.Count(name, "/") < 2:
		return fmt.Errorf("%q would match every program", p.text)
	case program.IsWrapper(program.ProgramOf(workspace.Word{Text: base})):
		return fmt.Errorf("%q cannot be permitted: %s runs other programs or code, so the pattern does not say "+
			"what would run; name the program that it runs", p.text, base)
	case len(p.Words) > 1 && program.RunnerVerbs.Has(base+"/"+p.Words[1]):
		return fmt.Errorf("%q cannot be permitted: %s %s runs other programs or code; name the program that it runs", p.text, base, p.Words[1])
	}
	return nil
}

// Covers reports whether the pattern certainly means the command: every word is
// known, and each fits. Letter case counts.
func (p Command) Covers(args []workspace.Word) bool {
	if len(args) < len(p.Words) || len(args) > len(p.Words) && !p.Open {
		return false
	}
	for i, w := range args {
		fits := i == 0 || i >= len(p.Words) || words.Star(p.Words[i], w.Text)
		if !fits || !w.Exact() {
			return false
		}
	}
	name := args[0].Text
	if strings.Contains(p.Words[0], "/") {
		ok, err := doublestar.Match(p.Words[0], name)
		return ok && err == nil && path.Clean(name) == name
	}
	return p.Words[0] == name
}

// In reports whether all that the pattern spells out occurs in a text, in its order, quotes and
// backslashes aside. It finds the command also if a shell takes the text otherwise than it was read.
func (p Command) In(text string) bool {
	text = unquoted.Replace(text)
	for _, w := range p.Words {
		for part := range strings.SplitSeq(w, "*") {
			_, after, found := strings.Cut(text, part)
			if !found {
				return false
			}
			text = after
		}
	}
	return true
}

var unquoted = strings.NewReplacer("'", "", `"`, "", "\\\n", "", `\`, "")

// MayBe reports whether the command could be one that the pattern means. Options between
// the words do not count, nor do words after them.
func (p Command) MayBe(args []workspace.Word) bool {
	if args[0].Kind != workspace.Literal {
		return true
	}
	if !words.Star(program.ProgramOf(workspace.Word{Text: p.Words[0]}), program.ProgramOf(args[0])) {
		return false
	}
	// One bit per number of words of the pattern that were found so far; value
	// holds those after which the next word may be an option's value.
	rest := p.Words[1:]
	found, value, done := uint64(1), uint64(0), uint64(1)<<len(rest)
	for _, w := range args[1:] {
		if (found|value)&done != 0 || w.Kind != workspace.Literal && w.Split {
			return true
		}
		dash, free := strings.HasPrefix(w.Text, "-"), value
		var next uint64
		for i, want := range rest {
			bit := uint64(1) << i
			if (found|value)&bit == 0 {
				continue
			}
			if w.Kind != workspace.Literal || words.Star(want, w.Text) {
				next |= bit << 1
			}
			if want[0] == '-' {
				free |= bit
			}
		}
		if dash {
			found, value = next, found|value
		} else {
			found, value = next|free&(found|value), 0
		}
	}
	return (found|value)&done != 0
}
