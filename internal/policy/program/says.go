package program

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"approvalbot/internal/policy/command"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/words"
	"approvalbot/internal/policy/workspace"
)

// saying is a way to say what some subcommands of a program do to what they name. It is for people, in place of the
// words of a finding, and judges nothing. A command with an option that is not listed, with a computed word, or with
// more or fewer operands than a usage has, is not said anything of.
//
// A usage is the operands of a command, separated by blanks:
//
//	delete|rm   one of these words
//	%           any word: the sentence names it
//	+           some words of that kind, at most six: the sentence names each
//	@ @+        a path or paths, which may be globs
//	...         all words that follow, as one: a command that is run elsewhere
//	sql         a statement of SQL that changes one table: the sentence, then empty, is the statement's
//
// A sentence has %s for each of what the usage names, in this order, or %1, %2 in another one.
type saying struct {
	OneDash bool                         // long options have one dash or two
	Quiet   string                       // options that change nothing of what is said
	Takes   string                       // the same, with a value
	Sql     string                       // options whose value is the usage's sql
	With    map[string]string            // what options add to the sentence, with %s for their value: options
	Says    map[string]map[string]string // codes, of which it is said in place of the worst that is found: usages, and their sentences
}

// maxNamed is how many things a sentence names. With more, one could be overlooked.
const maxNamed = 6

// Sentence is half a sentence about a command, with %s for each of its words in Of.
type Sentence struct {
	Code finding.Code // in place of whose words it is said
	Does string
	Of   []string
}

// Says gives what people are told of a command, its name first, in place of the words of codes that were found of it:
// for each code one sentence at most. There is none if the table has no form that is sure to fit.
func Says(args []workspace.Word, codes finding.Set) (said []Sentence) {
	name := args[0].Text
	if i := strings.LastIndexByte(name, '/'); i >= 0 && ProgramDirs.Has(name[:i]) {
		name = name[i+1:]
	}
	if args[0].Kind != workspace.Literal || codes.Has(finding.ProgramByPath) {
		return nil
	}
	for _, y := range tables().sayings(name) {
		for _, names := range slices.Sorted(maps.Keys(y.Says)) {
			c, found := worstOf(names, codes)
			other := func(s Sentence) bool { return s.Code == c }
			if !found || slices.ContainsFunc(said, other) {
				continue
			}
			if s, ok := y.best(y.Says[names], args[1:]); ok {
				s.Code = c
				said = append(said, s)
			}
		}
	}
	return said
}

// best gives the sentence of the usage that fits with the most words of its own.
func (y *saying) best(usages map[string]string, args []workspace.Word) (best Sentence, ok bool) {
	most := -1
	for _, usage := range slices.Sorted(maps.Keys(usages)) {
		own := 0
		for part := range strings.FieldsSeq(usage) {
			if !captures(part) {
				own++
			}
		}
		if own <= most {
			continue
		}
		if s, fits := y.fits(usage, usages[usage], args); fits {
			best, ok, most = s, true, own
		}
	}
	return best, ok
}

// captures reports a part of a usage that is none of the program's own words.
func captures(part string) bool { return words.Any(part, "%", "+", "@", "@+", "...", "sql") }

// worstOf gives the worst of the named codes that was found.
func worstOf(names string, codes finding.Set) (finding.Code, bool) {
	var named finding.Set
	for n := range strings.FieldsSeq(names) {
		if c, ok := finding.Named(n); ok {
			named.Add(c)
		}
	}
	list := named.And(codes).List(nil)
	if len(list) == 0 {
		return 0, false
	}
	return list[0], true
}

// sayings gives what is said of a program.
func (t *table) sayings(name string) []saying {
	var list []saying
	if json.Unmarshal([]byte(t.says[name]), &list) != nil {
		return nil
	}
	return list
}

// spec is the options that a saying knows.
func (y *saying) spec() *command.Spec {
	sp := &command.Spec{Strict: true, Long: map[string]bool{}}
	add := func(list string, takes bool) {
		letters, long := shortNames(list, y.OneDash)
		for _, l := range letters {
			if takes {
				sp.Values += l
			} else {
				sp.Flags += l
			}
		}
		for _, l := range long {
			sp.Long[l] = takes
		}
	}
	add(y.Quiet, false)
	add(y.Takes, true)
	add(y.Sql, true)
	for clause, options := range y.With {
		add(options, strings.Contains(clause, "%s"))
	}
	return sp
}

