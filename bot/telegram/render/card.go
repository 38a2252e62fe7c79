// Package render writes what the bot shows on Telegram: cards, menus and texts, as HTML
// of the Bot API. It is pure, held by golden files, and knows the platform's limits;
// nothing else does.
package render

import (
	"slices"
	"strings"
	"unicode/utf8"

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

// Card draws a card as HTML for Telegram. The card it gives back is the one
// that buttons are to be made for: it offers no allow if something of the call
// had to be left out.
func Card(c core.Card) (string, core.Card) {
	if c.Digest != nil {
		return digest(*c.Digest), c
	}
	parts := sections(c)
	for _, optional := range []string{"the asker's words", "the facts", "why it asks"} {
		if length(parts) <= MaxText {
			break
		}
		parts = leaveOut(parts, optional, optional+" are left out for want of room.")
	}
	if length(parts) > MaxText || utf8.RuneCountInString(c.Headline) > maxHeadline {
		if !c.Status.Final() {
			c.Offers, c.DenyOnly = nil, notWhole
		}
		c.Payload, c.Cut, c.Claims, c.Facts, c.Why, c.Warnings = nil, "", nil, nil, nil, nil
		parts = sections(c)
	}
	return join(parts), c
}

// What stands where about the wider scopes, for whoever opens the menu.
const (
	GrantsOnCard = "What these choices grant stands at the end of the card."
	GrantsBelow  = "What these choices grant does not fit on the card: it follows as a reply."
)

// MenuPage is a card that shows a menu.
type MenuPage struct {
	HTML   string // HTML
	Rows   [][]textcmd.Button
	Answer string // to whom opened it
	Reply  string // what did not fit on the card
}

// Menu draws a card with a menu. What the wider scopes grant stands at the end of
// it while they are shown; nothing else makes room for that.
func Menu(c core.Card, m textcmd.Menu) MenuPage {
	text, c := Card(c)
	p := MenuPage{HTML: text, Rows: textcmd.Buttons(c, m)}
	if m != textcmd.MenuMore {
		return p
	}
	about := textcmd.About(c)
	grants := (&block{}).line("", "<b>What these choices grant</b>").list("", strings.Split(about, "\n")).section("")
	if visible(text)+len("\n\n")+grants.chars > MaxText {
		p.Answer, p.Reply = GrantsBelow, about
		return p
	}
	p.HTML, p.Answer = text+"\n\n"+grants.html, GrantsOnCard
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
		head.section(""), risk.section(""), why.section("why it asks").below(), warnings.section("").below(),
		payload.section(""),
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
