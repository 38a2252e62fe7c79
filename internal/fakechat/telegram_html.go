package fakechat

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// TelegramEntity is a MessageEntity of the Bot API; Offset and Length count
// UTF-16 code units.
type TelegramEntity struct {
	Type   string `json:"type"`
	Offset int    `json:"offset"`
	Length int    `json:"length"`
	// URL of a text_link.
	URL string `json:"url,omitempty"`
	// Language of a pre.
	Language string `json:"language,omitempty"`
	// CustomEmojiID of a custom_emoji.
	CustomEmojiID string `json:"custom_emoji_id,omitempty"`
	// UnixTime and TimeFormat of a date_time.
	UnixTime   int64  `json:"unix_time,omitempty"`
	TimeFormat string `json:"date_time_format,omitempty"`
	// UserID of a text_mention; on the wire it is a whole user.
	UserID int64 `json:"-"`
}

func (e TelegramEntity) end() int { return e.Offset + e.Length }

// htmlTags maps tags to entity types; the empty ones need a closer look.
func htmlTags() map[string]string {
	return map[string]string{
		"b": "bold", "strong": "bold", "i": "italic", "em": "italic", "u": "underline", "ins": "underline",
		"s": "strikethrough", "strike": "strikethrough", "del": "strikethrough",
		"tg-spoiler": "spoiler", "span": "spoiler", "code": "code", "pre": "pre",
		"blockquote": "", "a": "", "tg-emoji": "", "tg-time": "",
	}
}

// htmlParser parses parse_mode HTML exactly as td's parse_html does
// (MessageEntity.cpp), including what it lets pass.
type htmlParser struct {
	in       string
	pos      int
	out      strings.Builder
	units    int // UTF-16 length of out
	open     []openTag
	entities []TelegramEntity
	tags     map[string]string
}

type openTag struct {
	name     string
	argument string
	date     int64
	offset   int // in UTF-16 units
	begin    int // in out
}

// parseHTML returns the text without tags and the entities, sorted.
func parseHTML(in string) (string, []TelegramEntity, error) {
	p := &htmlParser{in: in, tags: htmlTags()}
	for p.pos < len(p.in) {
		if err := p.step(); err != nil {
			return "", nil, err
		}
	}
	if n := len(p.open); n > 0 {
		return "", nil, fmt.Errorf("Can't find end tag corresponding to start tag \"%s\"", p.open[n-1].name)
	}
	if !utf8.ValidString(p.out.String()) {
		return "", nil, fmt.Errorf("Text contains invalid Unicode characters after decoding HTML entities, check for unmatched surrogate code units")
	}
	for i, e := range p.entities {
		if e.Type == "code" {
			p.entities[i].Language = ""
		}
	}
	sortEntities(p.entities)
	return p.out.String(), p.entities, nil
}

// at returns the byte at i, or 0 after the end.
func (p *htmlParser) at(i int) byte {
	if i >= len(p.in) {
		return 0
	}
	return p.in[i]
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == 0 || c == '\v'
}

// skipSpace goes to the next byte that is not white space.
func (p *htmlParser) skipSpace() {
	for p.pos < len(p.in) && isSpace(p.at(p.pos)) {
		p.pos++
	}
}

func (p *htmlParser) step() error {
	c := p.at(p.pos)
	if c == '&' {
		if code, next := decodeHTMLEntity(p.in, p.pos); code != 0 {
			p.pos = next
			p.write(code)
			return nil
		}
	}
	if c != '<' {
		if c < 0x80 || c >= 0xc0 {
			p.units += 1 + boolInt(c >= 0xf0)
		}
		p.out.WriteByte(c)
		p.pos++
		return nil
	}
	begin := p.pos
	p.pos++
	if p.at(p.pos) == '/' {
		return p.endTag(begin)
	}
	return p.startTag(begin)
}

