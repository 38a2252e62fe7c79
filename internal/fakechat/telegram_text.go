package fakechat

import (
	"cmp"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// maxEntities is how many entities a message keeps; further ones are ignored
// (python-telegram-bot, MessageLimit.MESSAGE_ENTITIES; Telegram is silent).
const maxEntities = 100

// formatted is a text with its entities.
type formatted struct {
	text     string
	entities []TelegramEntity
}

// fixText does what the server does to every text: clean it, trim it, resolve entities that
// overlap, and find mentions, commands and links (td, fix_formatted_text). An empty result
// means that no visible text is left.
func fixText(text string, entities []TelegramEntity) formatted {
	f := cleanText(text, entities)
	f = trimText(f)
	if isBlank(f.text) {
		return formatted{}
	}
	f.entities = mergeEntities(resolveEntities(f.entities), findEntities(f.text))
	if len(f.entities) > maxEntities {
		f.entities = f.entities[:maxEntities]
	}
	return f
}

// cleanText turns control characters into spaces and removes \r, U+2028 to
// U+202E and three combining lines (td misc.cpp, clean_input_string).
func cleanText(text string, entities []TelegramEntity) formatted {
	var out []rune
	moved := make([]int, 0, len(text)+1) // new offset of each old UTF-16 offset
	units := 0
	for _, r := range text {
		width := utf16.RuneLen(r)
		for range width {
			moved = append(moved, units)
		}
		switch {
		case r == '\r', r >= 0x2028 && r <= 0x202e, r == 0x333, r == 0x33f, r == 0x30a:
			continue
		case r < ' ' && r != '\n':
			r = ' '
		}
		out = append(out, r)
		units += width
	}
	moved = append(moved, units)
	hideDirectionMarks(out)
	f := formatted{text: string(out)}
	for _, e := range entities {
		from, to := moved[min(e.Offset, len(moved)-1)], moved[min(e.end(), len(moved)-1)]
		if e.Offset, e.Length = from, to-from; e.Length > 0 {
			f.entities = append(f.entities, e)
		}
	}
	return f
}

// hideDirectionMarks replaces all but the last of adjacent U+200E and U+200F by
// U+200C (td misc.cpp, replace_offending_characters).
func hideDirectionMarks(text []rune) {
	isMark := func(r rune) bool { return r == 0x200e || r == 0x200f }
	for i := 0; i+1 < len(text); i++ {
		if isMark(text[i]) && isMark(text[i+1]) {
			text[i] = 0x200c
		}
	}
}

// trimText removes white space at the end, and at the start up to the first
// entity.
func trimText(f formatted) formatted {
	f.text = strings.TrimRight(f.text, " \n")
	total := len(utf16.Encode([]rune(f.text)))
	first := len(f.text)
	if len(f.entities) > 0 {
		first = f.entities[0].Offset
	}
	skip := 0
	for skip < min(first, len(f.text)) && (f.text[skip] == ' ' || f.text[skip] == '\n') {
		skip++
	}
	f.text = f.text[skip:]
	var kept []TelegramEntity
	for _, e := range f.entities {
		e.Length = min(e.end(), total) - e.Offset
		e.Offset -= skip
		if e.Length > 0 {
			kept = append(kept, e)
		}
	}
	f.entities = kept
	return f
}

// isBlank reports a text without a visible character; which invisible characters count is
// approximate (td, is_empty_string).
func isBlank(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return !unicode.IsSpace(r) && (r < 0x200b || r > 0x200f) && r != 0x2060 && r != 0xfeff
	})
}

// entityRank orders entities that cover the same text (td,
// MessageEntity::get_type_priority).
func entityRank(kind string) int {
	switch kind {
	case "blockquote", "expandable_blockquote":
		return 0
	case "pre":
		return 10
	case "code":
		return 20
	case "date_time":
		return 30
	case "text_link", "text_mention":
		return 49
	case "bold":
		return 90
	case "italic":
		return 91
	case "underline":
		return 92
	case "strikethrough":
		return 93
	case "spoiler":
		return 94
	case "custom_emoji":
		return 99
	}
	return 50
}

func sortEntities(entities []TelegramEntity) {
	slices.SortStableFunc(entities, func(a, b TelegramEntity) int {
		return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(b.Length, a.Length),
			cmp.Compare(entityRank(a.Type), entityRank(b.Type)))
	})
}

func isStyle(e TelegramEntity) bool {
	rank := entityRank(e.Type)
	return rank >= 90 && rank < 99
}

func isQuote(e TelegramEntity) bool { return entityRank(e.Type) == 0 }

func isCode(e TelegramEntity) bool {
	return e.Type == "code" || e.Type == "pre" || e.Type == "date_time"
}

// resolveEntities keeps what is allowed together: links and code exclude each other, quotes
// do not nest, styles end at the beginning of code (td, fix_entities; the finer splitting
// of styles is left out).
func resolveEntities(entities []TelegramEntity) []TelegramEntity {
	sortEntities(entities)
	var solid, quotes, styles []TelegramEntity
	for _, e := range entities {
		switch {
		case isStyle(e):
			styles = append(styles, e)
		case isQuote(e):
			quotes = appendDisjoint(quotes, e)
		default:
			solid = appendDisjoint(solid, e)
		}
	}
	solid = dropCrossing(solid, quotes)
	result := slices.Concat(solid, quotes)
	for _, e := range joinStyles(styles) {
		result = append(result, outsideCode(e, solid)...)
	}
	sortEntities(result)
	return result
}

// appendDisjoint adds e unless it begins before the last one ends.
func appendDisjoint(list []TelegramEntity, e TelegramEntity) []TelegramEntity {
	if n := len(list); n > 0 && e.Offset < list[n-1].end() {
		return list
	}
	return append(list, e)
}

