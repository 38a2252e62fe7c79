package telegram

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-telegram/bot/models"

	"approvalbot/bot/textcmd"
	"approvalbot/core"
)

// notWhole is what a card says that cannot show everything that would run.
const notWhole = "The whole call does not fit into a Telegram message, so it can only be denied here."

// Longest text of a line that the core does not limit itself.
const (
	maxHeadline = 1000
	maxLine     = 400
)

// section is a part of a card, as HTML, and how many characters of text it has.
// One that must stay is never left out for want of room.
type section struct {
	name  string // what a card says that it leaves out; empty: must stay
	html  string
	chars int
	tight bool // it belongs to the part above: no blank line between
}

// rendered remembers the cards that were posted last. A card that goes to many
// chats is the same one in all of them. Safe for concurrent use.
type rendered struct {
	mu   sync.Mutex
	kept [32]struct {
		of *core.Card
		as ready
	}
	next int
}

// ready is a card as it is posted: the JSON that says all but where, and whether it
// offers less than was drawn.
type ready struct {
	content  []byte
	denyOnly bool
}

// card makes a card ready, once for all its chats.
func (r *rendered) card(c *core.Card) (ready, error) {
	if as, ok := r.find(c); ok {
		return as, nil
	}
	text, drawn := render(*c)
	what := content{Text: text, ParseMode: models.ParseModeHTML, LinkPreviewOptions: noPreview()}
	if rows := textcmd.Buttons(drawn, textcmd.MenuMain); rows != nil {
		what.ReplyMarkup = keyboard(rows)
	}
	body, err := json.Marshal(what)
	if err != nil {
		return ready{}, err
	}
	as := ready{body, len(drawn.Offers) < len(c.Offers)}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept[r.next].of, r.kept[r.next].as = c, as
	r.next = (r.next + 1) % len(r.kept)
	return as, nil
}

func (r *rendered) find(c *core.Card) (as ready, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.kept {
		if r.kept[i].of == c {
			return r.kept[i].as, true
		}
	}
	return ready{}, false
}

// render draws a card as HTML for Telegram. The card it gives back is the one
// that buttons are to be made for: it offers no allow if something of the call
// had to be left out.
func render(c core.Card) (string, core.Card) {
	parts := sections(c)
	for _, optional := range []string{"the asker's words", "the facts", "why it asks"} {
		if length(parts) <= maxText {
			break
		}
		parts = leaveOut(parts, optional, optional+" are left out for want of room.")
	}
	if length(parts) > maxText || utf8.RuneCountInString(c.Headline) > maxHeadline {
		if !c.Status.Final() {
			c.Offers, c.DenyOnly = nil, notWhole
		}
		c.Payload, c.Cut, c.Claims, c.Facts, c.Why, c.Warnings = nil, "", nil, nil, nil, nil
		parts = sections(c)
	}
	return join(parts), c
}

// page is a card that shows a menu.
type page struct {
	text string // HTML
	rows [][]textcmd.Button
	say  string // to whom opened it
	rest string // what did not fit on the card
}

// withMenu draws a card with a menu. What the wider scopes grant stands at the end of
// it while they are shown; nothing else makes room for that.
func withMenu(c core.Card, m textcmd.Menu) page {
	text, c := render(c)
	p := page{text: text, rows: textcmd.Buttons(c, m)}
	if m != textcmd.MenuMore {
		return p
	}
	about := textcmd.About(c)
	grants := (&block{}).line("", "<b>What these choices grant</b>").list("", strings.Split(about, "\n")).section("")
	if visible(text)+len("\n\n")+grants.chars > maxText {
		p.say, p.rest = sayBelow, about
		return p
	}
	p.text, p.say = text+"\n\n"+grants.html, sayGrants
	return p
}

func join(parts []section) string {
	var out strings.Builder
	for _, p := range parts {
		switch {
		case p.html == "":
			continue
		case out.Len() > 0 && p.tight:
			out.WriteString("\n")
		case out.Len() > 0:
			out.WriteString("\n\n")
		}
		out.WriteString(p.html)
	}
	return out.String()
}

func length(parts []section) int {
	n := 0
	for _, p := range parts {
		n += p.chars + len("\n\n")
	}
	return n
}

// leaveOut replaces a section by a line that says so.
func leaveOut(parts []section, name, note string) []section {
	for i, p := range parts {
		if p.name == name && p.chars > len(note) {
			s := (&block{}).line("", escape(strings.ToUpper(note[:1])+note[1:]))
			parts[i] = s.section("")
			parts[i].tight = p.tight
		}
	}
	return parts
}

