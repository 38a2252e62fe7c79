package verifier

import (
	"slices"
	"strings"

	"approvalbot/internal/lazy"
)

// scope is a compiled [Scope].
type scope struct {
	names   map[string]bool // folded; empty if every tool is covered
	exclude bool
}

func (s Scope) isSet() bool { return len(s.Include)+len(s.Exclude) > 0 }

func (s Scope) compile() scope {
	out := scope{names: map[string]bool{}, exclude: len(s.Include) == 0}
	for _, name := range slices.Concat(s.Include, s.Exclude) {
		out.names[fold(name)] = true
	}
	if !out.exclude && out.names["exec"] {
		for _, name := range shells.List() {
			out.names[name] = true
		}
	}
	return out
}

// shells are the names, folded, that the common runtimes give to their tool exec.
// An operator who has commands verified means all shells; one who excludes exec
// excludes only exec.
var shells = lazy.Words(`bash shell sh localshell execcommand shellcommand runshellcommand runcommand runterminalcmd runterminalcommand executecommand executebash runinterminal terminal`)

func (s scope) covers(tool string) bool { return s.names[fold(tool)] != s.exclude }

// fold gives the one spelling of a tool's name, by the same rules as policy:
// letter case, "_" and "-" do not count, but a name that another server brings
// (with a dot, a slash, a colon, two underscores or beyond ASCII) is left as it
// is.
func fold(name string) string {
	if strings.Contains(name, "__") || strings.ContainsAny(name, ".:/") ||
		strings.ContainsFunc(name, func(r rune) bool { return r >= 0x80 }) {
		return name
	}
	return strings.ToLower(dashes.Replace(name))
}

var dashes = strings.NewReplacer("_", "", "-", "")
