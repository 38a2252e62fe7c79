package display

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"approvalbot/internal/lazy"
)

// reserved are words that a POSIX shell (or bash) does not take for a command's
// name.
var reserved = lazy.Words(`if then else elif fi do done case esac while until for in function select time coproc`)

// Argv shows argv element by element, each quoted if a POSIX shell needs it, so
// that it reads back to the same argv: an empty element is a pair of quotes,
// blanks at the end are inside quotes. Invisible characters are escaped as
// Escape does; such an element reads back to its escaped form. Argv hides no
// secrets: Redact does, and it can read what Argv gives.
func Argv(argv []string) string { return Escape(quoted(argv)) }

// ArgvBlock is Argv for a block of its own, with secrets hidden: line feeds are
// inside quotation marks, as EscapeBlock leaves them.
func ArgvBlock(argv []string) string { return EscapeBlock(Redact(quoted(argv))) }

// ArgvText is ArgvBlock for lines of its own: the line feeds and tabs stay that EscapeText leaves.
func ArgvText(argv []string) string { return EscapeText(Redact(quoted(argv))) }

func quoted(argv []string) string {
	words := make([]string, len(argv))
	for i, element := range argv {
		words[i] = shellWord(element, i == 0)
	}
	return strings.Join(words, " ")
}

// shellWord quotes s if it must be. first says that a shell looks for assignments
// and keywords at this word.
func shellWord(s string, first bool) string {
	isSpecial := first && (strings.Contains(s, "=") || reserved.Has(s))
	if s != "" && !isSpecial && !strings.ContainsFunc(s, needsQuotes) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// ShellPath quotes a path for a POSIX shell, unless it is of plain letters alone.
func ShellPath(path string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-"
	if strings.Trim(path, plain) == "" {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

func needsQuotes(r rune) bool {
	if r < utf8.RuneSelf {
		return !isAlnum(byte(r)) && !strings.ContainsRune("_@%+=:,./-", r)
	}
	return isConcealed(r) || !unicode.In(r, unicode.L, unicode.N)
}
