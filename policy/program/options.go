package program

import (
	"path"
	"strings"

	"approvalbot/policy/finding"
	"approvalbot/policy/words"
	"approvalbot/policy/workspace"
)

// operand says what the words of a command that are not options mean to it.
type operand uint8

const (
	plainText  operand = iota // nothing
	fileNames                 // files whose names or facts are told
	contents                  // files whose contents are told
	trees                     // files of which the contents are told, or directories with such files
	repository                // files of the workspace of which the contents are told, or commits
	writes                    // files that are made or touched
	outputs                   // files that are given contents
	nothing                   // there must be none
)

// spec describes a command by the options that do no harm.
type spec struct {
	flags    string          // short options without a value
	vals     string          // short options with a value
	long     map[string]bool // long options; true: takes a value
	all      bool            // no option does harm
	num      bool            // -20
	fixed    bool            // nothing may be computed
	globs    bool            // what stands behind the "=" of a long option may be a glob: each word it becomes begins as it is written
	posix    bool            // options end at the first operand
	equals   bool            // a value behind a letter may begin with "=", which is no part of it
	kind     operand
	skip     int             // leading operands that are text
	given    string          // short options that give what is skipped otherwise
	most     int             // how many operands there may be, if not 0
	code     finding.Code    // what the command is, when nothing worse is found
	reads    map[string]bool // options whose value is a file of which the contents are told
	texts    map[string]bool // options whose value may begin with a dash
	strict   bool            // a value behind "=" is no part of an option without one
	optional map[string]bool // long options whose value stands behind "=" or nowhere
	apart    bool            // the value of a short option is a word of its own, or a number
	maybe    string          // short options whose value is left out where the next word begins with a dash
}

// longs makes a spec's long options: "name" stands alone, "name=" takes a value.
// A name in both forms takes its value behind "=" only: the next word is
// something else.
func longs(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		name, takes := strings.CutSuffix(w, "=")
		other, both := m[name]
		m[name] = takes && (!both || other)
	}
	return m
}

// token is one option or operand of a command.
type token struct {
	option string         // its name without dashes; empty for an operand
	word   workspace.Word // the operand, or the option's value
	value  bool           // word is set
	apart  bool           // the value is a word of its own
}

// swallowed reports a value that looks like an option: a program that takes no
// value there reads it as one.
func (t token) swallowed() bool { return t.apart && t.word.MayBeOption() }

// scanner goes through the words of a command. Options that are not in the
// spec become findings, and so do words that could turn out to be options.
type scanner struct {
	x     *Call
	spec  *spec
	args  []workspace.Word
	i     int    // next word
	short string // rest of a cluster of short options
	ended bool   // no more options
}

func (x *Call) scanner(sp *spec, args []workspace.Word) scanner {
	return scanner{x: x, spec: sp, args: args}
}

