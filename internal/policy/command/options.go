package command

import (
	"path"
	"strings"

	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/words"
	"approvalbot/internal/policy/workspace"
)

// operand says what the words of a command that are not options mean to it.
type operand uint8

const (
	plainText  operand = iota // text without a meaning for policy
	FileNames                 // files whose names or facts are told
	contents                  // files whose contents are told
	trees                     // files of which the contents are told, or directories with such files
	repository                // files of the workspace of which the contents are told, or commits
	writes                    // files that are made or touched
	outputs                   // files that are given contents
	NoOperands                // the command takes no operands
)

// Spec describes a command by the options that do no harm.
type Spec struct {
	Flags    string          // short options without a value
	Values   string          // short options with a value
	Long     map[string]bool // long options; true: takes a value
	All      bool            // no option does harm
	Number   bool            // -20
	Fixed    bool            // no word may be computed
	Globs    bool            // a value behind the "=" of a long option may be a glob: each word it becomes begins as written
	Posix    bool            // options end at the first operand
	Equals   bool            // a value behind a letter may begin with "=", which is no part of it
	Kind     operand
	Skip     int             // leading operands that are text
	most     int             // how many operands there may be, if not 0
	Code     finding.Code    // what the command is, if no worse code is found
	reads    map[string]bool // options whose value is a file of which the contents are told
	Texts    map[string]bool // options whose value may begin with a dash
	Strict   bool            // a value behind "=" is no part of an option without one
	Optional map[string]bool // long options whose value is behind "=" or absent; of those with a value, it is left out when the next word begins with a dash
	Apart    bool            // the value of a short option is a word of its own, or a number
	Maybe    string          // short options whose value is left out when the next word begins with a dash
}

// Longs makes a spec's long options: "name" takes no value, "name=" takes one. A name in
// both forms takes its value behind "=" only: the next word is something else.
func Longs(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		name, takes := strings.CutSuffix(w, "=")
		other, both := m[name]
		m[name] = takes && (!both || other)
	}
	return m
}

// Token is one option or operand of a command.
type Token struct {
	Option string         // its name without dashes; empty for an operand
	Word   workspace.Word // the operand, or the option's value
	Value  bool           // word is set
	apart  bool           // the value is a word of its own
}

// Swallowed reports a value that looks like an option: a program that takes no
// value there reads it as one.
func (t Token) Swallowed() bool { return t.apart && t.Word.MayBeOption() }

// scanner goes through the words of a command. Options that are not in the
// spec become findings, and so do words that could turn out to be options.
type scanner struct {
	x     *Call
	spec  *Spec
	Args  []workspace.Word
	i     int    // next word
	short string // rest of a cluster of short options
	glued string // the sample of what is computed behind them
	Ended bool   // no more options
}

// Scanner goes through the words by a spec.
func (x *Call) Scanner(sp *Spec, args []workspace.Word) scanner {
	return scanner{x: x, spec: sp, Args: args}
}

// Next gives the next token; ok is false at the end.
func (c *scanner) Next() (t Token, ok bool) {
	c.x.Steps.Step()
	if c.short != "" {
		return c.cluster(), true
	}
	for c.i < len(c.Args) {
		w := c.Args[c.i]
		c.i++
		switch {
		case c.Ended:
			return Token{Word: w, Value: true}, true
		case w.Is("--"):
			c.Ended = true
		case !w.MayBeOption():
			return c.operand(w), true
		case w.Sample != "" && c.gluedValue(w):
			c.short, c.glued = w.Text[1:], w.Sample[len(w.Text):]
			return c.cluster(), true
		case w.Kind != workspace.Literal && !namedOption(w, c.spec.Globs):
			if !c.spec.All {
				c.x.Add(finding.DynamicArgument)
			}
			return c.operand(w), true
		case strings.HasPrefix(w.Text, "--"):
			return c.long(w), true
		default:
			c.short = w.Text[1:]
			return c.cluster(), true
		}
	}
	return Token{}, false
}

// namedOption reports a long option of which only the value is computed or, with
// globs, a glob.
func namedOption(w workspace.Word, globs bool) bool {
	name, _, ok := strings.Cut(w.Text, "=")
	if !ok || !strings.HasPrefix(name, "--") {
		return false
	}
	switch w.Kind {
	case workspace.Computed:
		return !w.Split
	case workspace.Pattern:
		return globs && !strings.ContainsAny(name, "*?[")
	}
	return false
}

// gluedValue reports a word such as -j$(nproc): letters, of which the last takes a value.
func (c *scanner) gluedValue(w workspace.Word) bool {
	return len(w.Text) > 1 && w.Text[1] != '-' && strings.IndexByte(c.spec.Values, w.Text[len(w.Text)-1]) >= 0
}

func (c *scanner) operand(w workspace.Word) Token {
	c.Ended = c.Ended || c.spec.Posix
	return Token{Word: w, Value: true}
}

// Rest gives the words from the operand that next gave last.
func (c *scanner) Rest() []workspace.Word { return c.Args[c.i-1:] }

