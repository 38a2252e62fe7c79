package line

import (
	"bytes"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"approvalbot/internal/approval"
	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/budget"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/program"
	grammar "approvalbot/internal/policy/shell"
	"approvalbot/internal/policy/workspace"
)

// verdict is what was found in one call, and what its reading has cost so far. All frames share
// it, and no finding is taken back.
type verdict struct {
	wide  *Wide
	steps *budget.Budget
	seen  *Seen // what rules and grants look at; may be nil

	AsksCode  bool     // the project's own code is to be asked for
	Terminal  bool     // the call may have a terminal, and what is typed there is not seen
	OfProject []string // names of programs that the asker's PATH finds in the project, so they run its code
	brought   bool     // any may be from now on
	Text      string   // of the call without quotes, if there are such folders

	Found          finding.Set
	Unsure         grammar.Refusal // why a line is not sure to run as it was read
	OutsideProgram bool            // a program was run by a path that is not in the workspace
	scripted       bool            // a script of the project was run by its path
	settings       bool            // a computed word ends in the name of a runtime's settings

	Commands int              // how many simple commands were judged
	Parsed   int              // how many bytes were parsed
	rounds   int              // how many rounds of loops were judged
	scanned  string           // the text that scan looked through last
	arena    []workspace.Word // memory for the words that are read
}

// agree compares the parser's reading of a line with that of the plain reader. It is sure that
// every shell runs what was read only if both are the same.
func (v *verdict) agree(f frame, text string, file *syntax.File) {
	if f.searching || v.Unsure.What != "" {
		return
	}
	b := v.wide.forms.Get().(*forms)
	defer v.wide.forms.Put(b)
	form, why, ok := grammar.Plain(b.plain[:0], text, v.steps)
	switch {
	case !ok:
		v.Unsure = why
	case !bytes.Equal(form, grammar.Parsed(b.parsed[:0], file)):
		v.Unsure = grammar.Refusal{What: "what parsers read in two ways"}
	}
}

// comments looks for shell code that is hidden in comments: it would run in a shell that knows no
// comments. A backslash at a comment's end joins it with the next line to the parser, and to no
// shell.
func (v *verdict) comments(f *syntax.File) {
	syntax.Walk(f, func(n syntax.Node) bool {
		c, ok := n.(*syntax.Comment)
		if ok && strings.Contains(c.Text, "\n") {
			v.Found.Add(finding.UnusualShell) // no comment to any shell
		}
		switch {
		case !ok:
		case strings.ContainsAny(c.Text, ";&|`\n") || strings.Contains(c.Text, "$(") || redirects.MatchString(c.Text):
			v.Found.Add(finding.HiddenInComment)
			if v.seen != nil && v.seen.Notes != nil {
				v.seen.Notes.hidden(c)
			}
		case strings.Contains(c.Text, `\`):
			v.Found.Add(finding.UnusualShell)
		}
		return true
	})
}

// redirects finds what could be a redirection, and is no arrow.
var redirects = lazy.Pattern(`(?:^|[\s\d])[<>]`)

// background looks for words after "&>". If a shell knows no such operator, "&" ends the command
// and they are the next one.
func (v *verdict) background(redirs []*syntax.Redirect, args []*syntax.Word) {
	for _, r := range redirs {
		if takesErrors(r) && len(args) > 0 && args[len(args)-1].Pos().After(r.OpPos) {
			v.Found.Add(finding.UnusualShell)
		}
	}
}

// subscripts looks for "$a[x]": if it is a subscript, x is evaluated.
func (v *verdict) subscripts(parts []syntax.WordPart) {
	for i, p := range parts {
		if q, ok := p.(*syntax.DblQuoted); ok {
			v.subscripts(q.Parts)
		}
		if l, ok := p.(*syntax.Lit); ok && i > 0 && strings.HasPrefix(l.Value, "[") {
			if e, ok := parts[i-1].(*syntax.ParamExp); ok && e.Short {
				v.Found.Add(finding.UnusualShell)
			}
		}
	}
}

// single checks a single-quoted string: if a backslash precedes the closing quote, some shells
// read on.
func (v *verdict) single(p *syntax.SglQuoted) {
	if strings.HasSuffix(p.Value, `\`) {
		v.Found.Add(finding.UnusualShell)
	}
}

// types notes a program that takes commands from a terminal, if the call may have one. Of a call
// that asks anyway it notes more programs, for people to know.
func (v *verdict) types(f frame, base string, args []workspace.Word) {
	if !v.Terminal || f.searching {
		return
	}
	all := append([]workspace.Word{{Text: base}}, args...)
	asks := v.Found.Class() >= approval.R3 && program.IsWrapper(base) && !OpensLine(all)
	if asks || program.TakesTyping(base, args, f.beforePipe) {
		v.Found.Add(finding.TakesTyping)
	}
}
