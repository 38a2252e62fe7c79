package language

import (
	"strings"

	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/command"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/words"
	"approvalbot/internal/policy/workspace"
)

// RunsProject notes that the command runs the project's own code, which it may do
// inside the workspace only.
func RunsProject(x *command.Call) { x.Found = x.Found.Or(Project(x.Place)) }

// Project is what running the project's own code means at a place.
func Project(p *workspace.Place) finding.Set {
	if p.LocalDir(workspace.Word{Text: "."}) {
		return finding.Of(finding.RunsProjectCode)
	}
	return finding.Of(finding.RunsProjectCode, finding.OutsideProject)
}

// activates reports sourcing the project's own Python environment.
func activates(x *command.Call, args []workspace.Word) bool {
	if len(args) != 1 || args[0].Kind != workspace.Literal || !x.Place.LocalDir(workspace.Word{Text: "."}) {
		return false
	}
	switch strings.TrimPrefix(args[0].Text, "./") {
	case ".venv/bin/activate", "venv/bin/activate":
		return true
	}
	return false
}

// ProjectWord judges a word that may name files. One word can name several, as in -cp a:b
// or --config {"dir":"x"}.
func ProjectWord(x *command.Call, w workspace.Word) {
	if w.Kind == workspace.Computed {
		x.Add(finding.DynamicArgument)
		return
	}
	if w.Tilde || expandsLater.MatchString(w.Text) {
		x.Add(finding.OutsideProject)
	}
	if strings.HasPrefix(w.Text, "npm:") || strings.HasPrefix(w.Text, "jsr:") {
		x.Add(finding.OutsideProject)
	}
	if strings.IndexByte(w.Text, '/') < 0 && !strings.Contains(w.Text, "..") {
		return
	}
	for _, part := range WordParts(w.Text) {
		if letters := words.ShortOptions(part); len(letters) > 1 && strings.IndexByte("/.", letters[1]) >= 0 {
			part = part[2:] // -I/x
		}
		leads := part[0] == '/' || workspace.Climbs(part)
		outside := leads && part != "/dev/null" && !x.Place.EndsInside(part)
		if outside || strings.Contains(part, ".git/") {
			x.Add(finding.OutsideProject)
		}
	}
}

// expandsLater is what some programs replace by themselves if the shell did not: a home
// directory, a variable.
var expandsLater = lazy.Pattern(`(?:^|[=:,"'])~|\$[A-Za-z_{]`)

// WordParts gives the parts of a word that may each name a file.
func WordParts(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(`=:,;"'{}()[] `+"\t\n", r) })
}
