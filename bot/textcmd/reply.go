package textcmd

import (
	"slices"
	"strings"
	"unicode"

	"approvalbot/internal/approval"
)

// answerNamed reads a word by which a reply to a card decides.
func answerNamed(word string) (Verb, bool) {
	switch v := Verb(word); v {
	case "yes", "ok":
		return Approve, true
	case "no":
		return Deny, true
	case Approve, Retry:
		return v, true
	}
	return "", false
}

// answer is a slash-less reply to a card.
type answer struct {
	verb  Verb
	colon bool
	rest  []string // the text after the word, and after the colon if there is one
}

// answerOf reads a reply's first word.
func answerOf(words []string) (answer, bool) {
	head, glued, colon := strings.Cut(words[0], ":")
	head = strings.ToLower(head)
	verb, ok := answerNamed(strings.TrimRight(head, ".,;!"))
	if bare := strings.TrimSuffix(strings.TrimSuffix(head, "."), "!"); verb != Deny {
		verb, ok = answerNamed(bare) // "ok..." and "ok," begin talk
	}
	a := answer{verb, colon, prepend(glued, words[1:])}
	if !colon && len(a.rest) > 0 && strings.HasPrefix(a.rest[0], ":") {
		a.colon, a.rest = true, prepend(a.rest[0][1:], a.rest[1:])
	}
	return a, ok
}

// inReply reads a line without a slash in a reply to a card. A yes is strict there, since talk about a card is a
// reply to it too: the word alone, or with a colon and then a note to the agent; no scope. A no is not: any words
// after it are its reason. A line that names a code, denies, or is no decision, is read as in any other place.
func (c Context) inReply(words []string) (Command, bool) {
	cmd, ok := c.command(words)
	said, answered := answerOf(words)
	switch {
	case ok && (cmd.Code != c.card() || c.namesCard(words) || cmd.Verb != Approve && cmd.Verb != Retry):
		return cmd, true
	case !answered:
		return Command{}, false
	case said.verb == Deny:
		return deny(c.card(), said.rest), true
	case slices.ContainsFunc(words, asks), len(said.rest) > 0 && !said.colon:
		return Command{}, false
	}
	read := approve(c.card(), nil, said.rest)
	switch {
	case read.Verb != Approve: // a deny beside it, or at its end
		return read, true
	case saysNo(said.rest):
		return Command{Verb: Unclear, Code: c.card()}, true
	case len(said.rest) > 0 && len(takeRun(said.rest).rest) == 0: // "yes: always" grants no more
		return Command{}, false
	}
	cmd = Command{Verb: said.verb, Code: c.card(), Decision: approval.AllowOnce, Note: strings.Join(said.rest, " ")}
	if said.verb == Retry {
		cmd.Decision = approval.Retry
	}
	return cmd, true
}

// namesCard reports whether a line names the card that it replies to.
func (c Context) namesCard(words []string) bool {
	rest := takeRun(words[1:]).rest
	code, _, ok := c.takeCode(rest, false)
	return ok && code == c.card()
}

// asks reports whether a question mark ends a word, even if other signs follow it: "run it?!".
func asks(word string) bool {
	behind := word[len(strings.TrimRightFunc(word, notInWord)):]
	return strings.ContainsAny(behind, "?？؟⁇⁈⁉‽")
}

func notInWord(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }

// saysNo reports whether a note begins or ends with "no", or is a few words that begin as a refusal: "wait for Bob".
func saysNo(note []string) bool {
	if len(note) == 0 {
		return false
	}
	const few = 3
	first, last := note[0], note[len(note)-1]
	return refuses(first) || refuses(last) || len(note) <= few && slices.Contains(
		[]string{"not", "dont", "don", "stop", "wait", "never", "hold"}, letters(first))
}

// refuses reports whether a word begins as a no or a deny, or is one without the signs around it: "no…wait", "(no)",
// "deny!".
func refuses(word string) bool {
	all := strings.ToLower(strings.Map(func(r rune) rune {
		if notInWord(r) {
			return -1
		}
		return r
	}, word))
	head := letters(word)
	return all == "no" || all == "nope" || head == "no" || head == "nope" || saysDeny(word) || saysDeny(head)
}

// letters are the letters with which a word begins, behind signs, in lower case; "don't" begins with "don".
func letters(word string) string {
	word = strings.ToLower(strings.TrimLeftFunc(word, notInWord))
	if i := strings.IndexFunc(word, notInWord); i >= 0 {
		word = word[:i]
	}
	return word
}

// anotherAnswer reports whether one of the further lines begins as an answer of its own: taking it for the
// first one's note would drop it.
func anotherAnswer(lines string) bool {
	for line := range strings.Lines(lines) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if _, ok := answerOf(words); ok || refuses(words[0]) {
			return true
		}
	}
	return false
}

// refusesBelow reports whether one of the further lines begins with a no.
func refusesBelow(lines string) bool {
	for line := range strings.Lines(lines) {
		if words := strings.Fields(line); len(words) > 0 && refuses(words[0]) {
			return true
		}
	}
	return false
}

// onlyInReply reports whether a text decides by a word that does so in replies alone. From a person who may not
// decide it is talk.
func onlyInReply(text string) bool {
	words := strings.Fields(text)
	if len(words) == 0 {
		return false
	}
	word := strings.ToLower(strings.TrimRight(strings.SplitN(words[0], ":", 2)[0], ".,;!"))
	return word == "yes" || word == "ok" || word == "no"
}
