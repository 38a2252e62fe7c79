package program

import (
	"sync"

	"approvalbot/policy/command"
	"approvalbot/policy/language"
)

// Rules gives every program and builtin that policy has something to say about.
// Whatever is not here asks. It fails where the table cannot be read.
func Rules() (map[string]command.Rule, error) { return rules() }

var rules = sync.OnceValues(func() (map[string]command.Rule, error) {
	m := map[string]command.Rule{}
	language.Builtins(m)
	t, err := table()
	if err != nil {
		return nil, err
	}
	for name, e := range t.entries {
		m[name] = e.program
	}
	return m, nil
})

// ruleNamed gives the rule of a language by the name in a row; nil for none. Interpreters
// stand with the table because they look into it.
func ruleNamed(name string) command.Rule {
	if name == "interpreter" {
		return interpreter
	}
	return language.Rules[name]
}
