// Package render writes what the bot shows on Telegram: cards, menus and texts, as HTML
// of the Bot API. It is pure, held by golden files, and is the only code that knows the
// platform's limits.
package render

import (
	"strings"
	"unicode/utf8"

	"approvalbot/bot/textcmd"
	"approvalbot/internal/approval"
	"approvalbot/internal/card"
)

// notWhole is what a card says that cannot show everything that would run.
const notWhole = "The whole call does not fit into a Telegram message, so it can only be denied here."

// Longest text of a line that the core does not limit itself, in characters.
const (
	maxHeadline = 1000
	maxLine     = 400
)

// section is a part of a card, as HTML, and how many characters of text it has.
// One that must stay is never left out for want of room.
type section struct {
	name  string // the card's note that it leaves this out; empty if it must stay
	html  string
	chars int
}

// Card draws a card as HTML for Telegram. The card it gives back is the one
// that buttons are to be made for: it offers no allow if something of the call
// had to be left out.
func Card(c card.Card) (string, card.Card) {
	if c.Digest != nil {
		return digest(*c.Digest), c
	}
	parts := sections(c)
	for _, optional := range []string{theDetails, theClaims} {
		if length(parts) <= MaxText {
			break
		}
		parts = leaveOut(parts, optional)
	}
	if length(parts) > MaxText || cutWords(c.Headline) || cutWords(c.Place) {
		if !c.Status.Final() {
			c.Offers, c.Wider, c.DenyOnly = nil, nil, notWhole
		}
		c.Call, c.Payload, c.Cut, c.Claims, c.Details, c.Warnings = nil, nil, "", nil, nil, nil
		parts = sections(c)
	}
	return join(parts), c
}

// The parts that are left out if there is no room, in this order.
const (
	theDetails = "the details"
	theClaims  = "the asker's words"
)

// cutWords reports whether a line would be cut.
func cutWords(w card.Words) bool { return utf8.RuneCountInString(w.String()) > maxHeadline }

// Sentences that tell the reader of a menu the place at which the wider scopes are explained.
const (
	GrantsOnCard = "What these choices grant is at the end of the card."
	GrantsBelow  = "What these choices grant does not fit on the card: it follows as a reply."
)

// MenuPage is a card that shows a menu.
type MenuPage struct {
	HTML   string // HTML
	Rows   [][]textcmd.Button
	Answer string // to the person who opened it
	Reply  string // the rest that did not fit on the card
}

// Menu draws a card with a menu. While the wider scopes are shown, it ends with
// what they would grant; no other part is cut to make room for that.
func Menu(c card.Card, m textcmd.Menu) MenuPage {
	text, c := Card(c)
	p := MenuPage{HTML: text, Rows: textcmd.Buttons(c, m)}
	if m != textcmd.MenuMore {
		return p
	}
	about := textcmd.About(c)
	grants := (&block{}).line("", "<b>What these choices grant</b>").list("", strings.Split(about, "\n")).section("")
	if visible(text)+len("\n")+grants.chars > MaxText {
		p.Answer, p.Reply = GrantsBelow, about
		return p
	}
	p.HTML, p.Answer = text+"\n"+grants.html, GrantsOnCard
	return p
}

func join(parts []section) string {
	var out strings.Builder
	for _, p := range parts {
		if p.html == "" {
			continue
		}
		if out.Len() > 0 {
			out.WriteString("\n")
		}
		out.WriteString(p.html)
	}
	return out.String()
}

func length(parts []section) int {
	n := 0
	for _, p := range parts {
		n += p.chars + len("\n")
	}
	return n
}

// leaveOut replaces a section by a line that says so.
func leaveOut(parts []section, name string) []section {
	note := strings.ToUpper(name[:1]) + name[1:] + " are left out for want of room."
	for i, p := range parts {
		if p.name == name && p.chars > len(note) {
			parts[i] = (&block{}).line("", escape(note)).section("")
		}
	}
	return parts
}

// sections are the parts of a card in the order in which people read it. The
// first line is what a phone's notification shows.
func sections(c card.Card) []section {
	head := (&block{}).line("", words(c.Outcome)).line("", words(c.Headline))
	head.call(c.Call).line("✂️ ", inert(c.Cut)).line("", words(c.Place))
	call := &block{}
	if c.Summary != "" {
		call.line("", code(cut(c.Summary, maxLine))).fold()
	}
	risk := (&block{}).line(riskColour[min(max(c.Risk, approval.R0), approval.R4)]+" ", words(c.RiskLine()))
	claims := (&block{}).list("💬 ", c.Claims).quote()
	foot := (&block{}).line("🚫 ", inert(cut(c.DenyOnly, maxLine))).list("⚠️ ", c.Warnings)
	if c.Link != "" {
		foot.line("🔑 ", Link(c.Link))
	}
	foot.line("", state(c))
	return []section{
		head.section(""), call.section(""), risk.section(""), claims.section(theClaims), foot.section(""),
		(&block{}).facts(c.Details).fold().section(theDetails),
	}
}