// sections are the parts of a card in the order in which people read it. The
// first line is what a phone's notification shows.
func sections(c core.Card) []section {
	head := (&block{}).line("", code(cut(c.Headline, maxHeadline)))
	if c.Status.Final() {
		head.line(endIcon(c)+" ", inert(cut(c.Outcome, maxLine)))
		head.line(resultIcon(c), inert(cut(c.Result, maxLine)))
	}
	risk := (&block{}).line("", riskColour[min(max(c.Risk, core.R0), core.R4)]+" "+c.Risk.String()+" · "+c.Risk.Text())
	why := (&block{}).list("• ", c.Why)
	warnings := (&block{}).list("⚠️ ", c.Warnings)
	payload := &block{}
	if len(c.Payload) > 0 {
		payload.line("", "<b>What would run</b>").params(c.Payload)
	}
	payload.line("✂️ ", inert(c.Cut))
	facts := (&block{}).facts(c.Facts)
	claims := &block{}
	if len(c.Claims) > 0 {
		claims.line("", "<b>Only claimed by the asker, not checked</b>").facts(c.Claims).quote()
	}
	return []section{
		head.section(""), risk.section(""), why.section("why it asks").below(), warnings.section("").below(), payload.section(""),
		facts.section("the facts"), claims.section("the asker's words"), foot(c).section(""),
	}
}

// foot is the last part: votes, end of time, code, and why nothing may be allowed.
func foot(c core.Card) *block {
	f := &block{}
	if !c.Status.Final() {
		f.line("🚫 ", inert(cut(c.DenyOnly, maxLine)))
	}
	f.line("Votes: ", inert(cut(c.Tally, maxLine)))
	if !c.Status.Final() {
		f.line("Expires: ", inert(cut(c.Expires, maxLine)))
	}
	return f.line("Code: ", code(cut(c.Code, maxLine)))
}

var riskColour = [...]string{"🟩", "🟦", "🟨", "🟧", "🟥"}

func endIcon(c core.Card) string {
	switch {
	case c.Status == core.Approved && !c.Revoked:
		return "✅"
	case c.Status == core.Denied, c.Revoked:
		return "⛔"
	default:
		return "⌛"
	}
}

// resultIcon marks an execution that failed: the icon above it is the decision's.
func resultIcon(c core.Card) string {
	if c.Failed {
		return "❌ "
	}
	return ""
}

// block collects lines.
type block struct {
	lines  []string
	chars  int
	quoted bool
}

// line adds a label and a text, unless the text is empty.
func (b *block) line(label, text string) *block {
	if text != "" {
		b.lines = append(b.lines, label+text)
		b.chars += visible(label+text) + 1
	}
	return b
}

// list adds lines of running text.
func (b *block) list(bullet string, texts []string) *block {
	if len(texts) > manyFacts {
		return b.pre(texts)
	}
	for _, s := range texts {
		b.line(bullet, inert(s))
	}
	return b
}

// facts adds the desk's own facts, their names bold.
func (b *block) facts(facts []core.Fact) *block {
	if len(facts) > manyFacts {
		return b.many(facts)
	}
	for _, f := range facts {
		name := "<b>" + escape(f.Name) + ":</b>"
		if lively(f.Name) {
			name = code(f.Name) + ":"
		}
		b.value(name, f.Value)
	}
	return b
}

// params adds what the asker named: as code, which the desk's own facts never are.
func (b *block) params(facts []core.Fact) *block {
	own := func(f core.Fact) bool { return f.Own }
	asked := slices.DeleteFunc(slices.Clone(facts), own)
	if len(asked) > manyFacts {
		b.many(asked)
	} else {
		for _, f := range asked {
			b.value(code(f.Name+":"), f.Value)
		}
	}
	return b.facts(slices.DeleteFunc(slices.Clone(facts), func(f core.Fact) bool { return !own(f) }))
}

// value adds a labelled value: a long one, or one of several lines, in a block of its own.
func (b *block) value(name, value string) {
	switch {
	case value == "":
		b.line(name, " (empty)")
	case utf8.RuneCountInString(value) > 100 || strings.Contains(value, "\n"):
		b.line(name+"\n", "<pre>"+escape(value)+"</pre>")
	default:
		b.line(name+" ", code(value))
	}
}

// many adds so many facts that they share one block: each has one line of it.
func (b *block) many(facts []core.Fact) *block {
	all := make([]string, len(facts))
	for i, f := range facts {
		all[i] = f.Name + ": " + f.Line()
	}
	return b.pre(all)
}

func (b *block) pre(lines []string) *block {
	return b.line("", "<pre>"+escape(strings.Join(lines, "\n"))+"</pre>")
}

func (b *block) quote() *block { b.quoted = true; return b }

func (b *block) section(name string) section {
	text := strings.Join(b.lines, "\n")
	if b.quoted && text != "" {
		text = "<blockquote>" + text + "</blockquote>"
	}
	return section{name: name, html: text, chars: b.chars}
}

func (s section) below() section { s.tight = true; return s }

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