// next gives the next token; ok is false at the end.
func (c *scanner) next() (t token, ok bool) {
	if c.short != "" {
		return c.cluster(), true
	}
	for c.i < len(c.args) {
		w := c.args[c.i]
		c.i++
		switch {
		case c.ended:
			return token{word: w, value: true}, true
		case w.Is("--"):
			c.ended = true
		case !w.MayBeOption():
			return c.operand(w), true
		case w.Kind != workspace.Literal && !namedOption(w, c.spec.globs):
			if !c.spec.all {
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
	return token{}, false
}

// namedOption reports a long option of which only the value is computed or, with
// globs, a glob.
func namedOption(w workspace.Word, globs bool) bool {
	name, _, ok := strings.Cut(w.Text, "=")
	return ok && strings.HasPrefix(name, "--") && (w.Kind == workspace.Computed && !w.Split || globs && w.Kind == workspace.Pattern && !strings.ContainsAny(name, "*?["))
}

func (c *scanner) operand(w workspace.Word) token {
	c.ended = c.ended || c.spec.posix
	return token{word: w, value: true}
}

// rest gives the words from the operand that next gave last.
func (c *scanner) rest() []workspace.Word { return c.args[c.i-1:] }

func (c *scanner) unknown() {
	if !c.spec.all {
		c.x.Add(finding.UnknownOption)
	}
}

func (c *scanner) long(w workspace.Word) token {
	name, v, has := strings.Cut(w.Text[2:], "=")
	takes, known := c.spec.long[name]
	if !known || has && !takes && c.spec.strict && !c.spec.optional[name] && !truth[v] {
		c.unknown()
	}
	t := token{option: name}
	if has {
		t.word, t.value = workspace.Word{Text: v, Kind: w.Kind, Split: w.Split}, true
	} else if takes && c.i < len(c.args) {
		t.word, t.value, t.apart = c.taken(name), true, true
	}
	return t
}

// truth are the values that an option without one may have in some programs.
var truth = words.Set("true false")

// taken gives the next word, which is the option's value. One that may become
// several is a finding: the second of them is something else, an option, a file or
// the command to run. So is one that looks like an option: where the program, or
// another of that name, takes no value there, it is one.
func (c *scanner) taken(option string) workspace.Word {
	w := c.args[c.i]
	c.i++
	switch {
	case w.Several():
		c.x.Add(finding.DynamicArgument)
	case w.MayBeOption() && !c.spec.texts[option]:
		c.unknown()
	}
	return w
}

// cluster takes one short option off c.short.
func (c *scanner) cluster() token {
	o := c.short[:1]
	c.short = c.short[1:]
	switch {
	case strings.Contains(c.spec.flags, o):
	case strings.Contains(c.spec.vals, o):
		t := token{option: o, value: true}
		if c.short != "" {
			value := c.short
			if c.spec.equals {
				value = strings.TrimPrefix(value, "=")
			}
			if c.spec.apart && !words.Digits(value) {
				c.unknown()
			}
			t.word = workspace.Word{Text: value}
			c.short = ""
		} else if c.i < len(c.args) && !(strings.Contains(c.spec.maybe, o) && c.args[c.i].MayBeOption()) {
			t.word, t.apart = c.taken(o), true
		} else {
			t.value = false
		}
		return t
	case c.spec.num && words.Digits(o):
	default:
		c.unknown()
		if c.spec.all { // its rest may be a value
			t := token{option: o, word: workspace.Word{Text: c.short}, value: c.short != ""}
			c.short = ""
			return t
		}
	}
	return token{option: o}
}

// judge is the rule of a command that its spec describes completely.
func (sp *spec) judge(x *Call, _ string, args []workspace.Word) {
	x.Add(sp.code)
	c := x.scanner(sp, args)
	operands, several, given := 0, false, false
	var skipped []workspace.Word
	for t, ok := c.next(); ok; t, ok = c.next() {
		if sp.fixed && t.word.Kind == workspace.Computed {
			x.Add(finding.DynamicArgument)
		}
		switch {
		case t.option != "":
			if t.value && (sp.all && sp.kind == contents || sp.reads[t.option]) {
				x.Read(t.word)
			}
			given = given || strings.Contains(sp.given, t.option)
			continue
		case operands >= sp.skip:
			x.operand(sp.kind, t.word)
		default:
			skipped = append(skipped, t.word)
		}
		operands++
		several = several || t.word.Several()
	}
	if given {
		for _, w := range skipped {
			x.operand(sp.kind, w)
		}
	}
	if sp.kind == nothing && operands > 0 || sp.most > 0 && (operands > sp.most || several) {
		x.Add(finding.UnknownOption)
	}
}

// operand judges one operand of a kind.
func (x *Call) operand(kind operand, w workspace.Word) {
	switch kind {
	case fileNames:
		x.Name(w)
	case contents:
		x.Read(w)
	case trees:
		x.tree1(w)
	case repository:
		x.Search(w)
	case writes:
		x.Write(w)
	case outputs:
		x.content(w)
	}
}

// tree1 judges a word that is a file of which the contents are told, or a directory.
func (x *Call) tree1(w workspace.Word) {
	if w.Kind == workspace.Literal && (workspace.PlainFile(strings.ToLower(path.Base(w.Text))) || workspace.Sink(w.Text)) {
		x.Read(w)
	} else {
		x.Search(w)
	}
}
