package line

import (
	"path"
	"strings"

	"approvalbot/internal/policy/words"
	"approvalbot/internal/policy/workspace"
)

// takesUntracked reads the files with secrets that git takes into the repository though its words do not name them, of those
// that the asker says it could take. What it prints of them afterwards (git diff --cached, git stash show) runs unasked.
func (s *Reading) takesUntracked(f frame, args []workspace.Word) {
	if len(s.Untracked) == 0 {
		return
	}
	verb := 0
	for ; verb < len(args) && strings.HasPrefix(args[verb].Text, "-"); verb++ {
		if args[verb].IsAny("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env") {
			verb++
		}
	}
	if verb >= len(args) || !args[verb].IsAny("add", "stage", "stash") {
		return
	}
	elsewhere := verb > 0 // with an option before, such as -C, words count from another folder
	for _, file := range s.Untracked {
		if s.stages(f, args[verb].Text, args[verb+1:], file, elsewhere) {
			s.Read(workspace.Word{Text: file})
		}
	}
}

// stages reports whether git add or git stash with these words could take a file that is not tracked.
func (s *Reading) stages(f frame, verb string, args []workspace.Word, file string, all bool) bool {
	all = all && verb != "stash" || f.forEach
	tracked := false
	for _, w := range args {
		switch option := w.Kind == workspace.Literal && strings.HasPrefix(w.Text, "-"); {
		case w.Kind != workspace.Literal || strings.HasPrefix(w.Text, ":") || strings.ContainsAny(w.Text, `*?[\`):
			all = true
		case option && strings.HasPrefix(w.Text, "--"):
			all = all || words.Any(w.Text, "--all", "--include-untracked", "--no-ignore-removal")
			tracked = tracked || w.Text == "--update"
		case option && verb == "stash":
			all = all || strings.ContainsAny(w.Text, "ua")
		case option:
			all, tracked = all || strings.Contains(w.Text, "A"), tracked || strings.Contains(w.Text, "u")
		case verb != "stash":
			// What was copied or moved before may lie there.
			all = all || (s.saves || s.writes || len(s.renamedTo) > 0) && !workspace.PlainFile(strings.ToLower(path.Base(w.Text)))
			s.Place.Resolve(w, func(dir string, open bool) {
				dir = strings.TrimSuffix(strings.ToLower(dir), "/") // to some file systems case means nothing
				all = all || open || strings.HasPrefix(strings.ToLower(file)+"/", dir+"/")
			})
		}
	}
	return all && !tracked
}
