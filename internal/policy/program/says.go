package program

import (
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"approvalbot/internal/policy/command"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/words"
	"approvalbot/internal/policy/workspace"
)

// saying is a way to say what some subcommands of a program do to what they name. It is for people, in place of the
// words of a finding, and decides no call. No sentence is said of a command with an option that is not listed, a
// computed word, an option given twice whose value is in the sentence, or other operands than a usage has.
//
// A usage is what a command has besides options that are listed, separated by blanks:
//
//	delete|rm   an operand that is one of these words
//	%           any operand: the sentence names it
//	+           some operands, at most six: the sentence names each
//	@ @+        the same for paths, which may be globs
//	of=%        the operand that begins so, anywhere: the sentence names the rest; "bs=" may be given and is not named
//	-D|--force  an option, one of these, which must be given
//	--          the end of options, which must be marked here
//	...         all words that follow, as one: a command that is run elsewhere
//	SQL         a statement of SQL that changes one table: what it does comes before the sentence
//
// A sentence has %s for each of what the usage names, in this order, or %1, %2 in another one. One that ends in a comma
// is said only with a name that an option gives.
type saying struct {
	Example string            // words of a command of which it says something, for the tests; empty: they make one of the usage
	First   bool              // options come before all operands
	OneDash bool              // long options have one dash or two
	Quiet   string            // options that leave the sentence as it is
	Takes   string            // the same, with a value
	Sql     string            // options whose value is the usage's SQL
	Names   map[string]string // what options add that names the object, with %s for their value: options
	With    map[string]string // what else options add to the sentence, with %s for their value or without one: options

	// Says has codes, usages, and their sentences. Of the codes that are found of a command, a sentence is said in place
	// of the worst, and of two that are as bad in place of the first.
	Says map[string]map[string]string
}

// maxNamed is how many things a sentence names. With more, one could be overlooked.
const maxNamed = 6

// Sentence is half a sentence about a command, with %s for each of its words in Of.
type Sentence struct {
	Code finding.Code // in place of whose words it is said
	Does string
	Of   []string
	own  int // see form
}

// Says gives what people are told of a command, its name first, in place of the words of codes that were found of it:
// for each code one sentence at most. It is empty if the table has no form that is sure to fit.
func Says(args []workspace.Word, codes finding.Set) (said []Sentence) {
	name := args[0].Text
	if i := strings.LastIndexByte(name, '/'); i >= 0 && ProgramDirs.Has(name[:i]) {
		name = name[i+1:]
	}
	if args[0].Kind != workspace.Literal || codes.Has(finding.ProgramByPath) {
		return nil
	}
	forms := tables().forms(name)
	for i := range forms {
		f := &forms[i]
		code, found := f.worst(codes)
		if !found || !f.mayFit(args[1:]) {
			continue
		}
		same := func(o Sentence) bool { return o.Code == code }
		at := slices.IndexFunc(said, same)
		if at >= 0 && said[at].own >= f.own {
			continue
		}
		s, fits := f.of.fits(f, args[1:])
		if s.Code, s.own = code, f.own; fits && at >= 0 {
			said[at] = s
		} else if fits {
			said = append(said, s)
		}
	}
	return said
}

// form is one usage with its sentence.
type form struct {
	of       *saying
	codes    []finding.Code // of which it is said in place of the worst, of two that are as bad of the first
	usage    usage
	sentence string
	own      int // how many words of its own the usage has: the form that has most goes before others
	spec     *command.Spec
}

// shelvedForms are the forms of programs. They are read when they are first asked for.
type shelvedForms struct {
	json string
	once sync.Once
	list []form
}

// forms gives what is said of a program, in an order that stays.
func (t *table) forms(name string) []form {
	s := t.says[name]
	if s == nil {
		return nil
	}
	s.once.Do(func() {
		for _, y := range t.sayings(name) {
			for _, names := range slices.Sorted(maps.Keys(y.Says)) {
				for _, text := range slices.Sorted(maps.Keys(y.Says[names])) {
					f := form{of: &y, codes: codesNamed(names), usage: parseUsage(text), sentence: y.Says[names][text]}
					for part := range strings.FieldsSeq(text) {
						if !captures(part) {
							f.own++
						}
					}
					f.spec = y.spec(f.usage.needs)
					s.list = append(s.list, f)
				}
			}
		}
	})
	return s.list
}

