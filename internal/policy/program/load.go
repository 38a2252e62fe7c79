package program

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"approvalbot/internal/policy/command"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/git"
	"approvalbot/internal/policy/words"
)

// loader builds the entries of rows, of which some share sets of options.
type loader struct {
	options map[string]row
	errs    []error // what is unknown, is there twice, cannot be reached, or says of one option two things
}

func (l *loader) fail(where, format string, args ...any) {
	l.errs = append(l.errs, fmt.Errorf(where+": "+format, args...))
}

// entry makes a row's entry. Subcommands have the options of what they belong to.
func (l *loader) entry(where string, r row, parent *entry) *entry {
	e := &entry{doc: r, roles: map[string]role{}, shapes: map[string]*regexp.Regexp{}, skip: r.First, most: r.Most,
		onedash: r.OneDash, version: r.Version,
		least: r.Least, here: r.Here, fetches: r.Fetches, restores: r.Restores}
	e.spec = command.Spec{All: r.All, Number: r.Numbers, Fixed: r.Fixed, Posix: r.Posix, Apart: r.Apart,
		Equals: r.Equals || parent != nil && parent.spec.Equals, Strict: true,
		Long: map[string]bool{}, Texts: map[string]bool{}, Optional: map[string]bool{}}
	o := optionList{l: l, where: where, e: e, known: map[string]string{}}
	o.row(r)
	for set := range strings.FieldsSeq(r.With) {
		if _, ok := l.options[set]; !ok {
			l.fail(where, "there is no set of options %q", set)
		}
		o.row(l.options[set])
	}
	if parent != nil {
		o.inherit(parent)
	}
	for name := range e.shapes {
		if !e.spec.Long[name] && !e.spec.Optional[name] && !strings.Contains(e.spec.Values, name) {
			l.fail(where, "the option %s has a shape and takes no value", name)
		}
	}
	e.codes, e.bare, e.otherwise = l.codes(where, r.Is), l.codes(where, r.Bare), l.codes(where, r.Otherwise)
	e.named, e.about, e.word = l.codes(where, r.Named), l.codes(where, r.About), r.Word
	for _, name := range slices.Sorted(maps.Keys(r.Raises)) {
		for _, c := range l.codes(where, name) {
			e.raises = append(e.raises, raise{c, strings.Fields(r.Raises[name])})
		}
	}
	l.prints(where, r, e)
	l.needs(where, r, e)
	e.typed, e.session = l.typing(where, r.Typed), l.session(where, r.Session)
	l.shape(where, r, e)
	l.options1(where, r, e)
	return e
}

// prints reads when the output of a command is empty.
func (l *loader) prints(where string, r row, e *entry) {
	if e.filter = r.Filter; r.Filter != "" && r.Filter != "files" && r.Filter != "input" {
		l.fail(where, "a filter cannot be of %q", r.Filter)
	}
	letters, long := shortNames(r.Appends, e.onedash)
	e.silent, e.appends = l.pattern(where, r.Silent), words.Set(strings.Join(append(letters, long...), " "))
}

// needs reads which options must be given.
func (l *loader) needs(where string, r row, e *entry) {
	list := r.Needs
	for set := range strings.FieldsSeq(r.With) {
		list += " " + l.options[set].Needs
	}
	letters, long := shortNames(list, e.onedash)
	e.needs = words.Set(strings.Join(append(letters, long...), " "))
	for name := range e.needs {
		if _, known := e.spec.Long[name]; !known && !strings.Contains(e.spec.Flags+e.spec.Values, name) {
			l.fail(where, "it needs the option %s, which it does not have", name)
		}
	}
	e.lacks, e.unread = l.codes(where, r.Lacks), l.codes(where, r.Unread)
	if len(e.lacks) == 0 {
		e.lacks = []finding.Code{finding.UnknownOption}
	}
}

// shape reads what a row is: a program of subcommands, a tool of the project, one with
// a language of its own, or a plain command.
func (l *loader) shape(where string, r row, e *entry) {
	e.looks = l.pattern(where, r.Looks)
	kind, ok := roleNames()[r.Operands]
	if !ok && r.Operands != "" {
		l.fail(where, "operands cannot be %q", r.Operands)
	}
	e.operands, e.leading = kind, roleNames()[r.Leading]
	if _, ok := roleNames()[r.Leading]; !ok && r.Leading != "" {
		l.fail(where, "leading operands cannot be %q", r.Leading)
	}
	if e.input, ok = roleNames()[r.Input]; !ok && r.Input != "" {
		l.fail(where, "its input cannot be %q", r.Input)
	}
	if r.Prelude != "" {
		if e.prelude = git.Prelude; r.Prelude != "git" {
			l.fail(where, "there is no prelude %q", r.Prelude)
		}
	}
	switch {
	case r.Rule != "":
		if e.rule = ruleNamed(r.Rule); e.rule == nil {
			l.fail(where, "there is no language %q", r.Rule)
		}
		if r.Verbs != nil || r.Runs != nil {
			l.fail(where, "verbs or runs beside a rule are never reached")
		}
	case r.Wraps:
		e.wraps, e.spec.Posix = true, true
	case r.Verbs != nil:
		l.verbs(where, r, e)
	case r.Runs != nil:
		l.project(where, r.Runs, e)
	case len(e.codes) == 0 && len(e.named) == 0:
		l.fail(where, "it does not say what the command is")
	}
}

