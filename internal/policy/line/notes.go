package line

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"approvalbot/internal/approval"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/workspace"
)

// Notes say what the findings of a call come from: commands and redirections as they are written, and words of them.
// They are gathered in a second reading, of a call that a person is asked about; they decide no call.
type Notes struct {
	List   []Note // what is inside comes before what it is inside of
	Unsure int    // how many bytes of the line end with the byte from which shells may read it otherwise; 0: not known
	Runs   Note   // the command that runs what is not read, with what was fetched before as its words

	text  string // the call's own line
	base  int    // the position in it of the line that is read now; -1: not known
	span  span   // of the call's line: the command that is read now
	words []NotedWord
	begun bool
	home  []string // the directories in which the call may begin
}

// Note is a command or a statement, with the findings that come from it but not from what is inside
// it.
type Note struct {
	Codes finding.Set
	Text  string           // as it is written, of several lines the first; empty: that is not known
	Line  int              // of the call's line, from 1; 0: not known
	Last  int              // the line on which it ends; 0: not known
	Args  []workspace.Word // of a command: its words as they run, the name first
	Words []NotedWord      // that findings come from
	Moved bool             // it does not run in the directory in which the call begins
	Went  workspace.Went   // how commands changed that
}

// NotedWord is a path, an address or a name with the findings that come from it.
type NotedWord struct {
	Codes finding.Set
	Text  string
}

// span is a stretch of bytes of the call's line; not set if to is 0.
type span struct{ from, to int }

// notes gives the Notes to write to; nil if none are taken, or if the frame is only
// searched.
func (v *verdict) notes(f frame) *Notes {
	if v.seen == nil || f.searching {
		return nil
	}
	return v.seen.Notes
}

// level is a command or a statement that is read while notes are taken.
type level struct {
	found         finding.Set
	notes, words  int
	span          span
	fetched, runs bool
}

// opens begins to read a command or a statement: what is found from here on is its own.
func (s *Reading) opens(n *Notes) level {
	if !n.begun {
		n.begun, n.home = true, s.Place.Dirs
	}
	l := level{s.Found, len(n.List), len(n.words), n.span, s.fetches, s.runs}
	s.Found = finding.Set{}
	return l
}

// closes notes what was found since the level was opened, and not by what is inside of it.
func (s *Reading) closes(n *Notes, l level, args []workspace.Word) {
	var inside finding.Set
	for i := range n.List[l.notes:] {
		inside = inside.Or(n.List[l.notes+i].Codes)
	}
	own := s.Found.Without(inside)
	for _, w := range n.words[l.words:] {
		own = own.Or(w.Codes)
	}
	fetches, runs := s.fetches && !l.fetched, s.runs && !l.runs
	if fetches && runs && n.Runs.Codes == (finding.Set{}) {
		n.Runs.Codes.Add(finding.RunsDownload)
		n.Runs.Text, n.Runs.Line = n.written()
		n.Runs.Words = n.fetched(l.notes)
	} else if runs && n.Runs.Codes == (finding.Set{}) {
		n.Runs.Text, n.Runs.Line = n.written()
		n.Runs.Words = n.fetched(0)
	}
	if own != (finding.Set{}) {
		note := Note{Codes: own, Args: slices.Clone(args), Words: slices.Clone(n.words[l.words:]),
			Moved: !slices.Equal(n.home, s.Place.Dirs), Went: s.Place.Went}
		note.Text, note.Line = n.written()
		if n.base >= 0 {
			_, note.Last = n.lines(n.span)
		}
		n.List = append(n.List, note)
	}
	s.Found = s.Found.Or(l.found)
	n.words, n.span = n.words[:l.words], l.span
}

// fetched gives the addresses that commands read, from the note of that index on.
func (n *Notes) fetched(from int) (list []NotedWord) {
	for i := range n.List[from:] {
		for _, w := range n.List[from+i].Words {
			if w.Codes.Has(finding.NetworkRead) {
				list = append(list, NotedWord{finding.Of(finding.RunsDownload), w.Text})
			}
		}
	}
	return list
}

// written gives the command that is read now as it is written, and its line.
func (n *Notes) written() (text string, line int) {
	if n.span.to == 0 {
		return "", 0
	}
	text, _, _ = strings.Cut(strings.TrimLeft(n.text[n.span.from:n.span.to], " \t\n"), "\n")
	text = strings.TrimRight(text, " \t\r")
	if ended := strings.TrimRight(text, ";&"); !strings.HasSuffix(ended, `\`) {
		text = strings.TrimRight(ended, " \t")
	}
	return text, 1 + strings.Count(n.text[:n.span.from], "\n")
}

// lines gives the lines on which a stretch begins and ends, from 1; 0 if it is not set.
func (n *Notes) lines(at span) (first, last int) {
	if at.to == 0 {
		return 0, 0
	}
	text := strings.TrimRight(n.text[at.from:at.to], "\n")
	first = 1 + strings.Count(n.text[:at.from], "\n")
	return first, first + strings.Count(text, "\n")
}

// Parts gives what was read of the text of a call with the lines that it is on. What several readings of the same
// statement found, as in a loop, is one part. If another text was read, no part has lines.
func (n *Notes) Parts(text string, commands []Command) (parts []approval.Part) {
	known := n.text == text
	index := map[span]int{}
	for _, c := range commands {
		if i, again := index[c.at]; again && c.at != (span{}) {
			parts[i].Class = max(parts[i].Class, c.Class)
			continue
		}
		index[c.at] = len(parts)
		p := approval.Part{Class: c.Class, Command: true}
		if known {
			p.From, p.To = n.lines(c.at)
		}
		parts = append(parts, p)
	}
	for i := range n.List {
		p := approval.Part{Class: n.List[i].Codes.Class()}
		if known && n.List[i].Last > 0 {
			p.From, p.To = n.List[i].Line, n.List[i].Last
		}
		parts = append(parts, p)
	}
	return parts
}

// begins notes the place of the statement that is read next, with the text that it is given below.
func (n *Notes) begins(st *syntax.Stmt) {
	from, to := int(st.Pos().Offset()), int(st.End().Offset())
	for _, r := range st.Redirs {
		to = max(to, int(r.End().Offset()))
	}
	if n.base >= 0 && from < to && n.base+to <= len(n.text) {
		n.span = span{n.base + from, n.base + to}
	}
}

// hidden notes a comment with shell code in it.
func (n *Notes) hidden(c *syntax.Comment) {
	before := n.span
	if from := n.base + int(c.Pos().Offset()); n.base >= 0 && from < len(n.text) {
		n.span = span{from, min(len(n.text), n.base+int(c.End().Offset()))}
		note := Note{Codes: finding.Of(finding.HiddenInComment)}
		note.Text, note.Line = n.written()
		n.List = append(n.List, note)
	}
	n.span = before
}

// enters notes the position of the line that is read next: in the command that is read now, if it is
// there once.
func (n *Notes) enters(text string) (before int) {
	before = n.base
	switch in := n.text[n.span.from:n.span.to]; {
	case n.text == "":
		n.text, n.base = text, 0
	case strings.Count(in, text) == 1:
		n.base = n.span.from + strings.Index(in, text)
	default:
		n.base = -1
	}
	return before
}

// Rest gives the words that findings come from and that are in no command.
func (n *Notes) Rest() []NotedWord { return n.words }

// Word notes a word that findings come from.
func (n *Notes) Word(codes finding.Set, text string) {
	if codes != (finding.Set{}) {
		n.words = append(n.words, NotedWord{codes, text})
	}
}
