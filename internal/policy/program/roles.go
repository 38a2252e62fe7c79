package program

import (
	"strings"
	"sync"

	"approvalbot/internal/lazy"
)

// role says what a command does with a word: with an option's value, or an operand.
type role uint8

const (
	textRole        role = iota // it is text
	tellsRole                   // names or facts of a file are told
	readsRole                   // a file's contents are told
	treeRole                    // a file's contents are told, or those of all files below a directory
	repositoryRole              // contents of the workspace's files are told, or of commits
	makesRole                   // a file or directory is made or touched
	writesRole                  // a file is given contents
	prefixRole                  // the beginning of the names of such files
	projectRole                 // it may name files of the project
	addressRole                 // an address is read
	historyRole                 // contents of files, or of what git has of them, are told
	changesRole                 // the same, of all files below a directory
	jqRole                      // it is a script of jq
	slugRole                    // it is OWNER/NAME, with no host before it
	insideRole                  // a directory of the workspace, in which the program works
	contextRole                 // such a directory, which is handed on with all that is in it
	postgresRole                // statements of SQL for psql
	psqlRole                    // lines for psql: such statements, and commands of its own
	mysqlRole                   // the same for mysql
	sqliteRole                  // the same for sqlite3
	buildsRole                  // a file or directory of the project is made by one of its tools
	emptiesRole                 // such a directory, which is deleted before
	environmentRole             // names of test environments, joined by commas
	profilesRole                // names of what it is run against or built for
	everydayRole                // a script or target that builds or checks
	packageRole                 // packages of the project
	hostRole                    // the name of a machine, too short to carry data
	noneRole                    // there must be no such word
)

var roleNames = sync.OnceValue(func() map[string]role {
	return map[string]role{
		"text": textRole, "tells": tellsRole, "reads": readsRole, "tree": treeRole, "repository": repositoryRole, "makes": makesRole,
		"writes": writesRole, "prefix": prefixRole, "project": projectRole, "address": addressRole, "history": historyRole,
		"changes": changesRole, "jq": jqRole, "slug": slugRole, "inside": insideRole, "context": contextRole, "none": noneRole,
		"postgres": postgresRole, "psql": psqlRole, "mysql": mysqlRole, "sqlite": sqliteRole,
		"builds": buildsRole, "empties": emptiesRole, "environment": environmentRole, "package": packageRole,
		"everyday": everydayRole, "host": hostRole,
	}
})

var slug = lazy.Pattern(`^[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+$`)

// carries reports a name so long that it may carry data to the server that answers for it.
func carries(name string) bool {
	long := 0
	for label := range strings.SplitSeq(name, ".") {
		if len(label) > 30 {
			long++
		}
	}
	return len(name) > 80 || long > 1
}
