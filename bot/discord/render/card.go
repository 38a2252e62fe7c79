// Package render writes what the bot shows on Discord: cards, texts, menus and forms,
// as Discord takes them. It is pure, held by golden files, and is the only code that
// knows the platform's limits.
package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bwmarrin/discordgo"

	"approvalbot/bot/textcmd"
	"approvalbot/internal/approval"
	"approvalbot/internal/card"
)

// notWhole is the sentence on a card that cannot show all that would run.
const notWhole = "The whole call does not fit into a Discord message, so it can only be denied here."

// Longest text of a line that the core does not limit itself, in characters.
const (
	maxHeadline = 1000
	maxLine     = 400
	maxFolded   = 100 // of a call that has ended
)

// Card makes the message of a card: a container with the text, and the buttons
// below. The returned card is the one that the buttons are made for: it offers no
// allow if a part of the call had to be left out.
func Card(c card.Card) (Message, card.Card) {
	if c.Digest != nil {
		return digest(c), c
	}
	parts, c := fitting(c)
	var all []string
	for _, p := range parts {
		if p.text != "" {
			all = append(all, p.text)
		}
	}
	rows := textcmd.Buttons(c, textcmd.MenuMain)
	if last := len(rows) - 1; last >= 0 && !c.Status.Final() {
		rows[last] = append(rows[last], textcmd.DetailsButton(c))
	}
	return boxed(colour(c), rows, strings.Join(all, "\n")), c
}

// boxed is a message of texts in a box with a coloured edge, and of buttons below it.
func boxed(colour int, rows [][]textcmd.Button, texts ...string) Message {
	box := discordgo.Container{AccentColor: &colour}
	for _, text := range texts {
		if text != "" {
			box.Components = append(box.Components, discordgo.TextDisplay{Content: text})
		}
	}
	return Message{MessageSend: discordgo.MessageSend{
		Flags:      discordgo.MessageFlagsIsComponentsV2,
		Components: append([]discordgo.MessageComponent{box}, Buttons(rows, "")...), AllowedMentions: Nobody(),
	}}
}

// section is a part of a card. One without a name is never left out.
type section struct{ name, text string }

// theClaims is the part that is left out if there is no room.
const theClaims = "The asker's words"

// fitting draws the parts of a card, as many of them as fit.
func fitting(c card.Card) ([]section, card.Card) {
	parts := sections(c)
	if length(parts) > maxCardText {
		for i, p := range parts {
			if p.name == theClaims {
				parts[i].text = theClaims + " are left out for want of room."
			}
		}
	}
	if length(parts) > maxCardText || tooLong(c.Headline) || tooLong(c.Place) {
		if !c.Status.Final() {
			c.Offers, c.Wider, c.DenyOnly = nil, nil, notWhole
		}
		c.Call, c.Payload, c.Cut, c.Claims, c.From, c.Warnings = nil, nil, "", nil, "", nil
		parts = sections(c)
	}
	return parts, c
}

func tooLong(w card.Words) bool { return utf8.RuneCountInString(w.String()) > maxLine }

func length(parts []section) int {
	n := 0
	for _, p := range parts {
		n += units(p.text) + 1
	}
	return n
}

// sections are the parts of a card in the order in which people read it. The first line
// is what a phone's notification shows. The parts that a card folds away are behind its
// button.
func sections(c card.Card) []section {
	head := &text{}
	if len(c.Outcome) > 0 {
		head.line("", "**"+words(c.Outcome, maxLine)+"**")
	}
	head.line(size(c.Headline), words(c.Headline, maxHeadline)).call(c.Call)
	head.line("✂️ ", escape(c.Cut)).line("", words(c.Place, maxLine)).line("", code(Cut(c.Summary, maxFolded)))
	risk := (&text{}).line(riskIcon[clamped(c.Risk)]+" ", words(c.RiskLine(), maxHeadline))
	claims := (&text{}).list("💬 ", c.Said())
	foot := (&text{}).line("🚫 ", escape(Cut(c.DenyOnly, maxLine))).list("⚠️ ", c.Warnings)
	if c.Link != "" {
		foot.line("🔑 ", "<"+c.Link+">")
	}
	foot.line("", state(c))
	return []section{{"", head.String()}, {"", risk.String()}, {theClaims, claims.quoted()}, {"", foot.String()}}
}

