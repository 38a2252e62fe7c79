package display

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/unicode/runenames"
)

// twins are letters of other scripts that look like ASCII.
var twins = func() map[rune]rune {
	m := map[rune]rune{}
	add := func(theirs, ascii string) {
		a := []rune(ascii)
		for i, r := range []rune(theirs) {
			m[r] = a[i]
		}
	}
	add("аеорсухіјѕһԁԛԝкмтвнзбАВЕКМНОРСТУХІЈЅ", "aeopcyxijshdqwkmtbh36ABEKMHOPCTYXIJS")
	add("αορνικτυχγωεΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "aopviktuxyweABEZHIKMNOPTYX")
	add("օսոցզհ", "ounghh")
	return m
}()

var escaped = regexp.MustCompile(`\\u\{([0-9A-F]{1,6})\}`)

// Lookalikes names the letters that pose as others: letters of another script in
// a Latin word, words made only of letters that look like ASCII, full-width and
// mathematical letters, combining marks and selectors that change how a letter
// looks. It reads raw text as well as text from [Escape]. Each finding is one
// sentence, escaped; at most limit of them, and one more that counts the rest.
// A sentence in another script is no finding.
func Lookalikes(s string, limit int) []string {
	s = escaped.ReplaceAllStringFunc(s, func(m string) string {
		n, err := strconv.ParseUint(m[3:len(m)-1], 16, 32)
		if err != nil || n > unicode.MaxRune {
			return m
		}
		return string(rune(n))
	})
	var out []string
	seen, more := map[string]bool{}, 0
	for _, w := range strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsNumber(r) }) {
		if ascii(w) || seen[w] {
			continue
		}
		seen[w] = true
		if r := impostor(w); r != 0 {
			if len(out) == limit {
				more++
				continue
			}
			out = append(out, sentence(w, r))
		}
	}
	if more > 0 {
		out = append(out, fmt.Sprintf("and %d more words with look-alike letters", more))
	}
	return out
}

func sentence(w string, r rune) string {
	w, _ = Clip(Escape(w), 24)
	s := fmt.Sprintf("%q contains U+%04X %s", w, r, runenames.Name(r))
	if t := twin(r); t != 0 {
		s += fmt.Sprintf(", which looks like %q", string(t))
	}
	return strings.ReplaceAll(s, `\\u{`, `\u{`)
}

// impostor gives the first letter of a word that poses as another, or 0.
func impostor(w string) rune {
	w = norm.NFC.String(w)
	latin, allTwins := false, true
	var odd rune
	for _, r := range w {
		switch {
		case unicode.IsMark(r) || isConcealed(r):
			return r // NFC has composed the honest ones
		case r < 0x80:
			latin = latin || unicode.IsLetter(r)
		case twin(r) != 0 && !unicode.In(r, unicode.Cyrillic, unicode.Greek, unicode.Armenian):
			return r // full-width, mathematical: never honest in a command
		case unicode.IsLetter(r) && unicode.Is(unicode.Latin, r):
			latin, allTwins = true, false
		case unicode.IsLetter(r):
			if odd == 0 {
				odd = r
			}
			allTwins = allTwins && twins[r] != 0
		}
	}
	if odd != 0 && (latin || allTwins) {
		return odd
	}
	return 0
}

// twin gives the ASCII letter that r looks like, or 0.
func twin(r rune) rune {
	if t := twins[r]; t != 0 {
		return t
	}
	if r < 0x80 {
		return 0
	}
	// Full-width, mathematical and letter-like forms fold to ASCII.
	if k := []rune(norm.NFKC.String(string(r))); len(k) == 1 && k[0] < 0x80 && k[0] > 0x20 {
		return k[0]
	}
	return 0
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
