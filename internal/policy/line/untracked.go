package line

import (
	"path"
	"slices"
	"strings"

	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/command"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/words"
	"approvalbot/internal/policy/workspace"
)

// takesUntracked reads the files with secrets that git takes into the repository though its words do not name them, of those
// that the asker says it could take. What git prints of them afterwards (git diff --cached, git stash show) runs unasked. In a
// folder that the asker did not look at, and after commands that change what git ignores if it did not look for that, it may
// take any.
func (s *Reading) takesUntracked(f frame, args []workspace.Word) {
	if s.Untracked == nil && len(s.Programs) == 0 {
		return
	}
	verb, here := 0, s.Place.Here()
	if f.forEach {
		here = nil
	}
	elsewhere := false // words count from another folder
	for ; verb < len(args) && strings.HasPrefix(args[verb].Text, "-"); verb++ {
		switch {
		case args[verb].Is("-C") && verb+1 < len(args):
			verb++
			here, elsewhere = below(here, args[verb]), true
		case args[verb].IsAny("-c", "--git-dir", "--work-tree", "--namespace", "--config-env"):
			verb++
			here = nil
		case strings.Contains(args[verb].Text, "="):
			here = nil
		}
	}
	if verb >= len(args) {
		return
	}
	name, rest := args[verb], args[verb+1:]
	s.brought = s.brought || changesTree.Has(name.Text) && len(s.Programs) > 0 // programs may be among what it brings
	if s.Untracked == nil {
		return
	}
	if !name.IsAny("add", "stage", "stash") || name.Is("stash") && slices.ContainsFunc(rest, restores) {
		s.unignores = s.unignores || changesTree.Has(name.Text)
		return
	}
	all, ignored, some, files := s.staged(f, name.Text, rest)
	if name.Is("stash") { // afterwards files are as they were committed, also those that say what is ignored
		defer func() { s.unignores = true }()
	}
	if !all && !some && !files {
		return
	}
	looked := len(here) > 0
	for _, dir := range here {
		looked = looked && slices.ContainsFunc(s.Untracked.Folders, func(folder string) bool { return path.Clean(folder) == dir })
	}
	told := s.Untracked.Files
	if ignored || s.unignores {
		looked = looked && s.Untracked.Ignored != nil
		told = slices.Concat(told, s.Untracked.Ignored)
	}
	if !looked && (all || some) {
		s.Found.Add(finding.MayReadSecret)
	}
	for _, file := range told {
		if all || elsewhere || s.stages(rest, file) {
			s.Read(workspace.Word{Text: file})
		}
	}
}

// restores reports a word of git stash that puts back what was stashed.
func restores(w workspace.Word) bool { return w.IsAny("pop", "apply", "branch") }

// below gives the directories that a word names from each of some; none if that is not known.
func below(dirs []string, w workspace.Word) (list []string) {
	switch {
	case w.Kind != workspace.Literal || w.Tilde || strings.Contains(w.Text, "/.."): // behind a link that is another folder
		return nil
	case path.IsAbs(w.Text):
		return []string{path.Clean(w.Text)}
	}
	for _, dir := range dirs {
		list = append(list, path.Join(dir, w.Text))
	}
	return list
}

// staged says what git add or git stash with these words could take that is not tracked: all there is, what is ignored too, or
// some, in folders that they name. named: they name files.
func (s *Reading) staged(f frame, verb string, args []workspace.Word) (all, ignored, some, named bool) {
	all = f.forEach
	paths := false
	for _, w := range args {
		if !paths && w.Is("--") {
			paths = true
			continue
		}
		switch option := !paths && w.Kind == workspace.Literal && strings.HasPrefix(w.Text, "-"); {
		case w.Kind != workspace.Literal || strings.HasPrefix(w.Text, ":") || strings.ContainsAny(w.Text, `*?[\`):
			all = true
		case option && w.IsAny("--all", "--include-untracked", "--no-ignore-removal"):
			all, ignored = true, ignored || verb == "stash" && w.Is("--all")
		case option && w.Is("--update"), option && verb != "stash" && !strings.HasPrefix(w.Text, "--") && strings.Contains(w.Text, "u"):
			return false, false, false, false // what is tracked
		case option && strings.HasPrefix(w.Text, "--"):
		case option && verb == "stash":
			all, ignored = all || strings.ContainsAny(w.Text, "ua"), ignored || strings.Contains(w.Text, "a")
		case option:
			all = all || strings.Contains(w.Text, "A")
		case verb != "stash" && isFile(w):
			named = true
			all = all || s.unignores // a folder may have got that name
		case verb != "stash":
			some = true
			all = all || s.saves || s.writes || len(s.renamedTo) > 0 // what was copied or moved before may lie there
		}
	}
	return all, ignored, some, named
}

// isFile reports a name that no folder usually has. A folder may have any name with a dot (example.com, x.d).
func isFile(w workspace.Word) bool {
	base := strings.ToLower(path.Base(w.Text))
	ext := strings.TrimPrefix(path.Ext(base), ".")
	named := strings.HasSuffix(base, "file") || words.Any(base, "license", "readme", "changelog", "codeowners")
	return w.Kind == workspace.Literal && (named || workspace.CodeEnds.Has(ext) || dataEnds.Has(ext))
}

// dataEnds are endings of files that are no code, which no folder has.
var dataEnds = lazy.Words(`json yaml yml toml ini txt cfg csv tsv xml lock png jpg jpeg gif webp ico pdf zip gz tgz
	properties gitignore dockerignore editorconfig`)

// stages reports whether one of the words is a file, or a folder that it is in.
func (s *Reading) stages(args []workspace.Word, file string) (is bool) {
	for _, w := range args {
		s.Place.Resolve(w, func(dir string, open bool) {
			dir = strings.TrimSuffix(strings.ToLower(dir), "/") // to some file systems case means nothing
			is = is || open || strings.HasPrefix(strings.ToLower(file)+"/", dir+"/")
		})
	}
	return is
}

// changesTree are git's commands after which other files may be ignored than before, or lie where they are not.
var changesTree = lazy.Words(`init clone switch checkout merge pull stash rebase reset restore cherry-pick apply am revert mv rm
	update-index worktree submodule sparse-checkout read-tree`)

// Programs that unpack or copy all there is, and those that take their files by name.
var (
	unpacks = lazy.Words("rsync tar bsdtar unzip 7z 7za cpio patch")
	copies  = lazy.Words("cp mv ln install")
)

// unignored notes of a command that afterwards git may ignore other files than before.
func (s *Reading) unignored(base string, args []workspace.Word, effects []command.Effect) {
	if s.Untracked == nil || s.unignores {
		return
	}
	folder := func(w workspace.Word) bool {
		holds := func(file string) bool { return s.stages([]workspace.Word{w}, file) }
		return !strings.HasPrefix(w.Text, "-") && (!isFile(w) || slices.ContainsFunc(s.Untracked.All(), holds))
	}
	if copies.Has(base) && len(args) > 0 && !slices.ContainsFunc(args, func(w workspace.Word) bool {
		return strings.HasPrefix(w.Text, "-") && strings.ContainsAny(w.Text, "tT")
	}) {
		args = args[:len(args)-1] // where they go
	}
	s.unignores = unpacks.Has(base) || copies.Has(base) && slices.ContainsFunc(args, folder) ||
		slices.ContainsFunc(effects, func(e command.Effect) bool { return e.Kind != command.ReadsFile && ignoring(e.Word) })
}

// ignoring reports a file in which git reads what it ignores.
func ignoring(w workspace.Word) bool {
	return words.Holds(strings.ToLower(w.Text), "ignore", "exclude")
}
