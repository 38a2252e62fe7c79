package display

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// bareText is a text without its invisible characters, and the position of each
// of its bytes in the whole text.
type bareText struct {
	text string
	at   []int
}

// bare removes from s the characters that a reader does not see, raw or written
// as an escape; white space stays. It reports false if s has no such
// characters.
func bare(s string) (bareText, bool) {
	if !mayHaveInvisible(s) {
		return bareText{}, false
	}
	b := bareText{at: make([]int, 0, len(s))}
	text := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		size, invisible := nextCharacter(s[i:])
		if !invisible {
			for k := i; k < i+size; k++ {
				b.at = append(b.at, k)
			}
			text = append(text, s[i:i+size]...)
		}
		i += size
	}
	b.text = string(text)
	return b, len(text) < len(s)
}

// spans maps a stretch of the bare text to the stretches of the whole one. It
// includes the invisible characters in between, as long as that hides neither
// too much nor control characters.
func (b bareText) spans(whole string, of span) []span {
	from, to := b.at[of.from], b.at[of.to-1]+1
	if isFaint(whole[from:to]) && utf8.RuneCountInString(whole[from:to]) <= longest {
		return []span{{from, to}}
	}
	var out []span
	for _, at := range b.at[of.from:of.to] {
		if n := len(out); n > 0 && out[n-1].to == at {
			out[n-1].to++
			continue
		}
		out = append(out, span{at, at + 1})
	}
	return out
}

// isFaint reports whether all of s is plain or merely invisible.
func isFaint(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return !isPlain(r) || unicode.IsControl(r) || r == utf8.RuneError
	})
}

func mayHaveInvisible(s string) bool {
	for i := range len(s) {
		if c := s[i]; c >= 0x7F || c < ' ' && !isBlank(rune(c)) {
			return true
		}
	}
	return strings.Contains(s, `\u{`) || strings.Contains(s, `\x{`)
}

// nextCharacter returns the size of the first character of s, and whether it is
// invisible without being white space. An escape counts as the character that
// it represents.
func nextCharacter(s string) (size int, invisible bool) {
	if size, r := readEscape(s); size > 0 {
		return size, isInvisible(r)
	}
	r, size := utf8.DecodeRuneInString(s)
	return size, isInvisible(r) || r == utf8.RuneError && size == 1
}

func isInvisible(r rune) bool { return isConcealed(r) && !isBlank(r) }

// readEscape reads an escape as Escape writes it. Its size is 0 if s does not
// start with one; a byte that was not UTF-8 is given as U+0000.
func readEscape(s string) (size int, r rune) {
	if !strings.HasPrefix(s, `\u{`) && !strings.HasPrefix(s, `\x{`) {
		return 0, 0
	}
	end := strings.IndexByte(s[:min(len(s), 12)], '}')
	if end < 0 {
		return 0, 0
	}
	code, err := strconv.ParseUint(s[3:end], 16, 32)
	if err != nil || code > utf8.MaxRune {
		return 0, 0
	}
	if s[1] == 'x' {
		code = 0
	}
	return end + 1, rune(code)
}
