package display

import (
	"unicode"
	"unicode/utf8"
)

// Clip cuts s to at most n characters (code points; a byte that is not UTF-8
// counts as one) and reports whether it cut. A cut text ends in "…", which
// counts; if n is below one, it is empty.
func Clip(s string, n int) (string, bool) {
	if utf8.RuneCountInString(s) <= max(n, 0) {
		return s, false
	}
	if n < 1 {
		return "", true
	}
	end := 0
	for range n - 1 {
		_, size := utf8.DecodeRuneInString(s[end:])
		end += size
	}
	return s[:end] + "…", true
}

// UpperFirst is the text with a capital first letter.
func UpperFirst(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	if size == 0 {
		return s
	}
	return string(unicode.ToUpper(first)) + s[size:]
}
