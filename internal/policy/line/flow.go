package line

import (
	"path"
	"slices"
	"strings"

	"approvalbot/internal/policy/command"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/language"
	"approvalbot/internal/policy/workspace"
)

// flow is what moves along the line: each command leaves it to the next one. Its Reader knows which
// directories the line may be in by now, and judges paths and addresses from there; what it and
// the methods of flow find goes into the verdict.
type flow struct {
	workspace.Reader

	// what the last command was
	silent  bool             // it surely had no output
	printed []workspace.Word // the files that it listed
	opened  int              // how many words it had, if a wrapper ran it

	// what the next command gets, and takes
	input []workspace.Word // the files that a command before a pipe lists
	piped bool             // its input is surely a pipe
	given string           // the text of its here-document

	// which files there are
	read      []readAt         // they were read
	renamedTo []string         // files were renamed to these
	searched  int              // for how many words all files of the workspace were searched
	unignores bool             // git may ignore other files than before
	logs      []string         // the names of logs that were written
	writes    bool             // a file was written that may be code
	written   bool             // the same, by an earlier statement
	saves     bool             // a file was written that may be run or obeyed
	ran       []workspace.Word // the words of commands in loops that ran the project's code

	// what came from elsewhere
	fetches      bool // something was fetched from the network
	fetchedByGit bool // git has fetched what others wrote
	runs         bool // something was run that was not read: input, a script, computed text
	rehomed      bool // a variable was set that says in which directory the user's configuration is
}

// readAt is a file that was read, and the directories that the line may have been in.
type readAt struct {
	file workspace.Word
	dirs []string
}

// reads remembers a file that is read.
func (s *flow) reads(f frame, w workspace.Word) {
	if w.Kind != workspace.Computed && !f.searching {
		s.read = append(s.read, readAt{w, s.Place.Dirs})
	}
}

// output judges a file that output goes to. zsh takes a leading "!" for part of the operator, and
// the next word for the file.
func (s *flow) output(w workspace.Word) {
	if strings.HasPrefix(w.Text, "!") || strings.HasPrefix(w.Text, "&") || strings.HasPrefix(w.Text, "|") {
		s.Found.Add(finding.UnusualShell)
	}
	s.socket(w)
	s.content(w)
}

// content judges a file that a line gives its contents. What runs later in the line may be that
// file; a log only if it is named.
func (s *flow) content(w workspace.Word) {
	s.Write(w)
	s.unignores = s.unignores || w.Kind != workspace.Literal || ignoring(w)
	ext, device := path.Ext(w.Text), workspace.Sink(w.Text) || strings.HasPrefix(w.Text, "/dev/")
	kept := !device && !s.Place.IsScratch(w) && ext != ".out"
	s.saves = s.saves || kept && !language.InertFile(w.Text)
	switch {
	case workspace.Sink(w.Text):
	case w.Kind == workspace.Literal && (ext == ".log" || ext == ".out"), s.Place.IsScratch(w):
		s.logs = append(s.logs, path.Base(w.Text))
	default:
		s.writes = true
	}
}

// socket notes a connection that bash makes for a path.
func (s *flow) socket(w workspace.Word) {
	if strings.HasPrefix(w.Text, "/dev/tcp/") || strings.HasPrefix(w.Text, "/dev/udp/") {
		s.Found.Add(finding.SendsData)
		s.fetches = true // if a shell reads from it, a program on another machine types
		if s.Own.HasPort(w.Text, false) {
			s.Found.Add(finding.TouchesDesk)
		}
	}
}

// runsLog reports a command with a word that names a log which the line writes.
func (s *flow) runsLog(words []workspace.Word) bool {
	names := func(w workspace.Word) bool {
		base := path.Base(command.AfterEquals(w.Text))
		return slices.ContainsFunc(s.logs, func(log string) bool {
			return base == log || w.Kind == workspace.Pattern && workspace.MatchesName(base, log)
		})
	}
	return len(s.logs) > 0 && slices.ContainsFunc(words, names)
}

// again notes of a loop that its next round runs what this one has written.
func (s *flow) again() {
	if (s.writes || s.runsLog(s.ran)) && s.Found.Has(finding.RunsProjectCode) {
		s.Found.Add(finding.WritesAndRuns)
	}
}

// fetched notes that git fetched what others wrote: once that is there, each command of git that
// changes the working tree may put it among the project's code.
func (s *flow) fetched(base string, found finding.Set) {
	if base == "git" {
		s.fetchedByGit = s.fetchedByGit || found.Has(finding.NetworkRead)
		s.writes = s.writes || s.fetchedByGit && found.Has(finding.LocalGit)
	}
}

// move goes to another directory. In a loop or a function that cannot be followed, and if the word
// may be anything, it is open which directory the line is in.
func (s *flow) move(f frame, w workspace.Word) {
	if s.eachDir(w) {
		w = workspace.Word{Text: w.Text} // as the name of one of them, which begins with no dot
	}
	s.Place.Move(w, !f.repeats() && w.Kind != workspace.Computed)
}

// eachDir reports a glob for the directories in one of the workspace that contain no file of the
// desk: a loop's "packages/*/", in quotes.
func (s *flow) eachDir(w workspace.Word) bool {
	parent, ok := strings.CutSuffix(strings.TrimSuffix(w.Text, "/"), "*")
	if !ok || w.Kind != workspace.Pattern || strings.ContainsAny(parent, "*?[") {
		return false
	}
	named := parent != "" && !strings.HasSuffix(parent, "/")
	if named || w.Listed || w.Tilde {
		return false
	}
	dir := workspace.Word{Text: path.Clean("./" + parent)}
	if strings.HasPrefix(parent, "/") {
		dir.Text = path.Clean(parent)
	}
	if !s.Place.LocalDir(dir) || workspace.Hidden("/"+parent) {
		return false
	}
	clear := true
	s.Place.Resolve(dir, func(file string, open bool) { clear = clear && !open && !s.Own.Below(file, true) })
	return clear
}
