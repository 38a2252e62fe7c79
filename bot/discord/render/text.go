package render

import (
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"approvalbot/internal/card"
	"approvalbot/internal/lazy"
)

// Limits of texts. Discord does not say what a character is, so they are kept in
// UTF-16 code units, the stricter reading.
const (
	MaxText     = 2000 // Resources, Message, Create Message: content
	maxCardText = 4000 // Components, Text Display: all of a message together
	maxNonce    = 25   // Resources, Message, Create Message: nonce
	MaxTitle    = 100  // Resources, Channel, Start Thread in Forum: name
	maxCustomID = 100  // Components, custom_id
	maxLabel    = 80   // Components, Button: label
)

// lively are the characters that have a meaning in Discord's Markdown at any
// place, or begin a mention, an emoji, a time or a link. A backslash before one
// makes it a plain character.
const lively = "\\`*_~|<@["

var (
	// atStart matches text that makes a line a heading, a quotation, a list or
	// small print.
	atStart = lazy.Pattern(`^ *(?:[#>+-]|\d+\.)`)
	// inside matches text that is shown as a link or as an emoji.
	inside = lazy.Pattern(`://|:[^\s:]*[A-Za-z+][^\s:]*:`)
)

// escape writes a line of running text so that it contains no markup.
func escape(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	colons := inside.MatchString(s)
	start := len(atStart.FindString(s)) - 1 // the character that would begin it
	var out strings.Builder
	for i, r := range s {
		meansSomething := r == ':' && colons || r < utf8.RuneSelf && strings.ContainsRune(lively, r)
		if i == start || meansSomething {
			out.WriteByte('\\')
		}
		out.WriteRune(r)
	}
	return out.String()
}

// timed writes a line as escape does, except for the times in it, which Discord shows
// in the reader's zone (Reference, Message Formatting, Timestamps).
func timed(s string, times card.Times) string {
	first, text := len(s), ""
	for t := range times {
		i := strings.Index(s, t)
		if i >= 0 && (i < first || i == first && len(t) > len(text)) {
			first, text = i, t
		}
	}
	if text == "" {
		return escape(s)
	}
	seconds := times[text] / 1000
	return escape(s[:first]) + fmt.Sprintf("<t:%d:t> (<t:%d:R>)", seconds, seconds) + timed(s[first+len(text):], times)
}

// block writes a text as a block of code, which contains no markup. Three
// backticks would end it, so three in a row are written as escapes.
func block(s string) string {
	if s == "" {
		return "" // a block needs a character
	}
	return "```\n" + fenceless(strings.ToValidUTF8(s, "\uFFFD")) + "\n```"
}

func fenceless(s string) string {
	var out strings.Builder
	for s != "" {
		i := strings.IndexByte(s, '`')
		if i < 0 {
			break
		}
		n := len(s) - len(strings.TrimLeft(s[i:], "`")) - i
		out.WriteString(s[:i])
		if n < 3 {
			out.WriteString(s[i : i+n])
		} else {
			out.WriteString(strings.Repeat(`\u{60}`, n))
		}
		s = s[i+n:]
	}
	out.WriteString(s)
	return out.String()
}

// code writes a short value as code within a line; one with backticks or of some
// length as a block below it.
func code(s string) string {
	switch {
	case s == "":
		return ""
	case strings.ContainsAny(s, "`\n") || utf8.RuneCountInString(s) > 100 || strings.TrimSpace(s) != s:
		return block(s)
	}
	return "`" + strings.ToValidUTF8(s, "\uFFFD") + "`"
}

// inline writes a short value as code within a line, with any content. A backtick would
// end the code, so it is written as an escape.
func inline(s string) string {
	if s == "" {
		return ""
	}
	s = strings.NewReplacer("`", `\u{60}`, "\n", `\u{A}`).Replace(strings.ToValidUTF8(s, "\uFFFD"))
	return "`" + s + "`"
}

// units counts UTF-16 code units.
func units(s string) int {
	n := 0
	for _, r := range s {
		n += max(1, utf16.RuneLen(r))
	}
	return n
}

// Cut shortens a text to n code units, visibly.
func Cut(s string, n int) string {
	if units(s) <= n {
		return s
	}
	used := 1
	for i, r := range s {
		if used += max(1, utf16.RuneLen(r)); used > n {
			return s[:i] + "…"
		}
	}
	return s
}

// Plain writes a text of several lines inertly, as message content of at most n
// code units.
func Plain(s string, n int, times card.Times) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = timed(line, times)
	}
	out := strings.Join(lines, "\n")
	if units(out) <= n {
		return out
	}
	// Cut the text before it is escaped: half an escape would not work.
	for keep := units(s) - 1; keep > 0; keep -= max(1, (units(out)-n)/2) {
		if out = Plain(Cut(s, keep), 1<<30, times); units(out) <= n {
			return out
		}
	}
	return ""
}

// Split cuts a text into parts that fit messages as plain writes them, at line
// ends if possible. An empty text has no parts.
func Split(s string, n int, times card.Times) []string {
	var parts []string
	var part strings.Builder
	flush := func() {
		if strings.TrimSpace(part.String()) != "" {
			parts = append(parts, part.String())
		}
		part.Reset()
	}
	for line := range strings.Lines(strings.TrimSpace(s)) {
		for line != "" {
			if units(Plain(part.String()+line, 1<<30, times)) <= n {
				part.WriteString(line)
				break
			}
			if part.Len() > 0 {
				flush()
				continue
			}
			head := []rune(line)
			head = head[:min(len(head), n/2)]
			part.WriteString(string(head))
			line = line[len(string(head)):]
			flush()
		}
	}
	flush()
	return parts
}
