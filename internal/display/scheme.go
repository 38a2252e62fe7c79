package display

import (
	"bytes"
	"encoding/base64"
	"strings"
)

// scheme hides the credential after the word Bearer or Basic at i, and returns
// the position to read on from.
func (f *finder) scheme(i int) int {
	s := f.text
	end := i
	for end < len(s) && isAlnum(s[end]) && end-i < 8 {
		end++
	}
	from := skipBlanks(s, end)
	inName := i > 0 && isNameByte(s[i-1])
	if inName || from == end || !isScheme(s[i:end]) {
		return i + 1
	}
	to := from
	for to < len(s) && (isAlnum(s[to]) || strings.IndexByte("._~+/=-", s[to]) >= 0) {
		to++
	}
	if wordEnds(s, to) && isCredential(s[i:end], s[from:to]) && !f.runsApart(i, from) {
		f.hide(from, to)
	}
	return from
}

func isCredential(scheme, text string) bool {
	if len(text) > longest || isPath(text) {
		return false
	}
	if strings.EqualFold(scheme, "bearer") {
		return len(text) >= 20 || len(text) >= 8 && strings.ContainsAny(text, "0123456789")
	}
	plain, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
	return err == nil && bytes.Contains(plain, []byte(":"))
}