// write appends a decoded character; half a surrogate pair stays invalid.
func (p *htmlParser) write(code rune) {
	p.units += 1 + boolInt(code > 0xffff)
	if code >= 0xd800 && code <= 0xdfff {
		p.out.WriteByte(0xff)
		return
	}
	p.out.WriteRune(code)
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// decodeHTMLEntity decodes &lt; &gt; &amp; &quot; and numbers; the semicolon is
// optional, everything else stays as it is (code 0).
func decodeHTMLEntity(in string, pos int) (code rune, next int) {
	rest := in[pos+1:]
	if digits, ok := strings.CutPrefix(rest, "#"); ok {
		base, skip := 10, 2
		if hex, ok := strings.CutPrefix(digits, "x"); ok {
			digits, base, skip = hex, 16, 3
		}
		n := 0
		for n < len(digits) && isDigitIn(digits[n], base) {
			n++
		}
		value, _ := strconv.ParseInt(digits[:n], base, 64)
		if value == 0 || value >= 0x10ffff || skip+n >= 10 {
			return 0, pos
		}
		return rune(value), skipSemicolon(in, pos+skip+n)
	}
	n := 0
	for n < len(rest) && (rest[n]|0x20 >= 'a' && rest[n]|0x20 <= 'z') {
		n++
	}
	code = map[string]rune{"lt": '<', "gt": '>', "amp": '&', "quot": '"'}[rest[:n]]
	return code, skipSemicolon(in, pos+1+n)
}

func isDigitIn(c byte, base int) bool {
	_, err := strconv.ParseUint(string(c), base, 8)
	return err == nil && c < 0x80
}

func skipSemicolon(in string, pos int) int {
	if pos < len(in) && in[pos] == ';' {
		return pos + 1
	}
	return pos
}

func (p *htmlParser) startTag(begin int) error {
	for p.pos < len(p.in) && !isSpace(p.at(p.pos)) && p.at(p.pos) != '>' {
		p.pos++
	}
	if p.at(p.pos) == 0 {
		return fmt.Errorf("Unclosed start tag at byte offset %d", begin)
	}
	tag := openTag{name: strings.ToLower(p.in[begin+1 : p.pos]), offset: p.units, begin: p.out.Len()}
	if _, ok := p.tags[tag.name]; !ok {
		return fmt.Errorf("Unsupported start tag \"%s\" at byte offset %d", tag.name, begin)
	}
	for p.at(p.pos) != '>' {
		if err := p.attribute(&tag, begin); err != nil {
			return err
		}
	}
	p.pos++
	if tag.name == "span" && tag.argument != "spoiler" {
		return fmt.Errorf("Tag \"span\" must have class \"tg-spoiler\" at byte offset %d", begin)
	}
	p.open = append(p.open, tag)
	return nil
}

// attribute reads one attribute, or the white space before ">".
func (p *htmlParser) attribute(tag *openTag, begin int) error {
	p.skipSpace()
	if p.at(p.pos) == '>' {
		return nil
	}
	from := p.pos
	for p.pos < len(p.in) && !isSpace(p.at(p.pos)) && !strings.ContainsRune("=>/\"'", rune(p.at(p.pos))) {
		p.pos++
	}
	name := p.in[from:p.pos]
	if name == "" {
		return fmt.Errorf("Empty attribute name in the tag \"%s\" at byte offset %d", tag.name, begin)
	}
	unclosed := fmt.Errorf("Unclosed start tag \"%s\" at byte offset %d", tag.name, begin)
	p.skipSpace()
	if p.at(p.pos) != '=' {
		if p.at(p.pos) == 0 {
			return unclosed
		}
		tag.set(name, "1", false)
		return nil
	}
	p.pos++
	p.skipSpace()
	if p.at(p.pos) == 0 {
		return unclosed
	}
	value, err := p.attributeValue()
	if err != nil {
		return err
	}
	if p.at(p.pos) == 0 {
		return fmt.Errorf("Unclosed start tag at byte offset %d", begin)
	}
	tag.set(name, value, true)
	return nil
}

// set keeps the attributes that mean something.
func (t *openTag) set(name, value string, hasValue bool) {
	if t.name == "blockquote" && name == "expandable" {
		t.argument = "1"
	}
	if !hasValue {
		return
	}
	language, isLanguage := strings.CutPrefix(value, "language-")
	class, isClass := strings.CutPrefix(value, "tg-")
	switch {
	case t.name == "a" && name == "href", t.name == "tg-emoji" && name == "emoji-id", t.name == "tg-time" && name == "format":
		t.argument = value
	case t.name == "code" && name == "class" && isLanguage:
		t.argument = language
	case t.name == "span" && name == "class" && isClass:
		t.argument = class
	case t.name == "tg-time" && name == "unix":
		t.date = int64(leadingInt(value))
	}
}

// attributeValue reads a quoted string or a name token.
func (p *htmlParser) attributeValue() (string, error) {
	quote := p.at(p.pos)
	if quote != '"' && quote != '\'' {
		return p.nameToken()
	}
	p.pos++
	var value strings.Builder
	for p.at(p.pos) != quote && p.at(p.pos) != 0 {
		if p.at(p.pos) == '&' {
			if code, next := decodeHTMLEntity(p.in, p.pos); code != 0 {
				value.WriteRune(code)
				p.pos = next
				continue
			}
		}
		value.WriteByte(p.at(p.pos))
		p.pos++
	}
	if p.at(p.pos) == quote {
		p.pos++
	}
	return value.String(), nil
}

func (p *htmlParser) nameToken() (string, error) {
	from := p.pos
	for c := p.at(p.pos); c == '.' || c == '-' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'; c = p.at(p.pos) {
		p.pos++
	}
	if !isSpace(p.at(p.pos)) && p.at(p.pos) != '>' {
		return "", fmt.Errorf("Unexpected end of name token at byte offset %d", from)
	}
	return strings.ToLower(p.in[from:p.pos]), nil
}