func codesNamed(names string) (list []finding.Code) {
	for n := range strings.FieldsSeq(names) {
		if c, ok := finding.Named(n); ok {
			list = append(list, c)
		}
	}
	return list
}

// worst gives the code in place of whose words the sentence is said, of those that were found.
func (f *form) worst(found finding.Set) (worst finding.Code, ok bool) {
	for _, c := range f.codes {
		if found.Has(c) && (!ok || finding.Reasons[c].Class > finding.Reasons[worst].Class) {
			worst, ok = c, true
		}
	}
	return worst, ok
}

// mayFit reports whether the words of the usage are all there.
func (f *form) mayFit(args []workspace.Word) bool {
	for _, part := range f.usage.operands {
		any := func(w workspace.Word) bool { return captures(part) || holdsWord(part, w.Text) }
		if part != "..." && !slices.ContainsFunc(args, any) {
			return false
		}
	}
	return true
}

// holdsWord reports a part of a usage, words with a bar between them, of which one is the word.
func holdsWord(part, word string) bool {
	for some := range strings.SplitSeq(part, "|") {
		if some == word {
			return true
		}
	}
	return false
}

// captures reports a part of a usage that is not one of the program's own words.
func captures(part string) bool { return words.Any(part, "%", "+", "@", "@+", "...", "SQL") }

// sayings gives what is said of a program.
func (t *table) sayings(name string) []saying {
	var list []saying
	if s := t.says[name]; s == nil || json.Unmarshal([]byte(s.json), &list) != nil {
		return nil
	}
	return list
}

// spec is the options that a saying knows, and those that a usage needs.
func (y *saying) spec(needs []string) *command.Spec {
	sp := &command.Spec{Strict: true, Posix: y.First, Long: map[string]bool{}}
	add := func(list string, takes bool) {
		letters, long := shortNames(list, y.OneDash)
		for _, l := range letters {
			switch {
			case strings.Contains(sp.Flags+sp.Values, l):
			case takes:
				sp.Values += l
			default:
				sp.Flags += l
			}
		}
		for _, l := range long {
			if _, twice := sp.Long[l]; !twice {
				sp.Long[l] = takes
			}
		}
	}
	add(y.Takes, true)
	add(y.Sql, true)
	for clause, options := range y.clauses() {
		add(options, strings.Contains(clause, "%s"))
	}
	add(y.Quiet, false)
	for _, options := range needs {
		add(strings.ReplaceAll(options, "|", " "), false)
	}
	return sp
}

// clauses are all that options add to sentences.
func (y *saying) clauses() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, m := range [...]map[string]string{y.Names, y.With} {
			for clause, options := range m {
				if !yield(clause, options) {
					return
				}
			}
		}
	}
}

func (y *saying) lists(options, option string) bool {
	for w := range strings.FieldsSeq(options) {
		name := strings.TrimLeft(w, "-")
		long := strings.HasPrefix(w, "--") || y.OneDash
		if long && name == option || !long && len(option) == 1 && strings.Contains(name, option) {
			return true
		}
	}
	return false
}

// usage is a usage as it is compared with a command.
type usage struct {
	operands []string
	keys     []string // operands that begin so
	needs    []string // options
	end      int      // how many operands there are before the end of options; -1: that is not marked
}

func parseUsage(text string) usage {
	u := usage{end: -1}
	for part := range strings.FieldsSeq(text) {
		switch {
		case part == "--":
			u.end = len(u.operands)
		case part[0] == '-':
			u.needs = append(u.needs, part)
		case strings.Contains(part, "="):
			u.keys = append(u.keys, part)
		default:
			u.operands = append(u.operands, part)
		}
	}
	return u
}

// wrong reports a usage in which words follow those that are all the rest, or are of a number left open twice.
func (u *usage) wrong() bool {
	open := 0
	for i, part := range u.operands {
		if words.Any(part, "+", "@+", "...") {
			open++
		}
		if part == "..." && i < len(u.operands)-1 {
			return true
		}
	}
	return open > 1
}

// given is a command as a saying reads it.
type given struct {
	operands   []workspace.Word
	rest       []string // behind the operands
	statements []workspace.Word
	options    []string
	clauses    []string
	values     []string // of the clauses
	named      bool     // one of them names the object
	end        int      // how many operands there were before the end of options; -1: it is not marked
}

