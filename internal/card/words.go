package card

import (
	"fmt"
	"strings"

	"approvalbot/internal/display"
)

// Limits of a card, in characters. Together they stay below 4,096, the shortest
// limit of a platform (Bot API, sendMessage.text), with room for labels.
const (
	maxInline = 1500 // the call, if the card itself shows it
	maxFact   = 120
	maxClaim  = 400
	maxSaid   = 140 // of a claim on the card itself; the details have all of it

	maxPlace = 40 // of a call on one line, for each place that it is bound to
	maxField = 60 // of that, for each parameter

	maxWarnings = 3
	maxInPart   = 3 // parameters that a card shows of a call that it cannot show whole
)

// Limits of a call on a card, in lines as a phone has them: a longer call goes into a file.
const (
	maxLines  = 12
	lineWidth = 32 // characters of code on a line, about
)

// Word is a piece of a line of a card, safe to show: redacted, escaped, without line breaks.
type Word struct {
	Text   string
	Theirs bool  // chosen by the asker: shown as code, which words of the desk never are
	Large  bool  // an amount: a platform may write the line larger
	AtMs   int64 // Text is this time; a platform may write it anew, in the reader's zone
}

// Words are a line of a card.
type Words []Word

// own is a line of the desk's own words alone.
func own(text string) Words { return Words{{Text: text}} }

// theirs is a piece that who asks chose.
func theirs(text string) Word { return Word{Text: text, Theirs: true} }

// String is the line without any difference between its pieces.
func (w Words) String() string {
	var out strings.Builder
	for _, x := range w {
		out.WriteString(x.Text)
	}
	return out.String()
}

// Fact is a labelled value of a card. Both sides are safe to show: redacted and
// escaped, the name without line breaks.
type Fact struct {
	Name  string
	Value string // of a call: may have line feeds, for a block of its own (display.EscapeBlock)
	Own   bool   // the desk's own word for it, not the asker's
	Block bool   // it is what the call is about, and has a block without its name

	parts func() []display.Leaf // the parts of Value, without quotes; nil if Value is a single one
}

// Line is the value on one line.
func (f Fact) Line() string { return display.OneLine(f.Value) }

// Label is a fact's name on a surface that tells names apart by their words alone: an
// asker's parameter must not look like the desk's own.
func (f Fact) Label(tool string) string {
	if f.Own || tool == "exec" {
		return f.Name
	}
	return "parameter " + f.Name
}

// changeName names the block that shows an old text and the new one.
const changeName = "change"

// fits reports whether a value reads well within a line: it is short, and all of it is seen.
func fits(s string, n int) bool {
	odd := strings.ContainsAny(s, "\n\t") || strings.Contains(s, `\u{`) || strings.Contains(s, "  ") || strings.Trim(s, " ") != s
	return s != "" && !odd && CharCount(s) <= n
}

func foldName(s string) string { return joiners.Replace(strings.ToLower(s)) }

var joiners = strings.NewReplacer("_", "", "-", "")

func Clip[T any](s []T, n int) []T { return s[:min(n, len(s))] }

func Clipped(s string, n int) string { s, _ = display.Clip(s, n); return s }

func CharCount(s string) int { return len([]rune(s)) }

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
