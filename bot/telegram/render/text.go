package render

import (
	"fmt"
	"html"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"approvalbot/internal/card"
)

// Limits of texts, in characters after the markup is taken out.
const (
	MaxText     = 4096 // Bot API, sendMessage.text
	maxCaption  = 1024 // Bot API, sendDocument.caption
	MaxAnswer   = 200  // Bot API, answerCallbackQuery.text
	maxEntities = 100  // further markup of a message is ignored (python-telegram-bot, MessageLimit)
)

// lively reports whether there is anything in a text that Telegram turns into links,
// mentions, commands, hashtags, and phone or card numbers by itself (Bot API,
// MessageEntity.type). In <code> and <pre> it does not do so. A test checks that it
// equals a regular expression, which is easier to read and takes thirty times as long.
func lively(s string) bool {
	before, first := ' ', -1 // first is the start of a number's digits, which may have blanks and dashes between
	for i, r := range s {
		switch after := s[i+1:]; {
		case r == '@', r == '#', r == '$', r == ':' && strings.HasPrefix(after, "//"):
			return true
		case r == '/' && !inWord(before) && inWord(firstRune(after)):
			return true
		case r == '.' && (inWord(before) || before == '-') && inWord(firstRune(after)) && after[0] != '_':
			return true
		case r == '+' && isDigit(firstRune(after)):
			return true
		case isDigit(r) && first >= 0 && i-first >= 6:
			return true
		case isDigit(r) && first < 0:
			first = i
		case !isDigit(r) && r != ' ' && r != '-':
			first = -1
		}
		before = r
	}
	return false
}

func firstRune(s string) rune { r, _ := utf8.DecodeRuneInString(s); return r }

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) || r == '_' }

func isDigit(r rune) bool { return '0' <= r && r <= '9' }

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

// inert writes a line so that it has no tappable parts and mentions no one:
// unchanged if that is so already, else as code.
func inert(s string) string {
	if lively(s) {
		return code(s)
	}
	return escape(s)
}

// readable is inert for a sentence: only one or two words of it become code if that is
// enough.
func readable(s string) string {
	if !lively(s) {
		return escape(s)
	}
	words := strings.Split(s, " ")
	rest, coded := slices.Clone(words), 0
	for i, word := range words {
		if words[i] = escape(word); lively(word) {
			words[i], rest[i], coded = code(word), "x", coded+1
		}
	}
	if coded > maxCoded || lively(strings.Join(rest, " ")) {
		return code(s)
	}
	return strings.Join(words, " ")
}

// maxCoded is how many words of a line may be code by themselves.
const maxCoded = 2

// From so many lines with markup on, a text or a part of a card becomes a single
// block, so that all of it stays below maxEntities.
const (
	manyLines = 40
	manyFacts = 10

	manyDetails = 16
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

// Mention makes the first word of an HTML text mention a person. The text is
// unchanged if that word has markup or userID is not a number.
func Mention(userID, text string) string {
	word, rest, _ := strings.Cut(text, " ")
	if _, err := strconv.ParseUint(userID, 10, 63); err != nil || strings.ContainsAny(word, "<&\n") || word == "" {
		return text
	}
	return fmt.Sprintf(`<a href="tg://user?id=%s">%s</a> %s`, userID, word, rest)
}

// Mentions is what begins a message to people and notifies them, as HTML. It shows their
// names: Telegram mentions by an id only if the id has a text (Bot API, HTML style).
func Mentions(people []card.Mentioned) string {
	var out strings.Builder
	for _, p := range people {
		if id, err := strconv.ParseUint(p.UserID, 10, 63); err == nil {
			fmt.Fprintf(&out, `<a href="tg://user?id=%d">%s</a> `, id, escape(p.Name))
		}
	}
	return out.String()
}

// cut shortens a text to n characters, visibly.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// cutUnits shortens a text to n UTF-16 code units, visibly. Telegram does not
// always say what a character is; this is the stricter reading.
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

// split cuts a text into parts of at most n characters, at line ends if
// possible. An empty text has no parts.
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

// Text is a message of plain text, as HTML, cut to what fits one.
func Text(s string) string { return inertText(cut(s, MaxText)) }

// Texts are the messages, as HTML, that hold all of a text, and below it a line that
// a tap copies (Bot API, MessageEntity: code), if it is not empty.
func Texts(s, line string) []string {
	parts := split(s, MaxText)
	for i := range parts {
		parts[i] = inertText(parts[i])
	}
	if line != "" { // the text above it is one sentence
		parts[len(parts)-1] += "\n" + code(line)
	}
	return parts
}

// Link is an address of the desk's own, as HTML, that can be opened.
func Link(address string) string {
	return `<a href="` + html.EscapeString(address) + `">` + html.EscapeString(address) + `</a>`
}

// Answer is what a tap is answered with, as plain text.
func Answer(s string) string { return cutUnits(s, MaxAnswer) }

// Caption is a file's caption, as HTML.
func Caption(f card.File) string { return inertText(cut(f.Caption, maxCaption)) }

// maxPart is how many characters of a file one message holds.
const maxPart = 3000

// PartEnd ends each part of a file: Telegram trims white space at the ends of a
// message.
const PartEnd = "(end of the part)"

// PartTexts are the messages, as HTML, that hold all of a file; nil if it, or a part of
// it, is too long for messages.
func PartTexts(f card.File) []string {
	parts := f.Parts(maxPart)
	texts := make([]string, len(parts))
	for i, part := range parts {
		texts[i] = inert(f.PartHead(i, len(parts))) + "\n<pre>" + escape(part) + "</pre>\n" + PartEnd
		if visible(texts[i]) > MaxText {
			return nil
		}
	}
	return texts
}

// visible counts the characters that are left of HTML once it is parsed.
func visible(html string) int {
	n, inTag, inEntity := 0, false, false
	for _, r := range html {
		switch {
		case r == '<':
			inTag = true
		case r == '>':
			inTag = false
		case inTag:
		case r == '&':
			inEntity = true
		case inEntity && r == ';':
			n, inEntity = n+1, false
		case !inEntity:
			n++
		}
	}
	return n
}
