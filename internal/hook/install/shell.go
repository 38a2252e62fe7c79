package install

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A shell that starts a hook reads the environment first: bash runs the file that BASH_ENV
// names, and knows the functions that were exported to it, also one that is called exec. Each
// of these can end the hook with status 0 before it has asked.

// ByShell reports whether a runtime gives a hook that install writes to a shell.
func ByShell(runtime string) bool {
	return slices.ContainsFunc(targets(runtime), func(t target) bool { return strings.Contains(t.text, "COMMAND") })
}

// startedByShell is ByShell for what is written in the options' scope.
func (o Options) startedByShell() bool {
	return ByShell(o.Runtime.Name) || slices.ContainsFunc(targets(o.Runtime.Name), func(t target) bool {
		return t.scope == o.Scope && strings.Contains(t.text, "RUN") &&
			slices.ContainsFunc(o.parts(t), func(part string) bool {
				return slices.Contains(o.shellStarted().forms(t), part)
			})
	})
}

// shellDoubts reports variables that a shell would obey before it starts the hook: those of
// this environment, and those in env of the runtime's settings.
func (o Options) shellDoubts() []Doubt {
	if !o.startedByShell() {
		return nil
	}
	var out []Doubt
	if !ByShell(o.Runtime.Name) && o.OS != "windows" {
		out = append(out, Doubt{Mostly, "an older approvalbot wrote the hook in " + o.File() + " so that a shell starts it",
			"run: " + o.commandLine()})
	}
	say := func(where string, names []string) {
		for _, name := range names {
			if name == "BASH_ENV" || strings.HasPrefix(name, "BASH_FUNC_") {
				out = append(out, Doubt{Mostly, fmt.Sprintf("%s has %s, which bash obeys before the hook, and which can end it before it asks",
					where, name), "take it out there"})
			}
		}
	}
	var names []string
	for _, entry := range o.Environ {
		name, _, _ := strings.Cut(entry, "=")
		names = append(names, name)
	}
	say("the environment", names)
	for _, path := range o.settingsFiles() {
		all, _ := readFile(path) // an unreadable file is reported by the check that hooks are not switched off
		env, _ := lookUp(all, "env").(map[string]any)
		say("env in "+path, slices.Sorted(maps.Keys(env)))
	}
	return out
}

// settingsFiles are the files in which a runtime reads its settings, each once.
func (o Options) settingsFiles() []string {
	var all []target
	for _, t := range targets(o.Runtime.Name) {
		if t.form == listItem || t.form == tomlBlock {
			all = append(all, t)
		}
	}
	for _, s := range caveatsOf(o.Runtime.Name).off {
		for _, file := range s.files {
			all = append(all, target{path: file})
		}
	}
	return o.files(all)
}