// options1 reads what a row says of options together, and how they are spelled.
func (l *loader) options1(where string, r row, e *entry) {
	names := func(list string) (all []string) {
		letters, long := shortNames(list, r.OneDash)
		for _, name := range append(letters, long...) {
			_, known := e.roles[name]
			if numbers := r.Numbers || e.spec.Number; !known && name != "" && !numbers {
				l.fail(where, "the option %s is needed and not listed", name)
			}
			all = append(all, name)
		}
		return all
	}

	for _, list := range slices.Sorted(maps.Keys(r.Beside)) {
		e.beside = append(e.beside, beside{names(list), names(r.Beside[list])})
	}
	e.spelled = l.pattern(where, r.Spelled)
}

// pattern is one that must match a word as a whole; nil if text is empty.
func (l *loader) pattern(where, text string) *regexp.Regexp {
	if text == "" {
		return nil
	}
	re, err := regexp.Compile(`^(?:` + text + `)$`)
	if err != nil {
		l.fail(where, "%w", err)
	}
	return re
}

func (l *loader) project(where string, r *projectRow, e *entry) {
	some := func(list string) map[string]bool {
		if list == "" {
			return nil
		}
		return words.Set(list)
	}
	e.project = &projectTool{
		targets: some(r.Targets), each: r.Each, free: r.Free, after: l.pattern(where, r.After), settings: l.pattern(where, r.Settings),
		like: l.pattern(where, r.Like), dry: some(r.Dry), checks: some(r.Checks), silent: some(r.Silent), lists: r.Lists, command: r.Command, bin: r.Installed != "", npm: r.Installed == "npm", python: r.Installed == "python",
		script: r.After == handedOn,
	}
	if r.Command != "" && !commands.Has(r.Command) {
		l.fail(where, "there is no command %q", r.Command)
	}
	if !words.Any(r.Installed, "", "bin", "npm", "python") {
		l.fail(where, "installed cannot be %q", r.Installed)
	}
	if len(e.otherwise) == 0 {
		e.otherwise = []finding.Code{finding.RunsWorkspaceCode}
	}
	if len(e.bare) == 0 {
		e.bare = e.otherwise
	}
}

func (l *loader) verbs(where string, r row, e *entry) {
	runs := r.Runs != nil && *r.Runs != (projectRow{Installed: r.Runs.Installed})
	if runs || r.Is != "" || r.Operands != "" {
		l.fail(where, "is, operands and runs beside verbs are never reached, except runs.installed")
	}
	if r.Runs != nil {
		l.project(where, r.Runs, e)
	}
	if len(e.otherwise) == 0 {
		e.otherwise = []finding.Code{finding.UnknownCommand}
	}
	if len(e.bare) == 0 {
		e.bare = e.otherwise
	}
	e.verbs = map[string]*entry{}
	for _, names := range slices.Sorted(maps.Keys(r.Verbs)) {
		sub := r.Verbs[names]
		sub.OneDash = sub.OneDash || r.OneDash
		v := l.entry(where+" "+names, sub, e)
		v.onedash = false // the words are rewritten once
		for n := range strings.FieldsSeq(names) {
			switch {
			case strings.Contains(n, "*"):
				e.globs = append(e.globs, globVerb{n, v})
			case e.verbs[n] != nil:
				l.fail(where, "%s is given twice", n)
			default:
				e.verbs[n] = v
			}
		}
	}
}

func (l *loader) codes(where, names string) (list []finding.Code) {
	for n := range strings.FieldsSeq(names) {
		c, ok := finding.Named(n)
		if !ok {
			l.fail(where, "there is no code %q", n)
		}
		list = append(list, c)
	}
	return list
}

// optionList gathers the options of one row.
type optionList struct {
	l     *loader
	where string
	e     *entry
	known map[string]string // each option, and the list that it is in
}

