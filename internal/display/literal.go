package display

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// longest is the number of characters that one hidden stretch may have.
const longest = 200

// special are the ASCII characters that mean more to a shell than themselves.
var special = func() (set [utf8.RuneSelf]bool) {
	for _, c := range "\t\n\v\f\r $`();&|<>\\'\"*?[]{}" {
		set[c] = true
	}
	return set
}()

// isPlain reports whether r has no special meaning to a shell: it is no white
// space, quote, escape, expansion, pattern, redirection or separator.
func isPlain(r rune) bool {
	if r < utf8.RuneSelf {
		return !special[r]
	}
	return !isBlank(r)
}

// isLiteral reports whether r is such a character and no broken text.
func isLiteral(r rune) bool { return isPlain(r) && r != utf8.RuneError }

// isBlank reports whether r is white space of any kind, line and paragraph
// separators too.
func isBlank(r rune) bool {
	return unicode.IsSpace(r) || r > unicode.MaxLatin1 && unicode.Is(unicode.Z, r)
}

// hideable is the one condition for hiding text: that it is a plain literal of
// limited length. Other text is never hidden, even if a detector finds it.
func hideable(text string) bool {
	count, percents := 0, 0
	var before rune
	for i, r := range text {
		if !isLiteral(r) {
			return false
		}
		begins := i == 0 || before == ':' || before == '='
		if begins && r == '~' {
			return false // a home directory
		}
		if r == '%' && !isPercentEncoded(text[i:]) {
			percents++ // %NAME% is an expansion for cmd.exe
		}
		before = r
		count++
	}
	return count > 0 && count <= longest && percents < 2
}

func isPercentEncoded(s string) bool {
	return len(s) > 2 && isHex(s[1]) && isHex(s[2])
}

func isHex(c byte) bool {
	return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f'
}

// literalEnd returns the end of the run of plain characters that starts at i;
// the byte stop ends it too, unless it is 0. A run beyond all limits counts as
// empty.
func literalEnd(s string, i int, stop byte) int {
	end := i
	for count := 0; end < len(s); count++ {
		r, size := rune(s[end]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s[end:])
		}
		if stops := stop != 0 && r == rune(stop); stops || !isLiteral(r) {
			break
		}
		if count >= longest {
			return i
		}
		end += size
	}
	return end
}

// wordEnds reports whether the word, as a shell or a person would read it,
// ends at i, rather than going on with an expansion or an escape.
func wordEnds(s string, i int) bool {
	if i >= len(s) {
		return true
	}
	r, _ := utf8.DecodeRuneInString(s[i:])
	if r == '\\' {
		return quoteEnd(s, i) > i || isLineEscape(s[i:])
	}
	return isBlank(r) || strings.ContainsRune(";&|<>)]},\"'`", r)
}

// isLineEscape reports whether s starts with white space written as an escape.
func isLineEscape(s string) bool {
	if size, r := readEscape(s); size > 0 && isBlank(r) {
		return true
	}
	return strings.HasPrefix(s, `\n`) || strings.HasPrefix(s, `\r`) || strings.HasPrefix(s, `\t`)
}

// quoteEnd returns the position after the quotation mark at i, with any
// backslashes before it, or i if there is no quotation mark.
func quoteEnd(s string, i int) int {
	end := i
	for end < len(s) && s[end] == '\\' {
		end++
	}
	if end < len(s) && (s[end] == '"' || s[end] == '\'') {
		return end + 1
	}
	return i
}

func skipBlanks(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\t') {
		i++
	}
	return i
}

func isAlnum(c byte) bool {
	return isDigit(c) || isLower(c|0x20)
}
