package textcmd

import (
	"strconv"
	"strings"

	"approvalbot/internal/approval"
)

// String gives the command in its one canonical form, which [Parse] reads back: "/approve K7QX2M", "/approve K7QX2M
// session: reason", "/deny K7QX2M reason", "/more K7QX2M". One with a note is "yes: NOTE" or "retry: NOTE", which
// Parse accepts only in a reply to its card. With a valid code and no reason it fits a button's payload (64 bytes).
func (c Command) String() string {
	var b strings.Builder
	verb := c.Verb
	if verb == Return {
		verb = Back
	}
	b.WriteString("/" + string(verb))
	if c.Code != "" {
		b.WriteString(" " + c.Code)
	}
	if c.Note != "" { // only possible in a reply to that card
		word := "yes"
		if c.Verb == Retry {
			word = "retry"
		}
		return word + ": " + c.Note
	}
	reason := OneLine(c.Reason)
	switch c.Verb {
	case DenyAll, Answer:
		b.WriteString(" " + strconv.FormatInt(c.Version, 10))
	case Confirm:
		b.WriteString(" " + string(c.Decision) + " " + c.Proof)
	case Approve:
		b.WriteString(scope(c.Decision, reason))
	case Deny, Retry, Away:
		if reason != "" {
			b.WriteString(" " + reason)
		}
	}
	return b.String()
}

// scope writes what follows an approve's code. A reason always follows a colon,
// so that no word of it can be taken for a decision.
func scope(d approval.Decision, reason string) string {
	word := " " + strings.TrimPrefix(string(d), "allow-")
	switch {
	case reason != "":
		return word + ": " + reason
	case d == approval.AllowOnce:
		return ""
	}
	return word
}

// ParsePayload reads a button's data: exactly what [Command.String] makes of a
// command about one approval (a valid code, no reason).
func ParsePayload(data string) (Command, bool) {
	cmd, ok := parseDenyAll(data)
	if !ok {
		cmd, ok = parseConfirm(data)
	}
	if !ok {
		cmd, ok = parseAnswer(data)
	}
	if !ok {
		cmd, ok = Parse(data, Context{})
	}
	ofApproval := ValidCode(cmd.Code) && cmd.Reason == ""
	if !ok || !ofApproval || cmd.String() != data {
		return Command{}, false
	}
	return cmd, true
}

// parseConfirm reads a command that is on buttons only: the desk alone makes its proof.
func parseConfirm(data string) (Command, bool) {
	words := strings.Fields(data)
	if len(words) != 4 || words[0] != "/"+string(Confirm) {
		return Command{}, false
	}
	d := approval.Decision(words[2])
	return Command{Verb: Confirm, Code: words[1], Decision: d, Proof: words[3]}, d == approval.AllowOnce || d == approval.Retry
}

// parseAnswer reads a command that is on buttons only.
func parseAnswer(data string) (Command, bool) {
	words := strings.Fields(data)
	if len(words) != 3 || words[0] != "/"+string(Answer) {
		return Command{}, false
	}
	n, err := strconv.ParseInt(words[2], 10, 64)
	return Command{Verb: Answer, Code: words[1], Decision: approval.AllowOnce, Version: n}, err == nil && n > 0
}

// parseDenyAll reads a command that is on buttons only: it names the list above its
// button.
func parseDenyAll(data string) (Command, bool) {
	words := strings.Fields(data)
	if len(words) != 3 || words[0] != "/"+string(DenyAll) {
		return Command{}, false
	}
	version, err := strconv.ParseInt(words[2], 10, 64)
	return Command{Verb: DenyAll, Code: words[1], Version: version}, err == nil && version > 0
}

// OneLine makes a reason of a text from another place, such as a form: one
// line, trimmed, single spaces, valid UTF-8, at most MaxReason characters.
func OneLine(text string) string {
	return joined(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")))
}

func joined(words []string) string {
	runes := []rune(strings.Join(words, " "))
	if len(runes) > MaxReason {
		runes = runes[:MaxReason]
	}
	return strings.TrimSpace(string(runes))
}

// reasonFor joins the words of a reason. A vote that names no approval has no
// reason.
func reasonFor(code string, words []string) string {
	if code == "" {
		return ""
	}
	return joined(words)
}
