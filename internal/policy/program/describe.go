package program

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"approvalbot/internal/policy/finding"
)

const describeHead = `# Programs

What the desk holds of each program. One that is not listed asks, and so does a subcommand or an option. "-abc" are three options of
one letter. Classes are those of the codes (approvalbot docs reasons); what the words name (a secret, a file outside the
workspace) counts besides. "approvalbot policy explain PROGRAM" says it of one program in words.

`

// Describe writes the table as a page of Markdown: for each program, and each of its
// subcommands, its codes and what becomes of its words.
func Describe() string {
	names := map[*entry][]string{}
	for n, e := range entries() {
		names[e] = append(names[e], n)
	}
	type program struct {
		names string
		*entry
	}
	var all []program
	for e, list := range names {
		slices.Sort(list)
		all = append(all, program{strings.Join(list, ", "), e})
	}
	slices.SortFunc(all, func(a, b program) int { return cmp.Compare(a.names, b.names) })
	var b strings.Builder
	b.WriteString(describeHead)
	for _, p := range all {
		fmt.Fprintf(&b, "## %s\n\n", p.names)
		p.describe(&b, "")
		b.WriteString("\n")
	}
	b.WriteString("# Options that programs share\n\n")
	options := tables().options()
	for _, set := range slices.Sorted(maps.Keys(options)) {
		fmt.Fprintf(&b, "- **%s**: %s\n", set, strings.Join(optionFacts(options[set]), "; "))
	}
	return b.String()
}

func (e *entry) describe(b *strings.Builder, verb string) {
	line := func(format string, args ...any) {
		if verb != "" {
			fmt.Fprintf(b, "- **%s**: ", verb)
		} else {
			b.WriteString("- ")
		}
		fmt.Fprintf(b, format+"\n", args...)
	}
	if list := e.facts(); list != "" {
		line("%s", list)
	}
	for _, name := range slices.Sorted(maps.Keys(e.doc.Verbs)) {
		e.sub(name).describe(b, strings.TrimSpace(verb+" "+strings.ReplaceAll(name, " ", ", ")))
	}
}

// facts says in one line what a row says.
func (e *entry) facts() string {
	var list []string
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	if len(e.codes) > 0 {
		add("%s", codeList(e.codes))
	}
	switch {
	case e.rule != nil:
		add("read as `%s`", e.doc.Rule)
	case e.verbs != nil || e.globs != nil:
		add("alone %s, otherwise %s", codeList(e.bare), codeList(e.otherwise))
	case e.project != nil:
		list = append(list, e.projectFacts()...)
	}
	if len(e.named) > 0 {
		add("with other words %s", codeList(e.named))
	}
	list = append(list, optionFacts(e.doc)...)
	if e.doc.With != "" {
		add("and the options of `%s`", e.doc.With)
	}
	if e.doc.All {
		add("any option")
	}
	if e.doc.Begins != "" {
		add("only with `%s` first", e.doc.Begins)
	}
	if e.doc.Needs != "" {
		add("only with one of `%s`", e.doc.Needs)
	}
	for _, some := range slices.Sorted(maps.Keys(e.doc.Beside)) {
		add("`%s` only beside `%s`", some, e.doc.Beside[some])
	}
	if e.wraps {
		add("runs the command that follows")
	}
	if e.doc.Leading != "" {
		add("first %d words: %s", e.doc.First, e.doc.Leading)
	}
	if e.doc.Operands != "" {
		add("other words: %s", e.doc.Operands)
	}
	if e.doc.Input != "" {
		add("input: %s", e.doc.Input)
	}
	if e.doc.Looks != "" {
		add("which are `%s`", e.doc.Looks)
	}
	for _, options := range slices.Sorted(maps.Keys(e.doc.Shapes)) {
		add("value of `%s`: `%s`", options, e.doc.Shapes[options])
	}
	if len(e.typed) > 0 {
		add("takes commands from its terminal: `%s`", e.doc.Typed)
	}
	if len(e.needs) > 0 {
		add("%s without one of `%s`", codeList(e.lacks), cmp.Or(e.doc.Needs, "those that "+e.doc.With+" need"))
	}
	if len(e.unread) > 0 {
		add("%s if a word is not recognised", codeList(e.unread))
	}
	for _, r := range e.raises {
		add("%s by `%s`", codeList([]finding.Code{r.code}), strings.Join(r.words, " "))
	}
	return strings.Join(list, "; ")
}

// projectFacts says what a tool does to the project.
func (e *entry) projectFacts() (list []string) {
	if len(e.codes) == 0 {
		list = append(list, codeList([]finding.Code{finding.RunsProjectCode}))
	}
	for _, f := range [...]struct{ what, words string }{
		{"only", e.doc.Runs.Targets}, {"runs a command", e.doc.Runs.Command}, {"any target with", e.doc.Runs.Dry}, {"changes no file with", e.doc.Runs.Checks},
	} {
		if f.words != "" {
			list = append(list, fmt.Sprintf("%s `%s`", f.what, f.words))
		}
	}
	return list
}

// optionFacts says of a row's options what becomes of their values.
func optionFacts(r row) (list []string) {
	for _, o := range [...]struct{ what, options string }{
		{"options", r.Flags}, {"keeps what is in its files with", r.Appends}, {"with a value behind =", r.Optional}, {"with or without a value", r.Maybe}, {"with text", r.Text + " " + r.Dash},
		{"with a name that is told", r.Tells}, {"reads", r.Reads}, {"reads, with directories", r.Tree}, {"SQL", strings.TrimSpace(r.Postgres + " " + r.Mysql + " " + r.Sqlite)}, {"makes", r.Makes}, {"writes", r.Writes}, {"writes names beginning with", r.Prefix}, {"with a file of the project", r.Project},
		{"in a directory of the workspace", r.Inside}, {"history of", r.History}, {"jq", r.Jq}, {"of OWNER/NAME", r.Slug},
		{"builds", r.Builds}, {"empties and builds", r.Empties}, {"with environments", r.Environment}, {"with profiles, but for production", r.Profiles}, {"with an everyday target", r.Everyday},
	} {
		if strings.TrimSpace(o.options) != "" {
			list = append(list, fmt.Sprintf("%s: `%s`", o.what, strings.Join(strings.Fields(o.options), " ")))
		}
	}
	for _, pattern := range slices.Sorted(maps.Keys(r.Values)) {
		list = append(list, fmt.Sprintf("with a value like `%s`: `%s`", pattern, strings.Join(strings.Fields(r.Values[pattern]), " ")))
	}
	return list
}

func codeList(codes []finding.Code) string {
	var list []string
	for _, c := range codes {
		list = append(list, fmt.Sprintf("`%s` (%s)", finding.Reasons[c].Name, finding.Reasons[c].Class))
	}
	return strings.Join(list, ", ")
}
