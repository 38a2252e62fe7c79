package line

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"approvalbot/policy/workspace"
)

// taking says how a shell takes words that shells take differently.
type taking uint8

const (
	asWritten taking = iota
	shallow          // "**/" stands for no directory at all, as it may in zsh
	takings
)

// differs reports words that this way of taking them makes others of.
func (k taking) differs(args []*syntax.Word) bool {
	return k == asWritten || slices.ContainsFunc(args, func(w *syntax.Word) bool {
		return slices.ContainsFunc(w.Parts, func(p syntax.WordPart) bool {
			l, ok := p.(*syntax.Lit)
			return ok && strings.Contains(l.Value, "**/")
		})
	})
}

// takes judges a command once for each way in which shells take its words. What a
// command lists is known only where each way lists something.
func (s *Reading) takes(args []*syntax.Word) {
	input, printed := s.input, []workspace.Word(nil)
	for how := range takings {
		if !how.differs(args) {
			continue
		}
		if how != asWritten {
			s.input = input
		}
		start := len(s.words_)
		for _, w := range args {
			s.words_ = s.appendWord(s.words_, w)
		}
		words := s.words_[start:len(s.words_):len(s.words_)]
		if how == shallow {
			flatten(words)
		}
		s.printed = nil
		s.simple(words)
		s.words_ = s.words_[:start]
		if how != asWritten && (len(printed) == 0 || len(s.printed) == 0) {
			s.printed = nil
		}
		printed = append(printed[:len(printed):len(printed)], s.printed...)
		s.printed = printed
	}
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
