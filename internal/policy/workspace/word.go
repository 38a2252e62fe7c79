package workspace

import (
	"regexp"
	"slices"
	"strings"

	"approvalbot/internal/policy/words"
)

// Kind says how much of a word is known before it runs.
type Kind uint8

const (
	Literal  Kind = iota // all of it
	Pattern              // a glob: text is the pattern
	Computed             // text is the part before the first expansion
)

// Word is one word of a command, after quotes and escapes.
type Word struct {
	Text   string
	Kind   Kind
	Split  bool // may become several words, or no word
	Tilde  bool // starts with an unquoted ~
	Plain  bool // starts with a loop's variable that never holds an option
	Status bool // is the status of a command, a number; outside of quotes it may become no word
	// Listed says that a program printed it: it may begin with a dash, and be a part of
	// a name with blanks.
	Listed bool
	// Sample is an example of a computed word. It is set if all that is computed in the
	// word are numbers, hashes and dates: with any of them, the word reads the same. Split
	// says that it may become no word.
	Sample string
}

// known gives the text of a word that is not computed; the empty text otherwise.
func (w Word) known() string {
	if w.Kind == Computed {
		return ""
	}
	return w.Text
}

// MayBeOption reports whether the word could start with a dash when it runs.
func (w Word) MayBeOption() bool {
	switch w.Kind {
	case Literal:
		return len(w.Text) > 1 && w.Text[0] == '-'
	case Pattern:
		return w.Listed || w.Text[0] == '-' || strings.IndexByte("*?[", w.Text[0]) >= 0
	}
	if w.Sample != "" {
		return w.Sample[0] == '-'
	}
	if w.Text == "" {
		return w.Split || !w.Plain
	}
	return w.Split || w.Text[0] == '-'
}

// Sampled gives the sample of a word that has one, and of all others the word.
func (w Word) Sampled() Word {
	if w.Sample != "" {
		return Word{Text: w.Sample}
	}
	return w
}

// Several reports whether the word may become several words when it runs, or no word.
func (w Word) Several() bool { return w.Split || w.Kind == Pattern }

// Exact reports a word that is known as it is written: no part of it is computed, a glob,
// or a ~ for a home directory.
func (w Word) Exact() bool { return w.Kind == Literal && !w.Tilde }

// Fits reports a word that is written out and that a pattern matches.
func (w Word) Fits(pattern *regexp.Regexp) bool {
	return w.Kind == Literal && pattern.MatchString(w.Text)
}

// Number reports a word of digits that is written out.
func (w Word) Number() bool { return w.Kind == Literal && words.Digits(w.Text) }

// Is reports whether the word is exactly that text.
func (w Word) Is(text string) bool { return w.Kind == Literal && w.Text == text }

// IsAny reports whether the word is exactly one of some texts.
func (w Word) IsAny(some ...string) bool { return w.Kind == Literal && slices.Contains(some, w.Text) }

// Fixed reports a word that no name of a file can be, in part or whole: one that is
// written out, or has the signs of a glob only as a pattern says.
func (w Word) Fixed(signs *regexp.Regexp) bool {
	if w.Kind == Pattern {
		return !w.Listed && signs.MatchString(w.Text)
	}
	return w.Kind == Literal
}

// MayBecome reports a word that is not that text as it is written, but may be when it runs.
func (w Word) MayBecome(text string) bool {
	switch w.Kind {
	case Computed:
		return w.Split || strings.HasPrefix(text, w.Text)
	case Pattern:
		return w.Split || Matches(w.Text, text)
	}
	return w.Split
}
