package line

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/words"
	"approvalbot/internal/policy/workspace"
)

// Word reads one word of the line and judges the commands inside it.
func (s *Reading) word(f frame, w *syntax.Word) workspace.Word {
	s.steps.Step()
	if len(w.Parts) == 1 {
		switch p := w.Parts[0].(type) {
		case *syntax.Lit:
			if !HasSpecial(p.Value) {
				return workspace.Word{Text: p.Value}
			}
		case *syntax.SglQuoted:
			if !p.Dollar {
				s.single(p)
				return workspace.Word{Text: p.Value}
			}
		}
	}
	b := joiner{s: s, f: f}
	for i, p := range w.Parts {
		b.part(p, i == 0)
	}
	s.subscripts(w.Parts)
	b.out.Status = status(w.Parts)
	if b.out.Kind == workspace.Computed {
		end := workspace.FoldPath(lastText(w.Parts))
		if s.Own.IsClient(end) {
			s.Found.Add(finding.TouchesDesk) // as in $HOME/.config/approvalbot/client.yaml
		}
		s.settings = s.settings || workspace.SettingsPath(end)
	}
	return b.word()
}

// joiner puts a word together from its parts.
type joiner struct {
	s    *Reading
	f    frame
	text []byte
	out  workspace.Word

	brace    int  // the index after an unquoted brace that opened
	brackets bool // an unquoted [ was there

	sample  []byte // the whole word, with samples of what is computed
	sampled bool   // all that was computed so far has one
}

func (b *joiner) part(p syntax.WordPart, first bool) {
	switch p := p.(type) {
	case *syntax.Lit:
		b.lit(p.Value, first)
	case *syntax.SglQuoted:
		b.s.single(p)
		if p.Dollar {
			b.s.Found.Add(finding.UnusualShell)
			b.compute(false)
		}
		b.quoted(p.Value)
	case *syntax.DblQuoted:
		if p.Dollar {
			b.s.Found.Add(finding.UnusualShell)
			b.compute(false)
		}
		for i, q := range p.Parts {
			if l, ok := q.(*syntax.Lit); ok {
				b.quoted(unescape(l.Value))
				continue
			}
			b.s.expansion(b.f, q)
			if !b.takes(q, true) && !b.value(q, true) {
				b.loops(q, first && i == 0)
				b.compute(splits(q))
			}
		}
	case *syntax.ProcSubst:
		b.s.process(b.f, p)
		b.quoted("/dev/fd/63")
	default:
		b.s.expansion(b.f, p)
		if b.takes(p, false) || b.value(p, false) {
			return
		}
		_, number := p.(*syntax.ArithmExp)
		b.compute(!number && !b.loops(p, first))
	}
}

// lit adds unquoted text: it may be escaped, a glob, a brace expansion.
func (b *joiner) lit(v string, first bool) {
	for i := 0; i < len(v); i++ {
		c, begins := v[i], first && i == 0
		switch {
		case c == '\\':
			if i++; i == len(v) || v[i] == '\n' {
				continue
			}
			if c = v[i]; words.WordByte(c) { // \x2e is a dot to some shells
				b.s.Found.Add(finding.UnusualShell)
			}
		case strings.IndexByte("<>()&;|", c) >= 0: // text to the parser, and perhaps a command to the shell
			b.s.Found.Add(finding.UnusualShell)
		case c == '$' || c == '`':
			b.compute(true)
		case b.out.Kind == workspace.Computed && strings.IndexByte("*?[", c) >= 0, b.sampled && c == '{':
			b.compute(true)
		case b.out.Kind == workspace.Computed:
		case c == '*' || c == '?':
			b.out.Kind = workspace.Pattern
		case c == '[':
			b.brackets = true
		case c == '~' && begins:
			b.out.Tilde = true
		case c == '=' && begins && nameBegins(words.At(v, 1)): // zsh: the path of that program
			b.compute(false)
		case c == '{' && b.brace == 0:
			b.brace = len(b.text) + 1
		case b.brace > 0 && (c == ',' || strings.HasPrefix(v[i:], "..")):
			b.text = b.text[:b.brace-1]
			b.compute(true)
		}
		if b.out.Kind != workspace.Computed {
			b.text = append(b.text, c)
		} else if b.sampled {
			b.sample = append(b.sample, c)
		}
	}
}

// quoted adds text that means itself.
func (b *joiner) quoted(text string) {
	if b.out.Kind != workspace.Computed {
		b.text = append(b.text, text...)
	} else if b.sampled {
		b.sample = append(b.sample, text...)
	}
}

// takes adds what is computed, if a sample says how it reads.
func (b *joiner) takes(p syntax.WordPart, inQuotes bool) bool {
	sub, ok := p.(*syntax.CmdSubst)
	known := b.sampled || b.out.Kind == workspace.Literal
	begun := b.out.Tilde || b.brackets || b.brace > 0
	if !ok || !known || begun {
		return false
	}
	text, always := sample(sub.Stmts)
	if text == "" {
		return false
	}
	if !b.sampled {
		b.sample = append(b.sample, b.text...)
	}
	b.out.Kind, b.sampled = workspace.Computed, true
	mayVanish := !inQuotes && !always && len(b.sample) == 0
	b.out.Split = b.out.Split || mayVanish
	b.sample = append(b.sample, text...)
	return true
}

// value adds what a loop gives its variable in this round, as far as that is known.
// Outside quotes a name is split at its blanks.
func (b *joiner) value(p syntax.WordPart, inQuotes bool) bool {
	name, ok := bareVariable(p)
	v, known := b.f.bound[name]
	if !ok || !known || b.out.Kind == workspace.Computed {
		return false
	}
	b.text = append(b.text, v.Text...)
	b.out.Kind = max(b.out.Kind, v.Kind)
	names := v.Kind == workspace.Pattern && !inQuotes
	b.out.Listed = b.out.Listed || v.Listed || names
	return true
}

// loops reports a loop's plain variable, which stays one word.
func (b *joiner) loops(p syntax.WordPart, first bool) bool {
	name, ok := bareVariable(p)
	ok = ok && b.f.oneWord[name]
	b.out.Plain = b.out.Plain || ok && first
	return ok
}

// compute ends the known part of the word. If that has signs of a glob, the word becomes as many as
// there are names.
func (b *joiner) compute(split bool) {
	b.sampled = false
	glob := b.out.Kind == workspace.Pattern || b.brackets
	b.out.Split = b.out.Split || split || glob
	b.out.Kind = workspace.Computed
}

func (b *joiner) word() workspace.Word {
	b.out.Text = string(b.text)
	if b.sampled {
		b.out.Sample = string(b.sample)
	}
	closed := strings.IndexByte(b.out.Text, ']') > strings.IndexByte(b.out.Text, '[')
	if b.brackets && closed && b.out.Kind == workspace.Literal {
		b.out.Kind = workspace.Pattern
	}
	return b.out
}
