package program

import (
	"strings"
	"sync"

	"approvalbot/policy/workspace"
)

// Rule judges one simple command. args are the words after its name.
type Rule func(x *Call, name string, args []workspace.Word)

// Rules gives every program and builtin that policy has something to say about.
// Whatever is not here asks. It fails where the table cannot be read.
func Rules() (map[string]Rule, error) { return rules() }

var rules = sync.OnceValues(func() (map[string]Rule, error) {
	m := map[string]Rule{}
	builtins(m)
	t, err := table()
	if err != nil {
		return nil, err
	}
	for name, e := range t.entries {
		m[name] = e.program
	}
	return m, nil
})

// languages are the rules of programs that have a language of their own, by the names
// under which rows ask for them.
var languages = map[string]Rule{
	"awk": awk, "chmod": permissions, "copy": copiesPrograms, "curl": curl, "date": date, "fd": fd, "find": find,
	"grep": grep, "jq": jq, "kill": kill, "printf": printf, "ps": ps, "ripgrep": ripgrep, "rm": rm, "sed": sed, "shell": shellCommand,
	"test": test, "xargs": xargs, "lengths": lengths, "archive": archive, "dd": dd, "cd": cd, "command": commandBuiltin, "flock": flock,
	"printenv": printenv, "later": later, "version": versioning, "env": env, "wget": wget, "gofmt": gofmt, "container": container, "interpreter": interpreter, "compiler": compiler,

	"git-fetch": gitFetch, "git-pull": gitPull, "git-push": gitPushes, "git-reset": gitReset, "git-clean": gitClean, "git-checkout": gitCheckout,
	"git-restore": gitRestore, "git-switch": gitSwitch, "git-rm": gitRemove, "git-mv": gitMove, "git-merge": gitMerges, "git-config": gitConfig,
	"git-ls-remote": gitLsRemote, "git-apply": gitApply, "gh-api": ghAPI,
	"git-branch": gitNames("arvlqm", "all remotes verbose list show-current contains contains= merged merged= no-merged no-merged= sort= format= points-at= color color= no-color column no-column ignore-case"),
	"git-tag":    gitNames("ln", "list contains contains= merged no-merged sort= format= points-at= column no-column ignore-case"),
}

// AfterEquals gives the value of a word like --option=value.
func AfterEquals(text string) string {
	if strings.HasPrefix(text, "-") {
		if _, v, ok := strings.Cut(text, "="); ok {
			return v
		}
	}
	return text
}

func WordMatches(word, p string) bool {
	if prefix, ok := strings.CutSuffix(p, "*"); ok {
		return strings.HasPrefix(word, prefix)
	}
	return word == p
}
