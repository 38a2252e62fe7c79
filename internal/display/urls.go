package display

import (
	"strings"
	"unicode/utf8"
)

// urls hides the password of user:password@host.
func (f *finder) urls() {
	s := f.text
	for at := strings.Index(s, "://"); at >= 0; {
		from := at + len("://")
		colon, end := f.authority(from)
		if colon > 0 {
			f.hide(colon+1, end)
		}
		next := strings.Index(s[from:], "://")
		if next < 0 {
			return
		}
		at = from + next
	}
}

// authority returns the start of the password in a URL's authority, after its
// colon, and its end; colon is 0 if there is no password.
func (f *finder) authority(from int) (colon, end int) {
	s := f.text
	for i := from; i < len(s) && i-from <= 2*longest; {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '@':
			return colon, i
		case r == ':' && colon == 0:
			colon = i
		case !isLiteral(r), r == '/', r == '#', r == ',':
			return 0, 0
		}
		i += size
	}
	return 0, 0
}
