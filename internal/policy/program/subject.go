package program

import (
	"strings"

	"approvalbot/internal/policy/words"
)

// session reads a row's key of that name: the options with which a session's yes covers the
// command with other files of the workspace. They take no value. Any other command is
// covered word for word.
func (l *loader) session(where, key string) map[string]bool {
	if key == "" {
		return nil
	}
	flags := map[string]bool{"--": true}
	for w := range strings.FieldsSeq(key) {
		switch {
		case strings.HasPrefix(w, "--"):
			flags[w] = true
		case strings.HasPrefix(w, "-"):
			for _, letter := range w[1:] {
				flags["-"+string(letter)] = true
			}
		default:
			l.fail(where, "session cannot be %q", key)
		}
	}
	return flags
}

// FilesOf gives the operands of a command that a session's yes covers with other files, and
// its subject: the program with its subcommand and its options as they are written, of which
// the last one may win. ok is false for a command that is covered word for word.
func FilesOf(name string, words []string) (subject string, files []string, ok bool) {
	e, verbs := known(name), 0
	if e != nil && e.verbs != nil && len(words) > 1 {
		e, verbs = e.verbs[words[1]], 1
	}
	if e == nil || e.session == nil {
		return "", nil, false
	}
	parts := append([]string{"exec", name}, words[1:1+verbs]...)
	ended := false
	for _, w := range words[1+verbs:] {
		switch {
		case ended || w == "" || w[0] != '-':
			files = append(files, w)
		case !isFlag(e.session, w):
			return "", nil, false
		default:
			ended = w == "--"
			parts = append(parts, w)
		}
	}
	return strings.Join(parts, " "), files, len(files) > 0
}

// isFlag reports an option of the list, or several of its letters in one word.
func isFlag(flags map[string]bool, w string) bool {
	if strings.HasPrefix(w, "--") {
		return flags[w]
	}
	other := func(letter rune) bool { return !flags["-"+string(letter)] }
	return len(w) > 1 && !strings.ContainsFunc(w[1:], other)
}

// Line joins words as a shell reads them.
func Line(words []string) string {
	parts := make([]string, len(words))
	for i, w := range words {
		parts[i] = Quoted(w)
	}
	return strings.Join(parts, " ")
}

// Quoted is the word as a shell reads it.
func Quoted(w string) string {
	for i := range len(w) {
		if c := w[i]; !words.WordByte(c) && strings.IndexByte("-.+:@/=,%^~", c) < 0 && c < 0x80 {
			return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	if w == "" {
		return "''"
	}
	return w
}