func (o *optionList) row(r row) {
	o.e.spec.Number = o.e.spec.Number || r.Numbers
	onedash := r.OneDash || o.e.onedash
	for _, list := range [...]struct {
		name, options string
		takes         bool
		role          role
	}{
		{"flags", r.Flags, false, textRole}, {"appends", r.Appends, false, textRole},
		{"optional", r.Optional, false, textRole}, {"maybe", r.Maybe, true, textRole},
		{"text", r.Text, true, textRole}, {"dash", r.Dash, true, textRole}, {"tells", r.Tells, true, tellsRole},
		{"reads", r.Reads, true, readsRole}, {"tree", r.Tree, true, treeRole},
		{"makes", r.Makes, true, makesRole}, {"writes", r.Writes, true, writesRole}, {"prefix", r.Prefix, true, prefixRole}, {"project", r.Project, true, projectRole},
		{"history", r.History, true, historyRole},
		{"jq", r.Jq, true, jqRole}, {"slug", r.Slug, true, slugRole}, {"inside", r.Inside, true, insideRole},
		{"postgres", r.Postgres, true, postgresRole}, {"mysql", r.Mysql, true, mysqlRole}, {"sqlite", r.Sqlite, true, sqliteRole},
		{"builds", r.Builds, true, buildsRole}, {"empties", r.Empties, true, emptiesRole}, {"environment", r.Environment, true, environmentRole},
		{"profiles", r.Profiles, true, profilesRole},
		{"everyday", r.Everyday, true, everydayRole},
	} {
		o.lists(list.name, list.options, list.takes, list.role, onedash)
	}
	for pattern, options := range r.Values {
		o.lists("values", options, true, textRole, onedash)
		o.shape(options, pattern, onedash)
		letters, long := shortNames(options, onedash)
		for _, name := range append(letters, long...) {
			o.e.spec.Texts[name] = true
		}
	}
	for options, pattern := range r.Shapes {
		o.shape(options, pattern, onedash)
	}
}

// shape says what the values of options must look like.
func (o *optionList) shape(options, pattern string, onedash bool) {
	re := o.l.pattern(o.where, pattern)
	letters, long := shortNames(options, onedash)
	for _, name := range append(letters, long...) {
		if o.e.shapes[name] == nil { // the row's own goes before a set's
			o.e.shapes[name] = re
		}
	}
}

// lists notes the options of one list.
func (o *optionList) lists(name, options string, takes bool, r role, onedash bool) {
	letters, long := shortNames(options, onedash)
	for _, option := range letters {
		o.add(option, name, takes, r, true)
	}
	for _, option := range long {
		o.add(option, name, takes, r, false)
	}
}

// add lists an option. It can be in one list only.
func (o *optionList) add(name, list string, takes bool, r role, letter bool) {
	key := name
	if !letter {
		key = "--" + name
	}
	if other := o.known[key]; other != "" {
		o.l.fail(o.where, "the option %s is listed in %s and in %s", key, other, list)
		return
	}
	o.known[key] = list
	sp := &o.e.spec
	switch {
	case letter && takes:
		sp.Values += name
	case letter:
		sp.Flags += name
	default:
		sp.Long[name] = takes
	}
	if list == "optional" {
		sp.Optional[name] = true
	}
	if list == "maybe" && letter {
		sp.Maybe += name
	} else if list == "maybe" {
		sp.Optional[name] = true
	}
	if list == "dash" {
		sp.Texts[name] = true
	}
	o.e.roles[name] = r
}

// inherit takes the options of what a subcommand belongs to, except those that it lists
// itself.
func (o *optionList) inherit(p *entry) {
	for name, takes := range p.spec.Long {
		if o.known["--"+name] == "" {
			o.e.spec.Long[name], o.e.spec.Optional[name], o.e.spec.Texts[name] = takes, p.spec.Optional[name], p.spec.Texts[name]
			o.e.roles[name] = p.roles[name]
			o.inheritShape(p, name)
		}
	}
	for _, letters := range [...]struct{ from, to *string }{{&p.spec.Flags, &o.e.spec.Flags}, {&p.spec.Values, &o.e.spec.Values}} {
		for _, c := range *letters.from {
			if name := string(c); o.known[name] == "" {
				*letters.to += name
				o.e.roles[name], o.e.spec.Texts[name] = p.roles[name], p.spec.Texts[name]
				o.inheritShape(p, name)
				if strings.Contains(p.spec.Maybe, name) {
					o.e.spec.Maybe += name
				}
				o.inheritShape(p, name)
			}
		}
	}
}

func (o *optionList) inheritShape(p *entry, name string) {
	if re := p.shapes[name]; re != nil && o.e.shapes[name] == nil {
		o.e.shapes[name] = re
	}
}
