package display

import "strings"

// pem hides the body of private keys, line by line. Lines may also be divided
// by \n, as they are in JSON and environment files. The first line that is not
// base64 ends a key, regardless of what follows.
func (f *finder) pem() {
	s := f.text
	for i := strings.Index(s, "PRIVATE KEY"); i >= 0; {
		end := i + len("PRIVATE KEY")
		if body, ok := pemBody(s, i, end); ok {
			end = f.pemLines(body)
		}
		next := strings.Index(s[end:], "PRIVATE KEY")
		if next < 0 {
			return
		}
		i = end + next
	}
}

// pemBody returns the start of the body of the key whose heading has the words
// [from, to).
func pemBody(s string, from, to int) (int, bool) {
	begin := strings.LastIndex(s[max(0, from-32):from], "-----BEGIN ")
	to += len(s[to:]) - len(strings.TrimPrefix(s[to:], " BLOCK"))
	return to + len("-----"), begin >= 0 && strings.HasPrefix(s[to:], "-----")
}

func (f *finder) pemLines(i int) int {
	for i < len(f.text) {
		from, to, next := pemLine(f.text, i)
		switch line := f.text[from:to]; {
		case isKeyMaterial(line):
			f.hide(from, to)
		case line != "" && !strings.Contains(line, ": "):
			return from
		}
		i = next
	}
	return i
}

// pemLine returns the bounds of the line at i, without blanks, and the start of
// the next one.
func pemLine(s string, i int) (from, to, next int) {
	to, next = len(s), len(s)
	if n := strings.IndexByte(s[i:], '\n'); n >= 0 {
		to, next = i+n, i+n+1
	}
	if n := strings.Index(s[i:to], `\n`); n >= 0 {
		to, next = i+n, i+n+2
	}
	from = skipBlanks(s, i)
	text := strings.TrimRight(s[min(from, to):to], " \t\r")
	text = strings.TrimSuffix(text, `\r`)
	return min(from, to), min(from, to) + len(text), next
}

// isKeyMaterial reports whether a line of base64 could hardly be a command: a
// name in small letters, or a path.
func isKeyMaterial(line string) bool {
	const capitals, rest = "ABCDEFGHIJKLMNOPQRSTUVWXYZ+=", "abcdefghijklmnopqrstuvwxyz0123456789/"
	if strings.Trim(line, capitals+rest) != "" || !strings.ContainsAny(line, capitals) {
		return false
	}
	return !strings.HasPrefix(line, "/") || !isPath("/"+strings.TrimLeft(line, "/"))
}
