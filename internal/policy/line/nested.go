package line

import (
	"strings"

	"approvalbot/internal/approval"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/workspace"
)

// line judges a shell line and every command in it, at the depth of its frame.
func (s *Reading) line(f frame, text string) {
	n := s.notes(f)
	if n == nil {
		s.readLine(f, text)
		return
	}
	before, unsure, went := n.enters(text), s.Unsure, s.Place.Went
	s.readLine(f, text)
	s.Place.Went = s.Place.Went.Else(went) // a shell of its own, or this one
	if s.Unsure != unsure && n.base >= 0 {
		n.Unsure = n.base + s.Unsure.At + 1
	}
	n.base = before
}

func (s *Reading) readLine(f frame, text string) {
	f.bound, f.oneWord = nil, nil // another shell does not have the variables of this one
	if s.Parsed += len(text); len(text) <= MaxLine && s.Parsed > MaxParsed {
		s.Found.Add(finding.TooComplex)
		return
	}
	if c, ok := unreadable(text); ok {
		s.Found.Add(c)
		s.scan(text)
		return
	}
	if f.depth++; f.depth > maxDepth {
		s.Found.Add(finding.NestedTooDeep)
	} else if file := s.wide.Parse(text); file == nil {
		s.Found.Add(finding.UnparsableCommand)
		s.scan(text)
		s.stmts(f, s.wide.beginning(text))
	} else {
		s.agree(f, text, file)
		s.noteLine(f, file)
		s.stmts(f, file.Stmts)
		if strings.IndexByte(text, '#') >= 0 {
			s.comments(file)
		}
	}
}

// mayRunWords are the findings after which some word of a command may be run as one.
var mayRunWords = finding.OfClass[approval.R3].Without(finding.Of(finding.MayReadSecret, finding.SendsData,
	finding.ReadsSecret, finding.ReadsEnvironment, finding.TakesTyping, finding.OpensTerminal, finding.GitPush,
	finding.DynamicArgument, finding.DynamicPath, finding.HiddenInComment))

// maxEquals bounds after how many equals signs of a word a command may begin, as in
// --option=exec=command.
const maxEquals = 4

// searchNested looks for destructive commands in the words of one that asks anyway: after wrappers
// that policy does not know, and in words that are themselves shell lines. It only adds what is
// R4, and otherwise leaves no trace in the flow.
func (s *Reading) searchNested(f frame, args []workspace.Word) {
	outside, place, fetches, runs, silent := s.Found, s.Place, s.fetches, s.runs, s.silent
	f.searching = true
	noted := s.Noted
	s.Found, s.Noted = finding.Set{}, nil
	for i, w := range args[:min(len(args), maxNestedWords)] {
		if w.Kind == workspace.Computed || w.Text == "" {
			continue
		}
		if s.fetches, s.runs = false, false; w.Text[0] != '-' {
			s.inner(f, args[i:min(len(args), i+maxNestedWords)])
		}
		if s.fetches && s.runs { // one command that does both, as nc -e
			s.Found.Add(finding.RunsDownload)
		}
		if strings.ContainsAny(w.Text, " \t\n;&|`") {
			s.line(f, strings.TrimLeft(w.Text, "!")) // as git writes a command
			value, ok := w.Text, true
			for range maxEquals {
				if _, value, ok = strings.Cut(value, "="); !ok {
					break
				}
				s.line(f, strings.TrimLeft(value, "!"))
			}
		}
	}
	if s.Found.Any(finding.Opaque) {
		for _, w := range args {
			s.scan(w.Text)
		}
	}
	s.Noted = noted
	s.Place, s.fetches, s.runs, s.silent = place, fetches, runs, silent
	s.Found = s.Found.And(finding.OfClass[approval.R4]).Or(outside)
}
