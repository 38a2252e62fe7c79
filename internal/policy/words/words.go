package words

import (
	"slices"
	"strings"
)

// Set gives a set of words that a table or a caller gave; a variable of a package is a lazy.Set.
func Set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

func Digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// Any reports whether the text is one of some.
func Any(text string, some ...string) bool { return slices.Contains(some, text) }

// Begins reports text that begins with one of some.
func Begins(text string, some ...string) bool {
	return slices.ContainsFunc(some, func(one string) bool { return strings.HasPrefix(text, one) })
}

// Holds reports text that contains one of some.
func Holds(text string, some ...string) bool {
	return slices.ContainsFunc(some, func(one string) bool { return strings.Contains(text, one) })
}

// At gives one byte of text, 0 behind its end.
func At(text string, i int) byte {
	if i < len(text) {
		return text[i]
	}
	return 0
}

// ShortOptions gives the letters of options behind one dash, "rf" of -rf, and "" for any
// other word.
func ShortOptions(word string) string {
	if letters, dash := strings.CutPrefix(word, "-"); dash && At(letters, 0) != '-' {
		return letters
	}
	return ""
}

// ASCII reports text without any character beyond ASCII.
func ASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

func CutAny(s, chars string) string {
	if i := strings.IndexAny(s, chars); i >= 0 {
		return s[:i]
	}
	return s
}

// WordByte reports a letter, a digit or an underscore of ASCII.
func WordByte(c byte) bool { return c == '_' || Digit(c) || Letter(c) }

// Letter reports a letter of ASCII.
func Letter(c byte) bool { return Lower(c | 0x20) }

// Lower reports a small letter of ASCII.
func Lower(c byte) bool { return c >= 'a' && c <= 'z' }

// Digit reports a digit of ASCII.
func Digit(c byte) bool { return c >= '0' && c <= '9' }

// Star matches a pattern in which * means any text, over all of the name.
func Star(pattern, name string) bool {
	first, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == name
	}
	name, ok := strings.CutPrefix(name, first)
	if !ok {
		return false
	}
	for {
		part, more, star := strings.Cut(rest, "*")
		if !star {
			return strings.HasSuffix(name, part)
		}
		at := strings.Index(name, part)
		if at < 0 {
			return false
		}
		name, rest = name[at+len(part):], more
	}
}
