package line

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"approvalbot/internal/approval"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/program"
	"approvalbot/internal/policy/workspace"
)

// Line judges a shell line and every command in it.
func (s *Reading) Line(text string) { s.line(frame{}, text) }

// Argv judges a program with its words exactly as they are.
func (s *Reading) Argv(args []string, size int) {
	if size > MaxLine {
		s.Found.Add(finding.CommandTooLong)
		return
	}
	words := make([]workspace.Word, len(args))
	for i, a := range args {
		words[i] = workspace.Word{Text: a}
		if strings.IndexByte(a, 0) >= 0 {
			s.Found.Add(finding.ControlCharacters)
		}
	}
	s.simple(frame{}, words)
}

// Word reads one word of a line and judges the commands inside it.
func (s *Reading) Word(w *syntax.Word) workspace.Word { return s.word(frame{}, w) }

// Finish gives the findings. If a part could not be read, its text decides whether that is worse
// than unknown. A line that was read and that shells may read otherwise is unusual, and no worse.
func (s *Reading) Finish(text string) finding.Set {
	saves := finding.Of(finding.SavesDownload, finding.WorkspaceWrite, finding.ScratchWrite, finding.WritesOutside)
	saved := s.Found.Any(saves)
	runsSaved := saved && (s.scripted || s.Found.Has(finding.ProgramByPath))
	if s.fetches && (s.runs || runsSaved) {
		s.Found.Add(finding.RunsDownload)
	}
	// Others run it by its name, also before in the line, or another call does meanwhile. What has another name asks when it runs.
	if slices.ContainsFunc(s.PutNames, func(name string) bool { return s.wide.Rules(name) != nil }) {
		s.Found.Add(finding.WritesStartup)
	}
	if s.fetches && s.saves {
		s.Found.Add(finding.SavesDownload)
	}
	if s.settings && s.Found.Without(finding.OnlyReads).Class() >= approval.R3 {
		s.Found.Add(finding.WritesAgentSettings)
	}
	if s.Found.Any(finding.Opaque) {
		s.scan(text)
		if bare := unquoted.Replace(text); bare != text {
			s.scan(bare) // quotes in the middle of a word do not hide it
		}
	}
	if s.Unsure.What != "" {
		s.Found.Add(finding.UnusualShell)
	}
	return s.Found
}

// LeavesWorkspace reports whether a line that shells may read in several ways could have an effect
// outside in one of them: whether any of its words, if it is taken for a command with what
// follows, is known to have one.
func (s *Reading) LeavesWorkspace(text string) bool {
	other := s.wide.Read(s.steps, s.Place, nil, nil)
	f := frame{searching: true}
	for _, t := range [...]string{text, unquoted.Replace(text)} {
		other.scan(t)
		var words []workspace.Word
		for w := range strings.FieldsFuncSeq(t, func(r rune) bool { return strings.ContainsRune(" \t\n;&|()<>`'\"{}$", r) }) {
			words = append(words, workspace.Word{Text: w})
		}
		for i := range words {
			if base := program.ProgramOf(words[i]); s.wide.Rules(base) != nil || s.Own.IsProgram(base) {
				other.judge(f, words[i:min(len(words), i+maxNestedWords)])
			}
		}
	}
	return other.Found.Or(s.Found).Effects()&finding.Outside != 0 || other.Found.Has(finding.TooComplex)
}
