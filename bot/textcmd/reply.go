package textcmd

import (
	"slices"
	"strings"

	"approvalbot/internal/approval"
)

// answerNamed reads a word that a reply to a card decides with.
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
	rest  []string // what follows the word, and the colon if there is one
}

// answerOf reads a reply's first word.
func answerOf(words []string) (answer, bool) {
	head, glued, colon := strings.Cut(words[0], ":")
	verb, ok := answerNamed(strings.ToLower(strings.TrimRight(head, ".,;!")))
	a := answer{verb, colon, prepend(glued, words[1:])}
	if !colon && len(a.rest) > 0 && strings.HasPrefix(a.rest[0], ":") {
		a.colon, a.rest = true, prepend(a.rest[0][1:], a.rest[1:])
	}
	return a, ok
}

// inReply reads a line without a slash in a reply to a card. A yes is strict there, since talk about a card is a
// reply to it too: the word alone, or with a colon and then a note to the agent; no scope. A no is not: any words
// after it are its reason. What names a code, denies, or is no decision, is read as a line elsewhere.
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
	case strings.HasSuffix(words[len(words)-1], "?"), len(said.rest) > 0 && !said.colon:
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

// saysNo reports whether a note begins or ends with "no".
func saysNo(note []string) bool {
	if len(note) == 0 {
		return false
	}
	return slices.ContainsFunc([]string{note[0], note[len(note)-1]}, func(word string) bool {
		return strings.EqualFold(strings.Trim(word, ".,:;!"), "no")
	})
}

// anotherAnswer reports whether one of the further lines begins as an answer of its own: taking it for the
// first one's note would drop it.
func anotherAnswer(lines string) bool {
	for line := range strings.Lines(lines) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if _, ok := answerOf(words); ok || saysDeny(words[0]) {
			return true
		}
	}
	return false
}

// onlyInReply reports whether a text decides by a word that does so in replies alone. Said by others than those
// who may decide it is talk.
func onlyInReply(text string) bool {
	words := strings.Fields(text)
	if len(words) == 0 {
		return false
	}
	word := strings.ToLower(strings.TrimRight(strings.SplitN(words[0], ":", 2)[0], ".,;!"))
	return word == "yes" || word == "ok" || word == "no"
}
