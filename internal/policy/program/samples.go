package program

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"approvalbot/internal/approval"
	"approvalbot/internal/policy/finding"
)

// Samples gives commands made from the table, for proving it: each row with each of its
// options by itself, and files of names that say what they are ("in.txt" is read,
// "out.txt" written).
func Samples() (list [][]string) {
	all := entries()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		all[name].samples([]string{name}, &list)
	}
	return list
}

// entries are the rows of all programs by their names.
func entries() map[string]*entry {
	all := map[string]*entry{}
	for name := range tables().rows {
		if e := known(name); e != nil {
			all[name] = e
		}
	}
	return all
}

func (e *entry) samples(path []string, list *[][]string) {
	for _, verb := range slices.Sorted(maps.Keys(e.verbs)) {
		e.verbs[verb].samples(append(slices.Clone(path), verb), list)
	}
	if e.verbs != nil || e.globs != nil || e.rule != nil {
		*list = append(*list, path, append(slices.Clone(path), "--version"))
		return
	}
	operands := e.sampleWords()
	if e.doc.Begins != "" {
		path = append(slices.Clone(path), e.doc.Begins)
	}
	if len(e.needs) > 0 { // without one of these it may ask
		name := slices.Min(slices.Collect(maps.Keys(e.needs)))
		takes, long := e.spec.Long[name]
		switch {
		case long && takes:
			path = append(slices.Clone(path), "--"+name, sampleValues()[e.roles[name]])
		case long:
			path = append(slices.Clone(path), "--"+name)
		case strings.Contains(e.spec.Values, name):
			path = append(slices.Clone(path), "-"+name, sampleValues()[e.roles[name]])
		default:
			path = append(slices.Clone(path), "-"+name)
		}
	}
	*list = append(*list, append(slices.Clone(path), operands...))
	add := func(words ...string) { *list = append(*list, slices.Concat(path, words, operands)) }
	for _, o := range e.spec.Flags {
		add("-" + string(o))
	}
	for _, o := range e.spec.Values {
		add("-"+string(o), sampleValues()[e.roles[string(o)]])
	}
	dashes := "--"
	for _, o := range slices.Sorted(maps.Keys(e.spec.Long)) {
		switch {
		case e.spec.Long[o]:
			add(dashes+o, sampleValues()[e.roles[o]])
		case e.spec.Optional[o]:
			add(dashes+o+"=1", dashes+o)
		default:
			add(dashes + o)
		}
	}
}

// sampleWords gives the fewest operands that the row allows.
func (e *entry) sampleWords() []string {
	var list []string
	if len(sampleOperands()[e.leading]) > 0 {
		list = slices.Repeat(sampleOperands()[e.leading][:1], e.skip)
	}
	list = append(list, sampleOperands()[e.operands]...)
	for len(list) > 0 && len(list) < e.least {
		list = append(list, list[len(list)-1])
	}
	return list
}

// Unasked gives the rows that may pass without a question: programs, and of each the
// subcommands whose codes are all below R3. Two sorts are left out: what runs the project's
// own code, because one key of the configuration decides it, and what only runs the command
// in its words.
func Unasked() map[string][]string {
	rows := map[string][]string{}
	for name, e := range entries() {
		if list := e.unasked(""); len(list) > 0 {
			rows[name] = list
		}
	}
	return rows
}

func (e *entry) unasked(path string) (list []string) {
	passes := func(codes []finding.Code) bool {
		return len(codes) > 0 && !slices.ContainsFunc(codes, func(c finding.Code) bool {
			return c == finding.RunsProjectCode || finding.Reasons[c].Class > approval.R2
		})
	}
	codes := slices.Concat(e.codes, e.bare)
	code := e.here || e.project != nil && e.project.command == "" && e.verbs == nil && len(e.codes) == 0 // of the project
	judged := len(codes) == 0 && e.rule != nil
	if may := judged || passes(codes) || passes(e.named); may && !e.wraps && !code {
		list = append(list, path)
	}
	for _, verb := range slices.Sorted(maps.Keys(e.verbs)) {
		list = append(list, e.verbs[verb].unasked(strings.TrimSpace(path+" "+verb))...)
	}
	for _, g := range e.globs {
		list = append(list, g.unasked(strings.TrimSpace(path+" "+g.glob))...)
	}
	return list
}