// clause gives what an option adds to the sentence; empty: nothing.
func (y *saying) clause(option string) string {
	for clause, options := range y.With {
		if y.lists(options, option) {
			return clause
		}
	}
	return ""
}

func (y *saying) lists(options, option string) bool {
	letters, long := shortNames(options, y.OneDash)
	return option != "" && (slices.Contains(letters, option) || slices.Contains(long, option))
}

// fits makes the sentence of a command that is written as the usage says.
func (y *saying) fits(usage, sentence string, args []workspace.Word) (s Sentence, ok bool) {
	if y.OneDash {
		args = dashes(args)
	}
	var x command.Call
	sp, parts := y.spec(), strings.Fields(usage)
	var operands, statements []workspace.Word
	var rest []string
	var clauses []string
	var values []string
	c := x.Scanner(sp, args)
	for t, more := c.Next(); more; t, more = c.Next() {
		switch {
		case t.Option == "" && len(operands) < len(parts) && parts[len(operands)] == "...":
			for _, w := range c.Rest() {
				if w.Kind != workspace.Literal {
					return s, false
				}
				rest = append(rest, Quoted(w.Text))
			}
		case t.Option == "":
			operands = append(operands, t.Word)
			continue
		case y.lists(y.Sql, t.Option):
			statements = append(statements, t.Word)
			continue
		default:
			clause := y.clause(t.Option)
			if clause == "" {
				continue
			}
			if takes := strings.Contains(clause, "%s"); takes {
				if !t.Value || t.Word.Kind != workspace.Literal || t.Word.Text == "" || slices.Contains(clauses, clause) {
					return s, false // which of two counts, the program knows
				}
				values = append(values, t.Word.Text)
			} else if t.Value || slices.Contains(clauses, clause) {
				if t.Value {
					return s, false // as --force=false
				}
				continue
			}
			clauses = append(clauses, clause)
			continue
		}
		break
	}
	if x.Found != (finding.Set{}) {
		return s, false
	}
	named, ok := matches(parts, operands, rest)
	if !ok {
		return s, false
	}
	if slices.Contains(parts, "sql") || y.Sql != "" {
		if len(statements) == 0 && len(named) > 0 && slices.Contains(parts, "sql") {
			last := named[len(named)-1]
			statements, named = []workspace.Word{{Text: last[0]}}, named[:len(named)-1]
		}
		if len(statements) != 1 || statements[0].Kind != workspace.Literal {
			return s, false
		}
		does, table, ok := ChangesTable(statements[0].Text)
		if !ok {
			return s, false
		}
		sentence, named = does+sentence, append([][]string{{table}}, named...)
	}
	s.Does, s.Of, ok = fill(sentence, named)
	if !ok {
		return s, false
	}
	for i, clause := range clauses {
		if i > 0 {
			s.Does += ","
		}
		s.Does += " " + clause
	}
	s.Of = append(s.Of, values...)
	return s, true
}

// matches gives what the parts of a usage name among the operands of a command.
func matches(parts []string, operands []workspace.Word, rest []string) (named [][]string, ok bool) {
	if len(rest) > 0 {
		if len(parts) == 0 || parts[len(parts)-1] != "..." {
			return nil, false
		}
		parts = parts[:len(parts)-1]
	}
	for i, part := range parts {
		many := part == "+" || part == "@+"
		left := len(operands) - (len(parts) - i - 1) // for this part
		switch {
		case part == "...", left < 1:
			return nil, false
		case !many:
			left = 1
		}
		var all []string
		for _, w := range operands[:left] {
			globs := part == "@" || part == "@+"
			if w.Text == "" || w.Kind == workspace.Computed || w.Kind == workspace.Pattern && !globs {
				return nil, false
			}
			all = append(all, w.Text)
		}
		operands = operands[left:]
		if !captures(part) {
			if !words.Any(all[0], strings.Split(part, "|")...) {
				return nil, false
			}
			continue
		}
		if len(all) > maxNamed {
			return nil, false
		}
		named = append(named, all)
	}
	if len(rest) > 0 {
		named = append(named, []string{strings.Join(rest, " ")})
	}
	return named, len(operands) == 0
}

// fill puts what is named into a sentence: a %s for each word.
func fill(sentence string, named [][]string) (does string, of []string, ok bool) {
	next, used := 0, 0
	var out strings.Builder
	for {
		before, after, found := strings.Cut(sentence, "%")
		out.WriteString(before)
		if !found {
			return out.String(), of, used == len(named)
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
		used++
		sentence = after[1:]
	}
}
