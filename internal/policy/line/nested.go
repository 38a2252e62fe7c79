package line

import (
	"strings"

	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/program"
	"approvalbot/internal/policy/workspace"
)

// LeavesWorkspace reports whether a line that shells may read in several ways could have an
// effect outside in one of them: whether any of its words, taken for a command with
// what follows, is known to have one.
func (s *Reading) LeavesWorkspace(text string) bool {
	h := s.wide.Read(s.steps, s.Place, nil, nil)
	f := frame{searching: true}
	for _, t := range [...]string{text, unquoted.Replace(text)} {
		h.scan(t)
		var words []workspace.Word
		for w := range strings.FieldsFuncSeq(t, func(r rune) bool { return strings.ContainsRune(" \t\n;&|()<>`'\"{}$", r) }) {
			words = append(words, workspace.Word{Text: w})
		}
		for i := range words {
			if base := program.ProgramOf(words[i]); s.wide.Rules(base) != nil || s.Own.IsProgram(base) {
				h.judge(f, words[i:min(len(words), i+maxNestedWords)])
			}
		}
	}
	return h.Found.Or(s.Found).Effects()&finding.Outside != 0 || h.Found.Has(finding.TooComplex)
}
