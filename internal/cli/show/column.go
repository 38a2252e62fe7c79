package show

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"approvalbot/internal/display"
)

// Column is what cards are written into: lines of so many characters at most.
type Column struct {
	To    io.Writer
	Width int
	Paint Paint
}

// pipeWidth is how many characters a line has that no terminal shows, and the fewest that any has are
// narrowest.
const (
	pipeWidth = 79
	narrowest = 20
)

// Width is how many characters a line of the stream has: those of its terminal, if it is one.
func Width(stream any) int {
	if columns := Columns(stream); columns > 0 {
		return max(narrowest, columns)
	}
	return pipeWidth
}

// Columns is how many characters a line of the stream's terminal has; 0 if it is no terminal.
func Columns(stream any) int {
	if p, ok := stream.(ASCII); ok {
		stream = p.To
	}
	f, ok := stream.(*os.File)
	if !ok {
		return 0
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return columns
}

// Own writes words of the desk, which are safe already, in that colour. Text that does not fit
// continues indented, so that no word of it can begin a line.
func (c Column) Own(paint func(string) string, text string) {
	const indent = "  "
	for text != "" {
		line, rest := cutWords(text, c.Width)
		fmt.Fprintln(c.To, paint(line))
		if text = rest; text != "" {
			text = indent + text
		}
	}
}

// cutWords splits a text behind the last word that fits into width, or within one that is longer.
func cutWords(text string, width int) (line, rest string) {
	runes := []rune(text)
	if len(runes) <= width {
		return text, ""
	}
	for i := width; i > len("  "); i-- {
		if runes[i] == ' ' {
			return string(runes[:i]), string(runes[i+1:])
		}
	}
	return string(runes[:width]), string(runes[width:])
}

// Barred writes a text in that colour behind a mark, on every line that it takes.
func (c Column) Barred(paint func(string) string, mark, text string) {
	if text == "" {
		return
	}
	for line := range strings.SplitSeq(display.EscapeBlock(text), "\n") {
		c.barredLine(paint, mark, line)
	}
}

// barredLine is [Column.Barred] for a safe text of one line. Text that does not fit continues after another mark, so
// that it cannot pass for a line of its own, nor a line for the rest of the one above.
func (c Column) barredLine(paint func(string) string, mark, line string) {
	runes := []rune(line)
	for first := true; first || len(runes) > 0; first = false {
		n := c.fitting(runes)
		fmt.Fprintln(c.To, mark+paint(string(runes[:n])))
		runes = runes[n:]
		if mark == bar {
			mark = onward
		}
	}
}

// fitting is how many characters of a line fit beside a mark: up to a blank in the last third, if there is one.
func (c Column) fitting(runes []rune) int {
	room := c.Width - markWidth
	if len(runes) <= room {
		return len(runes)
	}
	for n := room; n > room-room/3; n-- {
		if runes[n-1] == ' ' && runes[n] != ' ' {
			return n
		}
	}
	return room
}

// markWidth is the width of the widest mark.
const markWidth = 3