// words draws a line of at most n code units: what the asker chose as code, which the
// desk's own words never are. Discord shows times in the reader's zone (Reference,
// Message Formatting, Timestamps).
func words(line card.Words, n int) string {
	var out strings.Builder
	for i, w := range line {
		text := Cut(w.Text, max(n, 1))
		if w.Theirs && i > 0 && line[i-1].Theirs {
			out.WriteByte(' ') // two backticks side by side would be another sign
		}
		n -= units(text)
		switch {
		case w.AtMs != 0:
			fmt.Fprintf(&out, "<t:%d:t>", w.AtMs/1000)
		case w.Theirs:
			out.WriteString(inline(text))
		default:
			out.WriteString(escape(text))
		}
		if n <= 0 {
			break
		}
	}
	return out.String()
}

// state is the line that tells the card's progress.
func state(c card.Card) string {
	until := ""
	if c.State.UntilMs != 0 {
		until = fmt.Sprintf("ends <t:%d:R>", c.State.UntilMs/1000)
	}
	plain := func(text string) string { return escape(Cut(text, maxLine)) }
	return c.StateLine(plain, func(text string) string { return inline(Cut(text, maxLine)) }, until)
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

func clamped(r approval.RiskClass) approval.RiskClass { return min(max(r, approval.R0), approval.R4) }

func colour(c card.Card) int {
	switch {
	case !c.Status.Final():
		return riskColour[clamped(c.Risk)]
	case c.Bad && c.Status == approval.Approved:
		return failedColour
	case c.Bad:
		return deniedColour
	case c.Status == approval.Approved:
		return allowedColour
	}
	return lapsedColour
}

// text collects lines of Markdown.
type text struct{ lines []string }

// line adds a label and a text, unless the text is empty. A block of code begins
// on a line of its own.
func (t *text) line(label, s string) *text {
	if label != "" && strings.HasPrefix(s, "```") {
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
func (t *text) facts(facts []card.Fact) *text {
	for _, f := range facts {
		t.line("**"+escape(f.Name)+":** ", valueOf(f))
	}
	return t
}

// call adds what would run: texts and tables as blocks, without words of the desk, and the place that it is bound to in
// the form of the desk's facts.
func (t *text) call(blocks []card.Block) *text {
	for _, x := range blocks {
		switch {
		case x.Own && x.Kind == card.Table:
			for _, r := range x.Rows {
				t.facts([]card.Fact{{Name: r.Name, Value: r.Value, Own: true}})
			}
		case x.Own:
			t.line("**"+escape(x.Name)+":** ", coloured(x))
		case x.Name != "":
			t.line(code(x.Name+":")+" ", coloured(x))
		default:
			t.line("", coloured(x))
		}
		t.line("✂️ ", escape(x.Cut))
	}
	return t
}

// coloured is a text as a block of code with its language (Reference, Message Formatting).
func coloured(x card.Block) string {
	lang := x.Lang
	if x.Kind == card.Diff {
		lang = "diff"
	}
	text := block(tabs.Replace(strings.Join(x.Within(), "\n")))
	if text == "" {
		return "(empty)"
	}
	return "```" + lang + strings.TrimPrefix(text, "```")
}

// tabs are as wide as two blanks, since clients make eight of one, which is too wide for a phone.
var tabs = strings.NewReplacer("\t", "  ")

// size makes a heading of a line with an amount (Reference, Message Formatting, Headers).
func size(line card.Words) string {
	if slices.ContainsFunc(line, func(w card.Word) bool { return w.Large }) {
		return "### "
	}
	return ""
}

func valueOf(f card.Fact) string { return cmp.Or(code(f.Value), "(empty)") }

func (t *text) String() string { return strings.Join(t.lines, "\n") }

// quoted begins every line with a bar. Blocks of code go on over several lines,
// each of which needs its own.
func (t *text) quoted() string {
	if len(t.lines) == 0 {
		return ""
	}
	return "> " + strings.ReplaceAll(t.String(), "\n", "\n> ")
}
