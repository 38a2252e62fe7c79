package program

import (
	"slices"
	"strings"

	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/command"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/workspace"
)

// everydayEnvironment is the name of an environment or session that is called
// after a Python or a tool.
var (
	everydayEnvironment = lazy.Pattern(`^(?:py(?:py)?[0-9.]*|pep8|style|docs?|static|typing)(?:-(?:[a-z]*[0-9][0-9.]*|cov|cover|coverage|unit|test|tests|lint|min|latest|dev|mypy|build))*$`)
)

// production are the names of what people use.
var production = lazy.Words("prod prd production live")

// namesProduction reports a word of which a part is such a name. Maven takes a profile
// behind "!" or "-" out.
func namesProduction(text string) bool {
	for name := range strings.SplitSeq(strings.ToLower(text), ",") {
		parts := strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("-_.+?:/@ ", r) })
		if slices.ContainsFunc(parts, func(part string) bool { return production.Has(part) }) {
			return true
		}
	}
	return false
}

// environment judges the names of environments, joined by commas.
func testEnvironment(x *command.Call, w workspace.Word) {
	for name := range strings.SplitSeq(w.Text, ",") {
		first, rest, more := strings.Cut(name, "-")
		tool := known(first).module() && (!more || everydayTarget("test-"+rest))
		tests := tool || everydayTarget(name) || everydayEnvironment.MatchString(name)
		if !tests || w.Kind != workspace.Literal {
			x.Add(finding.RunsWorkspaceCode)
		}
	}
}
