// Package render writes what the bot shows on Discord: cards, texts, menus and forms,
// as Discord takes them. It is pure, held by golden files, and knows the platform's
// limits; nothing else does.
package render

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"approvalbot/bot/textcmd"
	"approvalbot/core"
)

// notWhole is what a card says that cannot show everything that would run.
const notWhole = "The whole call does not fit into a Discord message, so it can only be denied here."

// Longest text of a line that the core does not limit itself, in characters.
const (
	maxHeadline = 1000
	maxLine     = 400
)

// Card makes the message of a card: a container with the text, and the
// buttons below. The card it gives back is the one that the buttons are made for:
// it offers no allow if something of the call had to be left out.
func Card(c core.Card) (Message, core.Card) {
	if c.Digest != nil {
		return digest(c), c
	}
	parts, c := fitting(c)
	box := Component{Type: kindContainer, AccentColor: new(colour(c))}
	for _, p := range parts {
		if p.text == "" {
			continue
		}
		if len(box.Components) > 0 {
			box.Components = append(box.Components, Component{Type: kindSeparator})
		}
		box.Components = append(box.Components, Component{Type: kindText, Content: p.text})
	}
	all := append([]Component{box}, Buttons(textcmd.Buttons(c, textcmd.MenuMain), "")...)
	return Message{Flags: FlagComponents, Components: &all, Mentions: Nobody()}, c
}

// section is a part of a card. One without a name is never left out.
type section struct{ name, text string }

// fitting draws the parts of a card, as many of them as fit.
func fitting(c core.Card) ([]section, core.Card) {
	parts := sections(c)
	for _, optional := range []string{"the asker's words", "the facts", "why it asks"} {
		if length(parts) <= maxCardText {
			break
		}
		for i, p := range parts {
			if p.name == optional {
				parts[i].text = strings.ToUpper(optional[:1]) + optional[1:] + " are left out for want of room."
			}
		}
	}
	if length(parts) > maxCardText || utf8.RuneCountInString(c.Headline) > maxHeadline {
		if !c.Status.Final() {
			c.Offers, c.DenyOnly = nil, notWhole
		}
		c.Payload, c.Cut, c.Claims, c.Facts, c.Why, c.Warnings = nil, "", nil, nil, nil, nil
		parts = sections(c)
	}
	return parts, c
}

func length(parts []section) int {
	n := 0
	for _, p := range parts {
		n += units(p.text)
	}
	return n
}

// sections are the parts of a card in the order in which people read it. The
// first line is what a phone's notification shows.
func sections(c core.Card) []section {
	head := (&text{}).line("", block(Cut(c.Headline, maxHeadline)))
	if c.Status.Final() {
		head.line(endIcon(c)+" ", bold(Cut(c.Outcome, maxLine), c.Times))
		head.line(resultIcon(c), escape(Cut(c.Result, maxLine)))
	}
	risk := (&text{}).line(riskIcon[clamped(c.Risk)]+" ", "**"+c.Risk.String()+"** · "+c.Risk.Text())
	why := (&text{}).list("- ", c.Why)
	warnings := (&text{}).list("⚠️ ", c.Warnings)
	payload, claims := &text{}, &text{}
	if len(c.Payload) > 0 {
		payload.line("", "**What would run**").params(c.Payload)
	}
	payload.line("✂️ ", escape(c.Cut))
	if len(c.Claims) > 0 {
		claims.line("", "**Only claimed by the asker, not checked**").facts(c.Claims)
	}
	return []section{
		{"", head.String()}, {"", joined(risk, warnings)}, {"why it asks", why.String()}, {"", payload.String()},
		{"the facts", (&text{}).facts(c.Facts).String()}, {"the asker's words", claims.quoted()},
		{"", foot(c).String()},
	}
}

// foot is the last part: why nothing may be allowed, votes, end of time, code.
func foot(c core.Card) *text {
	f := &text{}
	if !c.Status.Final() {
		f.line("🚫 ", escape(Cut(c.DenyOnly, maxLine)))
	}
	f.line("Votes: ", escape(Cut(c.Tally, maxLine)))
	if !c.Status.Final() {
		f.line("Expires: ", timed(Cut(c.Expires, maxLine), c.Times))
	}
	return f.line("Code: ", code(Cut(c.Code, maxLine)))
}

// Colours of the bar beside a card: of its risk, then of its end.
var (
	riskIcon   = [...]string{"🟩", "🟦", "🟨", "🟧", "🟥"}
	riskColour = [...]int{0x57F287, 0x3498DB, 0xFEE75C, 0xE67E22, 0xED4245}
)

const (
	allowedColour = 0x57F287
	failedColour  = 0xE67E22
	deniedColour  = 0xED4245
	lapsedColour  = 0x95A5A6
)

func clamped(r core.RiskClass) core.RiskClass { return min(max(r, core.R0), core.R4) }

func colour(c core.Card) int {
	switch {
	case !c.Status.Final():
		return riskColour[clamped(c.Risk)]
	case c.Failed:
		return failedColour
	case c.Status == core.Approved && !c.Revoked:
		return allowedColour
	case c.Status == core.Denied, c.Revoked:
		return deniedColour
	}
	return lapsedColour
}

func endIcon(c core.Card) string {
	switch {
	case c.Status == core.Approved && !c.Revoked:
		return "✅"
	case c.Status == core.Denied, c.Revoked:
		return "⛔"
	}
	return "⌛"
}

// resultIcon marks an execution that failed: the icon above it is the decision's.
func resultIcon(c core.Card) string {
	if c.Failed {
		return "❌ "
	}
	return ""
}

// text collects lines of Markdown.
type text struct{ lines []string }

// line adds a label and a text, unless the text is empty. A block of code begins
// on a line of its own.
func (t *text) line(label, s string) *text {
	if label != "" && strings.HasPrefix(s, "```\n") {
		label = strings.TrimSuffix(label, " ") + "\n"
	}
	if s != "" {
		t.lines = append(t.lines, label+s)
	}
	return t
}

func (t *text) list(bullet string, texts []string) *text {
	for _, s := range texts {
		t.line(bullet, escape(s))
	}
	return t
}

// facts adds the desk's own facts, their names bold.
func (t *text) facts(facts []core.Fact) *text {
	for _, f := range facts {
		t.line("**"+escape(f.Name)+":** ", valueOf(f))
	}
	return t
}

// params adds what the asker named: as code, which the desk's own facts never are.
func (t *text) params(facts []core.Fact) *text {
	for _, f := range facts {
		if f.Own {
			t.facts([]core.Fact{f})
			continue
		}
		t.line(code(f.Name+":")+" ", valueOf(f))
	}
	return t
}

func valueOf(f core.Fact) string { return cmp.Or(code(f.Value), "(empty)") }

func (t *text) String() string { return strings.Join(t.lines, "\n") }

// quoted sets every line apart by a bar. Blocks of code go on over several lines,
// each of which needs its own.
func (t *text) quoted() string {
	if len(t.lines) == 0 {
		return ""
	}
	return "> " + strings.ReplaceAll(t.String(), "\n", "\n> ")
}

func joined(parts ...*text) string {
	var all []string
	for _, p := range parts {
		all = append(all, p.lines...)
	}
	return strings.Join(all, "\n")
}

func bold(s string, times core.Times) string {
	if s == "" {
		return ""
	}
	return "**" + timed(s, times) + "**"
}
