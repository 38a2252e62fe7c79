package show

import (
	"fmt"
	"strings"

	"approvalbot/api"
	"approvalbot/internal/display"
	"approvalbot/internal/lazy"
)

// widestName is how wide names are made at most for the values of a call to begin below each other.
const widestName = 24

// call writes a call: its main values in full, its other values by their names.
func (c Column) call(facts []api.CardFact) {
	width := 0
	for _, f := range facts {
		if n := len([]rune(f.Name)); !f.Block && n <= min(widestName, c.Width/2) {
			width = max(width, n)
		}
	}
	for _, f := range facts {
		text := f.Value
		if !f.Block && isDifference(f) {
			c.Barred(c.Paint.Plain, bar, f.Name+":")
		} else if !f.Block {
			text = fmt.Sprintf("%-*s %s", width+1, f.Name+":", f.Value)
		}
		c.lines(bar, text, isDifference(f))
	}
}

// changeName begins the name of a difference on the desk's cards.
const changeName = "change"

var (
	// signed is a line of a difference that goes or comes, perhaps behind its number.
	signed = lazy.Pattern(`^ *(?:[0-9]+ )? *([-+])(?: |$)`)
	// around is any other line of one.
	around = lazy.Pattern(`^ *(?:[0-9]+)?(?:  |$|…| *@@| *\*\*\*)`)
)

// isDifference reports whether a value is lines with signs: its name says so, or it has lines of both
// signs and no others.
func isDifference(f api.CardFact) bool {
	gone, come := false, false
	for line := range strings.SplitSeq(f.Value, "\n") {
		m := signed.FindStringSubmatch(line)
		switch {
		case m == nil && !around.MatchString(line):
			return false
		case m != nil:
			gone, come = gone || m[1] == "-", come || m[1] == "+"
		}
	}
	return gone && come || (gone || come) && strings.HasPrefix(f.Name, changeName)
}

// lines writes a text of several lines behind a mark, removed lines in red and added ones in green if
// it is a difference. Its tabs indent.
func (c Column) lines(mark, text string, difference bool) {
	for line := range strings.SplitSeq(text, "\n") {
		paint := c.Paint.Plain
		if m := signed.FindStringSubmatch(line); difference && m != nil {
			paint = map[string]func(string) string{"-": c.Paint.Red, "+": c.Paint.Green}[m[1]]
		}
		if !strings.Contains(line, manyTabs) {
			line = strings.ReplaceAll(line, "\t", tab)
		}
		c.barredLine(paint, mark, display.Escape(line))
	}
}

// tab is how a tab is written; more of them in a row than indent anything would push text out of sight.
const tab = "    "

var manyTabs = strings.Repeat("\t", 21)