// read reads the words of a command behind the program's name.
func (y *saying) read(f *form, args []workspace.Word) (g given, ok bool) {
	var x command.Call
	u := &f.usage
	g.end = -1
	c := x.Scanner(f.spec, args)
	for t, more := c.Next(); more; t, more = c.Next() {
		if c.Ended && g.end < 0 {
			g.end = len(g.operands)
		}
		switch {
		case t.Option != "":
			if !y.option(f, &g, t) {
				return g, false
			}
		case u.runs(len(g.operands)):
			return g, g.runs(c.Rest(), u.end >= 0) && x.Found == finding.Set{}
		case y.First && t.Word.MayBeOption():
			return g, false // as -1 for all processes
		default:
			g.operands = append(g.operands, t.Word)
			if rest := c.Rest()[1:]; u.end < 0 && len(rest) > 0 && u.runs(len(g.operands)) {
				script := u.operands[len(g.operands)-1] == "@"
				return g, g.runs(rest, script) && x.Found == finding.Set{} // its options are not this program's
			}
		}
	}
	return g, x.Found == finding.Set{}
}

// runs reports whether all words from the operand of that index on are a command of their own.
func (u *usage) runs(i int) bool { return i < len(u.operands) && u.operands[i] == "..." }

// runs takes the words of a command of its own, or of what a script is given. A command begins with no option: some
// programs read one there for themselves.
func (g *given) runs(all []workspace.Word, script bool) bool {
	for _, w := range all {
		if w.Kind != workspace.Literal {
			return false
		}
		g.rest = append(g.rest, Quoted(w.Text))
	}
	return script && !all[0].Is("--") || !all[0].MayBeOption()
}

// option notes an option. It reports false if no sentence can be said of the command then.
func (y *saying) option(f *form, g *given, t command.Token) bool {
	if strings.HasPrefix(t.Word.Text, "=") || t.Word.Text == "-" {
		return false // of -n=x it is the program's own how it reads that; the input has no name
	}
	g.options = append(g.options, t.Option)
	if y.lists(y.Sql, t.Option) {
		g.statements = append(g.statements, t.Word)
		return t.Value
	}
	for clause, options := range y.clauses() {
		if !y.lists(options, t.Option) {
			continue
		}
		takes, again := strings.Contains(clause, "%s"), slices.Contains(g.clauses, clause)
		needed := func(some string) bool { return y.lists(strings.ReplaceAll(some, "|", " "), t.Option) }
		switch {
		case !takes && t.Value: // as in --force=false
			return false
		case !takes && (again || slices.ContainsFunc(f.usage.needs, needed)):
			return true
		case takes && (again || !t.Value || t.Word.Kind != workspace.Literal || t.Word.Text == ""):
			return false // which of two counts, the program knows
		case takes:
			g.values = append(g.values, t.Word.Text)
		}
		_, names := y.Names[clause]
		g.clauses, g.named = append(g.clauses, clause), g.named || names
		return true
	}
	return !t.Value || strings.Contains(f.spec.Values, t.Option) || f.spec.Long[t.Option]
}

// fits makes the sentence of a command that is written as the usage says.
func (y *saying) fits(f *form, args []workspace.Word) (s Sentence, ok bool) {
	if y.OneDash {
		args = dashes(args)
	}
	args = globsStay(args)
	u, sentence := &f.usage, f.sentence
	g, ok := y.read(f, args)
	if !ok || u.end >= 0 && g.end != u.end {
		return s, false
	}
	for _, some := range u.needs {
		isGiven := func(o string) bool { return y.lists(strings.ReplaceAll(some, "|", " "), o) }
		if !slices.ContainsFunc(g.options, isGiven) {
			return s, false
		}
	}
	named, ok := u.names(&g)
	if !ok {
		return s, false
	}
	last := len(u.operands) - 1
	if byWord := last >= 0 && u.operands[last] == "SQL"; byWord || y.Sql != "" {
		if byWord {
			g.statements = append(g.statements, g.operands[last])
			named = named[:len(named)-1]
		}
		if len(g.statements) != 1 || g.statements[0].Kind != workspace.Literal {
			return s, false
		}
		does, table, ok := ChangesTable(g.statements[0].Text)
		if !ok {
			return s, false
		}
		sentence, named = does+sentence, append([][]string{{table}}, named...)
	}
	if s.Does, s.Of, ok = fill(sentence, named); !ok || strings.HasSuffix(sentence, ",") != (g.named && len(y.Names) > 0) {
		return s, false
	}
	for i, clause := range g.clauses {
		if i > 0 {
			s.Does += ","
		}
		s.Does += " " + clause
	}
	s.Of = append(s.Of, g.values...)
	return s, true
}