// dropCrossing drops what lies partly inside a quote.
func dropCrossing(list, quotes []TelegramEntity) []TelegramEntity {
	return slices.DeleteFunc(list, func(e TelegramEntity) bool {
		return slices.ContainsFunc(quotes, func(q TelegramEntity) bool {
			apart := e.end() <= q.Offset || q.end() <= e.Offset
			inside := q.Offset <= e.Offset && e.end() <= q.end()
			return !apart && !inside
		})
	})
}

// joinStyles joins styles of one kind that touch.
func joinStyles(styles []TelegramEntity) []TelegramEntity {
	var joined []TelegramEntity
	for _, e := range styles {
		i := slices.IndexFunc(joined, func(j TelegramEntity) bool {
			return j.Type == e.Type && e.Offset <= j.end()
		})
		if i < 0 {
			joined = append(joined, e)
			continue
		}
		joined[i].Length = max(joined[i].end(), e.end()) - joined[i].Offset
	}
	return joined
}

// outsideCode cuts the parts out of e that lie in code; solid is sorted.
func outsideCode(e TelegramEntity, solid []TelegramEntity) []TelegramEntity {
	var parts []TelegramEntity
	from, end := e.Offset, e.end()
	add := func(to int) {
		if to > from {
			part := e
			part.Offset, part.Length = from, to-from
			parts = append(parts, part)
		}
	}
	for _, code := range solid {
		if isCode(code) && code.Offset < end && code.end() > from {
			add(code.Offset)
			from = code.end()
		}
	}
	add(end)
	return parts
}

// mergeEntities adds the entities that were found, unless they collide with the given ones.
func mergeEntities(entities, found []TelegramEntity) []TelegramEntity {
	var quotes []TelegramEntity
	for _, e := range entities {
		if isQuote(e) {
			quotes = append(quotes, e)
		}
	}
	for _, f := range dropCrossing(found, quotes) {
		overlaps := slices.ContainsFunc(entities, func(e TelegramEntity) bool {
			return !isStyle(e) && !isQuote(e) && e.Offset < f.end() && f.Offset < e.end()
		})
		if !overlaps {
			entities = append(entities, f)
		}
	}
	sortEntities(entities)
	return entities
}

// entityPatterns find what the server links by itself. Links are approximate:
// the server knows all top-level domains.
var entityPatterns = []struct {
	kind    string
	pattern *regexp.Regexp
}{
	{"mention", regexp.MustCompile(`@[a-zA-Z0-9_]{2,32}`)},
	{"bot_command", regexp.MustCompile(`/[a-zA-Z0-9_]{1,64}(?:@[a-zA-Z0-9_]{3,32})?`)},
	{"url", regexp.MustCompile(`(?i)(?:https?|tg|ton)://[^\s<>"'` + "`" + `]*[^\s<>"'` + "`" + `.,;:!?)\]}]`)},
	{"url", regexp.MustCompile(`(?i)(?:[a-z0-9-]+\.)+(?:com|org|net|io|dev|me|app|sh|ru|de|uk)(?:[/?#][^\s<>"']*)?`)},
}

// findEntities finds mentions, commands and links; it skips those that touch a
// word, and a "/" that belongs to a path (td, match_mentions and
// match_bot_commands).
func findEntities(text string) []TelegramEntity {
	var found []TelegramEntity
	for _, p := range entityPatterns {
		for _, at := range p.pattern.FindAllStringIndex(text, -1) {
			if !standsAlone(p.kind, text, at[0], at[1]) {
				continue
			}
			offset := len(utf16.Encode([]rune(text[:at[0]])))
			length := len(utf16.Encode([]rune(text[at[0]:at[1]])))
			found = append(found, TelegramEntity{Type: p.kind, Offset: offset, Length: length})
		}
	}
	sortEntities(found)
	var disjoint []TelegramEntity
	for _, e := range found {
		disjoint = appendDisjoint(disjoint, e)
	}
	return disjoint
}

func standsAlone(kind, text string, from, to int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:from])
	after, _ := utf8.DecodeRuneInString(text[to:])
	if isWord(before) || isWord(after) {
		return false
	}
	switch kind {
	case "bot_command":
		return !strings.ContainsRune("/<>", before) && !strings.ContainsRune("/<>", after)
	case "url":
		return before != '@' && before != '.' && before != '/'
	}
	return true
}

func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) }

var (
	linkFormat = regexp.MustCompile(`^(?i)(?:(https?|tg|ton|tonsite)://)?([^/?#]*)([^\n]*)$`)
	hostFormat = regexp.MustCompile(`^([^@]*@)?[^\s@:"<>\\]+(:[1-9][0-9]{0,4})?$`)
)

// checkedLink returns the address as the server keeps it, or "" if it is not
// one it accepts (td LinkManager.cpp, get_checked_link).
func checkedLink(address string) string {
	parts := linkFormat.FindStringSubmatch(address)
	if parts == nil {
		return ""
	}
	scheme, host, rest := strings.ToLower(cmp.Or(parts[1], "http")), strings.ToLower(parts[2]), strings.TrimRight(parts[3], " \t\r\n")
	web := strings.HasPrefix(scheme, "http")
	if !hostFormat.MatchString(host) || web && !strings.Contains(host, ".") {
		return ""
	}
	if !strings.HasPrefix(rest, "/") && web {
		rest = "/" + rest
	}
	return scheme + "://" + host + rest
}

// linkedUser returns the id of tg://user?id=…, or 0.
func linkedUser(address string) int64 {
	u, err := url.Parse(strings.ToLower(address))
	if err != nil || u.Scheme != "tg" || u.Host+u.Opaque != "user" {
		return 0
	}
	id, _ := strconv.ParseInt(u.Query().Get("id"), 10, 64)
	return id
}
