package program

import (
	_ "embed"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	"approvalbot/internal/policy/command"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/git"
	"approvalbot/internal/policy/language"
)

// text is the table as it is made of data/*.yaml by a test with -update, which also checks it:
// a line for each row, its names, a tab and the row as JSON; sets of options that rows share
// come first, with a plus before their names, and what people are told of programs has a question
// mark before it.
//
//go:embed table.txt
var text string

// shelved is a row that is read when one of its names is first asked for, because an agent
// uses only a few of a thousand programs.
type shelved struct {
	names, json string
	once        sync.Once
	entry       *entry
	rule        command.Rule
}

// table holds each name's row.
type table struct {
	rows    map[string]*shelved
	says    map[string]*shelvedForms // what people are told of a program
	options func() map[string]row
}

var tables = sync.OnceValue(func() *table { return shelve(text) })

func shelve(text string) *table {
	n := strings.Count(text, "\n")
	lines, t := make([]shelved, 0, n), &table{rows: make(map[string]*shelved, 2*n), says: map[string]*shelvedForms{}}
	sets := map[string]string{}
	for line := range strings.Lines(text) {
		names, json, _ := strings.Cut(line, "\t")
		if set, ok := strings.CutPrefix(names, "+"); ok {
			sets[set] = json
			continue
		}
		if programs, ok := strings.CutPrefix(names, "?"); ok {
			forms := &shelvedForms{json: json}
			for name := range strings.FieldsSeq(programs) {
				t.says[name] = forms
			}
			continue
		}
		lines = append(lines, shelved{names: names, json: json})
		for name := range strings.FieldsSeq(names) {
			t.rows[name] = &lines[len(lines)-1]
		}
	}
	t.options = sync.OnceValue(func() map[string]row {
		all := make(map[string]row, len(sets))
		for name, text := range sets {
			var r row
			if json.Unmarshal([]byte(text), &r) == nil { // else the rows that have it are not known
				all[name] = r
			}
		}
		return all
	})
	return t
}

// read gives the row of a program. It is nil if there is no row, or if the row cannot be
// read: then it asks.
func (t *table) read(name string) *shelved {
	s := t.rows[name]
	if s == nil {
		return nil
	}
	s.once.Do(func() {
		var r row
		if json.Unmarshal([]byte(s.json), &r) != nil {
			return
		}
		l := loader{options: t.options()}
		if e := l.entry(s.names, r, nil); len(l.errs) == 0 {
			s.entry, s.rule = e, e.program
		}
	})
	if s.entry == nil {
		return nil
	}
	return s
}

// known gives the row of a program.
func known(name string) *entry {
	if s := tables().read(name); s != nil {
		return s.entry
	}
	return nil
}

// BuildsProject reports a program that builds, tests or checks the project, by itself or by its verbs.
func BuildsProject(name string) bool { return known(name).builds() }

func (e *entry) builds() bool {
	if e == nil {
		return false
	}
	return e.project != nil || e.here || slices.Contains(e.bare, finding.RunsProjectCode) ||
		slices.ContainsFunc(slices.Collect(maps.Values(e.verbs)), (*entry).builds)
}

// RuleOf gives what policy has to say about a program or a builtin. Nil: it asks.
func RuleOf(name string) command.Rule {
	if s := tables().read(name); s != nil {
		return s.rule
	}
	return builtins()[name]
}

var builtins = sync.OnceValue(func() map[string]command.Rule {
	m := map[string]command.Rule{}
	language.Builtins(m)
	return m
})

// ruleNamed gives the rule of a language by the name in a row; nil if there is no such
// rule. Interpreters are here, with the table, because they look into it.
func ruleNamed(name string) command.Rule {
	if name == "interpreter" {
		return interpreter
	}
	if rule := git.Rules()[name]; rule != nil {
		return rule
	}
	return language.Rules()[name]
}