// words draws a line: what the asker chose as code, which the desk's own words never are.
func words(line card.Words) string {
	var out strings.Builder
	room := maxHeadline
	for _, w := range line {
		text := cut(w.Text, max(room, 1))
		room -= utf8.RuneCountInString(text)
		if w.Theirs {
			out.WriteString(code(text))
		} else {
			out.WriteString(readable(text))
		}
		if room <= 0 {
			break
		}
	}
	return out.String()
}

// state is the line that tells the card's progress.
func state(c card.Card) string {
	plain := func(text string) string { return inert(cut(text, maxLine)) }
	return c.StateLine(plain, func(text string) string { return code(cut(text, maxLine)) }, plain(c.State.Until))
}

var riskColour = [...]string{"🟩", "🟦", "🟨", "🟧", "🟥"}

// block collects lines.
type block struct {
	lines []string
	chars int
	tag   string // the quotation around them
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
		b.line(bullet, readable(s))
	}
	return b
}

// facts adds what is known: names of the desk's own facts bold, others marked as claims.
func (b *block) facts(facts []card.Fact) *block {
	if len(facts) > manyDetails {
		return b.many(facts)
	}
	for _, f := range facts {
		name := "<b>" + escape(f.Name) + ":</b>"
		if lively(f.Name) {
			name = code(f.Name) + ":"
		}
		if !f.Own {
			name = "💬 " + name
		}
		b.value(name, f.Value)
	}
	return b
}

// call adds what would run: texts and tables as blocks without words of the desk, and the place that it is bound to in
// the form of the desk's facts.
func (b *block) call(blocks []card.Block) *block {
	if len(blocks) > manyFacts {
		return b.pre(strings.Split(card.Spelled(blocks, ""), "\n"))
	}
	for _, x := range blocks {
		switch {
		case x.Own && x.Kind == card.Table:
			b.rows(x.Rows)
		case x.Own:
			b.line("<b>"+escape(x.Name)+":</b>\n", pre(x))
		case x.Name != "":
			b.line(code(x.Name+":")+"\n", pre(x))
		default:
			b.line("", pre(x))
		}
		b.line("✂️ ", inert(x.Cut))
	}
	return b
}

// rows adds what the desk says a call is bound to.
func (b *block) rows(rows []card.Row) {
	facts := make([]card.Fact, len(rows))
	for i, r := range rows {
		facts[i] = card.Fact{Name: r.Name, Value: r.Value, Own: true}
	}
	b.facts(facts)
}

// pre is a text as a block of code, with its language for those clients that colour it (Bot API, HTML style).
func pre(x card.Block) string {
	text := escape(tabs.Replace(strings.Join(x.Within(), "\n")))
	lang := x.Lang
	if x.Kind == card.Diff {
		lang = "diff"
	}
	switch {
	case text == "":
		return "(empty)"
	case lang == "":
		return "<pre>" + text + "</pre>"
	}
	return `<pre><code class="language-` + lang + `">` + text + "</code></pre>"
}

// tabs are written as blanks: Telegram makes one blank of each (td misc.cpp, clean_input_string).
var tabs = strings.NewReplacer("\t", "  ")

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
func (b *block) many(facts []card.Fact) *block {
	all := make([]string, len(facts))
	for i, f := range facts {
		all[i] = f.Name + ": " + f.Line()
	}
	return b.pre(all)
}

func (b *block) pre(lines []string) *block {
	return b.line("", "<pre>"+escape(strings.Join(lines, "\n"))+"</pre>")
}

func (b *block) quote() *block { b.tag = "blockquote"; return b }

// fold shows the first lines and the others when tapped (Bot API, HTML style).
func (b *block) fold() *block { b.tag = "blockquote expandable"; return b }

func (b *block) section(name string) section {
	text := strings.Join(b.lines, "\n")
	if b.tag != "" && text != "" {
		text = "<" + b.tag + ">" + text + "</blockquote>"
	}
	return section{name: name, html: text, chars: b.chars}
}