func (c *scanner) unknown() {
	if !c.spec.All {
		c.x.Add(finding.UnknownOption)
	}
}

func (c *scanner) long(w workspace.Word) Token {
	name, v, has := strings.Cut(w.Text[2:], "=")
	takes, known := c.spec.Long[name]
	needless := has && !takes
	if !known || needless && c.spec.refuses(name, v) {
		c.unknown()
	}
	t := Token{Option: name}
	if has {
		t.Word, t.Value = workspace.Word{Text: v, Kind: w.Kind, Split: w.Split}, true
		_, t.Word.Sample, _ = strings.Cut(w.Sample, "=")
	} else if takes && c.valueFollows(c.spec.Optional[name]) {
		t.Word, t.Value, t.apart = c.taken(name), true, true
	}
	return t
}

// refuses reports a value that the program does not take for an option without one.
func (sp *Spec) refuses(option, value string) bool {
	return sp.Strict && !sp.Optional[option] && !truth.Has(value)
}

// valueFollows reports whether the next word is the option's value. If the value may be
// left out, a word that looks like an option is an option.
func (c *scanner) valueFollows(optional bool) bool {
	return c.i < len(c.Args) && !(optional && c.Args[c.i].MayBeOption())
}

// truth are the values that an option without one may have in some programs.
var truth = lazy.Words("true false")

// taken gives the next word, which is the option's value. A word that may become several is
// a finding, because the second of them is something else: an option, a file or the command
// to run. A word that looks like an option is a finding too, because it is one if the
// program, or another of that name, takes no value there.
func (c *scanner) taken(option string) workspace.Word {
	w := c.Args[c.i]
	c.i++
	switch {
	case w.Several():
		c.x.Add(finding.DynamicArgument)
	case w.MayBeOption() && !c.spec.Texts[option]:
		c.unknown()
	}
	return w
}

// cluster takes one short option off c.short.
func (c *scanner) cluster() Token {
	o := c.short[:1]
	c.short = c.short[1:]
	switch {
	case strings.Contains(c.spec.Flags, o):
	case strings.Contains(c.spec.Values, o):
		t := Token{Option: o, Value: true}
		if c.short != "" {
			value := c.short
			if c.spec.Equals {
				value = strings.TrimPrefix(value, "=")
			}
			if c.spec.Apart && !words.Digits(value) {
				c.unknown()
			}
			t.Word = workspace.Word{Text: value}
			c.short = ""
			if c.glued != "" { // behind an earlier letter, the last one is part of its value
				t.Word = workspace.Word{Text: value, Kind: workspace.Computed}
				c.glued = ""
			}
		} else if c.glued != "" {
			t.Word = workspace.Word{Kind: workspace.Computed, Sample: c.glued}
			c.glued = ""
		} else if c.valueFollows(strings.Contains(c.spec.Maybe, o)) {
			t.Word, t.apart = c.taken(o), true
		} else {
			t.Value = false
		}
		return t
	case c.spec.Number && words.Digits(o):
	default:
		c.unknown()
		if c.spec.All { // its rest may be a value
			t := Token{Option: o, Word: workspace.Word{Text: c.short}, Value: c.short != ""}
			c.short = ""
			return t
		}
	}
	return Token{Option: o}
}

// Judge is the rule of a command that its spec describes completely.
func (sp *Spec) Judge(x *Call, _ string, args []workspace.Word) {
	x.Add(sp.Code)
	c := x.Scanner(sp, args)
	operands, several := 0, false
	for t, ok := c.Next(); ok; t, ok = c.Next() {
		if sp.Fixed && t.Word.Kind == workspace.Computed {
			x.Add(finding.DynamicArgument)
		}
		switch {
		case t.Option != "":
			if t.Value && sp.readsValue(t.Option) {
				x.Read(t.Word)
			}
			continue
		case operands >= sp.Skip:
			x.operand(sp.Kind, t.Word)
		}
		operands++
		several = several || t.Word.Several()
	}
	tooMany := sp.most > 0 && (operands > sp.most || several)
	if tooMany || sp.Kind == NoOperands && operands > 0 {
		x.Add(finding.UnknownOption)
	}
}

// readsValue reports an option whose value is a file that is read, as that of any option
// may be which the spec does not name.
func (sp *Spec) readsValue(option string) bool {
	return sp.reads[option] || sp.All && sp.Kind == contents
}

// operand judges one operand of a kind.
func (x *Call) operand(kind operand, w workspace.Word) {
	switch kind {
	case FileNames:
		x.Name(w)
	case contents:
		x.Read(w)
	case trees:
		x.ReadTree(w)
	case repository:
		x.Search(w)
	case writes:
		x.Write(w)
	case outputs:
		x.Fill(w)
	}
}

// ReadTree judges a word that is a file of which the contents are told, or a directory.
func (x *Call) ReadTree(w workspace.Word) {
	if w.Kind == workspace.Literal && (workspace.PlainFile(strings.ToLower(path.Base(w.Text))) || workspace.Sink(w.Text)) {
		x.Read(w)
	} else {
		x.Search(w)
	}
}
