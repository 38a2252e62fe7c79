package language

import (
	"sync"

	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/command"
)

// Rules are those of programs that have a language of their own, by the names
// under which rows ask for them.
var Rules = sync.OnceValue(func() map[string]command.Rule {
	return map[string]command.Rule{
		"awk": awk, "chmod": permissions, "copy": copies, "curl": curl, "date": date, "fd": fd, "find": find,
		"grep": grep, "jq": jq, "kill": kill, "printf": printf, "ps": ps, "ripgrep": ripgrep, "rm": rm, "sed": sed, "shell": shellCommand,
		"test": test, "xargs": xargs, "lengths": lengths, "archive": archive, "dd": dd, "cd": cd, "command": commandBuiltin, "flock": flock,
		"printenv": printenv, "later": later, "version": versioning, "env": env, "wget": wget, "gofmt": gofmt,
		"container": container, "compiler": compiler,
		"gh-api": ghAPI,
	}
})

// OnlyTells are the names of rules whose programs, with any words, do not write, do not run
// programs and do not read the files of directories.
var OnlyTells = lazy.Words("lengths date ps printf test version")