func (p *htmlParser) endTag(begin int) error {
	if len(p.open) == 0 {
		return fmt.Errorf("Unexpected end tag at byte offset %d", begin)
	}
	for p.pos < len(p.in) && !isSpace(p.at(p.pos)) && p.at(p.pos) != '>' {
		p.pos++
	}
	name := strings.ToLower(p.in[begin+2 : p.pos])
	p.skipSpace()
	if p.at(p.pos) != '>' {
		return fmt.Errorf("Unclosed end tag at byte offset %d", begin)
	}
	p.pos++
	tag := p.open[len(p.open)-1]
	if name != "" && name != tag.name {
		return fmt.Errorf("Unmatched end tag at byte offset %d, expected \"</%s>\", found \"</%s>\"", begin, tag.name, name)
	}
	p.open = p.open[:len(p.open)-1]
	if p.units == tag.offset {
		return nil
	}
	return p.close(tag)
}

// close adds the entity of a tag that is not empty.
func (p *htmlParser) close(tag openTag) error {
	e := TelegramEntity{Type: p.tags[tag.name], Offset: tag.offset, Length: p.units - tag.offset}
	switch tag.name {
	case "blockquote":
		e.Type = "blockquote"
		if tag.argument != "" {
			e.Type = "expandable_blockquote"
		}
	case "a":
		return p.closeLink(tag, e)
	case "tg-emoji":
		if id, err := strconv.ParseInt(tag.argument, 10, 64); err != nil || id == 0 {
			return fmt.Errorf("Invalid custom emoji identifier specified")
		}
		e.Type, e.CustomEmojiID = "custom_emoji", tag.argument
	case "tg-time":
		if strings.Trim(tag.argument, "tTdDwW") != "" && tag.argument != "r" {
			return fmt.Errorf("Invalid date format used")
		}
		e.Type, e.UnixTime, e.TimeFormat = "date_time", tag.date, tag.argument
		if tag.date <= 0 {
			return nil
		}
	case "pre", "code":
		p.closeCode(tag, e)
		return nil
	}
	p.entities = append(p.entities, e)
	return nil
}

// closeCode joins <pre> and <code class="language-…"> over the same text.
func (p *htmlParser) closeCode(tag openTag, e TelegramEntity) {
	if tag.name == "code" {
		e.Language = tag.argument
	}
	if n := len(p.entities) - 1; n >= 0 {
		last := &p.entities[n]
		same := last.Offset == e.Offset && last.Length == e.Length
		if same && last.Type != e.Type && slices.Contains([]string{"pre", "code"}, last.Type) && last.Language+e.Language != "" {
			last.Type, last.Language = "pre", last.Language+e.Language
			return
		}
	}
	p.entities = append(p.entities, e)
}

// closeLink makes a text_mention or a text_link; it makes no entity if the address is bad.
func (p *htmlParser) closeLink(tag openTag, e TelegramEntity) error {
	address := tag.argument
	if address == "" {
		address = p.out.String()[tag.begin:]
	}
	if id := linkedUser(address); id != 0 {
		e.Type, e.UserID = "text_mention", id
		p.entities = append(p.entities, e)
	} else if link := checkedLink(address); link != "" {
		e.Type, e.URL = "text_link", link
		p.entities = append(p.entities, e)
	}
	return nil
}
