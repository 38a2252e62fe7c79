package textcmd

import (
	"slices"
	"strings"

	"approvalbot/internal/approval"
	"approvalbot/internal/signin"
)

// maxText is more bytes than a message of any platform has (Telegram: 4096
// characters of up to four bytes).
const maxText = 16 << 10

// Parse reads a typed message. ok is false if it is not for the bot: ordinary talk,
// another bot's command, and a line without a slash that neither names an approval
// that people vote on nor replies to a card. A slash-less approve or retry that ends
// in a question mark is talk as well, and so is a text that is too long for any
// platform (16 KiB).
func Parse(text string, c Context) (cmd Command, ok bool) {
	if len(text) > maxText {
		return Command{}, false
	}
	text = lineEnds.Replace(text)
	cmd, ok = parseOne(text, c)
	_, further, _ := strings.Cut(strings.TrimSpace(text), "\n")
	yes := cmd.Decision != "" && cmd.Decision != approval.Deny
	contradicted := yes && (c.card() != "" && anotherAnswer(further) || refusesBelow(further))
	if ok && (contradicted || anotherCommand(further, c)) {
		return Command{Verb: Unclear, Code: cmd.Code}, true
	}
	return cmd, ok
}

// lineEnds replaces the line ends of all keyboards and platforms by one.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// anotherCommand reports whether one of the further lines is a command by
// itself. Taking it for the first one's reason would drop it silently.
func anotherCommand(lines string, c Context) bool {
	c.CardCode, c.Mention = "", false
	for line := range strings.Lines(lines) {
		if _, ok := parseOne(line, c); ok {
			return true
		}
	}
	return false
}

func parseOne(text string, c Context) (Command, bool) {
	words := strings.Fields(strings.ToValidUTF8(text, "\uFFFD"))
	if len(words) == 0 {
		return Command{}, false
	}
	if c.card() != "" && !strings.HasPrefix(words[0], "/") {
		return c.inReply(words)
	}
	return c.command(words)
}

// command reads a line by itself, as if it replied to no card.
func (c Context) command(words []string) (Command, bool) {
	verb, slash, ok := c.verb(words[0])
	if !ok {
		return Command{}, false
	}
	addressed := slash || c.Mention
	if verb == Back && addressed && len(words) == 1 {
		return Command{Verb: Return}, true
	}
	cmd := c.read(verb, words[1:], addressed)
	switch {
	case !addressed && c.card() == "" && !c.pending(cmd.Code):
		return Command{}, false
	case !slash && cmd.Decision != "" && cmd.Decision != approval.Deny && strings.HasSuffix(words[len(words)-1], "?"):
		return Command{}, false
	case !slash && cmd.Verb == Pair && len(cmd.Code) != signin.PairingCodeLength: // "pair up" is talk
		return Command{}, false
	case cmd.Verb.onCards() && !ValidCode(cmd.Code):
		return Command{}, false
	}
	return cmd, true
}

// pending reports whether a word is the code of an approval that people vote on.
func (c Context) pending(code string) bool { return ValidCode(code) && c.isCode(code) }

// verb reads the first word. Without a slash only approve, deny, reject and retry
// count, or, if the bot is mentioned, nearly every verb ("allow me to …" and
// "unclear what …" are talk).
func (c Context) verb(word string) (v Verb, slash, ok bool) {
	name, slash := strings.CutPrefix(word, "/")
	if !slash {
		name = strings.ToLower(strings.TrimRight(word, ".,:;!"))
		v, ok = verbNamed(name)
		plain := c.Mention || v == Approve || v == Deny || v == Retry
		talk := name == "allow" || v == Unclear
		return v, false, ok && plain && !talk
	}
	name, bot, addressed := strings.Cut(name, "@")
	if addressed && (c.BotName == "" || !strings.EqualFold(bot, c.BotName)) {
		return "", true, false
	}
	v, ok = verbNamed(strings.ToLower(name))
	return v, true, ok
}

func verbNamed(name string) (Verb, bool) {
	switch v := Verb(name); v {
	case Approve, Deny, Retry, Pending, Show, WhoAmI, Pair, Duty, Away, Web, Help, More, Back, Details, DenyReason, Again, TakeBack,
		Unclear:
		return v, true
	case "allow":
		return Approve, true
	case "reject":
		return Deny, true
	case "start": // sent by Telegram when a person opens the bot
		return Help, true
	}
	return "", false
}

// onCards reports whether v means something for one existing card only.
func (v Verb) onCards() bool {
	return slices.Contains([]Verb{More, Back, Details, DenyReason, Again, TakeBack}, v)
}

// read reads what follows the verb.
func (c Context) read(verb Verb, words []string, addressed bool) Command {
	switch verb {
	case Pending, WhoAmI, Duty, Web, Help:
		return Command{Verb: verb}
	case Pair:
		return Command{Verb: verb, Code: pairingCode(words)}
	case Away:
		return Command{Verb: verb, Reason: joined(words)}
	case Approve, Deny, Retry, DenyReason:
		return c.vote(verb, words, addressed)
	}
	code, _, ok := c.takeCode(words, addressed)
	if !ok {
		code = c.card()
	}
	return Command{Verb: verb, Code: code}
}
