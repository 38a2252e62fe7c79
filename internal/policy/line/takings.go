package line

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"approvalbot/internal/policy/workspace"
)

// taking says how a shell takes words that shells take differently.
type taking uint8

const (
	asWritten taking = iota // a brace list is its words, as in bash, zsh and mksh
	shallow                 // the same, and "**/" is no directory at all, as it may be in zsh
	literally               // braces mean themselves, as in dash and busybox
	takings
)

// signs are what makes words differ that are taken so.
var signs = [takings]string{shallow: "**/", literally: "{"}

// differs reports words that this way of taking them makes others of.
func (k taking) differs(args []*syntax.Word) bool {
	if k == asWritten {
		return true
	}
	for _, w := range args {
		for _, p := range w.Parts {
			if l, ok := p.(*syntax.Lit); ok && strings.Contains(l.Value, signs[k]) {
				return true
			}
		}
	}
	return false
}

// takes judges a command once for each way in which shells take its words. What a command lists is
// known only if it lists something in each of them.
func (s *Reading) takes(f frame, args []*syntax.Word) {
	input, printed, silent := s.input, []workspace.Word(nil), true
	for how := range takings {
		if !how.differs(args) {
			continue
		}
		if how != asWritten {
			s.input = input
			if s.seen != nil {
				s.seen.Apart = true
			}
		}
		start := len(s.arena)
		s.arena = s.appendWord(f, s.arena, args[0])
		for _, w := range args[1:] {
			s.arena = s.taken(f, s.arena, w, how)
		}
		words := s.arena[start:len(s.arena):len(s.arena)]
		if how == shallow {
			flatten(words)
		}
		s.printed = nil
		s.simple(f, words)
		s.arena = s.arena[:start]
		if how != asWritten && (len(printed) == 0 || len(s.printed) == 0) {
			s.printed = nil
		}
		silent = silent && s.silent
		printed = append(printed[:len(printed):len(printed)], s.printed...)
		s.printed = printed
	}
	s.silent = silent
}

// taken reads a word and adds what it becomes.
func (s *Reading) taken(f frame, list []workspace.Word, w *syntax.Word, how taking) []workspace.Word {
	before, words, after := braceList(w)
	if words == nil {
		return s.appendWord(f, list, w)
	}
	if how == literally {
		return append(list, s.word(f, bare(before+`\{`+strings.Join(words, ",")+"}"+after)))
	}
	for _, inside := range words {
		if text := before + inside + after; text != "" {
			list = append(list, s.word(f, bare(text)))
		}
	}
	return list
}

// bare is a word without quotes.
func bare(text string) *syntax.Word {
	return &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{Value: text}}}
}

// flatten takes "**/" out of patterns.
func flatten(words []workspace.Word) {
	for i, w := range words {
		text := strings.ReplaceAll(strings.TrimPrefix(w.Text, "**/"), "/**/", "/")
		if w.Kind == workspace.Pattern && text != w.Text && text != "" {
			words[i].Text = text
			if !strings.ContainsAny(text, "*?[") {
				words[i].Kind = workspace.Literal
			}
		}
	}
}
