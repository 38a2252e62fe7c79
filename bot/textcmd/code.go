package textcmd

import (
	"strings"
	"unicode/utf8"

	"approvalbot/internal/approval"
	"approvalbot/internal/signin"
)

const (
	alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ" // Crockford's base 32: no I, L, O, U
	codeLen  = 6
	maxWord  = 32  // longest word that is repeated back as an unknown code
	longWord = "?" // replaces a longer one, and what cannot be a pairing code
)

// ValidCode reports whether s has the form of an approval's code: six
// characters of Crockford's base 32 in upper case, and no word of the grammar
// (REJECT is the one such code, and core never makes it).
func ValidCode(s string) bool {
	if len(s) != codeLen || strings.Trim(s, alphabet) != "" {
		return false
	}
	_, taken := decisionNamed(s)
	return !taken
}

// NormalCode reads a code as people type it: in any case, with dashes inside,
// with the look-alikes o for 0 and i or l for 1. ok is false, and the code
// empty, if the result is no code. A code with invisible characters is not
// accepted.
func NormalCode(s string) (code string, ok bool) {
	if strings.HasPrefix(s, "-") || strings.HasSuffix(s, "-") {
		return "", false
	}
	if _, taken := decisionNamed(s); taken {
		return "", false
	}
	code = lookAlikes.Replace(upper(s))
	if !ValidCode(code) {
		return "", false
	}
	return code, true
}

// pairingCode reads a pairing code as people type it: as [NormalCode] does, and also
// in several words.
func pairingCode(words []string) string {
	code := lookAlikes.Replace(upper(strings.Join(words, "")))
	if code != "" && (len(code) != signin.PairingCodeLength || strings.Trim(code, alphabet) != "") {
		return longWord
	}
	return code
}

var lookAlikes = strings.NewReplacer("-", "", "O", "0", "I", "1", "L", "1")

// upper raises ASCII letters only: Unicode has letters whose upper case is
// another letter's (ſ becomes S).
func upper(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r - 'a' + 'A'
		}
		return r
	}, s)
}

// takeCode takes the code off the front of words. In a reply to a card a word
// counts as a code if it is that card's; after a slash also if it is written
// like one, so that an explicit code never becomes another approval's reason.
// Without a card, the word after a slash is the code, in any form.
func (c Context) takeCode(words []string, slash bool) (code string, rest []string, ok bool) {
	if len(words) == 0 {
		return "", nil, false
	}
	head, tail, _ := strings.Cut(words[0], ":")
	head = strings.TrimRight(head, ".,;")
	code, valid := NormalCode(head)
	card := c.card()
	another := card != "" && code != card
	switch {
	case !valid && (card != "" || !slash):
		return "", words, false
	case !valid:
		return unknownCode(words[0]), words[1:], true
	case another && !(slash && c.written(head, code)):
		return "", words, false
	}
	return code, prepend(tail, words[1:]), true
}

// named gives the pending request that a reason's first word is the code of, or "": a
// person who writes "approve CODE" below another request's card may mean either.
func (c Context) named(reason string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(reason), " ")
	code, ok := NormalCode(strings.TrimRight(first, ".,;:"))
	if !ok || code == c.card() || !c.isCode(code) {
		return ""
	}
	return code
}

// written reports whether the writer meant a word as that code.
func (c Context) written(word, code string) bool { return deliberate(word) || c.isCode(code) }

// deliberate tells a code from an English word of six letters ("banana",
// "thanks"): it has a digit or no lower-case letter.
func deliberate(word string) bool {
	return strings.ContainsAny(word, "0123456789") || word == upper(word)
}

func unknownCode(word string) string {
	if utf8.RuneCountInString(word) > maxWord {
		return longWord
	}
	return upper(word)
}

func prepend(word string, words []string) []string {
	if word == "" {
		return words
	}
	return append([]string{word}, words...)
}

// decisionNamed reads one decision word in any case: the decisions themselves
// and their aliases.
func decisionNamed(word string) (approval.Decision, bool) {
	switch strings.ToLower(word) {
	case "allow", "once", "allow-once", "allowonce":
		return approval.AllowOnce, true
	case "session", "allow-session", "allowsession":
		return approval.AllowSession, true
	case "always", "allow-always", "allowalways":
		return approval.AllowAlways, true
	case "deny", "reject", "block", "cancel":
		return approval.Deny, true
	}
	return "", false
}
