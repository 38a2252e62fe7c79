package gateway

import (
	"path"
	"slices"
	"strings"
)

// saysTheSame reports whether a command line is the text of that argv: quoted
// for a shell in any way, in the peer's own plain way, or as the one line that a
// shell is given. It is only a check: argv is what is shown and what runs.
func saysTheSame(command string, argv []string) bool {
	words, plain := split(command)
	if plain && slices.Equal(words, argv) || command == joined(argv) {
		return true
	}
	return len(argv) == 3 && (argv[1] == "-c" || argv[1] == "-lc") && argv[2] == command &&
		slices.Contains([]string{"sh", "bash", "dash", "zsh", "ksh"}, path.Base(argv[0]))
}

// joined writes an argv as existing clients do: only words with spaces or double
// quotes are quoted.
func joined(argv []string) string {
	words := make([]string, len(argv))
	for i, w := range argv {
		if words[i] = w; w == "" || strings.ContainsAny(w, " \t\r\n\f\v\"") {
			words[i] = `"` + strings.ReplaceAll(w, `"`, `\"`) + `"`
		}
	}
	return strings.Join(words, " ")
}

// split reads words that are quoted for a POSIX shell. plain is false if a
// shell would do more than take the words literally.
func split(s string) (words []string, plain bool) {
	var word strings.Builder
	open := false // a word has begun
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case ' ', '\t':
			if open {
				words, open = append(words, word.String()), false
				word.Reset()
			}
		case '\'':
			end := strings.IndexByte(s[i+1:], '\'')
			if end < 0 {
				return nil, false
			}
			word.WriteString(s[i+1 : i+1+end])
			i, open = i+1+end, true
		case '"':
			inner, n, ok := doubleQuoted(s[i+1:])
			if !ok {
				return nil, false
			}
			word.WriteString(inner)
			i, open = i+n+1, true
		case '\\':
			if i++; i == len(s) || s[i] == '\n' {
				return nil, false
			}
			word.WriteByte(s[i])
			open = true
		default:
			if strings.IndexByte("\n\r;&|<>()$`*?[]{}~#!", c) >= 0 {
				return nil, false
			}
			word.WriteByte(c)
			open = true
		}
	}
	if open {
		words = append(words, word.String())
	}
	return words, true
}

// doubleQuoted reads up to the closing quote and gives the text before it and
// how long that was.
func doubleQuoted(s string) (inner string, n int, ok bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			return b.String(), i, true
		case '$', '`':
			return "", 0, false
		case '\\':
			if i+1 < len(s) && strings.IndexByte("\"\\$`", s[i+1]) >= 0 {
				i++
			}
			b.WriteByte(s[i])
		default:
			b.WriteByte(s[i])
		}
	}
	return "", 0, false
}
