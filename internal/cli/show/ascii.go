package show

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// ASCII writes ASCII alone: our own signs as their like, every other
// character visibly as \u{HEX}. Each Write must hold whole characters.
type ASCII struct{ To io.Writer }

var likes = strings.NewReplacer(
	"—", "-", "·", "-", "…", "...", "⚠️", "!", "⚠", "!", "│", "|", "┊", ":", "💬", ">", "“", "\"", "”", "\"", "\u00a0", " ")

// Write implements io.Writer.
func (p ASCII) Write(b []byte) (int, error) {
	var out strings.Builder
	for _, r := range likes.Replace(string(b)) {
		if r < 0x80 {
			out.WriteRune(r)
		} else {
			fmt.Fprintf(&out, `\u{%X}`, r)
		}
	}
	_, err := io.WriteString(p.To, out.String())
	return len(b), err
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	if p, ok := stream.(ASCII); ok {
		stream = p.To
	}
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
