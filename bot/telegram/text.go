package telegram

import (
	"fmt"
	"html"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Limits of texts, in characters after the markup is taken out.
const (
	maxText     = 4096 // Bot API, sendMessage.text
	maxCaption  = 1024 // Bot API, sendDocument.caption
	maxAnswer   = 200  // Bot API, answerCallbackQuery.text
	maxEntities = 100  // further markup of a message is ignored (python-telegram-bot, MessageLimit)
)

// lively matches what Telegram turns into links, mentions, commands, hashtags,
// and phone or card numbers by itself (Bot API, MessageEntity.type). In <code>
// and <pre> it leaves everything alone.
var lively = regexp.MustCompile(`[@#$]|(^|[^\pL\pN_])/[\pL\pN_]|://|[\pL\pN_-]\.[\pL\pN]|\+\d|\d[\d -]{5,}\d`)

// swallowed are characters that Telegram drops from every text (td misc.cpp,
// clean_input_string). Shown as escapes, like the others that cannot be seen.
var swallowed = strings.NewReplacer("\u0333", `\u{333}`, "\u033F", `\u{33F}`, "\u030A", `\u{30A}`)

// escape makes text safe inside HTML. Telegram decodes numeric entities and
// &lt; &gt; &amp; &quot; only, and html.EscapeString writes no others.
func escape(s string) string {
	return html.EscapeString(swallowed.Replace(strings.ToValidUTF8(s, "\uFFFD")))
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "<code>" + escape(s) + "</code>"
}

// inert writes a line so that nothing in it can be tapped and nobody is
// mentioned: as it is where that is so anyway, else as code.
func inert(s string) string {
	if lively.MatchString(s) {
		return code(s)
	}
	return escape(s)
}

// From so many lines with markup on, a text or a part of a card becomes a single
// block, so that all of it stays below maxEntities.
const (
	manyLines = 40
	manyFacts = 10
)

// inertText writes a text of several lines inertly.
func inertText(s string) string {
	lines := strings.Split(s, "\n")
	marked := 0
	for i, line := range lines {
		if lines[i] = inert(line); strings.HasPrefix(lines[i], "<code>") {
			marked++
		}
	}
	if marked > manyLines {
		return "<pre>" + escape(s) + "</pre>"
	}
	return strings.Join(lines, "\n")
}

// mention makes the first word of an HTML text mention a person, where it can.
func mention(userID, text string) string {
	word, rest, _ := strings.Cut(text, " ")
	if _, err := strconv.ParseUint(userID, 10, 63); err != nil || strings.ContainsAny(word, "<&\n") || word == "" {
		return text
	}
	return fmt.Sprintf(`<a href="tg://user?id=%s">%s</a> %s`, userID, word, rest)
}

// cut shortens a text to n characters, visibly.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// cutUnits shortens a text to n UTF-16 code units, visibly. That is the stricter
// reading where Telegram does not say what a character is.
func cutUnits(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	units := utf16.Encode([]rune(s))
	if len(units) <= n {
		return s
	}
	units = units[:n-1]
	if utf16.IsSurrogate(rune(units[len(units)-1])) && units[len(units)-1] < 0xDC00 {
		units = units[:len(units)-1]
	}
	return string(utf16.Decode(units)) + "…"
}

// split cuts a text into parts of at most n characters, at line ends where it
// can. An empty text has no parts.
func split(s string, n int) []string {
	var parts []string
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimSpace(s) {
		runes := []rune(s)
		if len(runes) <= n {
			return append(parts, s)
		}
		part := string(runes[:n])
		if end := strings.LastIndexByte(part, '\n'); end > len(part)/2 {
			part = part[:end]
		}
		parts, s = append(parts, strings.TrimSpace(part)), s[len(part):]
	}
	return parts
}
