package display

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/unicode/runenames"

	"approvalbot/internal/lazy"
)

// longestWord is how much of a word a finding quotes.
const longestWord = 32

var escapes = lazy.Pattern(`\\u\{[0-9A-F]{1,6}\}`)

// Lookalikes names characters that pose as others: letters of another script in
// a word, words that are written wholly with letters that look like those of an
// ASCII command, full-width and mathematical letters, marks that strike or
// change a letter, and variation selectors. It reads raw text and text from
// Escape. Each finding is one sentence about one word, which is quoted escaped
// and without secrets; there are at most limit of them, and if there are more
// words, one more that says "and N more". A sentence in another script is not
// reported, nor are words that mix in Chinese, Japanese or Korean.
func Lookalikes(s string, limit int) []string {
	s = Redact(escapes.ReplaceAllStringFunc(s, raw))
	var findings []string
	seen, more := map[string]bool{}, 0
	words := strings.FieldsFunc(s, func(r rune) bool { return !isWordRune(r) })
	for _, word := range append(words, dashed(s)...) {
		r := impostor(word)
		switch {
		case r == 0 || seen[word]:
			continue
		case len(findings) >= limit:
			more++
		default:
			findings = append(findings, finding(word, r))
		}
		seen[word] = true
	}
	if more > 0 {
		findings = append(findings, fmt.Sprintf("and %d more", more))
	}
	return findings
}

// dashed gives the words that start like options, but with another dash.
func dashed(s string) []string {
	if !strings.ContainsFunc(s, isDashTwin) {
		return nil
	}
	words := strings.FieldsFunc(s, func(r rune) bool { return !isDashTwin(r) && r != '-' && !isWordRune(r) })
	return slices.DeleteFunc(words, func(word string) bool { return dashTwin(word) == 0 })
}

// dashTwin gives the look-alike that replaces an option's dash, or 0.
func dashTwin(word string) rune {
	dash, size := utf8.DecodeRuneInString(word)
	option := size < len(word) && (isAlnum(word[size]) || word[size] == '-')
	if option && isDashTwin(dash) {
		return dash
	}
	return 0
}

func isDashTwin(r rune) bool { return r >= 0x2010 && r <= 0x2015 || r == 0x2212 }

// raw gives the character for an escape.
func raw(escape string) string {
	if _, r := readEscape(escape); isConcealed(r) {
		return string(r)
	}
	return escape
}

// Hides reports whether a text has characters that a reader would miss or be misled by,
// beside line feeds and tabs. It reads raw text and text from Escape.
func Hides(s string) bool {
	if brokenByte.MatchString(s) {
		return true
	}
	for _, r := range escapes.ReplaceAllStringFunc(s, raw) {
		if isConcealed(r) && r != '\n' && r != '\t' {
			return true
		}
	}
	return false
}

// brokenByte is how Escape writes a byte that is not UTF-8.
var brokenByte = lazy.Pattern(`\\x\{[0-9A-F]{2}\}`)

// isWordRune reports whether words can contain r, which includes punctuation
// that poses as ASCII.
func isWordRune(r rune) bool {
	poses := r >= 0x80 && isConcealed(r) && !isBlank(r)
	return poses || unicode.In(r, unicode.L, unicode.M, unicode.N) || twins()[r] != 0
}

func finding(word string, r rune) string {
	word, _ = Clip(Escape(word), longestWord)
	sentence := fmt.Sprintf("\"%s\" contains U+%04X %s", word, r, runenames.Name(r))
	switch like := twin(r); {
	case isDashTwin(r):
		return sentence + `, which looks like "-"`
	case like != 0:
		return sentence + fmt.Sprintf(", which looks like \"%c\"", like)
	case unicode.Is(unicode.Variation_Selector, r):
		return sentence + ", which is invisible"
	case unicode.IsMark(r):
		return sentence + ", a mark that changes the character before it"
	}
	return sentence + ", a letter of another script"
}

// impostor gives the first character of a word that poses as another, or 0.
func impostor(word string) rune {
	if isASCII(word) {
		return 0
	}
	if dash := dashTwin(word); dash != 0 {
		return dash
	}
	word = norm.NFC.String(word) // a text of marks alone has no base letter
	var latin, foreign *unicode.RangeTable
	var odd, before rune
	for _, r := range word {
		script := scriptOf(r)
		switch {
		case isDisguise(before, r):
			return r
		case script == unicode.Latin:
			latin = script
		case script != nil && foreign != nil && script != foreign:
			return firstTwin(word, r)
		case script != nil && odd == 0:
			odd, foreign = r, script
		}
		before = r
	}
	if odd != 0 && (latin != nil || posesAsCommand(word)) {
		return firstTwin(word, odd)
	}
	return 0
}

// isDisguise reports whether r has no honest place after before.
func isDisguise(before, r rune) bool {
	switch {
	case unicode.Is(unicode.Variation_Selector, r), r >= 0x334 && r <= 0x338, unicode.Is(unicode.Me, r):
		return true
	case unicode.IsMark(r):
		return unicode.Is(unicode.Inherited, r) && (before < 0x80 || unicode.Is(unicode.Latin, before))
	case unicode.IsLetter(r) || unicode.IsNumber(r):
		return styled(r) != 0 || unicode.Is(unicode.Latin, r) && twins()[r] != 0
	}
	return twins()[r] != 0 // punctuation
}

// firstTwin gives the first letter of word with a twin, or else r.
func firstTwin(word string, r rune) rune {
	for _, c := range word {
		if twin(c) != 0 {
			return c
		}
	}
	return r
}

// posesAsCommand reports whether a word without Latin letters reads as ASCII.
func posesAsCommand(word string) bool {
	var skeleton strings.Builder
	same := true
	for _, r := range word {
		like := r
		if r >= 0x80 {
			like = twins()[r]
		}
		if like == 0 {
			return false
		}
		same = same && (r < 0x80 || strings.ContainsRune(identical, r))
		skeleton.WriteRune(like)
	}
	return same && skeleton.Len() > 2 || commands.Has(strings.ToLower(skeleton.String()))
}

// scriptOf gives the script of a letter, all but the common ones being one; nil
// for characters of any text, and for Chinese, Japanese and Korean.
func scriptOf(r rune) *unicode.RangeTable {
	if !unicode.IsLetter(r) || unicode.In(r, unicode.Common, unicode.Inherited, unicode.Han,
		unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo) {
		return nil
	}
	for _, script := range []*unicode.RangeTable{unicode.Latin, unicode.Cyrillic, unicode.Greek} {
		if unicode.Is(script, r) {
			return script
		}
	}
	return unicode.L
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// SameLetters reports whether two texts are the same letters, as é in one piece or as an e with its accent.
func SameLetters(a, b string) bool { return norm.NFC.String(a) == norm.NFC.String(b) }

// RightToLeft reports whether a text has letters that are written from right to left: characters beside them may be
// drawn in another order than they are read.
func RightToLeft(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool {
		return r >= 0x590 && (r <= 0x8FF || r >= 0xFB1D && r <= 0xFDFF || r >= 0xFE70 && r <= 0xFEFE || r >= 0x10800 && r <= 0x10FFF ||
			r >= 0x1E800 && r <= 0x1EFFF)
	})
}
