package display

import "strings"

// reserved are words that a POSIX shell (or bash) does not take for a command's
// name.
var reserved = map[string]bool{
	"if": true, "then": true, "else": true, "elif": true, "fi": true, "do": true, "done": true, "case": true, "esac": true,
	"while": true, "until": true, "for": true, "in": true, "function": true, "select": true, "time": true, "coproc": true,
}

// Argv shows argv element by element, quoted where a POSIX shell needs it, so
// that it reads back to the same argv: an empty element is a pair of quotes, spaces at the end
// stand inside quotes. What would be invisible is escaped as [Escape] does; such
// an element reads back to its escaped form.
func Argv(argv []string) string {
	words := make([]string, len(argv))
	for i, a := range argv {
		words[i] = word(a, i == 0)
	}
	return Escape(strings.Join(words, " "))
}

func word(s string, name bool) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-"
	if s != "" && strings.Trim(s, plain) == "" && !(name && (strings.Contains(s, "=") || reserved[s])) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
