package program

import (
	"slices"
	"strings"

	"approvalbot/policy/words"
)

// session says how a session's yes for a command is read whose operands are files: it covers
// the command with other files of the workspace. A row has it under the key session; each
// other command is covered word for word.
type session struct {
	first bool            // the first operand, a mode or an owner, is part of what is covered
	flags string          // options of one letter that take no value
	texts string          // options of one letter whose value, text, may be another
	long  map[string]bool // such options in full; true: they take such text
}

// session reads the key: "files", then "first" if that operand counts, then the options
// that take no value, and with "=" those whose text may be another. The next word of any
// other option may be its value.
func (l *loader) session(where, key string) *session {
	if key == "" {
		return nil
	}
	s := &session{long: map[string]bool{}}
	for i, w := range strings.Fields(key) {
		name, text := strings.CutSuffix(w, "=")
		switch {
		case i == 0 && w == "files":
		case i == 1 && w == "first":
			s.first = true
		case i > 0 && strings.HasPrefix(w, "--"):
			s.long[name] = text
		case i > 0 && strings.HasPrefix(w, "-") && text:
			s.texts += name[1:]
		case i > 0 && strings.HasPrefix(w, "-"):
			s.flags += name[1:]
		default:
			l.fail(where, "session cannot be %q", key)
		}
	}
	return s
}

// FilesOf gives the operands of a command of which a session's yes covers it with other
// files, and the options that hold a file; ok is false for a command that is covered word
// for word.
func FilesOf(name string, words []string) (files []string, ok bool) {
	s, verbs := sessionOf(name, words)
	if s == nil {
		return nil, false
	}
	for _, w := range words[1+verbs:] {
		if w != "" && (w[0] != '-' || strings.Contains(w, "=")) {
			files = append(files, w)
		}
	}
	return files, true
}

// SubjectOf names what a session's yes for the command covers. If its operands are files,
// that is its program with the subcommand and each option, with the word that may be its
// value, sorted and once; else it is the whole command. Different meanings have different
// subjects: words that count stand before the options, and a word stands in quotes if it
// could be taken for more than one.
func SubjectOf(name string, words []string) string {
	parts := []string{"exec"}
	s, verbs := sessionOf(name, words)
	if s == nil {
		for _, w := range words {
			parts = append(parts, Quoted(w))
		}
		return strings.Join(parts, " ")
	}
	var named, options []string
	operand := 0
	for i := 1 + verbs; i < len(words); i++ {
		w := words[i]
		switch {
		case w != "" && w[0] == '-':
			unit := Quoted(w)
			takes, text := s.takes(w)
			if takes && i+1 < len(words) && !strings.HasPrefix(words[i+1], "-") {
				if i++; !text {
					unit += " " + Quoted(words[i])
				}
			}
			options = append(options, unit)
		case s.first && operand == 0 || assigns(w):
			named = append(named, Quoted(w))
			operand++
		default:
			operand++
		}
	}
	slices.Sort(named)
	slices.Sort(options)
	parts = append(parts, name)
	for _, list := range [...][]string{words[1 : 1+verbs], slices.Compact(named), slices.Compact(options)} {
		parts = append(parts, list...)
	}
	return strings.Join(parts, " ")
}

// sessionOf gives how a session's yes for the command is read, and how many words its
// subcommand has.
func sessionOf(name string, words []string) (s *session, verbs int) {
	e := known(name)
	switch {
	case e == nil:
		return nil, 0
	case e.verbs == nil || len(words) < 2:
		return e.session, 0
	case e.verbs[words[1]] == nil:
		return nil, 0
	}
	return e.verbs[words[1]].session, 1
}

// takes reports whether the word after an option may be its value, and whether
// that is text that may be another.
func (s *session) takes(w string) (value, text bool) {
	if text, ok := s.long[w]; ok {
		return text, text
	}
	if w == "--" || strings.Contains(w, "=") {
		return false, false
	}
	if letters := w[1:]; letters != "" && letters[0] != '-' {
		rest := strings.TrimLeft(letters, s.flags)
		if rest == "" {
			return false, false
		}
		return true, len(rest) == 1 && strings.Contains(s.texts, rest)
	}
	return true, false
}

// assigns reports a word like NAME=value.
func assigns(w string) bool {
	i := strings.IndexByte(w, '=')
	for k := range max(i, 0) {
		if c := w[k]; !words.WordByte(c) && c != '-' && c != '.' {
			return false
		}
	}
	return i > 0 && !strings.HasPrefix(w[i:], "==")
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
