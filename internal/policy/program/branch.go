package program

import (
	"slices"
	"strings"

	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/words"
	"approvalbot/internal/policy/workspace"
)

// ofOneRequest are commands of gh pr and glab mr that take the branch's request if they name no
// other.
var ofOneRequest = lazy.Words(`merge close reopen edit update comment note review ready approve rebase lock unlock delete`)

// OfTheBranch reports a command that is about the branch which is checked out, because it names no
// other: the same words mean another branch, or another pull request, after git switch.
func OfTheBranch(args []workspace.Word) bool {
	var operands []string
	options := words.Set("")
	for _, w := range args[1:] {
		if strings.HasPrefix(w.Text, "-") {
			name, _, _ := strings.Cut(w.Text, "=")
			options[name] = true
		} else {
			operands = append(operands, w.Text)
		}
	}
	verb := func(at int) string {
		if at < len(operands) {
			return operands[at]
		}
		return ""
	}
	switch ProgramOf(args[0]) {
	case "git":
		if verb(0) != "push" {
			return slices.Contains(operands, "push") // behind git's own options
		}
		least := 3
		for _, w := range args[1:] {
			if words.Any(w.Text, "-o", "--push-option", "--repo") {
				least++ // whose value is no branch
			}
		}
		here := func(ref string) bool {
			from, _, _ := strings.Cut(strings.TrimPrefix(ref, "+"), ":")
			return strings.HasPrefix(from, "HEAD") || strings.HasPrefix(from, "@")
		}
		return len(operands) < least || slices.ContainsFunc(operands[2:], here)
	case "gh", "glab":
		switch {
		case verb(0) != "pr" && verb(0) != "mr":
			return false
		case words.Any(verb(1), "create", "new"):
			return !options["-H"] && !options["--head"] && !options["--source-branch"]
		}
		numbered := len(operands) > 2 && strings.Trim(verb(2), "#0123456789") == "" // an option's value is no number
		return ofOneRequest.Has(verb(1)) && !numbered
	}
	return false
}