var sampleValues = sync.OnceValue(func() map[role]string {
	return map[role]string{
		textRole: "1", tellsRole: "in.txt", readsRole: "in.txt", treeRole: "in.txt", repositoryRole: "in.txt",
		makesRole: "new.txt", writesRole: "out.txt", prefixRole: "part-",
		projectRole: "in.txt", addressRole: "http://127.0.0.1:1/", insideRole: "dir", buildsRole: "out.txt",
		emptiesRole: "dist", historyRole: "in.txt", changesRole: "in.txt", jqRole: ".", slugRole: "a/b",
	}
})

var sampleOperands = sync.OnceValue(func() map[role][]string {
	return map[role][]string{
		textRole: {"1"}, tellsRole: {"in.txt"}, readsRole: {"in.txt"}, treeRole: {"in.txt", "other.txt"},
		repositoryRole: {"in.txt"}, makesRole: {"new.txt"},
		writesRole: {"out.txt"}, prefixRole: {"part-"}, projectRole: {"in.txt"}, addressRole: {"http://127.0.0.1:1/"},
		historyRole: {"--", "in.txt"}, changesRole: {"--", "in.txt"},
	}
})

// SaidSample is a command of which a usage of the table says something, and the sentence of that.
type SaidSample struct {
	Words    []string
	Row      string // of which programs: one of them is enough to reach a usage
	Usage    string
	Sentence string     // as it is written in the table
	Options  [][]string // each of which may be added, with its value, and the sentence is said still
}

// SaidSamples gives a command for every usage of the table.
func SaidSamples() (list []SaidSample) {
	for _, name := range slices.Sorted(maps.Keys(tables().says)) {
		for _, y := range tables().sayings(name) {
			for _, codes := range slices.Sorted(maps.Keys(y.Says)) {
				for _, usage := range slices.Sorted(maps.Keys(y.Says[codes])) {
					sentence := y.Says[codes][usage]
					list = append(list, SaidSample{y.sample(name, usage, sentence), tables().says[name].json, usage, sentence, y.options()})
				}
			}
		}
	}
	return list
}

// valued reports an option that has a value.
func (y *saying) valued(option string) bool {
	sp := y.spec(nil)
	name, long := strings.CutPrefix(option, "--")
	short := len(option) == 2 && option[0] == '-'
	return long && sp.Long[name] || short && strings.Contains(sp.Values, option[1:])
}

// options gives those that leave the sentence as it is, and those that add to it.
func (y *saying) options() (all [][]string) {
	lists := []string{y.Quiet, y.Takes}
	for _, options := range y.clauses() {
		lists = append(lists, options)
	}
	sp := y.spec(nil)
	for _, list := range lists {
		letters, long := shortNames(list, y.OneDash)
		for _, l := range letters {
			option := []string{"-" + l}
			if strings.Contains(sp.Values, l) {
				option = append(option, "thing")
			}
			all = append(all, option)
		}
		for _, l := range long {
			option := []string{"--" + l}
			if y.OneDash {
				option[0] = "-" + l
			}
			if sp.Long[l] {
				option = append(option, "thing")
			}
			all = append(all, option)
		}
	}
	return all
}

// sample writes a command as a usage says.
func (y *saying) sample(name, usage, sentence string) []string {
	values := map[string]string{
		"%": "thing", "+": "thing", "@": "dir/thing", "@+": "dir/thing", "SQL": "delete from orders",
	}
	all := []string{name}
	if all = append(all, strings.Fields(y.Example)...); y.Example != "" {
		if strings.HasSuffix(usage, "...") {
			all = append(all, "frob", "thing")
		}
		return all
	}
	for part := range strings.FieldsSeq(usage) {
		key, wanted := strings.CutSuffix(part, "=%")
		switch {
		case values[part] != "":
			all = append(all, values[part])
		case part == "...":
			all = append(all, "frob", "thing")
		case wanted:
			all = append(all, key+"=/dev/thing")
		case !strings.HasSuffix(part, "="):
			first, _, _ := strings.Cut(part, "|")
			if all = append(all, first); y.valued(first) {
				all = append(all, "thing")
			}
		}
	}
	if y.Sql != "" {
		all = append(all, strings.Fields(y.Sql)[0], values["SQL"])
	}
	if strings.HasSuffix(sentence, ",") {
		first := strings.Fields(y.Names[slices.Min(slices.Collect(maps.Keys(y.Names)))])[0]
		all = append(all, first, "dir/thing")
	}
	return all
}