// glob marks a glob that could become an option, so that it is read as what it is written as: a path.
const glob = "\x00"

func globsStay(args []workspace.Word) []workspace.Word {
	args = slices.Clone(args)
	for i, w := range args {
		if w.Kind == workspace.Pattern && !w.Listed && w.Text != "" && w.Text[0] != '-' && w.MayBeOption() {
			args[i].Text = glob + w.Text
		}
	}
	return args
}

// names gives what the usage names among the operands of a command.
func (u *usage) names(g *given) (named [][]string, ok bool) {
	parts, operands := u.operands, g.operands
	if len(g.rest) > 0 {
		parts = parts[:len(parts)-1]
	}
	keyed, operands, ok := u.keyed(operands)
	if !ok {
		return nil, false
	}
	for i, part := range parts {
		left := len(operands) - (len(parts) - i - 1) // for this part
		switch {
		case part == "...", left < 1:
			return nil, false
		case part != "+" && part != "@+":
			left = 1
		case left > maxNamed:
			return nil, false
		}
		var all []string
		for _, w := range operands[:left] {
			globs := w.Kind == workspace.Pattern && part[0] != '@'
			if globs || w.Kind == workspace.Computed || w.Split || !namesThing(w.Text) {
				return nil, false
			}
			all = append(all, strings.TrimPrefix(w.Text, glob))
		}
		operands = operands[left:]
		if captures(part) {
			named = append(named, all)
		} else if !holdsWord(part, all[0]) {
			return nil, false
		}
	}
	if len(g.rest) > 0 {
		named = append(named, []string{strings.Join(g.rest, " ")})
	}
	return append(named, keyed...), len(operands) == 0
}

// namesThing reports a word that names something by itself: neither what comes in a command's input nor what another
// command fills in, and no package whose sign at the end means the opposite.
func namesThing(w string) bool {
	signed := strings.HasSuffix(w, "-") || strings.HasSuffix(w, "+") && !strings.HasSuffix(w, "++")
	return w != "" && !signed && !strings.Contains(w, "{}")
}

// keyed takes the operands out that begin with one of the usage's keys, each once.
func (u *usage) keyed(operands []workspace.Word) (named [][]string, others []workspace.Word, ok bool) {
	others = slices.Clone(operands)
	for _, key := range u.keys {
		name, wanted := strings.CutSuffix(key, "%")
		begins := func(w workspace.Word) bool { return strings.HasPrefix(w.Text, name) }
		i := slices.IndexFunc(others, begins)
		if i < 0 && wanted {
			return nil, nil, false
		}
		if i < 0 {
			continue
		}
		w := others[i]
		others = slices.Delete(others, i, i+1)
		if w.Kind != workspace.Literal || w.Text == name || slices.ContainsFunc(others, begins) {
			return nil, nil, false
		}
		if wanted {
			named = append(named, []string{w.Text[len(name):]})
		}
	}
	return named, others, true
}

// fill puts what is named into a sentence: a %s for each word.
func fill(sentence string, named [][]string) (does string, of []string, ok bool) {
	next := 0
	var out strings.Builder
	for {
		before, after, found := strings.Cut(sentence, "%")
		out.WriteString(before)
		if !found {
			return out.String(), of, true
		}
		if after == "" {
			return "", nil, false
		}
		at := next
		if n, err := strconv.Atoi(after[:1]); err == nil {
			at = n - 1
		} else {
			next++
		}
		if at < 0 || at >= len(named) {
			return "", nil, false
		}
		for i, w := range named[at] {
			switch {
			case i == 0:
			case i == len(named[at])-1:
				out.WriteString(" and ")
			default:
				out.WriteString(", ")
			}
			out.WriteString("%s")
			of = append(of, w)
		}
		sentence = after[1:]
	}
}
